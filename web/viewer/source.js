/* The source file, loaded with three.js' own glTF loader, to show beside the cooked model. Loaded on request only. */
import { Texture } from 'three';
import { GLTFLoader } from 'three/addons/loaders/GLTFLoader.js';
import { MeshoptDecoder } from 'three/addons/libs/meshopt_decoder.module.js';

/**
 * Where the daemon serves an asset's source files.
 * @param {Page.Named} asset
 */
export const sourceUrl = (asset) => `/api/v1/assets/${asset.id}/source/${asset.path.split('/')
		.map(encodeURIComponent).join('/')}`;

/**
 * Returns a group with `animations`; throws an Error with a message for people.
 * @param {Page.Named} asset
 */
export async function loadSource(asset) {
	const probe = await fetch(sourceUrl(asset), { method: 'HEAD' });
	if (!probe.ok) throw new Error(probe.status === 403 ? 'this daemon does not hand out sources (--no-sources)'
			: `HTTP ${probe.status}`);
	const { scene, animations } = await new GLTFLoader().setMeshoptDecoder(MeshoptDecoder).loadAsync(sourceUrl(asset));
	scene.animations = animations;
	scene.userData = {};
	return /** @type {View.Model} */ (/** @type {unknown} */ (scene));
}

/** @param {import('three').Object3D} root */
export function disposeSource(root) {
	const group = /** @type {View.Thing} */ (/** @type {unknown} */ (root));
	group.removeFromParent();
	group.traverse(({ geometry, material, skeleton }) => {
		geometry?.dispose();
		skeleton?.dispose();
		for (const each of [material].flat().filter(Boolean)) {
			for (const value of Object.values(each)) if (value instanceof Texture) value.dispose();
			each.dispose();
		}
	});
}

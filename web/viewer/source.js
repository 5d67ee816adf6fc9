/* The source file, loaded with three.js' own glTF loader, to show beside the cooked model. Loaded on request only. */
import { GLTFLoader } from 'three/addons/loaders/GLTFLoader.js';
import { MeshoptDecoder } from 'three/addons/libs/meshopt_decoder.module.js';

/** Where the daemon serves an asset's source files. */
export const sourceUrl = (asset) => `/api/v1/assets/${asset.id}/source/${asset.path.split('/')
		.map(encodeURIComponent).join('/')}`;

/** Returns a group with `animations`; throws an Error with a message for people. */
export async function loadSource(asset) {
	const probe = await fetch(sourceUrl(asset), { method: 'HEAD' });
	if (!probe.ok) throw new Error(probe.status === 403 ? 'this daemon does not hand out sources (--no-sources)'
			: `HTTP ${probe.status}`);
	const { scene, animations } = await new GLTFLoader().setMeshoptDecoder(MeshoptDecoder).loadAsync(sourceUrl(asset));
	scene.animations = animations;
	scene.userData = {};
	return scene;
}

export function disposeSource(group) {
	group.removeFromParent();
	group.traverse(({ geometry, material, skeleton }) => {
		geometry?.dispose();
		skeleton?.dispose();
		for (const each of [material].flat().filter(Boolean)) {
			for (const value of Object.values(each)) if (value?.isTexture) value.dispose();
			each.dispose();
		}
	});
}

/* KHR_animation_pointer: cooks a file whose clip animates numbers of materials, textures, cameras and lights, plays it
 * with core/runtime and with Hob's three.js loader, and compares the result with the curves themselves and with a still
 * file of that time in three.js' own loader. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { curves, extras, makePointers, stillAt, valueAt } from '../gltf/pointers.mjs';

if (!existsSync(fileURLToPath(new URL('node_modules/three', import.meta.url))) ||
	!existsSync(fileURLToPath(new URL('../../web/node_modules/three', import.meta.url)))) {
	console.log('skipped: npm ci --prefix tests/oracle and --prefix web fetch three.js');
	process.exit(77);
}
const { loadThree } = await import('./three_loading.mjs');
const THREE = await import('../../web/node_modules/three/build/three.module.js');
const { HobLoader } = await import('../../web/client/hob-three.js');

const [hob, dump] = process.argv.slice(2);
const times = [0, 0.25, 0.5, 0.999, 1, 1.5, 1.75, 2];
const folder = mkdtempSync(join(tmpdir(), 'hob-pointers-'));
const out = join(folder, 'out');
const near = (a, b, what) => {
	assert.equal(a.length, b.length, what);
	a.forEach((v, i) => assert.ok(Math.abs(v - b[i]) <= 1e-5 * Math.max(1, Math.abs(b[i])), `${what}: ${a}, not ${b}`));
};

/* Names of the packed format for pointers, defined a second time. */
const named = (pointer) => {
	const [, kind, index, rest] = /^\/(?:extensions\/KHR_lights_punctual\/)?(\w+)s\/(\d+)\/(.*)$/.exec(pointer);
	if (rest.includes('KHR_texture_transform')) return `texref ${index} 0 ${rest.split('/').at(-1)}`;
	const snake = rest.split('/').at(-1).replace(/Factor$/, '').replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`);
	const other = { ior: 'ior', yfov: 'yfov_or_ymag', ymag: 'yfov_or_ymag', xmag: 'aspect_or_xmag', aspect_ratio: 'aspect_or_xmag', inner_cone_angle: 'inner_cone',
		outer_cone_angle: 'outer_cone', anisotropy_strength: 'anisotropy', iridescence_thickness_minimum: 'iridescence_min',
		iridescence_thickness_maximum: 'iridescence_max' };
	return `${kind} ${index} ${rest === 'normalTexture/scale' ? 'normal_scale' : other[snake] ?? snake}`;
};
const isNode = (pointer) => /^\/(nodes|meshes)/.test(pointer);

const materialFields = (m) => ({ color: m.color.toArray(), opacity: [m.opacity], roughness: [m.roughness], metalness: [m.metalness], emissive: m.emissive.toArray(),
	emissiveIntensity: [m.emissiveIntensity], alphaTest: [m.alphaTest],
	...(m.isMeshPhysicalMaterial && Object.fromEntries(['clearcoat', 'clearcoatRoughness', 'transmission', 'thickness', 'attenuationDistance', 'ior', 'dispersion',
		'specularIntensity', 'sheenRoughness', 'anisotropy', 'anisotropyRotation', 'iridescence', 'iridescenceIOR', 'iridescenceThicknessMinimum', 'iridescenceThicknessMaximum'].map((key) => [key, [m[key]]]))),
	...(m.isMeshPhysicalMaterial && { attenuationColor: m.attenuationColor.toArray(), specularColor: m.specularColor.toArray(),
		sheenColor: m.sheenColor.toArray() }) });

function shown(group) {
	const found = { materials: [], camera: [], light: [] };
	group.updateMatrixWorld(true);
	group.traverse((object) => {
		if (object.material) found.materials.push([object.getWorldPosition(object.position.clone()).x, object]);
		if (object.isPerspectiveCamera) found.camera.push([object.fov, object.near, object.far, object.aspect]);
		if (object.isOrthographicCamera) found.camera.push([object.left, object.right, object.top, object.bottom]);
		if (object.isSpotLight) found.light.push([...object.color.toArray(), object.intensity, object.distance, object.angle, object.penumbra]);
	});
	return found;
}

/* three.js' loader can load pictures only in a page. */
function withoutPictures(json) {
	for (const material of json.materials) {
		for (const key of ['normalTexture', 'emissiveTexture']) delete material[key];
		delete material.pbrMetallicRoughness?.baseColorTexture;
	}
	delete json.images;
	delete json.textures;
	return json;
}

try {
	const path = makePointers(folder);
	execFileSync(hob, ['cook', path, '-o', out, '--root', folder, '-q', '--settings', '{"meshlets":false,"texture":{"encoding":"rgba8"}}'],
		{ stdio: ['ignore', 'ignore', 'inherit'] });
	const base = join(out, 'pointers.gltf');
	const frames = JSON.parse(execFileSync(dump, [base, '1', ...times.map(String)], { maxBuffer: 1 << 28 })).clips[0].frames;
	for (const [k, time] of times.entries())
		for (const pointer of Object.keys(curves).filter((name) => !isNode(name)))
			near(frames[k].driven[named(pointer)] ?? [], valueAt(pointer, time), `runtime, ${pointer} at ${time}`);

	const files = readdirSync(out, { recursive: true, withFileTypes: true }).filter((file) => file.isFile()).map((file) => join(file.parentPath ?? file.path, file.name));
	const blobs = new Map(files.map((file) => [createHash('sha256').update(readFileSync(file)).digest('hex'), file]));
	const read = (extension) => new Uint8Array(readFileSync(base + extension)).buffer;
	const group = await new HobLoader().parse({ meshes: read('.meshes'), materials: read('.materials'), scene: read('.scene'), animations: read('.animations'),
		blob: async (sha) => new Uint8Array(readFileSync(blobs.get(sha))).buffer });
	assert.deepEqual(group.animations[0].userData.extras, extras.clip);
	group.traverse((object) => object.isOrthographicCamera && assert.deepEqual(object.userData.extras, extras.camera));
	const mixer = new THREE.AnimationMixer(group);
	const action = mixer.clipAction(group.animations[0]).setLoop(THREE.LoopOnce, 1);
	action.clampWhenFinished = true;
	action.play();
	for (const time of times) {
		Object.assign(action, { paused: false, enabled: true });
		mixer.setTime(time);
		const ours = shown(group);
		const theirs = shown((await loadThree(withoutPictures(stillAt(time)))).scene);
		assert.equal(ours.materials.length, 3);
		for (const [i, [x, object]] of ours.materials.entries()) {
			const [, other] = theirs.materials[i];
			assert.ok(Math.abs(x - theirs.materials[i][0]) < 1e-5);
			for (const [key, value] of Object.entries(materialFields(other.material)))
				near(materialFields(object.material)[key], value, `material ${i}, ${key} at ${time}`);
			near(object.morphTargetInfluences ?? [], other.morphTargetInfluences ?? [], `weights at ${time}`);
		}
		ours.camera.forEach((camera, i) => near(camera, theirs.camera[i], `camera ${i} at ${time}`));
		near(ours.light[0], theirs.light[0], `light at ${time}`);
		/* KHR_texture_transform: translation, rotation, then scale, on both textures. */
		const of = (key) => valueAt(`/materials/0/pbrMetallicRoughness/baseColorTexture/extensions/KHR_texture_transform/${key}`, time);
		const [[r], [sx, sy], [ox, oy]] = [of('rotation'), of('scale'), of('offset')];
		const { map } = ours.materials[0][1].material;
		if (map.matrixAutoUpdate) map.updateMatrix();
		near(map.matrix.elements, [sx * Math.cos(r), -sx * Math.sin(r), 0, sy * Math.sin(r), sy * Math.cos(r), 0, ox, oy, 1], `placement at ${time}`);
		/* Its factor is 0 at rest: the clip needs the picture, the neighbour does not. */
		assert.ok(ours.materials[0][1].material.emissiveMap && !ours.materials[1][1].material.emissiveMap);
		near(ours.materials[1][1].material.map.offset.toArray(), [0, 0], 'the neighbour');
	}
	console.log(`${Object.keys(curves).length} pointers at ${times.length} times: the runtime and the three.js loader agree with the curves`);
} finally {
	rmSync(folder, { recursive: true });
}

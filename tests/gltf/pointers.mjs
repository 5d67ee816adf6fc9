/* Makes a glTF file whose clip animates the properties that KHR_animation_pointer can name, and computes each pointer's
 * value at a time from the arrays that the file is made of. Shares no code with the importer, the runtime and the
 * writers. */
import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const picture = 'TextureCoordinateTemplate.png';

/** Custom properties of nodes' contents. */
export const extras = { camera: { film: 35 }, light: { watt: 60 }, mesh: { lod: [1, 2] }, morphed: { mood: 'glad' }, clip: { loop: true } };

/* pointer: [interpolation, times, values by key (CUBICSPLINE: [in, value, out] by key)] */
export const curves = {
	'/materials/0/pbrMetallicRoughness/baseColorFactor': ['LINEAR', [0, 1, 2], [[1, 0, 0, 1], [0, 1, 0.25, 0.5], [0, 0, 1, 1]]],
	'/materials/0/pbrMetallicRoughness/metallicFactor': ['STEP', [0, 1], [[0], [1]]],
	'/materials/0/pbrMetallicRoughness/roughnessFactor': ['CUBICSPLINE', [0, 2], [[[0], [0.1], [1]], [[-1], [0.9], [0]]]],
	'/materials/0/emissiveFactor': ['LINEAR', [0, 2], [[0, 0, 0], [1, 0.5, 0.25]]],
	'/materials/0/extensions/KHR_materials_emissive_strength/emissiveStrength': ['LINEAR', [0, 2], [[1], [4]]],
	'/materials/0/normalTexture/scale': ['LINEAR', [0, 2], [[0], [2]]],
	'/materials/0/alphaCutoff': ['LINEAR', [0, 2], [[0.1], [0.7]]],
	'/materials/0/pbrMetallicRoughness/baseColorTexture/extensions/KHR_texture_transform/offset': ['LINEAR', [0, 2], [[0, 0], [1, -1]]],
	'/materials/0/pbrMetallicRoughness/baseColorTexture/extensions/KHR_texture_transform/scale': ['LINEAR', [0, 2], [[1, 1], [3, 2]]],
	'/materials/0/pbrMetallicRoughness/baseColorTexture/extensions/KHR_texture_transform/rotation': ['LINEAR', [0, 2], [[0], [1.5]]],
	'/materials/2/extensions/KHR_materials_clearcoat/clearcoatFactor': ['LINEAR', [0, 2], [[0.1], [1]]],
	'/materials/2/extensions/KHR_materials_clearcoat/clearcoatRoughnessFactor': ['LINEAR', [0, 2], [[0.1], [0.4]]],
	'/materials/2/extensions/KHR_materials_transmission/transmissionFactor': ['LINEAR', [0, 2], [[0.2], [0.9]]],
	'/materials/2/extensions/KHR_materials_volume/thicknessFactor': ['LINEAR', [0, 2], [[0.5], [2]]],
	'/materials/2/extensions/KHR_materials_volume/attenuationDistance': ['LINEAR', [0, 2], [[1], [3]]],
	'/materials/2/extensions/KHR_materials_volume/attenuationColor': ['LINEAR', [0, 2], [[1, 1, 1], [0.5, 0.2, 0.1]]],
	'/materials/2/extensions/KHR_materials_ior/ior': ['LINEAR', [0, 2], [[1.2], [1.8]]],
	'/materials/2/extensions/KHR_materials_dispersion/dispersion': ['LINEAR', [0, 2], [[0], [2]]],
	'/materials/2/extensions/KHR_materials_specular/specularFactor': ['LINEAR', [0, 2], [[0.9], [0.3]]],
	'/materials/2/extensions/KHR_materials_specular/specularColorFactor': ['LINEAR', [0, 2], [[1, 1, 1], [0.5, 0.6, 0.7]]],
	'/materials/2/extensions/KHR_materials_sheen/sheenColorFactor': ['LINEAR', [0, 2], [[0.1, 0, 0], [0.5, 0.6, 0.7]]],
	'/materials/2/extensions/KHR_materials_sheen/sheenRoughnessFactor': ['LINEAR', [0, 2], [[0.5], [0.2]]],
	'/materials/2/extensions/KHR_materials_anisotropy/anisotropyStrength': ['LINEAR', [0, 2], [[0.1], [0.5]]],
	'/materials/2/extensions/KHR_materials_anisotropy/anisotropyRotation': ['LINEAR', [0, 2], [[0], [3]]],
	'/materials/2/extensions/KHR_materials_iridescence/iridescenceFactor': ['LINEAR', [0, 2], [[0.1], [1]]],
	'/materials/2/extensions/KHR_materials_iridescence/iridescenceIor': ['LINEAR', [0, 2], [[1.3], [1.6]]],
	'/materials/2/extensions/KHR_materials_iridescence/iridescenceThicknessMinimum': ['LINEAR', [0, 2], [[100], [200]]],
	'/materials/2/extensions/KHR_materials_iridescence/iridescenceThicknessMaximum': ['LINEAR', [0, 2], [[400], [600]]],
	'/cameras/0/perspective/yfov': ['LINEAR', [0, 2], [[0.5], [1.25]]],
	'/cameras/0/perspective/znear': ['LINEAR', [0, 2], [[0.1], [0.2]]],
	'/cameras/0/perspective/zfar': ['LINEAR', [0, 2], [[10], [20]]],
	'/cameras/0/perspective/aspectRatio': ['LINEAR', [0, 2], [[1], [2]]],
	'/cameras/1/orthographic/xmag': ['LINEAR', [0, 2], [[1], [3]]],
	'/cameras/1/orthographic/ymag': ['LINEAR', [0, 2], [[2], [5]]],
	'/extensions/KHR_lights_punctual/lights/0/color': ['LINEAR', [0, 2], [[1, 1, 1], [1, 0.5, 0]]],
	'/extensions/KHR_lights_punctual/lights/0/intensity': ['LINEAR', [0, 2], [[10], [500]]],
	'/extensions/KHR_lights_punctual/lights/0/range': ['LINEAR', [0, 2], [[5], [9]]],
	'/extensions/KHR_lights_punctual/lights/0/spot/innerConeAngle': ['LINEAR', [0, 2], [[0.1], [0.3]]],
	'/extensions/KHR_lights_punctual/lights/0/spot/outerConeAngle': ['LINEAR', [0, 2], [[0.5], [0.7]]],
	'/nodes/0/translation': ['LINEAR', [0, 2], [[0, 0, 0], [4, 2, 0]]],
	'/nodes/0/rotation': ['LINEAR', [0, 2], [[0, 0, 0, 1], [0, 1, 0, 0]]],
	'/nodes/0/scale': ['LINEAR', [0, 2], [[1, 1, 1], [2, 2, 2]]],
	'/meshes/1/weights': ['LINEAR', [0, 2], [[0], [1]]],
};

/** The value of a pointer at a time, by appendix C of glTF 2.0. */
export function valueAt(pointer, time) {
	const [mode, times, values] = curves[pointer];
	const at = (key) => (mode === 'CUBICSPLINE' ? values[key][1] : values[key]);
	let k = times.findLastIndex((key) => key <= time);
	if (k < 0) return at(0);
	if (k === times.length - 1 || mode === 'STEP') return at(k);
	const span = times[k + 1] - times[k];
	const t = (time - times[k]) / span;
	if (mode === 'LINEAR') return at(k).map((v, i) => v + t * (at(k + 1)[i] - v));
	return at(k).map((v, i) => (2 * t ** 3 - 3 * t ** 2 + 1) * v + span * (t ** 3 - 2 * t ** 2 + t) * values[k][2][i]
		+ (3 * t ** 2 - 2 * t ** 3) * at(k + 1)[i] + span * (t ** 3 - t ** 2) * values[k + 1][0][i]);
}

/** The document without its clip; `value(pointer)` gives the numbers that the clip would animate. */
function scene(value) {
	const texture = (extra) => ({ index: 0, ...extra });
	const v = (pointer) => value(pointer).length === 1 && !pointer.endsWith('weights') ? value(pointer)[0] : value(pointer);
	const of = (prefix, ...keys) => Object.fromEntries(keys.map((key) => [key, v(`${prefix}/${key}`)]));
	const m = '/materials/2/extensions';
	return {
		asset: { version: '2.0' },
		extensionsUsed: ['KHR_animation_pointer', 'KHR_lights_punctual', 'KHR_texture_transform', 'KHR_materials_emissive_strength', 'KHR_materials_clearcoat',
			'KHR_materials_transmission', 'KHR_materials_volume', 'KHR_materials_ior', 'KHR_materials_dispersion', 'KHR_materials_specular',
			'KHR_materials_sheen', 'KHR_materials_anisotropy', 'KHR_materials_iridescence'],
		extensions: { KHR_lights_punctual: { lights: [{ type: 'spot', ...of('/extensions/KHR_lights_punctual/lights/0', 'color', 'intensity', 'range'),
			spot: of('/extensions/KHR_lights_punctual/lights/0/spot', 'innerConeAngle', 'outerConeAngle') }] } },
		scene: 0,
		scenes: [{ nodes: [0, 1, 2, 3, 4, 5] }],
		nodes: [{ mesh: 0, ...of('/nodes/0', 'translation', 'rotation', 'scale') }, { mesh: 1, translation: [3, 0, 0] }, { mesh: 2, translation: [6, 0, 0] },
			{ camera: 0, translation: [3, 0, 9] }, { camera: 1, translation: [3, 0, 9] },
			{ extensions: { KHR_lights_punctual: { light: 0 } }, translation: [0, 0, 4] }],
		cameras: [{ type: 'perspective', perspective: of('/cameras/0/perspective', 'yfov', 'znear', 'zfar', 'aspectRatio') },
			{ type: 'orthographic', orthographic: { ...of('/cameras/1/orthographic', 'xmag', 'ymag'), znear: 0.1, zfar: 50 } }],
		meshes: [0, 1, 2].map((material) => ({
			primitives: [{ attributes: { POSITION: 0, TEXCOORD_0: 1, NORMAL: 2 }, indices: 3, material, ...(material === 1 && { targets: [{ POSITION: 2 }] }) }],
			...(material === 1 && { weights: v('/meshes/1/weights') }),
		})),
		images: [{ uri: picture }],
		textures: [{ source: 0 }],
		materials: [
			{ name: 'driven', alphaMode: 'MASK', alphaCutoff: v('/materials/0/alphaCutoff'), emissiveFactor: v('/materials/0/emissiveFactor'),
				emissiveTexture: texture(), normalTexture: texture({ scale: v('/materials/0/normalTexture/scale') }),
				pbrMetallicRoughness: { ...of('/materials/0/pbrMetallicRoughness', 'baseColorFactor', 'metallicFactor', 'roughnessFactor'),
					baseColorTexture: texture({ extensions: { KHR_texture_transform:
						of('/materials/0/pbrMetallicRoughness/baseColorTexture/extensions/KHR_texture_transform', 'offset', 'scale', 'rotation') } }) },
				extensions: { KHR_materials_emissive_strength: of('/materials/0/extensions/KHR_materials_emissive_strength', 'emissiveStrength') } },
			/* Equal to the material before it at rest: must not be animated with it. */
			{ name: 'driven', alphaMode: 'MASK', alphaCutoff: 0.5, emissiveFactor: [0, 0, 0], emissiveTexture: texture(), normalTexture: texture({ scale: 1 }),
				pbrMetallicRoughness: { baseColorFactor: [1, 1, 1, 1], metallicFactor: 1, roughnessFactor: 1,
					baseColorTexture: texture({ extensions: { KHR_texture_transform: { offset: [0, 0], scale: [1, 1], rotation: 0 } } }) },
				extensions: { KHR_materials_emissive_strength: { emissiveStrength: 1 } } },
			{ name: 'glass', pbrMetallicRoughness: { metallicFactor: 0, roughnessFactor: 0.2 }, extensions: {
				KHR_materials_clearcoat: of(`${m}/KHR_materials_clearcoat`, 'clearcoatFactor', 'clearcoatRoughnessFactor'),
				KHR_materials_transmission: of(`${m}/KHR_materials_transmission`, 'transmissionFactor'),
				KHR_materials_volume: of(`${m}/KHR_materials_volume`, 'thicknessFactor', 'attenuationDistance', 'attenuationColor'),
				KHR_materials_ior: of(`${m}/KHR_materials_ior`, 'ior'),
				KHR_materials_dispersion: of(`${m}/KHR_materials_dispersion`, 'dispersion'),
				KHR_materials_specular: of(`${m}/KHR_materials_specular`, 'specularFactor', 'specularColorFactor'),
				KHR_materials_sheen: of(`${m}/KHR_materials_sheen`, 'sheenColorFactor', 'sheenRoughnessFactor'),
				KHR_materials_anisotropy: of(`${m}/KHR_materials_anisotropy`, 'anisotropyStrength', 'anisotropyRotation'),
				KHR_materials_iridescence: of(`${m}/KHR_materials_iridescence`, 'iridescenceFactor', 'iridescenceIor', 'iridescenceThicknessMinimum',
					'iridescenceThicknessMaximum'),
			} },
		],
	};
}

/* The driven material at rest: equal to its neighbour. */
const atRest = {
	'/materials/0/pbrMetallicRoughness/baseColorFactor': [1, 1, 1, 1],
	'/materials/0/pbrMetallicRoughness/metallicFactor': [1],
	'/materials/0/pbrMetallicRoughness/roughnessFactor': [1],
	'/materials/0/normalTexture/scale': [1],
	'/materials/0/alphaCutoff': [0.5],
};

class Buffers {
	bytes = Buffer.alloc(0);
	views = [];
	accessors = [];

	add(data, componentType, type, count, more = {}) {
		this.views.push({ buffer: 0, byteOffset: this.bytes.length, byteLength: data.byteLength });
		this.bytes = Buffer.concat([this.bytes, Buffer.from(data.buffer, data.byteOffset, data.byteLength), Buffer.alloc((4 - (data.byteLength % 4)) % 4)]);
		this.accessors.push({ bufferView: this.views.length - 1, componentType, type, count, ...more });
		return this.accessors.length - 1;
	}

	floats(values, type, more) {
		const width = { SCALAR: 1, VEC2: 2, VEC3: 3, VEC4: 4 }[type];
		return this.add(Float32Array.from(values), 5126, type, values.length / width, more);
	}
}

function geometry() {
	const buffers = new Buffers();
	buffers.floats([0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0], 'VEC3', { min: [0, 0, 0], max: [1, 1, 0] });
	buffers.floats([0, 1, 1, 1, 0, 0, 1, 0], 'VEC2');
	buffers.floats([0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1], 'VEC3', { min: [0, 0, 1], max: [0, 0, 1] });
	buffers.add(Uint16Array.from([0, 1, 2, 2, 1, 3]), 5123, 'SCALAR', 6);
	return buffers;
}

function finish(json, buffers) {
	return { ...json, accessors: buffers.accessors, bufferViews: buffers.views,
		buffers: [{ byteLength: buffers.bytes.length, uri: `data:application/octet-stream;base64,${buffers.bytes.toString('base64')}` }] };
}

/** The file at a time, without a clip: any loader shows this state. */
export function stillAt(time) {
	return finish(scene((pointer) => valueAt(pointer, time)), geometry());
}

/** Writes pointers.gltf and its picture to a folder; returns the file's path. */
export function makePointers(folder) {
	const buffers = geometry();
	const samplers = [];
	const channels = [];
	for (const [pointer, [interpolation, times, values]] of Object.entries(curves)) {
		const width = (interpolation === 'CUBICSPLINE' ? values[0][0] : values[0]).length;
		const input = buffers.floats(times, 'SCALAR', { min: [times[0]], max: [times.at(-1)] });
		const output = buffers.floats(values.flat(2), ['', 'SCALAR', 'VEC2', 'VEC3', 'VEC4'][width]);
		samplers.push({ input, output, interpolation });
		channels.push({ sampler: samplers.length - 1, target: { path: 'pointer', extensions: { KHR_animation_pointer: { pointer } } } });
	}
	const json = finish(scene((pointer) => atRest[pointer] ?? valueAt(pointer, 0)), buffers);
	json.cameras[1].extras = extras.camera;
	json.extensions.KHR_lights_punctual.lights[0].extras = extras.light;
	json.meshes[0].extras = extras.mesh;
	json.meshes[1].extras = extras.morphed;
	const path = join(folder, 'pointers.gltf');
	writeFileSync(path, JSON.stringify({ ...json, animations: [{ name: 'drive', samplers, channels, extras: extras.clip }] }));
	copyFileSync(fileURLToPath(new URL(`../data/models/simple/${picture}`, import.meta.url)), join(folder, picture));
	return path;
}

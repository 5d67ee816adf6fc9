/* Other ways to draw a model than with its materials, and helpers drawn around it. */
import * as THREE from 'three';
import { makeDensity, texelsOf } from './density.js';
import { ALL, BARE, channelNames, makeChannel, makeWeights } from './tint.js';
import { VertexNormalsHelper } from 'three/addons/helpers/VertexNormalsHelper.js';
import { VertexTangentsHelper } from 'three/addons/helpers/VertexTangentsHelper.js';

function makeChecker() {
	const side = 512;
	const cells = 8;
	const canvas = document.createElement('canvas');
	canvas.width = canvas.height = side;
	const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
	const cell = side / cells;
	pen.font = `${cell * 0.4}px sans-serif`;
	pen.textAlign = 'center';
	pen.textBaseline = 'middle';
	for (let y = 0; y < cells; y++)
		for (let x = 0; x < cells; x++) {
			const hue = (x / cells) * 300;
			pen.fillStyle = (x + y) % 2 ? `hsl(${hue} 35% ${38 + y * 4}%)` : `hsl(${hue} 25% ${72 + y * 2}%)`;
			pen.fillRect(x * cell, y * cell, cell, cell);
			pen.fillStyle = (x + y) % 2 ? '#fff' : '#222';
			pen.fillText(`${'ABCDEFGH'[x]}${y + 1}`, (x + 0.5) * cell, (y + 0.5) * cell);
		}
	const texture = new THREE.CanvasTexture(canvas);
	texture.colorSpace = THREE.SRGBColorSpace;
	texture.wrapS = texture.wrapT = THREE.RepeatWrapping;
	texture.flipY = false;
	texture.anisotropy = 8;
	return texture;
}

/** @param {THREE.MeshStandardMaterialParameters} rest */
const solid = (rest) => new THREE.MeshStandardMaterial({ roughness: 0.85, metalness: 0, side: THREE.DoubleSide,
	...rest });
const LEVELS = [0x4f9d5d, 0x3d7fc4, 0xd9a520, 0xcc5b2e, 0xa3438f, 0x6b6f76];
/** @param {number} channel */
const checker = (channel) => {
	const map = makeChecker();
	map.channel = channel;
	return solid({ map, roughness: 0.9 });
};

/**
 * @typedef {{ levelOf(object: View.Thing): number, joint: string }} Options  levelOf: the level that is drawn
 * @typedef {THREE.Material & { flatShading?: boolean, map?: THREE.Texture | null }} Made
 */

/**
 * By name of the look: how to make its material.
 * @type {Page.Table<() => Made>}
 */
const shared = {
	clay: () => solid({ color: 0xb9b4ac, roughness: 0.75 }),
	matcap: () => new THREE.MeshMatcapMaterial({ side: THREE.DoubleSide }),
	normals: () => new THREE.MeshNormalMaterial({ side: THREE.DoubleSide }),
	checker: () => checker(0),
	uv2: () => checker(1),
	colors: () => new THREE.MeshBasicMaterial({ vertexColors: true, side: THREE.DoubleSide }),
	overdraw: () => new THREE.MeshBasicMaterial({ color: 0x301808, blending: THREE.AdditiveBlending,
		transparent: true, depthTest: false, depthWrite: false, toneMapped: false, side: THREE.DoubleSide }),
	meshlets: () => solid({ vertexColors: true }),
};
/**
 * Where objects differ: (object, own material, options) -> [what its material is known by, how to make it].
 * @type {Page.Table<(object: View.Thing, own: View.Material, options: Options) => [string | number, () => Made]>}
 */
const apart = {
	density: (object, own) => [texelsOf(own), () => makeDensity(texelsOf(own))],
	levels(object, own, { levelOf }) {
		const level = levelOf(object);
		return [level, () => solid({ color: LEVELS[level % LEVELS.length] })];
	},
	weights({ skeleton }, own, { joint }) {
		const index = !skeleton ? BARE : joint ? skeleton.bones.findIndex((bone) => nameOf(bone) === joint) : ALL;
		return [index, () => makeWeights(index)];
	},
	...Object.fromEntries(channelNames.map((name) =>
		[name, (/** @type {View.Thing} */ _, /** @type {View.Material} */ own) => [own.uuid, () => makeChannel(name,
			own)]])),
};

/** @param {THREE.Object3D} bone */
const nameOf = (bone) => bone.userData.name || bone.name;

/**
 * Names of all joints that move a skin.
 * @param {View.Model} group
 */
export function jointsOf(group) {
	/** @type {Set<string>} */
	const names = new Set();
	group.traverse(({ skeleton }) => skeleton?.bones.forEach((bone) => names.add(nameOf(bone))));
	return [...names];
}

/** Other materials for a model. */
export class Looks {
	/** @type {Map<string, Made>} */
	#made = new Map();
	/** @type {[View.Thing, View.Material][]} */
	#worn = [];

	/**
	 * Where a shape has no normals, those of its triangles are shown.
	 * @param {string} look
	 * @param {View.Thing} object
	 * @param {View.Material} own
	 * @param {Options} options
	 */
	#material(look, object, own, options) {
		const flat = !object.geometry.attributes.normal;
		const [key, make] = apart[look]?.(object, own, options) ?? ['', shared[look]];
		const name = `${look} ${key} ${flat}`;
		const made = this.#made.get(name) ?? make();
		if ('flatShading' in made) made.flatShading = flat;
		this.#made.set(name, made);
		return /** @type {View.Material} */ (made);
	}

	/**
	 * Dresses the models in a look; 'material' is their own. options: {levelOf(object), joint: name or ''}
	 * @param {View.Model[]} models
	 * @param {string} look
	 * @param {Options} options
	 */
	wear(models, look, options) {
		this.undress();
		if (!shared[look] && !apart[look]) return;
		for (const model of models) model.traverse((object) => {
			const own = object.material;
			if (!own) return;
			this.#worn.push([object, own]);
			object.material = this.#material(look, object, [own].flat()[0], options);
		});
	}

	undress() {
		for (const [object, own] of this.#worn) object.material = own;
		this.#worn = [];
		for (const [name, material] of this.#made) if (material.userData.borrowed) {
			material.dispose();
			this.#made.delete(name);
		}
	}

	dispose() {
		this.undress();
		for (const material of this.#made.values()) {
			if (material.map instanceof THREE.CanvasTexture) material.map.dispose();
			material.dispose();
		}
	}
}

/**
 * @param {number} i
 * @param {THREE.Color} out
 */
const meshletColor = (i, out) => out.setHSL((i * 0.61803398875) % 1, 0.62, 0.42 + 0.2 * ((i * 0.7548776662) % 1),
	THREE.SRGBColorSpace);

/**
 * @param {THREE.BufferAttribute | THREE.InterleavedBufferAttribute} attribute
 * @param {number[]} corners
 */
function pick(attribute, corners) {
	const { itemSize, array, normalized } = attribute;
	const out = new /** @type {new (length: number) => THREE.TypedArray} */ (array.constructor)(
		corners.length * itemSize);
	for (let i = 0; i < corners.length; i++)
		for (let k = 0; k < itemSize; k++) out[i * itemSize + k] = array[corners[i] * itemSize + k];
	return new THREE.BufferAttribute(out, itemSize, normalized);
}

/**
 * The triangles of a geometry's meshlets, with one colour per meshlet.
 * @param {THREE.BufferGeometry} geometry
 * @param {{ corners: number[], owners: number[] }} given
 */
function meshletGeometry(geometry, { corners, owners }) {
	const out = new THREE.BufferGeometry();
	for (const [name, attribute] of Object.entries(geometry.attributes)) if (name !== 'color') out.setAttribute(name,
		pick(attribute, corners));
	for (const [name, list] of Object.entries(geometry.morphAttributes)) Object.assign(out.morphAttributes,
		{ [name]: list.map((each) => pick(each, corners)) });
	out.morphTargetsRelative = geometry.morphTargetsRelative;
	const colors = new Float32Array(corners.length * 3);
	const color = new THREE.Color();
	for (let i = 0; i < corners.length; i++) meshletColor(owners[(i / 3) | 0], color).toArray(colors, i * 3);
	out.setAttribute('color', new THREE.BufferAttribute(colors, 3));
	out.boundingBox = geometry.boundingBox;
	out.boundingSphere = geometry.boundingSphere;
	return out;
}

/**
 * Replaces the geometries of a model by meshlets; returns their number and a function to undo it.
 * @param {View.Model} group
 * @param {number} lod
 */
export function showMeshlets(group, lod) {
	const { geometry: reader } = group.userData.cooked;
	const made = new Map();
	const before = new Map();
	let count = 0;
	group.traverse((object) => {
		const index = object.userData.hob?.mesh;
		if (index === undefined) return;
		if (!made.has(index)) {
			const found = reader.readMeshlets(index, lod);
			made.set(index, found && { geometry: meshletGeometry(object.geometry, found), count: found.count });
		}
		const found = made.get(index);
		if (!found) return;
		count += found.count;
		before.set(object, object.geometry);
		object.geometry = found.geometry;
	});
	return {
		count,
		restore() {
			for (const [object, geometry] of before) object.geometry = geometry;
			for (const each of made.values()) each?.geometry.dispose();
		},
	};
}

const corners = [[0, 1], [1, 3], [3, 2], [2, 0], [4, 5], [5, 7], [7, 6], [6, 4], [0, 4], [1, 5], [2, 6], [3, 7]];

/**
 * @param {THREE.Box3} box
 * @param {THREE.LineBasicMaterial} material
 */
function boxLines(box, material) {
	const points = corners.flat().map((i) => new THREE.Vector3(box[i & 1 ? 'max' : 'min'].x,
			box[i & 2 ? 'max' : 'min'].y, box[i & 4 ? 'max' : 'min'].z));
	return new THREE.LineSegments(new THREE.BufferGeometry().setFromPoints(points), material);
}

/**
 * The box of every mesh as given in the file, and one around all.
 * @param {View.Model} group
 * @param {THREE.Box3} whole
 */
export function makeBounds(group, whole) {
	const out = new THREE.Group();
	const each = new THREE.LineBasicMaterial({ color: 0x3d8bd4, transparent: true, opacity: 0.7 });
	group.traverse((object) => {
		if (!object.userData.hob || !object.geometry.boundingBox) return;
		const lines = boxLines(object.geometry.boundingBox, each);
		lines.matrixWorldAutoUpdate = false;
		lines.matrixWorld = object.matrixWorld;
		out.add(lines);
	});
	if (!whole.isEmpty()) out.add(boxLines(whole, new THREE.LineBasicMaterial({ color: 0xe07b2c })));
	return out;
}

/* More lines than this would be unreadable. */
const LINES_MOST = 60000;

/**
 * A line for every vertex that has an `attribute`, as long as a fiftieth of the model; null if there are none, or too
 * many.
 * @param {View.Model} group
 * @param {THREE.Box3} whole
 * @param {string} attribute
 * @param {typeof VertexNormalsHelper | typeof VertexTangentsHelper} Helper
 * @param {number} color
 */
function makeLines(group, whole, attribute, Helper, color) {
	const out = new THREE.Group();
	const length = whole.isEmpty() ? 0.1 : whole.getSize(new THREE.Vector3()).length() / 50;
	let left = LINES_MOST;
	group.traverse((object) => {
		const count = object.userData.hob ? object.geometry.attributes[attribute]?.count ?? 0 : 0;
		left -= count;
		if (count > 0 && left >= 0) out.add(new Helper(object, length, color));
	});
	return out.children.length ? out : null;
}

/**
 * @param {View.Model} group
 * @param {THREE.Box3} whole
 */
export const makeNormals = (group, whole) => makeLines(group, whole, 'normal', VertexNormalsHelper, 0x3d8bd4);
/**
 * @param {View.Model} group
 * @param {THREE.Box3} whole
 */
export const makeTangents = (group, whole) => makeLines(group, whole, 'tangent', VertexTangentsHelper, 0xd9622b);

/**
 * The looks and lines for which this model has data.
 * @param {View.Model} group
 */
export function looksOf(group) {
	const has = /** @type {Page.Table<boolean>} */ ({ colors: false, uv2: false, density: false, tangents: false,
		weights: false, levels: false });
	const { meshes } = group.userData.cooked.geometry;
	group.traverse(({ geometry, isSkinnedMesh, userData }) => {
		has.weights ||= Boolean(isSkinnedMesh);
		has.levels ||= meshes[userData.hob?.mesh]?.lod_count > 1;
		has.colors ||= Boolean(geometry?.attributes.color);
		has.uv2 ||= Boolean(geometry?.attributes.uv1);
		has.density ||= Boolean(geometry?.attributes.uv);
		has.tangents ||= Boolean(geometry?.attributes.tangent);
	});
	return (/** @type {string} */ look) => has[look] ?? true;
}

/** @param {View.Model} group */
export function makeSkeleton(group) {
	const helper = new THREE.SkeletonHelper(group);
	/** @type {THREE.LineBasicMaterial} */ (helper.material).depthTest = false;
	helper.renderOrder = 10;
	helper.frustumCulled = false;
	const bones = helper.bones.length;
	if (!bones) return null;
	const dots = new THREE.Points(new THREE.BufferGeometry().setAttribute('position',
			new THREE.BufferAttribute(new Float32Array(bones * 3), 3)),
		new THREE.PointsMaterial({ size: 5, sizeAttenuation: false, color: 0xffb454, depthTest: false,
				transparent: true, toneMapped: false }));
	dots.renderOrder = 11;
	dots.frustumCulled = false;
	const out = new THREE.Group();
	out.add(helper, dots);
	out.userData.joints = bones;
	out.userData.follow = () => {
		const places = dots.geometry.attributes.position;
		helper.bones.forEach(({ matrixWorld: { elements: at } }, i) => places.setXYZ(i, at[12], at[13], at[14]));
		places.needsUpdate = true;
	};
	return out;
}

/**
 * @param {THREE.Box3} box
 * @param {string} color
 */
export function makeGrid(box, color) {
	const size = box.isEmpty() ? 2 : Math.max(box.max.x - box.min.x, box.max.z - box.min.z,
		(box.max.y - box.min.y) * 0.5);
	const cell = 10 ** Math.floor(Math.log10(size || 1)) / (size / 10 ** Math.floor(Math.log10(size || 1)) < 3 ? 4 : 1);
	const cells = Math.ceil((size * 1.6) / cell / 2) * 2;
	const grid = new THREE.GridHelper(cells * cell, cells, color, color);
	grid.material.transparent = true;
	grid.material.opacity = 0.5;
	if (!box.isEmpty()) grid.position.set((box.min.x + box.max.x) / 2, box.min.y, (box.min.z + box.max.z) / 2);
	return grid;
}

/**
 * Removes the materials of a loaded model or helper, so that only copies that were never drawn are freed with it.
 * @param {THREE.Object3D} group
 */
export function takeMaterials(group) {
	const root = /** @type {View.Thing} */ (group);
	/** @type {Map<View.Material, View.Material>} */
	const copies = new Map();
	/** @param {View.Material} material */
	const swap = (material) => {
		const copy = copies.get(material) ?? material.clone();
		copies.set(material, copy);
		return copy;
	};
	root.traverse((object) => {
		if (!object.material) return;
		object.material = swap(object.material);
		const { hob } = object.userData;
		if (!hob) return;
		hob.material = swap(hob.material);
		for (const [name, material] of Object.entries(/** @type {Page.Table<View.Material>} */ (
			hob.variants))) hob.variants[name] = swap(material);
	});
	return [...copies.keys()];
}

/**
 * Frees a helper of this file.
 * @param {THREE.Object3D | null | undefined} helper
 */
export function disposeHelper(helper) {
	helper?.removeFromParent();
	/** @type {View.Thing | null | undefined} */ (helper)?.traverse((object) => {
		object.geometry?.dispose();
		object.material?.dispose();
	});
}

/**
 * hob-three-scene.js - nodes, cameras, lights, skins, clips of packed .scene and .animations files as three.js objects.
 */
import * as THREE from 'three';
import { NONE, constants } from './hob-format.js';
import { PropertyCarrier } from './hob-three-property.js';

/**
 * @import { Pack, Row, Section } from './hob-format.js'
 * @import { GeometryReader } from './hob-three-geometry.js'
 * @import { MaterialReader } from './hob-three-material.js'
 * @typedef {Record<string, any> & { userData: Record<string, any> }} Thing  an object of three.js of any kind
 * @typedef {{ userData: Record<string, any> }} Kept
 */

const c = constants;
/** @param {number[]} rgb */
const linear = (rgb) => new THREE.Color().setRGB(rgb[0], rgb[1], rgb[2], THREE.LinearSRGBColorSpace);
const farthest = 2e6;

/** Makes names that are unique and that animation tracks can address; the original is in userData.name. */
class NameMaker {
	used = new Set();

	/**
	 * @param {string} wanted
	 * @param {string} otherwise
	 */
	make(wanted, otherwise) {
		const base = THREE.PropertyBinding.sanitizeNodeName(wanted || otherwise);
		let name = base;
		for (let i = 1; this.used.has(name); i++) name = `${base}_${i}`;
		this.used.add(name);
		return name;
	}
}

/** @param {Row} record */
function makeCamera(record) {
	const far = Number.isFinite(record.zfar) ? record.zfar : farthest;
	const { yfov_or_ymag: y, aspect_or_xmag: x, znear } = record;
	const camera = record.type === c.CAMERA_PERSPECTIVE
		? new THREE.PerspectiveCamera(THREE.MathUtils.radToDeg(y), x || 1, znear, far)
		: new THREE.OrthographicCamera(-x, x, y, -y, znear, far);
	camera.userData.name = record.name;
	return camera;
}

/** @param {Row} record */
function makeLight(record) {
	const color = linear(record.color);
	const range = Number.isFinite(record.range) ? record.range : 0;
	/** @type {THREE.Light & { target?: THREE.Object3D }} */
	let light;
	if (record.type === c.LIGHT_POINT) light = new THREE.PointLight(color, record.intensity, range);
	else if (record.type === c.LIGHT_SPOT)
		light = new THREE.SpotLight(color, record.intensity, range, record.outer_cone,
			1 - record.inner_cone / record.outer_cone);
	else light = new THREE.DirectionalLight(color, record.intensity);
	light.position.set(0, 0, 0);
	if (light.target) {
		light.target.position.set(0, 0, -1);
		light.add(light.target);
	}
	light.userData.name = record.name;
	return light;
}

/** @type {Record<number, string>} */
const kinds = { [c.TOPOLOGY_TRIANGLES]: 'triangles', [c.TOPOLOGY_LINES]: 'lines', [c.TOPOLOGY_POINTS]: 'points' };

/** Builds one asset; use a builder once. */
export class SceneBuilder {
	/**
	 * @param {{scene: Pack, anims: Pack | null, geometry: GeometryReader, materials: MaterialReader}} parts  packs
	 * and readers
	 */
	constructor({ scene, anims, geometry, materials }) {
		this.scene = scene;
		this.anims = anims;
		this.geometry = geometry;
		this.materials = materials;
		this.names = new NameMaker();
		this.hierarchy = scene.rows('HIER');
		this.transforms = scene.rows('TRS_');
		this.nodeNames = scene.rows('NAMS');
		this.cameras = scene.rows('CAMS');
		this.lights = scene.rows('LGTS');
		this.extras = new Map(scene.rows('XTRA').map((extra) => [`${extra.kind} ${extra.index}`, extra]));
		this.skins = anims ? anims.rows('SKIN') : [];
		this.joints = anims ? /** @type {Uint32Array} */ (anims.array(/** @type {Section} */ (anims.find(
			'JNTS')))) : new Uint32Array();
		this.bones = new Set(this.joints);
		/** @type {Thing[]} */
		this.objects = [];
		this.shown = new Map();
		this.geometries = new Map();
		this.skeletons = new Map();
	}

	/**
	 * @param {number | undefined} sceneIndex
	 * @returns {Promise<THREE.Group>} the scene of the given number; undefined: the default scene
	 */
	async build(sceneIndex) {
		const scenes = this.scene.rows('SCNS');
		const chosen = scenes[sceneIndex ?? -1] ?? scenes.find((scene) => scene.flags & c.SCENE_DEFAULT) ?? scenes[0];
		for (let node = 0; node < this.hierarchy.length; node++) this.objects.push(await this.#makeNode(node));
		this.objects.forEach((object, node) => {
			const { parent } = this.hierarchy[node];
			if (parent >= 0) this.objects[parent].add(object);
		});
		const group = new THREE.Group();
		group.name = chosen?.name ?? '';
		const roots = this.scene.rows('ROOT').slice(chosen?.root_first ?? 0,
			(chosen?.root_first ?? 0) + (chosen?.root_count ?? 0));
		for (const root of roots) group.add(/** @type {THREE.Object3D} */ (this.objects[root]));
		group.updateMatrixWorld(true);
		this.#bindSkins();
		this.carrier = new PropertyCarrier(this);
		group.animations = this.#clips();
		if (this.carrier.used) group.add(this.carrier.object);
		group.userData.variants = this.materials.variants;
		this.#keepExtras(group, c.EXTRA_SCENE, Math.max(0, scenes.indexOf(chosen)));
		group.userData.file = this.#keepExtras({ userData: {} }, c.EXTRA_FILE, 0).userData;
		return group;
	}

	/**
	 * Custom properties of the source, unchanged: userData.extras, and userData.extensions with those that Hob does not
	 * know.
	 * @template {Kept} Object
	 * @param {Object} object
	 * @param {number} kind
	 * @param {number} index
	 */
	#keepExtras(object, kind, index) {
		const found = this.extras.get(`${kind} ${index}`);
		if (found?.values) object.userData.extras = JSON.parse(found.values);
		if (found?.extensions) object.userData.extensions = JSON.parse(found.extensions);
		return object;
	}

	/**
	 * @param {number} index
	 * @param {string} kind
	 * @param {THREE.BufferGeometry} geometry
	 */
	async #material(index, kind, geometry) {
		return this.#keepExtras(await this.materials.materialFor(index, kind, geometry), c.EXTRA_MATERIAL, index);
	}

	/** @param {number} node */
	async #makeNode(node) {
		const mesh = this.scene.link('LMSH', node);
		const object = (mesh !== NONE && (await this.#makeMesh(node, mesh)))
			|| (this.bones.has(node) ? new THREE.Bone() : new THREE.Object3D());
		object.name = this.names.make(this.nodeNames[node], `node_${node}`);
		if (this.nodeNames[node]) object.userData.name = this.nodeNames[node];
		this.#keepExtras(object, c.EXTRA_NODE, node);
		this.#place(object, node);
		const camera = this.scene.link('LCAM', node);
		if (camera !== NONE) object.add(this.#shown('camera', camera,
				this.#keepExtras(this.#named(makeCamera(this.cameras[camera]), 'camera'), c.EXTRA_CAMERA, camera)));
		const light = this.scene.link('LLGT', node);
		if (light !== NONE) object.add(this.#shown('light', light,
				this.#keepExtras(this.#named(makeLight(this.lights[light]), 'light'), c.EXTRA_LIGHT, light)));
		return object;
	}

	/**
	 * Several nodes may use one camera or light: a clip animates all of them.
	 * @param {string} kind
	 * @param {number} index
	 * @param {Kept} object
	 */
	#shown(kind, index, object) {
		const key = `${kind} ${index}`;
		this.shown.set(key, [...(this.shown.get(key) ?? []), object]);
		return object;
	}

	/**
	 * @param {THREE.Object3D} object
	 * @param {string} otherwise
	 */
	#named(object, otherwise) {
		object.name = this.names.make(object.userData.name, otherwise);
		return object;
	}

	/**
	 * @param {Thing} object
	 * @param {number} node
	 */
	#place(object, node) {
		const { t, r, s, flags } = this.transforms[node];
		object.position.fromArray(t);
		object.quaternion.fromArray(r);
		object.scale.fromArray(s);
		object.visible = !(flags & c.NODE_HIDDEN);
		if (!(flags & c.NODE_SHEAR)) return;
		object.matrix.fromArray(this.scene.row(/** @type {Section} */ (this.scene.find('LOCL')), node));
		object.matrixAutoUpdate = false;
	}

	/** @param {number} index */
	#geometry(index) {
		if (!this.geometries.has(index)) this.geometries.set(index, this.geometry.read(index));
		return this.geometries.get(index);
	}

	/**
	 * @param {number} node
	 * @param {number} index
	 */
	async #makeMesh(node, index) {
		const read = this.#geometry(index);
		if (!read) return null;
		const { geometry, mesh, targets } = read;
		this.#keepExtras(geometry, c.EXTRA_MESH, index);
		const kind = kinds[mesh.topology];
		const material = await this.#material(this.scene.link('LMAT', node), kind, geometry);
		const skin = this.#ownOrParents('LSKN', node);
		/** @type {new (geometry: THREE.BufferGeometry, material: THREE.Material) => Thing} */
		const Type = kind === 'points' ? THREE.Points : kind === 'lines' ? THREE.LineSegments
			: skin !== NONE && geometry.hasAttribute('skinIndex') ? THREE.SkinnedMesh : THREE.Mesh;
		const object = new Type(geometry, material);
		if (object.isSkinnedMesh) {
			object.userData.skin = skin;
			if (mesh.influence_count > 4) object.normalizeSkinWeights();
		}
		if (targets.length) this.#setWeights(object, targets, node);
		object.userData.hob = { mesh: index, variants: await this.#variants(mesh, kind, geometry), material };
		return object;
	}

	/**
	 * @param {string} type
	 * @param {number} node
	 */
	#ownOrParents(type, node) {
		const own = this.scene.link(type, node);
		const { parent } = this.hierarchy[node];
		return own !== NONE || parent < 0 ? own : this.scene.link(type, parent);
	}

	/**
	 * @param {Thing} object
	 * @param {Row[]} targets
	 * @param {number} node
	 */
	#setWeights(object, targets, node) {
		object.updateMorphTargets();
		const own = this.#ownOrParents('LWGT', node);
		const weights = own === NONE ? null : this.scene.array(/** @type {Section} */ (this.scene.find(
			'WGTS'))).subarray(own);
		targets.forEach((target, i) => (object.morphTargetInfluences[i] = weights ? weights[i] : target.weight));
		object.morphTargetDictionary = Object.fromEntries(targets.map((target, i) => [target.name || String(i), i]));
	}

	/**
	 * @param {Row} mesh
	 * @param {string} kind
	 * @param {THREE.BufferGeometry} geometry
	 */
	async #variants(mesh, kind, geometry) {
		const table = /** @type {Section} */ (this.geometry.pack.find('VMAP'));
		/** @type {Record<string, THREE.Material>} */
		const out = {};
		for (let i = 0; i < mesh.variant_count; i++) {
			const row = this.geometry.pack.row(table, mesh.variant_first + i);
			out[this.materials.variants[row.variant]] = await this.#material(row.material, kind, geometry);
		}
		return out;
	}

	/** @param {number} index */
	#skeleton(index) {
		if (this.skeletons.has(index)) return this.skeletons.get(index);
		const { joint_first, joint_count } = this.skins[index];
		const anims = /** @type {Pack} */ (this.anims);
		const matrices = /** @type {Section} */ (anims.find('IBMS'));
		const bones = Array.from(this.joints.subarray(joint_first, joint_first + joint_count),
			(node) => /** @type {THREE.Bone} */ (this.objects[node]));
		const inverses = bones.map((_, i) => new THREE.Matrix4().fromArray(anims.row(matrices, joint_first + i)));
		const skeleton = new THREE.Skeleton(bones, inverses);
		this.skeletons.set(index, skeleton);
		return skeleton;
	}

	#bindSkins() {
		for (const object of this.objects)
			if (object.isSkinnedMesh) {
				object.bind(this.#skeleton(object.userData.skin), new THREE.Matrix4());
				/* Boxes must be right even before the next updateMatrixWorld. */
				object.bindMatrixInverse.copy(object.matrixWorld).invert();
				delete object.userData.skin;
				/* The file's bounds are those of the rest pose. */
				object.frustumCulled = false;
			}
	}

	#clips() {
		if (!this.anims) return [];
		const channels = this.anims.rows('CHAN');
		const properties = this.anims.rows('PROP');
		const samplers = this.anims.rows('SMPL');
		const times = /** @type {Float32Array} */ (this.anims.array(/** @type {Section} */ (this.anims.find('TIME'))));
		const values = /** @type {Float32Array} */ (this.anims.array(/** @type {Section} */ (this.anims.find('VALS'))));
		return this.anims.rows('CLIP').map((clip, id) => {
			const own = channels.slice(clip.channel_first, clip.channel_first + clip.channel_count);
			const tracks = own.flatMap((channel) => {
				const sampler = samplers[channel.sampler];
				const size = sampler.components * (sampler.interpolation === c.CUBICSPLINE ? 3 : 1) * sampler.key_count;
				return this.#tracks(channel, sampler, times.slice(sampler.time_first,
						sampler.time_first + sampler.key_count),
					values.slice(sampler.value_first, sampler.value_first + size));
			});
			for (const channel of properties.filter((property) => property.clip === id)) {
				const sampler = samplers[channel.sampler];
				const size = sampler.components * (sampler.interpolation === c.CUBICSPLINE ? 3 : 1) * sampler.key_count;
				const track = this.carrier?.track(channel, sampler.interpolation,
					times.slice(sampler.time_first, sampler.time_first + sampler.key_count),
					values.slice(sampler.value_first, sampler.value_first + size));
				if (track && sampler.interpolation === c.CUBICSPLINE) makeCubic(track, false);
				if (track) tracks.push(track);
			}
			return this.#keepExtras(new THREE.AnimationClip(clip.name, clip.end, tracks), c.EXTRA_CLIP, id);
		});
	}

	/**
	 * @param {{ node: number, path: number }} given
	 * @param {Row} sampler
	 * @param {Float32Array} times
	 * @param {Float32Array} values
	 */
	#tracks({ node, path }, sampler, times, values) {
		const [property, Track] = trackKinds[path];
		const object = this.objects[node];
	const driven = path === c.PATH_WEIGHTS ? [object,
			...object.children].filter((child) => child.morphTargetInfluences) : [object];
		return driven.map(({ name }) => {
			const track = new Track(`${name}.${property}`, times, values,
				sampler.interpolation === c.STEP ? THREE.InterpolateDiscrete : THREE.InterpolateLinear);
			if (sampler.interpolation === c.CUBICSPLINE) makeCubic(track, path === c.PATH_ROTATION);
			return track;
		});
	}
}

/**
 * @type {Record<number, [string, new (name: string, times: Float32Array, values: Float32Array,
 *     interpolation: THREE.InterpolationModes) => THREE.KeyframeTrack]>}
 */
const trackKinds = {
	[c.PATH_TRANSLATION]: ['position', THREE.VectorKeyframeTrack],
	[c.PATH_ROTATION]: ['quaternion', THREE.QuaternionKeyframeTrack],
	[c.PATH_SCALE]: ['scale', THREE.VectorKeyframeTrack],
	[c.PATH_WEIGHTS]: ['morphTargetInfluences', THREE.NumberKeyframeTrack],
};

/** Hermite splines whose keys are (in-tangent, value, out-tangent). */
class CubicInterpolant extends THREE.Interpolant {
	/** @param {number} index */
	copySampleValue_(index) {
		const first = (index * 3 + 1) * this.valueSize;
		for (let i = 0; i < this.valueSize; i++) this.resultBuffer[i] = this.sampleValues[first + i];
		return this.resultBuffer;
	}

	/**
	 * @param {number} i1
	 * @param {number} t0
	 * @param {number} t
	 * @param {number} t1
	 */
	interpolate_(i1, t0, t, t1) {
		const { resultBuffer: out, sampleValues: v, valueSize: n } = this;
		const span = t1 - t0;
		const p = (t - t0) / span;
		const before = (i1 - 1) * 3 * n;
		const after = i1 * 3 * n;
		const h01 = p * p * (3 - 2 * p);
		const h11 = p * p * (p - 1);
		const h10 = h11 - p * p + p;
		for (let i = 0; i < n; i++)
			out[i] = (1 - h01) * v[before + n + i] + h10 * span * v[before + 2 * n + i] + h01 * v[after + n + i]
				+ h11 * span * v[after + i];
		return out;
	}
}

class CubicRotationInterpolant extends CubicInterpolant {
	/**
	 * @param {number} i1
	 * @param {number} t0
	 * @param {number} t
	 * @param {number} t1
	 */
	interpolate_(i1, t0, t, t1) {
		const out = super.interpolate_(i1, t0, t, t1);
		const length = Math.hypot(out[0], out[1], out[2], out[3]) || 1;
		for (let i = 0; i < 4; i++) out[i] /= length;
		return out;
	}
}

/**
 * @param {THREE.KeyframeTrack} track
 * @param {boolean} rotation
 */
function makeCubic(track, rotation) {
	const Type = rotation ? CubicRotationInterpolant : CubicInterpolant;
	const make = (/** @type {any} */ result) => new Type(track.times, track.values, track.getValueSize() / 3, result);
	/* three.js checks this mark when it copies or validates tracks. */
	Object.assign(track, { createInterpolant: Object.assign(make,
		{ isInterpolantFactoryMethodGLTFCubicSpline: true }) });
}

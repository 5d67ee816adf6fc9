/**
 * hob-three-property.js - animations of properties other than node transforms (KHR_animation_pointer) as three.js
 * animation tracks.
 *
 * A track of three.js names an object of the tree and one of its fields. Here that object is a carrier, whose fields
 * read and write numbers of materials, textures, cameras and lights as the file has them: one field may set many
 * three.js materials.
 */
import * as THREE from 'three';
import { constants as c } from './hob-format.js';
import { applyTransform, slotFields } from './hob-three-material.js';

/**
 * @import { Row } from './hob-format.js'
 * @typedef {{ get(): number[], set(values: number[]): unknown }} Access
 * @typedef {Record<string, any>} Owner  an object of three.js whose fields are named by tables
 * @typedef {THREE.MeshPhysicalMaterial & Owner} Material
 * @typedef {THREE.PerspectiveCamera & THREE.OrthographicCamera} Camera
 * @typedef {THREE.SpotLight & { distance: number }} Light
 */

/**
 * @param {THREE.Color} target
 * @returns {Access}
 */
const linear = (target) => ({
	get: () => [target.r, target.g, target.b],
	set: (v) => target.setRGB(v[0], v[1], v[2], THREE.LinearSRGBColorSpace),
});

/**
 * @param {Owner} object
 * @param {string} field
 * @returns {Access}
 */
const number = (object, field) => ({
	get: () => [object[field]],
	set: ([v]) => (object[field] = v),
});

/**
 * Normal maps without tangents have a negated y: each component keeps its sign.
 * @param {THREE.Vector2} vector
 * @returns {Access}
 */
const scales = (vector) => ({
	get: () => [Math.abs(vector.x)],
	set: ([v]) => vector.set(v * (Math.sign(vector.x) || 1), v * (Math.sign(vector.y) || 1)),
});

/**
 * @param {Material} material
 * @returns {Access}
 */
const baseColor = (material) => ({
	get: () => [material.color.r, material.color.g, material.color.b, material.opacity],
	set: (v) => {
		material.color.setRGB(v[0], v[1], v[2], THREE.LinearSRGBColorSpace);
		material.opacity = v[3];
	},
});

const colors = {
	[c.PROPERTY_EMISSIVE]: 'emissive',
	[c.PROPERTY_SPECULAR_COLOR]: 'specularColor',
	[c.PROPERTY_SHEEN_COLOR]: 'sheenColor',
	[c.PROPERTY_ATTENUATION_COLOR]: 'attenuationColor',
};

const numbers = {
	[c.PROPERTY_METALLIC]: 'metalness',
	[c.PROPERTY_ROUGHNESS]: 'roughness',
	[c.PROPERTY_EMISSIVE_STRENGTH]: 'emissiveIntensity',
	[c.PROPERTY_OCCLUSION_STRENGTH]: 'aoMapIntensity',
	[c.PROPERTY_ALPHA_CUTOFF]: 'alphaTest',
	[c.PROPERTY_IOR]: 'ior',
	[c.PROPERTY_DISPERSION]: 'dispersion',
	[c.PROPERTY_SPECULAR]: 'specularIntensity',
	[c.PROPERTY_CLEARCOAT]: 'clearcoat',
	[c.PROPERTY_CLEARCOAT_ROUGHNESS]: 'clearcoatRoughness',
	[c.PROPERTY_SHEEN_ROUGHNESS]: 'sheenRoughness',
	[c.PROPERTY_TRANSMISSION]: 'transmission',
	[c.PROPERTY_THICKNESS]: 'thickness',
	[c.PROPERTY_ATTENUATION_DISTANCE]: 'attenuationDistance',
	[c.PROPERTY_ANISOTROPY]: 'anisotropy',
	[c.PROPERTY_ANISOTROPY_ROTATION]: 'anisotropyRotation',
	[c.PROPERTY_IRIDESCENCE]: 'iridescence',
	[c.PROPERTY_IRIDESCENCE_IOR]: 'iridescenceIOR',
	[c.PROPERTY_IRIDESCENCE_MIN]: 'iridescenceThicknessMinimum',
	[c.PROPERTY_IRIDESCENCE_MAX]: 'iridescenceThicknessMaximum',
};

const vectors = {
	[c.PROPERTY_NORMAL_SCALE]: 'normalScale',
	[c.PROPERTY_CLEARCOAT_NORMAL_SCALE]: 'clearcoatNormalScale',
};

/**
 * Access to a number of one three.js material as {get, set}; null if three.js does not have it (diffuse
 * transmission).
 * @param {Material} material
 * @param {number} property
 * @returns {Access | null}
 */
function ofMaterial(material, property) {
	if (property === c.PROPERTY_BASE_COLOR) return baseColor(material);
	if (property in colors) return material[colors[property]] ? linear(material[colors[property]]) : null;
	if (property in vectors) return material[vectors[property]] ? scales(material[vectors[property]]) : null;
	if (property === c.PROPERTY_ALPHA_CUTOFF && !(material.userData.hob?.flags & c.MATERIAL_MASK)) return null;
	return numbers[property] in material ? number(material, numbers[property]) : null;
}

const placement = { [c.PROPERTY_TEXTURE_OFFSET]: 'offset', [c.PROPERTY_TEXTURE_SCALE]: 'scale',
	[c.PROPERTY_TEXTURE_ROTATION]: 'rotation' };

/**
 * Materials may share a texture: the animated one gets its own, with the same picture.
 * @param {Material} material
 * @param {number} slot
 */
function ownTextures(material, slot) {
	const fields = slotFields(slot).filter((field) => material[field]);
	for (const field of fields) {
		const texture = material[field];
		if (texture.userData.drivenBy === `${material.uuid} ${slot}`) continue;
		material[field] = texture.clone();
		material[field].userData = { ...texture.userData, placement: undefined, drivenBy: `${material.uuid} ${slot}` };
		material[field].needsUpdate = true;
	}
	return fields.map((field) => material[field]);
}

/**
 * The textures of a slot share one placement, because offset, scale and rotation form one matrix.
 * @param {Material} material
 * @param {number} property
 * @param {number} slot
 * @returns {Access | null}
 */
function ofTexture(material, property, slot) {
	const textures = ownTextures(material, slot);
	if (!textures.length) return null;
	const now = () => (textures[0].userData.placement ??= {
		offset: textures[0].offset.toArray(), scale: textures[0].repeat.toArray(), rotation: textures[0].rotation });
	const field = placement[property];
	return {
		get: () => [now()[field]].flat(),
		set: (v) => {
			now()[field] = field === 'rotation' ? v[0] : v;
			for (const texture of textures) applyTransform(texture, now());
		},
	};
}

/**
 * @param {Camera} camera
 * @param {number} property
 * @returns {Access | null}
 */
function ofCamera(camera, property) {
	/** @param {string} field */
	const lens = (field) => ({ get: () => [/** @type {Owner} */ (camera)[field]],
			set: (/** @type {number[]} */ [v]) => {
				Object.assign(camera, { [field]: v });
				camera.updateProjectionMatrix();
			} });
	/**
	 * @param {'left' | 'bottom'} low
	 * @param {'right' | 'top'} high
	 */
	const half = (low, high) => ({
		get: () => [camera[high]],
		set: (/** @type {number[]} */ [v]) => {
			camera[high] = v;
			camera[low] = -v;
			camera.updateProjectionMatrix();
		},
	});
	if (property === c.PROPERTY_CAMERA_NEAR) return lens('near');
	if (property === c.PROPERTY_CAMERA_FAR) return lens('far');
	if (camera.isOrthographicCamera) return property === c.PROPERTY_CAMERA_Y ? half('bottom', 'top')
		: half('left', 'right');
	if (property === c.PROPERTY_CAMERA_X) return lens('aspect');
	return {
		get: () => [THREE.MathUtils.degToRad(camera.fov)],
		set: ([v]) => ((camera.fov = THREE.MathUtils.radToDeg(v)), camera.updateProjectionMatrix()),
	};
}

/**
 * three.js has the outer angle and the fading share of it: both cones are set together.
 * @param {Light} light
 * @param {'inner' | 'outer'} which
 * @returns {Access | null}
 */
function ofCone(light, which) {
	const now = () => (light.userData.cone ??= { outer: light.angle, inner: light.angle * (1 - light.penumbra) });
	return {
		get: () => [now()[which]],
		set: ([v]) => {
			now()[which] = v;
			light.angle = now().outer;
			light.penumbra = Math.min(1, Math.max(0, 1 - now().inner / now().outer));
		},
	};
}

/**
 * @param {Light} light
 * @param {number} property
 * @returns {Access | null}
 */
function ofLight(light, property) {
	if (property === c.PROPERTY_LIGHT_COLOR) return linear(light.color);
	if (property === c.PROPERTY_LIGHT_INTENSITY) return number(light, 'intensity');
	if (property === c.PROPERTY_LIGHT_RANGE) return 'distance' in light ? number(light, 'distance') : null;
	return light.isSpotLight ? ofCone(light, property === c.PROPERTY_LIGHT_OUTER_CONE ? 'outer' : 'inner') : null;
}

/**
 * @param {THREE.Object3D} object
 * @returns {Access}
 */
const ofNode = (object) => ({
	get: () => [object.visible ? 1 : 0],
	set: ([v]) => (object.visible = v >= 0.5),
});

export class PropertyCarrier {
	/** @param {import('./hob-three-scene.js').SceneBuilder} builder  with all objects made */
	constructor(builder) {
		this.builder = builder;
		this.object = /** @type {THREE.Object3D & Owner} */ (new THREE.Object3D());
		this.object.name = builder.names.make('', 'properties');
		this.object.isHobCarrier = true;
		this.used = 0;
		this.fields = new Map();
	}

	/**
	 * @param {Row} channel
	 * @returns {(Access | null)[]}
	 */
	#things({ property, slot, index }) {
		const { builder } = this;
		if (property === c.PROPERTY_NODE_VISIBLE) return [ofNode(/** @type {THREE.Object3D} */ (
			builder.objects[index]))];
		if (property >= c.PROPERTY_LIGHT_COLOR) return (builder.shown.get(`light ${index}`) ?? [])
			.map((/** @type {Light} */ light) => ofLight(light, property));
		if (property >= c.PROPERTY_CAMERA_Y) return (builder.shown.get(`camera ${index}`) ?? [])
			.map((/** @type {Camera} */ camera) => ofCamera(camera, property));
		const materials = /** @type {Material[]} */ (builder.materials.shownAs(index));
		if (property >= c.PROPERTY_TEXTURE_OFFSET) return materials.map((material) =>
				ofTexture(material, property, slot));
		return materials.map((material) => ofMaterial(material, property));
	}

	/** @param {Row} channel */
	#field(channel) {
		const key = `${channel.property} ${channel.slot} ${channel.index}`;
		if (this.fields.has(key)) return this.fields.get(key);
		const things = this.#things(channel).filter((each) => each !== null);
		const name = things.length ? `p${this.used++}` : null;
		this.fields.set(key, name);
		if (!name) return null;
		this.object[name] = {
			/**
			 * @param {number[]} array
			 * @param {number} offset
			 */
			toArray: (array, offset) => things[0].get().forEach((/** @type {number} */ v,
				/** @type {number} */ i) => (array[offset + i] = v)),
			/**
			 * @param {number[]} array
			 * @param {number} offset
			 */
			fromArray: (array, offset) => things.forEach((thing) =>
					thing.set(Array.from(array.slice(offset, offset + thing.get().length)))),
		};
		return name;
	}

	/**
	 * A track, or null if three.js cannot show the property.
	 * @param {Row} channel
	 * @param {number} interpolation
	 * @param {Float32Array} times
	 * @param {Float32Array} values
	 */
	track(channel, interpolation, times, values) {
		const field = this.#field(channel);
		if (!field) return null;
		return new THREE.VectorKeyframeTrack(`${this.object.name}.${field}`, times, values,
			interpolation === c.STEP ? THREE.InterpolateDiscrete : THREE.InterpolateLinear);
	}
}

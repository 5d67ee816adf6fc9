/* Chooses the level of detail of each object as a renderer would: the coarsest one whose error is at most a pixel. */
import * as THREE from 'three';
import { meshLevels } from '../client/hob-format.js';

const PIXELS = 1;

const center = new THREE.Vector3();
const eye = new THREE.Vector3();

/**
 * @typedef {{ object: View.Thing, index: number, errors: number[], level: number, before:
 * View.Thing['geometry'] }} Leveled
 */

export class DistanceLevels {
	/** [lowest, highest, number of levels] that are drawn. */
	drawn = [0, 0, 1];
	/** @type {Leveled[]} */
	#objects = [];
	/** @type {Map<string, View.Thing['geometry']>} */
	#made = new Map();

	/** @param {View.Model} model */
	constructor(model) {
		const { meshes, geometry } = model.userData.cooked;
		this.reader = geometry;
		model.traverse((object) => {
			const index = object.userData.hob?.mesh;
			if (index === undefined) return;
			const errors = meshLevels(meshes, geometry.meshes[index]).map(({ error }) => error);
			if (errors.length < 2) return;
			const { geometry: before } = object;
			if (!before.boundingSphere) before.computeBoundingSphere();
			this.#objects.push({ object, index, errors, level: -1, before });
		});
	}

	/**
	 * The level of an object that is drawn now.
	 * @param {View.Thing} object
	 */
	of(object) {
		return this.#objects.find((each) => each.object === object)?.level ?? 0;
	}

	/**
	 * Chooses for a camera and a picture `height` pixels high; true if any object has another level.
	 * @param {View.Camera} camera
	 * @param {number} height
	 */
	choose(camera, height) {
		camera.getWorldPosition(eye);
		const before = this.#objects.map(({ level }) => level);
		const levels = this.#objects.map((each) => this.#chooseOne(each, camera, height));
		this.drawn = [Math.min(...levels), Math.max(...levels),
			Math.max(...this.#objects.map(({ errors }) => errors.length))];
		return levels.some((level, i) => level !== before[i]);
	}

	/**
	 * @param {Leveled} each
	 * @param {View.Camera} camera
	 * @param {number} height
	 */
	#chooseOne(each, camera, height) {
		const { object, errors, before } = each;
		const sphere = before.boundingSphere ?? new THREE.Sphere();
		const scale = object.matrixWorld.getMaxScaleOnAxis();
		center.copy(sphere.center).applyMatrix4(object.matrixWorld);
		const near = Math.max(center.distanceTo(eye) - sphere.radius * scale, camera.near);
		const pixelsPerMetre = camera instanceof THREE.PerspectiveCamera
			? height / (2 * near * Math.tan(THREE.MathUtils.degToRad(camera.fov / 2)))
			: height * camera.zoom / (camera.top - camera.bottom);
		const level = Math.max(0, errors.findLastIndex((error) => error * scale * pixelsPerMetre <= PIXELS));
		if (level !== each.level) {
			each.level = level;
			object.geometry = this.#geometry(each.index, level);
		}
		return level;
	}

	/**
	 * @param {number} index
	 * @param {number} level
	 */
	#geometry(index, level) {
		const key = `${index} ${level}`;
		/** @type {View.Thing['geometry']} */
		const made = this.#made.get(key) ?? this.reader.read(index, level).geometry;
		this.#made.set(key, made);
		return made;
	}

	/** Gives every object its former geometry back. */
	restore() {
		for (const { object, before } of this.#objects) object.geometry = before;
		for (const geometry of this.#made.values()) geometry.dispose();
	}
}

/* How a model is drawn: its look, level, variant, light and camera. */
import * as THREE from 'three';
import { selectLod, selectVariant } from '../client/hob-three.js';
import { number } from '../app/format.js';
import { later } from '../app/values.js';
import { DENSITY } from './density.js';
import { DistanceLevels } from './levels.js';
import { Looks, showMeshlets } from './looks.js';
import { Messages } from './messages.js';
import { text } from './text.js';

/** @import { measureLevels } from './panel.js' */
/** @import { Stage } from './stage.js' */

/**
 * Lines and points, often white, are invisible on a light background.
 * @param {View.Model | null} model
 */
function isThin(model) {
	let [thin, thick] = [false, false];
	model?.traverse(({ isMesh, isLine, isPoints }) => {
		thin ||= Boolean(isLine || isPoints);
		thick ||= Boolean(isMesh);
	});
	return Boolean(thin && !thick);
}

const grounds = /** @type {Page.Table<number>} */ ({ white: 0xffffff, grey: 0x7f7f7f, black: 0 });

/**
 * The colour behind the model; null: the page's.
 * @param {string} look
 * @param {string} chosen
 * @param {View.Model | null} model
 */
function groundOf(look, chosen, model) {
	const color = look === 'overdraw' ? 0 : grounds[chosen] ?? (isThin(model) ? 0x6f7276 : null);
	return color === null ? null : new THREE.Color(color);
}

/**
 * Enlarges points: one pixel is easily overlooked.
 * @param {View.Model} group
 */
export const seePoints = (group) => group.traverse(({ isPoints, material }) => isPoints && Object.assign(material,
	{ size: 4 }));

export class Shown extends Messages {
	lod = 0;
	look = 'material';
	variant = '';
	/** @type {Stage} */
	stage = later();
	/** @type {View.Model} */
	model = later();
	/** @type {View.Model | null} */
	source = null;
	/** Box of the model. @type {THREE.Box3} */
	box = later();
	light = { surroundings: 'room', exposure: 1, ground: 'page' };
	/** The joint whose weights are shown; '': all. */
	joint = '';
	/** A DistanceLevels while levels are chosen by distance. @type {DistanceLevels | null} */
	byDistance = null;
	/** Costs of each level; null until the model is there. @type {ReturnType<typeof measureLevels> | null} */
	levels = null;
	/** @type {ReturnType<typeof showMeshlets> | null} */
	meshlets = null;
	/** @type {View.Camera[]} */
	cameras = [];
	looks = new Looks();

	/** @param {number} lod */
	setLod(lod) {
		this.undoMeshlets();
		this.lod = lod;
		selectLod(this.model, lod);
		this.setLook(this.look);
	}

	/**
	 * Draws each part with the level that a renderer would choose for it, instead of one level for all.
	 * @param {boolean} on
	 */
	setByDistance(on) {
		this.undoMeshlets();
		this.byDistance?.restore();
		this.byDistance = on ? new DistanceLevels(this.model) : null;
		this.chooseLevels();
		this.setLook(on && this.look === 'meshlets' ? 'material' : this.look);
	}

	chooseLevels() {
		if (!this.byDistance?.choose(this.stage.activeCamera(), this.stage.canvas.height)) return;
		if (this.look === 'levels') this.wear();
		this.changes.tell();
	}

	/** @param {string} look */
	setLook(look) {
		this.undoMeshlets();
		this.look = look;
		if (look === 'meshlets' && this.byDistance) return this.setByDistance(false);
		if (look === 'meshlets' && this.model) this.meshlets = showMeshlets(this.model, this.lod);
		this.wear();
		this.stage.ground = groundOf(look, this.light.ground, this.model);
		if (this.meshlets && !this.meshlets.count) this.say(text.meshletsNone);
		this.changes.tell();
		this.stage.invalidate();
	}

	wear() {
		/** @param {View.Thing} object */
		const levelOf = (object) => this.byDistance?.of(object) ?? Math.min(this.lod,
			(this.model.userData.cooked.geometry.meshes[object.userData.hob?.mesh]?.lod_count ?? 1) - 1);
		this.looks.wear([this.model, this.source].filter((each) => each !== null), this.look, { levelOf,
			joint: this.joint });
	}

	/**
	 * Shows the weights of a joint, by its name; ''; by how many joints each vertex is moved.
	 * @param {string} name
	 */
	setJoint(name) {
		this.joint = name;
		this.setLook('weights');
	}

	get legend() {
		if (this.look === 'weights') return text.weightsOf(this.joint);
		return text.legends[this.look]?.(...DENSITY.map((each) => number(each))) ?? '';
	}

	undoMeshlets() {
		this.meshlets?.restore();
		this.meshlets = null;
	}

	/** @param {string} name */
	setVariant(name) {
		this.looks.undress();
		this.variant = name;
		selectVariant(this.model, name);
		this.wear();
		this.changes.tell();
		this.stage.invalidate();
	}

	/** @param {boolean} on */
	setWireframe(on) {
		this.stage.wireframe = on;
		this.changes.tell();
		this.stage.invalidate();
	}

	/** @param {Partial<Shown['light']>} change */
	setLight(change) {
		Object.assign(this.light, change);
		this.stage.setLight(this.light.surroundings, this.light.exposure);
		this.stage.ground = groundOf(this.look, this.light.ground, this.model);
		this.changes.tell();
	}

	/** @param {boolean} on */
	setShadow(on) {
		this.stage.setShadow(on ? this.box : null);
		this.changes.tell();
	}

	/** @param {boolean} on */
	setTurning(on) {
		if (on && this.stage.through) this.lookThrough(-1);
		this.stage.controls.autoRotate = on;
		this.changes.tell();
		this.stage.invalidate();
	}

	/**
	 * Looks through camera `index` of the model, or with the free one: -1.
	 * @param {number} index
	 */
	lookThrough(index) {
		this.stage.through = this.cameras[index] ?? null;
		this.changes.tell();
		this.stage.invalidate();
	}
}

/* Lines around the model: boxes, normals, skeleton, grid, ruler, a marked finding, the picked part. */
import * as THREE from 'three';
import { later } from '../app/values.js';
import { around, markFinding } from './findings.js';
import { boxOf } from './frame.js';
import { disposeHelper, makeBounds, makeGrid, makeNormals, makeSkeleton, makeTangents } from './looks.js';
import { lengths } from './panel.js';
import { makeRuler } from './ruler.js';
import { Shown } from './shown.js';
import { text } from './text.js';

/** @import { Tree } from './tree.js' */

export class Helped extends Shown {
	/** @type {Page.Table<THREE.Object3D | null>} */
	helpers = {};
	gridOff = false;
	/** Places between which the ruler measures, while it is in use. @type {THREE.Vector3[] | null} */
	ruler = null;
	/** Broken rules of the shown version, and the one that is marked. @type {Page.Finding[]} */
	findings = [];
	/** @type {Page.Finding | null} */
	marked = null;
	/** @type {Tree} */
	tree = later();

	/**
	 * @param {string} name
	 * @param {THREE.Object3D | null} made
	 */
	setHelper(name, made) {
		disposeHelper(this.helpers[name]);
		this.helpers[name] = made;
		if (made) this.stage.helpers.add(made);
		this.changes.tell();
		this.stage.invalidate();
	}

	/** @param {boolean} on */
	setBounds(on) {
		this.setHelper('bounds', on ? makeBounds(this.model, boxOf(this.model)) : null);
	}

	/** @param {boolean} on */
	setSkeleton(on) {
		this.setHelper('skeleton', on ? makeSkeleton(this.model) : null);
	}

	/** @param {boolean} on */
	setNormals(on) {
		this.setHelper('normals', on ? makeNormals(this.model, this.box) : null);
	}

	/** @param {boolean} on */
	setTangents(on) {
		this.setHelper('tangents', on ? makeTangents(this.model, this.box) : null);
	}

	/** @param {boolean} on */
	setGrid(on) {
		this.gridOff = !on;
		this.drawGrid();
	}

	drawGrid() {
		this.setHelper('grid', this.gridOff ? null : makeGrid(this.box, this.stage.lines));
	}

	/**
	 * Measures between places that are clicked.
	 * @param {boolean} on
	 */
	setRuler(on) {
		this.ruler = on ? [] : null;
		this.setHelper('ruler', null);
		this.tell(on ? text.rulerHint : '');
	}

	/** @param {THREE.Raycaster} ray */
	measure(ray) {
		const [hit] = ray.intersectObject(this.model, true).filter(({ object }) => object.visible);
		if (!hit) return;
		const before = this.ruler?.length === 1 ? this.ruler : [];
		const [from, to] = this.ruler = [...before, hit.point];
		this.setHelper('ruler', makeRuler(this.ruler));
		this.tell(to ? text.rulerSays(lengths([from.distanceTo(to)]),
			lengths(to.clone().sub(from).toArray().map(Math.abs))) : text.rulerHint);
	}

	/**
	 * Marks a finding on the model, and frames it; null marks none.
	 * @param {Page.Finding | null | undefined} finding
	 * @param {boolean} [frame]
	 */
	mark(finding, frame = true) {
		const made = this.model && finding ? markFinding(this.model, finding) : null;
		this.marked = finding ?? null;
		this.setHelper('marks', made?.marks ?? null);
		if (made && frame) this.stage.fit(around(made.box, this.box), this.box, false);
		if (finding && this.model && !made) this.say(text.findingGone);
	}

	drawPicked() {
		const box = this.tree.pickedBox();
		this.setHelper('picked', box && !box.isEmpty() ? new THREE.Box3Helper(box, 0xe07b2c) : null);
	}
}

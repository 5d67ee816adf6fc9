/* Undo and redo: what was chosen in a view, step by step. */
import { writePlace } from './place.js';
import { readState, setState } from './state.js';

const RESTS = 400; /* ms without a change, after which it is a step */
const MOST = 100;

/**
 * Steps in order, and which of them is shown: a word by which a step is known, and what restores it.
 * @template Step
 */
export class Steps {
	/** @type {{ word: string, step: Step }[]} */
	#steps = [];
	#at = -1;

	get canUndo() {
		return this.#at > 0;
	}

	get canRedo() {
		return this.#at < this.#steps.length - 1;
	}

	/**
	 * Notes a step; steps that were undone are forgotten.
	 * @param {string} word
	 * @param {Step} step
	 */
	note(word, step) {
		if (word === this.#steps[this.#at]?.word) return;
		this.#steps = [...this.#steps.slice(0, this.#at + 1), { word, step }].slice(-MOST);
		this.#at = this.#steps.length - 1;
	}

	/**
	 * The step before (-1) or after (1); null: there is none.
	 * @param {-1 | 1} by
	 * @returns {Step | null}
	 */
	go(by) {
		if (by < 0 ? !this.canUndo : !this.canRedo) return null;
		this.#at += by;
		return this.#steps[this.#at].step;
	}
}

/** Notes the steps of a viewer. */
export class Undo {
	steps = /** @type {Steps<View.State>} */ (new Steps());
	#timer = /** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined);

	/** @param {View.Viewer} viewer */
	constructor(viewer) {
		this.viewer = viewer;
		const changed = () => this.#changed();
		const { clips, tree, stage } = viewer;
		/** @type {Page.Stop[]} */
		this.stops = [viewer.changes, clips.changes, tree.changes].map((changes) => changes.follow(changed));
		stage.controls.addEventListener('change', changed);
		this.stops.push(() => stage.controls.removeEventListener('change', changed));
		this.note();
	}

	#changed() {
		clearTimeout(this.#timer);
		this.#timer = setTimeout(() => this.note(), RESTS);
	}

	/** Notes what is chosen now; nothing while a clip or the turntable runs. */
	note() {
		clearTimeout(this.#timer);
		const { viewer } = this;
		if (viewer.ended || viewer.clips.playing || viewer.stage.controls.autoRotate) return;
		const { canUndo, canRedo } = this.steps;
		const state = readState(viewer);
		this.steps.note(writePlace(state), state);
		if (canUndo !== this.steps.canUndo || canRedo !== this.steps.canRedo) viewer.changes.tell();
	}

	/** @param {-1 | 1} by */
	go(by) {
		this.note();
		const state = this.steps.go(by);
		if (!state) return;
		setState(this.viewer, state);
		clearTimeout(this.#timer);
	}

	dispose() {
		clearTimeout(this.#timer);
		for (const stop of this.stops) stop();
	}
}

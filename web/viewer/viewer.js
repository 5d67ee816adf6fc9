/**
 * viewer.js - shows the cooked data of an asset as a renderer would. Loaded when an asset's page is opened.
 *
 *     const viewer = await mountViewer(element, { asset, events, signal });
 *
 * asset: an item of /api/v1/assets; its `poster`, the address of a small picture, is shown until the model is loaded.
 * events.listen(callback) passes {kind, data} of the event stream and returns a function that ends it. When the asset
 * is cooked again, the new data replaces the old in place; if that fails, the last good picture stays, and the page
 * around it reports the reason.
 *
 * A Viewer is made of what each file adds: Messages, Shown (how the model is drawn), Helped (lines around it), Beside
 * (another model to compare with), Arriving (loading).
 */
import { createRef } from 'preact';
import { disposeContent, selectLod, selectVariant } from '../client/hob-three.js';
import { clock } from '../app/format.js';
import { later } from '../app/values.js';
import { Arriving, fetchAhead } from './arriving.js';
import { makeBalls } from './balls.js';
import { dressCanvas } from './canvas.js';
import { Clips } from './clips.js';
import { forgetDropped, takeDropped, watchDrops } from './drop.js';
import { boxOf } from './frame.js';
import { fillWindow } from './full.js';
import { disposeHelper, takeMaterials } from './looks.js';
import { measureLevels, morphsOf } from './panel.js';
import { readPlace, writePlace } from './place.js';
import { seePoints } from './shown.js';
import { Stage } from './stage.js';
import { readState, setState } from './state.js';
import { text } from './text.js';
import { Tree } from './tree.js';
import { Undo } from './undo.js';
import { showView } from './view.js';

export { fetchAhead };

const NARROW = 640; /* pixels; there panels would hide the picture */

/** @typedef {{ asset: View.Asset, events?: { listen(callback: (event: Page.Told) => void): Page.Stop },
 *     signal?: AbortSignal }} Options */

export class Viewer extends Arriving {
	turns = 0;
	/** Whether the view fills the window, and whether its panels are folded there. */
	full = false;
	folded = false;
	/** Image whose texels are shown; -1: none. */
	inspected = -1;
	/** Name of a dropped file that is shown instead of the asset. */
	dropped = '';
	greeted = false;
	/** @type {ReturnType<typeof morphsOf>} */
	morphs = [];
	/** @type {ReturnType<typeof makeBalls> | null} */
	balls = null;
	/** @type {Undo} */
	undo = later();
	/** @type {Page.Stop | null} */
	unfill = null;
	/** @type {Page.Stop} */
	unshow = later();
	/** Elements of the view: the one that accepts dropped files, and the one that contains the canvas. */
	stageHost = /** @type {{ current: HTMLElement }} */ (createRef());
	surfaceHost = /** @type {{ current: HTMLElement }} */ (createRef());

	/**
	 * @param {HTMLElement} element
	 * @param {Options} given
	 */
	constructor(element, { asset, events, signal }) {
		super(asset);
		this.element = element;
		this.coming = this.fetch(); /* loads while the page is rendered */
		this.build();
		this.unlisten = events?.listen((event) => this.take(event));
		signal?.addEventListener('abort', () => this.destroy());
	}

	build() {
		this.clips = new Clips(() => this.stage?.invalidate());
		this.tree = new Tree(() => this.drawPicked());
		this.unshow = showView(this);
		watchDrops(this.stageHost.current, (file) => takeDropped(this, file), this.ends.signal);
	}

	start() {
		try {
			this.stage = new Stage(this.surfaceHost.current);
		} catch {
			this.tell(text.noWebgl);
			return false;
		}
		const { stage } = this;
		dressCanvas(this, stage.canvas);
		this.loader.detectSupport(stage.renderer);
		stage.onFrame = (passed) => this.frame(passed);
		stage.onSide = (side) => this.showSide(side);
		stage.onGrab = () => stage.through && this.lookThrough(-1);
		stage.onTheme = () => this.model && this.drawGrid();
		return true;
	}

	async load() {
		this.showCoarse();
		try {
			const model = await this.coming;
			if (this.ended) return disposeContent(model);
			this.dropCoarse();
			this.model = model;
			this.stage.models.add(model);
			this.surround();
			this.box = boxOf(model);
			this.stage.fit(model, this.box);
			const place = readPlace(new URLSearchParams(location.search).get('view'));
			this.tell('');
			if (!place) await this.drawFirst();
			if (this.ended) return;
			this.adopt();
			if (place) setState(this, place);
			this.undo = new Undo(this);
			this.noteVersions();
			this.drawGrid();
		} catch (error) {
			if (this.ended) return;
			this.message = '';
			this.showError(/** @type {Page.Fault} */ (error), text.notFetched);
		}
	}

	/* Draws first: facts are computed once the picture is on the screen. */
	async drawFirst() {
		this.stage.draw();
		if (document.hidden) return;
		await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
	}

	/* An environment map lights the balls and is their background. */
	surround() {
		const { environment } = this.model.userData;
		disposeHelper(this.balls);
		this.balls = environment ? makeBalls() : null;
		if (this.balls) this.model.add(this.balls);
		this.stage.setSurroundings(environment, this.light);
	}

	/* Makes the helpers for the objects of a new model. */
	adopt() {
		const { model } = this;
		seePoints(model);
		const byDistance = Boolean(this.byDistance);
		this.byDistance = null; /* its geometries were freed with the former model */
		const levels = measureLevels(model);
		this.morphs = morphsOf(model);
		this.lod = Math.min(this.lod, Math.max(0, levels.length - 1));
		if (this.lod) selectLod(model, this.lod);
		if (model.userData.variants?.includes(this.variant)) selectVariant(model, this.variant);
		else this.variant = '';
		this.box = boxOf(model);
		this.levels = levels; /* shows the panels */
		this.cameras = [];
		model.traverse((object) => object.isCamera
			&& this.cameras.push(/** @type {View.Camera} */ (/** @type {unknown} */ (object))));
		this.clips.setModel(model);
		this.tree.setModel(model);
		if (this.helpers.normals) this.setNormals(true);
		if (this.helpers.tangents) this.setTangents(true);
		if (this.helpers.picked) this.drawPicked();
		if (this.helpers.bounds) this.setBounds(true);
		if (this.marked) this.mark(this.marked, false);
		if (this.helpers.skeleton) this.setSkeleton(true);
		this.setLook(this.look);
		if (byDistance) this.setByDistance(true);
		if (this.box.isEmpty()) this.message = text.nothing;
		this.changes.tell();
	}

	/** @param {Page.Told} given */
	async take({ kind, data }) {
		if (kind === 'asset' && data.asset === this.asset.name) {
			if (data.error || this.loader.live) return;
			if (data.moved_to) return; /* the page goes to the new name */
			if (data.kind === 'removed')
				this.showError({ message: text.removed, location: { file: this.asset.path } });
			else if (data.kind !== 'stale' && data.outputs) {
				this.noteOutputs(data.outputs);
				await this.reload();
			}
		} else if (kind === 'reset' || (kind === 'hello' && this.greeted)) await this.reload();
		if (kind === 'hello') this.greeted = true;
	}

	async reload() {
		if (!this.stage || this.ended) return;
		if (!this.model) {
			this.hideError();
			this.coming = this.fetch();
			return this.load();
		}
		const turn = ++this.turns;
		const morphs = this.clips.clip < 0 ? new Map(this.morphs?.map(({ name, get }) => [name, get()])) : new Map();
		try {
			this.undoMeshlets();
			this.looks.undress();
			this.problems = [];
			await this.loader.reload(this.model);
			if (turn !== this.turns || this.ended) return;
			this.hideError();
			this.surround();
			this.adopt();
			for (const morph of this.morphs) if (morphs.has(morph.name)) morph.set(morphs.get(morph.name));
			this.stage.follow(this.model, this.box);
			this.drawGrid();
			this.say(text.updated(clock(Date.now())));
			if (this.source) await this.compareWith(this.comparing, true);
			this.noteVersions();
		} catch (error) {
			if (turn !== this.turns || this.ended) return;
			this.setLook(this.look);
			this.showError(/** @type {Page.Fault} */ (error), text.notFetched);
		}
	}

	/** @param {number} passed */
	frame(passed) {
		const playing = this.clips.advance(passed);
		this.chooseLevels();
		return playing;
	}

	/** @param {'cooked' | 'source'} side */
	showSide(side) {
		if (this.model) this.model.visible = side === 'cooked' || !this.source;
		if (this.source) this.source.visible = side === 'source';
		this.helpers.skeleton?.userData.follow();
	}

	/* ---- actions */

	/**
	 * Fills the window with the view, or puts it back into the page.
	 * @param {boolean} on
	 */
	setFull(on) {
		if (on === this.full) return;
		this.full = on;
		this.folded = innerWidth < NARROW;
		this.unfill?.();
		this.changes.tell();
		this.unfill = on ? fillWindow(this.element) : null;
		this.stage?.canvas.focus();
	}

	/** @param {boolean} on */
	setFolded(on) {
		this.folded = on;
		this.changes.tell();
	}

	/**
	 * Opens the texels of image `index`; -1 closes them.
	 * @param {number} index
	 */
	inspect(index) {
		this.inspected = index;
		this.changes.tell();
	}

	/* A link to this view; the view itself takes the few digits of it, so that both show the same. */
	async copyLink() {
		const word = writePlace(readState(this));
		const place = readPlace(word);
		if (place) this.stage.place(place);
		const address = new URL(location.href);
		address.searchParams.set('view', word);
		history.replaceState(history.state, '', address);
		await navigator.clipboard?.writeText(address.href);
		this.say(text.linkDone);
	}

	fit() {
		if (this.stage.through) this.lookThrough(-1);
		this.box = boxOf(this.model);
		this.stage.fit(this.model, this.box, false);
	}

	savePicture() {
		const link = document.createElement('a');
		link.href = this.stage.capture('cooked', 0);
		link.download = `${this.asset.path.split('/').pop()}.png`;
		link.click();
	}

	/**
	 * Returns a picture of one side, `side` pixels square, without helpers: 'cooked' or 'source'.
	 * @param {'cooked' | 'source'} which
	 * @param {number} side
	 */
	capture(which, side) {
		return this.stage.capture(which, side);
	}

	destroy() {
		if (this.ended) return;
		this.ended = true;
		this.unfill?.();
		this.ends.abort();
		clearTimeout(this.saying);
		this.unlisten?.();
		this.undo?.dispose();
		if (this.loader.live) forgetDropped(this.asset);
		this.loader.abort();
		this.undoMeshlets();
		this.looks.undress();
		this.byDistance?.restore();
		for (const helper of Object.values(this.helpers).filter((each) => each !== null)) {
			this.stage.retire(takeMaterials(helper));
			disposeHelper(helper);
		}
		if (this.model) {
			this.stage.retire(takeMaterials(this.model));
			disposeContent(this.model);
		}
		disposeHelper(this.balls);
		this.dropBeside();
		this.dropCoarse();
		this.looks.dispose();
		this.stage?.dispose();
		this.unshow();
	}
}

/**
 * @param {HTMLElement & { viewer?: Viewer }} element  stays the caller's
 * @param {Options} options
 * @returns {Promise<Viewer>} when the first picture is there, or its error
 */
export async function mountViewer(element, options) {
	const viewer = new Viewer(element, options);
	element.viewer = viewer;
	if (viewer.start()) await viewer.load();
	return viewer;
}

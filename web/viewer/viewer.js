/**
 * viewer.js - shows the cooked data of an asset as a renderer would. Loaded when an asset's page is opened.
 *
 *     const viewer = await mountViewer(element, { asset, events, signal });
 *
 * asset: an item of /api/v1/assets; its `poster`, the address of a small picture, is shown until the model is loaded.
 * events.listen(callback) passes {kind, data} of the event stream and returns a function that ends it. When the asset
 * is cooked again, the new data replaces the old in place; if that fails, the last good picture stays, and the page
 * around it reports the reason.
 */
import { createRef } from 'preact';
import * as THREE from 'three';
import { HobClient } from '../client/hob.js';
import { HobLoader, disposeContent, selectLod, selectVariant } from '../client/hob-three.js';
import { clock, number, size } from '../app/format.js';
import { makeBalls } from './balls.js';
import { basis } from './basis.js';
import { loadCoarse } from './coarse.js';
import { Clips } from './clips.js';
import { Changes } from './controls.js';
import { DENSITY } from './density.js';
import { cookDropped, forgetDropped, readHdr, watchDrops, whyNot } from './drop.js';
import { around, fetchFindings, markFinding } from './findings.js';
import { boxOf } from './frame.js';
import { Looks, disposeHelper, makeBounds, makeGrid, makeNormals, makeSkeleton, makeTangents, showMeshlets,
	takeMaterials } from './looks.js';
import { DistanceLevels } from './levels.js';
import { lengths, measureLevels, morphsOf } from './panel.js';
import { fillWindow } from './full.js';
import { keys } from './keys.js';
import { readPlace, writePlace } from './place.js';
import { makeRuler } from './ruler.js';
import { Stage } from './stage.js';
import { readState, setState } from './state.js';
import { text } from './text.js';
import { Tree } from './tree.js';
import { showView } from './view.js';

let ahead = null; /* {name, blobs} of the asset that will be opened */

/** Requests the outputs of an asset, by "root/path", that mountViewer will show next. It must be cooked. */
export function fetchAhead(name) {
	if (ahead?.name === name) return;
	const client = new HobClient(location.origin);
	const blobs = Object.fromEntries(AHEAD.map((output) => [output, client.get(name, output)]));
	for (const blob of Object.values(blobs)) blob.catch(() => {}); /* reported where the blob is awaited */
	ahead = { name, blobs };
}

const NARROW = 640; /* pixels; there panels would hide the picture */
const AHEAD = ['meshes', 'materials', 'scene'];
const BYTES_AFTER = 300; /* ms */
const BYTES_EVERY = 100;

class Viewer {
	lod = 0;
	look = 'material';
	variant = '';
	model = null;
	source = null;
	turns = 0;
	light = { surroundings: 'room', exposure: 1, ground: 'page' };
	/** The joint whose weights are shown; '': all. */
	joint = '';
	/** Whether the view fills the window, and whether its panels are folded there. */
	full = false;
	folded = false;
	/** Places between which the ruler measures, while it is in use. */
	ruler = null;
	/** Message on the picture, and an error {title, message, place, hint} above it. */
	message = text.loading;
	fault = null;
	/** A DistanceLevels while levels are chosen by distance. */
	byDistance = null;
	/** Image whose texels are shown; -1: none. */
	inspected = -1;
	/** Name of a dropped file that is shown instead of the asset. */
	dropped = '';
	/** The coarsest level of a model that is being loaded. */
	coarse = null;
	/** Broken rules of the shown version, and the one that is marked. */
	findings = [];
	marked = null;
	comparing = false;
	splitAt = 0.5;
	gridOff = false;
	levels = null;
	changes = new Changes();
	/* Elements of the view: the one that accepts dropped files, and the one that contains the canvas. */
	stageHost = createRef();
	surfaceHost = createRef();
	ends = new AbortController();

	constructor(element, { asset, events, signal }) {
		this.asset = asset;
		this.element = element;
		this.loader = new HobLoader();
		this.loader.keepData = true;
		this.loader.setKTX2Loader(basis);
		this.noteOutputs(asset.outputs);
		this.loader.onTextureError = (error) => this.problems.push(error.message);
		this.problems = [];
		this.looks = new Looks();
		this.helpers = {};
		this.coming = this.fetch(); /* loads while the page is rendered */
		this.build();
		this.unlisten = events?.listen((event) => this.take(event));
		signal?.addEventListener('abort', () => this.destroy());
	}

	/* ---- the page */

	build() {
		this.clips = new Clips(() => this.stage?.invalidate());
		this.tree = new Tree(() => this.drawPicked());
		this.unshow = showView(this);
		watchDrops(this.stageHost.current, (file) => this.drop(file), this.ends.signal);
	}

	/* A GLB dropped from the desktop is shown instead of the asset, until it is closed or the page is left; an
	 * environment lights it. */
	async drop(file) {
		if (/\.hdr$/i.test(file?.name) && this.model) return this.lightBy(file);
		const reason = whyNot(file, text);
		if (reason || !this.model) return reason && this.say(reason);
		this.tell(text.dropCooking(file.name));
		try {
			const { user, outputs } = await cookDropped(this.asset, file);
			if (this.ended) return forgetDropped(this.asset);
			this.noteOutputs(outputs);
			this.loader.live = user;
			await this.reload();
			this.fit();
			this.dropped = file.name;
			this.changes.tell();
		} catch (error) {
			const { message, hint } = error;
			if (this.dropped) await this.closeDropped();
			else await forgetDropped(this.asset).catch(() => {});
			this.tell('');
			if (!this.ended) this.showError({ message, hint, file: file.name }, text.dropFailed);
		}
	}

	async closeDropped() {
		this.dropped = '';
		this.loader.live = undefined;
		this.noteOutputs(this.asset.outputs);
		await Promise.all([this.reload(), forgetDropped(this.asset)]);
		if (!this.ended && this.model) this.fit();
		this.stage.canvas.focus();
	}

	async lightBy(file) {
		try {
			this.stage.lightBy(await readHdr(file));
			this.setLight({ surroundings: 'room' });
			this.say(text.hdrShown(file.name));
		} catch (error) {
			this.say(text.hdrFailed(error.message));
		}
	}

	start() {
		try {
			this.stage = new Stage(this.surfaceHost.current);
		} catch {
			this.tell(text.noWebgl);
			return false;
		}
		const { stage } = this;
		this.dressCanvas(stage.canvas);
		this.loader.detectSupport(stage.renderer);
		stage.onFrame = (passed) => this.frame(passed);
		stage.onSide = (side) => this.showSide(side);
		stage.onGrab = () => stage.through && this.lookThrough(-1);
		stage.onTheme = () => this.model && this.drawGrid();
		return true;
	}

	/* The canvas belongs to the page; this view uses it until it ends. */
	dressCanvas(canvas) {
		const { signal } = this.ends;
		for (const [name, value] of Object.entries({ class: 'viewer-canvas', tabindex: '0', role: 'application',
			'aria-roledescription': text.viewRole, 'aria-label': text.view(this.asset.path),
			'aria-describedby': 'viewer-keys' }))
			canvas.setAttribute(name, value);
		canvas.addEventListener('keydown', (event) => this.press(event), { signal });
		let down = null;
		canvas.addEventListener('pointerdown', (event) => (down = [event.clientX, event.clientY]), { signal });
		canvas.addEventListener('click', ({ clientX, clientY }) => {
			const moved = !down || Math.hypot(clientX - down[0], clientY - down[1]) > 4;
			if (!this.model || moved) return;
			const ray = this.stage.rayAt(clientX, clientY);
			if (this.ruler) this.measure(ray);
			else this.tree.pick(ray);
		}, { signal });
		canvas.addEventListener('webglcontextlost', () => this.tell(text.lost), { signal });
		canvas.addEventListener('webglcontextrestored', () => {
			this.tell('');
			this.stage.invalidate();
		}, { signal });
	}

	/* ---- the model */

	/* Outputs that do not exist are not requested: a browser reports every 404. */
	noteOutputs(outputs) {
		fetchFindings(outputs, this.ends.signal).then((findings) => {
			this.findings = findings;
			const { marked } = this;
			this.mark(marked && findings.find(({ rule, name }) => rule === marked.rule && name === marked.name), false);
		}, () => {});
		if (outputs) this.loader.withAnimations = outputs.some(({ name }) => name === 'animations');
	}

	fetch() {
		this.countBytes();
		if (ahead?.name === this.asset.name) this.loader.ahead = ahead.blobs;
		ahead = null;
		const coming = this.loader.loadAsync(new URL(this.asset.links.data, location.href).href);
		coming.catch(() => {}); /* load() reports it */
		return coming;
	}

	/* Shows the received bytes if a load takes longer than a moment. */
	countBytes() {
		const all = this.asset.bytes?.cooked;
		const began = performance.now();
		let [came, told] = [0, 0];
		this.loader.onBytes = (count) => {
			came += count;
			const now = performance.now();
			if (this.model || now - began < BYTES_AFTER || now - told < BYTES_EVERY) return;
			told = now;
			this.tell(text.loadingBytes(size(came), size(Math.max(came, all))));
		};
	}

	/* Shows the coarsest level of a large model first. */
	async showCoarse() {
		const coarse = await loadCoarse(this.asset, this.ends.signal).catch(() => null);
		if (!coarse) return;
		if (this.model || this.fault || this.ended) return disposeContent(coarse);
		this.coarse = coarse;
		this.stage.models.add(coarse);
		this.stage.fit(coarse, boxOf(coarse));
		this.changes.tell();
	}

	dropCoarse() {
		if (!this.coarse) return;
		this.coarse.removeFromParent();
		disposeContent(this.coarse);
		this.coarse = null;
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
			this.drawGrid();
		} catch (error) {
			if (this.ended) return;
			this.message = '';
			this.showError(error, text.notFetched);
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
		model.traverse((object) => object.isCamera && this.cameras.push(object));
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
			if (this.source) await this.setCompare(true, true);
		} catch (error) {
			if (turn !== this.turns || this.ended) return;
			this.setLook(this.look);
			this.showError(error, text.notFetched);
		}
	}

	frame(passed) {
		const playing = this.clips.advance(passed);
		this.chooseLevels();
		return playing;
	}

	showSide(side) {
		if (this.model) this.model.visible = side === 'cooked' || !this.source;
		if (this.source) this.source.visible = side === 'source';
		this.helpers.skeleton?.userData.follow();
	}

	/* ---- messages */

	tell(message) {
		clearTimeout(this.saying);
		this.message = message;
		this.changes.tell();
	}

	/** Like tell(), but disappears again. */
	say(message) {
		this.tell(message);
		this.saying = setTimeout(() => this.tell(''), 4000);
	}

	/** error: an error object of the API, or a HobError. */
	showError(error, title = text.failed) {
		const { file, line, column } = error.location ?? error;
		this.fault = { title: error.code || error.location ? text.failed : title,
			message: error.message ?? error.detail ?? '', hint: error.hint,
			place: file ? [file, line, line && column].filter(Boolean).join(':') : '' };
		this.changes.tell();
	}

	hideError() {
		this.fault = null;
		this.changes.tell();
	}

	/* ---- what is drawn */

	setLod(lod) {
		this.undoMeshlets();
		this.lod = lod;
		selectLod(this.model, lod);
		this.setLook(this.look);
	}

	/** Draws each part with the level that a renderer would choose for it, instead of one level for all. */
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
		const levelOf = (object) => this.byDistance?.of(object) ?? Math.min(this.lod,
			(this.model.userData.cooked.geometry.meshes[object.userData.hob?.mesh]?.lod_count ?? 1) - 1);
		this.looks.wear([this.model, this.source].filter(Boolean), this.look, { levelOf, joint: this.joint });
	}

	/** Shows the weights of a joint, by its name; ''; by how many joints each vertex is moved. */
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

	setHelper(name, made) {
		disposeHelper(this.helpers[name]);
		this.helpers[name] = made;
		if (made) this.stage.helpers.add(made);
		this.changes.tell();
		this.stage.invalidate();
	}

	setBounds(on) {
		this.setHelper('bounds', on ? makeBounds(this.model, boxOf(this.model)) : null);
	}

	setSkeleton(on) {
		this.setHelper('skeleton', on ? makeSkeleton(this.model) : null);
	}

	setNormals(on) {
		this.setHelper('normals', on ? makeNormals(this.model, this.box) : null);
	}

	setTangents(on) {
		this.setHelper('tangents', on ? makeTangents(this.model, this.box) : null);
	}

	setGrid(on) {
		this.gridOff = !on;
		this.drawGrid();
	}

	setWireframe(on) {
		this.stage.wireframe = on;
		this.changes.tell();
		this.stage.invalidate();
	}

	setLight(change) {
		Object.assign(this.light, change);
		this.stage.setLight(this.light.surroundings, this.light.exposure);
		this.stage.ground = groundOf(this.look, this.light.ground, this.model);
		this.changes.tell();
	}

	setShadow(on) {
		this.stage.setShadow(on ? this.box : null);
		this.changes.tell();
	}

	setTurning(on) {
		if (on && this.stage.through) this.lookThrough(-1);
		this.stage.controls.autoRotate = on;
		this.changes.tell();
		this.stage.invalidate();
	}

	/** Fills the window with the view, or puts it back into the page. */
	setFull(on) {
		if (on === this.full) return;
		this.full = on;
		this.folded = innerWidth < NARROW;
		this.unfill?.();
		this.changes.tell();
		this.unfill = on ? fillWindow(this.element) : null;
		this.stage?.canvas.focus();
	}

	setFolded(on) {
		this.folded = on;
		this.changes.tell();
	}

	/** Measures between places that are clicked. */
	setRuler(on) {
		this.ruler = on ? [] : null;
		this.setHelper('ruler', null);
		this.tell(on ? text.rulerHint : '');
	}

	measure(ray) {
		const [hit] = ray.intersectObject(this.model, true).filter(({ object }) => object.visible);
		if (!hit) return;
		this.ruler = [...(this.ruler.length < 2 ? this.ruler : []), hit.point];
		this.setHelper('ruler', makeRuler(this.ruler));
		const [from, to] = this.ruler;
		this.tell(to ? text.rulerSays(lengths([from.distanceTo(to)]),
			lengths(to.clone().sub(from).toArray().map(Math.abs))) : text.rulerHint);
	}

	setVariant(name) {
		this.looks.undress();
		this.variant = name;
		selectVariant(this.model, name);
		this.wear();
		this.changes.tell();
		this.stage.invalidate();
	}

	/** Opens the texels of image `index`; -1 closes them. */
	inspect(index) {
		this.inspected = index;
		this.changes.tell();
	}

	/** Marks a finding on the model, and frames it; null marks none. */
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

	/* A link to this view; the view itself takes the few digits of it, so that both show the same. */
	async copyLink() {
		const word = writePlace(readState(this));
		this.stage.place(readPlace(word));
		const address = new URL(location.href);
		address.searchParams.set('view', word);
		history.replaceState(history.state, '', address);
		await navigator.clipboard?.writeText(address.href);
		this.say(text.linkDone);
	}

	drawGrid() {
		this.setHelper('grid', this.gridOff ? null : makeGrid(this.box, this.stage.lines));
	}

	/** Looks through camera `index` of the model, or with the free one: -1. */
	lookThrough(index) {
		this.stage.through = this.cameras[index] ?? null;
		this.changes.tell();
		this.stage.invalidate();
	}

	async setCompare(on, again = false) {
		const module = this.compareModule ??= await import('./source.js');
		if (this.source) {
			this.looks.undress();
			this.clips.dropModel(this.source);
			module.disposeSource(this.source);
			this.source = null;
			this.wear();
		}
		this.comparing = on && !this.ended;
		this.stage.split = null;
		if (this.comparing) await this.addSource(module, again);
		this.changes.tell();
		this.stage.invalidate();
	}

	async addSource(module, again) {
		if (!again) this.say(text.loadingSource);
		try {
			const source = await module.loadSource(this.asset);
			if (this.ended) return module.disposeSource(source);
			this.source = source;
			seePoints(source);
			this.stage.models.add(source);
			this.clips.addModel(source);
			this.wear();
			this.splitView(this.splitAt);
			if (!again) this.tell('');
		} catch (error) {
			this.comparing = false;
			this.say(text.sourceFailed(error.message));
		}
	}

	/** Draws the source left of `at`, 0..1 of the view. */
	splitView(at) {
		this.splitAt = this.stage.split = at;
		this.changes.tell();
		this.stage.invalidate();
	}

	/* ---- actions */

	fit() {
		if (this.stage.through) this.lookThrough(-1);
		this.box = boxOf(this.model);
		this.stage.fit(this.model, this.box, false);
	}

	savePicture() {
		const link = document.createElement('a');
		link.href = this.stage.capture('cooked');
		link.download = `${this.asset.path.split('/').pop()}.png`;
		link.click();
	}

	press(event) {
		if (!this.stage || event.ctrlKey || event.metaKey || event.altKey) return;
		const run = keys[event.key];
		if (!run || !this.model) return;
		run(this);
		event.preventDefault();
		event.stopPropagation();
	}

	/** Returns a picture of one side, `side` pixels square, without helpers: 'cooked' or 'source'. */
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
		if (this.loader.live) forgetDropped(this.asset);
		this.loader.abort();
		this.undoMeshlets();
		this.looks.undress();
		this.byDistance?.restore();
		for (const helper of Object.values(this.helpers).filter(Boolean)) {
			this.stage.retire(takeMaterials(helper));
			disposeHelper(helper);
		}
		if (this.model) {
			this.stage.retire(takeMaterials(this.model));
			disposeContent(this.model);
		}
		disposeHelper(this.balls);
		if (this.source) this.compareModule.disposeSource(this.source);
		this.dropCoarse();
		this.looks.dispose();
		this.stage?.dispose();
		this.unshow();
	}
}

/* Enlarges points: one pixel is easily overlooked. */
const seePoints = (group) => group.traverse(({ isPoints, material }) => isPoints && (material.size = 4));

/* Lines and points, often white, are invisible on a light background. */
function isThin(model) {
	let [thin, thick] = [false, false];
	model?.traverse(({ isMesh, isLine, isPoints }) => {
		thin ||= isLine || isPoints;
		thick ||= isMesh;
	});
	return Boolean(thin && !thick);
}

const grounds = { white: 0xffffff, grey: 0x7f7f7f, black: 0 };

/* The colour behind the model; null: the page's. */
function groundOf(look, chosen, model) {
	const color = look === 'overdraw' ? 0 : grounds[chosen] ?? (isThin(model) ? 0x6f7276 : null);
	return color === null ? null : new THREE.Color(color);
}

/**
 * @param {HTMLElement} element  stays the caller's
 * @param {{asset: object, events?: {listen(callback: (event: {kind: string, data: any}) => void): () => void}, signal?:
 * AbortSignal}} options
 * @returns {Promise<{destroy(): void, capture(which: 'cooked' | 'source', side?: number): string}>} when the first
 * picture is there, or its error
 */
export async function mountViewer(element, options) {
	const viewer = new Viewer(element, options);
	element.viewer = viewer;
	if (viewer.start()) await viewer.load();
	return viewer;
}

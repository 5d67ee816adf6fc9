/**
 * viewer.js - the cooked data of an asset, as a renderer would draw them. Loaded when an asset's page is opened.
 *
 *     const viewer = await mountViewer(element, { asset, events, signal });
 *
 * asset: an item of /api/v1/assets; its `poster`, the address of a small picture, is shown until the model is there.
 * events.listen(callback) gives {kind, data} of the event stream and returns its end.
 * When the asset is cooked again the new data replace the old in place; when that fails the last good picture stays;
 * the page around it tells why.
 */
import * as THREE from 'three';
import { HobLoader, disposeContent, selectLod, selectVariant } from '../client/hob-three.js';
import { clock, number } from '../app/format.js';
import { makeBalls } from './balls.js';
import { basis } from './basis.js';
import { Clips } from './clips.js';
import { DENSITY, followDensity } from './density.js';
import { button, choice, h, slider, toggle } from './dom.js';
import { cookDropped, forgetDropped, whyNot } from './drop.js';
import { boxOf } from './frame.js';
import { Looks, disposeHelper, looksOf, makeBounds, makeGrid, makeNormals, makeSkeleton,
	showMeshlets, takeMaterials } from './looks.js';
import { TextureInspector, materialSection } from './materials.js';
import { costSection, factSection, levelSection, lightSection, measureLevels, morphSection } from './panel.js';
import { readPlace, writePlace } from './place.js';
import { Stage } from './stage.js';
import { text } from './text.js';
import { Tree } from './tree.js';
import { uvSection } from './uv.js';

const turnStep = Math.PI / 24;
const POSTER = 128; /* pixels; the sign that stands for a picture not drawn yet is another size */
const isGltf = (asset) => /\.(gltf|glb|vrm)$/i.test(asset.path);

class Viewer {
	lod = 0;
	look = 'material';
	variant = '';
	model = null;
	source = null;
	turns = 0;
	light = { surroundings: 'room', exposure: 1 };
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
		this.coming = this.fetch(); /* while the page is built */
		this.build();
		this.unlisten = events?.listen((event) => this.take(event));
		signal?.addEventListener('abort', () => this.destroy());
	}

	/* ---- the page */

	build() {
		const hint = h('p', { class: 'viewer-hidden', id: 'viewer-keys' }, text.keys);
		this.says = h('p', { class: 'viewer-says', role: 'status' }, text.loading);
		this.legend = h('p', { class: 'viewer-legend' });
		this.alert = h('div', { class: 'viewer-alert', role: 'alert', hidden: true });
		this.tools = h('div', { class: 'viewer-tools', role: 'toolbar', 'aria-label': text.viewRole });
		this.divider = h('div', { class: 'viewer-divider', hidden: true });
		this.clips = new Clips(() => this.changed());
		this.tree = new Tree(() => this.drawPicked());
		this.poster = h('img', { class: 'viewer-poster', src: this.asset.poster, alt: '', hidden: true });
		this.poster.addEventListener('load', () => (this.poster.hidden = this.poster.naturalWidth !== POSTER));
		this.stageHost = h('div', { class: 'viewer-stage' }, this.poster, this.divider, this.says, this.legend,
			this.alert);
		this.panel = h('div', { class: 'viewer-panel' });
		this.root = h('div', { class: 'viewer-root' }, hint, this.tools, h('div', { class: 'viewer-main' },
			h('div', { class: 'viewer-left' }, this.stageHost, this.clips.bar), this.panel));
		this.watchDrops();
		this.element.append(this.root);
	}

	/* A GLB from the desktop is shown in place of the asset, until it is put away or the page is left. */
	watchDrops() {
		const { signal } = this.ends;
		const over = (on) => this.stageHost.classList.toggle('viewer-over', on);
		const take = (run) => (event) => {
			if (!event.dataTransfer?.types.includes('Files')) return;
			event.preventDefault();
			run(event);
		};
		this.dropped = h('p', { class: 'viewer-dropped', hidden: true });
		this.stageHost.append(this.dropped);
		this.stageHost.addEventListener('dragover', take(() => over(true)), { signal });
		this.stageHost.addEventListener('dragleave', () => over(false), { signal });
		this.stageHost.addEventListener('drop', take(({ dataTransfer }) => {
			over(false);
			this.drop(dataTransfer.files[0]);
		}), { signal });
	}

	async drop(file) {
		const reason = whyNot(file, text);
		if (reason || !this.model) return reason && this.say(reason);
		this.say(text.dropCooking(file.name));
		try {
			const { user, outputs } = await cookDropped(this.asset, file);
			if (this.ended) return forgetDropped(this.asset);
			this.noteOutputs(outputs);
			this.loader.live = user;
			await this.reload();
			this.dropped.replaceChildren(text.dropShown(file.name), button(text.dropBack, () => this.putAway()));
			this.dropped.hidden = false;
		} catch (error) {
			const { message, hint } = error;
			if (!this.ended) this.showError({ message, hint, file: file.name }, text.dropFailed);
		}
	}

	async putAway() {
		this.dropped.hidden = true;
		this.loader.live = undefined;
		this.noteOutputs(this.asset.outputs);
		await Promise.all([this.reload(), forgetDropped(this.asset)]);
		this.stage.canvas.focus();
	}

	start() {
		try {
			this.stage = new Stage(this.stageHost);
		} catch {
			this.says.textContent = text.noWebgl;
			return false;
		}
		const { stage } = this;
		this.dressCanvas(stage.canvas);
		this.loader.detectSupport(stage.renderer);
		stage.onFrame = (passed) => this.frame(passed);
		stage.onSide = (side) => this.showSide(side);
		stage.onGrab = () => stage.through && this.lookThrough(-1);
		stage.onTheme = () => this.model && this.drawGrid();
		this.inspector = new TextureInspector(stage.renderer, this.root);
		return true;
	}

	/* The canvas belongs to the page, and is this view's until it ends. */
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
			if (this.model && !moved) this.tree.pick(this.stage.rayAt(clientX, clientY));
		}, { signal });
		canvas.addEventListener('webglcontextlost', () => (this.says.textContent = text.lost), { signal });
		canvas.addEventListener('webglcontextrestored', () => {
			this.says.textContent = '';
			this.stage.invalidate();
		}, { signal });
	}

	/* ---- the model */

	/* What is not there is not asked for: a browser reports every 404. */
	noteOutputs(outputs) {
		if (outputs) this.loader.withAnimations = outputs.some(({ name }) => name === 'animations');
	}

	fetch() {
		const coming = this.loader.loadAsync(new URL(this.asset.links.data, location.href).href);
		coming.catch(() => {}); /* load() tells it */
		return coming;
	}

	async load() {
		try {
			const model = await this.coming;
			if (this.ended) return disposeContent(model);
			this.model = model;
			this.stage.models.add(model);
			this.says.textContent = '';
			this.surround();
			this.stage.fit(model, boxOf(model));
			const place = readPlace(new URLSearchParams(location.search).get('view'));
			if (!place) this.stage.draw(); /* the picture first, then all that is said about it */
			this.poster.remove();
			this.adopt();
			this.openPlace(place);
			this.drawGrid();
		} catch (error) {
			if (this.ended) return;
			this.says.textContent = '';
			this.poster.remove();
			this.showError(error, text.notFetched);
		}
	}

	/* An environment map lights balls, and stands behind them. */
	surround() {
		const { environment } = this.model.userData;
		disposeHelper(this.balls);
		this.balls = environment ? makeBalls() : null;
		if (this.balls) this.model.add(this.balls);
		this.stage.setSurroundings(environment, this.light);
	}

	/* What hangs on the model's objects, made anew for a new model. */
	adopt() {
		const { model } = this;
		this.levels = measureLevels(model);
		this.lod = Math.min(this.lod, Math.max(0, this.levels.length - 1));
		if (this.lod) selectLod(model, this.lod);
		if (model.userData.variants?.includes(this.variant)) selectVariant(model, this.variant);
		else this.variant = '';
		this.box = boxOf(model);
		this.cameras = [];
		model.traverse((object) => object.isCamera && this.cameras.push(object));
		this.clips.setModel(model);
		this.tree.setModel(model);
		if (this.helpers.normals) this.setNormals(true);
		if (this.helpers.picked) this.drawPicked();
		if (this.helpers.bounds) this.setBounds(true);
		if (this.helpers.skeleton) this.setSkeleton(true);
		this.setLook(this.look);
		this.buildTools();
		this.buildPanel();
		if (this.box.isEmpty()) this.says.textContent = text.nothing;
	}

	async take({ kind, data }) {
		if (kind === 'asset' && data.asset === this.asset.name) {
			if (data.error || this.loader.live) return;
			if (data.kind === 'removed') this.showError({ message: text.removed, location: { file: this.asset.path } });
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
		const morphs = this.clips.clip < 0 ? this.morphs?.values() : null;
		try {
			this.undoMeshlets();
			this.problems = [];
			await this.loader.reload(this.model);
			if (turn !== this.turns || this.ended) return;
			this.hideError();
			this.surround();
			this.adopt();
			if (morphs) this.morphs?.setValues(morphs);
			this.stage.follow(this.model, this.box);
			this.drawGrid();
			this.say(text.updated(clock(Date.now())));
			if (this.source) await this.setCompare(true, true);
		} catch (error) {
			if (turn === this.turns && !this.ended) this.showError(error, text.notFetched);
		}
	}

	changed() {
		this.morphs?.refresh(this.clips.playing);
		this.stage?.invalidate();
	}

	frame(passed) {
		const playing = this.clips.advance(passed);
		if (playing) this.morphs?.refresh(true);
		return playing;
	}

	showSide(side) {
		if (this.model) this.model.visible = side === 'cooked' || !this.source;
		if (this.source) this.source.visible = side === 'source';
		this.helpers.skeleton?.userData.follow();
	}

	/* ---- messages */

	say(what) {
		this.says.textContent = what;
		clearTimeout(this.saying);
		this.saying = setTimeout(() => (this.says.textContent = ''), 4000);
	}

	/** An error object of the API, or a HobError. */
	showError(error, title = text.failed) {
		const { file, line, column } = error.location ?? error;
		const place = file ? [file, line, line && column].filter(Boolean).join(':') : '';
		const message = error.message ?? error.detail ?? '';
		this.alert.replaceChildren(
			h('div', { class: 'viewer-alert-head' },
				h('strong', {}, error.code || error.location ? text.failed : title),
				button('×', () => this.hideError(), { class: 'viewer-button viewer-x', 'aria-label': text.hide })),
			h('p', {}, message), place ? h('p', { class: 'viewer-place' }, h('code', {}, place)) : '',
			error.hint ? h('p', {}, h('b', {}, `${text.hint}: `), error.hint) : '',
			h('p', { class: 'viewer-quiet' }, this.model || this.asset.rev ? text.failedKept : text.failedNever));
		this.alert.hidden = false;
		this.failed = true;
	}

	hideError() {
		this.alert.hidden = true;
		this.alert.replaceChildren();
		this.failed = false;
	}

	/* ---- what is shown */

	setLod(lod) {
		this.undoMeshlets();
		this.lod = lod;
		selectLod(this.model, lod);
		this.setLook(this.look);
	}

	setLook(look) {
		this.undoMeshlets();
		this.look = look;
		if (look === 'meshlets' && this.model) this.meshlets = showMeshlets(this.model, this.lod);
		this.stage.override = this.looks.material(look);
		this.stage.ground = look === 'overdraw' ? new THREE.Color(0)
			: isThin(this.model) ? new THREE.Color(0x6f7276) : null;
		this.undensity?.();
		this.undensity = look === 'density' && this.model ? followDensity(this.model, this.stage.override) : null;
		this.legend.textContent = text.legends[look]?.(...DENSITY.map((each) => number(each))) ?? '';
		if (this.factsHost) this.drawFacts();
		if (this.meshlets && !this.meshlets.count) this.say(text.meshletsNone);
		this.stage.invalidate();
	}

	undoMeshlets() {
		this.meshlets?.restore();
		this.meshlets = null;
	}

	setHelper(name, made) {
		disposeHelper(this.helpers[name]);
		this.helpers[name] = made;
		if (made) this.stage.helpers.add(made);
		this.stage.invalidate();
	}

	setBounds(on) {
		this.setHelper('bounds', on ? makeBounds(this.model, boxOf(this.model)) : null);
	}

	setSkeleton(on) {
		this.setHelper('skeleton', on ? makeSkeleton(this.model) : null);
	}

	setNormals(on) {
		const made = on ? makeNormals(this.model, this.box) : null;
		this.setHelper('normals', made);
	}

	drawPicked() {
		const box = this.tree.pickedBox();
		this.setHelper('picked', box && !box.isEmpty() ? new THREE.Box3Helper(box, 0xe07b2c) : null);
	}

	/* A view that somebody sent. */
	openPlace(place) {
		if (!place) return;
		if (place.level > 0 && place.level < this.levels.length) this.setLod(place.level);
		if (text.looks[place.look]) this.setLook(place.look);
		if (place.clip >= 0 && place.clip < (this.clips.names?.length ?? 0)) this.clips.choose(place.clip,
			{ time: place.time });
		this.stage.place(place);
		this.buildTools();
		this.buildPanel();
	}

	async copyLink() {
		const { lod: level, look, clips } = this;
		const address = new URL(location.href);
		address.searchParams.set('view', writePlace({ ...this.stage.where(), level, look, clip: clips.clip,
				time: clips.time }));
		history.replaceState(history.state, '', address);
		await navigator.clipboard?.writeText(address.href);
		this.say(text.linkDone);
	}

	drawGrid() {
		this.setHelper('grid', this.gridOff ? null : makeGrid(this.box, this.stage.lines));
	}

	lookThrough(index) {
		this.stage.through = this.cameras[index] ?? null;
		const select = this.tools.querySelector('[data-choice=camera]');
		if (select) select.value = String(index);
		this.stage.invalidate();
	}

	async setCompare(on, again = false) {
		const module = this.compareModule ??= await import('./source.js');
		if (this.source) {
			this.clips.dropModel(this.source);
			module.disposeSource(this.source);
			this.source = null;
		}
		this.divider.hidden = !on;
		this.stage.split = null;
		if (!on || this.ended) return this.stage.invalidate();
		if (!again) this.say(text.loadingSource);
		try {
			const source = await module.loadSource(this.asset);
			this.source = source;
			this.stage.models.add(source);
			this.clips.addModel(source);
			this.stage.split = this.splitAt ?? 0.5;
			if (!again) this.says.textContent = '';
			this.placeDivider();
		} catch (error) {
			this.divider.hidden = true;
			this.compareButton?.setAttribute('aria-pressed', 'false');
			this.say(text.sourceFailed(error.message));
		}
		this.stage.invalidate();
	}

	placeDivider() {
		const move = (at) => {
			this.splitAt = this.stage.split = at;
			this.divider.style.setProperty('--at', `${at * 100}%`);
			this.stage.invalidate();
		};
		const bar = slider({ label: text.compareAt, min: 0, max: 100, step: 1, value: this.stage.split * 100,
				say: (at) => `${at} %`, change: (at) => move(at / 100) });
		this.divider.replaceChildren(h('span', { class: 'viewer-side viewer-side-source' }, text.source),
			h('span', { class: 'viewer-side viewer-side-cooked' }, text.cooked),
			h('span', { class: 'viewer-edge' }), bar);
		move(this.stage.split);
	}

	/* ---- controls */

	buildTools() {
		const has = looksOf(this.model);
		const looks = Object.entries(text.looks).filter(([look]) => has(look));
		const skeleton = this.model.userData.cooked.anims?.find('SKIN')?.count > 0;
		const groups = [
			[choice(text.shading, looks, this.look, (look) => this.setLook(look)),
				toggle(text.wireframe, Boolean(this.stage.wireframe), (on) => {
					this.stage.wireframe = on;
					this.stage.invalidate();
				}),
				toggle(text.bounds, Boolean(this.helpers.bounds), (on) => this.setBounds(on)),
				toggle(text.normalLines, Boolean(this.helpers.normals), (on) => this.setNormals(on)),
				skeleton && toggle(text.skeleton, Boolean(this.helpers.skeleton), (on) => this.setSkeleton(on)),
				toggle(text.grid, !this.gridOff, (on) => {
					this.gridOff = !on;
					this.drawGrid();
				})],
			[this.cameras.length > 0 && choice(text.camera,
					[['-1', text.orbit], ...this.cameras.map((camera, i) =>
						[String(i), camera.userData.name || camera.name])],
				String(this.cameras.indexOf(this.stage.through)), (value) => this.lookThrough(Number(value)),
				{ 'data-choice': 'camera' }),
			this.model.userData.variants?.length > 0
				&& choice(text.variant, [['', text.noVariant],
						...this.model.userData.variants.map((name) => [name, name])],
				this.variant, (name) => {
					this.variant = name;
					selectVariant(this.model, name);
					this.stage.invalidate();
				}),
			isGltf(this.asset) && (this.compareButton = toggle(text.compare, Boolean(this.source),
					(on) => this.setCompare(on))),
			button(text.link, () => this.copyLink(), { title: text.linkHint }),
			button(text.picture, () => this.savePicture()),
			button(text.fit, () => this.fit(), { title: text.fitHint })],
		];
		this.tools.replaceChildren(...groups.map((group) => h('div', { class: 'viewer-group' }, group)));
	}

	buildPanel() {
		const whole = this.box.isEmpty() ? 1 : this.box.getSize(new THREE.Vector3()).length();
		this.morphs = morphSection(this.model, () => this.stage.invalidate());
		this.factsHost = h('div');
		this.drawFacts();
		const notes = this.problems.length ? h('ul', { class: 'viewer-notes' },
			this.problems.map((each) => h('li', {}, each))) : null;
		this.panel.replaceChildren(...[levelSection(this.levels, whole, this.lod,
				(lod) => this.setLod(lod)), this.morphs,
			materialSection(this.model, (image) => this.inspector.open(this.model.userData.cooked.pictures, image)),
			this.tree.section(), uvSection(this.model), notes,
			lightSection(this.light, (surroundings, exposure) => this.stage.setLight(surroundings, exposure)),
			this.factsHost,
			this.buildCosts()].filter(Boolean));
	}

	buildCosts() {
		const { stage } = this;
		const made = costSection(this.model);
		let waiting = 0;
		stage.drawn = () => {
			waiting ||= setTimeout(() => {
				waiting = 0;
				if (!this.ended) made.refresh(stage.costs());
			}, 250);
		};
		return made;
	}

	drawFacts() {
		this.factsHost.replaceChildren(factSection(this.model, this.box, this.meshlets ? this.meshlets.count : null,
			this.model.userData.cooked.anims?.find('JNTS')?.count ?? 0));
	}

	fit() {
		if (this.stage.through) this.lookThrough(-1);
		this.box = boxOf(this.model);
		this.stage.fit(this.model, this.box, false);
	}

	savePicture() {
		const link = h('a', { href: this.stage.capture('cooked'),
				download: `${this.asset.path.split('/').pop()}.png` });
		link.click();
	}

	press(event) {
		if (!this.stage || event.ctrlKey || event.metaKey || event.altKey) return;
		const { stage } = this;
		const run = {
			ArrowLeft: () => stage.turn(-turnStep, 0),
			ArrowRight: () => stage.turn(turnStep, 0),
			ArrowUp: () => stage.turn(0, -turnStep),
			ArrowDown: () => stage.turn(0, turnStep),
			'+': () => stage.approach(1 / 1.15),
			'=': () => stage.approach(1 / 1.15),
			'-': () => stage.approach(1.15),
			f: () => this.fit(),
			F: () => this.fit(),
			p: () => this.savePicture(),
			',': () => this.clips.step(-1),
			'.': () => this.clips.step(1),
		}[event.key];
		if (!run || !this.model) return;
		if (stage.through) this.lookThrough(-1);
		run();
		event.preventDefault();
		event.stopPropagation();
	}

	/** One side's picture, `side` pixels square, without helpers: 'cooked' or 'source'. */
	capture(which, side) {
		return this.stage.capture(which, side);
	}

	destroy() {
		if (this.ended) return;
		this.ended = true;
		this.ends.abort();
		clearTimeout(this.saying);
		this.unlisten?.();
		if (this.loader.live) forgetDropped(this.asset);
		this.loader.abort();
		this.undoMeshlets();
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
		this.inspector?.dispose();
		this.looks.dispose();
		this.stage?.dispose();
		this.root.remove();
	}
}

/* Lines and points alone, often white: they are not seen before a light ground. */
function isThin(model) {
	let [thin, thick] = [false, false];
	model?.traverse(({ isMesh, isLine, isPoints }) => {
		thin ||= isLine || isPoints;
		thick ||= isMesh;
	});
	return Boolean(thin && !thick);
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

/* The data of an asset on their way: its outputs, its coarsest level first, the bytes that came. */
import { HobClient } from '../client/hob.js';
import { HobLoader, disposeContent } from '../client/hob-three.js';
import { size } from '../app/format.js';
import { later } from '../app/values.js';
import { basis } from './basis.js';
import { Beside } from './beside.js';
import { loadCoarse } from './coarse.js';
import { fetchFindings } from './findings.js';
import { boxOf } from './frame.js';
import { text } from './text.js';

const AHEAD = ['meshes', 'materials', 'scene'];
const BYTES_AFTER = 300; /* ms */
const BYTES_EVERY = 100;

/**
 * The asset that will be opened.
 * @type {{ name: string, blobs: Record<string, Promise<import('../client/hob.js').NamedBlob>> } | null}
 */
let ahead = null;

/**
 * Requests the outputs of an asset, by "root/path", that mountViewer will show next. It must be cooked.
 * @param {string} name
 */
export function fetchAhead(name) {
	if (ahead?.name === name) return;
	const client = new HobClient(location.origin);
	const blobs = Object.fromEntries(AHEAD.map((output) => [output, client.get(name, output)]));
	for (const blob of Object.values(blobs)) blob.catch(() => {}); /* reported where the blob is awaited */
	ahead = { name, blobs };
}

export class Arriving extends Beside {
	message = text.loading;
	loader = new HobLoader();
	/** Textures that cannot be shown. @type {string[]} */
	problems = [];
	/** The coarsest level of a model that is being loaded. @type {View.Model | null} */
	coarse = null;
	/** @type {Promise<View.Model>} */
	coming = later();

	/** @param {View.Asset} asset */
	constructor(asset) {
		super(asset);
		this.loader.keepData = true;
		this.loader.setKTX2Loader(basis);
		this.loader.onTextureError = (error) => this.problems.push(error.message);
		this.noteOutputs(asset.outputs);
	}

	/**
	 * Outputs that do not exist are not requested: a browser reports every 404.
	 * @param {Api.Output[] | undefined} outputs
	 */
	noteOutputs(outputs) {
		fetchFindings(outputs, this.ends.signal).then((findings) => {
			this.findings = findings;
			const { marked } = this;
			this.mark(marked && findings.find(({ rule, name }) => rule === marked.rule && name === marked.name), false);
		}, () => {});
		if (outputs) this.loader.withAnimations = outputs.some(({ name }) => name === 'animations');
	}

	/** @returns {Promise<View.Model>} */
	fetch() {
		this.countBytes();
		if (ahead?.name === this.asset.name) this.loader.ahead = ahead.blobs;
		ahead = null;
		const coming = /** @type {Promise<View.Model>} */ (/** @type {unknown} */ (
			this.loader.loadAsync(new URL(this.asset.links.data, location.href).href)));
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
}

/* A file dropped on the picture: a model is cooked as a live model for this page only, and not kept. */
import { HobClient } from '../client/hob.js';
import { write } from '../app/api.js';
import { text } from './text.js';

const user = `page-${Math.random().toString(36).slice(2, 12)}`;
const WAIT = 120; /* seconds */

/** @param {Api.Asset} asset */
const liveAddress = (asset) => `/api/v1/live/${user}/${`${asset.root}/${asset.path}`.split('/').map(encodeURIComponent)
		.join('/')}`;
/** @param {Uint8Array} bytes */
const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');

/**
 * Cooks `file`, a GLB, in place of the asset for requests with `live=user`: {user, outputs}. Throws an error with a
 * message for people.
 * @param {Api.Asset} asset
 * @param {File} file
 */
export async function cookDropped(asset, file) {
	const bytes = await file.arrayBuffer();
	const sha256 = hex(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)));
	const sent = await fetch(`/blobs/${sha256}`, { method: 'PUT', body: bytes });
	if (!sent.ok) throw new Error((await sent.json().catch(() => ({}))).detail ?? `HTTP ${sent.status}`);
	await write('PUT', liveAddress(asset), { sha256 });
	const client = new HobClient(location.origin, { live: user });
	await client.sync({ timeout: WAIT, roots: ['live'] });
	const { error, outputs } = /** @type {Api.Asset} */ (await client.asset(`${asset.root}/${asset.path}`));
	if (error) throw Object.assign(new Error(error.message), { hint: error.hint });
	return { user, outputs };
}

/**
 * Ends the replacement: the saved asset is shown again.
 * @param {Api.Asset} asset
 */
export const forgetDropped = (asset) => fetch(liveAddress(asset), { method: 'DELETE', keepalive: true });

/**
 * Calls take(file) for a file that is dropped on `host`, until the signal.
 * @param {HTMLElement} host
 * @param {(file: File | undefined) => void} take
 * @param {AbortSignal} signal
 */
export function watchDrops(host, take, signal) {
	/** @param {boolean} on */
	const over = (on) => host.classList.toggle('viewer-over', on);
	/** @param {(event: DragEvent) => void} run */
	const files = (run) => (/** @type {DragEvent} */ event) => {
		if (!event.dataTransfer?.types.includes('Files')) return;
		event.preventDefault();
		run(event);
	};
	host.addEventListener('dragover', files(() => over(true)), { signal });
	host.addEventListener('dragleave', () => over(false), { signal });
	host.addEventListener('drop', files(({ dataTransfer }) => {
		over(false);
		take(dataTransfer?.files[0]);
	}), { signal });
}

/**
 * The texture of a Radiance file; loaded on request only.
 * @param {File} file
 */
export async function readHdr(file) {
	const { HDRLoader } = await import('three/addons/loaders/HDRLoader.js');
	const url = URL.createObjectURL(file);
	try {
		return await new HDRLoader().loadAsync(url);
	} finally {
		URL.revokeObjectURL(url);
	}
}

/**
 * Why a file cannot be dropped here; null if it can.
 * @param {File | undefined} file
 * @param {{ dropGlb: string, dropSecure: string }} words
 */
export function whyNot(file, words) {
	if (!file || !/\.glb$/i.test(file.name)) return words.dropGlb;
	return globalThis.crypto?.subtle ? null : words.dropSecure;
}

/**
 * A GLB dropped from the desktop is shown instead of the asset, until it is closed or the page is left; an
 * environment lights it.
 * @param {View.Viewer} viewer
 * @param {File | undefined} file
 */
export async function takeDropped(viewer, file) {
	if (file && /\.hdr$/i.test(file.name) && viewer.model) return lightBy(viewer, file);
	const reason = whyNot(file, text);
	if (reason) viewer.say(reason);
	if (!file || reason || !viewer.model) return;
	viewer.tell(text.dropCooking(file.name));
	try {
		const { user, outputs } = await cookDropped(viewer.asset, file);
		if (viewer.ended) return void forgetDropped(viewer.asset);
		viewer.noteOutputs(outputs);
		viewer.loader.live = user;
		await viewer.reload();
		viewer.fit();
		viewer.dropped = file.name;
		viewer.changes.tell();
	} catch (error) {
		const { message, hint } = /** @type {Page.Problem} */ (error);
		if (viewer.dropped) await closeDropped(viewer);
		else await forgetDropped(viewer.asset).catch(() => {});
		viewer.tell('');
		if (!viewer.ended) viewer.showError({ message, hint, file: file.name }, text.dropFailed);
	}
}

/** @param {View.Viewer} viewer */
export async function closeDropped(viewer) {
	viewer.dropped = '';
	viewer.loader.live = undefined;
	viewer.noteOutputs(viewer.asset.outputs);
	await Promise.all([viewer.reload(), forgetDropped(viewer.asset)]);
	if (!viewer.ended && viewer.model) viewer.fit();
	viewer.stage.canvas.focus();
}

/**
 * @param {View.Viewer} viewer
 * @param {File} file
 */
async function lightBy(viewer, file) {
	try {
		viewer.stage.lightBy(await readHdr(file));
		viewer.setLight({ surroundings: 'room' });
		viewer.say(text.hdrShown(file.name));
	} catch (error) {
		viewer.say(text.hdrFailed(/** @type {Error} */ (error).message));
	}
}

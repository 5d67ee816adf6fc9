/* A file dropped on the picture: a model is cooked as a live model for this page only, and not kept. */
import { HobClient } from '../client/hob.js';
import { write } from '../app/api.js';

const user = `page-${Math.random().toString(36).slice(2, 12)}`;
const WAIT = 120; /* seconds */

const liveAddress = (asset) => `/api/v1/live/${user}/${`${asset.root}/${asset.path}`.split('/').map(encodeURIComponent)
		.join('/')}`;
const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');

/**
 * Cooks `file`, a GLB, in place of the asset for requests with `live=user`: {user, outputs}. Throws an error with a
 * message for people.
 */
export async function cookDropped(asset, file) {
	const bytes = await file.arrayBuffer();
	const sha256 = hex(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)));
	const sent = await fetch(`/blobs/${sha256}`, { method: 'PUT', body: bytes });
	if (!sent.ok) throw new Error((await sent.json().catch(() => ({}))).detail ?? `HTTP ${sent.status}`);
	await write('PUT', liveAddress(asset), { sha256 });
	const client = new HobClient(location.origin, { live: user });
	await client.sync({ timeout: WAIT, roots: ['live'] });
	const { error, outputs } = await client.asset(`${asset.root}/${asset.path}`);
	if (error) throw Object.assign(new Error(error.message), { hint: error.hint });
	return { user, outputs };
}

/** Ends the replacement: the saved asset is shown again. */
export const forgetDropped = (asset) => fetch(liveAddress(asset), { method: 'DELETE', keepalive: true });

/** Calls take(file) for a file that is dropped on `host`, until the signal. */
export function watchDrops(host, take, signal) {
	const over = (on) => host.classList.toggle('viewer-over', on);
	const files = (run) => (event) => {
		if (!event.dataTransfer?.types.includes('Files')) return;
		event.preventDefault();
		run(event);
	};
	host.addEventListener('dragover', files(() => over(true)), { signal });
	host.addEventListener('dragleave', () => over(false), { signal });
	host.addEventListener('drop', files(({ dataTransfer }) => {
		over(false);
		take(dataTransfer.files[0]);
	}), { signal });
}

/** The texture of a Radiance file; loaded on request only. */
export async function readHdr(file) {
	const { HDRLoader } = await import('three/addons/loaders/HDRLoader.js');
	const url = URL.createObjectURL(file);
	try {
		return await new HDRLoader().loadAsync(url);
	} finally {
		URL.revokeObjectURL(url);
	}
}

/** Why a file cannot be dropped here; null if it can. */
export function whyNot(file, words) {
	if (!file || !/\.glb$/i.test(file.name)) return words.dropGlb;
	return globalThis.crypto?.subtle ? null : words.dropSecure;
}

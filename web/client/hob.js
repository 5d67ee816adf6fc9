/**
 * hob.js - a Hob daemon from JavaScript: blobs by name and by hash, verified; deltas; every change. No dependencies.
 *
 *     import { HobClient } from 'http://127.0.0.1:7780/client/hob.js';
 *     const hob = new HobClient('http://127.0.0.1:7780');
 *     let blob = await hob.get('art/props/duck.glb', 'meshes');       // {bytes, hash, rev, stale, fetched}
 *     hob.watch('props/**', async ({ kind, data }) => {
 *         const output = kind === 'asset' && data.outputs?.find(({ name }) => name === 'meshes');
 *         if (output) blob = await hob.blob(output.hash, { older: blob });  // only the bytes that changed
 *     });
 *
 * In browsers, Node and workers. Whatever comes is held against its SHA-256 before anybody sees it. A page of another
 * origin needs the daemon's --cors-origin.
 */
import { fetchDelta } from './hob-delta.js';
import { listen, whyUnreachable } from './hob-events.js';
import { hex } from './hob-format.js';

/** @import { HobEvent } from './hob.js' */
/**
 * @typedef {{ file?: string, line?: number, hint?: string | null, code?: string, status?: number, cause?: unknown,
 *     message?: string, detail?: string, location?: { file?: string, line?: number } | null }} Facts
 * @typedef {{ older?: { bytes: Uint8Array<ArrayBuffer>, hash: string }, signal?: AbortSignal, name?: string,
 *     onBytes?: (count: number) => void }} Options
 */

/** Why something cannot be fetched or shown: message and, if the daemon sent them, file, line, hint, code, status. */
export class HobError extends Error {
	/**
	 * @param {string} message
	 * @param {Facts} [facts]
	 */
	constructor(message, facts = {}) {
		super(message);
		Object.assign(this, facts);
	}
}

/**
 * Makes a HobError from an error of the daemon, as in events, lists and problem+json.
 * @param {string} name
 * @param {Facts} facts
 */
export function errorOf(name, facts) {
	const { message, detail, hint, code, location, status } = facts;
	return new HobError(message ?? detail ?? 'unknown error',
		{ file: location?.file ?? name, line: location?.line, hint, code, status });
}

/**
 * @param {Response} response
 * @param {string} name
 */
async function problemOf(response, name) {
	const problem = await response.json().catch(() => ({}));
	return errorOf(name, { detail: `${response.status} ${response.statusText}`, status: response.status, ...problem });
}

/**
 * Reads the body; for a large one, `onBytes` is called with the length of each piece.
 * @param {Response} response
 * @param {((count: number) => void) | undefined} onBytes
 */
async function bodyOf(response, onBytes) {
	if (!onBytes || !response.body || Number(response.headers.get('Content-Length')) < largeBody)
		return new Uint8Array(await response.arrayBuffer());
	const pieces = [];
	for await (const piece of piecesOf(response.body.getReader())) {
		onBytes(piece.length);
		pieces.push(piece);
	}
	return new Uint8Array(await new Blob(pieces).arrayBuffer());
}

/** @param {ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>} reader */
async function* piecesOf(reader) {
	for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
}

const largeBody = 1 << 17; /* bytes, as they are sent */
/** @param {string} text */
const isHash = (text) => /^[0-9a-f]{64}$/.test(text);
/** @param {string} text */
const bare = (text) => text.replace(/[.+^${}()|[\]\\]/g, '\\$&');

/**
 * '?' is one character, '*' a run without '/', '**' any run; matches root/path or path.
 * @param {string} glob
 */
function matcher(glob) {
	const pattern = new RegExp(`^(?:${bare(glob).replace(/\*\*|\*|\?/g,
			(sign) => /** @type {Record<string, string>} */ ({ '**': '.*', '*': '[^/]*', '?': '[^/]' })[sign])})$`,
				's');
	return (/** @type {string} */ name) => pattern.test(name) || pattern.test(name.slice(name.indexOf('/') + 1));
}

/**
 * Accepts HOST:PORT without a scheme.
 * @param {string} text
 */
function addressOf(text) {
	const whole = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`;
	try {
		const url = new URL(whole.replace(/\/?$/, '/'));
		if (/^https?:$/.test(url.protocol) && !text.startsWith('unix:')) return url;
	} catch { /* reported below */ }
	throw new HobError(`'${text}' is not a daemon's address`,
		{ code: 'address', hint: 'write HOST:PORT, http://HOST:PORT or https://HOST:PORT' });
}

export class HobClient {
	/**
	 * @param {string | URL} url  of the daemon, also HOST:PORT; with a path if a proxy adds one
	 * @param {{token?: string, headers?: Record<string, string>, credentials?: RequestCredentials, wait?: number,
	 * live?: string}}
	 * [options]
	 *        wait: seconds to wait for a running cook
	 *        live: a user whose models are shown before they are saved (hob serve --live)
	 */
	constructor(url = globalThis.location?.origin ?? 'http://127.0.0.1:7780',
		{ token, headers = {}, credentials = 'same-origin', wait = 10, live } = {}) {
		this.url = addressOf(String(url));
		this.headers = token ? { ...headers, Authorization: `Bearer ${token}` } : headers;
		this.credentials = credentials;
		this.wait = wait;
		this.live = live;
	}

	/** @param {string} name */
	#liveName(name) {
		return `live/${this.live}/${name}.glb`;
	}

	/**
	 * @param {string} target
	 * @param {string} name
	 * @param {RequestInit & { headers?: Record<string, string> }} [given]
	 */
	async #fetch(target, name, { headers, ...rest } = {}) {
		let response;
		try {
			response = await fetch(new URL(target, this.url),
				{ credentials: this.credentials, ...rest, headers: { ...this.headers, ...headers } });
		} catch (error) {
			if (error instanceof Error && error.name === 'AbortError') throw error;
			const { message, hint } = await whyUnreachable(this.url, error);
			throw new HobError(message, { file: name, code: 'unreachable', hint, cause: error });
		}
		if (response.status === 202) throw new HobError(`still cooking after ${this.wait} s`,
			{ file: name, status: 202, code: 'not-ready', hint: 'raise wait' });
		if (!response.ok) throw await problemOf(response, name);
		return response;
	}

	/**
	 * Checks bytes against their hash. A page with a plain http address of another machine has no crypto.subtle; there
	 * the browser's integrity check is used, for blobs that are fetched as a whole.
	 * @param {Uint8Array<ArrayBuffer>} bytes
	 * @param {string} hash
	 * @param {string} name
	 */
	async #verified(bytes, hash, name) {
		if (!globalThis.crypto?.subtle) return bytes;
		const found = hex(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)));
		if (found !== hash) throw new HobError(`${bytes.length} bytes hash to ${found}, not to ${hash}`,
			{ file: name, code: 'hash', hint: 'something between here and the daemon changes what it sends' });
		return bytes;
	}

	/**
	 * The current output of an asset by name ("root/path").
	 *
	 * @param {string} name
	 * @param {string} [output]  meshes, materials, scene, animations, textures/0 ...
	 * @param {Options} [given]  older: an earlier blob of it; onBytes: called with the length of each piece of a
	 * large one
	 * @returns {Promise<{bytes: Uint8Array, hash: string, rev: number, stale: boolean, fetched: number}>}
	 *          fetched: bytes that were transferred
	 */
	async get(name, output = 'meshes', { older, signal, onBytes } = {}) {
		const target = `a/${name.split('/').map(encodeURIComponent)
				.join('/')}?output=${encodeURIComponent(output)}${this.live
				? `&live=${encodeURIComponent(this.live)}` : ''}`;
		const method = older || !globalThis.crypto?.subtle ? 'HEAD' : 'GET';
		/** @param {string} how */
		const ask = (how) => this.#fetch(target, name,
			{ method: how, signal, cache: 'no-store', headers: { Prefer: `wait=${this.wait}` } });
		// An answer to HEAD has no body with the error.
		const response = await ask(method).catch((error) => (method === 'HEAD' ? ask('GET') : Promise.reject(error)));
		const hash = /[0-9a-f]{64}/.exec(response.headers.get('ETag') ?? '')?.[0] ?? '';
		const facts = { rev: Number(response.headers.get('Cook-Rev') ?? 0),
			stale: response.headers.get('Cook-State') !== 'fresh' };
		if (method === 'HEAD') return { ...await this.blob(hash, { older, signal, name, onBytes }), ...facts };
		const bytes = await this.#verified(await bodyOf(response, onBytes), hash, name);
		return { bytes, hash, ...facts, fetched: bytes.length };
	}

	/**
	 * A blob by its SHA-256; with `older`, an earlier one of the same kind, only the differences are fetched.
	 * @param {string} hash
	 * @param {Options} [given]
	 */
	async blob(hash, { older, signal, name = hash, onBytes } = {}) {
		if (!isHash(hash)) throw new HobError(`'${hash}' is no SHA-256`, { file: name, code: 'hash' });
		if (older?.bytes && older.hash === hash) return { ...older, fetched: 0 };
		let fetched = 0;
		if (older?.bytes && globalThis.crypto?.subtle) {
			const bytes = await fetchDelta(older.bytes, async (first, end) => {
				const response = await this.#fetch(`blobs/${hash}`, name,
					{ signal, cache: 'no-store', headers: { Range: `bytes=${first}-${end - 1}` } });
				const part = new Uint8Array(await response.arrayBuffer());
				fetched += part.length;
				return { bytes: response.status === 206 ? part : part.subarray(first, end),
					total: Number(response.headers.get('Content-Range')?.split('/')[1] ?? part.length) };
			}).catch((error) => {
				if (error instanceof RangeError || error.status === 416) return null; // a damaged table
				throw error;
			});
			const good = bytes && await this.#verified(/** @type {Uint8Array<ArrayBuffer>} */ (bytes), hash,
				name).catch(() => null);
			if (good) return { bytes: good, hash, fetched };
		}
		const integrity = globalThis.crypto?.subtle ? undefined
			: `sha256-${btoa(String.fromCharCode(...(hash.match(/../g) ?? []).map((pair) => parseInt(pair, 16))))}`;
		const response = await this.#fetch(`blobs/${hash}`, name, { signal, integrity });
		const bytes = await this.#verified(await bodyOf(response, onBytes), hash, name);
		return { bytes, hash, fetched: fetched + bytes.length };
	}

	/**
	 * The daemon's facts about an asset: state, rev, outputs [{name, hash, size}], error. null: it does not exist.
	 * @param {string} name
	 * @param {{ signal?: AbortSignal }} [given]
	 */
	async asset(name, { signal } = {}) {
		const live = this.live && await this.#asset(this.#liveName(name), signal);
		return live ? { ...live, name } : this.#asset(name, signal);
	}

	/**
	 * @param {string} name
	 * @param {AbortSignal} [signal]
	 * @returns {Promise<any>}
	 */
	async #asset(name, signal) {
		const target = `api/v1/assets?path=${encodeURIComponent(name)}&fields=name,state,quality,rev,outputs,error`;
		const { items } = await (await this.#fetch(target, name, { signal, cache: 'no-store' })).json();
		return items.find((/** @type {{ name: string }} */ item) => item.name === name) ?? null;
	}

	/**
	 * Resolves when every change saved before (in these watched folders, by name) is cooked or has failed: {rev,
	 * failed: [names]}.
	* @param {{ timeout?: number, roots?: string[], signal?: AbortSignal }} [given]
	 */
	async sync({ timeout = 30, roots, signal } = {}) {
		const body = JSON.stringify({ timeout_ms: timeout * 1000, roots });
		return (await this.#fetch('api/v1/sync', 'sync',
				{ method: 'POST', body, signal, headers: { 'Content-Type': 'application/json' } })).json();
	}

	/**
	 * Events of matching assets, across lost connections and restarts: {kind, id, data}. kind: hello (the stream is
	 * connected, or connected again), asset, reset (events were lost: fetch everything that is shown again), lost
	 * (reconnecting).
	 *
	 * @param {string} glob
	 * @param {(event: HobEvent) => void} callback
	 * @returns {() => void} stops
	 */
	watch(glob, callback) {
		const matches = matcher(glob);
		const source = { url: new URL('api/v1/events?kinds=asset', this.url).href, headers: this.headers,
			credentials: this.credentials };
		if (!this.live) return listen(source, (event) => (event.kind !== 'asset' || matches(event.data.asset))
				&& callback(/** @type {HobEvent} */ (event)));
		let turn = Promise.resolve();
		return listen(source, (event) => (turn = turn.then(async () => {
			const told = event.kind === 'asset' ? await this.#underLive(event, matches) : event;
			if (told) callback(/** @type {HobEvent} */ (told));
		}).catch(() => {})));
	}

	/**
	 * A live model of the user is reported under the name of the asset that it replaces. When it is dropped, the saved
	 * model is shown again.
	 * @param {{ kind: string, id: string, data: any }} event
	 * @param {(name: string) => boolean} matches
	 */
	async #underLive(event, matches) {
		const { data } = event;
		const [begin, end] = this.#liveName('\n').split('\n');
		const shown = data.asset.startsWith(begin) && data.asset.endsWith(end)
			? data.asset.slice(begin.length, -end.length) : null;
		if (!matches(shown ?? data.asset)) return null;
		if (shown && data.kind !== 'removed') return { ...event, data: { ...data, asset: shown } };
		if (!shown) return await this.#asset(this.#liveName(data.asset)) ? null : event;
		const saved = await this.#asset(shown);
		return { ...event, data: saved ? { ...data, kind: 'cooked', ...saved, asset: shown }
				: { ...data, asset: shown } };
	}
}

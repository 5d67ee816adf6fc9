/* The daemon's HTTP interface: JSON in and out, problems as errors. */

export class Problem extends Error {
	/**
	 * @param {number} status
	 * @param {Partial<Api.Problem>} body
	 */
	constructor(status, body) {
		super(body.detail ?? body.title ?? `HTTP ${status}`);
		this.status = status;
		this.code = body.code ?? '';
		this.hint = body.hint ?? '';
		this.body = body;
	}
}

let refused = () => {};

/**
 * Calls back whenever the daemon answers that the caller is not signed in.
 * @param {() => void} callback
 */
export const onRefused = (callback) => (refused = callback);

/**
 * @param {Response} response
 * @param {'text' | 'json'} [as]
 */
async function answer(response, as) {
	if (response.ok) return response.status === 204 ? null : as === 'text' ? response.text() : response.json();
	const body = await response.json().catch(() => ({}));
	if (response.status === 401 || body.code === 'http.too-many-guesses') refused();
	throw new Problem(response.status, body);
}

/**
 * Whether a request was ended from here.
 * @param {unknown} error
 */
export const isAbort = (error) => error instanceof Error && error.name === 'AbortError';

/**
 * @param {string} path
 * @param {RequestInit} options
 */
async function send(path, options) {
	try {
		return await fetch(path, options);
	} catch (error) {
		if (isAbort(error)) throw error;
		throw new Problem(0, { code: 'offline' });
	}
}

/* Answers that the HTML page requests before the script runs: the first caller takes each. */
const early = new Map();
const PATIENCE = 300;

/** Waits briefly for those answers, so that the first paint has them. */
export async function waitForEarly() {
	const links = [...document.querySelectorAll('link[rel=preload][as=fetch]')];
	const reads = links.map((link) => {
		const path = link.getAttribute('href') ?? '';
		const read = get(path);
		early.set(path, read);
		return read.catch(() => early.delete(path));
	});
	if (reads.length) await Promise.race([Promise.all(reads), new Promise((done) => setTimeout(done, PATIENCE))]);
}

/**
 * @template {string} Path
 * @param {Path} path
 * @param {{ signal?: AbortSignal, as?: 'text' | 'json' }} [given]
 * @returns {Promise<Api.Answer<Path>>}
 */
export async function get(path, { signal, as } = {}) {
	const read = early.get(path);
	if (read) {
		early.delete(path);
		return read;
	}
	return answer(await send(path, { signal, headers: { Accept: as === 'text' ? 'text/plain' : 'application/json' } }),
		as);
}

/**
 * Throws the Problem that a download would get, since a link cannot report it.
 * @param {string} path
 */
export const probe = async (path) => answer(await send(path, { headers: { Range: 'bytes=0-0' } }), 'text');

/**
 * Returns {data, etag}.
 * @template {string} Path
 * @param {Path} path
 * @param {{ signal?: AbortSignal }} [given]
 * @returns {Promise<{ data: Api.Answer<Path>, etag: string }>}
 */
export async function getTagged(path, { signal } = {}) {
	const response = await send(path, { signal, headers: { Accept: 'application/json' } });
	return { data: await answer(response), etag: response.headers.get('ETag') ?? '' };
}

/**
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 * @param {Page.Table} [headers]
 */
export async function write(method, path, body, headers = {}) {
	/** @type {{ method: string, headers: Page.Table, body?: string }} */
	const options = { method, headers: { Accept: 'application/json', ...headers } };
	if (body !== undefined) {
		options.body = JSON.stringify(body);
		options.headers['Content-Type'] ??= 'application/json';
	}
	return answer(await send(path, options));
}

/**
 * @param {string} path
 * @param {unknown} [body]
 */
export const post = (path, body = {}) => write('POST', path, body);

/** @param {Page.Change} parameters */
export const query = (parameters) => {
	const found = new URLSearchParams();
	for (const [name, value] of Object.entries(parameters))
		if (value !== undefined && value !== null && value !== '' && value !== false) found.set(name,
			value === true ? '1' : String(value));
	const written = found.toString();
	return written ? `?${written}` : '';
};

/* The daemon's HTTP interface: JSON in and out, problems as errors. */

export class Problem extends Error {
	constructor(status, body) {
		super(body.detail ?? body.title ?? `HTTP ${status}`);
		this.status = status;
		this.code = body.code ?? '';
		this.hint = body.hint ?? '';
		this.body = body;
	}
}

let refused = () => {};

/** Calls back whenever the daemon answers that the caller is not signed in. */
export const onRefused = (callback) => (refused = callback);

async function answer(response, as) {
	if (response.ok) return response.status === 204 ? null : as === 'text' ? response.text() : response.json();
	const body = await response.json().catch(() => ({}));
	if (response.status === 401 || body.code === 'http.too-many-guesses') refused();
	throw new Problem(response.status, body);
}

async function send(path, options) {
	try {
		return await fetch(path, options);
	} catch (error) {
		if (error.name === 'AbortError') throw error;
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
		const path = link.getAttribute('href');
		const read = get(path);
		early.set(path, read);
		return read.catch(() => early.delete(path));
	});
	if (reads.length) await Promise.race([Promise.all(reads), new Promise((done) => setTimeout(done, PATIENCE))]);
}

export async function get(path, { signal, as } = {}) {
	const read = early.get(path);
	if (read) {
		early.delete(path);
		return read;
	}
	return answer(await send(path, { signal, headers: { Accept: as === 'text' ? 'text/plain' : 'application/json' } }),
		as);
}

/** Throws the Problem that a download would get, since a link cannot report it. */
export const probe = async (path) => answer(await send(path, { headers: { Range: 'bytes=0-0' } }), 'text');

/** Returns {data, etag}. */
export async function getTagged(path, { signal } = {}) {
	const response = await send(path, { signal, headers: { Accept: 'application/json' } });
	return { data: await answer(response), etag: response.headers.get('ETag') };
}

export async function write(method, path, body, headers = {}) {
	const options = { method, headers: { Accept: 'application/json', ...headers } };
	if (body !== undefined) {
		options.body = JSON.stringify(body);
		options.headers['Content-Type'] ??= 'application/json';
	}
	return answer(await send(path, options));
}

export const post = (path, body = {}) => write('POST', path, body);

export const query = (parameters) => {
	const found = new URLSearchParams();
	for (const [name, value] of Object.entries(parameters))
		if (value !== undefined && value !== null && value !== '' && value !== false) found.set(name,
			value === true ? '1' : String(value));
	const written = found.toString();
	return written ? `?${written}` : '';
};

/**
 * hob-events.js - a daemon's event stream. All tabs of an origin share one if the browser has shared workers and this
 * file has the page's origin; otherwise each page has its own. Browsers open six connections to a daemon, and a stream
 * occupies one.
 */
/**
 * @typedef {{ kind: string, id: string, data: string }} Told
 * @typedef {(event: Told) => void} Take
 * @typedef {{ url: string, headers?: Record<string, string>, credentials?: RequestCredentials }} Source
 * @typedef {(event: { kind: string, id: string, data: any }) => void} Callback
 */

const silenceMs = 35000; // the daemon sends something every 10 s
const pauseMostMs = 8000;
const eventCharsMax = 1 << 24;

/** Splits text, in any pieces, into server-sent events: {kind, id, data}, data as text. */
export class EventParser {
	#rest = '';
	#size = 0; // of the current event
	#event = { kind: 'message', data: /** @type {string[]} */ ([]) };
	id = '';

	/** @param {string} text  @param {(event: {kind: string, id: string, data: string}) => void} take */
	feed(text, take) {
		const lines = (this.#rest + text).split('\n');
		this.#rest = lines.pop() ?? '';
		for (const line of lines) this.#line(line.replace(/\r$/, ''), take);
		if (this.#rest.length + this.#size > eventCharsMax) throw new Error('an event without end');
	}

	/**
	 * @param {string} line
	 * @param {Take} take
	 */
	#line(line, take) {
		if (line === '') {
			if (this.#event.data.length) take({ kind: this.#event.kind, id: this.id,
					data: this.#event.data.join('\n') });
			this.#event = { kind: 'message', data: [] };
			this.#size = 0;
			return;
		}
		const [, name, value] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
		this.#size += line.length;
		if (name === 'data') this.#event.data.push(value);
		else if (name === 'event') this.#event.kind = value;
		else if (name === 'id') this.id = value;
	}
}

/**
 * Why a request to `url` failed without an answer: {message, hint}. The browser does not tell; but every page may
 * request /livez, so if that is answered, the daemon does not trust this page's origin.
 * @param {string | URL} url
 * @param {unknown} cause
 */
export async function whyUnreachable(url, cause) {
	const { host, hostname, origin } = new URL(url);
	const from = globalThis.location?.origin;
	const blocked = { message: `the daemon at ${host} does not let pages of ${from} read it`,
		hint: `start it with --cors-origin ${from}` };
	const gone = { message: `the daemon at ${host} cannot be reached`, hint: 'is hob serve running?' };
	if (/CERT/.test(/** @type {{ cause?: { code?: string } } | undefined} */ (cause)?.cause?.code
		?? '')) return { ...gone,
		hint: 'its certificate is not trusted here; in Node.js NODE_EXTRA_CA_CERTS names the file of who signed it' };
	if (!from || from === origin) return gone;
	const near = /^(localhost$|127\.|10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|169\.254\.|\[(::1|f[cde]))|\.local$/;
	if (near.test(hostname) && !near.test(new URL(from).hostname)) gone.hint = 'is hob serve running? A browser asks ' +
		`before a page of ${from} reaches this machine or its network: allow it, in a frame with ` +
		'allow="local-network-access"';
	if (globalThis.isSecureContext && /^https:/.test(from) && /^http:/.test(origin) &&
		!/^(localhost|127\.|\[::1)/.test(hostname)) return { ...gone,
		hint: 'a page of https may not ask a daemon of http: give the daemon a certificate (--tls-cert), ' +
			'or open the page by http' };
	const path = new URL('livez', String(url).replace(/(api\/v1|blobs|a)\/.*$/, ''));
	return fetch(path, { mode: 'no-cors', credentials: 'omit', cache: 'no-store' }).then(() => blocked, () => gone);
}

/**
 * @param {Source} given
 * @param {EventParser} parser
 * @param {Take} take
 * @param {AbortSignal} signal
 */
async function readStream({ url, headers, credentials }, parser, take, signal) {
	const silence = new AbortController();
	let timer = setTimeout(() => silence.abort(), silenceMs);
	const stop = () => silence.abort();
	signal.addEventListener('abort', stop);
	try {
		/** @type {Record<string, string>} */
		const resume = parser.id ? { 'Last-Event-ID': parser.id } : {};
		const response = await fetch(url, { headers: { Accept: 'text/event-stream', ...headers, ...resume },
				credentials, cache: 'no-store', signal: silence.signal });
		if (!response.ok) throw new Error(`the daemon answered ${response.status}`);
		const text = new TextDecoder();
		const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
		for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) {
			clearTimeout(timer);
			timer = setTimeout(stop, silenceMs);
			parser.feed(text.decode(value, { stream: true }), take);
		}
	} finally {
		clearTimeout(timer);
		signal.removeEventListener('abort', stop);
	}
}

/**
 * Calls back with {kind, id, data} for every event. A lost stream is reported as {kind: 'lost', data: {message}} and
 * resumed after the last event seen.
 *
 * @param {Source} source
 * @param {Callback} callback
 * @returns {() => void} ends it
 */
export function openStream(source, callback) {
	const ended = new AbortController();
	const follow = async () => {
		let id = '';
		for (let pause = 250; !ended.signal.aborted; pause = Math.min(pause * 2, pauseMostMs)) {
			const parser = new EventParser();
			parser.id = id;
			let message = 'the stream ended';
			try {
				await readStream(source, parser, (event) => {
					pause = 250;
					id = event.id;
					callback({ ...event, data: JSON.parse(event.data) });
				}, ended.signal);
			} catch (error) {
				message = error instanceof TypeError && !ended.signal.aborted
					? await whyUnreachable(source.url, error).then(({ message: why, hint }) => `${why}; ${hint}`)
					: /** @type {Error} */ (error).message;
			}
			if (ended.signal.aborted) return;
			callback({ kind: 'lost', id, data: { message } });
			await new Promise((resolve) => setTimeout(resolve, pause));
		}
	};
	follow();
	return () => ended.abort();
}

/**
 * @param {Source} source
 * @param {Callback} callback
 */
function openShared(source, callback) {
	const worker = new SharedWorker(new URL('./hob-events-worker.js', import.meta.url),
		{ type: 'module', name: 'hob-events' });
	let stop = () => {
		worker.port.postMessage('bye');
		worker.port.close();
	};
	/** @param {PageTransitionEvent} event */
	const leave = (event) => !event.persisted && stop();
	worker.port.onmessage = ({ data }) => callback(data);
	worker.onerror = () => (stop = openStream(source, callback));
	worker.port.postMessage(source);
	addEventListener('pagehide', leave);
	return () => {
		removeEventListener('pagehide', leave);
		stop();
	};
}

const open = new Map();

/**
 * Like openStream, but users of the same source share one stream; a later one gets its last `hello`.
 * @param {Source} source
 * @param {Callback} callback
 */
export function listen(source, callback) {
	const key = JSON.stringify(source);
	const shares = typeof SharedWorker === 'function'
		&& globalThis.location?.origin === new URL(import.meta.url).origin;
	let stream = open.get(key);
	if (!stream) {
		stream = { callbacks: new Set(), hello: null };
		open.set(key, stream);
		stream.stop = (shares ? openShared : openStream)(source, (event) => {
			if (event.kind === 'hello') stream.hello = event;
			if (event.kind === 'lost') stream.hello = null;
			for (const each of [...stream.callbacks]) each(event);
		});
	} else if (stream.hello) queueMicrotask(() => stream.callbacks.has(callback) && callback(stream.hello));
	stream.callbacks.add(callback);
	return () => {
		if (!stream.callbacks.delete(callback) || stream.callbacks.size) return;
		open.delete(key);
		stream.stop();
	};
}

/**
 * Events of the daemon as they happen. A shared worker keeps one stream for all tabs; in a browser without shared
 * workers, each tab has its own stream, which is closed while the tab is hidden.
 * @type {Page.Live}
 */
let state = { connected: false, hello: null, known: false };
const kinds = /** @type {const} */ (['asset', 'job', 'log', 'reset', 'root', 'farm', 'thumbnail']);
/** @type {Set<(event: Page.Told) => void>} */
const listeners = new Set();
/** @type {Set<(state: Page.Live) => void>} */
const watchers = new Set();

export const liveState = () => state;

/**
 * Calls back with {kind, data} for every event; kind 'hello' each time the stream (re)starts. Returns a function that
 * ends it.
 * @param {(event: Page.Told) => void} callback
 */
export function listen(callback) {
	listeners.add(callback);
	return () => void listeners.delete(callback);
}

/** @param {(state: Page.Live) => void} callback */
export function watchState(callback) {
	watchers.add(callback);
	return () => void watchers.delete(callback);
}

/** @param {Page.Told} event */
function take(event) {
	for (const callback of [...listeners]) callback(event);
}

/** @param {Partial<Page.Live>} change */
function setState(change) {
	const came = change.connected && !state.connected;
	const lost = change.connected === false && state.connected ? Date.now() : state.lost;
	state = { ...state, ...change, lost, known: true };
	for (const callback of [...watchers]) callback(state);
	if (came) take({ kind: 'hello', data: state.hello });
}

/**
 * While there is a stream: reconnects at once.
 * @type {(() => void) | null}
 */
let again = null;

function ownStream() {
	/** @type {EventSource | null} */
	let source = null;
	const open = () => {
		const own = source = new EventSource(`/api/v1/events?kinds=${kinds}`);
		own.addEventListener('hello', (event) => setState({ connected: true, hello: JSON.parse(event.data) }));
		for (const kind of kinds)
			own.addEventListener(kind, (event) => take({ kind, data: JSON.parse(event.data) }));
		own.addEventListener('error', () => {
			setState({ connected: false });
			if (source?.readyState === EventSource.CLOSED) setTimeout(() => !document.hidden && open(), 1000);
		});
	};
	document.addEventListener('visibilitychange', () => {
		if (document.hidden) {
			source?.close();
			source = null;
			state = { ...state, connected: false };
		} else if (!source) {
			open();
		}
	});
	open();
	again = () => source?.readyState === EventSource.CLOSED && open();
}

/** @param {string} script */
function sharedStream(script) {
	const worker = new SharedWorker(script, { type: 'module', name: 'hob-events' });
	worker.port.onmessage = ({ data }) => {
		if (data.type === 'state') setState(data.state);
		else data.events.forEach(take);
	};
	worker.onerror = () => ownStream();
	again = () => worker.port.postMessage('again');
	addEventListener('pagehide', (event) => !event.persisted && worker.port.postMessage('bye'));
}

/** Starts listening; a later call tries again, because a refused user may be accepted now. */
export function connect() {
	if (again) return again();
	const script = document.querySelector('meta[name=hob-worker]')?.getAttribute('content');
	if (typeof SharedWorker === 'function' && script) sharedStream(script);
	else ownStream();
}

/* Events of the daemon as they happen. A shared worker keeps one stream for all tabs; in a browser without shared
 * workers, each tab has its own stream, which is closed while the tab is hidden. */
let state = { connected: false, hello: null, known: false };
const kinds = ['asset', 'job', 'log', 'reset', 'root', 'farm', 'thumbnail'];
const listeners = new Set();
const watchers = new Set();

export const liveState = () => state;

/** Calls back with {kind, data} for every event; kind 'hello' each time the stream (re)starts. Returns a function that
 * ends it. */
export function listen(callback) {
	listeners.add(callback);
	return () => listeners.delete(callback);
}

export function watchState(callback) {
	watchers.add(callback);
	return () => watchers.delete(callback);
}

function take(event) {
	for (const callback of [...listeners]) callback(event);
}

function setState(change) {
	const came = change.connected && !state.connected;
	const lost = change.connected === false && state.connected ? Date.now() : state.lost;
	state = { ...state, ...change, lost, known: true };
	for (const callback of [...watchers]) callback(state);
	if (came) take({ kind: 'hello', data: state.hello });
}

/* While there is a stream: reconnects at once. */
let again = null;

function ownStream() {
	let source = null;
	const open = () => {
		source = new EventSource(`/api/v1/events?kinds=${kinds}`);
		source.addEventListener('hello', (event) => setState({ connected: true, hello: JSON.parse(event.data) }));
		for (const kind of kinds)
			source.addEventListener(kind, (event) => take({ kind, data: JSON.parse(event.data) }));
		source.addEventListener('error', () => {
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
	const script = document.querySelector('meta[name=hob-worker]')?.content;
	if (typeof SharedWorker === 'function' && script) sharedStream(script);
	else ownStream();
}

/* Shared by all tabs: holds the one event stream and forwards events. Browsers allow six connections to a daemon, and a
 * stream occupies one permanently, so with a stream per tab, eight tabs would block each other. An event is forwarded
 * at once; those that follow within PAUSE are forwarded together, because each message is a task in each tab. */
const kinds = /** @type {const} */ (['asset', 'job', 'log', 'reset', 'root', 'farm', 'thumbnail']);
/** @type {Set<MessagePort>} */
const ports = new Set();
/** @type {Partial<Page.Live>} */
let state = { connected: false, hello: null };
/** @type {EventSource | null} */
let source = null;
let wait = 500;
let timer = 0;
const PAUSE = 40;
const MOST = 200; /* events of one message */
/** @type {Page.Told[]} */
let events = [];
let pause = 0;

/** @param {object} message */
function tell(message) {
	for (const port of ports) port.postMessage(message);
}

function send() {
	if (events.length) tell({ type: 'events', events });
	events = [];
}

/** @param {Page.Told} event */
function pass(event) {
	events.push(event);
	if (pause && events.length < MOST) return;
	send();
	pause ||= setTimeout(() => {
		pause = 0;
		const last = events.pop();
		if (last) pass(last);
	}, PAUSE);
}

/** @param {Partial<Page.Live>} change */
function setState(change) {
	send();
	state = { ...state, ...change };
	tell({ type: 'state', state });
}

function open() {
	const own = source = new EventSource(`/api/v1/events?kinds=${kinds}`);
	own.addEventListener('hello', (event) => {
		wait = 500;
		setState({ connected: true, hello: JSON.parse(event.data) });
	});
	for (const kind of kinds)
		own.addEventListener(kind, (event) => pass({ kind, data: JSON.parse(event.data) }));
	own.addEventListener('error', () => {
		if (state.connected) setState({ connected: false });
		// The browser retries after a lost connection, but gives up after an answer that is not a stream.
		if (own.readyState !== EventSource.CLOSED) return;
		clearTimeout(timer);
		timer = setTimeout(open, wait);
		wait = Math.min(wait * 2, 5000);
	});
}

addEventListener('connect', (event) => {
	const { ports: [port] } = /** @type {MessageEvent} */ (event);
	ports.add(port);
	port.onmessage = ({ data }) => {
		if (data === 'again' && source?.readyState === EventSource.CLOSED) {
			clearTimeout(timer);
			open();
		}
		if (data !== 'bye') return;
		ports.delete(port);
		port.close();
	};
	port.postMessage({ type: 'state', state });
	if (!source) open();
});

/* Shared by all tabs: holds the one event stream and forwards events. Browsers allow six connections to a daemon, and a
 * stream occupies one permanently, so with a stream per tab, eight tabs would block each other. An event is forwarded
 * at once; those that follow within PAUSE are forwarded together, because each message is a task in each tab. */
const kinds = ['asset', 'job', 'log', 'reset', 'root', 'farm', 'thumbnail'];
const ports = new Set();
let state = { connected: false, hello: null };
let source = null;
let wait = 500;
let timer = 0;
const PAUSE = 40;
const MOST = 200; /* events of one message */
let events = [];
let pause = 0;

function tell(message) {
	for (const port of ports) port.postMessage(message);
}

function send() {
	if (events.length) tell({ type: 'events', events });
	events = [];
}

function pass(event) {
	events.push(event);
	if (pause && events.length < MOST) return;
	send();
	pause ||= setTimeout(() => {
		pause = 0;
		if (events.length) pass(events.pop());
	}, PAUSE);
}

function setState(change) {
	send();
	state = { ...state, ...change };
	tell({ type: 'state', state });
}

function open() {
	source = new EventSource(`/api/v1/events?kinds=${kinds}`);
	source.addEventListener('hello', (event) => {
		wait = 500;
		setState({ connected: true, hello: JSON.parse(event.data) });
	});
	for (const kind of kinds)
		source.addEventListener(kind, (event) => pass({ kind, data: JSON.parse(event.data) }));
	source.addEventListener('error', () => {
		if (state.connected) setState({ connected: false });
		// The browser retries after a lost connection, but gives up after an answer that is not a stream.
		if (source.readyState !== EventSource.CLOSED) return;
		clearTimeout(timer);
		timer = setTimeout(open, wait);
		wait = Math.min(wait * 2, 5000);
	});
}

addEventListener('connect', ({ ports: [port] }) => {
	ports.add(port);
	port.onmessage = ({ data }) => {
		if (data === 'again' && source.readyState === EventSource.CLOSED) {
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

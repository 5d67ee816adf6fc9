/* Shared by all tabs of an origin: holds one stream for each daemon and forwards events. */
import { openStream } from './hob-events.js';

/** @typedef {{ ports: Set<MessagePort>, hello: object | null, stop: () => void }} Stream */
/** @type {Map<string, Stream>} */
const streams = new Map();

/**
 * @param {MessagePort} port
 * @param {import('./hob-events.js').Source} source
 */
function join(port, source) {
	const key = JSON.stringify(source);
	const stream = streams.get(key) ?? { ports: new Set(), hello: null, stop: () => {} };
	if (!streams.has(key)) {
		streams.set(key, stream);
		stream.stop = openStream(source, (event) => {
			if (event.kind === 'hello') stream.hello = event;
			if (event.kind === 'lost') stream.hello = null;
			for (const each of stream.ports) each.postMessage(event);
		});
	} else if (stream.hello) port.postMessage(stream.hello);
	stream.ports.add(port);
	return () => {
		stream.ports.delete(port);
		port.close();
		if (stream.ports.size) return;
		streams.delete(key);
		stream.stop();
	};
}

globalThis.addEventListener('connect', (event) => {
	const { ports: [port] } = /** @type {MessageEvent} */ (event);
	let leave = () => {};
	port.onmessage = ({ data }) => {
		if (data === 'bye') leave();
		else leave = join(port, data);
	};
});

/* Shared by all tabs of an origin: holds one stream for each daemon and forwards events. */
import { openStream } from './hob-events.js';

const streams = new Map();

function join(port, source) {
	const key = JSON.stringify(source);
	let stream = streams.get(key);
	if (!stream) {
		stream = { ports: new Set(), hello: null };
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

globalThis.addEventListener('connect', ({ ports: [port] }) => {
	let leave = () => {};
	port.onmessage = ({ data }) => {
		if (data === 'bye') leave();
		else leave = join(port, data);
	};
});

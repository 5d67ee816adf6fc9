/* The event stream's parser: events may arrive in any pieces, and their size is limited. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { EventParser, whyUnreachable } from '../../../web/client/hob-events.js';

test('events are the same in any pieces', () => {
	const text = 'id: 7\nevent: asset\ndata: {"a":1}\ndata: 2\n\n: comment\n\ndata:x\r\n\r\n';
	const seen = (step) => {
		const events = [];
		const parser = new EventParser();
		for (let at = 0; at < text.length; at += step)
			parser.feed(text.slice(at, at + step), (event) => events.push(event));
		return events;
	};
	const whole = seen(text.length);
	assert.deepEqual(whole, [{ kind: 'asset', id: '7', data: '{"a":1}\n2' }, { kind: 'message', id: '7', data: 'x' }]);
	for (let step = 1; step < text.length; step++) assert.deepEqual(seen(step), whole);
});

test('a line without end, and an event without end, are given up', () => {
	for (const piece of ['x'.repeat(1 << 20), `data: ${'x'.repeat(1 << 20)}\n`]) {
		const parser = new EventParser();
		assert.throws(() => {
			for (let i = 0; i < 40; i++) parser.feed(piece, () => assert.fail('no event'));
		}, /without end/);
	}
	const parser = new EventParser();
	let events = 0;
	for (let i = 0; i < 40; i++) parser.feed(`data: ${'x'.repeat(1 << 20)}\n\n`, () => events++);
	assert.equal(events, 40);
});

test('why there is no answer', async () => {
	const { fetch, location, isSecureContext } = globalThis;
	globalThis.fetch = () => Promise.reject(new TypeError('failed'));
	const ask = async (page, daemon) => {
		Object.assign(globalThis, { location: new URL(page), isSecureContext: true });
		return (await whyUnreachable(daemon)).hint;
	};
	try {
		for (const daemon of ['http://127.0.0.1:7780/', 'http://localhost:7780/', 'https://192.168.0.7/', 'https://studio.local/'])
			assert.match(await ask('https://pages.example', daemon), /browser asks before a page of https:\/\/pages\.example .*local-network-access/);
		for (const [page, daemon] of [['http://localhost:5173', 'http://127.0.0.1:7780/'], ['http://10.0.0.2', 'http://10.0.0.3/'],
			['https://pages.example', 'https://art.example/'], ['https://pages.example', 'https://100.example/']])
			assert.equal(await ask(page, daemon), 'is hob serve running?');
		assert.match(await ask('https://pages.example', 'http://art.example/'), /may not ask a daemon of http/);
	} finally {
		Object.assign(globalThis, { fetch, location, isSecureContext });
	}
});

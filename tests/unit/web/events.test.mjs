/* The event stream's parser: events in any pieces, and none without end. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { EventParser } from '../../../web/client/hob-events.js';

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

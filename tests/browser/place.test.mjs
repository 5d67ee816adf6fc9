/* A view as a word of the address; needs no browser. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readPlace, writePlace } from '../../web/viewer/place.js';

let seed = 42;
const random = () => {
	seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
	return seed / 0x7fffffff;
};
const maybe = (value) => (random() < 0.5 ? value : undefined);
const whole = (most) => Math.floor(random() * most);
const some = (most) => Number(((random() - 0.5) * 10 ** whole(most)).toPrecision(7));
const switches = ['wireframe', 'bounds', 'normals', 'tangents', 'skeleton', 'gridOff', 'byDistance', 'shadow', 'turning'];

test('what is written is read again, and needs no escapes', () => {
	for (let round = 0; round < 2000; round++) {
		const clip = whole(4) - 1;
		const other = clip < 0 ? -1 : whole(3) - 1;
		const state = { from: [some(9), some(3), some(-9)], to: [some(3), some(2), some(-3)], level: whole(8), look: maybe('clay') ?? '',
			clip, time: clip < 0 ? 0 : Math.abs(some(2)), other, share: other < 0 ? undefined : 0.25, hidden: Array.from({ length: whole(4) }, () => whole(900)),
			exposure: maybe(2 ** whole(4)), variant: maybe(whole(3)), camera: maybe(whole(3)), joint: maybe(whole(200)), alone: maybe(whole(50)),
			surroundings: maybe('sun'), ground: maybe('black'), ...Object.fromEntries(switches.map((name) => [name, random() < 0.5])) };
		const word = writePlace(state);
		assert.match(word, /^[-+0-9.*_a-z]+$/);
		assert.equal(new URLSearchParams({ view: word }).toString().replace('%2B', '+'), `view=${word}`);
		const read = readPlace(word);
		for (const [name, value] of Object.entries(state)) assert.deepEqual(read[name] ?? (switches.includes(name) ? false : undefined), value, `${name} of ${word}`);
		assert.equal(writePlace(read), word);
	}
});

test('links of earlier versions open, and any other word opens nothing or what it can', () => {
	assert.deepEqual(readPlace('1*2*3*0*0*0_1_clay_0*0.5*1*0.25'), { from: [1, 2, 3], to: [0, 0, 0], level: 1, look: 'clay', clip: 0, time: 0.5, other: 1, share: 0.25, hidden: [] });
	for (const word of ['', 'x', '1*2*3', '1*2*3*4*5*x', null, undefined]) assert.equal(readPlace(word), null);
	for (let round = 0; round < 5000; round++) {
		const word = Array.from({ length: whole(40) }, () => '0123*_.-abdeghjknoqstvwyz%<'[whole(27)]).join('');
		const read = readPlace(`1*2*3*0*0*0_${word}`);
		assert.ok(read.level >= 0 && /^[a-z0-9]*$/.test(read.look) && read.hidden.every(Number.isInteger), word);
		assert.ok(['exposure', 'variant', 'camera', 'joint', 'alone'].every((name) => read[name] === undefined || Number.isFinite(read[name])), word);
	}
});

/* When the pages ask again for what they show; needs no browser. */
import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';

globalThis.document = { hidden: false, addEventListener() {}, removeEventListener() {} };
mock.timers.enable({ apis: ['setTimeout', 'Date'] });
globalThis.performance = { now: () => Date.now() };
const { LATER, makeRefresher, SOON } = await import('../../web/app/hooks.js');

let asked;
let refresher;
const EVERY = 15000;
const pass = async (ms) => {
	for (let left = ms; left > 0; left -= 50) {
		mock.timers.tick(50);
		await null;
		await null;
	}
};
const start = (took = 0) => {
	const began = Date.now();
	refresher = makeRefresher(() => {
		asked.push(Date.now() - began);
		return took && new Promise((done) => setTimeout(done, took));
	}, 300, () => EVERY);
	refresher.now();
};
beforeEach(() => {
	refresher?.end();
	asked = [];
});

test('the clock counts from the last answer, whoever asked for it', async () => {
	start();
	await pass(14000);
	refresher.ask(SOON);
	await pass(14000);
	assert.deepEqual(asked, [0, 14100]);
	await pass(2000);
	assert.deepEqual(asked, [0, 14100, 29100]);
});

test('what can wait does, though an answer is on its way', async () => {
	start(100);
	await pass(50);
	refresher.ask(LATER);
	await pass(1000);
	refresher.ask(SOON);
	await pass(5000);
	assert.deepEqual(asked, [0, 1150]);
});

test('who asks twice while an answer is on its way gets one more, as soon as the first wants', async () => {
	start(100);
	await pass(50);
	refresher.ask(LATER);
	refresher.ask(SOON);
	await pass(5000);
	assert.deepEqual(asked, [0, 300]);
});

test('nobody asks after the end', async () => {
	start();
	refresher.ask(SOON);
	refresher.end();
	await pass(60000);
	assert.deepEqual(asked, [0]);
});

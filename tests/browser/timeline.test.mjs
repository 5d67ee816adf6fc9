/* The timeline's lanes are workers, not jobs; needs no browser. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cookOf, newestBuild, placeCooks } from '../../web/app/timeline.js';

const job = (ts, dur, ...stages) => ({ ph: 'X', name: 'art/a.obj', cat: 'cooked', tid: 0, ts: ts * 1000, dur: dur * 1000, args: { job: ts, stages: stages.map(([stage, ms]) => ({ stage, ms })) } });

test('seven jobs that wait for two workers are two lanes', () => {
	/* Each hashes at once, waits until a worker is free, cooks for 100 ms and is stored. */
	const jobs = [0, 1, 2, 3, 4, 5, 6].map((at) => job(at, 110 + 100 * Math.floor(at / 2), ['hash-source', 5], ['wait', 100 * Math.floor(at / 2)], ['cook', 100], ['store', 5]));
	const cooks = placeCooks(jobs);
	assert.deepEqual(cooks.map(({ lane }) => lane), [0, 1, 0, 1, 0, 1, 0]);
	assert.deepEqual([cooks[0].from, cooks[0].to], [5000, 105000]);
	for (const lane of [0, 1]) cooks.filter((cook) => cook.lane === lane).reduce((end, { from, to }) => (assert.ok(from >= end), to), 0);
});

test('jobs that were answered at once are on no worker', () => {
	assert.equal(cookOf(job(0, 3)), null);
	assert.equal(cookOf(job(0, 3, ['find', 1], ['match', 2])), null);
	assert.deepEqual(placeCooks([job(0, 3)]), []);
	assert.deepEqual(cookOf(job(10, 50, ['cook', 20], ['wait', 5], ['cook', 20], ['store', 5])), { from: 35000, to: 55000 });
});

test('the newest build begins after a minute without a job', () => {
	assert.deepEqual(newestBuild([job(100000, 5), job(0, 5), { ph: 'M', name: 'thread_name', pid: 1, tid: 0, args: {} }, job(100010, 5)]).map(({ ts }) => ts), [100000000, 100010000]);
});

/* web/app/rows.js: the list shows the daemon's assets, whatever changes while a page is being read. The daemon is
 * simulated: each answer arrives when the test sends it. */
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { Rows } from '../../../web/app/rows.js';

const asked = [];
let wake = () => {};
globalThis.fetch = (path) => new Promise((resolve) => {
	asked.push({ path, give: (items, next = '') => resolve(Response.json({ items, next, total: items.length })) });
	wake();
});
const request = async (count) => {
	while (asked.length < count) await new Promise((resolve) => (wake = resolve));
	return asked[count - 1];
};
const open = () => {
	const rows = new Rows('/api/v1/assets', {}, 'id', () => {});
	rows.settled = () => rows.running ?? Promise.resolve();
	return rows;
};

beforeEach(() => asked.splice(0));

test('a change while the first page is under way is read again', async () => {
	const rows = open();
	const first = await request(1);
	rows.refresh();
	first.give(['old']);
	(await request(2)).give(['new']);
	await rows.settled();
	assert.deepEqual([rows.at(0), asked.length], ['new', 2]);
});

test('a change while a page is read again is read once more', async () => {
	const rows = open();
	(await request(1)).give(['old']);
	await rows.settled();
	rows.refresh();
	const second = await request(2);
	rows.refresh();
	second.give(['between']);
	(await request(3)).give(['new']);
	await rows.settled();
	assert.deepEqual([rows.at(0), asked.length], ['new', 3]);
});

test('without a change nothing is read twice', async () => {
	const rows = open();
	(await request(1)).give(['only']);
	await rows.settled();
	rows.show(0, 0);
	await rows.settled();
	assert.deepEqual([rows.at(0), asked.length], ['only', 1]);
});

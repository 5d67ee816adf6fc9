/* A saved file appears on screen without a reload; a broken one leaves the last good picture and an explanation. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { missing, project, saveFile, scaledGlb, setUp } from './bench.mjs';

const models = [{ name: 'watched', from: join(project, 'tests/data/models/simple/BoxVertexColors.glb') }];

describe('HobLoader.watch', { skip: missing() ?? false }, () => {
	let bench;
	let file;
	let first;
	before(async () => {
		bench = await setUp({ art: {} }, models);
		file = join(bench.folder, 'art/watched/model.glb');
		await bench.page.evaluate(() => watchModel('art/watched/model.glb'));
		first = await facts();
	});
	after(() => bench.tearDown());

	const facts = () => bench.page.evaluate(() => watchedFacts());
	const waitFor = (count) => bench.page.waitForFunction((n) => watchedFacts().events.length >= n, count);
	const save = (bytes) => saveFile(file, bytes);

	test('a broken file keeps the picture and tells file and reason', async () => {
		const good = readFileSync(file);
		save(good.subarray(0, 300));
		await waitFor(1);
		const now = await facts();
		assert.equal(now.events[0].kind, 'error');
		assert.match(now.events[0].file, /model\.glb/);
		assert.ok(now.events[0].message.length > 10);
		assert.equal(now.png, first.png);
		assert.equal(now.disposed, false);
		save(good);
		await waitFor(2);
	});

	test('a good save changes geometry inside the same objects and frees the old', async () => {
		const had = (await facts()).events.length;
		save(scaledGlb(readFileSync(file), [0.5, 0.5, 0.5]));
		await waitFor(had + 1);
		const now = await facts();
		assert.equal(now.events.at(-1).kind, 'reload');
		assert.ok(now.sameMeshes);
		assert.ok(now.disposed);
		assert.notEqual(now.png, first.png);
	});

	test('nothing was thrown on the page', () => assert.deepEqual(bench.complaints, []));
});

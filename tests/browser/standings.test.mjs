/* The standing of each asset on every page: the list, its filter, the asset's own page, the badge of problems, and the
 * page of problems show what the API returns, at rest and while a model changes between standings. */
import assert from 'node:assert/strict';
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { missing, withoutDashboard } from './bench.mjs';
import { objText, openStudio } from './studio.mjs';

const words = { fresh: 'Up to date', broken: 'Broken', blocked: 'Blocked', missing: 'Folder missing' };
const fail = '{"budget": {"triangles": 5, "fail": true}}';
/* name: [standing, the files in order of saving] */
const situations = {
	'plain.obj': ['fresh', objText(2)],
	'warned.obj': ['fresh', `mtllib gone.mtl\n${objText(3)}`],
	'again.obj': ['fresh', 'f 1 2 3\n', objText(2)],
	'bad.obj': ['broken', 'f 1 2 3\n'],
	'turned.obj': ['broken', objText(4), 'f 1 2 3\n'],
	'over.obj': ['broken', objText(9)],
	'typo.obj': ['broken', objText(2)],
	'waits.merge': ['blocked', '{"scenes": ["bad.obj"]}'],
	'served.merge': ['blocked', '{"scenes": ["plain.obj"]}', '{"scenes": ["plain.obj", "bad.obj"]}'],
};
const names = Object.keys(situations);

describe('standings', { skip: missing() ?? withoutDashboard() ?? false }, () => {
	let studio;
	let page;
	before(async () => {
		studio = await openStudio({ 'over.obj.cook.json': fail, 'typo.obj.cook.json': '{"lods": ' });
		for (const step of [1, 2]) {
			for (const name of names) if (situations[name][step]) studio.save(name, situations[name][step]);
			await studio.sync();
		}
		page = await studio.newPage('/ui/assets');
	});
	after(() => studio.close());
	const problems = () => names.filter((name) => situations[name][0] !== 'fresh').length;
	const label = (where) => where.locator('.state').first();
	/* Waits for this text; on failure, the message has the last text that was shown. */
	const says = (where, text) => where.filter({ hasText: text }).waitFor();

	/* The list, its badge and its filters agree with the API. */
	async function checkList() {
		const items = (await studio.get('/api/v1/assets?limit=100')).items;
		assert.deepEqual(Object.fromEntries(items.map(({ path, standing }) => [path, standing])), Object.fromEntries(names.map((name) => [name, situations[name][0]])));
		await page.goto(`${studio.origin}/ui/assets`);
		for (const name of names) await says(label(page.locator('.rows .row', { hasText: name })), words[situations[name][0]]);
		assert.equal(await page.locator('.rows .row').count(), names.length);
		await says(page.locator('nav .badge.tone-bad'), new RegExp(`^${problems()}$`));
		for (const standing of ['broken', 'blocked']) {
			const these = names.filter((name) => situations[name][0] === standing);
			await page.goto(`${studio.origin}/ui/assets?state=${standing}`);
			await page.waitForFunction((count) => document.querySelectorAll('.rows .row').length === count, these.length);
			assert.deepEqual((await page.locator('.rows .row .title').allTextContents()).map((text) => text.trim()).sort(), [...these].sort());
		}
	}

	test('the list, its filters and the badge', checkList);

	test('the page of each asset', async () => {
		for (const name of names) {
			await page.goto(`${studio.origin}/ui/asset/art/${name}`);
			await says(label(page.locator('.head')), words[situations[name][0]]);
		}
	});

	test('the page of problems counts the same', async () => {
		await page.goto(`${studio.origin}/ui/errors`);
		const { assets, groups } = await studio.get('/api/v1/errors');
		assert.equal(assets, problems());
		await says(page.locator('.head [role=status]'), new RegExp(`${groups} causes.*${assets}`));
	});

	test('a model that turns broken and is mended changes everywhere', async () => {
		await page.goto(`${studio.origin}/ui/assets`);
		const row = page.locator('.rows .row', { hasText: 'plain.obj' });
		await says(label(row), words.fresh);
		studio.save('plain.obj', 'f 1 2 3\n');
		await says(label(row), words.broken);
		await says(page.locator('nav .badge.tone-bad'), new RegExp(`^${problems() + 1}$`));
		studio.save('plain.obj', objText(5));
		await says(label(row), words.fresh);
		studio.save('bad.obj', objText(3));
		for (const name of ['bad.obj', 'waits.merge', 'served.merge']) situations[name][0] = 'fresh';
		await studio.sync();
		await checkList();
	});

	test('a folder that is away', async () => {
		// in one step: files deleted one by one would be removed
		renameSync(join(studio.folder, 'art'), join(studio.folder, 'away'));
		await page.goto(`${studio.origin}/ui/assets`);
		for (const name of names) await says(label(page.locator('.rows .row', { hasText: name })), words.missing);
	});
});

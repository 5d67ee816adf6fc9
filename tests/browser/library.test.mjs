/* The page of textures: each with the number of its users, and a link to them. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { readFileSync, rmSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { missing, project, withoutDashboard } from './bench.mjs';
import { assertAccessible, objText, openStudio } from './studio.mjs';

const picture = readFileSync(join(project, 'docs/pictures/overview.png'));
const painted = (...names) => ['mtllib paint.mtl', ...names.map((name) => `usemtl ${name}`), objText(3)].join('\n');

describe('the library', { skip: missing() ?? withoutDashboard() ?? false }, () => {
	let studio;
	let page;
	before(async () => {
		const mtl = (path) => `newmtl wood\nmap_Kd ${path}\n`;
		studio = await openStudio({ 'tex/wood.png': picture, 'paint.mtl': mtl('tex/wood.png'), 'one.obj': painted('wood'), 'two.obj': painted('wood'),
			'deep/paint.mtl': mtl('stone.png'), 'deep/stone.png': picture, 'deep/three.obj': painted('wood'), 'plain.obj': objText(2) });
		await studio.sync();
		page = await studio.newPage('/ui/textures');
	});
	after(() => studio.close());
	const rows = () => page.locator('table.textures tbody tr');

	test('which models use this texture', async () => {
		await page.getByText('2 textures', { exact: true }).waitFor();
		assert.deepEqual((await rows().allInnerTexts()).map((text) => /(\w+\.png)[\s\S]*?(\d+) assets?/.exec(text).slice(1).join(' ')), ['stone.png 1', 'wood.png 2']);
		await assertAccessible(page);
		await rows().filter({ hasText: 'wood.png' }).getByRole('link', { name: '2 assets' }).click();
		await page.waitForFunction(() => document.querySelectorAll('.rows .row').length === 2);
		assert.deepEqual((await page.locator('.rows .row .title').allTextContents()).map((text) => text.trim()), ['one.obj', 'two.obj']);
		await assertAccessible(page);
		await page.locator('.chip', { hasText: 'art/tex/wood.png' }).click();
		await page.waitForFunction(() => document.querySelectorAll('.rows .row').length === 4);
	});

	test('search, order, and a save while the page is open', async () => {
		await page.goto(`${studio.origin}/ui/textures`);
		await page.getByPlaceholder('Search textures').fill('wood');
		await page.waitForFunction(() => document.querySelectorAll('table.textures tbody tr').length === 1);
		studio.save('four.obj', painted('wood'));
		await rows().getByRole('link', { name: '3 assets' }).waitFor();
		await page.getByPlaceholder('Search textures').fill('nothing');
		await page.getByText('No matches').waitFor();
		await page.getByPlaceholder('Search textures').fill('');
		await page.locator('select').filter({ hasText: 'Most used first' }).selectOption('-users');
		await rows().first().filter({ hasText: 'wood.png' }).waitFor();
		for (const name of ['one.obj', 'two.obj', 'four.obj']) rmSync(join(studio.art, name));
		await page.getByText('1 texture', { exact: true }).waitFor();
		assert.deepEqual(studio.complaints, []);
	});
});

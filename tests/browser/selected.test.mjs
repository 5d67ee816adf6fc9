/* Actions on several assets of the list: select with mouse and keyboard, cook again, change settings, copy names. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { missing, withoutDashboard } from './bench.mjs';
import { $schema, assertAccessible, objText, openStudio, waitForClipboard } from './studio.mjs';

const names = ['a', 'b', 'c', 'd', 'e'];

describe('several assets at once', { skip: missing() ?? withoutDashboard() ?? false }, () => {
	let studio;
	let page;
	before(async () => {
		studio = await openStudio(Object.fromEntries(names.map((name, i) => [`${name}.obj`, objText(i + 2)])));
		await studio.sync();
		page = await studio.newPage('/ui/assets');
		await page.locator('.rows .row', { hasText: 'e.obj' }).waitFor();
	});
	after(() => studio.close());
	const row = (name) => page.locator('.rows .row', { hasText: `${name}.obj` });
	const chosen = () => page.locator('.rows .row[aria-selected=true] .title').allTextContents();
	const bar = () => page.getByRole('region', { name: 'Selected assets' });

	test('Space selects, Shift goes on, Escape lets go', async () => {
		assert.equal(await bar().count(), 0);
		await row('a').focus();
		await page.keyboard.press('Space');
		await page.keyboard.press('Shift+ArrowDown');
		await page.keyboard.press('Shift+ArrowDown');
		await bar().getByText('3 selected').waitFor();
		assert.deepEqual(await chosen(), ['a.obj', 'b.obj', 'c.obj']);
		await page.keyboard.press('Escape');
		await bar().waitFor({ state: 'detached' });
	});

	test('boxes and Ctrl select without opening; names are copied; axe finds nothing', async () => {
		await row('b').hover();
		await row('b').locator('.pick').click();
		await row('d').click({ modifiers: ['Control'], position: { x: 500, y: 24 } });
		await bar().getByText('2 selected').waitFor();
		assert.match(page.url(), /\/ui\/assets$/);
		await bar().getByRole('button', { name: 'Copy names' }).click();
		await waitForClipboard(page, /^art\/b\.obj\nart\/d\.obj$/);
		await assertAccessible(page);
		await page.getByRole('searchbox').fill('d.obj');
		await row('b').waitFor({ state: 'detached' });
		await bar().getByText('2 selected').waitFor();
		await page.getByRole('searchbox').fill('');
		await row('b').waitFor();
	});

	test('all are cooked again, and set; what fails is told of', async () => {
		const jobs = async () => (await studio.get('/api/v1/jobs?limit=100')).items.filter(({ asset }) => /[bd]\.obj$/.test(asset ?? '')).length;
		const before = await jobs();
		await bar().getByRole('button', { name: 'Cook again' }).click();
		await bar().getByText('2 requested').waitFor();
		await studio.sync();
		assert.ok((await jobs()) >= before + 2);
		await bar().getByRole('button', { name: 'Set…' }).click();
		await bar().getByLabel('Setting').selectOption('scale');
		await bar().getByLabel('Value').fill('2');
		await bar().getByRole('button', { name: 'Set for all' }).click();
		await bar().getByText('Saved for 2 models').waitFor();
		for (const name of ['b', 'd']) assert.deepEqual(JSON.parse(studio.read(`${name}.obj.cook.json`)), { $schema, scale: 2 });
		assert.ok(!studio.exists('a.obj.cook.json'));
		/* resets the reported result */
		for (const times of [1, 2]) await bar().getByRole('button', { name: 'Set…', expanded: times === 1 }).click();
		await bar().getByLabel('Setting').selectOption('texture.encoding');
		await bar().getByText(/stay compressed on the GPU\., default BC/).waitFor();
		await bar().getByLabel('Value').selectOption('ASTC (mobile)');
		await bar().getByRole('button', { name: 'Set for all' }).click();
		await bar().getByText('Saved for 2 models').waitFor();
		for (const name of ['b', 'd']) assert.deepEqual(JSON.parse(studio.read(`${name}.obj.cook.json`)), { $schema, scale: 2, texture: { encoding: 'astc' } });
		await bar().getByLabel('Setting').selectOption('scale');
		studio.mayComplain = true;
		await bar().getByLabel('Value').fill('"large"');
		await bar().getByRole('button', { name: 'Set for all' }).click();
		await bar().getByText(/2 of 2 failed; art\/b\.obj: /).waitFor();
		await bar().getByRole('button', { name: 'Clear selection' }).click();
		await bar().waitFor({ state: 'detached' });
		assert.deepEqual(studio.complaints, []);
	});
});

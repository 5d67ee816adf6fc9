/* The dashboard as people use it: every page and control, the keyboard alone, live changes, failures, restarts. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { missing, patience, project, withoutDashboard } from './bench.mjs';
import { $schema, assertAccessible, objText, openStudio, waitForClipboard } from './studio.mjs';

const model = (path) => readFileSync(join(project, 'tests/data/models', path));
const files = {
	'dungeon/chest_gold.obj': model('dungeon/chest_gold.obj'), 'dungeon/chest_gold.mtl': model('dungeon/chest_gold.mtl'),
	'dungeon/dungeon_texture.png': model('dungeon/dungeon_texture.png'), 'simple/spot.obj': model('simple/spot.obj'),
	'simple/cube.glb': model('simple/AnimatedMorphCube.glb'), 'set/a.obj': objText(3), 'set/b.obj': objText(60),
};
/* A bumpy surface of n x n squares: enough for levels of detail, and for a preview before them. */
const surface = (n) => [...Array.from({ length: (n + 1) ** 2 }, (_, i) => `v ${i % (n + 1)} ${Math.sin(i * 0.7)} ${Math.floor(i / (n + 1))}`),
	...Array.from({ length: n * n }, (_, i) => i + Math.floor(i / n) + 1).map((at) => `f ${at} ${at + 1} ${at + n + 2} ${at + n + 1}`)].join('\n');
const chest = '/ui/asset/art/dungeon/chest_gold.obj';
const broken = model('simple/BoxVertexColors.glb').subarray(0, 300);

describe('dashboard', { skip: missing() ?? withoutDashboard() ?? false }, () => {
	let studio;
	let page;
	before(async () => {
		studio = await openStudio(files);
		await studio.sync();
		page = await studio.newPage('/');
	});
	after(() => studio.close());
	const go = async (path) => {
		await page.goto(studio.origin + path);
		await page.locator('h1').waitFor();
	};
	const settled = () => page.waitForFunction(() => !document.querySelector('.loading'));
	const says = (text, where = page) => where.getByText(text).first().waitFor();
	const row = (name, where = page) => where.locator('.rows .row', { hasText: name });
	const triangles = (name, count, where = page) => where.locator('.rows .row', { hasText: name }).locator('.num', { hasText: new RegExp(`^${count}$`) }).first().waitFor();
	const heading = (name) => page.getByRole('heading', { name, exact: true, level: 1 }).waitFor();

	test('every page is reached from the navigation, and axe finds nothing in either scheme', async () => {
		for (const [link, title] of [['Overview', 'Overview'], ['Search', 'Search'], ['Assets', 'Assets'], ['Library', 'Library'], ['Problems', 'Problems'], ['Jobs', 'Jobs'], ['Cache', 'Cache'], ['Clients', 'Clients'], ['Log', 'Log'], ['Settings', 'Settings'], ['API', 'API']]) {
			await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: link }).click();
			await heading(title);
			await settled();
			await assertAccessible(page);
		}
		assert.match(await page.title(), /API/);
		await page.goBack();
		await heading('Settings');
	});

	test('? lists the keys on every page, but is typed into a field', async () => {
		const keys = page.getByRole('dialog', { name: 'Keys' });
		for (const path of ['/', '/ui/errors', '/ui/settings']) {
			await go(path);
			await page.locator('h1').first().waitFor();
			await page.keyboard.press('?');
			await keys.getByText('Show this list').waitFor();
			await assertAccessible(page);
			await page.keyboard.press('Escape');
			await keys.waitFor({ state: 'hidden' });
		}
		await go('/ui/assets');
		await page.getByPlaceholder('Search names').press('?');
		assert.equal(await keys.count(), 0);
		await page.getByRole('button', { name: 'Keys (?)' }).click();
		await keys.getByRole('button', { name: 'Close' }).click();
		await keys.waitFor({ state: 'hidden' });
	});

	test('an address that names nothing says so and leads on', async () => {
		await go('/ui/');
		await heading('Overview');
		await go('/ui/nowhere');
		await says('Page not found');
		await go('/ui/asset/art/set/c.obj');
		await says('Asset not found');
		await page.getByRole('link', { name: 'c.obj' }).click();
		await says('No matches');
	});

	test('the list is searched, filtered and ordered, and its address says how', async () => {
		await go('/ui/assets');
		await row('spot.obj').waitFor();
		await page.getByPlaceholder('Search names').fill('SET/');
		await says('2 assets');
		await page.waitForURL((url) => url.searchParams.get('q') === 'SET/');
		await page.getByPlaceholder('Search names').fill('');
		await page.getByLabel('Format').selectOption('gltf');
		await says('1 asset');
		await page.getByLabel('Format').selectOption('');
		await page.getByRole('button', { name: 'Cooked size' }).click();
		await page.locator('.rows .row[aria-rowindex="2"]', { hasText: 'chest_gold' }).waitFor();
		await page.getByLabel('Sort by').selectOption('bytes');
		await page.locator('.rows .row[aria-rowindex="2"]', { hasText: 'a.obj' }).waitFor();
		await page.getByRole('button', { name: /^Up to date/ }).click();
		await page.waitForURL((url) => url.search === '?sort=bytes&state=fresh');
		await page.reload();
		await page.locator('.rows .row[aria-rowindex="2"]', { hasText: 'a.obj' }).waitFor();
		await page.goBack();
		await page.waitForURL((url) => url.search === '?sort=bytes');
		await page.goBack();
		await page.waitForURL((url) => url.search === '?sort=-bytes');
		for (const sort of ['-bytes', 'bytes', '-textures', 'textures', '-cooked_at', 'cooked_at']) {
			await go(`/ui/assets?sort=${sort}`);
			await page.locator('.rows .row[aria-rowindex="2"]').waitFor();
			assert.equal(await page.getByLabel('Sort by').inputValue(), sort);
		}
		await go('/ui/assets?q=nothing-has-this-name');
		await page.getByRole('link', { name: 'Show all assets' }).click();
		await row('spot.obj').waitFor();
	});

	test('the first rows are asked for before the script is read, and once', async () => {
		const alone = await studio.newPage('/ui/nowhere');
		/* Without the event stream: when it begins, the page reads everything again. */
		await alone.addInitScript(() => {
			globalThis.SharedWorker = undefined;
			globalThis.EventSource = class extends EventTarget { close() {} };
		});
		for (const [address, by] of [['/ui/assets', 'link'], ['/ui/assets?q=chest', 'fetch']]) {
			await alone.goto(studio.origin + address);
			await row('chest_gold', alone).waitFor();
			const asked = await alone.evaluate(() => performance.getEntriesByType('resource').filter(({ name }) => name.includes('/api/v1/assets?')).map(({ initiatorType }) => initiatorType));
			assert.deepEqual(asked, [by], address);
		}
		await alone.close();
	});

	test('rows that take long hold up nothing else', async () => {
		const alone = await studio.newPage('/ui/nowhere');
		await alone.route('**/api/v1/assets?*', () => {}); /* never answers */
		await alone.goto(`${studio.origin}/ui/assets`);
		await alone.getByRole('heading', { name: 'Assets', level: 1 }).waitFor();
		await alone.getByRole('button', { name: /^All/ }).waitFor();
		assert.equal(await alone.locator('.rows .row .title').count(), 0);
		await alone.close();
	});

	test('the keyboard alone finds an asset, opens it and goes through its tabs', async () => {
		await go('/ui/assets');
		await row('spot.obj').waitFor();
		await page.keyboard.press('/');
		await page.keyboard.type('simple');
		await says('2 assets');
		await page.keyboard.press('ArrowDown');
		await page.keyboard.press('End');
		await page.keyboard.press('ArrowUp');
		await page.keyboard.press('ArrowDown');
		await page.waitForFunction(() => document.activeElement.textContent.includes('spot.obj'));
		await page.keyboard.press('Enter');
		await heading('spot.obj');
		await page.getByRole('link', { name: 'Dependencies' }).waitFor();
		const focused = () => page.evaluate('document.activeElement.textContent.trim()');
		for (let presses = 0; (await focused()) !== 'Dependencies'; presses++) {
			assert.ok(presses < 80, 'the tab "Dependencies" is not reached by Tab');
			await page.keyboard.press('Tab');
		}
		await page.keyboard.press('Enter');
		await says('No other files.');
	});

	test('an asset shows its picture, files, connections, reasons, history and log', async () => {
		await go(chest);
		await page.locator('.viewer-canvas').waitFor();
		await assertAccessible(page);
		const link = page.getByRole('link', { name: 'Download' }).first();
		const [download] = await Promise.all([page.waitForEvent('download'), link.click()]);
		const bytes = readFileSync(await download.path());
		assert.equal(`/blobs/${createHash('sha256').update(bytes).digest('hex')}`, await link.getAttribute('href'));
		const [bundle] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Repro bundle' }).click()]);
		const tar = readFileSync(await bundle.path(), 'latin1');
		assert.ok(tar.startsWith('bundle.json\0') && tar.includes('files/dungeon/dungeon_texture.png'), 'the bundle has the sources');
		await page.locator('.snippet').getByRole('button', { name: 'Copy' }).first().click();
		await waitForClipboard(page, /^curl -f 'http:.*chest_gold\.obj\?output=meshes'/);
		for (const [tab, words] of [['Dependencies', 'dungeon_texture.png'], ['History', 'All cooks'], ['Why', 'Cooked for the first time'], ['Log', /Log of the last cook|Notes of the cook/], ['Settings', 'Maximum texture size']]) {
			await page.getByRole('navigation', { name: 'About this asset' }).getByRole('link', { name: tab, exact: true }).click();
			await says(words);
			await settled();
			await assertAccessible(page);
		}
		await page.getByRole('button', { name: 'Cook again' }).click();
		await says('Requested');
	});

	test('a setting is saved beside the model, its origin shown, the saving told, and reset', async () => {
		await go(`${chest}?tab=settings`);
		const before = (await studio.get('/api/v1/assets?path=art/dungeon/chest_gold.obj')).items[0].bytes.cooked;
		await page.getByRole('heading', { name: /^Textures .*, \d+ % of the cooked size; the largest is \d+ × \d+/ }).waitFor();
		await page.getByLabel('Maximum texture size').selectOption('64');
		await page.getByLabel('Merge instances').check();
		await page.getByRole('button', { name: 'Save 2 changes' }).click();
		await page.getByText(/Cooked size .* → .* \(−/).waitFor();
		await says(/textures .* → .* \(−/);
		await page.getByRole('heading', { name: /the largest is 64 × 64/ }).waitFor();
		assert.deepEqual(JSON.parse(studio.read('dungeon/chest_gold.obj.cook.json')), { $schema, texture: { max_size: 64 }, merge_instances: true });
		assert.ok((await studio.get('/api/v1/assets?path=art/dungeon/chest_gold.obj')).items[0].bytes.cooked < before);
		const setting = page.locator('.setting', { hasText: 'Maximum texture size' });
		await says('This model', setting);
		await setting.getByRole('button', { name: 'Reset' }).click();
		await page.locator('.setting', { hasText: 'Merge instances' }).getByRole('button', { name: 'Reset' }).click();
		await page.getByRole('button', { name: 'Save 2 changes' }).click();
		await page.getByText(/Cooked size .* → .* \(\+/).waitFor();
		await says('Default', setting);
		studio.save('dungeon/cook.json', '{"texture":{"max_size":256}}');
		await says('dungeon/cook.json', setting);
		await page.getByRole('navigation', { name: 'About this asset' }).getByRole('link', { name: 'History' }).click();
		await says('Compare two cooks');
		await page.locator('.chart canvas').first().waitFor();
		await go('/ui/asset/art/set/b.obj?tab=settings');
		await says('This asset has no textures');
		await go('/ui/settings');
		assert.match(await page.getByRole('row', { name: /cook\.memory_limit/ }).innerText(), /\s\d+\sGiB/);
	});

	test('a cook says where its time went, the longest first', async () => {
		await go(`${chest}?tab=why`);
		const times = page.locator('.panel', { has: page.locator('#times') });
		await says('Textures', times);
		const { outputs } = (await studio.get('/api/v1/assets?path=art/dungeon/chest_gold.obj&expand=outputs')).items[0];
		const report = await studio.get(outputs.find(({ name }) => name === 'report').url);
		const wanted = Object.values(report.timings_us).filter((time) => time >= 100).sort((a, b) => b - a);
		assert.deepEqual(await times.locator('meter').evaluateAll((all) => all.map(({ value }) => value)), wanted);
		await assertAccessible(page);
	});

	test('broken rules lead to their assets, and an asset lists its findings with places', async () => {
		studio.save('set/cook.json', '{"rules": {"mesh.open": "warning", "uv.missing": "info"}}');
		studio.save('set/b.obj.cook.json', '{"rules": {"mesh.open": "error"}, "merge_instances": true}');
		await studio.sync();
		await go('/ui/errors');
		const rules = page.locator('.panel', { has: page.locator('#rules') });
		await says('3 rules', rules);
		assert.deepEqual(await rules.locator('li code').allInnerTexts(), ['mesh.open', 'mesh.open', 'uv.missing']);
		await assertAccessible(page);
		await rules.locator('li', { hasText: 'Warning' }).getByRole('link', { name: '1 asset' }).click();
		await row('a.obj').waitFor();
		assert.equal(await page.locator('.rows .row').count(), 1);
		await page.getByRole('button', { name: 'mesh.open' }).click();
		await row('b.obj').waitFor();
		await go('/ui/asset/art/set/a.obj?tab=why');
		const findings = page.locator('.panel', { has: page.locator('#findings') });
		await says(/The model: \d+ at \(/, findings);
		await says('Fill the holes', findings);
		await assertAccessible(page);
		await go('/ui/asset/art/set/b.obj?tab=settings');
		await page.locator('.setting', { hasText: 'Merge instances' }).getByRole('button', { name: 'Reset' }).click();
		await page.getByRole('button', { name: 'Save 1 change' }).click();
		await page.getByRole('button', { name: 'Save 1 change' }).waitFor({ state: 'detached' });
		assert.deepEqual(JSON.parse(studio.read('set/b.obj.cook.json')), { rules: { 'mesh.open': 'error' } });
		rmSync(join(studio.art, 'set/cook.json'));
		rmSync(join(studio.art, 'set/b.obj.cook.json'));
		await studio.sync();
	});

	test('settings are searched by name and explanation, and what is not saved stays in sight', async () => {
		const sidecar = () => studio.exists('dungeon/chest_gold.obj.cook.json') && studio.read('dungeon/chest_gold.obj.cook.json').toString();
		const before = sidecar();
		await go(`${chest}?tab=settings`);
		const rows = page.locator('.setting');
		await rows.first().waitFor();
		const all = await rows.count();
		await says(`${all} settings`);
		await says('above 0, default 1', page.locator('.setting', { hasText: 'Multiplies every size' }));
		await page.locator('h1').click();
		await page.keyboard.press('/');
		await page.keyboard.type('parts SHARE');
		await says(`2 of ${all} settings`);
		assert.deepEqual(await rows.locator('label').allTextContents(), ['Merge instances', 'Merge by material']);
		await page.keyboard.press('Enter');
		await page.getByLabel('Merge instances').check();
		await page.getByPlaceholder('Search settings').fill('no such thing');
		await says(`0 of ${all} settings`);
		assert.deepEqual(await rows.locator('label').allTextContents(), ['Merge instances']);
		await page.getByRole('button', { name: 'Discard' }).click();
		await says('No setting matches this search');
		await assertAccessible(page);
		await page.getByRole('button', { name: 'Show all settings' }).click();
		assert.equal(await rows.count(), all);
		await page.getByPlaceholder('Search settings').fill('lods.max');
		await page.keyboard.press('Escape');
		await says(`${all} settings`);
		assert.equal(sidecar(), before, 'Enter in the search saves nothing');
	});

	test('a setting of a folder is saved for all models in it, and a nearer one wins', async () => {
		const [file, outer] = ['set/cook.json', 'cook.json'];
		studio.save('set/b.obj.cook.json', '{"lods":{"max":2}}');
		await studio.sync();
		await go('/ui/asset/art/set/b.obj?tab=settings');
		const reach = page.getByLabel('Settings for');
		await reach.waitFor();
		assert.deepEqual(await reach.locator('option').allTextContents(), ['this model', 'all models in art/set/', 'all models in art/']);
		await reach.selectOption('all models in art/set/');
		await says('(not created yet)');
		await says('(nearer, overrides this)', page.locator('.setting', { hasText: 'Maximum levels' }));
		await page.getByLabel('Merge instances').check();
		assert.ok(await reach.isDisabled(), 'what is not saved stays where it was meant for');
		await page.getByRole('button', { name: 'Save 1 change' }).click();
		await says(`Saved in ${file}. The affected models`);
		assert.deepEqual(JSON.parse(studio.read(file)), { $schema, merge_instances: true });
		assert.ok(!studio.exists(outer));
		await studio.sync();
		for (const name of ['a', 'b']) {
			const [{ id }] = (await studio.get(`/api/v1/assets?path=art/set/${name}.obj`)).items;
			assert.equal((await studio.get(`/api/v1/assets/${id}`)).settings.merge_instances, true);
		}
		await reach.selectOption('this model');
		await says(file, page.locator('.setting', { hasText: 'Merge instances' }));
		await reach.selectOption('all models in art/set/');
		await page.locator('.setting', { hasText: 'Merge instances' }).getByRole('button', { name: 'Reset' }).click();
		await page.getByRole('button', { name: 'Save 1 change' }).click();
		await says(`Saved in ${file}. The affected models`);
		await assertAccessible(page);
		rmSync(join(studio.art, file));
		rmSync(join(studio.art, 'set/b.obj.cook.json'));
		await studio.sync();
	});

	test('what a setting saved is told of the final cook, not of the preview before it', async () => {
		studio.save('surface.obj', surface(200));
		await studio.sync();
		await go('/ui/asset/art/surface.obj?tab=settings');
		await page.getByLabel('Maximum levels').selectOption('3');
		await page.getByRole('button', { name: 'Save 1 change' }).click();
		const told = await page.getByText(/Cooked size .* → .* \(−/).innerText();
		const [asset] = (await studio.get('/api/v1/assets?path=art/surface.obj')).items;
		assert.equal(asset.quality, 'final');
		assert.ok(told.includes(`→ ${(asset.bytes.cooked / 1e6).toFixed(2)}\u00a0MB`), `${told}; ${asset.bytes.cooked} bytes`);
	});

	test('a save, a failure and the recovery show by themselves, with the reason and the last good picture', async () => {
		await go('/ui/assets?q=a.obj');
		await triangles('a.obj', 3);
		studio.save('set/a.obj', objText(9));
		await triangles('a.obj', 9);
		studio.save('hero.glb', model('simple/BoxVertexColors.glb'));
		await page.getByPlaceholder('Search names').fill('hero');
		await row('hero.glb').filter({ hasText: 'Up to date' }).waitFor();
		await row('hero.glb').click();
		await page.locator('.viewer-canvas').waitFor();
		studio.save('hero.glb', broken);
		const reason = page.locator('.fault');
		await reason.waitFor();
		assert.match(await reason.textContent(), /hero\.glb/);
		await says('The last good version is still served', reason);
		assert.ok(await page.locator('.viewer-canvas').isVisible());
		await assertAccessible(page);
		assert.equal(await page.locator('.viewer-alert').isVisible(), false, 'the fault is told once');
		const latest = page.getByRole('region', { name: 'Latest changes' }).locator('li').first();
		await go('/');
		await latest.filter({ hasText: 'hero.glb' }).and(page.locator('[data-tone=bad]')).waitFor();
		await page.getByRole('link', { name: /^Problems/ }).click();
		await page.locator('.problem', { hasText: 'hero.glb' }).waitFor();
		await says('1', page.getByRole('link', { name: /^Problems/ }));
		await page.getByText('Open files in your editor').click();
		await page.getByLabel('Link').fill('editor://{path}:{line}');
		await assertAccessible(page);
		await page.locator('.problem', { hasText: 'hero.glb' }).getByRole('button', { name: 'Try again' }).click();
		await says('Requested');
		await page.reload();
		assert.equal(await page.getByRole('link', { name: 'Open in editor' }).getAttribute('href'), `editor://${studio.art}/hero.glb:1`);
		studio.save('hero.glb', model('simple/BoxVertexColors.glb'));
		await says('No problems');
		assert.equal((await studio.get('/api/v1/errors')).assets, 0);
		await go('/ui/asset/art/hero.glb');
		await page.locator('.strip div', { hasText: /Repaired.*from the cache/s }).waitFor();
		await assertAccessible(page);
		await go('/');
		await latest.filter({ hasText: /hero\.glb.*It can be cooked again/s }).waitFor();
		studio.save('gone.obj', objText(4));
		await latest.filter({ hasText: /gone\.obj.*It is new/s }).waitFor();
		rmSync(join(studio.art, 'gone.obj'));
		await latest.filter({ hasText: /gone\.obj.*Removed/s }).waitFor();
	});

	test('jobs, cache, log and API have controls that do what they say', async () => {
		await studio.sync();
		await go('/ui/jobs');
		await page.getByRole('button', { name: 'Timeline' }).click();
		const { traceEvents } = await studio.get('/api/v1/trace');
		/* The newest build: jobs after the last minute without any. */
		const jobs = traceEvents.filter(({ ph }) => ph === 'X').sort((a, b) => a.ts - b.ts);
		let [build, end] = [0, 0];
		for (const { ts, dur, args: { stages } } of jobs) {
			/* Jobs that no worker saw are on no lane. */
			build = (ts > end + 60e6 ? 0 : build) + stages.some(({ stage }) => stage === 'cook');
			end = Math.max(end, ts + dur);
		}
		await page.waitForFunction((count) => document.querySelectorAll('.timeline rect').length === count, build);
		await page.getByRole('button', { name: 'Timeline' }).click();
		await page.getByRole('region', { name: 'Finished' }).getByRole('button', { name: 'Failed' }).click();
		await page.locator('table.jobs', { hasText: 'hero.glb' }).waitFor();
		/* A failed job's duration on the page equals start to end on the timeline. */
		const failed = traceEvents.filter(({ ph, cat }) => ph === 'X' && cat === 'failed').sort((a, b) => b.args.job - a.args.job)[0];
		const { duration } = await import('../../web/app/format.js');
		await says(duration(Math.max(1, failed.dur / 1000)), page.locator('table.jobs tbody tr').first().locator('td.num:not(.spare)'));
		await page.getByRole('button', { name: 'Log' }).first().click();
		await page.locator('table.jobs td[colspan] .stages', { hasText: /Hash source .*Cook .*Record / }).waitFor();
		/* The broken file no longer exists, so that job cannot be repeated, and the page says so. */
		studio.mayComplain = true;
		await page.getByRole('button', { name: 'Repro bundle' }).first().click();
		await says(/hero\.glb' was changed or deleted since that cook/);
		studio.mayComplain = false;
		await page.getByRole('button', { name: 'Try again' }).first().click();
		await says('Requested');
		await go('/ui/cache');
		await page.getByRole('button', { name: 'Verify all' }).click();
		await page.getByText(/files are intact/).waitFor();
		await page.getByRole('button', { name: 'What would trimming free?' }).click();
		await page.getByText(/Trimming would free/).waitFor();
		await page.getByRole('button', { name: 'Trim now' }).click();
		await page.getByText(/There is nothing to trim|Trimming deletes .* of cooked data/).first().waitFor();
		if (await page.getByRole('dialog').isVisible()) {
			await assertAccessible(page);
			await page.getByRole('dialog').getByRole('button', { name: /^Delete / }).click();
			await page.getByText(/ freed$/).waitFor();
		}
		await go('/ui/log');
		await page.getByText('art/hero.glb').first().waitFor();
		await page.getByLabel('Show').selectOption('error');
		await page.locator('.logline', { hasText: 'cooked' }).first().waitFor({ state: 'detached' });
		await page.getByLabel('Show').selectOption('info');
		await page.getByPlaceholder('Search the log').fill('b.obj');
		studio.save('set/b.obj', objText(6));
		await page.locator('.logline', { hasText: 'art/set/b.obj' }).nth(1).waitFor();
		await go('/ui/api');
		await page.getByPlaceholder('Search the API').fill('/blobs/');
		await page.getByRole('button', { name: /GET.*\/blobs\/\{sha256\}/ }).click();
		await says('64 lower-case hexadecimal digits');
		await assertAccessible(page);
	});

	test('narrow windows have every page without a sideways scroll', async () => {
		await go(`${chest}?tab=settings`);
		for (const path of ['', '/', '/ui/assets', '/ui/errors', '/ui/jobs', '/ui/cache', '/ui/clients', '/ui/log', '/ui/settings', '/ui/api']) {
			if (path) await go(path);
			await settled();
			for (const width of [360, 768, 2560]) {
				await page.setViewportSize({ width, height: 800 });
				/* Charts adapt to the window one frame later. */
				await page.waitForFunction(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth).catch(async (error) => {
					throw new Error(`${path} at ${width}: ${await page.evaluate('document.documentElement.scrollWidth')} wide`, { cause: error });
				});
				if (path === '/ui/jobs' && width === 360) await page.waitForFunction(() => document.querySelector('.jobs .name')?.getBoundingClientRect().width > 150);
			}
		}
		await page.setViewportSize({ width: 360, height: 800 });
		await page.getByRole('button', { name: 'Menu' }).click();
		await page.getByRole('link', { name: 'Clients' }).click();
		await heading('Clients');
		await page.setViewportSize({ width: 1280, height: 900 });
	});

	test('eight tabs share one stream and all of them change', async () => {
		const tabs = [];
		for (let i = 0; i < 8; i++) tabs.push(await studio.newPage('/ui/assets?q=set/a'));
		studio.save('set/a.obj', objText(21));
		for (const tab of tabs) await triangles('a.obj', 21, tab);
		/* The daemon notices the closed streams of left pages a moment later. */
		for (const end = Date.now() + patience; (await studio.get('/api/v1/stats')).http.listeners !== 1;) assert.ok(Date.now() < end, 'more than one stream');
		for (const tab of tabs) await tab.close();
	});

	test('a restart of the daemon is told, survived, and what happened meanwhile is seen', async () => {
		await go('/ui/assets?q=set/');
		await row('a.obj').waitFor();
		studio.mayComplain = true;
		await studio.stopDaemon();
		await says('Reconnecting…');
		studio.save('set/later.obj', objText(4));
		await studio.startDaemon();
		await says('Live');
		await row('later.obj').waitFor();
		studio.mayComplain = false;
	});

	test('nothing was complained about on the console', () => assert.deepEqual(studio.complaints, []));
});

/* The dashboard's numbers against the truth, with more cooked assets than one page of jobs holds. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { hob, missing, project, withoutDashboard } from './bench.mjs';
import { assertAccessible, objText, openStudio } from './studio.mjs';

const COUNT = 1100; /* the API returns at most 1000 jobs at once */
const digits = (text) => Number(text.replace(/\D/g, ''));
const model = (path) => readFileSync(join(project, 'tests/data/models', path));
const files = {
	'chest/chest.obj': model('dungeon/chest_gold.obj'), 'chest/chest_gold.mtl': model('dungeon/chest_gold.mtl'),
	'chest/dungeon_texture.png': model('dungeon/dungeon_texture.png'), 'noted.obj': `mtllib gone.mtl\n${objText(2)}`, 'first.obj': 'v 0 0 0\nf 1 2 3\n',
};
const total = COUNT + 3;

describe('facts', { skip: missing() ?? withoutDashboard() ?? false }, () => {
	let studio;
	let page;
	const stats = () => studio.get('/api/v1/stats');
	const panel = (name) => page.getByRole('region', { name });
	before(async () => {
		studio = await openStudio(files, { options: ['--max-size', '4GiB', '--jobs', '1'] });
		const many = join(studio.folder, 'many');
		mkdirSync(many);
		for (let i = 0; i < COUNT; i++) writeFileSync(join(many, `${i}.obj`), objText(1 + (i % 9), i));
		renameSync(many, join(studio.art, 'many'));
		await studio.sync();
		page = await studio.newPage('/ui/jobs');
	});
	after(() => studio.close());
	const go = async (path) => {
		await page.goto(studio.origin + path);
		await page.locator('h1').waitFor();
	};

	test('a row has its picture, and until then an icon of the page, not a document of the daemon', async (t) => {
		const alone = await studio.newPage('/ui/nowhere');
		const kinds = [];
		alone.on('response', (answer) => answer.url().includes('/thumbnail?') && kinds.push(answer.headers()['content-type'] ?? answer.status()));
		await alone.goto(`${studio.origin}/ui/assets?q=many`);
		await alone.waitForFunction(() => document.querySelectorAll('.thumb img').length > 9);
		assert.equal(await alone.locator('.row:has(.title) .thumb:not(:has(.icon, img:visible))').count(), 0);
		if (existsSync(join(dirname(hob), 'hob-thumbnail'))) await alone.locator('.thumb:not(:has(.icon)) img:visible').first().waitFor();
		else t.diagnostic('without hob-thumbnail there are no pictures');
		assert.ok(kinds.includes(204), kinds.join());
		assert.deepEqual(kinds.filter((kind) => kind !== 204 && kind !== 'image/png'), []);
		await alone.close();
	});

	test('what was cooked in the last hour is counted by the daemon', async () => {
		await go('/ui/jobs');
		await panel(/^Cooked per minute/).getByText('1,102', { exact: true }).waitFor();
		assert.equal((await stats()).activity.cooked, COUNT + 2);
		/* the daemon has run for less than an hour */
		await panel(/^Cooked per minute since the start/).getByText('Since the start', { exact: true }).waitFor();
	});

	test('every asset is in one tile', async () => {
		await go('/');
		await page.locator('.counts').waitFor();
		const [all, ...tiles] = (await page.locator('.count:not([href*=warning]) b').allInnerTexts()).map(digits);
		assert.equal(all, total);
		assert.equal(tiles.reduce((sum, count) => sum + count, 0), total);
	});

	test('badge and tiles are of one moment, by one question', async () => {
		const alone = await studio.newPage('/ui/nowhere');
		/* Every answer reports one problem more than the last. */
		let asked = 0;
		await alone.route('**/api/v1/stats', async (route) => {
			const answer = await route.fetch();
			await route.fulfill({ json: { ...(await answer.json()), errors: 1000 + asked++ } });
		});
		const look = () => alone.evaluate(() => ['.badge.tone-bad', '.count[href="/ui/errors"] b'].map((place) => document.querySelector(place)?.textContent));
		await alone.addInitScript(() => {
			globalThis.setInterval = () => 0; /* no polling: only events cause updates */
			globalThis.SharedWorker = undefined;
			globalThis.EventSource = class extends EventTarget {
				constructor() {
					super();
					globalThis.stream = this;
				}
				close() {}
			};
		});
		await alone.goto(studio.origin);
		await alone.locator('.counts').waitFor();
		/* A part of the page that loads after the first answer sends one more request. */
		let last = 999;
		for (let looks = 0; looks < 3; looks++) {
			if (looks) await alone.evaluate(() => globalThis.stream.dispatchEvent(new MessageEvent('asset', { data: '{"kind":"cooked"}' })));
			await alone.waitForFunction((number) => Number(document.querySelector('.badge.tone-bad')?.textContent.replace(/\D/g, '')) > number, last);
			const [badge, tile] = await look();
			assert.equal(badge, tile);
			last = digits(badge);
		}
		assert.ok(asked <= 4, `${asked} questions`);
		await alone.close();
	});

	test('a size counts every file that an asset is cooked from', async () => {
		await go('/ui/asset/art/chest/chest.obj');
		const { bytes } = (await studio.get('/api/v1/assets?path=art/chest/chest.obj')).items[0];
		const sizes = ['chest.obj', 'chest_gold.mtl', 'dungeon_texture.png'].map((name) => files[`chest/${name}`].length);
		assert.equal(bytes.inputs, sizes.reduce((a, b) => a + b));
		const fact = await page.locator('.strip div', { hasText: 'Source files' }).innerText();
		assert.match(fact.replaceAll('\u00a0', ' '), new RegExp(`${Math.round(bytes.inputs / 1000)}[\\s\\S]*the file itself`));
	});

	test('what the cook noted is in the log, too', async () => {
		await go('/ui/asset/art/noted.obj?tab=log');
		await page.getByText(/gone\.mtl/).first().waitFor();
		assert.equal(await page.getByText('The last cook reported nothing.').count(), 0);
	});

	test('a limit is told in the unit it was set in', async () => {
		await go('/ui/cache');
		await page.getByText('of 4\u00a0GiB at most').waitFor();
	});

	test('problems come newest first, are found, lead the title, and say when they are repaired', async () => {
		await go('/ui/errors');
		studio.save('second.obj', 'nothing\n');
		const first = page.locator('article.problem').first();
		await first.getByText('art/second.obj').waitFor();
		await page.waitForFunction(() => document.title.startsWith('(2 ✕)'));
		await page.waitForFunction(() => document.querySelector('link[rel=icon]').href.startsWith('data:'));
		await page.getByPlaceholder('Search messages and names').fill('FIRST art');
		await first.getByText('art/first.obj').waitFor();
		assert.equal(await page.locator('article.problem').count(), 1);
		await page.getByPlaceholder('Search messages and names').fill('no such words');
		await page.getByText('No matches').waitFor();
		await page.getByRole('link', { name: 'Show all problems' }).click();
		studio.save('second.obj', objText(3, 2000));
		studio.save('first.obj', objText(3, 3000));
		await panel('Repaired').getByText('art/second.obj').waitFor();
		await page.getByText('No problems').waitFor();
		await page.waitForFunction(() => document.querySelector('link[rel=icon]').href.endsWith('/favicon.ico'));
		await assertAccessible(page);
	});

	test('nobody is told that all is cooked while something waits', async () => {
		const other = await studio.newPage('/');
		await other.route('**/api/v1/stats*', async (route) => {
			const answer = await route.fetch();
			const stats = await answer.json();
			await route.fulfill({ response: answer, json: { ...stats, progress: { ...stats.progress, left: 3, began_at: stats.progress?.began_at } } });
		});
		await other.route('**/api/v1/errors', (route) => route.fulfill({ json: { items: [], groups: 0, assets: 0 } }));
		await other.goto(`${studio.origin}/ui/errors`);
		await other.getByText('3 assets still to be cooked.').waitFor();
		await other.close();
	});

	test('whoever asked for it is notified of a new problem while looking elsewhere, and led to it', async () => {
		const other = await studio.newPage('/ui/errors');
		await other.context().grantPermissions(['notifications', 'clipboard-read', 'clipboard-write']);
		await other.evaluate(() => {
			globalThis.shown = [];
			const granted = { permission: 'granted', requestPermission: async () => 'granted' };
			globalThis.Notification = Object.assign(class {
				constructor(title, { body, tag }) {
					globalThis.shown.push({ title, body, tag, press: () => this.onclick() });
				}

				close() {}
			}, granted);
			globalThis.tones = 0;
			const part = { frequency: {}, gain: { setValueAtTime() {}, exponentialRampToValueAtTime() {} }, connect: (next) => next, stop() {} };
			globalThis.AudioContext = class {
				createOscillator = () => ({ ...part, start: () => globalThis.tones++ });
				createGain = () => part;
				close() {}
			};
			Object.defineProperty(document, 'hidden', { configurable: true, get: () => globalThis.away ?? false });
		});
		await other.getByLabel('Notify me about new problems').check();
		await other.getByLabel('With a sound').check();
		await other.waitForFunction(() => globalThis.tones === 2);
		studio.save('seen.obj', 'nothing\n');
		await other.locator('article.problem', { hasText: 'art/seen.obj' }).waitFor();
		assert.equal(await other.evaluate(() => globalThis.shown.length), 0, 'who looks at the page needs no notification');
		assert.equal(await other.evaluate(() => globalThis.tones), 2, 'nor a sound, but for the one that was tried');
		await other.evaluate(() => navigator.locks.request('hob-notify-sound', () => {})); // the sound has ended
		await other.evaluate(() => (globalThis.away = true));
		studio.save('unseen.obj', 'nothing\n');
		await other.waitForFunction(() => globalThis.shown.length === 1 && globalThis.tones === 4);
		assert.deepEqual(await other.evaluate(() => [globalThis.shown[0].title, globalThis.shown[0].tag]), ['unseen.obj could not be cooked', 'art/unseen.obj']);
		await other.evaluate(() => {
			globalThis.away = false;
			globalThis.shown[0].press();
		});
		await other.getByRole('heading', { name: 'unseen.obj' }).waitFor();
		await other.goto(`${studio.origin}/ui/errors`);
		await other.getByLabel('Notify me about new problems').uncheck();
		await other.close();
		for (const name of ['seen', 'unseen']) rmSync(join(studio.art, `${name}.obj`));
		await studio.sync();
	});

	test('the list sorts by every column, shows why something failed, and finds words in any order', async () => {
		studio.save('third.gltf', '{"asset":{"version":"2.0"},"scenes":3}');
		await go('/ui/assets?problem=1');
		await page.locator('.rows .row', { hasText: 'third.gltf' }).locator('.where.tone-bad').waitFor();
		await page.waitForFunction(() => [...document.querySelectorAll('.chip')].some((chip) => /^All problems\s+\d/.test(chip.textContent.trim())));
		assert.equal(await page.locator('.chip', { hasText: 'Broken' }).count(), 0, 'one chip for the same assets');
		const [list, drawn] = await page.evaluate(() => ['.list', '.rows .row'].map((name) => document.querySelector(name).getBoundingClientRect().right));
		assert.ok(list - drawn <= 1, `rows that all fit end ${list - drawn} px before the edge of their list`);
		await go('/ui/assets?q=chest');
		for (const [column, order] of [['Triangles', 'descending'], ['Levels', 'descending'], ['State', 'ascending'], ['Cooked size', 'descending'], ['Name', 'ascending']]) {
			await page.getByRole('columnheader', { name: column }).getByRole('button').click();
			await page.locator(`[role=columnheader][aria-sort=${order}]`, { hasText: column }).waitFor();
		}
		await go('/ui/assets');
		await page.locator('.rows .row').nth(2).waitFor();
		await page.getByPlaceholder('Search names').fill('obj chest');
		await page.locator('.rows .row').nth(1).waitFor({ state: 'detached' });
		await page.locator('.rows .row', { hasText: 'chest.obj' }).waitFor();
	});

	test('colours are chosen and kept, and unsaved settings are asked for', async () => {
		await go('/ui/asset/art/chest/chest.obj?tab=settings');
		const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
		const light = await ground();
		await page.locator('.theme select').selectOption('dark');
		assert.notEqual(await ground(), light);
		await page.reload();
		await page.getByLabel('Merge instances').check();
		assert.notEqual(await ground(), light);
		let asked = '';
		page.once('dialog', (dialog) => {
			asked = dialog.message();
			dialog.dismiss();
		});
		await page.getByRole('link', { name: 'Jobs' }).click();
		assert.match(asked, /not saved/);
		await page.getByRole('button', { name: 'Discard' }).click();
		await page.getByRole('link', { name: 'Jobs' }).click();
		await page.getByRole('heading', { name: 'Jobs', level: 1 }).waitFor();
		await page.locator('.theme select').selectOption('system');
	});

	test('nothing was complained about on the console', () => assert.deepEqual(studio.complaints, []));
});

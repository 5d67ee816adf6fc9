/* Every page, state and dialog of the dashboard, on a phone, a tablet, a desktop, a desktop at 200 % (640 pixels) and a
 * wide screen, light and dark: axe finds no fault, and nothing overflows sideways. Without HOB_LONG=1, axe looks at phone
 * and desktop only, dark colours on the desktop. HOB_PICTURES=DIR keeps a picture of each. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { hob, missing, project, withoutDashboard } from './bench.mjs';
import { accessFaults, objText, openStudio } from './studio.mjs';

const widths = [390, 640, 768, 1280, 1920];
const keep = process.env.HOB_PICTURES;
const all = process.env.HOB_LONG === '1';
const isLookedAt = (width, colorScheme) => all || keep || width === 1280 || (width === 390 && colorScheme === 'light');
const model = (path) => readFileSync(join(project, 'tests/data/models', path));
const files = {
	'dungeon/chest_gold.obj': model('dungeon/chest_gold.obj'), 'dungeon/chest_gold.mtl': model('dungeon/chest_gold.mtl'),
	'dungeon/barrel_large_decorated.obj': model('dungeon/barrel_large_decorated.obj'),
	'dungeon/dungeon_texture.png': model('dungeon/dungeon_texture.png'), 'simple/spot.obj': model('simple/spot.obj'),
	'simple/cube.glb': model('simple/AnimatedMorphCube.glb'), 'simple/no_buffer.gltf': model('simple/SimpleSkin.gltf'),
	'noted.obj': `mtllib gone.mtl\n${objText(2)}`, 'broken/first.obj': 'v 0 0 0\nf 1 2 3\n',
	'broken/third.gltf': '{"asset":{"version":"2.0"},"scenes":3}',
	'a/folder/with/a/long/name/so/that/it/has/to/break/somewhere/an_asset_with_a_name_that_nobody_would_type_twice_v0017_final.obj': objText(60),
};

/* Checks what `page` shows now, at all widths and in both colour schemes. */
async function look(page, name) {
	const found = (await page.locator('body').innerText()).match(/.*(\bundefined\b|\bNaN\b|\[object ).*/g) ?? [];
	for (const width of widths) {
		await page.setViewportSize({ width, height: width < 500 ? 844 : 900 });
		const wide = await page.evaluate(() => document.scrollingElement.scrollWidth - innerWidth);
		if (wide > 0) found.push(`${width}: the page is ${wide} pixels wider than the screen`);
		for (const colorScheme of ['light', 'dark'].filter((scheme) => isLookedAt(width, scheme))) {
			await page.emulateMedia({ colorScheme });
			if (keep) await page.screenshot({ path: join(keep, `${name}-${width}-${colorScheme}.png`), fullPage: true });
			const rules = colorScheme === 'light' ? {} : { runOnly: ['color-contrast', 'link-in-text-block'] };
			found.push(...(await accessFaults(page, rules)).map((line) => `${width} ${colorScheme}: ${line}`));
		}
	}
	await page.emulateMedia({ colorScheme: 'light' });
	await page.setViewportSize({ width: 1280, height: 900 });
	assert.deepEqual(found, [], name);
}

describe('everywhere', { skip: missing() ?? withoutDashboard() ?? false }, () => {
	let studio;
	let page;
	before(async () => {
		if (keep) mkdirSync(keep, { recursive: true });
		studio = await openStudio({});
		page = await studio.newPage('/');
	});
	after(() => studio.close());
	const go = async (path) => {
		await page.goto(studio.origin + path);
		await page.locator('h1').first().waitFor();
		await page.waitForFunction(() => !document.querySelector('.loading'));
	};
	const drawn = () => page.waitForFunction(() => {
		const viewer = document.querySelector('.viewer-root')?.parentElement.viewer;
		return viewer?.levels && viewer.stage.took !== undefined && !viewer.message;
	});

	test('while there is nothing yet', async (t) => {
		for (const name of ['', 'assets', 'errors', 'jobs', 'cache', 'clients', 'log', 'settings', 'api', 'nowhere'])
			await t.test(name || 'overview', async () => {
				await go(name && `/ui/${name}`);
				await look(page, `empty-${name || 'overview'}`);
				if (!['', 'assets'].includes(name)) return;
				const [sample] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Download a sample model' }).click()]);
				assert.equal(sample.suggestedFilename(), 'sample.obj');
				assert.match(readFileSync(await sample.path(), 'utf8'), /^f 4 8 5 1$/m);
			});
	});

	test('with models, some of them broken', async (t) => {
		for (const [path, data] of Object.entries(files)) studio.save(path, data);
		await studio.sync();
		for (const name of ['', 'assets', 'assets?problem=1', 'assets?q=no-such-name', 'errors', 'jobs', 'jobs?result=failed', 'jobs?timeline=1', 'assets?view=gallery', 'search', 'search?q=chest', 'textures', 'materials', 'clips', 'features', 'folders', 'cache', 'clients', 'log', 'settings', 'api'])
			await t.test(name || 'overview', async () => {
				await go(name && `/ui/${name}`);
				await look(page, `full-${(name || 'overview').replace(/\W/g, '-')}`);
			});
	});

	test('an asset, each of its tabs', async (t) => {
		studio.save('dungeon/chest_gold.obj', Buffer.concat([model('dungeon/chest_gold.obj'), Buffer.from('v 9 9 9\nv 9 8 9\nv 8 9 9\nf -1 -2 -3\n')]));
		await studio.sync();
		for (const tab of ['files', 'settings', 'deps', 'history', 'why', 'log'])
			await t.test(tab, async () => {
				await go(`/ui/asset/art/dungeon/chest_gold.obj?tab=${tab}`);
				await drawn();
				await look(page, `asset-${tab}`);
			});
		for (const [name, path] of [['animated', 'simple/cube.glb'], ['long-name', Object.keys(files).at(-1)], ['noted', 'noted.obj?tab=why']])
			await t.test(name, async () => {
				await go(`/ui/asset/art/${path}`);
				await drawn();
				await look(page, `asset-${name}`);
			});
		await t.test('broken, never good', async () => {
			await go('/ui/asset/art/broken/third.gltf');
			await look(page, 'asset-failed');
		});
		await t.test('broken, the last good version is shown', async () => {
			studio.save('simple/spot.obj', 'nothing\n');
			await studio.sync();
			await go('/ui/asset/art/simple/spot.obj');
			await drawn();
			await look(page, 'asset-stale');
		});
	});

	test('what opens above or beside a page', async (t) => {
		await t.test('unsaved settings', async () => {
			await go('/ui/asset/art/dungeon/chest_gold.obj?tab=settings');
			await page.getByLabel('Merge instances').check();
			await look(page, 'unsaved');
			await page.getByRole('button', { name: 'Discard' }).click();
		});
		await t.test('a texture, level by level', async () => {
			await go('/ui/asset/art/dungeon/chest_gold.obj');
			await drawn();
			await page.locator('.viewer-textures .viewer-link').first().click();
			await page.locator('dialog.viewer-dialog[open]').waitFor();
			await look(page, 'dialog-texture');
		});
		await t.test('several selected, and a setting for all', async () => {
			await go('/ui/assets');
			await page.locator('.rows .row input[type=checkbox]').first().check();
			await page.getByRole('button', { name: 'Set…' }).click();
			await look(page, 'selected');
		});
		await t.test('the question before trimming', async () => {
			await go('/ui/cache');
			await page.getByRole('button', { name: 'Trim now' }).click();
			await page.getByText('There is nothing to trim').waitFor();
			/* Simulates a cache over its limit, which really happens only for moments. */
			await page.route('**/api/v1/jobs/*', (route) => route.fulfill({ json: { kind: 'gc', state: 'done', result: 'done', freed_bytes: 123456789 } }));
			await page.getByRole('button', { name: 'Trim now' }).click();
			await page.locator('dialog[open]').getByText('Trimming deletes 123').waitFor();
			await look(page, 'trim');
			await page.unroute('**/api/v1/jobs/*');
			await page.keyboard.press('Escape');
		});
		await t.test('the source beside the model, with wireframe and bounds', async () => {
			await go('/ui/asset/art/simple/cube.glb');
			await drawn();
			for (const name of ['Wireframe', 'Bounds']) await page.getByRole('button', { name, exact: true }).click();
			await page.getByRole('button', { name: 'Compare with source' }).click();
			await page.getByLabel('Split between source and cooked').waitFor();
			await look(page, 'split');
		});
		await t.test('an asset that is not there', async () => {
			await go('/ui/asset/art/nowhere/nothing.glb');
			await look(page, 'no-asset');
		});
		await t.test('long work, and folders that are polled or missing', async () => {
			await page.route('**/api/v1/stats', async (route) => {
				const stats = await (await route.fetch()).json();
				await route.fulfill({ json: { ...stats, errors: 3, queue: { ...stats.queue, length: 27604, eta_ms: 240000 },
					progress: { ...stats.progress, began_at: '2026-01-01T00:00:00Z', ended_at: null, done: 22396, left: 27604, per_minute: 6901, failed: 3 } } });
			});
			await page.route('**/api/v1/roots', async (route) => {
				const { items: [root] } = await (await route.fetch()).json();
				await route.fulfill({ json: { items: [root, { ...root, name: 'far', mode: 'polling', note: 'NFS', poll_ms: 2000 },
					{ ...root, name: 'away', mode: 'missing', note: 'the folder is not there', missing_since: '2026-01-01T00:00:00Z' }] } });
			});
			for (const name of ['', 'assets']) {
				await go(name && `/ui/${name}`);
				await page.locator('section.work').getByText('22,396 of 50,000').waitFor();
				if (!name) await page.getByText('is polled every 2 seconds').waitFor();
				await look(page, `long-work-${name || 'overview'}`);
			}
			await page.unroute('**/api/v1/stats');
			await page.unroute('**/api/v1/roots');
		});
		await t.test('the menu of a phone', async () => {
			await go('/');
			await page.setViewportSize({ width: 390, height: 844 });
			await page.getByRole('button', { name: 'Menu' }).click();
			await look(page, 'menu');
		});
		await t.test('while nobody answers', async () => {
			await go('/ui/jobs');
			studio.mayComplain = true;
			await studio.stopDaemon();
			await page.getByText('Reconnecting').waitFor();
			await look(page, 'offline');
			await studio.startDaemon();
			await page.locator('.live.on').waitFor();
		});
	});

	test('while the upstream cache is unreachable', async () => {
		const alone = await openStudio({ 'spot.obj': model('simple/spot.obj') }, { options: ['--upstream', 'http://127.0.0.1:1'] });
		try {
			await alone.sync();
			const below = await alone.newPage('/');
			await below.getByText(/The upstream cache is unreachable/).waitFor();
			await look(below, 'away-overview');
			await below.goto(`${alone.origin}/ui/cache`);
			await below.getByText('Unreachable or failing; everything is cooked here').waitFor();
			await look(below, 'away-cache');
		} finally {
			await alone.close();
		}
	});

	test('signing in', async () => {
		const folder = mkdtempSync(join(tmpdir(), 'hob-tokens-'));
		const file = join(folder, 'tokens');
		const token = execFileSync(hob, ['token', 'create', 'writer', '--write', '--token-file', file], { encoding: 'utf8' }).trim();
		const guarded = await openStudio({ 'spot.obj': model('simple/spot.obj') }, { options: ['--token-file', file], token });
		try {
			const door = await guarded.newPage('/');
			await door.getByLabel('Access token').waitFor();
			await look(door, 'sign-in');
			await door.getByLabel('Access token').fill('wrong');
			await door.getByRole('button', { name: 'Sign in' }).click();
			await door.getByText('This token is not valid').waitFor();
			await look(door, 'sign-in-wrong');
		} finally {
			await guarded.close();
			rmSync(folder, { recursive: true, force: true });
		}
	});
});

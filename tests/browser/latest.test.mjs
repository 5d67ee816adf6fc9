/* The latest changes on the overview: the planted changes of tests/integration/test_history.py, saved one after another. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { missing, project, withoutDashboard } from './bench.mjs';
import { assertAccessible, objText, openStudio, waitForClipboard } from './studio.mjs';

const makeAll = `import base64, json, sys; sys.path.insert(0, ${JSON.stringify(join(project, 'tests/integration'))}); import robot, hobtest, test_history
made = {**robot.model(), "weight": 0.5}
saves = [{"text": robot.text(made), "tone": "note", "words": "It is new"}]
for change, tone, words in test_history.PLANTED.values():
	change(made)
	saves.append({"text": robot.text(made), "tone": tone, "words": words})
pictures = {name: base64.b64encode(hobtest.png(*colour)).decode() for name, colour in (("color.png", (200, 40, 40)), ("normal.png", (128, 128, 255)))}
json.dump({"saves": saves, "pictures": pictures, "budget": test_history.BUDGET}, sys.stdout)`;

describe('the latest changes', { skip: missing() ?? withoutDashboard() ?? false }, () => {
	const { saves, pictures, budget } = JSON.parse(execFileSync('python3', ['-c', makeAll], { maxBuffer: 1 << 27 }));
	let studio;
	let page;
	const panel = () => page.getByRole('region', { name: 'Latest changes' });
	const rows = () => panel().locator('li');
	/* Asked for with each frame: a locator would look again after half a second. */
	const newest = (tone, words) => page.waitForFunction(([is, says]) => {
		const row = document.querySelector('.latest li');
		return row?.dataset.tone === is && row.textContent.toLowerCase().includes(says.toLowerCase());
	}, [tone, words]);
	before(async () => {
		studio = await openStudio({});
		page = await studio.newPage('/');
	});
	after(() => studio.close());

	test('nothing yet', async () => {
		await panel().getByText('Nothing has changed yet.').waitFor();
		await page.getByRole('button', { name: 'Copy path' }).click();
		await waitForClipboard(page, /\/art$/);
		await page.goto(`${studio.origin}/ui/errors`);
		await page.getByText('There are no models yet.').waitFor();
		assert.equal(await page.getByText('Every asset is cooked.').count(), 0);
		await page.goBack();
		await panel().getByRole('button', { name: 'Worse only' }).click();
		await panel().getByText('Nothing of that kind.').waitFor();
		assert.match(page.url(), /worse=1/);
		await panel().getByRole('button', { name: 'Worse only' }).click();
		await assertAccessible(page);
	});

	test('each save is there by itself, with its words, its pictures and a link', async (context) => {
		for (const [name, data] of Object.entries(pictures)) studio.save(name, Buffer.from(data, 'base64'));
		const took = [];
		const stands = async (save, tone, words) => {
			save();
			const began = performance.now();
			await newest(tone, words);
			took.push(Math.round(performance.now() - began));
		};
		for (const { text, tone, words } of saves) await stands(() => studio.save('robot.gltf', text), tone, words);
		await stands(() => studio.save('robot.gltf.cook.json', budget), 'warn', 'The rule mesh.triangles is broken');
		await page.locator('a.count', { hasText: 'With warnings' }).filter({ hasText: '1' }).waitFor();
		await stands(() => rmSync(join(studio.art, 'color.png')), 'bad', 'a checkerboard replaces it');
		context.diagnostic(`a save stands on the overview after ${took.join(', ')} ms`);
		studio.save('robot.gltf', '{');
		await newest('bad', 'JSON: the text ends early');
		studio.save('robot.gltf', saves.at(-1).text);
		await newest('good', 'It can be cooked again');
		await panel().locator('.shot').first().waitFor();
		await assertAccessible(page);
	});

	test('filters stand apart, and rows in line whether they have a picture or not', async () => {
		for (const width of [1280, 390]) {
			await page.setViewportSize({ width, height: 900 });
			const buttons = await panel().locator('.filters button').evaluateAll((found) => found.map((each) => each.getBoundingClientRect().toJSON()));
			for (const [at, { left, top }] of buttons.slice(1).entries()) assert.ok(left - buttons[at].right >= 4 || top - buttons[at].bottom >= 4, `${width}`);
			const places = await rows().evaluateAll((found) => found.map((row) => [row.querySelector('.pair > *')?.getBoundingClientRect().left, row.querySelector('.name').getBoundingClientRect().left].map(Math.round).join()));
			assert.equal(places.length, 8);
			assert.deepEqual([...new Set(places)], [places[0]], `${width}`);
		}
		await page.setViewportSize({ width: 1280, height: 900 });
	});

	test('what became worse, and more', async () => {
		await panel().getByRole('button', { name: 'Show more' }).click();
		await page.waitForFunction((count) => document.querySelectorAll('.latest li').length === count, saves.length + 4);
		await panel().getByRole('button', { name: 'Worse only' }).click();
		const worse = (await studio.get('/api/v1/history?worse=1')).items;
		await page.waitForFunction((count) => document.querySelectorAll('.latest li').length === count, worse.length);
		assert.deepEqual(await rows().evaluateAll((found) => found.map(({ dataset }) => dataset.tone)), worse.map(({ tone }) => tone));
		await panel().getByRole('button', { name: 'Since yesterday' }).click();
		await rows().filter({ hasText: "Clip 'Wave' is gone" }).getByRole('link', { name: 'Compare' }).click();
		await page.getByRole('region', { name: 'Compare two cooks' }).getByText("clip 'Wave' is gone").waitFor();
		await page.goBack();
		await rows().filter({ hasText: "Clip 'Wave' is gone" }).waitFor();
		await panel().getByRole('button', { name: 'Worse only' }).click();
		assert.deepEqual(studio.complaints, []);
	});

	test('since the last commit, where there is a Git folder', async () => {
		const commit = panel().getByRole('button', { name: 'Since commit' });
		const log = (seconds) => studio.save('.git/logs/HEAD', `${'0'.repeat(40)} ${'1'.repeat(40)} Ann <ann@example.org> ${seconds} +0100\tcommit: One\n`);
		await page.goto(studio.origin);
		await rows().first().waitFor();
		assert.equal(await commit.count(), 0);
		log(4102444800);
		await page.reload();
		await commit.click();
		await panel().getByText('Nothing of that kind.').waitFor();
		assert.match(page.url(), /commit=1/);
		log(1000);
		await page.reload();
		await rows().first().waitFor();
		await assertAccessible(page);
		await commit.click();
		rmSync(join(studio.art, '.git'), { recursive: true });
	});

	test('each save asks once for the changes and once for the counts', async () => {
		await page.goto(studio.origin);
		await rows().first().waitFor();
		await page.evaluate(() => new Promise((ready) => {
			globalThis.told = 0;
			const stream = new EventSource('/api/v1/events?kinds=asset');
			stream.addEventListener('hello', ready);
			stream.addEventListener('asset', () => globalThis.told++);
		}));
		studio.save('gone.obj', objText(2));
		await newest('note', 'It is new');
		await page.locator('a.count.wide', { hasText: '2' }).waitFor();
		const asked = {};
		page.on('request', (request) => {
			const [path] = request.url().slice(studio.origin.length).split('?');
			if (path.startsWith('/api/') && !/thumbnail|picture/.test(path)) asked[path] = (asked[path] ?? 0) + 1;
		});
		const steps = [[objText(4), 'warn', 'triangles'], ['f 1 2 3\n', 'bad', 'art/'], [objText(4), 'good', 'It can be cooked again'],
			[objText(6), 'warn', 'triangles'], [null, 'note', 'Removed']];
		for (const [text, tone, words] of steps) {
			if (text) studio.save('gone.obj', text);
			else rmSync(join(studio.art, 'gone.obj'));
			await newest(tone, words);
		}
		assert.equal(await page.evaluate(() => globalThis.told), steps.length + 1);
		assert.equal(asked['/api/v1/history'], steps.length, JSON.stringify(asked));
		assert.ok(Object.values(asked).reduce((sum, count) => sum + count) <= 2 * steps.length, JSON.stringify(asked));
		/* A picture may be asked for as its asset goes: 404. */
		assert.deepEqual(studio.complaints.filter((text) => !text.includes('/compare/picture')), []);
	});
});

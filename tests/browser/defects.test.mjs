/* Defects that people found in the dashboard and that belong to no other test; README.md lists them. */
import assert from 'node:assert/strict';
import { cpSync, existsSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { text } from '../../web/app/text.js';
import { hob, missing, patience, project, scaledGlb, withoutDashboard } from './bench.mjs';
import { assertAccessible, objText, openStudio, waitForClipboard } from './studio.mjs';

const model = (path) => readFileSync(join(project, 'tests/data/models', path));
const box = model('simple/BoxVertexColors.glb');
const COUNT = 160;
/* A cross of five points, as a glTF. */
const cross = [0, 0, 0, 1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1, 0];
const points = JSON.stringify({
	asset: { version: '2.0' }, scene: 0, scenes: [{ nodes: [0] }], nodes: [{ mesh: 0 }],
	meshes: [{ primitives: [{ mode: 0, attributes: { POSITION: 0 } }] }],
	accessors: [{ bufferView: 0, componentType: 5126, count: 5, type: 'VEC3', min: [-1, -1, 0], max: [1, 1, 0] }],
	bufferViews: [{ buffer: 0, byteLength: 60 }],
	buffers: [{ byteLength: 60, uri: `data:application/octet-stream;base64,${Buffer.from(new Float32Array(cross).buffer).toString('base64')}` }],
});
const files = {
	'points.gltf': points, 'box.glb': box,
	'chest/chest.obj': model('dungeon/chest_gold.obj'), 'chest/chest_gold.mtl': model('dungeon/chest_gold.mtl'),
	'chest/dungeon_texture.png': model('dungeon/dungeon_texture.png'),
	...Object.fromEntries(Array.from({ length: COUNT }, (_, i) => [`many/${String(i).padStart(3, '0')}.obj`, objText(1 + (i % 9), i)])),
};

test('every word that the interface uses has words for people', () => {
	const { components: { schemas } } = JSON.parse(readFileSync(join(project, 'schema/openapi.json')));
	const numbers = [...readFileSync(join(project, 'schema/numbers.def'), 'utf8').matchAll(/^NUMBER\("(\w+)"/gm)].map(([, name]) => name);
	assert.ok(numbers.length > 30);
	for (const name of numbers) assert.ok(text.compare.numbers[name], `the number ${name} of a comparison`);
	for (const state of schemas.Standing.enum) assert.ok(text.states[state] && text.stateMeaning[state], `the state ${state}`);
	for (const kind of schemas.Job.properties.kind.enum) assert.ok(kind === 'cook' || text.jobs.kinds[kind], `jobs of the kind ${kind}`);
});

describe('defects', { skip: missing() ?? withoutDashboard() ?? false }, () => {
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
		await page.locator('h1').first().waitFor();
	};
	const shown = (name) => page.waitForFunction((wanted) => {
		const found = document.querySelector('.viewer-root')?.parentElement.viewer;
		return found?.asset.path === wanted && found.levels && found.stage.took !== undefined;
	}, name);
	const viewer = (act, given) => page.evaluate(`(${act})(document.querySelector('.viewer-root').parentElement.viewer, ${JSON.stringify(given ?? null)})`);

	test('long work is told on every page and in its title, and all numbers of it are one', async () => {
		const other = await studio.newPage('/');
		await other.route('**/api/v1/stats*', async (route) => {
			const answer = await route.fetch();
			const stats = await answer.json();
			const work = { ...stats, errors: 3, progress: { ...stats.progress, began_at: '2026-01-01T00:00:00Z', ended_at: null, done: 22396, left: 27604, per_minute: 6901, failed: 7 /* four of them have been repaired since */ },
				queue: { ...stats.queue, length: 27604, eta_ms: 240000 } };
			await route.fulfill({ response: answer, json: work });
		});
		await other.route('**/api/v1/jobs?limit=3&state=cooking', async (route) => route.fulfill({ json: { items: [{ id: 1, asset: 'art/many/007.obj', state: 'cooking' }] } }));
		for (const name of ['', 'assets', 'errors', 'jobs', 'cache', 'clients', 'log', 'settings', 'api', 'asset/art/box.glb']) {
			await other.goto(`${studio.origin}${name && `/ui/${name}`}`);
			const work = other.locator('section.work');
			await work.getByText('007.obj').waitFor();
			assert.match((await work.innerText()).replace(/\s+/g, ' '), /22,396 of 50,000.*6,901.*4 min.*3 failed.*007\.obj/, name);
			await other.waitForFunction(() => /^\(45 % · 3 ✕\)/.test(document.title.replaceAll('\u00a0', ' ')));
			assert.equal(await other.getByRole('navigation', { name: 'Pages' }).getByTitle(text.overview.working).innerText(), '27,604');
		}
		await other.close();
	});

	test('what is cooked while the page is open was never cooked in the future', async () => {
		const alone = await studio.newPage('/ui/nowhere');
		/* The page believes that it began a minute ago, and its clock does not advance. */
		await alone.addInitScript(() => {
			const { now } = Date;
			Date.now = () => now() - (globalThis.later ? 0 : 60000);
			globalThis.setInterval = () => 0;
		});
		await alone.goto(`${studio.origin}/ui/assets?q=box.glb`);
		const when = alone.locator('.rows .row').filter({ hasText: 'box.glb' }).locator('time');
		const before = await when.getAttribute('datetime');
		await alone.evaluate(() => (globalThis.later = true));
		studio.save('box.glb', Buffer.concat([box]));
		const { id } = (await studio.get('/api/v1/assets?path=art/box.glb')).items[0];
		await fetch(`${studio.origin}/api/v1/assets/${id}/cook`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"force": true}' });
		await alone.waitForFunction((old) => document.querySelector('.rows time').dateTime !== old, before);
		assert.doesNotMatch(await when.innerText(), /^in /);
		await alone.close();
	});

	test('work that takes longer than estimated says so', async () => {
		const alone = await studio.newPage('/ui/nowhere');
		await alone.clock.install({ time: new Date() });
		await alone.route('**/api/v1/stats*', async (route) => {
			const answer = await route.fetch();
			const stats = await answer.json();
			await route.fulfill({ response: answer, json: { ...stats, progress: { ...stats.progress, began_at: '2026-01-01T00:00:00Z', ended_at: null, done: 299, left: 1, per_minute: 900, failed: 0 },
				queue: { ...stats.queue, eta_ms: 800 } } });
		});
		await alone.goto(`${studio.origin}/ui/assets`);
		const work = alone.locator('section.work');
		await work.getByText('about 1 s left').waitFor();
		await alone.clock.runFor(9000);
		await work.getByText('takes longer than estimated').waitFor();
		assert.equal(await work.getByText('left').count(), 0);
		await alone.close();
	});

	test('who comes back from an asset finds the list where it was left, with its focus', async () => {
		await go('/ui/assets?q=many');
		const place = page.locator('.rows');
		await page.locator('.rows .row .title').first().waitFor();
		await place.evaluate((element) => (element.scrollTop = 48 * 120 + 7));
		const title = page.locator('.rows .row', { hasText: '123.obj' }).locator('.title');
		const { y } = await title.boundingBox();
		await title.click();
		await page.getByRole('heading', { name: '123.obj', level: 1 }).waitFor();
		await page.goBack();
		await title.waitFor();
		await page.waitForFunction(() => document.activeElement.textContent.includes('123.obj'));
		assert.equal((await title.boundingBox()).y, y);
		await page.keyboard.press('ArrowDown');
		await page.waitForFunction(() => document.activeElement.textContent.includes('124.obj'));
		await page.getByRole('link', { name: 'Assets', exact: true }).click();
		await page.locator('.rows .row', { hasText: 'box.glb' }).waitFor();
		assert.equal(await place.evaluate((element) => element.scrollTop), 0, 'a link leads to the beginning');
	});

	test('points are seen', async () => {
		await go('/ui/asset/art/points.gltf');
		await shown('points.gltf');
		const dots = await viewer((v) => {
			const one = new Image();
			one.src = v.capture('cooked', 200);
			return one.decode().then(() => {
				const paper = new OffscreenCanvas(200, 200).getContext('2d');
				paper.drawImage(one, 0, 0);
				const { data } = paper.getImageData(0, 0, 200, 200);
				const ground = data.slice(0, 3);
				let count = 0;
				for (let at = 0; at < data.length; at += 4) count += [0, 1, 2].some((k) => Math.abs(data[at + k] - ground[k]) > 60);
				return count;
			});
		});
		assert.ok(dots >= 5 * 9, `${dots} pixels of five points`);
	});

	test('a save that makes a model a hundred times as large is framed anew', async () => {
		await go('/ui/asset/art/box.glb');
		await shown('box.glb');
		const size = () => viewer((v) => v.box.max.distanceTo(v.box.min));
		const was = await size();
		studio.save('box.glb', scaledGlb(box, [100, 100, 100]));
		await page.waitForFunction((from) => {
			const { box: now } = document.querySelector('.viewer-root').parentElement.viewer;
			return now.max.distanceTo(now.min) > 50 * from;
		}, was);
		const reach = await viewer((v) => {
			v.stage.draw();
			let most = 0;
			for (const x of ['min', 'max']) for (const y of ['min', 'max']) for (const z of ['min', 'max']) {
				const corner = v.box.min.clone().set(v.box[x].x, v.box[y].y, v.box[z].z).project(v.stage.camera);
				most = Math.max(most, Math.abs(corner.x), Math.abs(corner.y));
			}
			return most;
		});
		assert.ok(reach > 0.6 && reach <= 1, `${reach} of the view`);
	});

	test('what a model costs is told, and P saves a picture of it', async () => {
		await go('/ui/asset/art/chest/chest.obj');
		await shown('chest/chest.obj');
		const panel = page.locator('.viewer-panel, .viewer-root').first();
		for (const label of ['Frame time', 'Draw calls', 'Triangles drawn', 'GPU memory']) await panel.getByText(label, { exact: true }).waitFor();
		await page.waitForFunction(() => /Frame time\s*[\d.]+\sms/.test(document.querySelector('.viewer-root').innerText));
		await page.locator('.viewer-canvas').focus();
		const [download] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('p')]);
		assert.equal(download.suggestedFilename(), 'chest.obj.png');
		assert.equal(readFileSync(await download.path()).subarray(1, 4).toString(), 'PNG');
	});

	test('no connection is listed twice', async () => {
		await go('/ui/asset/art/chest/chest.obj?tab=deps');
		for (const id of ['deps-out', 'drawn']) await page.locator(`#${id}`).waitFor();
		const names = await page.locator('section', { has: page.locator('#deps-out') }).locator('li .name').allInnerTexts();
		assert.deepEqual(names.map((name) => name.trim()).sort(), ['chest/chest_gold.mtl', 'chest/dungeon_texture.png']);
		const nodes = await page.locator('.connections .node, .connections button').allInnerTexts();
		assert.equal(new Set(nodes).size, nodes.length, nodes.join());
	});

	test('history has one clock, in the zone of the browser, and prints without what is for the screen', async () => {
		const context = await page.context().browser().newContext({ timezoneId: 'Asia/Tokyo', locale: 'en-GB', viewport: { width: 1280, height: 900 } });
		context.setDefaultTimeout(patience);
		const far = await context.newPage();
		studio.save('many/000.obj', objText(50));
		await studio.sync();
		await far.goto(`${studio.origin}/ui/asset/art/many/000.obj?tab=history`);
		await far.getByRole('heading', { name: 'All cooks' }).waitFor();
		await far.locator('.pickers option').first().waitFor({ state: 'attached' });
		const times = [...await far.locator('table time').allInnerTexts(), ...await far.locator('.pickers select').evaluateAll((all) => all.map(({ title }) => title))];
		assert.ok(times.length >= 4);
		for (const time of times) assert.match(time, /GMT\+9/);
		await far.emulateMedia({ media: 'print', colorScheme: 'dark' });
		assert.ok(await far.getByRole('heading', { name: 'All cooks' }).isVisible());
		assert.ok(!(await far.locator('#nav').isVisible()));
		assert.equal(await far.evaluate(() => getComputedStyle(document.documentElement).colorScheme), 'light');
		await context.close();
	});

	/* The colours of a picture's pixels that are not the ground's, one row per pixel. */
	const coloursOf = (url) => page.evaluate(async (address) => {
		const image = new Image();
		image.src = address;
		await image.decode();
		const context = Object.assign(document.createElement('canvas'), { width: image.width, height: image.height }).getContext('2d');
		context.drawImage(image, 0, 0);
		const { data } = context.getImageData(0, 0, image.width, image.height);
		const found = [];
		for (let at = 0; at < data.length; at += 4)
			if (data[at + 3] === 255 && [0, 1, 2].some((k) => Math.abs(data[at + k] - data[k]) >= 3)) found.push([...data.subarray(at, at + 3)]);
		return found;
	}, url);
	const mean = async (url) => {
		const colours = await coloursOf(url);
		return [0, 1, 2].map((k) => colours.reduce((sum, colour) => sum + colour[k], 0) / colours.length);
	};

	test('the sides of a white box are told apart in the view', async () => {
		studio.save('white.obj', 'v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\nv 1 0 1\nv 1 1 1\nv 0 1 1\n'
			+ 'f 1 4 3 2\nf 5 6 7 8\nf 1 2 6 5\nf 4 8 7 3\nf 1 5 8 4\nf 2 3 7 6\n');
		await studio.sync();
		await go('/ui/asset/art/white.obj');
		await shown('white.obj');
		const reds = (await coloursOf(await viewer((v) => v.capture('cooked', 256)))).map(([red]) => red).sort((p, q) => p - q);
		const [dark, light] = [0.1, 0.9].map((share) => reds[Math.floor(reds.length * share)]);
		assert.ok(light - dark > 25, `${dark} to ${light}`);
		rmSync(join(studio.art, 'white.obj'));
		await studio.sync();
	});

	test('the small picture of an asset has the colours of its view', { skip: !existsSync(join(dirname(hob), 'hob-thumbnail')) }, async () => {
		for (const name of ['box.glb', 'chest/chest.obj']) {
			await go(`/ui/asset/art/${name}`);
			await shown(name);
			const { id } = (await studio.get(`/api/v1/assets?path=art/${name}`)).items[0];
			const small = `/api/v1/assets/${id}/thumbnail?size=256`;
			for (const end = Date.now() + patience; (await fetch(studio.origin + small)).headers.get('content-type') !== 'image/png';) assert.ok(Date.now() < end, 'no picture');
			const [thumb, view] = [await mean(small), await mean(await viewer((v) => v.capture('cooked', 256)))];
			assert.ok(thumb.every((value, k) => Math.abs(value - view[k]) < 12), `${name}: ${thumb.map(Math.round)} in the list, ${view.map(Math.round)} in the view`);
		}
	});

	test('words that need it are explained where they stand', async () => {
		await go('/ui/assets?q=chest');
		const state = page.locator('.rows .row .state').first();
		await state.waitFor();
		assert.equal(await state.getAttribute('title'), text.stateMeaning.fresh);
		assert.ok(text.stateMeaning.fresh.length > 20);
	});

	test('a connection that comes and goes is told once, and no more when it is back', async () => {
		await go('/ui/jobs');
		await page.locator('.live.on').waitFor();
		studio.mayComplain = true;
		for (let time = 0; time < 2; time++) {
			await studio.stopDaemon();
			await page.locator('.live.off', { hasText: 'Reconnecting' }).waitFor();
			assert.equal(await page.getByText('Reconnecting').count(), 1);
			assert.ok(await page.locator('[role=alert]').count() <= 1);
			await page.setViewportSize({ width: time ? 1280 : 390, height: 900 });
			await page.locator('.live.off small', { hasText: /^as of \d/ }).waitFor();
			assert.ok(await page.evaluate(() => document.scrollingElement.scrollWidth <= innerWidth));
			const panel = page.locator('.panel').first();
			assert.match(await panel.evaluate((each) => getComputedStyle(each).filter), /grayscale/, 'what is past is grey');
			await studio.startDaemon();
			await page.locator('.live.on').waitFor();
			await page.waitForFunction(() => !document.querySelector('[role=alert]'));
			assert.equal(await page.getByText('Reconnecting').count(), 0);
			assert.equal(await panel.evaluate((each) => getComputedStyle(each).filter), 'none');
		}
		studio.mayComplain = false;
		await assertAccessible(page);
	});

	test('every page says where a file belongs that is dropped beside a picture', async () => {
		const drop = (place, names = ['mine.glb']) => page.evaluate(([at, all]) => {
			const dataTransfer = new DataTransfer();
			for (const name of all) dataTransfer.items.add(new File(['x'], name));
			return ['dragover', 'drop'].map((kind) => document.querySelector(at)
				.dispatchEvent(new DragEvent(kind, { dataTransfer, bubbles: true, cancelable: true })));
		}, [place, names]);
		for (const path of ['/', '/ui/assets', '/ui/jobs']) {
			await go(path);
			assert.deepEqual(await drop('main'), [false, false], 'the browser does not leave for the file');
			const told = page.locator('.dropped');
			await told.getByText('Not taken: mine.glb').waitFor();
			await told.getByText(studio.art, { exact: true }).waitFor();
			await told.getByRole('button', { name: 'Copy path' }).click();
			await waitForClipboard(page, new RegExp(`^${studio.art}$`));
			if (path === '/') await assertAccessible(page);
			await told.getByRole('button', { name: 'Close' }).click();
			assert.equal(await told.count(), 0);
		}
		await drop('main', Array.from({ length: 900 }, (_, i) => `${i}.png`));
		await page.getByText('Not taken: 0.png, 1.png, 2.png, 3.png, 4.png and 895 more').waitFor();
	});

	test('what could not be asked for once is asked for again', async () => {
		await go('/ui/cache');
		await page.locator('.live.on').waitFor();
		studio.mayComplain = true;
		await page.route('**/api/v1/jobs?limit=1000', (route) => route.abort(), { times: 1 });
		await page.getByRole('link', { name: 'Jobs', exact: true }).click();
		await page.getByText(text.offlineTitle).waitFor();
		await page.getByRole('heading', { name: text.jobs.done, exact: true }).waitFor();
		await page.route('**/api/v1/assets?**', (route) => route.abort(), { times: 1 });
		await page.getByRole('link', { name: 'Assets', exact: true }).click();
		await page.getByText(text.offlineTitle).waitFor();
		await page.locator('.rows .row .title').first().waitFor();
		assert.equal(await page.getByText(text.offlineTitle).count(), 0);
		await page.unroute('**/api/v1/assets?**');
		studio.mayComplain = false;
	});

	test('a daemon that brings another page offers to load it, and one with the same page does not', async () => {
		await go('/ui/jobs');
		await page.locator('.live.on').waitFor();
		const offer = page.getByRole('button', { name: text.reloadPage });
		studio.mayComplain = true;
		const asked = page.waitForResponse(`${studio.origin}/`);
		await studio.stopDaemon();
		await studio.startDaemon();
		await (await asked).finished();
		await page.locator('.live.on').waitFor();
		assert.equal(await offer.count(), 0);
		const web = join(studio.folder, 'web');
		cpSync(process.env.HOB_WEB_ROOT ?? join(dirname(hob), 'web/dist'), web, { recursive: true });
		const main = readdirSync(web).find((name) => /^main-.*[.]js$/.test(name));
		renameSync(join(web, main), join(web, 'main-NEW.js'));
		writeFileSync(join(web, 'index.html'), readFileSync(join(web, 'index.html'), 'utf8').replaceAll(main, 'main-NEW.js'));
		await studio.stopDaemon();
		await studio.startDaemon(['--web-root', web]);
		await offer.waitFor();
		await assertAccessible(page);
		await offer.click();
		await page.locator('script[src="/web/main-NEW.js"]').waitFor({ state: 'attached' });
		await page.locator('.live.on').waitFor();
		assert.equal(await offer.count(), 0);
		await studio.stopDaemon();
		await studio.startDaemon();
		await offer.waitFor();
		studio.mayComplain = false;
	});

	test('the page of an asset follows its file to another name', async () => {
		await go('/ui/asset/art/box.glb?tab=why');
		await shown('box.glb');
		renameSync(join(studio.art, 'box.glb'), join(studio.art, 'many/crate.glb'));
		await page.waitForURL(`${studio.origin}/ui/asset/art/many/crate.glb?tab=why`);
		await page.getByRole('heading', { name: 'crate.glb', level: 1 }).waitFor();
		await shown('many/crate.glb');
		assert.equal(await page.locator('.viewer-alert:visible').count(), 0);
		await page.getByText('Asset not found').waitFor({ state: 'hidden' });
		await page.goto(`${studio.origin}/ui/asset/art/box.glb`);
		await page.waitForURL(`${studio.origin}/ui/asset/art/many/crate.glb`);
		renameSync(join(studio.art, 'many/crate.glb'), join(studio.art, 'box.glb'));
		await page.waitForURL(`${studio.origin}/ui/asset/art/box.glb`);
	});

	test('nothing was complained about on the console', () => assert.deepEqual(studio.complaints, []));
});

/* The JavaScript client: its sample page in a browser with a real daemon, and the same client in Node. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { here, launchBrowser, missing, patience, project, startServer } from './bench.mjs';
import { objText, openStudio } from './studio.mjs';

const { HobClient } = await import(pathToFileURL(join(project, 'web/client/hob.js')));
const { EventParser } = await import(pathToFileURL(join(project, 'web/client/hob-events.js')));

/** Separate grids; in the grid number `moved` one vertex is higher. */
function gridsText(count, moved = -1, side = 14) {
	const lines = [];
	for (let m = 0; m < count; m++) {
		lines.push(`o part${m}`);
		for (let y = 0; y < side; y++)
			for (let x = 0; x < side; x++) lines.push(`v ${m * 30 + x} ${y} ${((x * 7 + y * 3 + m) % 11) / 40 + (m === moved && x === 5 && y === 5 ? 0.25 : 0)}`);
		for (let y = 0; y + 1 < side; y++)
			for (let x = 0; x + 1 < side; x++) {
				const a = m * side * side + y * side + x + 1;
				lines.push(`f ${a} ${a + 1} ${a + side + 1} ${a + side}`);
			}
	}
	return `${lines.join('\n')}\n`;
}

/* A proxy that changes one byte of each blob while `flips` is set. */
function startLiar(origin) {
	const state = { flips: true };
	const server = createServer(async (from, to) => {
		const answer = await fetch(origin() + from.url, { method: from.method, headers: from.headers.range ? { range: from.headers.range } : {} });
		const body = Buffer.from(await answer.arrayBuffer());
		if (state.flips && body.length) body[body.length >> 1] ^= 1;
		const kept = ['etag', 'content-range', 'cook-rev', 'cook-state'].map((name) => [name, answer.headers.get(name)]).filter(([, value]) => value);
		to.writeHead(answer.status, Object.fromEntries(kept));
		to.end(body);
	});
	return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(Object.assign(state, { server, url: `http://127.0.0.1:${server.address().port}` }))));
}

test('events come out the same in whatever pieces they come in', () => {
	const text = ': hello\nretry: 1000\nid: e.1\nevent: asset\ndata: {"a":\r\ndata: 1}\r\n\r\nid: e.2\ndata:x\n\nevent: lonely\n\n';
	const wanted = [{ kind: 'asset', id: 'e.1', data: '{"a":\n1}' }, { kind: 'message', id: 'e.2', data: 'x' }];
	for (let size = 1; size <= text.length; size++) {
		const parser = new EventParser();
		const found = [];
		for (let at = 0; at < text.length; at += size) parser.feed(text.slice(at, at + size), (event) => found.push(event));
		assert.deepEqual(found, wanted, `in pieces of ${size}`);
	}
});

describe('the JavaScript client', { skip: missing() ?? false }, () => {
	let studio, server, page, browser, viewer;
	before(async () => {
		server = await startServer({ client: join(project, 'web/client'), node_modules: join(here, 'node_modules') }, 0);
		const origin = `http://127.0.0.1:${server.address().port}`;
		studio = await openStudio({ 'cook.json': '{"lods":{"max":1},"meshlets":false}', 'a.obj': objText(3), 'grids.obj': gridsText(50) }, { options: ['--cors-origin', origin, '--live'] });
		await studio.sync();
		browser = await launchBrowser();
		viewer = async (asset, context) => {
			const opened = await context.newPage();
			opened.setDefaultTimeout(patience);
			opened.thrown = [];
			opened.on('pageerror', (error) => opened.thrown.push(error.message));
			// The sample imports three from npm's folder.
			await opened.route('**/client/node_modules/**', (route) => route.fulfill({ path: join(here, new URL(route.request().url()).pathname.slice('/client/'.length)) }));
			await opened.goto(`${origin}/client/examples/viewer.html?daemon=${studio.origin}&asset=${asset}`);
			await says(opened, /^rev \d+:/);
			return opened;
		};
		page = await viewer('art/grids.obj', await browser.newContext({ viewport: { width: 320, height: 240 } }));
	});
	after(async () => {
		await browser?.close();
		server?.closeAllConnections();
		server?.close();
		await studio?.close();
	});

	const says = async (where, pattern) => {
		await where.waitForFunction((text) => new RegExp(text).test(document.querySelector('#says').textContent), pattern.source);
		return where.textContent('#says');
	};
	const overlay = (where) => where.evaluate(() => {
		const found = document.querySelector('hob-overlay');
		return found && !found.hidden ? found.shadowRoot.querySelector('ul').innerText : '';
	});
	const overlayIs = (where, pattern) => where.waitForFunction((text) => {
		const found = document.querySelector('hob-overlay');
		return new RegExp(text).test(found && !found.hidden ? found.shadowRoot.querySelector('ul').innerText : '');
	}, pattern.source);

	/* Saves, waits until the page shows the result, and returns the page's text. */
	const shows = async (where, path, text) => {
		if (text) studio.save(path, text);
		await studio.sync();
		const { items: [{ rev, quality, state }] } = await studio.get(`/api/v1/assets?path=art/${path}&fields=rev,quality,state`);
		assert.deepEqual([state, quality], ['fresh', 'final']);
		return says(where, new RegExp(`^rev ${rev}:`));
	};

	test('sample: a save is on screen, and only what changed was fetched', async () => {
		const [, fetched, whole] = /: (\d+) of (\d+)/.exec(await shows(page, 'grids.obj', gridsText(50, 40))).map(Number);
		console.log(`one mesh of 50 moved: ${fetched} of ${whole} bytes fetched`);
		assert.ok(fetched < whole / 10, `${fetched} of ${whole} bytes were fetched`);
	});

	test('sample: what fails is told on the page, and gone with the next good save', async () => {
		const shown = await page.textContent('#says');
		studio.save('grids.obj', 'v 1\nf 1 2 3\n');
		await overlayIs(page, /grids\.obj/);
		assert.match(await overlay(page), /^art\/grids\.obj\s+the OBJ file holds no usable face.*\s+export again/);
		assert.equal(await page.textContent('#says'), shown);
		await shows(page, 'grids.obj', gridsText(50, 41));
		assert.equal(await overlay(page), '');
	});

	test('sample: it goes on after the daemon was away, with what was saved meanwhile', async () => {
		await studio.stopDaemon();
		studio.save('grids.obj', gridsText(50, 42));
		await studio.startDaemon();
		await shows(page, 'grids.obj');
		await shows(page, 'grids.obj', gridsText(50, 43));
	});

	test('sample: a flipped byte is refused, the last good version stays', async () => {
		await page.route(/\/blobs\//, async (route) => {
			const answer = await route.fetch();
			const body = await answer.body();
			body[body.length >> 1] ^= 1;
			await route.fulfill({ response: answer, body });
		});
		const shown = await page.textContent('#says');
		studio.save('grids.obj', gridsText(50, 44));
		await overlayIs(page, /hash to/);
		assert.equal(await page.textContent('#says'), shown);
		await page.unroute(/\/blobs\//);
		await shows(page, 'grids.obj', gridsText(50, 45));
		assert.equal(await overlay(page), '');
		assert.deepEqual(page.thrown, []);
	});

	test('two tabs share one stream, and both hear', async () => {
		const context = await browser.newContext({ viewport: { width: 320, height: 240 } });
		const streams = async () => (await studio.get('/api/v1/clients')).items.length;
		const [before, tabs] = [await streams(), [await viewer('art/a.obj', context), await viewer('art/a.obj', context)]];
		for (const tab of tabs) await shows(tab, 'a.obj', objText(5));
		assert.equal(await streams(), before + 1);
		await tabs[0].close();
		await shows(tabs[1], 'a.obj', objText(7));
		await context.close();
	});

	test('a page of an origin that the daemon does not know is told so, in the error and by the stream', async () => {
		const stranger = await startServer({ client: join(project, 'web/client') }, 0);
		const origin = `http://127.0.0.1:${stranger.address().port}`;
		const opened = await browser.newPage();
		const ask = (daemon) => opened.evaluate(async (url) => {
			const { HobClient } = await import('/client/hob.js');
			const hob = new HobClient(url);
			const told = await hob.get('art/a.obj').then(() => ({}), ({ code, message, hint }) => ({ code, message, hint }));
			return { ...told, lost: await new Promise((resolve) => hob.watch('**', ({ kind, data }) => kind === 'lost' && resolve(data.message))) };
		}, daemon);
		try {
			await opened.goto(`${origin}/client/examples/viewer.html`);
			const host = new URL(studio.origin).host;
			const [message, hint] = [`the daemon at ${host} does not let pages of ${origin} read it`, `start it with --cors-origin ${origin}`];
			assert.deepEqual(await ask(studio.origin), { code: 'unreachable', message, hint, lost: `${message}; ${hint}` });
			assert.match((await ask('http://127.0.0.1:1')).message, /cannot be reached/);
		} finally {
			await opened.close();
			stranger.closeAllConnections();
			stranger.close();
		}
	});

	test('in Node: by name, by hash, deltas, errors with words', async () => {
		const hob = new HobClient(studio.origin);
		const old = await hob.get('art/grids.obj');
		assert.equal(old.fetched, old.bytes.length);
		assert.deepEqual((await hob.blob(old.hash)).bytes, old.bytes);
		assert.equal((await hob.get('art/grids.obj', 'meshes', { older: old })).fetched, 0);
		studio.save('grids.obj', gridsText(51, 45));
		await hob.sync({ roots: ['art'] });
		await assert.rejects(hob.sync({ roots: ['none'] }), (error) => error.status === 400 && /no root 'none'/.test(error.message));
		const fresh = await hob.get('art/grids.obj', 'meshes', { older: old });
		assert.notEqual(fresh.hash, old.hash);
		assert.ok(fresh.fetched < fresh.bytes.length / 8, `${fresh.fetched} of ${fresh.bytes.length}`);
		assert.deepEqual((await hob.blob(fresh.hash)).bytes, fresh.bytes);
		const other = await hob.get('art/a.obj');
		assert.deepEqual((await hob.blob(fresh.hash, { older: other })).bytes, fresh.bytes);
		await assert.rejects(hob.get('art/none.obj'), (error) => error.status === 404 && error.hint.length > 5);
		await assert.rejects(hob.get('art/none.obj', 'meshes', { older: old }), (error) => error.status === 404 && error.hint.length > 5);
		await assert.rejects(new HobClient('http://127.0.0.1:1').get('art/a.obj'), { code: 'unreachable' });
	});

	test('in Node: what a user has not saved is shown to those who ask for it, and what is saved again afterwards', async () => {
		const model = readFileSync(join(project, 'tests/data/models/simple/BoxVertexColors.glb'));
		const hash = createHash('sha256').update(model).digest('hex');
		const ask = async (method, target, body) => {
			const headers = { 'Content-Type': typeof body === 'string' ? 'application/json' : 'application/octet-stream' };
			const answer = await fetch(studio.origin + target, { method, body, headers });
			assert.ok(answer.ok, await answer.text());
		};
		const [plain, live] = [new HobClient(studio.origin), new HobClient(studio.origin, { live: 'ann' })];
		const saved = await plain.get('art/a.obj');
		assert.equal((await live.get('art/a.obj')).hash, saved.hash);
		const heard = { plain: [], live: [] };
		const waiting = [];
		let heardMore = () => {};
		const listen = (who, client) => new Promise((resolve) => waiting.push(client.watch('art/a.obj', ({ kind, data }) => {
			if (kind === 'hello') resolve();
			if (kind !== 'asset') return;
			const meshes = data.outputs?.find(({ name }) => name === 'meshes');
			if (meshes) heard[who].push([data.asset, meshes.hash]);
			heardMore();
		})));
		await Promise.all([listen('plain', plain), listen('live', live)]);
		const last = async (who, wanted) => {
			for (const end = Date.now() + patience; JSON.stringify(heard[who].at(-1)) !== JSON.stringify(wanted);) {
				assert.ok(Date.now() < end, `${who} heard ${JSON.stringify(heard[who])}, not ${wanted}`);
				await new Promise((resolve) => {
					heardMore = resolve;
					setTimeout(resolve, end - Date.now()).unref();
				});
			}
		};
		try {
			await ask('PUT', `/blobs/${hash}`, model);
			await ask('PUT', '/api/v1/live/ann/art/a.obj', JSON.stringify({ sha256: hash }));
			await studio.sync();
			const shown = await live.get('art/a.obj');
			assert.notEqual(shown.hash, saved.hash);
			await last('live', ['art/a.obj', shown.hash]);
			assert.equal((await live.asset('art/a.obj')).name, 'art/a.obj');
			studio.save('a.obj', objText(9));
			await studio.sync();
			const newer = await plain.get('art/a.obj');
			await last('plain', ['art/a.obj', newer.hash]);
			assert.equal((await live.get('art/a.obj')).hash, shown.hash);
			await ask('DELETE', '/api/v1/live/ann');
			await last('live', ['art/a.obj', newer.hash]);
			assert.ok(!heard.plain.some(([, seen]) => seen === shown.hash));
			assert.equal(heard.live.filter(([, seen]) => seen === newer.hash).length, 1, 'what was saved meanwhile did not replace what is shown');
			assert.equal((await live.get('art/a.obj')).hash, newer.hash);
		} finally {
			for (const stop of waiting) stop();
		}
	});

	test('in Node: a flipped byte is refused by name, by hash and in a delta', async () => {
		const honest = new HobClient(studio.origin);
		const [a, grids] = [await honest.get('art/a.obj'), await honest.get('art/grids.obj')];
		const liar = await startLiar(() => studio.origin);
		const hob = new HobClient(liar.url);
		try {
			await assert.rejects(hob.get('art/a.obj'), { code: 'hash' });
			await assert.rejects(hob.blob(a.hash), { code: 'hash' });
			await assert.rejects(hob.blob(grids.hash, { older: a }), { code: 'hash' });
			liar.flips = false;
			assert.equal((await hob.get('art/a.obj')).hash, a.hash);
		} finally {
			liar.server.closeAllConnections();
			liar.server.close();
		}
	});
});

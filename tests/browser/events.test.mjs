/* A browser's own EventSource on the daemon's stream: after cut connections no event is missing; after the daemon was
 * killed and restarted, the page is told to read everything again. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { missing, patience, project } from './bench.mjs';

const hob = process.env.HOB ?? join(project, 'build/release/hob');
const triangle = (x) => `v ${x} 0 1\nv 1 0 0\nv 0 1 0\nf 1 2 3\n`;

test('events that come together go to a tab together, in order', async () => {
	const [timers, sent, listeners] = [[], [], {}];
	const real = { setTimeout, EventSource: globalThis.EventSource, addEventListener: globalThis.addEventListener };
	globalThis.setTimeout = (run) => timers.push(run);
	globalThis.EventSource = class { addEventListener(kind, run) { listeners[kind] = run; } };
	globalThis.addEventListener = (kind, run) => { listeners[kind] = run; };
	try {
		await import('../../web/app/worker.js');
		listeners.connect({ ports: [{ postMessage: (message) => sent.push(message) }] });
		for (let i = 0; i < 450; i++) listeners.asset({ data: `${i}` });
		listeners.hello({ data: '{}' }); /* events before `hello` are dropped */
		listeners.job({ data: '450' });
		timers.shift()();
		listeners.job({ data: '451' });
	} finally {
		Object.assign(globalThis, real);
	}
	assert.deepEqual(sent.map(({ type, events }) => events?.length ?? type), ['state', 1, 200, 200, 49, 'state', 1]);
	assert.deepEqual(sent.flatMap(({ events }) => events ?? []).map(({ data }) => data), Array.from({ length: 451 }, (_, i) => i));
});

/* A proxy that passes connections on while it is open; closing it cuts existing ones. */
async function startGate(port) {
	const sockets = new Set();
	let open = true;
	const server = createServer((from) => {
		if (!open) return from.destroy();
		const to = connect(port(), '127.0.0.1');
		for (const [one, other] of [[from, to], [to, from]]) {
			sockets.add(one);
			one.on('error', () => other.destroy());
			one.on('close', () => { sockets.delete(one); other.destroy(); });
			one.pipe(other);
		}
	});
	await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
	return {
		port: server.address().port,
		cut() { open = false; for (const socket of sockets) socket.destroy(); },
		mend() { open = true; },
		stop() { this.cut(); server.close(); },
	};
}

describe('EventSource', { skip: missing() ?? false }, () => {
	let folder, daemon, gate, browser, page, saves = 0;

	async function start() {
		const child = spawn(hob, ['serve', join(folder, 'art'), '--listen', '127.0.0.1:0', '--cache', join(folder, 'cache')]);
		let text = '';
		const port = await new Promise((resolve, reject) => {
			const read = (chunk) => {
				text += chunk;
				const found = /http:\/\/127\.0\.0\.1:(\d+)/.exec(text);
				if (found) resolve(Number(found[1]));
			};
			child.stdout.on('data', read);
			child.stderr.on('data', read);
			child.on('exit', () => reject(new Error(text)));
		});
		daemon = { port, end: (signal) => new Promise((resolve) => { child.removeAllListeners('exit'); child.on('exit', resolve); child.kill(signal); }) };
	}

	function save() {
		const file = join(folder, 'art/a.obj');
		writeFileSync(`${file}.new`, triangle(++saves));
		renameSync(`${file}.new`, file);
	}

	/* Waits until everything saved so far is cooked and its events are sent; bypasses the proxy. */
	const sync = async () => assert.equal((await fetch(`http://127.0.0.1:${daemon.port}/api/v1/sync`, {
		method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ timeout_ms: patience }) })).status, 200);
	const seen = () => page.evaluate(() => window.seen);
	const waitFor = (kind, count) => page.waitForFunction(([k, n]) => window.seen.filter((e) => e.kind === k).length >= n, [kind, count]);
	// not counting previews
	const freshOnes = (events) => events.filter((e) => e.kind === 'asset' && e.data.quality === 'final');
	const waitForFresh = (count) => page.waitForFunction(
		(n) => window.seen.filter((e) => e.kind === 'asset' && e.data.quality === 'final').length >= n, count);

	before(async () => {
		folder = mkdtempSync(join(tmpdir(), 'hob-browser-'));
		mkdirSync(join(folder, 'art'));
		await start();
		gate = await startGate(() => daemon.port);
		browser = await chromium.launch({ executablePath: process.env.HOB_CHROMIUM ?? '/usr/bin/chromium', timeout: patience, args: ['--no-sandbox'] });
		page = await browser.newPage();
		page.setDefaultTimeout(patience);
		await page.goto(`http://127.0.0.1:${gate.port}/livez`);
		await page.evaluate(() => {
			window.seen = [];
			window.errors = 0;
			window.source = new EventSource('/api/v1/events?kinds=asset');
			for (const kind of ['hello', 'asset', 'reset'])
				source.addEventListener(kind, (e) => seen.push({ kind, id: e.lastEventId, data: JSON.parse(e.data) }));
			source.onerror = () => errors++;
		});
		await waitFor('hello', 1);
	});
	after(async () => {
		await browser?.close();
		gate?.stop();
		await daemon?.end('SIGTERM');
		rmSync(folder, { recursive: true, force: true });
	});

	test('a save is told', async () => {
		save();
		await waitForFresh(1);
	});

	test('what happened while the line was cut is told afterwards, once and in order', async () => {
		for (let round = 2; round <= 3; round++) {
			gate.cut();
			await page.waitForFunction((n) => window.errors >= n, round - 1);
			save();
			await sync();
			save();
			await sync();
			assert.equal(freshOnes(await seen()).length, 1 + 2 * (round - 2));
			gate.mend();
			await waitForFresh(1 + 2 * (round - 1));
		}
		const events = await seen();
		assert.equal(events.filter((e) => e.kind === 'reset').length, 0);
		assert.equal(events.filter((e) => e.kind === 'hello').length, 3);
		const revs = events.filter((e) => e.kind === 'asset').map((e) => e.data.rev);
		assert.deepEqual(revs, [...new Set(revs)].sort((a, b) => a - b));
		assert.equal(freshOnes(events).length, 5);
	});

	test('after a killed daemon has come back the page is told to look again, then hears on', async () => {
		gate.cut();
		await daemon.end('SIGKILL');
		save();
		await start();
		await sync();
		gate.mend();
		await waitFor('hello', 4);
		await waitFor('reset', 1);
		const before = freshOnes(await seen()).length;
		save();
		await waitForFresh(before + 1);
		const ids = (await seen()).map((e) => e.id.split('.')).filter(([epoch]) => epoch);
		assert.equal(new Set(ids.map(([epoch]) => epoch)).size, 1);
	});
});

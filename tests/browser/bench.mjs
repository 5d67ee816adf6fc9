/* A daemon with folders of its own, a server for a page of the same origin, and a browser that renders in software. */
import { spawn } from 'node:child_process';
import { createServer, request } from 'node:http';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

export const here = dirname(fileURLToPath(import.meta.url));
export const project = join(here, '../..');
export const corpus = process.env.HOB_CORPUS ?? join(project, '../shared/corpus');
export const hob = process.env.HOB ?? join(project, 'build/release/hob');
export const browserPath = process.env.HOB_CHROMIUM ?? '/usr/bin/chromium';
/** Time limit in ms for every wait: long enough for a busy machine. */
export const patience = Number(process.env.HOB_PATIENCE ?? 240000);
const types = { '.html': 'text/html', '.mjs': 'text/javascript', '.js': 'text/javascript', '.wasm': 'application/wasm', '.png': 'image/png',
	'.jpg': 'image/jpeg', '.gltf': 'model/gltf+json' };

/** Whether the pages cannot be tested because the daemon was built without them. */
export const withoutDashboard = () => (readFileSync(hob).includes('name="hob-worker"') ? null : 'this daemon has no dashboard: apt-get install esbuild, npm ci --prefix web, build again');

export function missing() {
	if (!existsSync(browserPath)) return `no browser at ${browserPath}: apt-get install chromium, or set HOB_CHROMIUM`;
	if (!existsSync(hob)) return `no daemon at ${hob}: build it, or set HOB`;
	return null;
}

/** Starts a daemon. port 0: any free one. `stop` ends it cleanly. HOB_WEB_ROOT=DIR serves the pages from DIR. */
const pages = process.env.HOB_WEB_ROOT ? ['--web-root', process.env.HOB_WEB_ROOT] : [];
export async function startDaemon(roots, cache, wanted = 0, options = []) {
	const child = spawn(hob, ['serve', ...roots, '--listen', `127.0.0.1:${wanted}`, '--cache', cache, ...pages, ...options], { stdio: ['ignore', 'pipe', 'pipe'] });
	const port = await new Promise((resolve, reject) => {
		let text = '';
		const read = (chunk) => {
			text += chunk;
			const found = /http:\/\/127\.0\.0\.1:(\d+)/.exec(text);
			if (found) resolve(Number(found[1]));
		};
		child.stdout.on('data', read);
		child.stderr.on('data', read);
		child.on('exit', (code) => reject(new Error(`hob serve ended with ${code}:\n${text}`)));
	});
	return { port, stop: () => new Promise((resolve) => { child.removeAllListeners('exit'); child.on('exit', resolve); child.kill('SIGTERM'); }) };
}

/** Renders in software. */
export const launchBrowser = (...more) => chromium.launch({ executablePath: browserPath, timeout: patience, args: ['--no-sandbox', '--use-gl=angle', '--use-angle=gl-egl', '--ignore-gpu-blocklist', ...more] });

function pass(port, from, to) {
	const headers = { ...from.headers, host: `127.0.0.1:${port}` };
	const onward = request({ port, host: '127.0.0.1', path: from.url, method: from.method, headers }, (answer) => {
		to.writeHead(answer.statusCode, answer.headers);
		answer.pipe(to);
	});
	onward.on('error', () => to.destroy());
	to.on('close', () => onward.destroy());
	from.pipe(onward);
}

/** folders: {first part of the address: folder}; `a`, `blobs` and `api` are the daemon's at `port`. */
export function startServer(folders, port) {
	const server = createServer((from, to) => {
		const path = normalize(decodeURIComponent(new URL(from.url, 'http://x').pathname));
		const [, first, ...rest] = path.split('/');
		if (['a', 'blobs', 'api'].includes(first)) return pass(port, from, to);
		const file = folders[first] && join(folders[first], ...rest);
		if (!file || !existsSync(file) || !statSync(file).isFile()) return to.writeHead(404).end();
		to.writeHead(200, { 'content-type': types[extname(file)] ?? 'application/octet-stream' });
		to.end(readFileSync(file));
	});
	return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

/**
 * profiles: {name: settings}; models: [{name, from}], where `from` is a file. Every profile is a root with all models,
 * each in a folder of its own: art/<profile>/<name>/<file>. alone: of the other files in its folder, copy only those in
 * `beside`.
 */
export async function setUp(profiles, models) {
	const folder = mkdtempSync(join(tmpdir(), 'hob-browser-'));
	const roots = [];
	for (const [profile, settings] of Object.entries(profiles)) {
		const root = join(folder, profile);
		mkdirSync(root);
		writeFileSync(join(root, 'cook.json'), JSON.stringify(settings));
		for (const { name, from, alone, beside = [] } of models)
			if (extname(from) === '.glb') {
				cpSync(from, join(root, name, 'model.glb'));
				for (const file of beside) cpSync(join(dirname(from), file), join(root, name, file));
			} else if (alone) for (const file of [basename(from), ...beside]) cpSync(join(dirname(from), file), join(root, name, file), { recursive: true });
			else cpSync(dirname(from), join(root, name), { recursive: true });
		roots.push(root);
	}
	const daemon = await startDaemon(roots, join(folder, 'cache'));
	const sync = async () => {
		const synced = await fetch(`http://127.0.0.1:${daemon.port}/api/v1/sync`, {
			method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ timeout_ms: 600000 }),
		});
		if (!synced.ok) throw new Error(`not everything was cooked: ${await synced.text()}`);
	};
	// Cook everything before the browser needs the cores: cook processes run at the lowest priority.
	await sync();
	const server = await startServer({ tests: here, web: join(project, 'web'), node_modules: join(here, 'node_modules'), modules: join(here, 'node_modules'), source: roots[0] }, daemon.port);
	const browser = await launchBrowser();
	const page = await browser.newPage();
	page.setDefaultTimeout(patience);
	const complaints = [];
	page.on('pageerror', (error) => complaints.push(error.message));
	await page.goto(`http://127.0.0.1:${server.address().port}/tests/page.html`);
	await page.waitForFunction(() => window.ready);
	return {
		folder, page, complaints, sync,
		origin: `http://127.0.0.1:${server.address().port}`,
		dashboard: `http://127.0.0.1:${daemon.port}/ui/asset/`,
		async tearDown() {
			await browser.close();
			server.closeAllConnections();
			server.close();
			await daemon.stop();
			rmSync(folder, { recursive: true, force: true });
		},
	};
}

/** Returns a copy of a GLB with its first node scaled. */
export function scaledGlb(glb, scale) {
	const length = glb.readUInt32LE(12);
	const json = JSON.parse(glb.subarray(20, 20 + length).toString());
	delete json.nodes[0].matrix;
	json.nodes[0].scale = scale;
	const text = Buffer.from(JSON.stringify(json));
	const padded = Buffer.concat([text, Buffer.alloc((4 - (text.length % 4)) % 4, 0x20)]);
	const out = Buffer.concat([glb.subarray(0, 20), padded, glb.subarray(20 + length)]);
	out.writeUInt32LE(out.length, 8);
	out.writeUInt32LE(padded.length, 12);
	return out;
}

/** Saves as editors do: a temporary file in the same folder, then a rename. */
export function saveFile(path, bytes) {
	writeFileSync(`${path}.new`, bytes);
	renameSync(`${path}.new`, path);
}

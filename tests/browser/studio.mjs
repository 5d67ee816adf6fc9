/* A daemon with folders of its own and a browser that shows its dashboard, for tests of the pages. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { here, launchBrowser, patience, saveFile, startDaemon } from './bench.mjs';

/** The first key of a settings file that Hob has made. */
export const $schema = 'http://127.0.0.1:7780/api/v1/schema/settings.json';
export const axeFile = join(here, 'node_modules/axe-core/axe.min.js');

/* Sends a request on a connection of its own. fetch could reuse one that the daemon closed while this process was busy,
 * and fail. */
const ask = (url, options, body) => new Promise((resolve, reject) => {
	const asked = request(url, { ...options, agent: false }, async (answer) => {
		let text = '';
		for await (const chunk of answer.setEncoding('utf8')) text += chunk;
		resolve({ status: answer.statusCode, text });
	});
	asked.on('error', reject).end(body);
});

/** files: {'props/box.obj': text or Buffer} below the only root, art; roots: others instead. token: used by the tests' own
 * requests. */
export async function openStudio(files, { options = [], token, roots } = {}) {
	const folder = mkdtempSync(join(tmpdir(), 'hob-studio-'));
	const art = join(folder, 'art');
	mkdirSync(art);
	const studio = { folder, art, complaints: [] };
	studio.save = (path, data) => {
		const target = join(art, path);
		mkdirSync(dirname(target), { recursive: true });
		saveFile(target, data);
	};
	studio.read = (path) => readFileSync(join(art, path));
	studio.exists = (path) => existsSync(join(art, path));
	for (const [path, data] of Object.entries(files)) studio.save(path, data);
	let daemon = await startDaemon(roots ?? [art], join(folder, 'cache'), 0, options);
	const { port } = daemon;
	studio.origin = `http://127.0.0.1:${port}`;
	const shown = token ? { Authorization: `Bearer ${token}` } : {};
	studio.get = async (path) => JSON.parse((await ask(studio.origin + path, { headers: shown })).text);
	/* Waits until everything saved so far is cooked. */
	studio.sync = async () => {
		const { status, text } = await ask(`${studio.origin}/api/v1/sync`, { method: 'POST', headers: { 'Content-Type': 'application/json', ...shown } }, JSON.stringify({ timeout_ms: patience }));
		assert.equal(status, 200, text);
	};
	studio.stopDaemon = () => daemon.stop();
	studio.startDaemon = async (more = []) => (daemon = await startDaemon(roots ?? [art], join(folder, 'cache'), port, [...options, ...more]));
	/* Pages are composited without OpenGL, whose software rendering would be a third of all work. */
	const browser = await launchBrowser('--disable-gpu-compositing');
	/* Half the resolution: software rendering is most of the work, and these tests read the page rather than look at
	 * it. */
	const context = await browser.newContext({ deviceScaleFactor: 0.5, viewport: { width: 1280, height: 900 }, colorScheme: 'light', permissions: ['clipboard-read', 'clipboard-write'] });
	context.setDefaultTimeout(patience);
	await context.addInitScript({ path: axeFile });
	studio.newPage = async (path = '/') => {
		const page = await context.newPage();
		page.on('pageerror', (error) => studio.complaints.push(`${page.url()}: ${error.message}`));
		page.on('console', (message) => message.type() === 'error' && !studio.mayComplain && studio.complaints.push(`${page.url()}: ${message.text()} ${message.location().url}`));
		await page.goto(studio.origin + path);
		return page;
	};
	studio.close = async () => {
		await browser.close();
		await daemon.stop();
		rmSync(folder, { recursive: true, force: true });
	};
	return studio;
}

/** The faults that axe finds on the page, one line each. */
export const accessFaults = (page, rules = {}) => page.evaluate(async (given) => {
	const { violations } = await axe.run(document, given);
	return violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(({ html, failureSummary }) => `${html.slice(0, 160)} ${failureSummary}`).join(' | ')}`);
}, rules);

/** Asserts that axe finds nothing: all rules in the light scheme, those about colours in the dark one. */
export async function assertAccessible(page) {
	const found = await accessFaults(page);
	await page.emulateMedia({ colorScheme: 'dark' });
	found.push(...(await accessFaults(page, { runOnly: ['color-contrast', 'link-in-text-block'] })).map((line) => `dark: ${line}`));
	await page.emulateMedia({ colorScheme: 'light' });
	assert.deepEqual(found, [], page.url());
}

/** Waits until the clipboard matches `wanted`. (waitForFunction would take a promise for true.) */
export async function waitForClipboard(page, wanted) {
	const handle = await page.evaluateHandle(() => ({ text: '' }));
	await page.waitForFunction(({ read, source }) => {
		navigator.clipboard.readText().then((text) => (read.text = text));
		return new RegExp(source).test(read.text);
	}, { read: handle, source: wanted.source });
}

/** A strip of triangles, as OBJ text. */
export function objText(triangles = 1, shift = 0) {
	const lines = [];
	for (let i = 0; i < triangles + 2; i++) lines.push(`v ${i * 0.5 + shift} ${i % 2} 0`);
	for (let i = 0; i < triangles; i++) lines.push(`f ${i + 1} ${i + 2} ${i + 3}`);
	return `${lines.join('\n')}\n`;
}

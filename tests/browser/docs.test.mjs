/* The script that makes the pictures of docs/ works with the current dashboard; the site of docs/ fits phones and
 * desktops. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';
import { browserPath, missing, project, withoutDashboard } from './bench.mjs';
import { accessFaults, axeFile } from './studio.mjs';

const kinds = (png) => {
	const list = [];
	for (let at = 8; at < png.length; at += png.readUInt32BE(at) + 12) list.push(png.toString('latin1', at + 4, at + 8));
	return list;
};

describe('the pictures of the documentation', { skip: missing() ?? withoutDashboard() ?? false }, () => {
	const out = mkdtempSync(join(tmpdir(), 'hob-pictures-'));
	after(() => rmSync(out, { recursive: true, force: true }));

	test('are made by a script, and are those that the pages show', () => {
		execFileSync(process.execPath, [join(project, 'docs/pictures.mjs'), out], { stdio: 'inherit' });
		const made = readdirSync(out).sort();
		assert.deepEqual(made, readdirSync(join(project, 'docs/pictures')).filter((name) => name.endsWith('.png')).sort());
		for (const name of made) assert.equal(kinds(readFileSync(join(out, name))).at(-1), 'IEND', name);
		const live = kinds(readFileSync(join(out, 'live.png')));
		assert.equal(live.filter((kind) => kind === 'fcTL').length, 5);
		const docs = join(project, 'docs');
		const pages = readdirSync(docs).filter((name) => name.endsWith('.md')).map((name) => readFileSync(join(docs, name), 'utf8')).join('');
		for (const name of made) assert.ok(pages.includes(`(pictures/${name})`), `no page shows ${name}`);
	});
});

describe('the site of the documentation', { skip: missing() ?? false }, () => {
	const out = mkdtempSync(join(tmpdir(), 'hob-site-'));
	let server, browser;
	after(async () => {
		await browser?.close();
		server?.close();
		rmSync(out, { recursive: true, force: true });
	});

	test('fits a phone and a desk, runs without errors, and asks no other site for anything', async () => {
		execFileSync('python3', [join(project, 'docs/site.py'), out], { stdio: 'inherit' });
		const site = join(out, 'site');
		const types = { '.html': 'text/html', '.css': 'text/css', '.js': 'text/javascript', '.png': 'image/png', '.svg': 'image/svg+xml' };
		server = createServer((request, response) => {
			const path = join(site, decodeURIComponent(new URL(request.url, 'http://here').pathname));
			const file = existsSync(path) && statSync(path).isDirectory() ? join(path, 'index.html') : path;
			if (!existsSync(file)) return response.writeHead(404).end();
			response.setHeader('content-type', types[extname(file)] ?? 'application/octet-stream');
			response.end(readFileSync(file));
		}).listen(0);
		const origin = `http://127.0.0.1:${server.address().port}`;
		browser = await chromium.launch({ executablePath: browserPath, args: ['--no-sandbox'] });
		const wrong = [];
		const pages = readdirSync(site).filter((name) => name.endsWith('.html'));
		assert.ok(pages.length > 60);
		for (const [width, height, isMobile] of [[390, 844, true], [1440, 900, false]]) {
			const page = await (await browser.newContext({ viewport: { width, height }, isMobile })).newPage();
			page.on('pageerror', (error) => wrong.push(`${page.url()}: ${error.message}`));
			page.on('request', (request) => request.url().startsWith(origin) || wrong.push(`${page.url()} asks ${request.url()}`));
			page.on('response', (response) => response.status() < 400 || response.url().endsWith('favicon.ico') || wrong.push(`${response.url()}: ${response.status()}`));
			for (const name of ['', ...pages]) {
				await page.goto(`${origin}/${name}`);
				const wide = await page.evaluate(() => document.documentElement.scrollWidth);
				if (wide > width) wrong.push(`${name || 'index'} is ${wide} pixels wide on ${width}`);
			}
		}
		assert.deepEqual(wrong, []);
	});

	test('finds a setting, a request and a field; works from a disk, in both themes; each word can be read', async () => {
		for (const colorScheme of ['light', 'dark']) {
			const page = await (await browser.newContext({ viewport: { width: 390, height: 844 }, colorScheme })).newPage();
			await page.goto(pathToFileURL(join(out, 'site/index.html')).href);
			for (const [words, file] of [['lods.max', 'settings.html'], ['GET /api/v1/assets', 'http-assets.html'], ['glossary', 'index.html']]) {
				await page.fill('#search', words);
				assert.ok((await page.getAttribute('#found a', 'href')).startsWith(file), words);
			}
			await page.fill('#search', 'no such words here');
			assert.equal(await page.textContent('#found'), 'nothing found');
			const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
			const before = await ground();
			await page.click('#theme');
			assert.notEqual(await ground(), before);
			for (const name of ['index', 'start-c', 'settings', 'http-assets', 'comparison']) {
				await page.goto(pathToFileURL(join(out, `site/${name}.html`)).href);
				await page.addScriptTag({ path: axeFile });
				assert.deepEqual(await accessFaults(page), [], `${name} ${colorScheme}`);
			}
			await page.context().close();
		}
	});
});

/* Opens COUNT assets (100) of the model corpus one after the other, as a click on a name does, and measures: from the click to the
 * asset's thumbnail in the place of the view, to its first picture on the software renderer, and what the page and the GPU hold.
 * The row that is clicked shows the thumbnail already.
 *
 *     node tests/bench/opening_bench.mjs build/release [COUNT]           HOB_CORPUS names another folder of models */
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const [build = 'build/release', wanted = '100'] = process.argv.slice(2);
process.env.HOB = resolve(build, 'hob');
const { corpus, launchBrowser, startDaemon } = await import(pathToFileURL(resolve(here, '../browser/bench.mjs')));
const MOST_TRIANGLES = 50000;
const ROUNDS = 3; /* over the first assets again: what is held must not grow */

const report = (name, value, note = '') => console.log(`${name.padEnd(44)} ${value.padStart(12)}  ${note}`);
const sorted = (values) => [...values].sort((a, b) => a - b);
const part = (values, share) => sorted(values)[Math.min(values.length - 1, Math.floor(values.length * share))];
const ms = (value) => `${value.toFixed(0)} ms`;

/* One file of each folder, in the order of the index, of formats that need no other files: real models of every kind. */
function models() {
	const rows = readFileSync(join(corpus, 'INDEX.tsv'), 'utf8').split('\n').slice(1).map((line) => line.split('\t'));
	const seen = new Set();
	return rows.filter(([path, format, , , triangles]) => {
		const folder = dirname(path);
		if (!/^(glb|gltf|obj|fbx|ply|stl)$/.test(format) || !/\.(glb|obj|fbx|ply|stl)$/i.test(path)) return false;
		if (path.startsWith('bad/') || !(Number(triangles) > 0 && Number(triangles) < MOST_TRIANGLES) || !existsSync(join(corpus, path))) return false;
		const many = [...seen].filter((other) => other.startsWith(`${folder}\n`)).length;
		if (many >= 4) return false;
		seen.add(`${folder}\n${path}`);
		return true;
	}).map(([path]) => path);
}

const folder = mkdtempSync(join(tmpdir(), 'hob-opening-'));
const art = join(folder, 'art');
for (const path of models().slice(0, 2 * Number(wanted))) {
	mkdirSync(dirname(join(art, path)), { recursive: true });
	cpSync(join(corpus, path), join(art, path));
}
const daemon = await startDaemon([art], join(folder, 'cache'));
const origin = `http://127.0.0.1:${daemon.port}`;
const get = async (path, options) => (await fetch(origin + path, options)).json();
await get('/api/v1/sync', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ timeout_ms: 600000 }) });
const all = (await get('/api/v1/assets?state=fresh&limit=1000&fields=id,root,path,rev,stats')).items;
const assets = all.filter(({ stats }) => stats.triangles > 0 && stats.triangles < MOST_TRIANGLES).slice(0, Number(wanted));
report('assets', String(assets.length), `triangles: median ${part(assets.map(({ stats }) => stats.triangles), 0.5)}, most ${Math.max(...assets.map(({ stats }) => stats.triangles))}`);

const browser = await launchBrowser();
const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
const page = await context.newPage();
const session = await context.newCDPSession(page);
await page.goto(`${origin}/ui/assets`);
await page.locator('.rows .row .title').first().waitFor();

/* Follows a link to the asset, by a clock in the page, until its model has been drawn. */
const open = (path) => page.evaluate((wantedPath) => new Promise((done) => {
	const link = document.createElement('a');
	link.href = `/ui/asset/art/${wantedPath.split('/').map(encodeURIComponent).join('/')}`;
	document.body.append(link);
	const begin = performance.now();
	const times = {};
	let seen = false;
	const look = () => {
		const viewer = document.querySelector('.viewer-root')?.parentElement.viewer;
		if (viewer?.asset.path === wantedPath) {
			/* It is on the screen when the frame after it begins. */
			if (seen) times.poster ??= performance.now() - begin;
			seen = document.querySelector('.viewer-poster')?.naturalWidth > 0;
			if (viewer.model && viewer.stage.counts?.draws > 0) {
				/* The pixels are there when the renderer says so, not when it was asked for them. */
				viewer.stage.renderer.getContext().readPixels(0, 0, 1, 1, 6408, 5121, new Uint8Array(4));
				link.remove();
				return done({ ...times, model: performance.now() - begin, ...viewer.stage.costs() });
			}
			if (viewer.fault) return done({ failed: viewer.fault.message });
		}
		requestAnimationFrame(look);
	};
	link.click();
	requestAnimationFrame(look);
}), path);
const showThumbnail = ({ id, rev }) => page.evaluate((address) => new Promise((done) => {
	const image = new Image();
	image.onload = image.onerror = done;
	image.src = address;
}), `/api/v1/assets/${id}/thumbnail?size=128&rev=${rev}.0`);
const heap = async () => {
	await session.send('HeapProfiler.collectGarbage');
	return (await session.send('Runtime.getHeapUsage')).usedSize;
};

await open(assets[0].path); /* the viewer's own script is fetched once */
const times = [];
for (const asset of assets) {
	const { path, stats } = asset;
	await showThumbnail(asset);
	const found = await open(path);
	if (found.failed) console.log(`${path}: ${found.failed}`);
	else times.push({ path, ...stats, ...found });
	if (process.env.HOB_BENCH_EACH) console.log(path, stats.triangles, JSON.stringify(found));
}
report('load of the machine', loadavg()[0].toFixed(1), 'programs that want a core; figures below hold for that');
for (const [name, values] of [['click to the thumbnail in its place', times.map(({ poster, model }) => poster ?? model)],
	['click to the first picture', times.map(({ model }) => model)]])
	report(name, ms(part(values, 0.5)), `median of ${values.length}; 90 % within ${ms(part(values, 0.9))}, worst ${ms(Math.max(...values))}; goal 150 ms`);
for (let round = 1; round <= ROUNDS; round++) {
	let held;
	for (const { path } of assets.slice(0, 10)) held = await open(path);
	report(`held after round ${round}`, `${((await heap()) / 1e6).toFixed(1)} MB`, `JavaScript heap; ${held.geometries} geometries, ${held.textures} textures, ${held.programs} programs`);
}
await browser.close();
await daemon.stop();
rmSync(folder, { recursive: true, force: true });

/* Opens the list of COUNT assets (50,000) as a person does and measures. Many files have the same content, so that most are
 * found in the cache and the start takes a minute, not a day.
 *
 *     node tests/bench/dashboard_bench.mjs build/release [COUNT]         HOB_BENCH_KEEP=DIR keeps the files and the cache,
 *     HOB_WEB_ROOT=DIR takes the pages from there */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { loadavg, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const [build = 'build/release', wanted = '50000'] = process.argv.slice(2);
process.env.HOB = resolve(build, 'hob');
const count = Number(wanted);
const browserTests = resolve(here, '../browser');
const { chromium } = createRequire(join(browserTests, 'package.json'))('playwright-core');
const { browserPath, startDaemon } = await import(pathToFileURL(join(browserTests, 'bench.mjs')));
const { objText } = await import(pathToFileURL(join(browserTests, 'studio.mjs')));
const words = ['crate', 'barrel', 'lantern', 'door', 'wall', 'pillar', 'rock', 'tree', 'sword', 'helmet', 'table', 'chair', 'rope', 'torch', 'gate', 'shield'];

function makeFiles(art) {
	for (let i = 0; i < count; i++) {
		const folder = join(art, `level_${String(Math.floor(i / 500)).padStart(3, '0')}`);
		if (i % 500 === 0) mkdirSync(folder, { recursive: true });
		writeFileSync(join(folder, `${words[i % words.length]}_${String(i).padStart(6, '0')}.obj`), objText(1 + (i % 40)));
	}
}

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
const longest = (tasks, kind) => tasks.reduce((most, task) => Math.max(most, task[kind]), 0); /* there are a hundred thousand */
const tellLongest = (tasks) => tasks.slice(0, 3).forEach(({ cpu, wall, parts }) => report('  a long task', ms(cpu), `on the clock ${ms(wall)}: ${parts}`));
const report = (name, value, note = '') => console.log(`${name.padEnd(44)} ${value.padStart(12)}  ${note}`);
const ms = (value) => `${value.toFixed(0)} ms`;
const mb = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;

/* From the address to a first row with a name, by a clock in the page. */
async function firstRow(context, origin) {
	const page = await context.newPage();
	await page.addInitScript(() => {
		const look = () => {
			if (document.querySelector('.rows .row .title')) window.firstRow = performance.now();
			else requestAnimationFrame(look);
		};
		requestAnimationFrame(look);
	});
	await page.goto(`${origin}/ui/assets`);
	await page.waitForFunction(() => window.firstRow);
	const found = await page.evaluate(() => ({ row: window.firstRow, paint: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0 }));
	await page.close();
	return found;
}

/* From a key going down to the frame that shows rows of that search. */
const typed = (page, text) => page.evaluate((value) => new Promise((done) => {
	const field = document.querySelector('input[type=search]');
	const start = performance.now();
	Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(field, value);
	field.dispatchEvent(new Event('input', { bubbles: true }));
	const look = () => {
		const rows = [...document.querySelectorAll('.rows .row .title')];
		if (rows.length > 0 && rows.every((row) => row.textContent.includes(value))) done(performance.now() - start);
		else requestAnimationFrame(look);
	};
	requestAnimationFrame(look);
}), text);

/* Scrolls by wheel-like steps or by jumps over the whole list, 240 times. */
const scroll = (page, jumps) => page.evaluate((far) => new Promise((done) => {
	const place = document.querySelector('.rows');
	let frames = 0;
	const step = () => {
		if (++frames > 240) return setTimeout(done, 300);
		place.scrollTop = far ? Math.random() * place.scrollHeight : place.scrollTop + 120;
		requestAnimationFrame(step);
	};
	requestAnimationFrame(step);
}), jumps);

/* Tasks of the page's main thread while it scrolls, by a trace: [{wall, cpu, parts}] in ms, the longest first. Where other programs
 * take the cores the time on the clock is theirs too; the time on the processor is the page's own. The clock of a thread jumps
 * now and then: a task never has more of it than of the wall's. */
async function traced(browser, page, jumps) {
	await browser.startTracing(page, { categories: ['toplevel', 'devtools.timeline', 'v8', 'disabled-by-default-devtools.timeline', '__metadata'] });
	await scroll(page, jumps);
	const { traceEvents } = JSON.parse((await browser.stopTracing()).toString());
	const main = traceEvents.filter(({ ph, name, args }) => ph === 'M' && name === 'thread_name' && args.name === 'CrRendererMain').map(({ pid, tid }) => `${pid}.${tid}`);
	const spans = traceEvents.filter(({ ph, pid, tid }) => ph === 'X' && main.includes(`${pid}.${tid}`))
		.map(({ dur = 0, tdur = 0, ...span }) => ({ ...span, end: span.ts + dur, wall: dur / 1000, cpu: Math.min(dur, tdur) / 1000 }));
	const tasks = spans.filter(({ name }) => name === 'RunTask').sort((a, b) => b.cpu - a.cpu);
	const parts = ({ pid, ts, end }) => spans.filter((part) => part.pid === pid && part.ts >= ts && part.end <= end && !/RunTask$|^v8\.|FireAnimationFrame/.test(part.name))
		.sort((a, b) => b.cpu - a.cpu).slice(0, 6)
		.map(({ name, cpu, args }) => `${args.src_func ?? args.data?.functionName ?? name} ${cpu.toFixed(0)}`).join(', ');
	return tasks.map((task, i) => ({ wall: task.wall, cpu: task.cpu, parts: i < 3 ? parts(task) : '' }));
}

const memory = async (page) => {
	const session = await page.context().newCDPSession(page);
	await session.send('HeapProfiler.collectGarbage');
	return (await session.send('Runtime.getHeapUsage')).usedSize;
};

/* Pages that are opened and searched while everything is cooked for the first time, and their numbers at 20 moments against those of
 * the daemon just before and just after. */
async function whileCooking(at) {
	const stats = async () => (await fetch(`${at}/api/v1/stats`)).json();
	const began = await stats();
	const launched = await chromium.launch({ executablePath: browserPath, args: ['--no-sandbox'] });
	const shared = await launched.newContext({ viewport: { width: 1280, height: 900 } });
	while ((await stats()).assets.total < Math.min(count, 1000)) await new Promise((done) => setTimeout(done, 200));
	await firstRow(shared, at);
	const rows = [];
	for (let i = 0; i < 3; i++) rows.push((await firstRow(shared, at)).row);
	const list = await shared.newPage();
	await list.goto(`${at}/ui/assets`);
	await list.locator('.rows .row .title').first().waitFor();
	const keys = [];
	for (const text of ['l', 'la', 'lan', 'lantern', 'door']) keys.push(await typed(list, text));
	await list.goto(`${at}/ui/assets`);
	await list.locator('.rows .row .title').first().waitFor();
	const tasks = await traced(launched, list, false);
	const board = await shared.newPage();
	await board.goto(at);
	await board.locator('.counts').waitFor();
	let [right, looked] = [0, 0];
	for (; looked < 20; looked++) {
		const before = (await stats()).assets;
		await board.waitForTimeout(Math.random() * 1000);
		const shown = await board.evaluate(() => [...document.querySelectorAll('.count b')].map((b) => Number(b.textContent.replace(/\D/g, ''))));
		/* The page is at most one refresh old: its total is between those read before and after, and the sum of its parts. */
		const after = (await stats()).assets;
		const [all, ...parts] = shown;
		if (all >= before.total - 2000 && all <= after.total && parts.reduce((sum, part) => sum + part, 0) === all) right++;
		else console.log(`wrong: ${shown.join(' ')} between ${JSON.stringify(before)} and ${JSON.stringify(after)}`);
	}
	const ended = await stats();
	report('while it cooks: assets done', `${began.assets.fresh} to ${ended.assets.fresh}`, `of ${count}; load of the machine ${loadavg()[0].toFixed(1)}`);
	report('while it cooks: navigation to first row', ms(median(rows)), `median of 3, worst ${ms(Math.max(...rows))}; goal 500 ms`);
	report('while it cooks: key to rows', ms(median(keys)), `median of ${keys.length}, worst ${ms(Math.max(...keys))}; goal 150 ms`);
	report('while it cooks: longest task', ms(longest(tasks, 'cpu')), `of processor time while scrolling, of ${tasks.length}; goal 50 ms`);
	tellLongest(tasks);
	report('while it cooks: numbers right', `${right} of ${looked}`, 'the tiles of the overview at random moments');
	await launched.close();
}

const folder = process.env.HOB_BENCH_KEEP ?? mkdtempSync(join(tmpdir(), 'hob-dashboard-'));
const art = join(folder, 'art');
if (!existsSync(art)) makeFiles(art);
const daemon = await startDaemon([art], join(folder, 'cache'), 0, process.env.HOB_WEB_ROOT ? ['--web-root', process.env.HOB_WEB_ROOT] : []);
const origin = `http://127.0.0.1:${daemon.port}`;
const began = performance.now();
await whileCooking(origin);
let fresh = 0;
while (fresh < count) {
	await new Promise((done) => setTimeout(done, 500));
	fresh = (await (await fetch(`${origin}/api/v1/stats`)).json()).assets.fresh;
}
report('assets, all cooked', fresh.toLocaleString('en'), `${((performance.now() - began) / 1000).toFixed(0)} s after the start`);

const server = {};
for (const [name, query] of [['page by name', ''], ['search', '&q=lantern_0301'], ['search, no match', '&q=zzzz'], ['largest first', '&sort=-bytes']]) {
	const times = [];
	for (let i = 0; i < 9; i++) {
		const start = performance.now();
		await (await fetch(`${origin}/api/v1/assets?limit=100&count=1${query}`)).text();
		times.push(performance.now() - start);
	}
	server[name] = median(times);
	report(`daemon: ${name}`, `${server[name].toFixed(1)} ms`, 'median of 9, 100 rows and the total');
}

report('load of the machine', loadavg()[0].toFixed(1), 'programs that want a core; figures below hold for that');
const browser = await chromium.launch({ executablePath: browserPath, args: ['--no-sandbox'] });
const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
await firstRow(context, origin);
const opens = [];
for (let i = 0; i < 5; i++) opens.push(await firstRow(context, origin));
report('first contentful paint', ms(median(opens.map(({ paint }) => paint))), 'median of 5');
report('navigation to first row', ms(median(opens.map(({ row }) => row))), `median of 5, worst ${ms(Math.max(...opens.map(({ row }) => row)))}; goal 500 ms`);
const page = await context.newPage();
await page.goto(`${origin}/ui/assets`);
await page.locator('.rows .row .title').first().waitFor();
const before = await memory(page);
const searches = [];
for (const text of ['l', 'la', 'lan', 'lant', 'lantern', 'lantern_03', 'door', 'gate_0', 'rope_01']) searches.push(await typed(page, text));
report('search: key to rows', ms(median(searches)), `median of ${searches.length}, worst ${ms(Math.max(...searches))}; goal 150 ms`);
await page.goto(`${origin}/ui/assets`);
await page.locator('.rows .row .title').first().waitFor();
for (const [name, far] of [['scrolling by steps', false], ['scrolling by jumps over the whole list', true]]) {
	const tasks = await traced(browser, page, far);
	const worst = (kind) => ms(longest(tasks, kind));
	report(name, `${tasks.filter(({ cpu }) => cpu > 50).length} long`, `tasks over 50 ms of processor time, of ${tasks.length}; longest ${worst('cpu')}, on the clock ${worst('wall')}`);
	tellLongest(tasks);
}
await page.locator('.rows .row .title').first().waitFor();
report('memory of the page (JavaScript heap)', mb(await memory(page)), `${mb(before)} before scrolling`);
await browser.close();
await daemon.stop();
if (!process.env.HOB_BENCH_KEEP) rmSync(folder, { recursive: true, force: true });

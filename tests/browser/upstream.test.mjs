/* The pages of a daemon with an upstream or a farm: first with one that answers, then with one that does not. */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { hob, missing, project, withoutDashboard } from './bench.mjs';
import { assertAccessible, objText, openStudio } from './studio.mjs';

describe('the upstream on the cache page', { skip: missing() ?? withoutDashboard() ?? false }, () => {
	let above;
	let below;
	let stopped = false;
	before(async () => {
		above = await openStudio({ 'a.obj': objText(3) });
		await above.sync();
		below = await openStudio({ 'a.obj': objText(3), 'b.obj': objText(5) }, { options: ['--upstream', above.origin] });
		await below.sync();
	});
	after(async () => {
		await below?.close();
		if (stopped) await above.startDaemon();
		await above?.close();
	});

	test('it says what came from there, and since when it is gone', async () => {
		const page = await below.newPage('/ui/cache');
		const panel = page.locator('section[aria-labelledby=upstream]');
		await panel.getByText('Connected').waitFor();
		await panel.getByText(above.origin).waitFor();
		assert.match(await panel.innerText(), /1\s+Fetched/);
		await assertAccessible(page);
		await above.stopDaemon();
		stopped = true;
		below.save('c.obj', objText(7));
		await below.sync();
		await page.reload();
		await panel.getByText('Unreachable or failing; everything is cooked here. Since').waitFor();
		assert.match(await panel.innerText(), /Waiting to be pushed/);
		await assertAccessible(page);
		await page.goto(`${below.origin}/`);
		await page.getByText(/The upstream cache is unreachable .* Until it is back, everything is cooked on this machine\./).waitFor();
		assert.deepEqual(below.complaints, []);
	});
});

/* Starts the PostgreSQL of tests/integration, which prints its address, or why it cannot start; each line on its stdin
 * is a command for it. */
const server = `import sys; sys.path.insert(0, ${JSON.stringify(join(project, 'tests/integration'))})
import farm_servers
if farm_servers.WHY_NOT: sys.exit(print('!' + farm_servers.WHY_NOT))
postgres = farm_servers.Postgres(sys.argv[1])
print(postgres.url, flush=True)
try:
    for line in sys.stdin: getattr(postgres, line.strip())(); print('done', flush=True)
finally: postgres.remove()`;

describe('a farm on the overview', { skip: missing() ?? withoutDashboard() ?? false }, () => {
	let folder;
	let postgres;
	let said;
	let url;
	let studio;
	const next = async () => (await said.next()).value;
	const tell = async (word) => {
		postgres.stdin.write(`${word}\n`);
		assert.equal(await next(), 'done');
	};
	before(async () => {
		folder = mkdtempSync(join(tmpdir(), 'hob-farm-'));
		postgres = spawn('python3', ['-c', server, join(folder, 'pg')], { stdio: ['pipe', 'pipe', 'inherit'] });
		said = createInterface({ input: postgres.stdout })[Symbol.asyncIterator]();
		url = await next();
		if (url.startsWith('!')) return;
		mkdirSync(join(folder, 'blobs'));
		const options = ['--farm-metadata', url, '--farm-blobs', `file://${join(folder, 'blobs')}`];
		execFileSync(hob, ['farm', 'init', ...options]);
		studio = await openStudio({ 'a.obj': objText(3) }, { options });
		await studio.sync();
	});
	after(async () => {
		await studio?.close();
		if (postgres.exitCode === null) {
			postgres.stdin.end();
			await once(postgres, 'exit');
		}
		rmSync(folder, { recursive: true, force: true });
	});

	test('the cache page lists the machines', async (t) => {
		if (url.startsWith('!')) return t.skip(url.slice(1));
		const page = await studio.newPage('/ui/cache');
		const row = page.locator('section[aria-labelledby=machines] tbody tr');
		await row.getByText('this one').waitFor();
		assert.equal(await row.count(), 1);
		await assertAccessible(page);
		if (process.env.HOB_SHOTS) for (const colorScheme of ['light', 'dark']) {
			await page.emulateMedia({ colorScheme });
			await page.screenshot({ path: join(process.env.HOB_SHOTS, `farm-${colorScheme}.png`), fullPage: true });
		}
		assert.deepEqual(studio.complaints, []);
	});

	test('a database that stands still is told beside what is well, and no more when it goes on', async (t) => {
		if (url.startsWith('!')) return t.skip(url.slice(1));
		const page = await studio.newPage('/');
		await page.locator('a.count[href="/ui/errors"]', { hasText: '0' }).waitFor();
		const banner = page.locator('.banner', { hasText: 'The farm is unreachable' });
		assert.equal(await banner.count(), 0);
		await tell('freeze');
		try {
			studio.save('b.obj', objText(5));
			await studio.sync();
			await banner.getByText('Until it is back, everything is cooked on this machine. 1 result is waiting to be uploaded.').waitFor();
			await assertAccessible(page);
			await banner.getByRole('link', { name: 'More' }).click();
			await page.getByRole('heading', { name: 'Farm', exact: true }).waitFor();
			await page.goBack();
		} finally {
			await tell('thaw');
		}
		await banner.waitFor({ state: 'detached' });
		await page.locator('a.count[href="/ui/errors"]', { hasText: '0' }).waitFor();
		assert.deepEqual(studio.complaints, []);
	});
});

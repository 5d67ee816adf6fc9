/* The agents that feed a mirror root: who, from which folder, how they stand, and who sent a model's file. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { hob, missing, withoutDashboard } from './bench.mjs';
import { assertAccessible, objText, openStudio } from './studio.mjs';

describe('agents', { skip: missing() ?? withoutDashboard() ?? false }, () => {
	let folder;
	let studio;
	let page;
	before(async () => {
		folder = mkdtempSync(join(tmpdir(), 'hob-agents-'));
		for (const name of ['feed', 'desk', 'state']) mkdirSync(join(folder, name));
		writeFileSync(join(folder, 'hob.json'), JSON.stringify({ sources: [{ name: 'feed', path: join(folder, 'feed'), mirror: true }] }));
		studio = await openStudio({}, { options: ['--config', join(folder, 'hob.json')], roots: [] });
		writeFileSync(join(folder, 'desk/duck.obj'), objText(2));
	});
	after(async () => {
		await studio?.close();
		rmSync(folder, { recursive: true, force: true });
	});
	const mirror = () => promisify(execFile)(join(dirname(hob), 'hob-agent'),
		[join(folder, 'desk'), studio.origin, '--root', 'feed', '--base', 'anna', '--who', 'anna@PC7', '--once'], { env: { ...process.env, HOB_AGENT_STATE: join(folder, 'state') } });

	test('without agents there is no list of them', async () => {
		page = await studio.newPage('/ui/clients');
		await page.getByRole('heading', { name: 'Clients', exact: true }).waitFor();
		assert.equal(await page.getByRole('region', { name: /^Agents/ }).count(), 0);
	});

	test('an agent is listed with its folder, state and last save', async () => {
		await mirror();
		const row = page.getByRole('region', { name: /^Agents/ }).getByRole('row', { name: /anna@PC7/ });
		await row.getByText('Connected').waitFor();
		for (const text of [join(folder, 'desk'), 'feed/anna', 'anna/duck.obj']) await row.getByText(text).waitFor();
		await assertAccessible(page);
	});

	test('a model says who sent its file', async () => {
		await page.goto(`${studio.origin}/ui/asset/feed/anna/duck.obj?tab=why`);
		await page.getByText('Sent by anna@PC7').waitFor();
		assert.deepEqual(studio.complaints, []);
	});
});

/* A daemon that requires tokens: signing in, the rights of a session, and its end. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { hob, missing, project, withoutDashboard } from './bench.mjs';
import { assertAccessible, objText, openStudio } from './studio.mjs';

describe('signing in', { skip: missing() ?? withoutDashboard() ?? false }, () => {
	let folder;
	let studio;
	let page;
	let reader;
	let writer;
	const tokens = (...words) => execFileSync(hob, ['token', ...words, '--token-file', join(folder, 'tokens')], { encoding: 'utf8' }).trim();
	before(async () => {
		folder = mkdtempSync(join(tmpdir(), 'hob-session-'));
		[reader, writer] = [tokens('create', 'reader'), tokens('create', 'writer', '--write')];
		studio = await openStudio({ 'cube.glb': readFileSync(join(project, 'tests/data/models/simple/BoxVertexColors.glb')), 'a.obj': objText(3) },
			{ options: ['--token-file', join(folder, 'tokens')], token: writer });
		await studio.sync();
		page = await studio.newPage('/ui/assets?q=cube');
	});
	after(async () => {
		await studio?.close();
		rmSync(folder, { recursive: true, force: true });
	});
	const signIn = async (token) => {
		await page.getByLabel('Access token').fill(token);
		await page.keyboard.press('Enter');
	};
	const says = (text) => page.getByText(text).first().waitFor();
	const cookies = async () => (await page.context().cookies()).filter(({ name }) => name.startsWith('hob_'));

	test('the page asks for a token, and says so without a complaint on the console', async () => {
		assert.doesNotMatch(await (await fetch(`${studio.origin}/ui/assets`)).text(), /rel="preload"/);
		await page.getByRole('heading', { name: 'Sign in' }).waitFor();
		assert.equal(await page.getByRole('navigation').count(), 0);
		await assertAccessible(page);
		assert.deepEqual(studio.complaints, []);
	});

	test('a wrong token is told apart, and no cookie is kept', async () => {
		studio.mayComplain = true;
		await signIn('hob_wrong');
		await says('This token is not valid');
		assert.deepEqual(await cookies(), []);
		await assertAccessible(page);
		studio.mayComplain = false;
	});

	test('a token that may read opens the page that was asked for: list, live stream, pictures, 3D view, download; and changes nothing', async () => {
		await signIn(reader);
		await page.locator('.rows .row', { hasText: 'cube.glb' }).waitFor();
		await says('Live');
		await says('Read only');
		const [cookie] = await cookies();
		assert.equal(cookie.name, `hob_${new URL(studio.origin).port}`);
		assert.ok(cookie.httpOnly);
		assert.equal(cookie.sameSite, 'Strict');
		await page.locator('.rows .row', { hasText: 'cube.glb' }).click();
		await page.waitForFunction(() => document.querySelector('.viewer-root')?.parentElement.viewer?.levels);
		const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Download' }).first().click()]);
		assert.ok(readFileSync(await download.path()).length > 100);
		assert.ok(await page.getByRole('button', { name: 'Cook again' }).isDisabled());
		studio.save('a.obj', objText(8));
		await page.goto(`${studio.origin}/ui/assets?q=a.obj`);
		await page.locator('.rows .row .num', { hasText: /^8$/ }).waitFor();
		studio.save('a.obj', objText(9));
		await page.locator('.rows .row .num', { hasText: /^9$/ }).waitFor();
		assert.deepEqual(studio.complaints, []);
	});

	test('a token that is withdrawn is told, also after a reload, and another one goes on', async () => {
		studio.mayComplain = true;
		const tab = await studio.newPage('/ui/assets?q=cube');
		await tab.locator('.rows .row', { hasText: 'cube.glb' }).waitFor();
		tokens('revoke', 'reader');
		for (let signedIn = true; signedIn;) signedIn = (await page.evaluate(() => fetch('/api/v1/session').then((answer) => answer.json()))).scope !== 'none';
		for (const where of [page, tab]) {
			// The page may know already, from an event or the other tab.
			await where.getByRole('link', { name: 'Jobs' }).or(where.getByText('You were signed out')).first().click();
			await where.getByText('You were signed out').waitFor();
		}
		await signIn(writer);
		for (const where of [page, tab]) {
			await where.getByRole('link', { name: 'Jobs' }).click();
			await where.getByRole('heading', { name: 'Finished' }).waitFor();
		}
		await page.getByText('Read only').waitFor({ state: 'detached' });
		await page.goto(`${studio.origin}/ui/asset/art/a.obj`);
		await page.getByRole('button', { name: 'Cook again' }).click();
		await says('Requested');
		await tab.close();
		studio.mayComplain = false;
	});

	test('signing out asks again', async () => {
		await page.getByRole('button', { name: 'Sign out' }).click();
		await page.getByRole('heading', { name: 'Sign in' }).waitFor();
		assert.deepEqual(await cookies(), []);
		await page.reload();
		await page.getByRole('heading', { name: 'Sign in' }).waitFor();
		assert.deepEqual(studio.complaints, []);
	});
});

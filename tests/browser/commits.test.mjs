/* Commits of a repository: the list, and the page of a pull request with 40 changed models. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { missing, project, withoutDashboard } from './bench.mjs';
import { assertAccessible, openStudio } from './studio.mjs';

const noGit = !existsSync(join(dirname(process.env.HOB ?? ''), 'hob-git')) && 'hob-git is built only where libgit2 is installed';

describe('commits', { skip: missing() ?? withoutDashboard() ?? (noGit || false) }, () => {
	const folder = mkdtempSync(join(tmpdir(), 'hob-commits-'));
	const repository = join(folder, 'art.git');
	const git = (...words) => execFileSync('git', ['-C', repository, ...words], { encoding: 'utf8' }).trim();
	let studio;
	let page;
	let main;
	let topic;
	before(async () => {
		execFileSync('python3', [join(project, 'tests/integration/studio_history.py'), repository, '--models', '90', '--commits', '30']);
		[main, topic] = ['main', 'topic'].map((name) => git('rev-parse', name));
		studio = await openStudio({}, { roots: [`git:${repository}`] });
		page = await studio.newPage('/ui/commits');
	});
	after(async () => {
		await studio.close();
		rmSync(folder, { recursive: true });
	});

	test('the list says up to where everything is cooked, and shows no address', async () => {
		await page.locator('#warm', { hasText: `main is warm up to ${main.slice(0, 7)}` }).waitFor();
		const rows = page.locator('.latest li');
		assert.equal(await rows.count(), 30);
		assert.match(await rows.nth(1).textContent(), /Not cooked/);
		assert.doesNotMatch(await page.locator('main').textContent(), /studio\.example/);
		await page.getByRole('link', { name: 'Commits', exact: true }).waitFor();
		await assertAccessible(page);
	});

	test('a pull request with 40 changed models, light and dark', async () => {
		await page.goto(`${studio.origin}/ui/compare?root=art&from=${main}&to=${topic}&ref=topic`);
		await page.locator('#changed', { hasText: '39 changed, 1 new, 1 gone' }).waitFor();
		const rows = page.locator('.latest li');
		assert.equal(await rows.count(), 41);
		const first = await rows.first().textContent();
		assert.match(first, /flag\.obj.*It can be cooked again/);
		await page.locator('li', { hasText: 'hero.obj' }).getByText('Triangles −').waitFor();
		await page.locator('li', { hasText: 'extra.obj' }).getByText('It is new').waitFor();
		await page.locator('.shot').nth(3).waitFor();
		assert.deepEqual(await page.locator('.latest figure').first().locator('xpath=..').locator('figcaption').allTextContents(), ['Before', 'After']);
		const names = page.getByRole('list', { name: 'What changed, by name' });
		assert.equal(await names.getByRole('link').count(), 40);
		await names.getByRole('link').nth(35).click();
		assert.equal(await page.evaluate(() => document.activeElement.closest('.latest > li').getBoundingClientRect().top > 0), true, 'a name leads to its line');
		assert.equal(await page.locator('#moved').count(), 0);
		await assertAccessible(page);
		await page.emulateMedia({ colorScheme: 'dark' });
		await assertAccessible(page);
		await page.emulateMedia({ colorScheme: 'light' });
		await page.locator('li', { hasText: 'hero.obj' }).getByRole('link', { name: 'Compare' }).click();
		await page.getByRole('region', { name: 'Compare two cooks' }).getByText('triangles, was').first().waitFor();
	});

	test('a branch that went on, and one that was rewritten, say so', async () => {
		const tree = git('rev-parse', `${topic}^{tree}`);
		const commit = (parent, subject) => git('-c', 'user.name=Bo', '-c', 'user.email=bo@studio.example', 'commit-tree', tree, '-p', parent, '-m', subject);
		const later = commit(topic, 'Later');
		git('update-ref', 'refs/heads/topic', later);
		const link = `${studio.origin}/ui/compare?root=art&from=${main}&to=${topic}&ref=topic`;
		await page.goto(link);
		await page.locator('#moved', { hasText: `topic has moved on from ${topic.slice(0, 7)} to ${later.slice(0, 7)}` }).waitFor();
		const other = commit(main, 'Other');
		git('update-ref', 'refs/heads/topic', other);
		await studio.get('/api/v1/commits/main');
		studio.mayComplain = true; /* the browser's own words about 404 */
		await page.waitForFunction(() => fetch('/api/v1/commits/topic').then((answer) => answer.json()).then(({ subject }) => subject === 'Other'));
		await page.goto(link);
		await page.locator('#moved', { hasText: `topic was rewritten: ${topic.slice(0, 7)} is in no branch any more. It is at ${other.slice(0, 7)} now` }).waitFor();
		await page.getByText(`no branch or tag leads to the commit ${topic.slice(0, 7)}`).waitFor();
		studio.mayComplain = false;
		await page.getByRole('link', { name: 'Show that' }).click();
		await page.locator('#changed').waitFor();
		assert.match(page.url(), new RegExp(other));
		assert.deepEqual(studio.complaints, []);
	});
});

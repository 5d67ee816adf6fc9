/* Before and after, on the History page: words, numbers and pictures of two cooks, against what was planted. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { missing, project, withoutDashboard } from './bench.mjs';
import { assertAccessible, openStudio } from './studio.mjs';

/* The model of tests/integration/robot.py, after `change`, lines of Python on `made`. */
const python = `import sys; sys.path.insert(0, ${JSON.stringify(join(project, 'tests/integration'))}); import robot, hobtest`;
const run = (lines) => execFileSync('python3', ['-c', `${python}\n${lines}`], { maxBuffer: 1 << 26 });
const robot = (change = 'pass') => run(`made = robot.model()\n${change}\nsys.stdout.write(robot.text(made))`);
const png = (red, green, blue) => run(`sys.stdout.buffer.write(hobtest.png(${red}, ${green}, ${blue}))`);

describe('before and after', { skip: missing() ?? withoutDashboard() ?? false }, () => {
	let studio;
	let page;
	before(async () => {
		studio = await openStudio({ 'robot.gltf': robot(), 'color.png': png(200, 40, 40), 'normal.png': png(128, 50, 220) });
		await studio.sync();
		page = await studio.newPage('/ui/asset/art/robot.gltf?tab=history');
	});
	after(() => studio.close());

	test('an asset cooked once has nothing to compare', async () => {
		await page.getByRole('heading', { name: 'All cooks' }).waitFor();
		assert.equal(await page.locator('#diff').count(), 0);
	});

	test('a save that loses all clips and adds triangles is told in words and numbers, and no loss is green', async () => {
		studio.save('robot.gltf', robot("made['clips'] = {}\nmade['sides']['Body'] = 22"));
		await studio.sync();
		const told = page.locator('.told > li');
		await told.filter({ hasText: "clip 'Walk' is gone" }).waitFor();
		assert.deepEqual(await told.filter({ hasText: 'is gone' }).locator('.state').allTextContents().then((all) => all.map((one) => one.trim())), ['Lost', 'Lost']);
		await told.filter({ hasText: '968 triangles, was 800' }).locator('.tone-warn').waitFor();
		assert.match(await page.locator('tr[data-number=animations]').textContent(), /Clips20−2 \(−100\s%\)/);
		assert.equal(await page.locator('tr[data-number=animations] .tone-bad').count(), 1);
		assert.equal(await page.locator('#diff .tone-good').count(), 0, 'nothing is green where something was lost');
		assert.equal(await page.locator('tr[data-number=materials]').count(), 0, 'what is the same is not listed');
		await page.getByRole('button', { name: 'All numbers' }).click();
		assert.match(await page.locator('tr[data-number=materials]').textContent(), /Materials22same/);
		await page.getByRole('button', { name: 'All numbers' }).click();
	});

	test('the two are drawn beside each other, under a slider, blinking, and as a difference', async (t) => {
		const shot = (name) => page.getByRole('img', { name, exact: true });
		await Promise.race([shot('After').waitFor(), page.getByText('No picture').waitFor()]);
		if (!(await shot('After').count())) return t.skip('this machine cannot draw');
		assert.equal(await shot('Difference').count(), 1);
		const before = await shot('Before').screenshot();
		assert.notDeepEqual(before, await shot('Difference').screenshot());
		await page.getByRole('button', { name: 'Slider' }).click();
		const slider = page.getByLabel('How much of the earlier cook is shown');
		await slider.fill('100');
		assert.match(await page.locator('.over .shot').last().getAttribute('style'), /100%/);
		await page.getByRole('button', { name: 'Blink' }).click();
		await shot('Before').or(shot('After')).waitFor();
		await page.getByRole('button', { name: 'Difference' }).click();
		await page.getByText('marks the largest difference').waitFor();
		await page.getByLabel('Seen from').selectOption('top');
		await shot('Difference').waitFor();
		await page.getByRole('button', { name: 'Side by side' }).click();
		await shot('After').waitFor();
		const rest = await shot('Before').screenshot();
		await page.getByLabel('Pose').selectOption('Wave');
		await page.getByText("At the time in the clip 'Wave' where the two differ most").waitFor();
		await shot('Before').waitFor();
		assert.notDeepEqual(await shot('Before').screenshot(), rest, 'the arm is turned');
		await assertAccessible(page);
	});

	test('two cooks are picked, and the same content in another file shows nothing', async () => {
		studio.save('robot.gltf', robot("made['clips'] = {}\nmade['sides']['Body'] = 22\nmade['indent'] = 1"));
		await studio.sync();
		const [from, to] = [page.locator('.pickers select').first(), page.locator('.pickers select').last()];
		const option = from.locator('option');
		await option.nth(2).waitFor({ state: 'attached' });
		const options = await option.evaluateAll((all) => all.map(({ value }) => value));
		await from.selectOption(options[1]);
		await to.selectOption(options[0]);
		await page.getByText('No differences: both cooks gave the same result.').waitFor();
		await to.selectOption(options.at(-1));
		await page.locator('.told > li', { hasText: "clip 'Walk' is new" }).waitFor();
		assert.deepEqual(studio.complaints, []);
	});
});

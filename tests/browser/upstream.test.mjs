/* The cache page of a daemon with an upstream: one that answers, then one that does not. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { missing, withoutDashboard } from './bench.mjs';
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
		await panel.getByText('Answers').waitFor();
		await panel.getByText(above.origin).waitFor();
		assert.match(await panel.innerText(), /1\s+Fetched from it/);
		await assertAccessible(page);
		await above.stopDaemon();
		stopped = true;
		below.save('c.obj', objText(7));
		await below.sync();
		await page.reload();
		await panel.getByText('Does not answer; everything is cooked here, since').waitFor();
		assert.match(await panel.innerText(), /Waiting to be pushed/);
		await assertAccessible(page);
		assert.deepEqual(below.complaints, []);
	});
});

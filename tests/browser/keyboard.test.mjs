/* The whole page by keyboard: from the overview to a model's picture and its settings, without a pointer; and what is seen of a list without one. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { missing, project, withoutDashboard } from './bench.mjs';
import { objText, openStudio } from './studio.mjs';

const chest = join(project, 'tests/data/models/dungeon');
const files = { 'props/chest.obj': readFileSync(join(chest, 'chest_gold.obj')), 'props/chest_gold.mtl': readFileSync(join(chest, 'chest_gold.mtl')), 'props/dungeon_texture.png': readFileSync(join(chest, 'dungeon_texture.png')),
	'broken.obj': 'v 0 0 0\nf 1 2 3\n', ...Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`many/a_very_long_name_of_a_model_that_somebody_exported_${i}.obj`, objText(i + 3)])) };

describe('without a pointer', { skip: missing() ?? withoutDashboard() ?? false }, () => {
	let studio;
	let page;
	before(async () => {
		studio = await openStudio(files);
		await studio.sync();
		page = await studio.newPage('/');
		await page.locator('.counts').waitFor();
	});
	after(() => studio.close());

	const focused = () => page.evaluate(() => {
		const at = document.activeElement;
		const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(at);
		const { width, height } = at.getBoundingClientRect();
		return { words: (at.getAttribute('aria-label') ?? at.textContent ?? '').trim().replace(/\s+/g, ' ').slice(0, 60), tag: at.tagName, href: at.getAttribute('href'),
			seen: at === document.body || width * height === 0 || (outlineStyle !== 'none' && outlineWidth !== '0px') || boxShadow !== 'none' };
	});
	/* Presses Tab until the focus is on what is looked for; nothing on the way may have it unseen. */
	const reach = async (what, key = 'Tab', most = 120) => {
		for (let i = 0; i < most; i++) {
			await page.keyboard.press(key);
			const at = await focused();
			assert.ok(at.seen, `the focus on ${JSON.stringify(at)} is not seen`);
			if (what(at)) return at;
		}
		throw new Error(`Tab does not reach it: ${what}`);
	};

	test('from the overview to a problem, to a model, its picture and its tabs', async () => {
		await reach(({ words }) => words === 'Skip to content');
		await page.keyboard.press('Enter');
		await reach(({ href }) => href === '/ui/errors', 'Tab');
		await page.keyboard.press('Enter');
		await page.getByRole('heading', { name: /face names vertex|vertex/i }).first().waitFor();
		await page.keyboard.press('?');
		await page.getByRole('dialog', { name: 'Keys' }).waitFor();
		await page.keyboard.press('Escape');
		await page.getByRole('dialog', { name: 'Keys' }).waitFor({ state: 'hidden' });
		await reach(({ href }) => href === '/ui/assets', 'Shift+Tab');
		await page.keyboard.press('Enter');
		await page.locator('.rows .row .title').first().waitFor();
		await page.keyboard.press('/');
		await page.keyboard.type('chest');
		await page.waitForFunction(() => document.querySelectorAll('.rows .row .title').length === 1);
		await page.keyboard.press('ArrowDown');
		await page.keyboard.press('Enter');
		await page.waitForFunction(() => document.querySelector('.viewer-root')?.parentElement.viewer?.undo);
		const angle = () => page.evaluate(() => document.querySelector('.viewer-root').parentElement.viewer.stage.controls.getAzimuthalAngle());
		await reach(({ tag }) => tag === 'CANVAS');
		const before = await angle();
		await page.keyboard.press('ArrowLeft');
		assert.notEqual(await angle(), before);
		await page.keyboard.press('w');
		await page.locator('.viewer-full').waitFor();
		await page.keyboard.press('Escape');
		await page.locator('.viewer-full').waitFor({ state: 'detached' });
		await reach(({ href }) => /tab=settings$/.test(href ?? ''), 'Tab', 200);
		await page.keyboard.press('Enter');
		await page.getByRole('searchbox', { name: 'Search settings' }).waitFor();
	});

	test('every control of every page is reached by Tab', async () => {
		await page.evaluate(() => addEventListener('focusin', ({ target }) => (target.reached = true)));
		for (const path of ['/', '/ui/assets', '/ui/errors', '/ui/library', '/ui/jobs', '/ui/cache', '/ui/clients', '/ui/log', '/ui/settings']) {
			await page.evaluate((to) => {
				history.pushState(null, '', to);
				dispatchEvent(new PopStateEvent('popstate'));
				document.activeElement?.blur();
			}, path);
			await page.locator('main h1').first().waitFor();
			const missed = () => page.evaluate(() => [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]')]
				.filter((each) => !each.reached && each.tabIndex >= 0 && !each.disabled && each.checkVisibility() && !each.closest('dialog:not([open])'))
				.filter((each) => each.type !== 'radio' || each.checked).map((each) => each.outerHTML.slice(0, 120)));
			/* twice around, since a page may still fill */
			for (let i = 0, rounds = 0; i < 400 && rounds < 2; i++) {
				await page.keyboard.press('Tab');
				rounds += await page.evaluate(() => document.activeElement === document.body);
			}
			assert.deepEqual(await missed(), [], path);
		}
	});

	for (const width of [390, 768]) test(`at ${width} pixels a list shows the number that it is sorted by, and names keep their words whole`, async () => {
		await page.setViewportSize({ width, height: 844 });
		await page.goto(`${studio.origin}/ui/assets?sort=-triangles`);
		await page.locator('.rows .row .title').nth(5).waitFor();
		const rows = await page.evaluate(() => [...document.querySelectorAll('.rows .row')].filter((row) => row.querySelector('.title')).slice(0, 6).map((row) => {
			const shown = [...row.querySelectorAll('.sorted, .num')].filter((each) => each.checkVisibility()).map((each) => each.textContent).join(' ');
			const title = row.querySelector('.title');
			return { shown, lines: Math.round(title.getBoundingClientRect().height / 20), wide: row.getBoundingClientRect().right <= innerWidth + 1 };
		}));
		for (const { shown, lines, wide } of rows) {
			assert.match(shown, /\d/);
			assert.equal(lines, 1, 'a name is cut at its end, not broken inside');
			assert.ok(wide, 'no row is wider than the window');
		}
		await page.setViewportSize({ width: 1280, height: 900 });
	});

	test('boxes to select stand beside the picture, and only where somebody points', async () => {
		await page.goto(`${studio.origin}/ui/assets`);
		await page.locator('.rows .row .title').first().waitFor();
		await page.mouse.move(2, 2);
		const look = () => page.evaluate(() => {
			const row = [...document.querySelectorAll('.rows .row')].find((each) => each.querySelector('.title') && each.tabIndex !== 0);
			const [pick, thumb, whole] = ['.pick input', '.thumb', null].map((each) => (each ? row.querySelector(each) : row).getBoundingClientRect());
			return { opacity: getComputedStyle(row.querySelector('.pick')).opacity, over: pick.right > thumb.left + 1, inside: pick.left >= whole.left - 1, at: [whole.left + 300, whole.top + 24] };
		});
		const without = await look();
		assert.equal(without.opacity, '0');
		await page.mouse.move(...without.at);
		const pointed = await look();
		assert.deepEqual({ opacity: pointed.opacity, over: pointed.over, inside: pointed.inside }, { opacity: '1', over: false, inside: true });
		assert.deepEqual(studio.complaints, []);
	});
});

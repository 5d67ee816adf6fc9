/* The comparison on the History page: words, numbers and pictures of two cooks, against planted changes. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { missing, project, withoutDashboard } from './bench.mjs';
import { assertAccessible, openStudio } from './studio.mjs';

/* The model of tests/integration/robot.py after each of `changes`, lines of Python on `made`. One process makes all of
 * them, because it takes longer to start than to make a model. */
const changes = {
	none: 'pass', fewer: "made['clips'] = {}\nmade['sides']['Body'] = 22",
	'fewer, indented': "made['clips'] = {}\nmade['sides']['Body'] = 22\nmade['indent'] = 1", indented: "made['indent'] = 1",
};
const colours = { red: [200, 40, 40], normal: [128, 50, 220], flipped: [128, 206, 220] };
const makeAll = `import base64, json, sys; sys.path.insert(0, ${JSON.stringify(join(project, 'tests/integration'))}); import robot, hobtest
given, out = json.load(sys.stdin), {}
for name, change in given["changes"].items():
	made = robot.model()
	exec(change)
	out[name] = robot.text(made)
colours = {name: base64.b64encode(hobtest.png(*colour)).decode() for name, colour in given["colours"].items()}
json.dump({"robots": out, "colours": colours}, sys.stdout)`;
function makeFiles() {
	for (const [name, { change }] of Object.entries(planted)) if (change) changes[name] = change;
	const { robots, colours: pngs } = JSON.parse(execFileSync('python3', ['-c', makeAll], { input: JSON.stringify({ changes, colours }), maxBuffer: 1 << 27 }));
	return { robot: (name = 'none') => robots[name], png: (name) => Buffer.from(pngs[name], 'base64') };
}

/* Number of pixels in the difference picture for each colour of its legend. */
async function coloursOf() {
	const url = /url\("(.*)"\)/.exec(document.querySelector('.shot').style.backgroundImage)[1];
	const strip = await createImageBitmap(await (await fetch(url)).blob());
	const side = strip.height;
	const paper = new OffscreenCanvas(side, side).getContext('2d');
	paper.drawImage(strip, 2 * side, 0, side, side, 0, 0, side, side);
	const { data } = paper.getImageData(0, 0, side, side);
	const found = { red: 0, blue: 0 };
	for (let at = 0; at < data.length; at += 4)
		if (data[at + 3] === 255) {
			found.red += data[at] > 200 && data[at + 2] < 60;
			found.blue += data[at + 2] === 235;
		}
	return found;
}

/* Planted changes: the words for each, the number that changes and in which direction, and the colour in its picture.
 * beside: another file; settings: those of the model. */
const planted = {
	'a lost clip': { change: "del made['clips']['Wave']", told: "clip 'Wave' is gone", number: 'animations', tone: 'warn' },
	'a longer clip': { change: "made['clips']['Walk'] = (1, 'translation', [0, 0, 0, 0, 0.5, 0, 0, 0, 0], [0, 0.5, 3])", told: "clip 'Walk' lasts 3 s, was 1 s", number: 'animation_seconds' },
	'a flipped normal map': { beside: ['normal.png', 'flipped'], told: '(normal) shows another picture', number: 'differing_textures' },
	'a missing texture': { beside: ['color.png', null], told: 'cannot be read: a checkerboard replaces it', number: 'missing_textures', tone: 'bad' },
	'more triangles': { change: "made['sides']['Arm'] = 11", told: '242 triangles, was 128', number: 'triangles', tone: 'warn' },
	'a moved node': { change: "made['nodes'][2]['translation'] = [1.5, 0.5, 0.25]", told: "'arm' is moved by 0.25 m", number: 'largest_move' },
	'a turned node': { change: "made['nodes'][2]['rotation'] = [0, 0.3826834, 0, 0.9238795]", told: "'arm' is turned by 45 degrees", number: 'largest_turn' },
	'a renamed material': { change: "made['materials'][0]['name'] = 'Iron'", told: "'Steel' is called material 'Iron' now", number: 'renamed_parts', tone: 'warn', colour: 'blue' },
	'a coarser level': { settings: { lods: { ratio: 0.2 } }, told: "mesh 'Body'", number: 'differing_meshes' },
	'lost vertex colours': { change: "made['colors'] = False", told: 'lost its vertex colours', number: 'differing_meshes' },
	'other paint': { change: "made['materials'][1]['pbrMetallicRoughness']['baseColorFactor'] = [0.5, 0.1, 0.1, 1]", told: 'base_color [0.5,0.1,0.1,1]', number: 'differing_materials' },
	'a lost normal texture': { change: "del made['materials'][0]['normalTexture']", told: 'lost its normal texture', number: 'textures', tone: 'warn' },
};

describe('before and after', { skip: missing() ?? withoutDashboard() ?? false }, () => {
	let studio;
	let page;
	let robot;
	let png;
	before(async () => {
		({ robot, png } = makeFiles());
		studio = await openStudio({ 'robot.gltf': robot(), 'color.png': png('red'), 'normal.png': png('normal') });
		await studio.sync();
		page = await studio.newPage('/ui/asset/art/robot.gltf?tab=history');
	});
	after(() => studio.close());

	test('an asset cooked once has nothing to compare', async () => {
		await page.getByRole('heading', { name: 'All cooks' }).waitFor();
		assert.equal(await page.locator('#diff').count(), 0);
	});

	test('a save that loses all clips and adds triangles is told in words and numbers, and no loss is green', async () => {
		studio.save('robot.gltf', robot('fewer'));
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
		studio.save('robot.gltf', robot('fewer, indented'));
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
	});

	test('each of twelve planted changes is seen in words, in numbers and in a picture; what was only cooked again is not', async (t) => {
		const folderOf = (name) => name.replaceAll(' ', '_');
		const names = [...Object.keys(planted), 'nothing'];
		for (const name of names) {
			studio.save(`${folderOf(name)}/robot.gltf`, robot());
			studio.save(`${folderOf(name)}/color.png`, png('red'));
			studio.save(`${folderOf(name)}/normal.png`, png('normal'));
		}
		await studio.sync();
		studio.save('nothing/robot.gltf', robot('indented'));
		for (const [name, { change, beside, settings }] of Object.entries(planted)) {
			const folder = folderOf(name);
			if (change) studio.save(`${folder}/robot.gltf`, robot(name));
			if (beside?.[1]) studio.save(`${folder}/${beside[0]}`, png(beside[1]));
			else if (beside) rmSync(join(studio.art, folder, beside[0]));
			if (settings) studio.save(`${folder}/robot.gltf.cook.json`, JSON.stringify(settings));
		}
		await studio.sync();
		/* Small pictures: they show differences, too, and drawing is slow. */
		await page.route('**/compare/picture*', (route) => route.continue({ url: route.request().url().replace('size=512', 'size=128') }));
		const open = (name) => page.goto(`${studio.origin}/ui/asset/art/${folderOf(name)}/robot.gltf?tab=history`);
		for (const [name, { told, number, tone = 'work', colour = 'red' }] of Object.entries(planted))
			await t.test(name, async () => {
				await open(name);
				await page.locator('.told > li', { hasText: told }).first().waitFor();
				if (name === 'a coarser level') await page.getByText('the pictures show the coarsest ones').waitFor();
				assert.equal(await page.locator(`tr[data-number=${number}] .tone-${tone}`).count(), 1, `${number} is ${tone}`);
				const found = await page.waitForFunction(() => document.querySelector('.shot')?.style.backgroundImage || document.querySelector('.pictures')?.innerText.includes('No picture'));
				if ((await found.jsonValue()) === true) return; // pictures cannot be drawn on this machine
				let colours;
				for (const view of ['corner', 'top', 'left']) {
					await page.getByLabel('Seen from').selectOption(view);
					await page.waitForFunction((wanted) => document.querySelector('.shot')?.style.backgroundImage.includes(`view=${wanted}`), view);
					colours = await page.evaluate(coloursOf);
					if (colours[colour] > 5) break;
				}
				assert.ok(colours[colour] > 5, JSON.stringify(colours));
				if (colour === 'blue') assert.equal(colours.red, 0, 'a name is not seen in it');
			});
		await t.test('the same, cooked again', async () => {
			await open('nothing');
			const from = page.locator('.pickers select').first();
			await from.locator('option').nth(1).waitFor({ state: 'attached' });
			await from.selectOption(await from.locator('option').nth(1).getAttribute('value'));
			await page.getByText('No differences: both cooks gave the same result.').waitFor();
			assert.deepEqual([await page.locator('.told > li').count(), await page.locator('.shot').count(), await page.locator('#diff table').count()], [0, 0, 0]);
		});
	});

	test('nothing was complained about on the console', () => assert.deepEqual(studio.complaints, []));
});

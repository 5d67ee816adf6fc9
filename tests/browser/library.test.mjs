/* The library: textures, materials, clips, features, folders, and one search over all; each question of a technical artist
 * in three clicks or one search. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { readFileSync, rmSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { missing, project, withoutDashboard } from './bench.mjs';
import { assertAccessible, objText, openStudio } from './studio.mjs';

const picture = readFileSync(join(project, 'docs/pictures/overview.png'));
const painted = (...names) => ['mtllib paint.mtl', ...names.map((name) => `usemtl ${name}`), objText(3)].join('\n');
const geometry = Buffer.from(new Float32Array([0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1.5, 0, 0, 0, 1, 0, 0]).buffer);
const data = `data:application/octet-stream;base64,${geometry.toString('base64')}`;

/** A model with a clip and an extension. */
const walker = JSON.stringify({ asset: { version: '2.0' }, extensionsUsed: ['KHR_texture_transform'], scenes: [{ nodes: [0] }], nodes: [{ mesh: 0 }], buffers: [{ uri: data, byteLength: 68 }],
	bufferViews: [[0, 36], [36, 8], [44, 24]].map(([byteOffset, byteLength]) => ({ buffer: 0, byteOffset, byteLength })),
	accessors: [{ bufferView: 0, componentType: 5126, count: 3, type: 'VEC3', min: [0, 0, 0], max: [1, 1, 0] }, { bufferView: 1, componentType: 5126, count: 2, type: 'SCALAR', min: [0], max: [1.5] }, { bufferView: 2, componentType: 5126, count: 2, type: 'VEC3' }],
	materials: [{ name: 'Coat "best"' }], meshes: [{ primitives: [{ attributes: { POSITION: 0 }, material: 0 }] }],
	animations: [{ name: 'Walk', channels: [{ sampler: 0, target: { node: 0, path: 'translation' } }], samplers: [{ input: 1, output: 2 }] }] });

describe('the library', { skip: missing() ?? withoutDashboard() ?? false }, () => {
	let studio;
	let page;
	before(async () => {
		const mtl = (path) => `newmtl wood\nmap_Kd ${path}\n`;
		studio = await openStudio({ 'tex/wood.png': picture, 'paint.mtl': mtl('tex/wood.png'), 'one.obj': painted('wood'), 'two.obj': painted('wood'),
			'deep/paint.mtl': mtl('stone.png'), 'deep/stone.png': picture, 'deep/three.obj': painted('wood'), 'deep/cook.json': '{"texture.max_size": 64}', 'plain.obj': objText(2), 'walk.gltf': walker });
		await studio.sync();
		page = await studio.newPage('/ui/textures');
	});
	after(() => studio.close());
	const rows = (kind = 'textures') => page.locator(`table.library.${kind} tbody tr`);
	const tab = (name) => page.getByRole('navigation', { name: 'Library' }).getByRole('link', { name }).click();
	const listed = async (...names) => {
		await page.waitForFunction((count) => document.querySelectorAll('.rows .row').length === count, names.length);
		assert.deepEqual((await page.locator('.rows .row .title').allTextContents()).map((text) => text.trim()), names);
	};

	test('which models use this texture', async () => {
		await page.getByText('2 textures', { exact: true }).waitFor();
		assert.deepEqual((await rows().allInnerTexts()).map((text) => /(\w+\.png)[\s\S]*?(\d+) assets?/.exec(text).slice(1).join(' ')), ['stone.png 1', 'wood.png 2']);
		await assertAccessible(page);
		await rows().filter({ hasText: 'wood.png' }).getByRole('link', { name: '2 assets' }).click();
		await listed('one.obj', 'two.obj');
		await assertAccessible(page);
		await page.locator('.chip', { hasText: 'art/tex/wood.png' }).click();
		await page.waitForFunction(() => document.querySelectorAll('.rows .row').length === 5);
	});

	test('why is it blurry: the sizes, the setting, and where it is set', async () => {
		await page.goto(`${studio.origin}/ui/textures`);
		await page.locator('select').filter({ hasText: 'Most scaled down first' }).selectOption('-cut');
		await rows().first().filter({ hasText: 'stone.png' }).filter({ hasText: 'scaled down' }).waitFor();
		await rows().first().getByRole('button').click();
		const held = page.locator('.held');
		await held.getByText('texture.max_size').waitFor();
		await held.getByText('deep/cook.json').waitFor();
		assert.match(await held.innerText(), /in the source, 64 × \d+ as cooked, by the setting/);
		await page.waitForFunction(() => document.querySelector('.held img.texture')?.naturalWidth > 0);
		await held.getByRole('link', { name: 'deep/three.obj' }).waitFor();
		await assertAccessible(page);
		await held.getByRole('link', { name: 'Change it' }).click();
		await page.locator('.tabs [aria-current=page]', { hasText: 'Settings' }).waitFor();
	});

	test('materials, clips and features lead to their models', async () => {
		await page.goto(`${studio.origin}/ui/textures`);
		await tab('Materials');
		await page.getByText('3 materials', { exact: true }).waitFor();
		await rows('materials').filter({ hasText: 'Coat "best"' }).getByRole('link', { name: '1 asset' }).click();
		await listed('walk.gltf');
		await page.goto(`${studio.origin}/ui/clips`);
		await rows('clips').filter({ hasText: 'Walk' }).filter({ hasText: '1.5' }).getByRole('link', { name: '1 asset' }).click();
		await listed('walk.gltf');
		await page.goto(`${studio.origin}/ui/features`);
		await assertAccessible(page);
		await rows('features').filter({ hasText: 'No texture coordinates' }).getByRole('link', { name: '5 assets' }).click();
		await listed('three.obj', 'one.obj', 'plain.obj', 'two.obj', 'walk.gltf');
	});

	test('what is heaviest by folder', async () => {
		await page.goto(`${studio.origin}/ui/textures`);
		await tab('Folders');
		await page.getByText('2 folders', { exact: true }).waitFor();
		await rows('folders').first().filter({ hasText: '5 assets' }).waitFor();
		await rows('folders').filter({ hasText: 'deep' }).getByRole('link', { name: '1 asset' }).click();
		await listed('three.obj');
	});

	test('one search finds assets, textures, materials, clips and features', async () => {
		await page.goto(studio.origin);
		await page.keyboard.press('/');
		await page.waitForURL('**/ui/search');
		await assertAccessible(page);
		await page.locator('.search input:focus').waitFor();
		for (const [words, found] of [['texture_transform', /Features[\s\S]*KHR_texture_transform[\s\S]*1 asset/], ['wood', /Textures[\s\S]*wood\.png[\s\S]*Materials[\s\S]*wood[\s\S]*3 assets/],
			['walk', /Assets[\s\S]*walk\.gltf[\s\S]*Clips[\s\S]*Walk/], ['deep', /Folders[\s\S]*deep/]]) {
			await page.locator('.search input').fill(words);
			await page.waitForFunction((source) => new RegExp(source).test(document.querySelector('.found')?.innerText ?? ''), found.source);
		}
		await assertAccessible(page);
		await page.locator('.search input').fill('nothing at all');
		await page.getByText('Nothing has these words.').waitFor();
		await page.locator('.search input').fill('texture_transform');
		await page.locator('.found').getByRole('link', { name: 'KHR_texture_transform' }).click();
		await listed('walk.gltf');
	});

	test('assets as pictures, and when a problem began', async () => {
		await page.goto(`${studio.origin}/ui/assets`);
		await page.getByRole('button', { name: 'Pictures' }).click();
		await page.waitForFunction(() => document.querySelectorAll('.gallery .card').length === 5);
		await assertAccessible(page);
		await page.waitForFunction(() => [...document.querySelectorAll('.gallery .card img')].some((image) => image.naturalWidth === 256));
		studio.save('broken.gltf', '{');
		await page.locator('.gallery .card', { hasText: 'broken.gltf' }).filter({ hasText: 'Broken' }).waitFor();
		await page.goto(`${studio.origin}/ui/errors`);
		await page.locator('.affected li', { hasText: 'broken.gltf' }).locator('.when time').waitFor();
		await assertAccessible(page);
		rmSync(join(studio.art, 'broken.gltf'));
		await page.goto(`${studio.origin}/ui/assets?view=gallery`);
		await page.locator('.gallery .card', { hasText: 'walk.gltf' }).click();
		await page.waitForURL('**/ui/asset/art/walk.gltf');
	});

	test('search, order, and a save while the page is open', async () => {
		await page.goto(`${studio.origin}/ui/textures`);
		await page.getByPlaceholder('Search textures').fill('wood');
		await page.waitForFunction(() => document.querySelectorAll('table.textures tbody tr').length === 1);
		studio.save('four.obj', painted('wood'));
		await rows().getByRole('link', { name: '3 assets' }).waitFor();
		await page.getByPlaceholder('Search textures').fill('nothing');
		await page.getByText('No matches').waitFor();
		await page.getByPlaceholder('Search textures').fill('');
		await page.locator('select').filter({ hasText: 'Most used first' }).selectOption('-users');
		await rows().first().filter({ hasText: 'wood.png' }).waitFor();
		for (const name of ['one.obj', 'two.obj', 'four.obj']) rmSync(join(studio.art, name));
		await page.getByText('1 texture', { exact: true }).waitFor();
		assert.deepEqual(studio.complaints, []);
	});
});

/* The 3D view of an asset's page, as the daemon serves it: it shows the source as three.js does, follows saves, keeps
 * the last good picture, and works by keyboard. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import axe from 'axe-core';
import pixelmatch from 'pixelmatch';
import pngjs from 'pngjs';
import { corpus, missing, project, saveFile, scaledGlb, setUp } from './bench.mjs';
import { always, fromCorpus } from './models.mjs';

const side = 256;
/* Pixels of 65,536 with antialiased edges, values in 1/255; for the reasons in pictures.test.mjs. */
const limits = { off: 8, rest: 0.35 };
const keep = process.env.HOB_PICTURES;
const wanted = process.env.HOB_MODELS?.split(',');
/* Skipped: the view has no Draco decoder, and does not derive data by itself. */
const left = ['duck-draco', 'fox-rest', 'fox-running', 'clearcoat'];
/* Only in the long form, HOB_LONG=1: others of their kind are tested already. */
if (process.env.HOB_LONG !== '1') left.push('morph-rest', 'skin-rest', 'duck-quantized', 'negative-scale', 'linear-interpolation', 'texture-encoding', 'cube');
const chosen = [
	...always.map((model) => ({ ...model, from: join(project, 'tests/data/models', model.from) })),
	...(existsSync(corpus) ? fromCorpus.map((model) => ({ ...model, from: join(corpus, model.from) })) : []),
].filter(({ name }) => (wanted ? wanted.includes(name) : !left.includes(name)));
const extra = [{ name: 'watched', from: join(project, 'tests/data/models/simple/BoxVertexColors.glb') },
	{ name: 'skinned', from: join(project, 'tests/data/models/simple/SimpleSkin.gltf') },
	{ name: 'barrel', from: join(project, 'tests/data/models/dungeon/barrel_large_decorated.obj') },
	{ name: 'textured', from: join(project, 'tests/data/models/simple/TextureCoordinateTest.gltf') }];
const profile = { lods: { max: 4 }, meshlets: true, vertices: 'float32', texture: { encoding: 'rgba8', max_size: 16384 } };
const read = (url) => pngjs.PNG.sync.read(Buffer.from(url.split(',')[1], 'base64'));

function compare(a, b) {
	const mask = Buffer.alloc(a.data.length);
	const off = pixelmatch(a.data, b.data, mask, side, side, { threshold: 0.1, includeAA: true, diffMask: true });
	let rest = 0;
	let drawn = 0;
	for (let i = 0; i < a.data.length; i += 4) {
		if (!mask[i + 3]) for (let k = 0; k < 3; k++) rest += (a.data[i + k] - b.data[i + k]) ** 2;
		if ([0, 1, 2].some((k) => a.data[i + k] !== a.data[k])) drawn++;
	}
	return { off, drawn, rest: Math.sqrt(rest / (side * side * 3)) };
}

/* Runs in the page: projects every drawn vertex in its pose. `inside` is the outermost (1 = the border), `fills` the
 * share of the view's width or height, whichever is larger. */
function fillOfView(v) {
	const { camera } = v.stage;
	const at = v.box.min.clone();
	const low = [Infinity, Infinity];
	const high = [-Infinity, -Infinity];
	camera.updateMatrixWorld();
	v.model.updateMatrixWorld(true);
	v.model.traverse((object) => {
		if (!object.geometry?.attributes?.position || !object.visible) return;
		const instances = object.isInstancedMesh ? object.count : 1;
		const place = object.matrixWorld.clone();
		for (let instance = 0; instance < instances; instance++) {
			const world = object.matrixWorld.clone();
			if (object.isInstancedMesh) {
				object.getMatrixAt(instance, place);
				world.multiply(place);
			}
			for (let i = 0; i < object.geometry.attributes.position.count; i++) {
				if (object.getVertexPosition) object.getVertexPosition(i, at);
				else at.fromBufferAttribute(object.geometry.attributes.position, i);
				at.applyMatrix4(world).project(camera);
				for (const k of [0, 1]) {
					low[k] = Math.min(low[k], at.getComponent(k));
					high[k] = Math.max(high[k], at.getComponent(k));
				}
			}
		}
	});
	return { inside: Math.max(...low.map(Math.abs), ...high.map(Math.abs)), fills: Math.max(high[0] - low[0], high[1] - low[1]) / 2 };
}

describe('the 3D view', { skip: missing() ?? false }, () => {
	let bench;
	let page;
	let debug;
	before(async () => {
		bench = await setUp({ art: profile }, [...chosen, ...extra]);
		page = bench.page;
		debug = await page.context().newCDPSession(page);
		/* A small window, since software rendering is slow. */
		await page.setViewportSize({ width: 400, height: 360 });
		page.on('console', (message) => message.type() === 'error' && bench.complaints.push(message.text()));
	});
	after(() => bench.tearDown());

	/* Changes pages without loading, as the dashboard does. */
	const open = async (name, file) => {
		const address = `${bench.dashboard}art/${name}/${file}`;
		if (page.url().startsWith(bench.dashboard)) await page.evaluate((to) => {
			history.pushState(null, '', to);
			dispatchEvent(new PopStateEvent('popstate'));
		}, address);
		else await page.goto(address);
		await page.waitForFunction((path) => {
			const viewer = document.querySelector('.viewer-root')?.parentElement.viewer;
			return viewer?.asset.path === path && viewer.levels && !viewer.message;
		}, `${name}/${file}`);
	};
	/* Through the debugger, because the page's content security policy forbids evaluating text. */
	const evaluate = async (expression) => {
		const { result, exceptionDetails } = await debug.send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
		assert.equal(exceptionDetails?.exception?.description ?? exceptionDetails?.text, undefined);
		return result.value;
	};
	const viewer = (run, argument) => evaluate(`(${run})(document.querySelector('.viewer-root').parentElement.viewer, ${JSON.stringify(argument ?? null)})`);
	const picture = () => viewer((v) => v.capture('cooked', 128));
	/* The view's messages disappear again, so they are recorded from before a save until one appears. */
	const updated = async (save) => {
		await viewer((v) => {
			v.told = [];
			v.ear = v.changes.follow(() => v.told.push(v.message));
		});
		await save();
		await page.waitForFunction(() => document.querySelector('.viewer-root').parentElement.viewer.told.some((words) => /^Updated \d{1,2}:\d\d/.test(words)));
		await viewer((v) => v.ear());
	};

	test('the renderer is the one the limits were made for', async () => {
		await open('watched', 'model.glb');
		assert.match(await viewer((v) => {
			const gl = v.stage.renderer.getContext();
			return gl.getParameter(gl.getExtension('WEBGL_debug_renderer_info')?.UNMASKED_RENDERER_WEBGL ?? gl.RENDERER);
		}), /llvmpipe/);
	});

	for (const model of chosen) {
		const file = extname(model.from) === '.glb' ? 'model.glb' : basename(model.from);
		test(`shows what three.js shows of the source: ${model.name}`, async () => {
			await open(model.name, file);
			const { inside, fills } = await viewer(fillOfView);
			assert.ok(inside <= 0.99 && fills >= 0.5, `the model fills ${fills.toFixed(2)} of the view and reaches ${inside.toFixed(2)} of its half`);
			const found = await viewer(async (v, m) => {
				/* As in page.mjs: no mip chains, single precision, tangents derived in the shader on both sides. */
				const plain = { 1004: 1003, 1005: 1003, 1007: 1006, 1008: 1006 };
				const dropMips = (group) => group.traverse(({ material }) => {
					for (const texture of Object.values(material ?? {}).filter((value) => value?.isTexture)) {
						texture.minFilter = plain[texture.minFilter] ?? texture.minFilter;
						texture.generateMipmaps = false;
						if (texture.mipmaps?.length > 1) texture.mipmaps = texture.isCompressedTexture ? texture.mipmaps.slice(0, 1) : [];
						texture.needsUpdate = true;
					}
				});
				if (v.model.userData.cooked.geometry.meshes.some(({ flags }) => flags & 64)) {
					v.loader.generatedTangents = false; // constants.MESH_GENERATED_TANGENTS
					await v.reload();
				}
				dropMips(v.model);
				await v.setCompare(true);
				if (!v.source) return { error: v.message };
				dropMips(v.source);
				v.source.traverse(({ position, quaternion, scale }) => {
					quaternion.normalize();
					for (const value of [position, quaternion, scale]) value.fromArray(value.toArray().map(Math.fround));
				});
				if (m.clip !== undefined) v.clips.choose(m.clip, { time: m.time });
				v.stage.fit(v.model, v.box);
				const out = { source: v.capture('source', m.side), cooked: v.capture('cooked', m.side), problems: v.problems };
				await v.setCompare(false);
				return out;
			}, { ...model, side });
			assert.equal(found.error, undefined);
			if (keep) {
				mkdirSync(keep, { recursive: true });
				for (const which of ['source', 'cooked']) writeFileSync(join(keep, `view-${model.name}.${which}.png`), Buffer.from(found[which].split(',')[1], 'base64'));
			}
			const { off, rest, drawn } = compare(read(found.source), read(found.cooked));
			console.log(`${model.name.padEnd(22)} rest ${rest.toFixed(3)}  off ${String(off).padStart(4)}  drawn ${drawn}`);
			assert.deepEqual(found.problems, []);
			assert.ok(drawn > 150, `only ${drawn} pixels are drawn: nothing is compared`);
			assert.ok(off <= (model.view?.off ?? limits.off) && rest <= (model.view?.rest ?? limits.rest), `${off} pixels off, rest ${rest.toFixed(3)}`);
		});
	}

	test('the slider shows simpler levels, their triangles and their sizes', async () => {
		await open('barrel', 'barrel_large_decorated.obj');
		const triangles = () => viewer((v) => {
			v.stage.draw();
			return v.stage.renderer.info.render.triangles;
		});
		const grid = await viewer((v) => ((v.stage.helpers.visible = false), v.levels.map((level) => level.triangles)));
		assert.ok(grid.length > 1 && grid[1] < grid[0]);
		assert.equal(await triangles(), grid[0]);
		const slider = page.getByRole('slider', { name: 'Level' });
		await slider.focus();
		await page.keyboard.press('ArrowRight');
		assert.equal(await triangles(), grid[1]);
		await page.locator('.viewer-panel tr[aria-current]', { hasText: new RegExp(`^1\\s*${grid[1].toLocaleString('en')}`) }).waitFor();
		await page.keyboard.press('End');
		assert.equal(await triangles(), grid.at(-1));
	});

	test('every way to look draws another picture', async () => {
		const seen = new Set([await picture()]);
		for (const look of ['clay', 'normals', 'checker', 'meshlets']) {
			await page.getByLabel('Show', { exact: true }).selectOption(look);
			seen.add(await picture());
		}
		assert.equal(seen.size, 5);
		await page.locator('.viewer-panel dl', { hasText: /Meshlets shown\s*\d+/ }).waitFor();
		await page.getByRole('button', { name: 'Wireframe' }).click();
		seen.add(await picture());
		assert.equal(seen.size, 6);
		await page.getByRole('button', { name: 'Wireframe' }).click();
		await page.getByLabel('Show', { exact: true }).selectOption('material');
	});

	test('keys turn, come closer and fit', async () => {
		const before = await picture();
		await page.locator('.viewer-canvas').focus();
		for (const key of ['ArrowLeft', 'ArrowUp', '+', '+']) await page.keyboard.press(key);
		assert.notEqual(await picture(), before);
		const far = await viewer((v) => v.stage.camera.position.distanceTo(v.stage.controls.target));
		await page.keyboard.press('f');
		assert.notEqual(await viewer((v) => v.stage.camera.position.distanceTo(v.stage.controls.target)), far);
	});

	test('a clip is chosen, played and scrubbed', async () => {
		await open('skinned', 'SimpleSkin.gltf');
		const rest = await picture();
		await page.getByLabel('Clip', { exact: true }).selectOption({ index: 1 });
		await page.getByRole('button', { name: 'Pause' }).click();
		const scrubber = page.getByRole('slider', { name: 'Time' });
		await scrubber.fill('2');
		assert.equal(await scrubber.getAttribute('aria-valuetext'), '2.00 s');
		const moved = await picture();
		assert.notEqual(moved, rest);
		await scrubber.focus();
		await page.keyboard.press('Home');
		assert.notEqual(await picture(), moved);
		await page.getByLabel('Clip', { exact: true }).selectOption('-1');
		assert.equal(await picture(), rest);
		await page.getByRole('button', { name: 'Skeleton' }).click();
		assert.equal(await viewer((v) => v.helpers.skeleton.userData.joints), 2);
		await page.getByRole('button', { name: 'Skeleton' }).click();
	});

	test('a texture is shown level by level', async () => {
		await open('textured', 'TextureCoordinateTest.gltf');
		const material = page.locator('.viewer-panel details:has(.viewer-link)').first();
		await material.locator('summary').focus();
		if (!(await material.evaluate((details) => details.open))) await page.keyboard.press('Enter');
		await material.getByRole('button', { name: /^Inspect texture/ }).first().click();
		await page.locator('.viewer-texels').waitFor();
		const shown = () => page.locator('.viewer-texels').evaluate((canvas) => [canvas.width, canvas.toDataURL()]);
		const [width, first] = await shown();
		await page.getByRole('slider', { name: 'Mip level' }).fill('2');
		assert.equal((await shown())[0], width / 4);
		await page.getByRole('slider', { name: 'Mip level' }).fill('0');
		await page.getByLabel('Channels').selectOption('a');
		const alpha = await shown();
		assert.notEqual(alpha[1], first);
		await page.keyboard.press('Escape');
		await page.locator('.viewer-dialog').waitFor({ state: 'hidden' });
	});

	test('textures are looked at with fingers and the mouse', async () => {
		await page.locator('.viewer-panel details:has(.viewer-link)').first().getByRole('button', { name: /^Inspect texture/ }).first().click();
		const texels = page.locator('.viewer-texels');
		await texels.waitFor();
		const width = async () => (await texels.boundingBox()).width;
		const frame = page.locator('.viewer-texels-frame');
		const box = await frame.boundingBox();
		const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
		const before = await width();
		const touch = (type, points) => debug.send('Input.dispatchTouchEvent', { type, touchPoints: points.map(([px, py], id) => ({ x: px, y: py, id })) });
		await touch('touchStart', [[x - 20, y], [x + 20, y]]);
		for (let d = 22; d <= 40; d += 2) await touch('touchMove', [[x - d, y], [x + d, y]]);
		await touch('touchEnd', []);
		const pinched = await width();
		assert.ok(pinched > 1.5 * before && pinched < 2.5 * before, `${before} -> ${pinched}`);
		await page.getByRole('slider', { name: 'Zoom' }).fill('3');
		assert.ok(await width() > pinched);
		const scrolled = () => frame.evaluate(({ scrollLeft, scrollTop }) => [scrollLeft, scrollTop]);
		const from = await scrolled();
		await page.mouse.move(x, y);
		await page.mouse.down();
		await page.mouse.move(x - 30, y - 20);
		await page.mouse.up();
		assert.deepEqual((await scrolled()).map((v, i) => Math.round(v - from[i])), [30, 20]);
		await page.keyboard.press('Escape');
	});

	test('formats that the graphics card lacks are unpacked, look the same, and are told', async () => {
		await open('textured', 'TextureCoordinateTest.gltf');
		for (const encoding of ['astc', 'bc']) { // the second one is the default
			await updated(() => writeFileSync(join(bench.folder, 'art/textured/cook.json'), JSON.stringify({ texture: { encoding } })));
			await bench.sync(); // there may have been a preview before
			const found = await viewer(async (v, size) => {
				await v.reload();
				const shown = () => v.capture('cooked', size);
				const unpacked = () => Promise.all(v.model.userData.cooked.pictures.images.map(async (_, i) => (await v.model.userData.cooked.pictures.picture(i)).userData.unpacked));
				const [first, firstUnpacked] = [shown(), await unpacked()];
				v.loader.detectSupport({ extensions: { has: () => false } });
				await v.reload();
				const out = { first, firstUnpacked, second: shown(), secondUnpacked: await unpacked(), problems: v.problems };
				v.loader.detectSupport(v.stage.renderer);
				await v.reload();
				return out;
			}, side);
			assert.deepEqual(found.problems, []);
			assert.ok(found.firstUnpacked.every((name) => !name));
			assert.ok(found.secondUnpacked.every((name) => (encoding === 'bc' ? /^BC/ : /^ASTC/).test(name)), found.secondUnpacked.join());
			const { off, rest, drawn } = compare(read(found.first), read(found.second));
			assert.ok(drawn > 150 && off === 0 && rest < 0.5, `${encoding}: ${drawn} drawn, ${off} off, rest ${rest}`);
		}
	});

	test('textures kept in Basis Universal look as those that were transcoded', async (t) => {
		const from = join(corpus, 'gltf/khronos-derived');
		if (!existsSync(from)) return t.skip('HOB_CORPUS has them');
		for (const kind of ['uastc', 'etc1s']) {
			const name = `basis-${kind}`;
			cpSync(join(from, `BoxTextured-KTX2-${kind}`), join(bench.folder, 'art', name), { recursive: true });
			await bench.sync();
			await open(name, 'BoxTextured.gltf');
			const transcoded = read(await viewer((v, size) => v.capture('cooked', size), side));
			await updated(() => writeFileSync(join(bench.folder, 'art', name, 'cook.json'), JSON.stringify({ texture: { basis: 'keep' } })));
			await bench.sync();
			const found = await viewer(async (v, size) => {
				await v.reload();
				const { pictures } = v.model.userData.cooked;
				return { picture: v.capture('cooked', size), problems: v.problems, formats: pictures.images.map(({ vk_format: format }) => format) };
			}, side);
			assert.deepEqual(found.problems, []);
			assert.ok(found.formats.includes(0), `${found.formats}: none was kept`);
			const { off, rest, drawn } = compare(transcoded, read(found.picture));
			/* The file has mip levels of its own, which the slanted sides show. */
			assert.ok(drawn > 40000 && off < 400 && rest < 5, `${kind}: ${drawn} drawn, ${off} off, rest ${rest}`);
		}
	});

	describe('on a save', () => {
		let path;
		const save = (bytes) => saveFile(path, bytes);
		before(() => (path = join(bench.folder, 'art/watched/model.glb')));

		test('the picture changes in place, seen from where it was seen', async () => {
			await open('watched', 'model.glb');
			await viewer((v) => v.stage.turn(0.4, 0.1));
			const place = () => viewer((v) => v.stage.camera.position.toArray());
			const [first, stood] = [await picture(), await place()];
			await updated(() => save(scaledGlb(readFileSync(path), [0.5, 0.8, 0.5])));
			assert.notEqual(await picture(), first);
			assert.deepEqual(await place(), stood);
		});

		test('a broken file keeps the picture free, the page says what, where and what to do once; the next good one clears it', async () => {
			const good = readFileSync(path);
			const first = await picture();
			save(good.subarray(0, 300));
			const fault = page.locator('.fault');
			await fault.waitFor();
			const said = await fault.innerText();
			assert.match(said, /model\.glb/);
			assert.match(said, /last good version/);
			assert.equal(await page.locator('.viewer-alert').isVisible(), false);
			assert.equal(await picture(), first);
			await check();
			save(good);
			await fault.waitFor({ state: 'detached' });
		});
	});

	async function check() {
		for (const colorScheme of ['light', 'dark']) {
			await page.emulateMedia({ colorScheme });
			await evaluate(`${axe.source};0`);
			const { violations } = await page.evaluate(() => axe.run('.viewer-root', { resultTypes: ['violations'] }));
			assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(' ')}`), [], colorScheme);
		}
		await page.emulateMedia({ colorScheme: null });
	}

	test('it is accessible, with a clip, levels and textures, in both schemes', async () => {
		for (const [name, file] of [['skinned', 'SimpleSkin.gltf'], ['textured', 'TextureCoordinateTest.gltf'], ['barrel', 'barrel_large_decorated.obj']]) {
			await open(name, file);
			await check();
		}
	});

	test('nothing was thrown and nothing complained on the page', () => assert.deepEqual(bench.complaints, []));
});

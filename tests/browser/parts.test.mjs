/* The 3D view beyond its picture: one WebGL context for all assets, the parts of a model, light, links to a view, clips
 * frame by frame. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { missing, project, withoutDashboard } from './bench.mjs';
import { assertAccessible, openStudio } from './studio.mjs';

const path = JSON.stringify(join(project, 'tests/integration'));
const run = (lines) => execFileSync('python3', ['-c', `import sys; sys.path.insert(0, ${path}); import robot, hobtest\n${lines}`]);
const model = (name) => readFileSync(join(project, 'tests/data/models/simple', name));
/* A square of one metre with a texture of 16 texels, repeated so often that a metre has `texels` texels. */
const square = (name, texels) => ({
	[`${name}.obj`]: `mtllib ${name}.mtl\nusemtl m\n${['0 0', '1 0', '1 1', '0 1'].map((at) => `v ${at} 0\n`).join('')}${
		[[0, 0], [1, 0], [1, 1], [0, 1]].map(([u, v]) => `vt ${u * texels / 16} ${v * texels / 16}\n`).join('')}f 1/1 2/2 3/3 4/4\n`,
	[`${name}.mtl`]: 'newmtl m\nmap_Kd tile.png\n',
});
/* A Radiance file: one colour, darker below. */
const sky = (...color) => Buffer.concat([Buffer.from('#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 16 +X 32\n'),
	...Array.from({ length: 16 * 32 }, (_, i) => Buffer.from([...color.map((c) => c * (i < 256 ? 200 : 120)), 128]))]);
/* A hilly square of side * side cells. */
const SIDE = 200; /* squares along a side of hills.obj: its cooked file exceeds a megabyte */

function hills(side) {
	const lines = [];
	for (let y = 0; y <= side; y++) for (let x = 0; x <= side; x++)
		lines.push(`v ${x / side} ${(0.1 * Math.sin(x / 9) * Math.cos(y / 7)).toFixed(5)} ${y / side}`);
	for (let y = 0; y < side; y++) for (let x = 0; x < side; x++) {
		const at = y * (side + 1) + x + 1;
		lines.push(`f ${at} ${at + side + 1} ${at + side + 2} ${at + 1}`);
	}
	return `${lines.join('\n')}\n`;
}
const files = {
	'cube.glb': model('AnimatedMorphCube.glb'), 'hills/hills.obj': hills(SIDE), 'hills/cook.json': '{"lods": {"max": 3}}',
	...square('coarse', 64), ...square('fine', 4096), 'tile.png': run('sys.stdout.buffer.write(hobtest.png(90, 90, 90, 16))'),
	'robot.gltf': run('sys.stdout.write(robot.text(robot.model()))'), 'box.glb': model('BoxVertexColors.glb'), 'spot.obj': model('spot.obj'),
	'color.png': run('sys.stdout.buffer.write(hobtest.png(200, 40, 40))'),
	'sky.hdr': sky(0.2, 0.4, 0.9), 'cook.json': '{"environment": {"cook": true, "size": 16}}',
	'normal.png': run('sys.stdout.buffer.write(hobtest.png(128, 50, 220))'),
};

describe('the parts of the 3D view', { skip: missing() ?? withoutDashboard() ?? false }, () => {
	let studio;
	let page;
	before(async () => {
		studio = await openStudio(files, { options: ['--live'] });
		await studio.sync();
		page = await studio.newPage('/ui/asset/art/robot.gltf');
		await page.setViewportSize({ width: 900, height: 700 });
		await shown('robot.gltf');
	});
	after(() => studio.close());
	const shown = (name) => page.waitForFunction((wanted) => {
		const found = document.querySelector('.viewer-root')?.parentElement.viewer;
		return found?.asset.path === wanted && found.levels && found.stage.took !== undefined;
	}, name);
	const go = async (name) => {
		await page.evaluate((to) => {
			history.pushState(null, '', to);
			dispatchEvent(new PopStateEvent('popstate'));
		}, `/ui/asset/art/${name}`);
		await shown(name);
	};
	const viewer = (act, given) => page.evaluate(`(${act})(document.querySelector('.viewer-root').parentElement.viewer, ${JSON.stringify(given ?? null)})`);
	const picture = () => viewer((v) => v.capture('cooked', 96));

	test('one context serves every asset, and what it holds does not grow', async () => {
		await viewer((v) => (globalThis.firstCanvas = v.stage.canvas));
		const held = [];
		for (let round = 0; round < 4; round++) {
			for (const name of ['box.glb', 'spot.obj', 'robot.gltf']) await go(name);
			held.push(await viewer((v) => {
				v.stage.draw();
				const { geometries, textures, programs } = v.stage.costs();
				return { geometries, textures, programs, same: v.stage.canvas === globalThis.firstCanvas };
			}));
		}
		assert.ok(held.every(({ same }) => same), 'the canvas of the first asset is that of all');
		assert.deepEqual(held[3], held[1]);
	});

	test('what the next asset could use stays: no program is made anew, and the canvas keeps its pixels', async () => {
		await viewer((v) => {
			const { renderer, surface } = v.stage;
			const { setDrawingBufferSize } = renderer;
			surface.slow = false; /* turns off the drawing at twice the size when the view rests */
			v.stage.setFine(false);
			globalThis.resized = 0;
			renderer.setDrawingBufferSize = (...size) => (globalThis.resized++, setDrawingBufferSize.apply(renderer, size));
			globalThis.linked = new Set(renderer.info.programs);
		});
		for (const name of ['box.glb', 'spot.obj', 'robot.gltf']) await go(name);
		assert.deepEqual(await viewer((v) => [globalThis.resized, v.stage.renderer.info.programs.filter((one) => !globalThis.linked.has(one)).length]), [0, 0]);
	});

	test('drawn in software, what rests is drawn at twice the size, and what moves is not', async () => {
		await viewer((v) => {
			v.stage.surface.slow = true;
			v.stage.invalidate();
		});
		const width = () => viewer((v) => v.stage.canvas.width / v.stage.host.clientWidth / devicePixelRatio);
		await page.waitForFunction(() => document.querySelector('.viewer-root').parentElement.viewer.stage.fine);
		assert.equal(await width(), 2);
		await viewer((v) => v.stage.turn(0.1, 0));
		await page.waitForFunction(() => !document.querySelector('.viewer-root').parentElement.viewer.stage.fine);
		await page.waitForFunction(() => document.querySelector('.viewer-root').parentElement.viewer.stage.fine);
		await viewer((v) => v.fit());
	});

	test('what fills the view still does when the view is resized, until somebody moves the camera', async () => {
		/* Distance of the farthest vertex from the middle of the view, in halves of the view. */
		const reach = () => viewer((v) => {
			let most = 0;
			v.model.traverse(({ geometry, matrixWorld, position }) => {
				for (let i = 0; i < (geometry?.attributes.position.count ?? 0); i++) {
					const { x, y } = position.clone().fromBufferAttribute(geometry.attributes.position, i).applyMatrix4(matrixWorld).project(v.stage.camera);
					most = Math.max(most, Math.abs(x), Math.abs(y));
				}
			});
			return most;
		});
		await viewer((v) => v.fit());
		assert.ok(Math.abs((await reach()) - 0.9) < 0.02, 'nine tenths');
		const aspect = await viewer((v) => v.stage.camera.aspect);
		await page.setViewportSize({ width: 390, height: 844 });
		await page.waitForFunction((was) => Math.abs(document.querySelector('.viewer-root').parentElement.viewer.stage.camera.aspect - was) > 0.2, aspect);
		const narrow = await reach();
		assert.ok(Math.abs(narrow - 0.9) < 0.02, `${narrow} of the view`);
		await viewer((v) => v.stage.turn(0.1, 0));
		const { from } = await viewer((v) => v.stage.where());
		await page.setViewportSize({ width: 900, height: 700 });
		await page.waitForFunction((was) => Math.abs(document.querySelector('.viewer-root').parentElement.viewer.stage.camera.aspect - was) < 0.05, aspect);
		assert.deepEqual((await viewer((v) => v.stage.where())).from, from);
		await viewer((v) => v.fit());
	});

	test('a part is found by name, by a click, hidden and shown alone', async () => {
		const tree = page.locator('.viewer-tree');
		const whole = await picture();
		await page.getByLabel('Find a part').fill('arm');
		assert.ok(await tree.getByRole('listitem').count() >= 1);
		assert.equal(await tree.getByRole('button', { name: 'grip', exact: true }).count(), 0);
		await tree.getByRole('button', { name: 'Hide arm' }).first().click();
		const without = await picture();
		assert.notEqual(without, whole);
		await tree.getByRole('button', { name: 'Hide arm' }).first().click();
		assert.equal(await picture(), whole, 'shown again, the picture is the one before');
		await tree.getByRole('button', { name: 'Isolate arm' }).first().click();
		assert.ok(![whole, without].includes(await picture()));
		await tree.getByRole('button', { name: 'Isolate arm' }).first().click();
		await page.getByLabel('Find a part').fill('');
		const at = await viewer((v) => {
			const center = v.box.min.clone().set(1.95, 0.53, 0.45).project(v.stage.camera);
			const { clientWidth: width, clientHeight: height } = v.stage.canvas;
			return { x: ((center.x + 1) / 2) * width, y: ((1 - center.y) / 2) * height };
		});
		await page.locator('.viewer-canvas').click({ position: at });
		const picked = tree.locator('li[aria-current]');
		await picked.waitFor();
		assert.match(await picked.textContent(), /128 triangles, 81 vertices/);
	});

	test('light and exposure change the picture, vertex colours are shown, axe finds nothing', async () => {
		const before = await picture();
		await page.getByLabel('Environment').selectOption('sun');
		const sun = await picture();
		assert.notEqual(sun, before);
		await page.getByLabel('Exposure').fill('1.5');
		assert.notEqual(await picture(), sun);
		await page.getByLabel('Show', { exact: true }).selectOption('colors').catch(() => page.locator('.viewer-tools select').first().selectOption('colors'));
		assert.notEqual(await picture(), sun);
		await page.getByRole('button', { name: 'Normals as lines' }).click();
		assert.ok(await viewer((v) => v.helpers.normals.children.length) > 0);
		await assertAccessible(page);
	});

	test('normals and tangents are drawn as lines', async () => {
		await go('cube.glb');
		for (const [name, key] of [['Normals as lines', 'normals'], ['Tangents as lines', 'tangents']]) {
			assert.equal(await viewer((v, which) => v.helpers[which] ?? null, key), null);
			await page.getByRole('button', { name }).click();
			assert.equal(await viewer((v, which) => v.helpers[which].children[0].geometry.attributes.position.count, key), 48, 'two ends for each of 24 vertices');
			await page.getByRole('button', { name }).click();
		}
	});

	test('by distance, the level follows the camera', async () => {
		await go('hills/hills.obj');
		const drawn = () => viewer((v) => {
			v.stage.frame(performance.now());
			return { levels: v.byDistance?.drawn ?? [v.lod, v.lod], triangles: v.stage.counts.triangles, full: v.levels.map(({ triangles }) => triangles) };
		});
		await page.getByRole('button', { name: 'By distance' }).click();
		await viewer((v) => v.stage.approach(0.1));
		const near = await drawn();
		assert.deepEqual([near.levels.slice(0, 2), near.triangles], [[0, 0], near.full[0]], 'close by, the full mesh');
		await viewer((v) => v.stage.approach(200));
		const far = await drawn();
		assert.ok(far.levels[0] > 0 && far.triangles === far.full[far.levels[0]], JSON.stringify(far));
		await page.getByText(`Drawn now: level ${far.levels[0]}`).waitFor();
		await assertAccessible(page);
		await page.getByRole('button', { name: 'By distance' }).click();
		assert.equal((await drawn()).triangles, near.full[0]);
		await viewer((v) => v.fit());
	});

	test('the value of a texel is told under the pointer', async () => {
		await go('coarse.obj');
		await page.locator('.viewer-textures .viewer-link').first().click();
		await page.locator('.viewer-texels').hover();
		const said = page.locator('.viewer-texel');
		await page.waitForFunction(() => /^Texel/.test(document.querySelector('.viewer-texel').textContent));
		const [, x, y, ...values] = /^Texel (\d+), (\d+): (\d+) (\d+) (\d+) (\d+) \(#[0-9a-f]{6}\)$/.exec(await said.textContent()).map(Number);
		assert.ok(x < 16 && y < 16 && values.slice(0, 3).every((value) => Math.abs(value - 90) < 3) && values[3] === 255, await said.textContent());
		await page.mouse.move(5, 5);
		await page.getByText('Point at a texel to read its value.').waitFor();
		await page.keyboard.press('Escape');
	});

	test('a large model is seen as its coarsest level while the rest comes, and the bytes are counted', async () => {
		const session = await page.context().newCDPSession(page);
		await session.send('Network.enable');
		await session.send('Network.setCacheDisabled', { cacheDisabled: true });
		await session.send('Network.emulateNetworkConditions', { offline: false, latency: 5, downloadThroughput: 40000, uploadThroughput: 40000 });
		await page.evaluate((to) => {
			history.pushState(null, '', to);
			dispatchEvent(new PopStateEvent('popstate'));
		}, '/ui/asset/art/hills/hills.obj');
		await page.waitForFunction(() => document.querySelector('.viewer-root')?.parentElement.viewer?.coarse);
		const triangles = await viewer((v) => {
			v.stage.draw();
			return v.stage.counts.triangles;
		});
		await page.getByText(/Loading the cooked model… [\d.]+\s[KM]B of [\d.]+\sMB/).waitFor();
		await session.send('Network.emulateNetworkConditions', { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: -1 });
		await shown('hills/hills.obj');
		assert.ok(triangles > 0 && triangles <= 2 * SIDE * SIDE / 4, `${triangles} of ${2 * SIDE * SIDE} triangles were seen first`);
		assert.deepEqual(await viewer((v) => [v.coarse, v.levels[0].triangles, v.stage.models.children.length]), [null, 2 * SIDE * SIDE, 1]);
		await session.detach();
		await go('robot.gltf');
		await viewer((v) => v.setLook('colors'));
	});

	test('texel density and overdraw are told by colour', async () => {
		/* The colour in the middle of the picture. */
		const middle = () => viewer((v) => {
			v.stage.draw();
			const gl = v.stage.renderer.getContext();
			const pixel = new Uint8Array(4);
			gl.readPixels(gl.drawingBufferWidth / 2, gl.drawingBufferHeight / 2, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);
			return [...pixel];
		});
		const look = (name) => page.locator('.viewer-tools select').first().selectOption(name);
		await go('coarse.obj');
		await look('density');
		await page.getByText('Base colour texels per metre: blue 64, green 512, red 4,096').waitFor();
		const [r, , b] = await middle();
		assert.ok(b > 2 * r, `64 texels a metre are blue: ${await middle()}`);
		await look('overdraw');
		const once = (await middle())[0];
		assert.ok(once > 20 && once < 140, `drawn once: ${once}`);
		await go('fine.obj');
		await look('density');
		const [red, , blue] = await middle();
		assert.ok(red > 2 * blue, `4,096 texels a metre are red: ${await middle()}`);
		await assertAccessible(page);
		await look('material');
		assert.equal(await page.locator('.viewer-legend').innerText(), '');
		await go('robot.gltf');
		await look('colors');
	});

	test('the UVs are drawn, and their share of the picture is what the triangles cover', async () => {
		await go('coarse.obj');
		await page.getByText('Show UVs').click();
		await page.getByText('100 % of the texture is covered, 100 % by overlapping').waitFor();
		await page.getByText('reach from 0, -3 to 4, 1').or(page.getByText('reach from 0, 0 to 4, 4')).waitFor();
		const inked = await page.locator('.viewer-uv').evaluate((canvas) =>
			canvas.getContext('2d').getImageData(0, 0, 512, 512).data.filter((value, i) => i % 4 === 3 && value > 40).length);
		assert.ok(inked > 1000, `the edges and the diagonal of a square: ${inked} pixels`);
		await assertAccessible(page);
		await go('robot.gltf');
	});

	/* Drops a file from the desktop on the picture. */
	const drop = (name, bytes) => page.evaluate(([as, data]) => {
		const files = new DataTransfer();
		files.items.add(new File([Uint8Array.from(atob(data), (c) => c.charCodeAt(0))], as));
		for (const kind of ['dragover', 'drop']) document.querySelector('.viewer-stage')
			.dispatchEvent(new DragEvent(kind, { dataTransfer: files, bubbles: true, cancelable: true }));
	}, [name, bytes.toString('base64')]);

	test('a dropped file is cooked and shown, and is nowhere when it is put away', async () => {
		await go('spot.obj');
		const triangles = () => viewer((v) => v.levels[0].triangles);
		const before = await triangles();
		await drop('notes.txt', Buffer.from('x'));
		await page.getByText('Only .glb and .hdr files can be previewed here.').waitFor();
		await drop('mine.glb', model('BoxVertexColors.glb'));
		await page.getByText('Preview of mine.glb, not saved').waitFor();
		assert.equal(await triangles(), 12);
		const jobs = await studio.newPage('/ui/jobs');
		const job = jobs.locator('.jobs .name', { hasText: 'dropped on a page' });
		await job.getByRole('link', { name: 'spot.obj', exact: true }).first().waitFor();
		assert.equal(await jobs.locator('.jobs .name', { hasText: '.obj.glb' }).count(), 0, await jobs.locator('.jobs').innerText());
		await jobs.close();
		assert.equal((await studio.get('/api/v1/assets?path=art/mine.glb')).items.length, 0);
		assert.equal((await studio.get('/api/v1/assets?path=art/spot.obj')).items[0].stats.triangles, before, 'the asset is as it was');
		await assertAccessible(page);
		await page.getByRole('button', { name: 'Close preview' }).click();
		await page.waitForFunction((count) => document.querySelector('.viewer-root').parentElement.viewer.levels[0].triangles === count, before);
		await studio.sync();
		assert.deepEqual((await studio.get('/api/v1/assets?root=live')).items, []);
		await drop('cut.glb', model('BoxVertexColors.glb').subarray(0, 300));
		await page.getByRole('alert').getByText('The dropped file could not be cooked').waitFor();
		await page.getByRole('alert').getByText('What you see is the asset, not the dropped file.').waitFor();
		await studio.sync();
		assert.equal((await studio.get('/api/v1/stats')).errors, 0, 'it is nobody’s problem');
		assert.equal(await triangles(), before);
		await page.getByRole('button', { name: 'Hide this message' }).click();
		await go('robot.gltf');
		await viewer((v) => v.setLook('colors'));
	});

	test('frames are stepped through, two clips are blended, and a link opens the same view', async () => {
		await page.getByRole('button', { name: 'Play', exact: true }).click();
		assert.deepEqual(await viewer((v) => [v.clips.clip, v.clips.playing]), [0, true], 'from the rest pose the first clip begins');
		await viewer((v) => v.clips.choose(0, { time: 0 }));
		await page.getByRole('button', { name: 'Next frame' }).click();
		await page.getByRole('button', { name: 'Next frame' }).click();
		assert.ok(Math.abs(await viewer((v) => v.clips.time) - 2 / 30) < 1e-6);
		const y = () => viewer((v) => v.model.getObjectByName('body').position.y);
		await viewer((v) => v.clips.seek(0.5));
		assert.ok(Math.abs(await y() - 0.5) < 1e-4);
		await viewer((v) => v.clips.blend(1, 0.5));
		assert.ok((await y()) < 0.4 && (await y()) > 0.1, 'half of the pose is the other clip');
		await viewer((v) => v.clips.blend(1, 0.25));
		const blended = await y();
		await viewer((v) => v.stage.turn(0.6, -0.2));
		const there = await viewer((v) => v.stage.where());
		await page.getByRole('button', { name: 'Copy link' }).click();
		const link = await page.evaluate(() => navigator.clipboard.readText());
		assert.match(link, /view=[-0-9.*_a-z]+$/);
		const other = await studio.newPage(new URL(link).pathname + new URL(link).search);
		await other.waitForFunction(() => document.querySelector('.viewer-root')?.parentElement.viewer?.levels);
		const opened = await other.evaluate(`(() => { const v = document.querySelector('.viewer-root').parentElement.viewer;
			return { where: v.stage.where(), look: v.look, clip: v.clips.clip, time: v.clips.time, other: v.clips.other, share: v.clips.share,
				y: v.model.getObjectByName('body').position.y }; })()`);
		for (const side of ['from', 'to']) opened.where[side].forEach((value, i) => assert.ok(Math.abs(value - there[side][i]) < 1e-3));
		assert.deepEqual([opened.look, opened.clip, opened.time, opened.other, opened.share], ['colors', 0, 0.5, 1, 0.25]);
		assert.ok(Math.abs(opened.y - blended) < 1e-6, 'the pose is blended alike');
		await viewer((v) => v.clips.blend(-1, 0.5));
		assert.deepEqual(studio.complaints, []);
	});

	test('an environment map lights balls, and a new version of it lights them anew', async () => {
		await go('sky.hdr');
		/* The colours of a corner, where only the map shows, and of the middle ball. */
		const colours = () => viewer(async (v) => {
			const image = new Image();
			image.src = v.capture('cooked', 96);
			await image.decode();
			const context = new OffscreenCanvas(96, 96).getContext('2d');
			context.drawImage(image, 0, 0);
			return { sky: [...context.getImageData(2, 2, 1, 1).data], ball: [...context.getImageData(48, 44, 1, 1).data] };
		});
		const blue = await colours();
		assert.ok(blue.sky[2] > blue.sky[0] + 50 && blue.ball[2] > blue.ball[0] + 50, JSON.stringify(blue));
		assert.deepEqual(await viewer((v) => v.model.children.flatMap((balls) => balls.children.map(({ name }) => name))), ['Mirror', 'Rough metal', 'Matte']);
		const before = await viewer((v) => v.model.userData.rev);
		studio.save('sky.hdr', sky(0.9, 0.4, 0.2));
		await page.waitForFunction((rev) => document.querySelector('.viewer-root').parentElement.viewer.model.userData.rev > rev, before);
		await page.waitForFunction(() => !document.querySelector('.viewer-root').parentElement.viewer.stage.waiting);
		const red = await colours();
		assert.ok(red.sky[0] > red.sky[2] + 50 && red.ball[0] > red.ball[2] + 50, JSON.stringify(red));
		await go('spot.obj');
		assert.equal(await viewer((v) => v.stage.own), null);
	});
});

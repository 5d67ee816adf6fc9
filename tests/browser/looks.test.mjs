/* The 3D view: what it can show of a model, the whole window, and links that open the whole view again. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import pngjs from 'pngjs';
import { missing, project, withoutDashboard } from './bench.mjs';
import { assertAccessible, objText, openStudio } from './studio.mjs';

const path = JSON.stringify(join(project, 'tests/integration'));
const python = (lines) => execFileSync('python3', ['-c', `import sys; sys.path.insert(0, ${path}); import hobtest, robot\n${lines}`], { maxBuffer: 1 << 26 });
const png = (...color) => python(`sys.stdout.buffer.write(hobtest.png(${color.join(', ')}))`);
const simple = join(project, 'tests/data/models/simple');

/* A square of two metres; each channel of its material has a picture of one colour. */
function square() {
	const bytes = Buffer.concat([new Float32Array([-1, -1, 0, 1, -1, 0, 1, 1, 0, -1, 1, 0]), new Float32Array([0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1]),
		new Float32Array([0, 1, 1, 1, 1, 0, 0, 0]), new Uint16Array([0, 1, 2, 0, 2, 3])].map(({ buffer }) => Buffer.from(buffer)));
	const texture = (index) => ({ index });
	const accessor = (bufferView, type, count, componentType = 5126) => ({ bufferView, type, count, componentType, ...(bufferView ? {} : { min: [-1, -1, 0], max: [1, 1, 0] }) });
	return JSON.stringify({ asset: { version: '2.0' }, scene: 0, scenes: [{ nodes: [0] }], nodes: [{ mesh: 0 }],
		meshes: [{ primitives: [{ attributes: { POSITION: 0, NORMAL: 1, TEXCOORD_0: 2 }, indices: 3, material: 0 }] }],
		materials: [{ alphaMode: 'BLEND', emissiveFactor: [1, 1, 1], emissiveTexture: texture(2), occlusionTexture: texture(3),
			pbrMetallicRoughness: { baseColorFactor: [1, 1, 1, 0.5], baseColorTexture: texture(0), metallicRoughnessTexture: texture(1), metallicFactor: 0.25, roughnessFactor: 0.5 } }],
		textures: [0, 1, 2, 3].map((source) => ({ source })), images: ['base', 'rough', 'glow', 'shade'].map((name) => ({ uri: `${name}.png` })),
		accessors: [accessor(0, 'VEC3', 4), accessor(1, 'VEC3', 4), accessor(2, 'VEC2', 4), accessor(3, 'SCALAR', 6, 5123)],
		bufferViews: [[0, 48], [48, 48], [96, 32], [128, 12]].map(([byteOffset, byteLength]) => ({ buffer: 0, byteOffset, byteLength })),
		buffers: [{ byteLength: bytes.length, uri: `data:application/octet-stream;base64,${bytes.toString('base64')}` }] });
}
const CHANNELS = { base: [60, 120, 180], emission: [10, 200, 30], roughness: [100, 100, 100], metallic: [30, 30, 30], occlusion: [80, 80, 80], alpha: [128, 128, 128] };
const sky = (...color) => Buffer.concat([Buffer.from('#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 16 +X 32\n'),
	...Array.from({ length: 16 * 32 }, () => Buffer.from([...color.map((c) => c * 200), 128]))]);
/* A hilly square of 64 * 64 cells, with levels. */
const hills = () => {
	const lines = Array.from({ length: 65 * 65 }, (_, i) => [i % 65, Math.floor(i / 65)]).map(([x, y]) => `v ${x / 64} ${(0.1 * Math.sin(x / 9) * Math.cos(y / 7)).toFixed(5)} ${y / 64}`);
	for (let i = 0; i < 64 * 64; i++) {
		const at = Math.floor(i / 64) * 65 + (i % 64) + 1;
		lines.push(`f ${at} ${at + 65} ${at + 66} ${at + 1}`);
	}
	return lines.join('\n');
};
const files = {
	'hills.obj': hills(),
	'square.gltf': square(), 'base.png': png(60, 120, 180), 'rough.png': png(0, 200, 120), 'glow.png': png(10, 200, 30), 'shade.png': png(80, 0, 0),
	...Object.fromEntries(readdirSync(simple).filter((name) => /^(Texture|Simple|simple|skin|inverse|spot|Animated)/.test(name)).map((name) => [name, readFileSync(join(simple, name))])),
	'robot.gltf': python('sys.stdout.write(robot.text(robot.model()))'), 'color.png': png(200, 40, 40), 'normal.png': png(128, 128, 255),
	'bare.obj': objText(4), 'cook.json': '{"texture": {"encoding": "rgba8"}, "vertices": "float32", "lods": {"max": 3}}',
};

describe('what the 3D view can show', { skip: missing() ?? withoutDashboard() ?? false }, () => {
	let studio;
	let page;
	const viewer = (act, given, on = page) => on.evaluate(`(${act})(document.querySelector('.viewer-root').parentElement.viewer, ${JSON.stringify(given ?? null)})`);
	const shown = (name, on = page) => on.waitForFunction((wanted) => {
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
	const decode = (url) => pngjs.PNG.sync.read(Buffer.from(url.split(',')[1], 'base64')).data;
	const capture = async (which = 'cooked', side = 96) => decode(await viewer((v, [from, size]) => v.capture(from, size), [which, side]));
	const middle = async () => [...(await capture()).subarray((48 * 96 + 48) * 4, (48 * 96 + 48) * 4 + 3)];
	const rmse = (a, b) => Math.sqrt(a.reduce((sum, value, i) => sum + (value - b[i]) ** 2, 0) / a.length);
	const look = (name) => page.getByLabel('Show', { exact: true }).selectOption(name);
	before(async () => {
		studio = await openStudio(files);
		await studio.sync();
		page = await studio.newPage('/ui/asset/art/square.gltf');
		await shown('square.gltf');
	});
	after(() => studio.close());

	test('each channel of a material is shown as the number that it is', async () => {
		await viewer((v) => {
			v.stage.place({ from: [0, 0, 4], to: [0, 0, 0] });
			v.setGrid(false);
		});
		for (const [name, color] of Object.entries(CHANNELS)) {
			await look(name);
			const found = await middle();
			assert.ok(found.every((value, i) => Math.abs(value - color[i]) <= 1), `${name}: ${found}`);
		}
		await look('material');
	});

	test('looks of the cooked model are those of its source in three.js', async () => {
		for (const name of ['TextureCoordinateTest.gltf', 'SimpleSkin.gltf', 'AnimatedMorphCube.glb', 'square.gltf']) {
			await go(name);
			await viewer((v) => v.setCompare(true));
			for (const wanted of ['matcap', 'normals', 'clay', ...Object.keys(CHANNELS)]) {
				await viewer((v, to) => v.setLook(to), wanted);
				const [source, cooked] = [await capture('source', 256), await capture('cooked', 256)];
				assert.ok(rmse(source, cooked) <= 1, `${name} ${wanted}: ${rmse(source, cooked)}`);
			}
			await viewer((v) => v.setCompare(false));
		}
	});

	test('without normals, those of the triangles are shown', async () => {
		await go('bare.obj');
		assert.equal(await viewer((v) => {
			let normals = 0;
			v.model.traverse(({ geometry }) => (normals += geometry?.attributes.normal ? 1 : 0));
			return normals;
		}), 0);
		await viewer((v) => v.stage.place({ from: [1.25, 0.5, 4], to: [1.25, 0.5, 0] }));
		await look('normals');
		const seen = await middle();
		assert.ok(seen.every((value, i) => Math.abs(value - [128, 128, 255][i]) <= 2), `${seen}`);
	});

	test('weights of a skin: of a joint, and by how many joints a vertex is moved', async () => {
		await go('SimpleSkin.gltf');
		await look('weights');
		await page.getByText('Joints that move a vertex').waitFor();
		const all = await capture();
		const joints = await page.getByLabel('Joint', { exact: true }).locator('option').allInnerTexts();
		assert.deepEqual(joints.length, 3);
		const count = (data, holds) => {
			let sum = 0;
			for (let i = 0; i < data.length; i += 4) sum += holds(data[i], data[i + 1], data[i + 2]);
			return sum;
		};
		const pink = (r, g, b) => r > 90 && b > 90 && g < 60;
		assert.equal(count(all, pink), 0, 'every vertex has weights');
		const halves = [];
		for (const name of joints.slice(1)) {
			await page.getByLabel('Joint', { exact: true }).selectOption(name);
			await page.getByText(`Weight of ${name}`).waitFor();
			halves.push(await capture());
		}
		const red = (r, g, b) => r > 90 && g < 60 && b < 60;
		const blue = (r, g, b) => b > 60 && r < 40 && g < 60;
		for (const half of halves) assert.ok(count(half, red) > 100 && count(half, blue) > 100);
		await assertAccessible(page);
		await look('material');
		await go('square.gltf');
		assert.equal(await page.getByLabel('Show', { exact: true }).locator('option[value=weights]').count(), 0);
	});

	test('levels have colours of their own, as they are drawn', async () => {
		await go('hills.obj');
		await look('levels');
		const [level0] = [await capture()];
		await viewer((v) => v.setLod(1));
		assert.ok(rmse(level0, await capture()) > 5);
		await viewer((v) => v.setLod(0));
		await page.getByRole('button', { name: 'By distance' }).click();
		await viewer((v) => v.stage.approach(200));
		const far = () => viewer((v) => {
			v.stage.frame(performance.now());
			const colors = new Set();
			v.model.traverse(({ material }) => material && colors.add(material.color.getHex()));
			return [...colors];
		});
		assert.notDeepEqual(await far(), [0x4f9d5d]);
		await page.getByRole('button', { name: 'By distance' }).click();
		await look('material');
		await viewer((v) => v.fit());
	});

	test('the window is filled: at least four fifths of it are picture, what is behind sleeps, Escape leads back', async () => {
		await go('robot.gltf');
		for (const [width, height] of [[1280, 800], [390, 844]]) {
			await page.setViewportSize({ width, height });
			await page.getByRole('button', { name: 'Full window' }).click();
			assert.equal(await page.getByRole('button', { name: 'Panels' }).getAttribute('aria-pressed'), String(width > 640));
			await assertAccessible(page);
			if (width > 640) await page.keyboard.press('h');
			await page.waitForFunction(() => !document.querySelector('.viewer-tools').checkVisibility());
			const free = await page.evaluate(() => {
				const covered = [...document.querySelectorAll('.viewer-corner, .viewer-player, .viewer-panel, .viewer-tools')]
					.map((each) => each.getBoundingClientRect()).reduce((sum, each) => sum + each.width * each.height, 0);
				const { width: wide, height: high } = document.querySelector('.viewer-canvas').getBoundingClientRect();
				return (wide * high - covered) / (innerWidth * innerHeight);
			});
			assert.ok(free >= 0.8, `${width}: ${free}`);
			await assertAccessible(page);
			assert.ok(await page.evaluate(() => document.querySelector('nav#nav').closest('[inert]')), 'nobody reaches what is behind');
			for (let i = 0; i < 12; i++) {
				await page.keyboard.press('Tab');
				assert.ok(await page.evaluate(() => document.activeElement === document.body || document.activeElement.closest('.viewer-root') !== null));
			}
			await page.locator('.viewer-canvas').focus();
			await page.keyboard.press('Escape');
			await page.waitForFunction(() => !document.querySelector('.viewer-full'));
			assert.equal(await page.locator('[inert]').count(), 0);
		}
		await page.setViewportSize({ width: 1280, height: 900 });
		await page.locator('.viewer-canvas').focus();
		await page.keyboard.press('w');
		await page.getByRole('button', { name: 'Back to the page' }).click();
		await page.waitForFunction(() => !document.querySelector('.viewer-full, [inert]'));
	});

	test('twelve links open the whole view again, to the pixel', async () => {
		const views = [
			['robot.gltf', (v) => v.setWireframe(true)],
			['robot.gltf', (v) => { v.setLook('clay'); v.setBounds(true); }],
			['robot.gltf', (v) => { v.setLight({ surroundings: 'sun', exposure: 2 ** 0.7 }); v.setGrid(false); }],
			['robot.gltf', (v) => { v.tree.hide(v.tree.parts[2].path, true); v.tree.hide(v.tree.parts[4].path, true); }],
			['robot.gltf', (v) => v.tree.isolate(v.tree.parts[3].path)],
			['robot.gltf', (v) => { v.clips.choose(0, { time: 0.4 }); v.clips.blend(1, 0.3); v.setNormals(true); }],
			['robot.gltf', (v) => { v.setShadow(true); v.setLight({ ground: 'white' }); }],
			['SimpleSkin.gltf', (v) => { v.setJoint([...v.model.children].length ? v.tree.parts.find(({ object }) => object.isBone).name : ''); v.setSkeleton(true); }],
			['hills.obj', (v) => { v.setLod(1); v.setLook('levels'); }],
			['hills.obj', (v) => { v.stage.approach(3); v.setByDistance(true); v.setLook('normals'); }],
			['square.gltf', (v) => { v.setLook('roughness'); v.setTangents(true); v.setLight({ ground: 'black' }); }],
			['TextureCoordinateTest.gltf', (v) => { v.setLook('matcap'); v.setLight({ ground: 'grey', exposure: 0.5, surroundings: 'flat' }); }],
		];
		/* The whole canvas, with lines and marks. */
		const whole = (on) => viewer((v) => {
			v.stage.surface.slow = false;
			v.stage.setFine(false);
			v.stage.frame(performance.now());
			return v.stage.canvas.toDataURL();
		}, null, on);
		for (const [at, [name, change]] of views.entries()) {
			await go(name);
			const plain = await whole(page);
			await viewer((v, turn) => {
				v.stage.turn(0.3 + turn * 0.41, 0.05 * turn - 0.2);
				v.stage.approach(0.8 + turn * 0.05);
			}, at);
			await viewer(change);
			await page.getByRole('button', { name: 'Copy link' }).click();
			await page.getByText('Link to this view copied.').waitFor();
			const wanted = await whole(page);
			assert.notEqual(wanted, plain);
			const { pathname, search } = new URL(await page.evaluate(() => navigator.clipboard.readText()));
			const other = await studio.newPage(pathname + search);
			await shown(name, other);
			assert.ok(wanted === await whole(other), `${at} ${name}: ${search}`);
			await other.getByRole('button', { name: 'Copy link' }).click();
			await other.getByText('Link to this view copied.').waitFor();
			assert.equal(new URL(other.url()).search, search, 'a link of the link is the same');
			await other.close();
			await page.evaluate(() => history.replaceState(null, '', location.pathname));
			await go(name === 'square.gltf' ? 'robot.gltf' : 'square.gltf');
		}
	});

	test('a shadow and a panorama light the cooked model as its source in three.js', async () => {
		for (const name of ['robot.gltf', 'TextureCoordinateTest.gltf']) {
			await go(name);
			await viewer((v) => {
				v.stage.turn(0, -0.3);
				v.stage.approach(2);
			});
			const plain = await capture('cooked', 256);
			await viewer((v) => v.setShadow(true));
			await viewer((v) => v.setCompare(true));
			const [source, cooked] = [await capture('source', 256), await capture('cooked', 256)];
			assert.ok(rmse(plain, cooked) > 0.02, `${name}: there is a shadow, ${rmse(plain, cooked)}`);
			assert.ok(rmse(source, cooked) <= 1, `${name} shadow: ${rmse(source, cooked)}`);
			await viewer((v) => v.setShadow(false));
			await page.evaluate((bytes) => {
				const dropped = new DataTransfer();
				dropped.items.add(new File([Uint8Array.from(atob(bytes), (c) => c.charCodeAt(0))], 'noon.hdr'));
				document.querySelector('.viewer-stage').dispatchEvent(new DragEvent('drop', { dataTransfer: dropped, bubbles: true, cancelable: true }));
			}, sky(0.2, 0.5, 0.9).toString('base64'));
			await page.getByText('Lit by noon.hdr').waitFor();
			const lit = [await capture('source', 256), await capture('cooked', 256)];
			assert.ok(rmse(cooked, lit[1]) > 3, `${name}: the panorama lights`);
			assert.ok(rmse(...lit) <= 1, `${name} panorama: ${rmse(...lit)}`);
			await viewer((v) => v.setCompare(false));
			await go('square.gltf');
		}
	});

	test('the shadow of a box is seen beside it, not hidden behind', async () => {
		await go('AnimatedMorphCube.glb');
		const beside = (bytes) => [0, 1, 2].map((channel) => bytes[(200 * 256 + 250) * 4 + channel]); /* right of the box, on the ground */
		const plain = beside(await capture('cooked', 256));
		await viewer((v) => v.setShadow(true));
		const shaded = beside(await capture('cooked', 256));
		await viewer((v) => v.setShadow(false));
		assert.ok(shaded.every((value, channel) => value < plain[channel] - 20), `${plain} without, ${shaded} with`);
	});

	test('changes of a view are undone and done again, to the pixel; views are saved under a name', async () => {
		await go('robot.gltf');
		const word = () => viewer((v) => v.undo.note());
		const first = await capture('cooked', 128);
		await word();
		await look('clay');
		await word();
		const second = await capture('cooked', 128);
		await page.locator('.viewer-canvas').focus();
		for (let i = 0; i < 4; i++) await page.keyboard.press('ArrowLeft');
		await word();
		const third = await capture('cooked', 128);
		await page.keyboard.press('u');
		assert.equal(rmse(second, await capture('cooked', 128)), 0);
		await page.keyboard.press('Control+z');
		assert.equal(rmse(first, await capture('cooked', 128)), 0);
		await page.getByRole('button', { name: 'Redo' }).click();
		await page.locator('.viewer-canvas').focus();
		await page.keyboard.press('Control+Shift+Z');
		assert.equal(rmse(third, await capture('cooked', 128)), 0);
		await page.getByLabel('Name of this view').fill('from the left');
		await page.getByRole('button', { name: 'Save', exact: true }).click();
		const kept = await capture('cooked', 128);
		const other = await studio.newPage('/ui/asset/art/robot.gltf');
		await shown('robot.gltf', other);
		await other.getByRole('button', { name: 'from the left', exact: true }).click();
		assert.equal(rmse(kept, decode(await viewer((v) => v.capture('cooked', 128), null, other))), 0);
		await other.getByRole('button', { name: 'Forget from the left' }).click();
		await other.getByText('kept in this browser').waitFor();
		await assertAccessible(other);
		await other.close();
	});

	test('an earlier version beside the newest, on both sides of a divider', async () => {
		studio.save('two.obj', objText(3));
		await studio.sync();
		await go('two.obj');
		const before = await capture('cooked', 128);
		assert.equal(await page.getByLabel('Compare with', { exact: true }).count(), 0, 'there is one version');
		studio.save('two.obj', objText(4, 0.4));
		await studio.sync();
		await page.getByLabel('Compare with', { exact: true }).locator('option').nth(1).waitFor({ state: 'attached' });
		const after = await capture('cooked', 128);
		assert.ok(rmse(before, after) > 1);
		await page.getByLabel('Compare with', { exact: true }).selectOption({ index: 1 });
		await page.locator('.viewer-divider').waitFor();
		assert.equal(rmse(after, await capture('cooked', 128)), 0);
		assert.equal(rmse(before, await capture('source', 128)), 0, 'the version before is as it was');
		await page.getByLabel('Split between source and cooked').fill('80');
		assert.equal(await viewer((v) => v.stage.split), 0.8);
		await assertAccessible(page);
		await page.getByLabel('Compare with', { exact: true }).selectOption('');
		await page.waitForFunction(() => !document.querySelector('.viewer-divider'));
	});

	test('a ruler measures, a panorama lights, a turntable turns until it is stopped', async () => {
		await go('square.gltf');
		await viewer((v) => v.stage.place({ from: [0, 0, 4], to: [0, 0, 0] }));
		await page.getByRole('button', { name: 'Ruler' }).click();
		await page.getByText('Click two places to measure between them.').waitFor();
		for (const side of [-0.9, 0.9]) {
			const position = await viewer((v, x) => {
				const at = v.box.min.clone().set(x, 0, 0).project(v.stage.camera);
				return { x: ((at.x + 1) / 2) * v.stage.canvas.clientWidth, y: ((1 - at.y) / 2) * v.stage.canvas.clientHeight };
			}, side);
			await page.locator('.viewer-canvas').click({ position });
		}
		await page.getByText(/^1\.(79|80|81)\sm apart \(1\.(79|80|81) × 0(\.\d+)? × 0 m|^1\.8\d*\sm apart/).waitFor();
		await page.getByRole('button', { name: 'Ruler' }).click();
		await page.waitForFunction(() => document.querySelector('.viewer-says').textContent === '');

		const lit = await capture();
		await page.evaluate((bytes) => {
			const dropped = new DataTransfer();
			dropped.items.add(new File([Uint8Array.from(atob(bytes), (c) => c.charCodeAt(0))], 'evening.hdr'));
			document.querySelector('.viewer-stage').dispatchEvent(new DragEvent('drop', { dataTransfer: dropped, bubbles: true, cancelable: true }));
		}, sky(0.9, 0.2, 0.1).toString('base64'));
		await page.getByText('Lit by evening.hdr').waitFor();
		assert.ok(rmse(lit, await capture()) > 3);

		const angle = () => viewer((v) => Math.round(v.stage.controls.getAzimuthalAngle() * 1e6));
		const before = await angle();
		await page.getByRole('button', { name: 'Turntable' }).click();
		await page.waitForFunction((was) => Math.abs(document.querySelector('.viewer-root').parentElement.viewer.stage.controls.getAzimuthalAngle() * 1e6 - was) > 1000, before);
		await page.getByRole('button', { name: 'Turntable' }).click();
		await assertAccessible(page);
		assert.deepEqual(studio.complaints, []);
	});
});

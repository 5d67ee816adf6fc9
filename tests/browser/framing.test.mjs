/* The 3D view's framing of a model, in every pose of a clip or morph target, compared with each vertex of the source in
 * three.js' own loader. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { existsSync, readdirSync } from 'node:fs';
import { basename, extname, join, relative } from 'node:path';
import { corpus, missing, patience, project, setUp, withoutDashboard } from './bench.mjs';

const k = (...names) => names.map((name) => ({ name, from: join(corpus, 'gltf/khronos', name, 'glTF-Binary', `${name}.glb`) }));
const g = (...names) => names.map((name) => ({ name, from: join(corpus, 'gltf', name.includes('.') ? name : `khronos/${name}/glTF/${name}.gltf`) }));
const own = (...names) => names.map((name) => ({ name, from: join(project, 'tests/data/models/simple', name) }));
const plain = ({ name, from }) => ({ name: name.replace(/\W+/g, '-'), from });
const given = process.env.HOB_FRAMED; /* a folder whose GLBs are framed instead of the corpus */
const glbs = (folder) => readdirSync(folder, { withFileTypes: true, recursive: true })
	.map(({ path, name }) => join(path, name)).filter((path) => extname(path) === '.glb').sort();
const models = given ? glbs(given).map((from) => plain({ name: relative(given, from), from })) : [
	...own('AnimatedMorphCube.glb', 'BoxVertexColors.glb', 'InterpolationTest.glb', 'SimpleSkin.gltf', 'TextureCoordinateTest.gltf'),
	...k('AnimatedMorphSphere', 'Avocado', 'Box', 'BoxAnimated', 'BoxInterleaved', 'CesiumMan', 'CesiumMilkTruck', 'Duck', 'Fox',
		'MetalRoughSpheresNoTextures', 'MorphPrimitivesTest', 'MorphStressTest', 'MultiUVTest', 'NegativeScaleTest', 'OrientationTest', 'RiggedFigure',
		'RiggedSimple', 'SimpleInstancing', 'SpecularTest', 'UnlitTest', 'VertexColorTest'),
	...g('AnimatedCube', 'Cube', 'NormalTangentTest', 'SimpleMeshes', 'SimpleMorph', 'SimpleSparseAccessor', 'Triangle', 'TwoSidedPlane', 'playcanvas/terrain.glb',
		'playcanvas/house.glb', 'raylib/robot.glb', 'assimp/simple_skin/quad_skin.glb', 'asset-generator-0.6/Animation_Skin/Animation_Skin_01.gltf',
		'asset-generator-0.6/Animation_Skin/Animation_Skin_05.gltf', 'asset-generator-0.6/Animation_Skin/Animation_Skin_08.gltf',
		'asset-generator-0.6/Animation_Skin/Animation_Skin_10.gltf'),
].filter(({ from }) => existsSync(from)).map(plain);
const fileOf = ({ from }) => (extname(from) === '.glb' ? 'model.glb' : basename(from));
const [least, most] = [0.6, 0.95];

describe('framing', { skip: missing() ?? withoutDashboard() ?? false }, () => {
	let bench;
	let page;
	let debug;
	before(async () => {
		bench = await setUp({ art: {} }, models);
		page = await bench.page.context().browser().newPage();
		debug = await page.context().newCDPSession(page);
		page.setDefaultTimeout(patience);
		await page.setViewportSize({ width: 1280, height: 900 });
	});
	after(() => bench.tearDown());
	const viewer = async (run, given) => {
		const expression = `(${run})(document.querySelector('.viewer-root').parentElement.viewer, ${JSON.stringify(given ?? null)})`;
		const { result, exceptionDetails } = await debug.send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
		assert.equal(exceptionDetails?.exception?.description ?? exceptionDetails?.text, undefined);
		return result.value;
	};
	/* The current box, camera, and aspect ratio of the view. */
	const seen = (v, pose) => {
		if (pose) v.clips.choose(pose.clip, { time: pose.time });
		if (pose) v.fit();
		const { camera } = v.stage;
		camera.updateMatrixWorld();
		const through = camera.projectionMatrix.clone().multiply(camera.matrixWorldInverse);
		return { box: [v.box.min.toArray(), v.box.max.toArray()], camera: through.elements, ...(pose ?? { clip: -1, time: 0 }) };
	};

	for (const model of models)
		test(model.name, async () => {
			const address = `${bench.dashboard}art/${model.name}/${fileOf(model)}`;
			const [asset] = (await (await fetch(new URL(`/api/v1/assets?path=art/${model.name}/${fileOf(model)}`, bench.dashboard))).json()).items;
			assert.ok(!asset.error, `failed to cook: ${asset.error?.message}`);
			if (page.url().startsWith(bench.dashboard)) await page.evaluate((to) => {
				history.pushState(null, '', to);
				dispatchEvent(new PopStateEvent('popstate'));
			}, address);
			else await page.goto(address);
			await page.waitForFunction((path) => {
				const found = document.querySelector('.viewer-root')?.parentElement.viewer;
				return found?.asset.path === path && found.levels && !found.message;
			}, `${model.name}/${fileOf(model)}`);
			const poses = [await viewer(seen)];
			const clips = await viewer((v) => v.model.animations.map(({ duration }) => duration));
			for (const [clip, duration] of clips.entries())
				for (const part of [0.1, 0.5, 0.9]) poses.push(await viewer(seen, { clip, time: duration * part }));
			const reference = await bench.page.evaluate(([url, given]) => window.sourceBounds(url, given), [`/source/${model.name}/${fileOf(model)}`, poses]);
			for (const [i, { box, view }] of reference.entries()) {
				const where = `clip ${poses[i].clip} at ${poses[i].time.toFixed(2)} s`;
				const diagonal = Math.hypot(...box[0].map((low, axis) => box[1][axis] - low));
				const off = Math.max(...box.flatMap((corner, end) => corner.map((value, axis) => Math.abs(value - poses[i].box[end][axis]))));
				assert.ok(off <= 0.01 * diagonal, `${where}: the box is off by ${(100 * off / diagonal).toFixed(1)} % of its diagonal`);
				/* Share of the view's height that the model fills, or of the width if that is larger. */
				const fills = Math.max(view[1][0] - view[0][0], view[1][1] - view[0][1]) / 2;
				const outermost = Math.max(...view.flatMap(([x, y]) => [Math.abs(x), Math.abs(y)]));
				assert.ok(fills >= least && fills <= most && outermost <= 1, `${where}: fills ${(100 * fills).toFixed(0)} % of the view, to ${(100 * outermost).toFixed(0)} % of its edge`);
			}
		});

	test('at least 40 models of the corpus, with skins, morph targets and instances', { skip: given ? 'other models are framed' : existsSync(corpus) ? false : 'no corpus' }, () =>
		assert.ok(models.length >= 40, String(models.length)));
});

/* FBX and COLLADA models, at rest and at several times, have the shape that three.js' own loaders of these formats give
 * them. Materials differ by design, so both sides are drawn with colours by face direction. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { corpus, missing, setUp } from './bench.mjs';

/* unit: metres per unit of an FBX file, which its loader does not convert. later: start of the take in seconds, which
 * three.js does not subtract. rate: keys per second of a clip with curved keys: three.js interpolates linearly, so both
 * agree at the keys only. */
const keep = process.env.HOB_PICTURES;
const models = [
	{ name: 'cesium-man', from: 'dae/khronos-source/CesiumMan/CesiumMan.dae' },
	{ name: 'truck', from: 'dae/khronos-source/CesiumMilkTruck/CesiumMilkTruck.dae' },
	{ name: 'skeleton', from: 'fbx/assimp/animation_with_skeleton.fbx', unit: 0.01 },
	{ name: 'sausage', from: 'fbx/ufbx/maya_game_sausage_7500_ascii_wiggle.fbx', unit: 0.01, later: 1 / 24, rate: 24 },
].map((model) => ({ ...model, from: join(corpus, model.from) }));
/* FBX files at rest, each copied without its neighbours. Left out: faces that are not plane, which readers triangulate
 * differently, and rotation orders with pre-rotations, which three.js confuses; oracle.fbx_agreement checks those. */
const stills = [
	{ path: 'assimp/spider' }, { path: 'assimp/phong_cube' },
	{ path: 'ufbx/blender_300_ngon_e_7400_binary', unit: 1 },
	{ path: 'ufbx/max_instanced_material_7700_binary', unit: 0.0254 },
	{ path: 'ufbx/max_unicode_7500_binary', unit: 0.0254 },
	{ path: 'ufbx/maya_cone_7500_binary' }, { path: 'ufbx/maya_pivots_7500_binary' },
	{ path: 'ufbx/maya_split_pivot_7700_binary' }, { path: 'ufbx/maya_color_sets_7500_ascii' },
	{ path: 'ufbx/zbrush_d20_selection_set_7500_binary' },
].map((still) => ({ unit: 0.01, ...still, name: basename(still.path), from: join(corpus, 'fbx', `${still.path}.fbx`), alone: true }));
/* FBX files of five programs; with HOB_PICTURES they are also drawn with their own materials on both sides, for
 * inspection. Left out besides those above: files that three.js rejects (max_shadergraph) or places unlike all other
 * readers (maya_transformed_skin). */
for (const [path, unit, beside] of [['ufbx/maya_different_shaders_7500_ascii', 0.01], ['ufbx/maya_duplicated_texture_7700_ascii', 0.01, ['textures']],
	['ufbx/maya_instanced_pivots_7700_ascii', 0.01], ['ufbx/maya_uv_and_color_sets_7500_binary', 0.01],
	['ufbx/max_instanced_material_7700_ascii', 0.0254], ['assimp/maxPbrMaterial_metalRough', 1], ['ufbx/blender_279_sausage_7400_binary', 1],
	['ufbx/blender_279_internal_textures_7400_binary', 0.01, ['textures']], ['ufbx/blender_402_material_chart_7400_binary', 1],
	['ufbx/motionbuilder_smoothing_7700_binary', 0.01], ['ufbx/motionbuilder_thumbnail_7700_binary', 0.01],
	['ufbx/motionbuilder_extrapolation_slope_7700_binary', 0.01], ['ufbx/revit_wall_square_7700_binary', 0.3048]])
	stills.push({ path, unit, name: basename(path), from: join(corpus, 'fbx', `${path}.fbx`), alone: true, beside, looks: Boolean(keep) });
/* COLLADA files at rest. Left out: those that oracle/explained_collada.mjs lists. */
for (const path of ['dae/khronos-source/Duck/Duck', 'dae/khronos-source/RiggedFigure/RiggedFigure', 'dae/khronos-source/RiggedSimple/RiggedSimple',
	'dae/khronos-source/BoxTextured/BoxTextured', 'dae/khronos-source/CesiumMilkTruck/CesiumMilkTruck',
	'dae/khronos-source/BoxAnimated/BoxAnimated', 'dae/qt3d-wine/wine', 'collada/assimp/COLLADA', 'collada/assimp/Cinema4D',
	'collada/assimp/sphere', 'collada/assimp/regr01', 'collada/assimp/box_nested_animation', 'collada/assimp/ConcavePolygon'])
	stills.push({ path, unit: 1, name: `${basename(path)}-collada`, from: join(corpus, `${path}.dae`), alone: true });
const profiles = { exact: { lods: { max: 1 }, meshlets: false, texture: { encoding: 'source' } } };
const limits = { off: 12, rest: 0.3 }; // off: pixels of 262,144, at edges; rest: 1/255

const wanted = process.env.HOB_MODELS?.split(',');
const available = (list) => list.filter(({ name, from }) => existsSync(from) && (!wanted || wanted.includes(name)));
const chosen = available(models), chosenStills = available(stills);
const why = missing() ?? (existsSync(corpus) ? null : `no corpus at ${corpus}; set HOB_CORPUS`);

describe('FBX and COLLADA clips look like those of other loaders', { skip: why ?? false }, () => {
	let bench;
	before(async () => (bench = await setUp(profiles, [...chosen, ...chosenStills])));
	after(() => bench.tearDown());

	for (const model of chosen)
		test(model.name, async () => {
			const { page } = bench;
			const file = basename(model.from);
			const { clips } = await page.evaluate(([url, name, m]) => loadForeign(url, name, m),
				[`/source/${model.name}/${file}`, `exact/${model.name}/${file}`, model]);
			assert.equal(clips[1].length, clips[0].length);
			const failures = [];
			const pictures = new Set();
			for (const part of [0.2, 0.45, 0.7, 0.95]) {
				const wished = clips[1][0].duration * part;
				const time = model.rate ? Math.round(wished * model.rate) / model.rate : wished;
				const found = await page.evaluate((options) => drawForeign(options), { clip: 0, time, later: model.later });
				pictures.add(found.cooked);
				console.log(`${model.name.padEnd(12)} at ${time.toFixed(3)}  max ${String(found.max).padStart(3)}  rest ${found.rest.toFixed(3)}  off ${String(found.off).padStart(5)}  drawn ${found.drawn}`);
				for (const what of keep ? ['source', 'cooked'] : []) {
					mkdirSync(keep, { recursive: true });
					writeFileSync(join(keep, `${model.name}.${part}.${what}.png`), Buffer.from(found[what].split(',')[1], 'base64'));
				}
				if (found.drawn < 500) failures.push(`only ${found.drawn} pixels are drawn: nothing is compared`);
				if (found.rest > limits.rest || found.off > limits.off)
					failures.push(`at ${time.toFixed(3)} s: rest ${found.rest.toFixed(3)} (limit ${limits.rest}), ${found.off} pixels off (limit ${limits.off})`);
			}
			assert.deepEqual(failures, []);
			assert.ok(pictures.size >= 4, 'the model moves');
		});

	for (const model of chosenStills)
		test(`${model.name} at rest`, async () => {
			const { page } = bench;
			const file = basename(model.from);
			const { looks } = await page.evaluate(([url, name, m]) => loadForeign(url, name, m),
				[`/source/${model.name}/${file}`, `exact/${model.name}/${file}`, model]);
			looks.forEach((png, i) => {
				mkdirSync(keep, { recursive: true });
				writeFileSync(join(keep, `${model.name}.look.${['source', 'cooked'][i]}.png`), Buffer.from(png.split(',')[1], 'base64'));
			});
			const found = await page.evaluate((options) => drawForeign(options), {});
			console.log(`${model.name.padEnd(44)} max ${String(found.max).padStart(3)}  rest ${found.rest.toFixed(3)}  off ${String(found.off).padStart(5)}  drawn ${found.drawn}`);
			for (const what of keep ? ['source', 'cooked'] : []) {
				mkdirSync(keep, { recursive: true });
				writeFileSync(join(keep, `${model.name}.${what}.png`), Buffer.from(found[what].split(',')[1], 'base64'));
			}
			assert.ok(found.drawn >= 500, `only ${found.drawn} pixels are drawn: nothing is compared`);
			assert.ok(found.rest <= limits.rest && found.off <= limits.off, `rest ${found.rest.toFixed(3)} (limit ${limits.rest}), ${found.off} pixels off (limit ${limits.off})`);
		});

	test('nothing was thrown on the page', () => assert.deepEqual(bench.complaints, []));
});

/* core/runtime/examples/draw shows cooked models as three.js shows their sources, under the same light. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { corpus, hob, missing, project, setUp } from './bench.mjs';

const draw = join(dirname(hob), 'draw');
const data = (path) => join(project, 'tests/data/models/simple', path);
const khronos = (name) => join(corpus, `gltf/khronos/${name}/glTF-Binary/${name}.glb`);
const models = [
	{ name: 'cesium-man', from: khronos('CesiumMan'), clip: 0, time: 0.7 },
	{ name: 'fox', from: khronos('Fox'), clip: 2, time: 0.4 },
	{ name: 'figure', from: khronos('RiggedFigure'), clip: 0, time: 0.5 },
	{ name: 'morph', from: data('AnimatedMorphCube.glb'), clip: 0, time: 0.7 },
].filter(({ from }) => existsSync(from));
const profiles = { exact: { lods: { max: 1 }, texture: { encoding: 'source' } } };
/* off: pixels of 262,144, at edges; rest: 1/255. The sample's light is simpler than three.js', but shapes are equal. */
const limits = { off: 30, rest: 3 };

const keep = process.env.HOB_PICTURES;
const why = missing() ?? (existsSync(draw) ? null : `no sample renderer at ${draw}: libegl-dev and libgles-dev build it`);
if (!existsSync(corpus)) console.log(`no corpus at ${corpus}: CesiumMan, Fox and RiggedFigure are not drawn; set HOB_CORPUS`);

describe('the sample renderer shows what three.js shows', { skip: why ?? false }, () => {
	let bench;
	before(async () => (bench = await setUp(profiles, models)));
	after(() => bench.tearDown());

	for (const model of models)
		test(model.name, async () => {
			const file = extname(model.from) === '.glb' ? 'model.glb' : basename(model.from);
			const source = await bench.page.evaluate(([url, m]) => drawLikeSample(url, m), [`/source/${model.name}/${file}`, model]);
			const out = join(bench.folder, `out-${model.name}`);
			execFileSync(hob, ['cook', join(bench.folder, 'exact', model.name, file), '-o', out, '-q', '--settings', JSON.stringify(profiles.exact)]);
			const picture = join(out, 'picture.png');
			execFileSync(draw, [join(out, file), '-o', picture, '--size', '512x512', '--pixels', '0', '--clip', String(model.clip),
				'--time', String(model.time - source.start), '--look', source.look.join(',')],
				{ env: { ...process.env, LIBGL_ALWAYS_SOFTWARE: '1', ASAN_OPTIONS: 'detect_leaks=0' }, stdio: ['ignore', 'ignore', 'inherit'] });
			const png = readFileSync(picture);
			if (keep) {
				mkdirSync(keep, { recursive: true });
				writeFileSync(join(keep, `${model.name}.three.png`), Buffer.from(source.png.split(',')[1], 'base64'));
				writeFileSync(join(keep, `${model.name}.draw.png`), png);
			}
			const { max, rest, off, drawn } = await bench.page.evaluate((url) => compareWithPicture(url), `data:image/png;base64,${png.toString('base64')}`);
			console.log(`${model.name.padEnd(12)} max ${String(max).padStart(3)}  rest ${rest.toFixed(3)}  off ${String(off).padStart(5)}  drawn ${drawn}`);
			assert.ok(drawn > 5000, `only ${drawn} pixels are drawn: nothing is compared`);
			assert.ok(off <= limits.off, `${off} pixels are off (limit ${limits.off})`);
			assert.ok(rest <= limits.rest, `the rest differs by ${rest.toFixed(3)} of 255 (limit ${limits.rest})`);
		});

	test('nothing was thrown on the page', () => assert.deepEqual(bench.complaints, []));
});

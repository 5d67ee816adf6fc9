/* The cooked model looks like its source: three.js draws both in one browser, with one camera and one light. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import { corpus, missing, project, setUp } from './bench.mjs';
import { always, fromCorpus } from './models.mjs';

const plain = { lods: { max: 1 }, texture: { encoding: 'rgba8', max_size: 16384 } };
const profiles = {
	float32: { ...plain, vertices: 'float32' },
	quantized: { ...plain, vertices: 'quantized', encode: 'meshopt' },
	passed: { ...plain, vertices: 'float32', texture: { encoding: 'source' } },
	blocks: { ...plain, vertices: 'float32', texture: {} },
};
/* Pixels of 262,144, values in 1/255. off: a vertex that moves by a millionth may move an edge across a pixel's centre,
 * and skin weights are multiples of 1/65535. rest, the root mean square without these pixels: tangent-space normals are
 * stored in two channels. rmse counts all pixels. */
const limits = {
	float32: { off: 8, rest: 0.25, rmse: 1 },
	quantized: { off: 200, rest: 1, rmse: 3 }, // positions of 1/30,240 of the box move four times as many edges as 16 bits do
	passed: { off: 8, rest: 0.25, rmse: 1 },
	blocks: { off: 8, rest: 1, rmse: 1 },
};

const keep = process.env.HOB_PICTURES;
const wanted = process.env.HOB_MODELS?.split(',');
const chosen = [
	...always.map((model) => ({ ...model, from: join(project, 'tests/data/models', model.from) })),
	...(existsSync(corpus) ? fromCorpus.map((model) => ({ ...model, from: join(corpus, model.from) })) : []),
].filter(({ name }) => !wanted || wanted.includes(name));

const why = missing();
if (!existsSync(corpus)) console.log(`no corpus at ${corpus}: ${fromCorpus.length} models are not drawn; set HOB_CORPUS`);

describe('cooked models look like their sources', { skip: why ?? false }, () => {
	let bench;
	before(async () => (bench = await setUp(profiles, chosen)));
	after(() => bench.tearDown());

	test('the renderer is the one the limits were made for', async () => {
		assert.match(await bench.page.evaluate('rendererName()'), /llvmpipe/);
	});

	for (const model of chosen) {
		const file = extname(model.from) === '.glb' ? 'model.glb' : basename(model.from);
		test(model.name, async () => {
			const { page } = bench;
			const source = await page.evaluate(([url, m]) => drawSource(url, m), [`/source/${model.name}/${file}`, model]);
			save(model.name, 'source', source.png);
			const failures = [];
			for (const profile of model.profiles ?? ['float32', 'quantized']) {
				const found = await page.evaluate(([name, m]) => drawCooked(name, m), [`${profile}/${model.name}/${file}`, model]);
				save(model.name, profile, found.png);
				const { max, rmse, rest, off, differ, drawn, problems } = found;
				console.log(`${model.name.padEnd(22)} ${profile.padEnd(10)} max ${String(max).padStart(3)}  rmse ${rmse.toFixed(3)}  rest ${rest.toFixed(3)}  off ${String(off).padStart(5)}  differ ${String(differ).padStart(6)}  drawn ${drawn}`);
				const limit = { ...limits[profile], ...model.limits?.[profile] };
				if (problems.length) failures.push(problems.join('; '));
				if (drawn < 500) failures.push(`only ${drawn} pixels are drawn: nothing is compared`);
				if (rest > limit.rest || off > limit.off || rmse > limit.rmse)
					failures.push(`${profile}: rmse ${rmse.toFixed(3)} (limit ${limit.rmse}), rest ${rest.toFixed(3)} (limit ${limit.rest}), ${off} pixels off (limit ${limit.off}), largest ${max}`);
			}
			assert.deepEqual(failures, []);
		});
	}

	test('nothing was thrown on the page', () => assert.deepEqual(bench.complaints, []));
});

function save(name, what, url) {
	if (!keep) return;
	mkdirSync(keep, { recursive: true });
	writeFileSync(join(keep, `${name}.${what}.png`), Buffer.from(url.split(',')[1], 'base64'));
}

/* Animated FBX and COLLADA models have, at several times, the shape that three.js' own loaders of those formats give them.
 * Their materials differ by design, so both sides are drawn by the direction of their faces. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { corpus, missing, setUp } from './bench.mjs';

/* unit: metres per unit of an FBX file, which its loader leaves as they are. later: seconds at which the take begins, which
 * three.js does not subtract. rate: keys per second of a clip whose curves bend between them: three.js draws lines from key to key,
 * so the two are the same at the keys only. */
const models = [
	{ name: 'cesium-man', from: 'dae/khronos-source/CesiumMan/CesiumMan.dae' },
	{ name: 'truck', from: 'dae/khronos-source/CesiumMilkTruck/CesiumMilkTruck.dae' },
	{ name: 'skeleton', from: 'fbx/assimp/animation_with_skeleton.fbx', unit: 0.01 },
	{ name: 'sausage', from: 'fbx/ufbx/maya_game_sausage_7500_ascii_wiggle.fbx', unit: 0.01, later: 1 / 24, rate: 24 },
].map((model) => ({ ...model, from: join(corpus, model.from) }));
const profiles = { exact: { lods: { max: 1 }, meshlets: false, texture: { encoding: 'source' } } };
const limits = { off: 12, rest: 0.3 }; // pixels of 262,144 at edges; 1/255 elsewhere

const keep = process.env.HOB_PICTURES;
const wanted = process.env.HOB_MODELS?.split(',');
const chosen = models.filter(({ name, from }) => existsSync(from) && (!wanted || wanted.includes(name)));
const why = missing() ?? (existsSync(corpus) ? null : `no corpus at ${corpus}; set HOB_CORPUS`);

describe('FBX and COLLADA clips look like those of other loaders', { skip: why ?? false }, () => {
	let bench;
	before(async () => (bench = await setUp(profiles, chosen)));
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

	test('nothing was thrown on the page', () => assert.deepEqual(bench.complaints, []));
});

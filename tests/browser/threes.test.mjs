/* The three.js loader with the oldest release that it supports and the newest: the same picture as three's own loader of
 * that release shows of the source, and not a word on the console. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import pixelmatch from 'pixelmatch';
import { PNG } from 'pngjs';
import { missing, project, setUp } from './bench.mjs';

const data = join(project, 'tests/data');
const models = ['models/simple/SimpleSkin.gltf', 'models/simple/AnimatedMorphCube.glb', 'models/simple/TextureCoordinateTest.gltf',
	'models/simple/InterpolationTest.glb', 'models/simple/MultipleScenes.gltf', 'models/simple/BoxVertexColors.glb',
	'materials/balls.gltf', 'materials/sides.gltf'].map((from) => ({ name: from.replace(/.*\/|\.\w+$/g, ''), from: join(data, from) }));
const file = ({ name, from }) => (from.endsWith('.glb') ? 'model.glb' : `${name}.gltf`);
const oldest = join(project, 'tests/browser/node_modules/three-oldest');
const reason = missing() ?? (existsSync(oldest) ? null : 'no three-oldest: npm ci --prefix tests/browser');

describe('the oldest and the newest three', { skip: reason ?? false }, () => {
	let bench;
	before(async () => (bench = await setUp({ art: { lods: { max: 1 }, texture: { encoding: 'rgba8' } } }, models)));
	after(() => bench?.tearDown());

	test('the packages say which', () => {
		const { version } = JSON.parse(readFileSync(join(oldest, 'package.json'), 'utf8'));
		const { peerDependencies } = JSON.parse(readFileSync(join(project, 'web/client/package.json'), 'utf8'));
		assert.equal(peerDependencies.three, `>=${version}`);
	});

	for (const three of ['three-oldest', 'three'])
		test(`${three}: each model as the source is shown`, async () => {
			const page = await bench.page.context().browser().newPage(), said = [];
			page.on('console', (message) => ['error', 'warning'].includes(message.type()) && !message.text().includes('GPU stall') && said.push(message.text()));
			page.on('pageerror', (error) => said.push(error.message));
			page.on('response', (answer) => answer.status() >= 400 && said.push(`${answer.status()} ${answer.url()}`));
			await page.goto(`${bench.origin}/tests/threes.html?three=${three}`);
			await page.waitForFunction(() => window.ready);
			for (const model of models) {
				const read = async (how, name) => PNG.sync.read(Buffer.from((await page.evaluate(([call, what]) => window[call](what), [how, name])).split(',')[1], 'base64'));
				const wanted = await read('source', `/source/${model.name}/${file(model)}`), shown = await read('cooked', `art/${model.name}/${file(model)}`);
				const differs = pixelmatch(shown.data, wanted.data, null, 160, 160, { threshold: 0.05 });
				assert.ok(differs <= 40, `${three} ${await page.evaluate(() => window.release)} ${model.name}: ${differs} pixels differ`);
			}
			assert.deepEqual(said, []);
			await page.close();
		});
});

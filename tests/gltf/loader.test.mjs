/* HobLoader: as soon as a skinned model is loaded, its box is that of the posed vertices. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { HobLoader } from '../../web/client/hob-three.js';
import { Box3, Vector3 } from '../../web/node_modules/three/build/three.module.js';

const project = fileURLToPath(new URL('../..', import.meta.url));
const hob = process.env.HOB ?? join(project, 'build/release/hob');
const models = join(project, 'tests/data/models/simple');

async function load(document) {
	const folder = mkdtempSync(join(tmpdir(), 'hob-loader-'));
	try {
		for (const buffer of document.buffers) writeFileSync(join(folder, buffer.uri), readFileSync(join(models, buffer.uri)));
		writeFileSync(join(folder, 'a.gltf'), JSON.stringify(document));
		const done = spawnSync(hob, ['cook', 'a.gltf', '-o', 'out', '--quiet'], { cwd: folder, encoding: 'utf8' });
		assert.equal(done.status, 0, done.stderr);
		const parts = ['meshes', 'materials', 'scene', 'animations'].map((name) =>
			[name, new Uint8Array(readFileSync(join(folder, `out/a.gltf.${name}`)))]);
		return await new HobLoader().parse(Object.fromEntries(parts));
	} finally {
		rmSync(folder, { recursive: true });
	}
}

function drawn(model) {
	const box = new Box3();
	const point = new Vector3();
	model.updateMatrixWorld(true);
	model.traverse((object) => {
		for (let i = 0; i < (object.geometry?.attributes.position.count ?? 0); i++)
			box.expandByPoint(object.getVertexPosition(i, point).applyMatrix4(object.matrixWorld));
	});
	return box;
}

const skin = () => JSON.parse(readFileSync(join(models, 'SimpleSkin.gltf'), 'utf8'));

for (const [what, change] of [
	['at the origin', () => {}],
	['on a node that is moved and turned', (node) => Object.assign(node, { translation: [5, 6, 7], rotation: [0, 1, 0, 0] })],
	['on a node that is scaled', (node) => Object.assign(node, { scale: [10, 10, 10] })],
])
	test(`the box of a skinned mesh ${what}`, async () => {
		const document = skin();
		change(document.nodes.find((node) => node.skin !== undefined));
		const model = await load(document);
		const early = new Box3().setFromObject(model);
		const right = drawn(model);
		assert.ok(right.getSize(new Vector3()).length() > 0.5);
		for (const corner of ['min', 'max'])
			assert.ok(early[corner].distanceTo(right[corner]) < 1e-4, JSON.stringify({ early, right }));
	});

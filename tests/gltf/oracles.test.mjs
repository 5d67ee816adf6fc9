import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { MeshoptDecoder } from 'meshoptimizer';
import { Pack } from '../../web/client/hob-format.js';
import { problems } from './validate.mjs';

const load = (name) => new Uint8Array(readFileSync(new URL(`../data/formats/${name}`, import.meta.url)).slice());

for (const name of ['folded.glb', 'unfolded.glb'])
	test(`the Khronos validator finds no error in ${name}`, async () => {
		const found = await problems(load(name));
		assert.deepEqual(found.filter((message) => message.severity === 0), []);
		// The fixture has an unlit material with transmission and a skinned mesh below other nodes.
		const expected = ['MULTIPLE_EXTENSIONS', 'NODE_SKINNED_MESH_NON_ROOT'];
		assert.deepEqual(found.map((message) => message.code).filter((code) => !expected.includes(code)), []);
	});

test('encoded sections decode to the raw ones', async () => {
	await MeshoptDecoder.ready;
	const decoder = {
		decodeVertexBuffer: (...args) => MeshoptDecoder.decodeVertexBuffer(...args),
		decodeIndexBuffer: (...args) => MeshoptDecoder.decodeIndexBuffer(...args),
		decodeIndexSequence: (...args) => MeshoptDecoder.decodeIndexSequence(...args),
	};
	const raw = new Pack(load('raw.meshes'));
	const encoded = new Pack(load('encoded.meshes'));
	let decoded = 0;
	encoded.sections.forEach((section, i) => {
		if (!section.known.gpu) return;
		decoded += section.codec !== 0;
		assert.deepEqual(encoded.decode(section, decoder), raw.decode(raw.sections[i]), section.type);
	});
	assert.ok(decoded > 0);
});

/* `hob export` of glTF sources: the Khronos validator finds no error, and the exported scene has the content of the
 * source. The facts about each source come from others (glTF-Transform; ORACLE-gltf.tsv of the corpus) or are counted
 * in its JSON. HOB_EXPORT=all uses every glTF of the corpus instead of one file per feature. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { listFacts, readGltf, sceneFacts } from './facts.mjs';
import { curves, extras, makePointers } from './pointers.mjs';
import { problems } from './validate.mjs';

const project = fileURLToPath(new URL('../..', import.meta.url));
const hob = process.env.HOB ?? join(project, 'build/release/hob');
const corpus = process.env.HOB_CORPUS ?? join(project, '../shared/corpus');
const all = process.env.HOB_EXPORT === 'all';

const own = ['AnimatedMorphCube.glb', 'BoxVertexColors.glb', 'InterpolationTest.glb', 'MultipleScenes.gltf', 'SimpleSkin.gltf',
	'TextureCoordinateTest.gltf'];
const k = (name, kind = 'glTF-Binary') => `gltf/khronos/${name}/${kind}/${name}.${kind === 'glTF-Binary' ? 'glb' : 'gltf'}`;
const g = (group, number) => `gltf/asset-generator-0.6/${group}/${group}_${number}.gltf`;
const features = [k('Duck', 'glTF-Draco'), k('Duck', 'glTF-Quantized'), k('Fox'), k('NegativeScaleTest'), k('SimpleInstancing'),
	k('MultiUVTest'), k('TextureTransformTest', 'glTF'), k('MeshPrimitiveModes', 'glTF'), k('MorphPrimitivesTest'),
	k('SimpleSparseAccessor', 'glTF'), k('UnlitTest'), k('Cameras', 'glTF'), k('LightsPunctualLamp'), g('Animation_Skin', '03'),
	g('Animation_Skin', '07'), g('Node_Attribute', '07'), g('Mesh_PrimitiveMode', '12'), g('Buffer_Interleaved', '03')];

/* Intended differences; the last item is the column's name. */
const explained = [
	[/^gltf\/khronos\/SimpleInstancing\//, 'EXT_mesh_gpu_instancing is drawn; the oracle counts one instance', /./],
	[/./, 'materials that are equal in all but name are one', /^materials/],
	[/^gltf\/(assimp\/draco\/2CylinderEngine|playcanvas\/cave|raylib\/robot)/, 'triangles with two equal corners are dropped', /^triangles/],
	[/singleBlendshapeCube_sparse/, 'the one key of its clip says what the rest pose says', /^clips/],
];
const refused = [
	[/CubeScaledInstances\/glTF\/cube_att/, 'a node with two parents is no tree'],
	[/^restricted\//, 'may be missing from the folder'],
];
const why = (list, name, fact = '') => list.find(([path, , facts]) => path.test(name) && (!facts || facts.test(fact)))?.[1];

function rows() {
	const table = join(corpus, 'ORACLE-gltf.tsv');
	if (!existsSync(table)) return [];
	return readFileSync(table, 'utf8').trim().split('\n').slice(1).map((line) => line.split('\t'))
		.filter((row) => !row[13] && existsSync(join(corpus, row[0])));
}

function differences(exported, source, row) {
	const found = [];
	const compare = (name, ours, theirs, tolerance = 0) => {
		if (theirs !== '' && theirs !== undefined && !(Math.abs(ours - Number(theirs)) <= tolerance))
			found.push(`${name} ${ours}, source ${theirs}`);
	};
	const facts = sceneFacts(exported), lists = listFacts(exported), wanted = listFacts(source);
	if (row) {
		const size = Math.max(0, ...facts.max.map((max, i) => max - facts.min[i]).filter(Number.isFinite));
		compare('triangles', facts.triangles, row[2]);
		compare('instances', facts.instances, row[4]);
		compare('draws', facts.draws, row[5]);
		for (const [name, column] of [['min', 6], ['max', 7]])
			row[column].split(',').forEach((value, i) => compare(name, facts[name][i], value, 1e-4 * size + 1e-6));
	}
	for (const name of ['scenes', 'cameras', 'lights', 'materials', 'clips']) compare(name, lists[name], wanted[name]);
	return found;
}

/* Pointers of the first clip, with their keys. */
function pointerKeys({ json, bin }) {
	const floats = (id) => {
		const accessor = json.accessors[id], view = json.bufferViews[accessor.bufferView];
		const count = accessor.count * { SCALAR: 1, VEC2: 2, VEC3: 3, VEC4: 4 }[accessor.type];
		const start = (view.byteOffset ?? 0) + (accessor.byteOffset ?? 0);
		return Array.from({ length: count }, (_, i) => bin.readFloatLE(start + i * 4));
	};
	const [{ channels, samplers }] = json.animations;
	return Object.fromEntries(channels.filter(({ target }) => target.path === 'pointer').map(({ sampler, target }) => {
		const { input, output, interpolation: mode } = samplers[sampler];
		return [target.extensions.KHR_animation_pointer.pointer, { mode, times: floats(input), values: floats(output) }];
	}));
}

const skip = !existsSync(join(project, 'tests/gltf/node_modules')) ? 'npm ci --prefix tests/gltf fetches what is needed'
	: !existsSync(hob) ? `there is no ${hob}` : false;

describe('exported GLB files', { skip }, () => {
	const out = mkdtempSync(join(tmpdir(), 'hob-test-export-'));
	const table = new Map(rows().map((row) => [row[0], row]));
	const chosen = all ? [...table.keys()] : features.filter((path) => table.has(path));
	const simple = join(project, 'tests/data/models/simple');
	const run = (root, names, ...more) => {
		const done = spawnSync(hob, ['export', '--root', root, '-o', out, '-q', ...more, ...names.map((name) => join(root, name))],
			{ encoding: 'utf8', maxBuffer: 1 << 26 });
		assert.ok(done.status === 0 || done.status === 1, done.stderr);
		return done;
	};
	const exported = (name) => join(out, name.toLowerCase().endsWith('.glb') ? name : `${name}.glb`);
	const check = async (root, name) => {
		const errors = (await problems(new Uint8Array(readFileSync(exported(name))))).filter(({ severity }) => severity === 0);
		assert.deepEqual(errors, []);
		const found = differences(readGltf(exported(name)), readGltf(join(root, name)), table.get(name));
		assert.deepEqual(found.filter((text) => !why(explained, name, text)), []);
	};

	before(() => {
		run(simple, own);
		if (chosen.length) run(corpus, chosen);
		else console.log(`no corpus at ${corpus}: ${features.length} models are not exported; set HOB_CORPUS`);
	});
	after(() => rmSync(out, { recursive: true }));

	for (const name of own) test(name, () => check(simple, name));
	test('KHR_animation_pointer: the exported clip names the same things with the same keys', async () => {
		const folder = mkdtempSync(join(tmpdir(), 'hob-test-pointers-'));
		try {
			makePointers(folder);
			run(folder, ['pointers.gltf']);
			assert.deepEqual((await problems(new Uint8Array(readFileSync(exported('pointers.gltf'))))).filter(({ severity }) => severity === 0), []);
			assert.deepEqual(differences(readGltf(exported('pointers.gltf')), readGltf(join(folder, 'pointers.gltf'))), []);
			const { json } = readGltf(exported('pointers.gltf'));
			assert.deepEqual([json.cameras[1].extras, json.extensions.KHR_lights_punctual.lights[0].extras, json.meshes[0].extras,
				json.meshes[1].extras.mood, json.meshes[1].extras.targetNames.length, json.animations[0].extras],
			[extras.camera, extras.light, extras.mesh, 'glad', 1, extras.clip]);
			assert.deepEqual(pointerKeys(readGltf(exported('pointers.gltf'))), Object.fromEntries(Object.entries(curves)
				.filter(([pointer]) => !/^\/(nodes|meshes)/.test(pointer)).map(([pointer, [mode, times, values]]) =>
					[pointer, { mode, times, values: values.flat(2).map(Math.fround) }])));
		} finally {
			rmSync(folder, { recursive: true });
		}
	});
	test('what glTF-Transform reads is exported, all but what is refused on purpose', () => {
		assert.deepEqual(chosen.filter((name) => !existsSync(exported(name)) && !why(refused, name)), []);
	});
	for (const name of chosen)
		test(name, async (t) => {
			if (!existsSync(exported(name))) return t.skip(why(refused, name));
			await check(corpus, name);
		});
});

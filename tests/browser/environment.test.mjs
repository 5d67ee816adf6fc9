/* Spheres in an environment that Hob cooked, compared with three.js' own blurring of the same .hdr file: drawn by
 * three.js with the cooked cube, and by core/runtime/examples/draw with the cooked cube and its harmonics. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { hob, missing, setUp } from './bench.mjs';

const draw = join(dirname(hob), 'draw');
const keep = process.env.HOB_PICTURES;
const roughness = [0.05, 0.25, 0.5, 0.75, 1];
/* Root mean square (of 255) over a sphere. Two ways to sum the same light differ a little; a face turned, mirrored or
 * swapped, or a level used for another roughness, differs by 25 or more. */
const limits = { rgba8: 1.5, bc: 3, draw: 4 };

/* A blue sky, a brown ground with a red wall to one side, a lamp and a green window: all faces of the cube differ. */
function light([x, y, z]) {
	const lamp = 0.36 * x + 0.8 * y + 0.48 * z > 0.97 ? 30 : 0;
	const window = -0.8 * x + 0.6 * z > 0.9 && Math.abs(y) < 0.3 ? 3 : 0;
	const wall = z < -0.7 && y < 0.4 ? 1 : 0;
	const ground = y < 0;
	return [(ground ? 0.2 : 0.25) + 0.8 * wall + lamp, (ground ? 0.12 : 0.45) + lamp + window, (ground ? 0.06 : 0.9) * (1 - 0.7 * wall) + 0.8 * lamp];
}

function writeLight(path) {
	const [width, height] = [512, 256];
	const pixels = Buffer.alloc(width * height * 4);
	for (let row = 0; row < height; row++)
		for (let column = 0; column < width; column++) {
			const turn = ((column + 0.5) / width - 0.5) * 2 * Math.PI;
			const down = ((row + 0.5) / height) * Math.PI;
			const color = light([Math.cos(turn) * Math.sin(down), Math.cos(down), Math.sin(turn) * Math.sin(down)]);
			const exponent = Math.floor(Math.log2(Math.max(...color))) + 1;
			pixels.set([...color.map((c) => Math.floor((c * 256) / 2 ** exponent)), exponent + 128], 4 * (row * width + column));
		}
	writeFileSync(path, Buffer.concat([Buffer.from(`#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y ${height} +X ${width}\n`), pixels]));
}

/* A row of metallic and a row of red spheres, rougher to the right. */
function writeSpheres(path) {
	const [across, down] = [64, 32];
	const normals = new Float32Array(3 * (across + 1) * (down + 1));
	const indices = new Uint16Array(6 * across * down);
	for (let row = 0, at = 0, i = 0; row <= down; row++)
		for (let column = 0; column <= across; column++, at += 3) {
			const [turn, fall] = [(2 * Math.PI * column) / across, (Math.PI * row) / down];
			normals.set([Math.cos(turn) * Math.sin(fall), Math.cos(fall), Math.sin(turn) * Math.sin(fall)], at);
			if (row === down || column === across) continue;
			const [a, b] = [row * (across + 1) + column, (row + 1) * (across + 1) + column];
			indices.set([a, a + 1, b, b, a + 1, b + 1], i);
			i += 6;
		}
	const bytes = Buffer.concat([Buffer.from(normals.buffer), Buffer.from(indices.buffer)]);
	const materials = [[1, [0.95, 0.9, 0.8, 1]], [0, [0.8, 0.15, 0.1, 1]]].flatMap(([metallicFactor, baseColorFactor]) =>
		roughness.map((roughnessFactor) => ({ pbrMetallicRoughness: { metallicFactor, baseColorFactor, roughnessFactor } })));
	writeFileSync(path, JSON.stringify({
		asset: { version: '2.0' }, scene: 0, scenes: [{ nodes: materials.map((_, i) => i) }],
		nodes: materials.map((_, i) => ({ mesh: i, translation: [2.2 * (i % 5), i < 5 ? 2.2 : 0, 0] })),
		materials,
		meshes: materials.map((_, material) => ({ primitives: [{ attributes: { POSITION: 0, NORMAL: 0 }, indices: 1, material }] })),
		accessors: [{ bufferView: 0, componentType: 5126, count: normals.length / 3, type: 'VEC3', min: [-1, -1, -1], max: [1, 1, 1] },
			{ bufferView: 1, componentType: 5123, count: indices.length, type: 'SCALAR' }],
		bufferViews: [{ buffer: 0, byteLength: normals.byteLength }, { buffer: 0, byteOffset: normals.byteLength, byteLength: indices.byteLength }],
		buffers: [{ byteLength: bytes.length, uri: `data:application/octet-stream;base64,${bytes.toString('base64')}` }],
	}));
}

const save = (name, url) => {
	if (!keep) return;
	mkdirSync(keep, { recursive: true });
	writeFileSync(join(keep, `environment.${name}.png`), Buffer.from(url.split(',')[1], 'base64'));
};

/* One figure per sphere: metal from smooth to rough, then red. */
function check(name, found, limit) {
	console.log(`${name.padEnd(12)} ${found.map((rmse) => rmse.toFixed(2)).join('  ')}`);
	found.forEach((rmse, i) => assert.ok(rmse <= limit, `${name}: sphere ${i} differs by ${rmse.toFixed(2)} of 255 (limit ${limit})`));
}

const profiles = { bc: { environment: { cook: true }, lods: { max: 1 } }, rgba8: { environment: { cook: true }, texture: { encoding: 'rgba8' } } };

describe('a cooked environment lights as three.js does', { skip: missing() ?? false }, () => {
	let bench;
	let own;
	let reference;
	before(async () => {
		own = mkdtempSync(join(tmpdir(), 'hob-environment-'));
		writeLight(join(own, 'room.hdr'));
		writeSpheres(join(own, 'spheres.gltf'));
		bench = await setUp(profiles, ['room.hdr', 'spheres.gltf'].map((file) => ({ name: file.split('.')[0], from: join(own, file), alone: true })));
		reference = await bench.page.evaluate(() => drawWithin('/source/spheres/spheres.gltf', { source: '/source/room/room.hdr' }));
		save('three', reference.png);
	});
	after(async () => {
		await bench?.tearDown();
		rmSync(own, { recursive: true, force: true });
	});

	for (const profile of Object.keys(profiles))
		test(`three.js with the cooked cube, ${profile}`, async () => {
			const { png, spheres, problems } = await bench.page.evaluate((cooked) => drawWithin('/source/spheres/spheres.gltf', { cooked }), `${profile}/room/room.hdr`);
			save(profile, png);
			assert.deepEqual(problems, []);
			check(profile, spheres, limits[profile]);
		});

	test('the same cube, unpacked without the graphics card', async () => {
		const { png, spheres } = await bench.page.evaluate(() => drawWithin('/source/spheres/spheres.gltf', { cooked: 'bc/room/room.hdr', unpack: true }));
		save('unpacked', png);
		check('unpacked', spheres, limits.bc);
	});

	test('the probe has the irradiance of the rough end', async () => {
		const { spheres } = await bench.page.evaluate(() => compareProbe('bc/room/room.hdr'));
		check('probe', spheres, 8);
	});

	test('the sample renderer', { skip: existsSync(draw) ? false : `no sample renderer at ${draw}` }, async () => {
		const out = join(bench.folder, 'out');
		for (const file of ['room/room.hdr', 'spheres/spheres.gltf'])
			execFileSync(hob, ['cook', join(bench.folder, 'bc', file), '-o', out, '-q', '--settings', JSON.stringify(profiles.bc)]);
		const picture = join(out, 'picture.png');
		execFileSync(draw, [join(out, 'spheres.gltf'), '-o', picture, '--size', '512x512', '--pixels', '0', '--look', reference.look.join(','),
			'--environment', join(out, 'room.hdr')],
			{ env: { ...process.env, LIBGL_ALWAYS_SOFTWARE: '1', ASAN_OPTIONS: 'detect_leaks=0' }, stdio: ['ignore', 'ignore', 'inherit'] });
		const url = `data:image/png;base64,${readFileSync(picture).toString('base64')}`;
		save('draw', url);
		check('draw', await bench.page.evaluate((at) => compareSpheres(at), url), limits.draw);
	});

	test('nothing was thrown on the page', () => assert.deepEqual(bench.complaints, []));
});

/* Every encoding, checked by other programs: ktx-parse reads the structure of the KTX2 files, three.js' KTX2Loader and
 * the browser's GPU their pixels, level by level, which are compared with the source pictures. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { read } from 'ktx-parse';
import { PNG } from 'pngjs';
import { corpus, missing, setUp } from './bench.mjs';

const profiles = {
	rgba8: { texture: { encoding: 'rgba8' } },
	stored: { texture: { encoding: 'rgba8', zstd: false } },
	bc: { texture: { encoding: 'bc', quality: 'good' } },
	fast: { texture: {} },
	small: { texture: { encoding: 'bc', quality: 'small', zstd: false, sides: 'fours' } },
	astc: { texture: { encoding: 'astc' } },
};

/* channels: those that are stored, and compared. */
const uses = {
	color: { slot: 'base', size: [64, 48], channels: 3, srgb: true },
	blend: { slot: 'base', size: [64, 48], channels: 4, srgb: true, alpha: true },
	odd: { slot: 'base', size: [37, 21], channels: 3, srgb: true },
	normal: { slot: 'normal', size: [64, 48], channels: 2 },
	mask: { slot: 'occlusion', size: [52, 20], channels: 1 },
	orm: { slot: 'rough', size: [61, 33], channels: 3 },
};

/* VkFormat numbers of each use and profile. */
const RGBA = [37, 43], BC1 = [131, 132], BC3 = [137, 138], BC4 = 139, BC5 = 141, BC7 = [145, 146], ASTC4 = 157, ASTC6 = [165, 166];
const plain = { color: RGBA[1], blend: RGBA[1], odd: RGBA[1], normal: 16, mask: 9, orm: RGBA[0] };
const blocks = { color: BC7[1], blend: BC7[1], odd: BC7[1], normal: BC5, mask: BC4, orm: BC7[0] };
const formats = {
	rgba8: plain,
	stored: plain,
	bc: blocks,
	fast: blocks,
	small: { color: BC1[1], blend: BC3[1], odd: BC1[1], normal: BC5, mask: BC4, orm: BC1[0] },
	astc: { color: ASTC6[1], blend: ASTC6[1], odd: ASTC6[1], normal: ASTC4, mask: ASTC6[0], orm: ASTC6[0] },
};
/* [colour model of the data format descriptor, block side, block bytes] */
const layouts = new Map([[9, [1, 1, 1]], [16, [1, 1, 2]], [37, [1, 1, 4]], [43, [1, 1, 4]], [131, [128, 4, 8]], [132, [128, 4, 8]],
	[137, [130, 4, 16]], [138, [130, 4, 16]], [139, [131, 4, 8]], [141, [132, 4, 16]], [145, [134, 4, 16]], [146, [134, 4, 16]],
	[157, [162, 4, 16]], [165, [162, 6, 16]], [166, [162, 6, 16]]]);
/* Lowest PSNR in dB of the first level; all channels differ from pixel to pixel. */
const least = { bc: 48, fast: 48, small: 25, astc: 25 };

const toLinear = (code) => (code <= 0.04045 ? code / 12.92 : ((code + 0.055) / 1.055) ** 2.4);
const toCode = (light) => (light <= 0.0031308 ? light * 12.92 : 1.055 * light ** (1 / 2.4) - 0.055);

/* A picture of low waves with grain, as codes 0..255 in RGBA: small pictures that blocks spoil stay uncompressed. */
function makePicture(use) {
	const { size: [width, height], slot, alpha } = uses[use];
	const png = new PNG({ width, height });
	let seed = 7;
	for (let i = 0; i < width * height; i++) {
		const x = (i % width) / width, y = Math.floor(i / width) / height;
		seed = (seed * 1103515245 + 12345) % 2147483648;
		const grain = (seed / 2147483648 - 0.5) * 2;
		if (slot === 'normal') {
			const nx = 0.6 * Math.sin(9 * x), ny = 0.5 * Math.cos(7 * y), nz = Math.sqrt(1 - nx * nx - ny * ny);
			[nx, ny, nz].forEach((v, k) => (png.data[4 * i + k] = Math.round(v * 127.5 + 127.5)));
		} else {
			[128 + 12 * Math.sin(6 * x) + grain, 100 + 20 * y, 128 + 11 * Math.cos(5 * (x + y)) - grain]
				.forEach((v, k) => (png.data[4 * i + k] = Math.round(v)));
		}
		png.data[4 * i + 3] = alpha ? Math.round(160 + 60 * x) : 255;
	}
	return png;
}

function writeModel(folder, use, png) {
	const { slot, alpha } = uses[use] ?? { slot: 'base' };
	const buffer = Buffer.alloc(60);
	[0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1].forEach((v, i) => buffer.writeFloatLE(v, 4 * i));
	const map = { index: 0 };
	const material = { alphaMode: alpha ? 'BLEND' : 'OPAQUE', pbrMetallicRoughness: {} };
	if (slot === 'base') material.pbrMetallicRoughness.baseColorTexture = map;
	if (slot === 'rough') material.pbrMetallicRoughness.metallicRoughnessTexture = map;
	if (slot === 'normal') material.normalTexture = map;
	if (slot === 'occlusion') material.occlusionTexture = map;
	mkdirSync(folder);
	const uri = png ? 'picture.png' : 'picture.hdr';
	if (png) writeFileSync(join(folder, uri), PNG.sync.write(png));
	else light = writeLight(join(folder, uri));
	writeFileSync(join(folder, 'model.gltf'), JSON.stringify({
		asset: { version: '2.0' }, scene: 0, scenes: [{ nodes: [0] }], nodes: [{ mesh: 0 }], materials: [material],
		meshes: [{ primitives: [{ attributes: { POSITION: 0, TEXCOORD_0: 1 }, material: 0 }] }],
		textures: [{ source: 0 }], images: [{ uri }],
		buffers: [{ byteLength: 60, uri: `data:application/octet-stream;base64,${buffer.toString('base64')}` }],
		bufferViews: [{ buffer: 0, byteLength: 36 }, { buffer: 0, byteOffset: 36, byteLength: 24 }],
		accessors: [{ bufferView: 0, componentType: 5126, count: 3, type: 'VEC3', min: [0, 0, 0], max: [1, 1, 0] },
			{ bufferView: 1, componentType: 5126, count: 3, type: 'VEC2' }],
	}));
}

/* Writes a Radiance file: waves of light over twelve stops, and a lamp. Returns the values as stored. */
function writeLight(path) {
	const size = 64, body = Buffer.alloc(4 * size * size), values = new Float64Array(4 * size * size);
	for (let i = 0; i < size * size; i++) {
		const x = (i % size) / size, y = Math.floor(i / size) / size;
		const lamp = Math.hypot(x - 0.3, y - 0.6) < 0.1 ? 300 : 1;
		const color = [1, 0.8 + 0.2 * Math.sin(9 * x), 0.6 + 0.3 * Math.cos(7 * y)].map((v) => v * lamp * 2 ** (6 * x - 3));
		const exponent = Math.ceil(Math.log2(Math.max(...color)));
		color.forEach((v, k) => (body[4 * i + k] = Math.min(255, Math.floor(v * 2 ** (8 - exponent)))));
		body[4 * i + 3] = exponent + 128;
		for (let k = 0; k < 3; k++) values[4 * i + k] = body[4 * i + k] * 2 ** (exponent - 8);
	}
	writeFileSync(path, Buffer.concat([Buffer.from(`#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y ${size} +X ${size}\n`), body]));
	return values;
}

let light;

const side = (full, level) => Math.max(1, full >> level);

function checkStructure(bytes, profile, use) {
	const { size, srgb } = uses[use];
	const file = read(bytes);
	const vk = formats[profile][use];
	const [model, block, blockBytes] = layouts.get(vk);
	const [width, height] = profiles[profile].texture.sides === 'fours' ? size.map((v) => Math.ceil(v / 4) * 4) : size;
	assert.equal(file.vkFormat, vk);
	assert.deepEqual([file.pixelWidth, file.pixelHeight, file.pixelDepth, file.layerCount, file.faceCount, file.typeSize], [width, height, 0, 0, 1, 1]);
	assert.equal(file.levels.length, Math.floor(Math.log2(Math.max(width, height))) + 1);
	const zstd = profiles[profile].texture.zstd !== false;
	assert.equal(file.supercompressionScheme, zstd ? 2 : 0);
	file.levels.forEach(({ levelData, uncompressedByteLength }, level) => {
		const bytesOf = Math.ceil(side(width, level) / block) * Math.ceil(side(height, level) / block) * blockBytes;
		assert.equal(uncompressedByteLength, bytesOf);
		if (!zstd) assert.equal(levelData.length, bytesOf);
	});
	const [dfd] = file.dataFormatDescriptor;
	assert.equal(file.dataFormatDescriptor.length, 1);
	assert.deepEqual([dfd.vendorId, dfd.descriptorType, dfd.colorModel, dfd.colorPrimaries, dfd.transferFunction], [0, 0, model, 1, srgb ? 2 : 1]);
	assert.deepEqual([...dfd.texelBlockDimension], [block - 1, block - 1, 0, 0]);
	assert.equal(dfd.bytesPlane[0], blockBytes);
	assert.equal(dfd.samples.reduce((sum, { bitLength }) => sum + bitLength + 1, 0), 8 * blockBytes);
	assert.equal(file.keyValue.KTXorientation, 'rd');
	assert.match(file.keyValue.KTXwriter, /^hob/);
}

/* Box filter: the exact area under each smaller pixel, level by level. */
function shrink({ width, height, values }) {
	const wide = Math.max(1, width >> 1), high = Math.max(1, height >> 1);
	const next = new Float64Array(4 * wide * high);
	const spans = (from, to) => Array.from({ length: to }, (_, i) => {
		const first = (i * from) / to, end = ((i + 1) * from) / to, found = [];
		for (let k = Math.floor(first); k < Math.ceil(end - 1e-9); k++) found.push([k, (Math.min(end, k + 1) - Math.max(first, k)) / (end - first)]);
		return found;
	});
	const columns = spans(width, wide);
	spans(height, high).forEach((rows, y) => columns.forEach((across, x) => {
		for (const [j, b] of rows) for (const [i, a] of across)
			for (let k = 0; k < 4; k++) next[4 * (y * wide + x) + k] += a * b * values[4 * (j * width + i) + k];
	}));
	return { width: wide, height: high, values: next };
}

/* Codes 0..255 of pixels that the GPU read, which are linear for sRGB colours. */
const codesOf = (pixels, srgb) => pixels.map((v, i) => 255 * (srgb && i % 4 < 3 ? toCode(v) : v));

function differences(codes, expected, channels) {
	let sum = 0, most = 0;
	for (let i = 0; i < codes.length; i++) {
		if (i % 4 >= channels) continue;
		const d = Math.abs(codes[i] - expected[i]);
		sum += d * d;
		most = Math.max(most, d);
	}
	const mean = sum / ((codes.length / 4) * channels);
	return { most, psnr: 10 * Math.log10((255 * 255) / mean) };
}

const why = missing();

describe('textures as others read them', { skip: why ?? false }, () => {
	const sources = mkdtempSync(join(tmpdir(), 'hob-textures-'));
	const pictures = {};
	const models = [];
	let bench;
	before(async () => {
		for (const use of Object.keys(uses)) {
			pictures[use] = makePicture(use);
			writeModel(join(sources, use), use, pictures[use]);
			models.push({ name: use, from: join(sources, use, 'model.gltf') });
		}
		writeModel(join(sources, 'light'), 'light');
		models.push({ name: 'light', from: join(sources, 'light', 'model.gltf') });
		for (const kind of ['etc1s', 'uastc']) {
			const from = join(corpus, `gltf/khronos-derived/BoxTextured-KTX2-${kind}/BoxTextured.gltf`);
			if (existsSync(from)) models.push({ name: kind, from });
		}
		bench = await setUp(profiles, models);
	});
	after(async () => {
		await bench?.tearDown();
		rmSync(sources, { recursive: true, force: true });
	});

	const load = (name) => bench.page.evaluate((url) => readTexture(url), `/a/${name}?output=textures/0`);

	test('the GPU has all three families', async () => {
		assert.deepEqual(await bench.page.evaluate('textureFamilies()'), { s3tc: true, rgtc: true, bptc: true, astc: true });
	});

	for (const profile of Object.keys(profiles))
		for (const use of Object.keys(uses))
			test(`${profile} ${use}`, async (t) => {
				const { channels, srgb } = uses[use];
				const name = `${profile}/${use}/model.gltf`;
				const bytes = new Uint8Array(await (await fetch(`${bench.origin}/a/${name}?output=textures/0`)).arrayBuffer());
				if (profile === 'astc' && read(bytes).vkFormat === plain[use]) return t.skip('built without astcenc');
				checkStructure(bytes, profile, use);
				const seen = await load(name);
				assert.equal(seen.srgb, Boolean(srgb));
				assert.equal(seen.levels.length, read(bytes).levels.length);
				const { width, height, data } = pictures[use];
				const [first] = seen.levels;
				const exact = profile === 'rgba8' || profile === 'stored';
				if (first.width === width && first.height === height) {
					const found = differences(codesOf(first.pixels, srgb), data, channels);
					console.log(`${profile.padEnd(6)} ${use.padEnd(6)} ${first.width} x ${first.height}  ${found.psnr.toFixed(2)} dB, most ${found.most.toFixed(2)}`);
					if (exact) assert.ok(found.most < 0.5, `level 0 is off by ${found.most}`);
					else assert.ok(found.psnr > least[profile], `${found.psnr} dB`);
				} else {
					assert.equal(profile, 'small');
					assert.deepEqual([first.width, first.height], [width, height].map((v) => Math.ceil(v / 4) * 4), 'to whole blocks');
				}
				/* Each level is the average of level 0, in linear light for colours; the length of normals is tested
				 * elsewhere. */
				if (use === 'normal' || use === 'blend') return;
				const light = (codes) => Float64Array.from(codes, (v, i) => (srgb && i % 4 < 3 ? toLinear(v / 255) : v / 255));
				let level = { width: first.width, height: first.height, values: light(codesOf(first.pixels, srgb)) };
				for (const next of seen.levels.slice(1)) {
					level = shrink(level);
					assert.deepEqual([next.width, next.height], [level.width, level.height]);
					const found = differences(codesOf(next.pixels, srgb), codesOf([...level.values], srgb), channels);
					/* A block that covers the whole level has more colours than a line through them. */
					if (!exact && Math.min(next.width, next.height) < 8) continue;
					assert.ok(exact ? found.most < 1.2 : found.psnr > 20, `level of ${next.width} x ${next.height}: off by ${found.most}, ${found.psnr} dB`);
				}
			});

	/* Tolerance that the standards allow hardware: one code, and for BC1 and BC3 the rounding of thirds. */
	for (const profile of ['bc', 'small', 'astc'])
		test(`unpacked without the GPU as by the GPU: ${profile}`, async (t) => {
			for (const use of Object.keys(uses)) {
				const name = `${profile}/${use}/model.gltf`;
				const { srgb, levels } = await load(name);
				const bytes = new Uint8Array(await (await fetch(`${bench.origin}/a/${name}?output=textures/0`)).arrayBuffer());
				if (read(bytes).vkFormat === plain[use]) return t.skip('built without astcenc');
				const unpacked = await bench.page.evaluate((url) => unpackTexture(url), `/a/${name}?output=textures/0`);
				assert.equal(unpacked.length, levels.length);
				levels.forEach(({ pixels, width, height }, i) => {
					assert.equal(unpacked[i].length, 4 * width * height);
					const { most, psnr } = differences(codesOf(pixels, srgb), unpacked[i], 4);
					if (i === 0) console.log(`${profile.padEnd(6)} ${use.padEnd(6)} most ${most.toFixed(2)}, ${psnr.toFixed(1)} dB`);
					assert.ok(most < 1.6 && psnr > 52, `${use}, level ${i}: off by ${most}, ${psnr} dB`);
				});
			}
		});

	/* The GPU (Mesa, in software) and three's loader share no code with Hob. HDR values are compared by logarithm. */
	for (const profile of ['fast', 'bc', 'rgba8'])
		test(`HDR: ${profile}`, async () => {
			const name = `${profile}/light/model.gltf`;
			const bytes = new Uint8Array(await (await fetch(`${bench.origin}/a/${name}?output=textures/0`)).arrayBuffer());
			const file = read(bytes);
			assert.equal(file.vkFormat, profile === 'rgba8' ? 97 : 143);
			const { levels } = await load(name);
			const stops = (v) => Math.log2(Math.max(v, 1e-4));
			let sum = 0;
			levels[0].pixels.forEach((v, i) => { if (i % 4 < 3) sum += (stops(v) - stops(light[i])) ** 2; });
			const off = Math.sqrt(sum / (light.length * 3 / 4));
			console.log(`${profile.padEnd(6)} light  ${off.toFixed(4)} stops`);
			assert.ok(off < { fast: 0.06, bc: 0.03, rgba8: 0.001 }[profile], `off by ${off} stops`);
			if (profile === 'rgba8') return;
			const unpacked = await bench.page.evaluate((url) => unpackTexture(url), `/a/${name}?output=textures/0`);
			const half = (h) => (h & 0x7c00 ? 2 ** ((h >> 10) - 15) * (1 + (h & 1023) / 1024) : (h & 1023) / 2 ** 24);
			levels.forEach(({ pixels }, i) => assert.deepEqual(unpacked[i].map(half), pixels, `level ${i}`));
		});

	test('zstd changes nothing', async () => {
		for (const use of Object.keys(uses))
			assert.deepEqual(await load(`stored/${use}/model.gltf`), await load(`rgba8/${use}/model.gltf`), use);
	});

	/* A white word on one colour. */
	test('Basis Universal arrives whole', async (t) => {
		if (!models.some(({ name }) => name === 'etc1s')) return t.skip('the model corpus is not here');
		for (const kind of ['etc1s', 'uastc']) {
			const { levels, srgb } = await load(`bc/${kind}/BoxTextured.gltf`);
			assert.deepEqual([srgb, levels[0].width, levels[0].height, levels.length], [true, 40, 40, 6]);
			const codes = codesOf(levels[0].pixels, true);
			const seen = new Map();
			let white = 0;
			for (let i = 0; i < codes.length; i += 4) {
				const about = [0, 1, 2].map((k) => Math.round(codes[i + k] / 32)).join();
				seen.set(about, (seen.get(about) ?? 0) + 1);
				white += [0, 1, 2].every((k) => codes[i + k] > 220);
			}
			const ground = Math.max(...seen.values());
			assert.ok(ground > 600 && white > 20 && ground + white <= 1600, `${ground} pixels of ground, ${white} white`);
		}
	});

	test('nothing was thrown on the page', () => assert.deepEqual(bench.complaints, []));
});

/* Compares Basis Universal textures cooked to each encoding with the output of the reference transcoder of three.js'
 * package for the same GPU format. Both are unpacked and compared with the pixels that the reference decodes: over the
 * whole picture, and by the number of our blocks that are more than 1 dB worse than theirs. Fails if rgba8 is not
 * exact, or if BC7 `best` or BC1 is over the whole picture more than 0.5 dB worse. The reference's ASTC has blocks of 4
 * x 4.
 *
 *   node basis_targets.mjs HOB */
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const three = join(here, 'node_modules/three/examples/jsm/libs');
if (!existsSync(three)) {
	console.log('skipped: npm ci --prefix tests/oracle fetches three.js');
	process.exit(77);
}
const { decodeBlocks } = await import('../../web/client/hob-blocks.js');
const { read: readKtx } = await import(join(three, 'ktx-parse.module.js'));
const [hob] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'basis-'));
const script = join(folder, 'transcoder.cjs');
copyFileSync(join(three, 'basis/basis_transcoder.js'), script);
const basis = await createRequire(import.meta.url)(script)({ wasmBinary: readFileSync(join(three, 'basis/basis_transcoder.wasm')) });
basis.initializeBasis();

/* [settings, number of the reference's format, VkFormat of its blocks; 0: pixels] */
const targets = {
	rgba8: [{ encoding: 'rgba8' }, 13, 0],
	'BC7 fast': [{ encoding: 'bc', quality: 'fast' }, 6, 146],
	'BC7 good': [{ encoding: 'bc', quality: 'good' }, 6, 146],
	'BC7 best': [{ encoding: 'bc', quality: 'best' }, 6, 146],
	BC1: [{ encoding: 'bc', quality: 'small' }, 2, 132],
	'ASTC 6x6 fast': [{ encoding: 'astc', quality: 'fast' }, 10, 158],
	'ASTC 6x6 best': [{ encoding: 'astc', quality: 'best' }, 10, 158],
};

function reference(bytes, format) {
	const file = new basis.KTX2File(new Uint8Array(bytes));
	if (!file.isValid() || !file.startTranscoding()) throw new Error('the reference cannot read it');
	const out = new Uint8Array(file.getImageTranscodedSizeInBytes(0, 0, 0, format));
	if (!file.transcodeImage(out, 0, 0, 0, format, 0, -1, -1)) throw new Error(`the reference makes no format ${format}`);
	const size = { width: file.getWidth(), height: file.getHeight(), out };
	file.close();
	file.delete();
	return size;
}

function cook(name, texture) {
	const source = join(folder, 'source');
	const out = mkdtempSync(join(folder, 'out-'));
	execFileSync('mkdir', ['-p', source]);
	copyFileSync(join(here, '../data/pictures/ktx2', name), join(source, 'map.ktx2'));
	const positions = Buffer.from(new Float32Array([0, 0, 0, 1, 0, 0, 0, 1, 0]).buffer);
	writeFileSync(join(source, 'model.gltf'), JSON.stringify({
		asset: { version: '2.0' }, extensionsUsed: ['KHR_texture_basisu'], extensionsRequired: ['KHR_texture_basisu'],
		scenes: [{ nodes: [0] }], nodes: [{ mesh: 0 }], materials: [{ pbrMetallicRoughness: { baseColorTexture: { index: 0 } } }],
		meshes: [{ primitives: [{ attributes: { POSITION: 0, TEXCOORD_0: 1 }, material: 0 }] }],
		textures: [{ extensions: { KHR_texture_basisu: { source: 0 } } }], images: [{ uri: 'map.ktx2', mimeType: 'image/ktx2' }],
		accessors: [{ bufferView: 0, componentType: 5126, count: 3, type: 'VEC3', min: [0, 0, 0], max: [1, 1, 0] },
			{ bufferView: 0, componentType: 5126, count: 3, type: 'VEC2' }],
		bufferViews: [{ buffer: 0, byteLength: 36 }],
		buffers: [{ byteLength: 36, uri: `data:application/octet-stream;base64,${positions.toString('base64')}` }],
	}));
	execFileSync(hob, ['cook', source, '-o', out, '-q', '--settings', JSON.stringify({ texture: { ...texture, zstd: false } })]);
	const [file] = readdirSync(join(out, 'textures'));
	return readKtx(new Uint8Array(readFileSync(join(out, 'textures', file))));
}

/* Sum of squared differences for each 4 x 4 pixels. */
function squares(pixels, wanted, width, height) {
	const across = Math.ceil(width / 4);
	const sums = new Float64Array(across * Math.ceil(height / 4));
	for (let i = 0; i < width * height; i++)
		for (let k = 0; k < 3; k++) sums[(Math.floor(i / width) >> 2) * across + ((i % width) >> 2)] += (pixels[4 * i + k] - wanted[4 * i + k]) ** 2;
	return sums;
}

const decibels = (sum, pixels) => (sum ? 10 * Math.log10((255 ** 2 * 3 * pixels) / sum) : Infinity);
const say = (value) => (value === Infinity ? 'exact' : value.toFixed(2));
let failed = false;
console.log('| file | encoding | Hob, dB | reference, dB | blocks worse by 1 dB | of |\n|---|---|---:|---:|---:|---:|');
for (const name of ['2d_uastc.ktx2', '2d_etc1s.ktx2']) {
	const bytes = readFileSync(join(here, '../data/pictures/ktx2', name));
	const { width, height, out: wanted } = reference(bytes, 13);
	for (const [target, [settings, format, vk]] of Object.entries(targets)) {
		const ktx = cook(name, settings);
		const unpack = async (vkFormat, data) => squares(vkFormat === 0 || vkFormat === 43 ? data : await decodeBlocks(vkFormat, data, width, height), wanted, width, height);
		const ours = await unpack(ktx.vkFormat, ktx.levels[0].levelData);
		const theirs = await unpack(vk, reference(bytes, format).out);
		const [own, other] = [ours, theirs].map((sums) => decibels(sums.reduce((a, b) => a + b), width * height));
		/* Half a unit per value is not visible. */
		const worse = ours.filter((sum, i) => sum > 12 && sum > theirs[i] * 10 ** 0.1).length;
		console.log(`| ${name} | ${target} | ${say(own)} | ${say(other)} | ${worse} | ${ours.length} |`);
		const least = { rgba8: Infinity, 'BC7 best': other - 0.5, BC1: other - 0.5 }[target] ?? 30;
		failed ||= own < least;
	}
}
rmSync(folder, { recursive: true });
process.exit(failed ? 1 : 0);

/* Prints random UASTC blocks of every mode, each with the 16 pixels that the reference transcoder decodes, for
 * tests/unit/texture/basis.c. Leaves out blocks that the transcoder refuses.
 *
 *   node basis_blocks.mjs THREE/examples/jsm/libs/basis ../data/pictures > blocks 2> counts */
import { copyFileSync, mkdtempSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { tmpdir } from 'node:os';

const RGBA32 = 13, MOST = 3;
const [libs, pictures] = process.argv.slice(2);
/* The package consists of modules, but its transcoder is a script. */
const script = join(mkdtempSync(join(tmpdir(), 'basis-')), 'transcoder.cjs');
copyFileSync(join(libs, 'basis_transcoder.js'), script);
const basis = await createRequire(import.meta.url)(script)({ wasmBinary: readFileSync(join(libs, 'basis_transcoder.wasm')) });
basis.initializeBasis();

/* A file of one block, derived from another encoder's file. */
const file = readFileSync(join(pictures, 'ktx2/2d_uastc.ktx2'));
const at = Number(file.readBigUInt64LE(80));
file.writeUInt32LE(4, 20);
file.writeUInt32LE(4, 24);
file.writeUInt32LE(1, 40);
file.writeUInt32LE(0, 44);
file.writeBigUInt64LE(16n, 88);
file.writeBigUInt64LE(16n, 96);

let seed = 12345;
const random = () => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) >>> 8 & 255;
const counts = new Map();
for (let i = 0; i < 4000; i++) {
	for (let k = 0; k < 16; k++) file[at + k] = random();
	file[at] = (file[at] & 128) | (i & 127);
	if ((counts.get(i & 127) ?? 0) === MOST) continue;
	const texture = new basis.KTX2File(new Uint8Array(file.subarray(0, at + 16)));
	const pixels = new Uint8Array(64);
	if (texture.isValid() && texture.startTranscoding() && texture.transcodeImage(pixels, 0, 0, 0, RGBA32, 0, -1, -1)) {
		counts.set(i & 127, (counts.get(i & 127) ?? 0) + 1);
		process.stdout.write(Buffer.concat([file.subarray(at, at + 16), pixels]));
	}
	texture.close();
	texture.delete();
}
console.error([...counts].map(([code, count]) => `${code}:${count}`).join(' '));

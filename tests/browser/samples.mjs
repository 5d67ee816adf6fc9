/* Draws every glTF file of the corpus in one browser: its source and its cooked form, with every level of textures.
 * Prints the root mean square of all pixels in 1/255, with uncompressed textures and with the default ones. Of the
 * Khronos samples, only the simplest variant.
 *
 *   HOB=build/release/hob node tests/browser/samples.mjs [PART OF A PATH ...]        HOB_PICTURES=DIR keeps the pictures */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { corpus, missing, setUp } from './bench.mjs';

const why = missing() ?? (existsSync(corpus) ? null : `no corpus at ${corpus}; set HOB_CORPUS`);
if (why) throw new Error(why);
const wanted = process.argv.slice(2);
const keep = process.env.HOB_PICTURES;
if (keep) mkdirSync(keep, { recursive: true });

/* Files that a model names. */
function besides(file) {
	const bytes = readFileSync(file);
	const text = bytes.subarray(0, 4).toString() === 'glTF' ? bytes.subarray(20, 20 + bytes.readUInt32LE(12)) : bytes;
	try {
		const { buffers = [], images = [] } = JSON.parse(text.toString());
		const uris = [...buffers, ...images].map(({ uri }) => uri).filter((uri) => uri && !uri.startsWith('data:')).map(decodeURIComponent);
		return uris.filter((uri) => existsSync(join(dirname(file), uri)));
	} catch {
		return []; // no glTF 2.0
	}
}

const order = ['glTF', 'glTF-Binary', 'glTF-Embedded'];
const samples = new Map();
const found = readdirSync(join(corpus, 'gltf'), { recursive: true }).filter((path) => /\.(gltf|glb)$/.test(path)).sort().filter((path) => {
	const [group, name, form] = path.split('/');
	if (group !== 'khronos') return true;
	const [before, now] = [samples.get(name)?.form, form].map((each) => (order.indexOf(each) + 4) % 4);
	if (!samples.has(name) || now < before) samples.set(name, { form, path });
	return false;
});
const models = [...[...samples.values()].map(({ path }) => path), ...found]
	.filter((path) => !wanted.length || wanted.some((part) => path.includes(part)))
	.map((path) => ({ path, from: join(corpus, 'gltf', path), name: path.replaceAll(/[^A-Za-z0-9]+/g, '_'), alone: true }))
	.map((model) => ({ ...model, beside: besides(model.from) }));
const profiles = { rgba8: { lods: { max: 1 }, texture: { encoding: 'rgba8' } }, default: { lods: { max: 1 } } };
const bench = await setUp(profiles, models);
const totals = Object.fromEntries(Object.keys(profiles).map((profile) => [profile, []]));
console.log('| sample | rgba8 | default | pixels off | largest |\n|---|---:|---:|---:|---:|');
for (const { name, from, path } of models) {
	const keepPicture = (what, url) => keep && writeFileSync(join(keep, `${name}.${what}.png`), Buffer.from(url.split(',')[1], 'base64'));
	const file = extname(from) === '.glb' ? 'model.glb' : basename(from);
	try {
		const source = await bench.page.evaluate((url) => drawSource(url, { mips: true }), `/source/${name}/${file}`);
		keepPicture('source', source.png);
		const drawn = {};
		for (const profile of Object.keys(profiles)) {
			drawn[profile] = await bench.page.evaluate((url) => drawCooked(url, { mips: true }), `${profile}/${name}/${file}`);
			keepPicture(profile, drawn[profile].png);
			totals[profile].push(drawn[profile].rmse);
		}
		console.log(`| ${path} | ${drawn.rgba8.rmse.toFixed(3)} | ${drawn.default.rmse.toFixed(3)} | ${drawn.default.off} | ${drawn.default.max} |`);
	} catch (error) {
		console.log(`| ${path} | ${error.message.split('\n')[0]} |`);
	}
}
for (const [profile, all] of Object.entries(totals)) {
	const share = (from, to) => all.filter((rmse) => rmse >= from && rmse < to).length;
	console.log(`${profile}: ${all.length} samples; below 0.001: ${share(0, 0.001)}, to 0.25: ${share(0.001, 0.25)}, to 1: ${share(0.25, 1)}, to 2: ${share(1, 2)}, above: ${share(2, Infinity)}`);
}
await bench.tearDown();

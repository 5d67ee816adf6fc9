/* Draws every Khronos sample of the corpus in one browser: its source and its cooked form, with every level of detail
 * of textures. Prints the root mean square of all pixels in 1/255, with uncompressed textures and with the default
 * ones.
 *
 *   HOB=build/release/hob node tests/browser/samples.mjs [NAME ...]        HOB_PICTURES=DIR keeps the pictures */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import { corpus, missing, setUp } from './bench.mjs';

const why = missing() ?? (existsSync(corpus) ? null : `no corpus at ${corpus}; set HOB_CORPUS`);
if (why) throw new Error(why);
const wanted = process.argv.slice(2);
const khronos = join(corpus, 'gltf/khronos');
const keep = process.env.HOB_PICTURES;
if (keep) mkdirSync(keep, { recursive: true });

/* The simplest of a sample's variants. */
function sourceOf(name) {
	for (const form of ['glTF', 'glTF-Binary', 'glTF-Embedded']) {
		const folder = join(khronos, name, form);
		const file = existsSync(folder) && readdirSync(folder).find((each) => /\.(gltf|glb)$/.test(each));
		if (file) return join(folder, file);
	}
	return null;
}

const models = readdirSync(khronos).map((name) => ({ name, from: sourceOf(name) }))
	.filter(({ name, from }) => from && (!wanted.length || wanted.includes(name)));
const profiles = { rgba8: { lods: { max: 1 }, texture: { encoding: 'rgba8' } }, default: { lods: { max: 1 } } };
const bench = await setUp(profiles, models);
const totals = Object.fromEntries(Object.keys(profiles).map((profile) => [profile, []]));
console.log('| sample | rgba8 | default | pixels off | largest |\n|---|---:|---:|---:|---:|');
for (const { name, from } of models) {
	const file = extname(from) === '.glb' ? 'model.glb' : basename(from);
	const keepPicture = (what, url) => keep && writeFileSync(join(keep, `${name}.${what}.png`), Buffer.from(url.split(',')[1], 'base64'));
	try {
		const source = await bench.page.evaluate((url) => drawSource(url, { mips: true }), `/source/${name}/${file}`);
		keepPicture('source', source.png);
		const found = {};
		for (const profile of Object.keys(profiles)) {
			found[profile] = await bench.page.evaluate((url) => drawCooked(url, { mips: true }), `${profile}/${name}/${file}`);
			keepPicture(profile, found[profile].png);
			totals[profile].push(found[profile].rmse);
		}
		console.log(`| ${name} | ${found.rgba8.rmse.toFixed(3)} | ${found.default.rmse.toFixed(3)} | ${found.default.off} | ${found.default.max} |`);
	} catch (error) {
		console.log(`| ${name} | ${error.message.split('\n')[0]} |`);
	}
}
for (const [profile, all] of Object.entries(totals)) {
	const share = (from, to) => all.filter((rmse) => rmse >= from && rmse < to).length;
	console.log(`${profile}: ${all.length} samples; below 0.001: ${share(0, 0.001)}, to 0.25: ${share(0.001, 0.25)}, to 1: ${share(0.25, 1)}, above: ${share(1, Infinity)}`);
}
await bench.tearDown();

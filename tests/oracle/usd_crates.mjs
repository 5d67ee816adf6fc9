/* Crates of all versions, as tests/fuzz/usd_seed.py writes them, read by OpenUSD and by Hob.
 *
 *   node usd_crates.mjs MODEL_DUMP
 *
 * This OpenUSD reads versions up to 0.9: it must find the same stage in each, and Hob in every crate what it finds in that stage as text. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { installed, load } from './openusd.mjs';

process.env.ASAN_OPTIONS = 'detect_leaks=0';
if (!installed) {
	console.log('skipped: npm ci --prefix tests/oracle fetches OpenUSD');
	process.exit(77);
}
const seeds = join(dirname(fileURLToPath(import.meta.url)), '../fuzz/corpus/usd');
const names = readdirSync(seeds).filter((name) => name.endsWith('.usdc'));
const folder = mkdtempSync(join(tmpdir(), 'hob-crates-'));
const usd = await load();
const minor = (name) => readFileSync(join(seeds, name))[9];
const read = (path) => {
	const { notes, ...facts } = JSON.parse(spawnSync(process.argv[2], ['--draws', path, 'stage', '0,0.25,0.9'], { encoding: 'utf8', maxBuffer: 1 << 26 }).stdout);
	return JSON.stringify(facts);
};
let bad = 0;
try {
	const flat = (name) => usd.open({ [name]: readFileSync(join(seeds, name)) }, name).flat.replace(/doc = """.*?"""/s, '');
	const text = flat('quads.usdc'), path = join(folder, 'stage.usda');
	writeFileSync(path, text);
	const facts = read(path);
	if (!facts.includes('"triangles":10,')) throw new Error(`the stage lost its mesh: ${facts}`);
	for (const name of names) {
		const theirs = minor(name) <= 9 ? flat(name) : text, ours = read(join(seeds, name));
		if (theirs === text && ours === facts) continue;
		bad++;
		console.log(`not ok - ${name}\n${theirs === text ? `${ours}\n${facts}` : theirs}`);
	}
} finally {
	rmSync(folder, { recursive: true });
}
console.log(`${names.length} crates, ${names.filter((name) => minor(name) <= 9).length} of them read by OpenUSD, ${bad} differ`);
process.exit(bad || names.length < 13 ? 1 : 0);

/* Random stages, composed by OpenUSD and by Hob.
 *
 *   node usd_random.mjs MODEL_DUMP [--count=200] [--seed=1] [--keep=FOLDER]
 *
 * Each stage is a few layers in which a few names refer to each other by all kinds of arcs: sublayers, references,
 * payloads, inherits, specializes, variants, instances, with offsets and list operations. Hob's import of the stage and
 * of the single layer that OpenUSD flattens it to must be the same, at rest and at three times. A stage that differs is
 * reduced, and printed. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { below, chance, digit, next, one, seeded, some } from './usd_chance.mjs';
import { installed, load } from './openusd.mjs';

const [dump, ...rest] = process.argv.slice(2);
const option = (name, fallback) => rest.find((word) => word.startsWith(`--${name}=`))?.split('=')[1] ?? fallback;
const keep = option('keep', null);
process.env.ASAN_OPTIONS = 'detect_leaks=0';
if (!installed) {
	console.log('skipped: npm ci --prefix tests/oracle fetches OpenUSD');
	process.exit(77);
}

/* ---- a stage as a tree: {specifier, name, type, meta: [], body: [], children: [], sets: {set: {choice: prim}}} */

const TOPS = ['W', 'X', 'Y'], NAMES = ['A', 'B'];
const OPS = ['', 'prepend ', 'append ', 'add ', 'delete '];

const paths = () => {
	let path = `/${one(TOPS)}`;
	while (chance(0.35)) path += `/${one(NAMES)}`;
	return path;
};
const offset = () => (chance(0.25) ? ` (offset = ${below(9)}${chance(0.5) ? `\nscale = ${one([0.5, 2, 4])}` : ''})` : '');

function arcs(index, layers, path, weight) {
	const found = [];
	const later = layers.slice(index + 1);
	const target = () => (later.length && chance(0.7) ? `@./${one(later)}@${chance(0.75) ? `<${paths()}>` : ''}${offset()}` : `<${paths()}>${offset()}`);
	const list = (make) => (chance(0.75) ? make() : `[${[...new Set(Array.from({ length: 1 + below(3) }, make))].join(', ')}]`);
	if (chance(0.22 * weight)) found.push(`${one(OPS)}references = ${list(target)}`);
	if (chance(0.08 * weight)) found.push(`${one(OPS)}payload = ${list(target)}`);
	if (chance(0.15 * weight)) found.push(`${one(OPS)}inherits = ${list(() => `<${paths()}>`)}`);
	if (chance(0.1 * weight)) found.push(`${one(OPS)}specializes = ${list(() => `<${paths()}>`)}`);
	if (chance(0.06 * weight)) found.push('instanceable = true');
	if (chance(0.04)) found.push(`active = ${chance(0.6) ? 'false' : 'true'}`);
	if (chance(0.15 * weight)) found.push(`variants = { ${some(['v', 'w'], 0.7).map((set) => `string ${set} = "${one(['a', 'b'])}"`).join('; ')} }`);
	return found;
}

function body() {
	const found = [];
	if (chance(0.4)) found.push(`double size = ${digit()}`);
	if (chance(0.35)) found.push(`color3f[] primvars:displayColor = [(0.${digit()}, 0.${digit()}, 0.${digit()})]`);
	if (chance(0.3)) found.push(`double3 xformOp:translate = (${digit()}, ${digit()}, ${digit()})`);
	if (chance(0.12)) found.push(`double3 xformOp:translate.timeSamples = { ${below(4)}: (${digit()}, 0, 0), ${4 + below(4)}: ${chance(0.1) ? 'None' : `(${digit()}, ${digit()}, 0)`}, 8: (0, ${digit()}, 0) }`);
	if (chance(0.4)) found.push('uniform token[] xformOpOrder = ["xformOp:translate"]');
	if (chance(0.05)) found.push(`token visibility = "${one(['invisible', 'inherited'])}"`);
	if (chance(0.05)) found.push(`uniform token purpose = "${one(['guide', 'default', 'render'])}"`);
	if (chance(0.25)) found.push(`${one(['', 'prepend ', 'append ', 'delete '])}rel material:binding = <${one([...TOPS.map((top) => `/${top}/Red`), paths()])}>`);
	if (chance(0.05)) found.push(`double size = None`);
	return found.filter((text, i) => found.findIndex((other) => other.split(' = ')[0] === text.split(' = ')[0]) === i);
}

function prim(index, layers, name, depth, path) {
	const made = { name, specifier: one(['def', 'def', 'def', 'over', 'class']), meta: arcs(index, layers, path, [1, 0.5, 0.3, 0.2][depth]), body: body(), children: [], sets: {} };
	made.type = made.specifier === 'over' && chance(0.7) ? '' : one(['Cube', 'Cube', 'Cube', 'Xform', 'Scope', '']);
	if (depth < 2) for (const child of some(NAMES, 0.5 - depth * 0.2)) made.children.push(prim(index, layers, child, depth + 1, `${path}/${child}`));
	if (depth < 3 && chance(0.2)) made.children = made.children.sort(() => next() - 0.5);
	if (depth === 0 && chance(0.4)) made.children.push({ name: 'Red', specifier: 'def', type: 'Material', material: `0.${digit()}`, meta: [], body: [], children: [], sets: {} });
	if (chance(0.22)) {
		const sets = some(['v', 'w'], 0.7);
		for (const set of sets) {
			made.sets[set] = {};
			for (const choice of some(['a', 'b'], 0.8)) {
				const inner = prim(index, layers, choice, Math.max(depth + 1, 2), path);
				made.sets[set][choice] = inner;
			}
		}
		if (sets.length) made.meta.push(`${one(['prepend ', 'append ', ''])}variantSets = [${sets.map((set) => `"${set}"`).join(', ')}]`);
	}
	if (made.children.length > 1 && chance(0.1)) made.body.push(`reorder nameChildren = [${made.children.map(({ name: child }) => `"${child}"`).sort(() => next() - 0.5).join(', ')}]`);
	return made;
}

function makeLayer(index, layers) {
	const later = layers.slice(index + 1), meta = [];
	if (chance(0.7)) meta.push(`defaultPrim = "${one(TOPS)}"`);
	const subs = later.length ? some(later, index === 0 ? 0.35 : 0.15) : [];
	if (subs.length) meta.push(`subLayers = [${subs.map((name) => `@./${name}@${offset()}`).join(', ')}]`);
	if (index === 0) meta.push('startTimeCode = 0\nendTimeCode = 12');
	if (chance(0.15)) meta.push(`timeCodesPerSecond = ${one([24, 48, 12])}`);
	return { meta, prims: some(TOPS, 0.6).map((name) => prim(index, layers, name, 0, `/${name}`)) };
}

function makeStage(seed) {
	seeded(seed);
	const layers = ['stage.usda', ...Array.from({ length: 1 + below(2) }, (_, i) => `l${i}.usda`)];
	return new Map(layers.map((name, i) => [name, makeLayer(i, layers)]));
}

/* ---- as text */

const parens = (meta) => (meta.length ? ` (\n${meta.join('\n')}\n)` : '');

function text(p) {
	if (p.material) return `def Material "${p.name}" {\ntoken outputs:surface.connect = <S.outputs:surface>\ndef Shader "S" {\nuniform token info:id = "UsdPreviewSurface"\ncolor3f inputs:diffuseColor = (${p.material}, 0, 0)\ntoken outputs:surface\n}\n}\n`;
	return `${p.specifier}${p.type ? ` ${p.type}` : ''} "${p.name}"${parens(p.meta)} {\n${inside(p)}}\n`;
}

function inside(p) {
	const sets = Object.entries(p.sets).filter(([, choices]) => Object.keys(choices).length).map(([set, choices]) => `variantSet "${set}" = {\n${Object.entries(choices).map(([choice, inner]) => `"${choice}"${parens(inner.meta)} {\n${inside(inner)}}\n`).join('')}}\n`);
	return `${p.body.map((line) => `${line}\n`).join('')}${p.children.map(text).join('')}${sets.join('')}`;
}

const files = (stage) => Object.fromEntries([...stage].map(([name, layer]) => [name, `#usda 1.0\n${parens(layer.meta)}\n${layer.prims.map(text).join('')}`]));

/* ---- comparison */

/* OpenUSD cannot read the text. */
let broken = false;
const usd = await load((line) => (broken = broken || line.includes('.yy') || line.includes('Failed to open layer')));
const folder = mkdtempSync(join(tmpdir(), 'hob-usd-'));
let runs = 0;

function dumped(name, content) {
	const at = join(folder, name);
	rmSync(at, { recursive: true, force: true });
	mkdirSync(at);
	for (const [file, bytes] of Object.entries(content)) writeFileSync(join(at, file), bytes);
	const read = (...more) => spawnSync(dump, [...more.slice(0, 1), `${at}//stage.usda`, ...more.slice(1)].filter(Boolean), { encoding: 'utf8', maxBuffer: 1 << 28 }).stdout;
	const still = JSON.parse(read('--draws'));
	if (!still.ok) return { fact: still.code === 'import.empty' || still.code === 'import.skipped' ? 'nothing' : `${still.code} ${still.error}`, drawn: 0 };
	for (const key of ['notes', 'importer', 'time']) delete still[key];
	const facts = [...still.draws.map((draw) => JSON.stringify([still.nodes[draw.node]?.[0], draw.at, draw.color, still.materials[draw.material]?.base, still.materials[draw.material]?.name]))];
	const moving = still.clips?.length ? JSON.parse(read('--draws', still.clips[0], '0,0.1,0.25')).samples[0]?.times.map(({ bounds }) => bounds.map((v) => Math.fround(v))) : null;
	const nodes = still.nodes.map(([name, parent]) => [name, still.nodes[parent]?.[0]]).filter((_, node) => !still.hidden[node]);
	return { fact: `${JSON.stringify(nodes)}\n${facts.join('\n')}\n${JSON.stringify(moving)}`, drawn: still.draws.length };
}

const unlike = (ours, theirs) => {
	const [a, b] = [ours.split('\n'), theirs.split('\n')];
	return [...a.filter((line) => !b.includes(line)), '--- not', ...b.filter((line) => !a.includes(line))].join('\n');
};

function differs(stage) {
	const content = files(stage);
	runs++;
	let flat;
	broken = false;
	try {
		flat = usd.open(content, 'stage.usda').flat;
	} catch {
		broken = true;
	}
	if (broken) {
		return { why: null, drawn: 0 };
	}
	const ours = dumped('ours', content), theirs = dumped('flat', { 'stage.usda': flat });
	return { why: ours.fact === theirs.fact ? null : unlike(ours.fact, theirs.fact), drawn: theirs.drawn, flat };
}

/* ---- reduction: leaves out what the difference does not need */

function* smaller(stage) {
	for (const name of stage.keys()) if (name !== 'stage.usda') yield () => stage.delete(name);
	const lists = (p) => [p.meta, p.body, p.children, ...p.children.flatMap(lists), ...Object.values(p.sets).flatMap((choices) => Object.values(choices).flatMap(lists))];
	for (const layer of stage.values()) {
		for (const list of [layer.meta, layer.prims, ...layer.prims.flatMap(lists)])
			for (let i = list.length; i-- > 0; ) yield () => list.splice(i, 1);
		const holders = (p) => [p, ...p.children.flatMap(holders), ...Object.values(p.sets).flatMap((choices) => Object.values(choices).flatMap(holders))];
		for (const p of layer.prims.flatMap(holders)) {
			for (const set of Object.keys(p.sets)) {
				yield () => delete p.sets[set];
				for (const choice of Object.keys(p.sets[set] ?? {})) yield () => delete p.sets[set][choice];
			}
		}
	}
}

function reduce(stage) {
	for (let again = true; again && runs < 500; ) {
		again = false;
		for (let at = 0; ; at++) {
			const copy = new Map(structuredClone([...stage]));
			const step = [...smaller(copy)][at];
			if (!step) break;
			step();
			if (differs(copy).why) {
				stage = copy;
				again = true;
				at--;
			}
		}
	}
	return stage;
}

const count = Number(option('count', 200)), first = Number(option('seed', 1));
let bad = 0, drawn = 0;
try {
	for (let seed = first; seed < first + count; seed++) {
		const stage = makeStage(seed), found = differs(stage);
		drawn += found.drawn > 0;
		if (!found.why) continue;
		bad++;
		runs = 0;
		const small = rest.includes('--whole') ? stage : reduce(stage), again = differs(small);
		console.log(`not ok - seed ${seed}`);
		for (const [name, content] of Object.entries(files(small))) console.log(`==== ${name}\n${content}`);
		console.log(`==== flattened\n${again.flat}\n==== ${again.why}`);
		if (keep) {
			mkdirSync(join(keep, `${seed}`), { recursive: true });
			for (const [name, content] of Object.entries(files(small))) writeFileSync(join(keep, `${seed}`, name), content);
		}
	}
} finally {
	rmSync(folder, { recursive: true });
}
console.log(`${count} stages, ${drawn} of them draw something, ${bad} differ`);
process.exit(bad ? 1 : 0);

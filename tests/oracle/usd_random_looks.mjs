/* Random materials, read by OpenUSD and by Hob.
 *
 *   node usd_random_looks.mjs MODEL_DUMP [--count=200] [--seed=1]
 *
 * Networks of UsdPreviewSurface: inputs with values, with connections to an interface, to nested node graphs, to
 * pictures and readers of primvars behind further graphs; and bindings of all kinds above meshes. OpenUSD's Hydra gives
 * the material of each mesh, and its network without graphs and interfaces: values, pictures, their wrapping, texture
 * coordinates and their transform must equal Hob's. A stage that differs is reduced, and printed. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { below, chance, digit, one, reduce, seeded, some } from './usd_chance.mjs';
import { installed, load } from './openusd.mjs';

const [dump, ...rest] = process.argv.slice(2);
const option = (name, fallback) => rest.find((word) => word.startsWith(`--${name}=`))?.split('=')[1] ?? fallback;
process.env.ASAN_OPTIONS = 'detect_leaks=0';
if (!installed) {
	console.log('skipped: npm ci --prefix tests/oracle fetches OpenUSD');
	process.exit(77);
}

/* ---- a material */

const SETS = { st: [0.1, 0.9], UVMap: [0.2, 0.8], map1: [0.3, 0.7] };
const FILES = ['a.png', 'b.png', 'c.jpg'];
const tenth = () => `0.${digit()}`;
const triple = () => `(${tenth()}, ${tenth()}, ${tenth()})`;
/* The type of each input, and a value as text. */
const INPUTS = {
	diffuseColor: ['color3f', triple], emissiveColor: ['color3f', triple], roughness: ['float', tenth], metallic: ['float', tenth], opacity: ['float', tenth], opacityThreshold: ['float', tenth],
	ior: ['float', () => `1.${digit()}`], clearcoat: ['float', tenth], clearcoatRoughness: ['float', tenth], occlusion: ['float', tenth], normal: ['normal3f', triple],
};
const PICTURED = ['diffuseColor', 'emissiveColor', 'roughness', 'metallic', 'opacity', 'occlusion', 'normal'];

/* Writes material `at` with shaders and graphs; names are numbered. */
function material(at) {
	const own = [], shaders = [];
	let names = 0;
	const name = (what) => `${what}${names++}`;
	/* The text after "= " or ".connect = " of an input of this type: a value, or a path to one through interfaces and
	 * graphs. */
	function input(property, type, value, depth = 0) {
		const way = depth > 2 ? 0 : below(6);
		if (way === 1 || way === 2) {
			const x = name('x');
			own.push(...input(`inputs:${x}`, type, value, 3));
			return [...(chance(0.3) ? [`${type} ${property} = ${value()}`] : []), `${type} ${property}.connect = <${at}.inputs:${x}>`];
		}
		if (way === 3) {
			const g = name('G'), [i, o] = [name('i'), name('o')];
			const inside = [...input(`inputs:${i}`, type, value, depth + 1), chance(0.8) ? `${type} outputs:${o}.connect = <${at}/${g}.inputs:${i}>` : `${type} outputs:${o} = ${value()}`];
			shaders.push(`def NodeGraph "${g}"\n{\n${inside.join('\n')}\n}`);
			return [`${type} ${property}.connect = <${at}/${g}.outputs:${o}>`];
		}
		if (way === 4 && chance(0.3)) return [`${type} ${property} = ${value()}`, `${type} ${property}.connect = <${at}/Missing.outputs:x>`];
		return [`${type} ${property} = ${value()}`];
	}
	const shader = (id, lines) => {
		const s = name('S');
		shaders.push(`def Shader "${s}"\n{\nuniform token info:id = "${id}"\n${lines.join('\n')}\n}`);
		return `${at}/${s}`;
	};
	/* An output, directly or through a graph. */
	function out(path, type, output) {
		if (!chance(0.25)) return `<${path}.outputs:${output}>`;
		const g = name('G');
		shaders.push(`def NodeGraph "${g}"\n{\n${type} outputs:y.connect = <${path}.outputs:${output}>\n}`);
		return `<${at}/${g}.outputs:y>`;
	}
	function coordinates() {
		const type = one(['token', 'string']);
		let from = out(shader('UsdPrimvarReader_float2', [...(chance(0.9) ? input('inputs:varname', type, () => `"${one(Object.keys(SETS))}"`) : ['string inputs:varname = "st"']), 'float2 outputs:result']), 'float2', 'result');
		if (chance(0.4)) from = out(shader('UsdTransform2d', [`float2 inputs:in.connect = ${from}`, ...some([['rotation', 'float', () => `${below(8) * 45 - 90}`], ['scale', 'float2', () => `(${digit()}, 0.${digit()})`], ['translation', 'float2', () => `(${tenth()}, ${tenth()})`]], 0.6).flatMap(([k, t, v]) => input(`inputs:${k}`, t, v)), 'float2 outputs:result']), 'float2', 'result');
		return from;
	}
	function picture(type, what) {
		const lines = [...input('inputs:file', 'asset', () => `@./${one(FILES)}@`), `float2 inputs:st.connect = ${coordinates()}`];
		for (const wrap of some(['wrapS', 'wrapT'], 0.5)) lines.push(...input(`inputs:${wrap}`, 'token', () => `"${one(['repeat', 'clamp', 'mirror'])}"`));
		if (chance(0.3)) lines.push(...input('inputs:scale', 'float4', () => `(${tenth()}, ${tenth()}, ${tenth()}, ${tenth()})`));
		if (chance(0.3)) lines.push(...input('inputs:fallback', 'float4', () => `(${tenth()}, ${tenth()}, ${tenth()}, 1)`));
		const output = type === 'float' ? one(['r', 'g', 'b', 'a']) : 'rgb';
		return out(shader('UsdUVTexture', [...lines, `float${output === 'rgb' ? '3' : ''} outputs:${output}`]), what, output);
	}
	const lines = [];
	for (const key of some(Object.keys(INPUTS), 0.5)) {
		const [type, value] = INPUTS[key];
		if (PICTURED.includes(key) && chance(0.5)) lines.push(...(chance(0.3) ? [`${type} inputs:${key} = ${value()}`] : []), `${type} inputs:${key}.connect = ${picture(type, type)}`);
		else if (key !== 'normal') lines.push(...input(`inputs:${key}`, type, value));
	}
	const surface = shader('UsdPreviewSurface', [...lines, 'token outputs:surface']);
	own.push(`token outputs:surface.connect = ${out(surface, 'token', 'surface')}`);
	return `def Material "${at.split('/').pop()}"\n{\n${own.join('\n')}\n${shaders.join('\n')}\n}`;
}

/* ---- meshes below some groups, with bindings */

const LOOKS = ['/W/Looks/A', '/W/Looks/B', '/W/C'];

function bindings() {
	if (!chance(0.6)) return [];
	const strength = () => (chance(0.3) ? ` (\nbindMaterialAs = "${one(['strongerThanDescendants', 'weakerThanDescendants'])}"\n)` : '');
	const kind = one(['', '', '', '', ':preview']);
	const target = chance(0.9) ? `<${one(LOOKS)}>` : one(['None', '</W/Nothing>', '</W/Looks>']);
	return [`rel material:binding${kind} = ${target}${strength()}`];
}

function group(path, depth) {
	const lines = [...bindings()];
	for (const name of depth < 3 ? some(['P', 'Q'], 0.6) : []) lines.push(group(`${path}/${name}`, depth + 1));
	if (chance(0.7)) lines.push(mesh(`M${path.split('/').slice(2).join('')}`));
	return `def Xform "${path.split('/').pop()}" (\nprepend apiSchemas = ["MaterialBindingAPI"]\n)\n{\n${lines.join('\n')}\n}`;
}

const mesh = (name) => `def Mesh "${name}" (\nprepend apiSchemas = ["MaterialBindingAPI"]\n)\n{\nint[] faceVertexCounts = [3]\nint[] faceVertexIndices = [0, 1, 2]\nuniform token subdivisionScheme = "none"\npoint3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]\n${Object.entries(SETS).map(([set, [u, v]]) => `texCoord2f[] primvars:${set} = [(${u}, ${v})]`).join('\n')}\n${bindings().join('\n')}\n}`;

function make(seed) {
	seeded(seed);
	return { 'stage.usda': `#usda 1.0\n(\ndefaultPrim = "W"\nmetersPerUnit = 1\n)\ndef Xform "W"\n{\ndef Scope "Looks"\n{\n${material(LOOKS[0])}\n${material(LOOKS[1])}\n}\n${material(LOOKS[2])}\n${group('/W/G', 0)}\n}\n` };
}

/* ---- OpenUSD's materials, in Hob's terms */

const clean = (value) => JSON.parse(JSON.stringify(value, (_, v) => (typeof v === 'number' ? Number(v.toFixed(4)) : v)));
/* -0 and the order of keys have no meaning. */
const sorted = (value) => (value !== null && typeof value === 'object' ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)).map(([k, v]) => [k, sorted(v)])) : value === 0 ? 0 : value);
const parts = (value, key) => (value !== null && typeof value === 'object' ? Object.entries(value).flatMap(([k, v]) => parts(v, `${key} ${k}`)) : [`${key}: ${value}`]);
const WRAPS = { clamp: 1, mirror: 2 };
const numbers = (value, fallback) => (value === undefined ? fallback : typeof value === 'object' ? Object.values(value) : value);

function texture(network, path) {
	const node = network.nodes[path] ?? {}, into = (where, input) => network.links.find((link) => link.outputId === where && link.outputName === input)?.inputId;
	if (!node.file) return null;
	const found = { file: String(node.file.assetPath ?? node.file).split('/').pop(), wrap: [WRAPS[node.wrapS] ?? 0, WRAPS[node.wrapT] ?? 0], scale: numbers(node.scale, [1, 1, 1, 1]) };
	let from = into(path, 'st'), place = (u, v) => [u, v];
	if (from && network.nodes[from]?.varname === undefined && into(from, 'in')) {
		const { rotation = 0, scale = [1, 1], translation = [0, 0] } = network.nodes[from], [c, s] = [Math.cos, Math.sin].map((f) => f((rotation * Math.PI) / 180));
		place = (u, v) => [c * scale[0] * u - s * scale[1] * v + translation[0], s * scale[0] * u + c * scale[1] * v + translation[1]];
		from = into(from, 'in');
	}
	found.set = SETS[network.nodes[from]?.varname] ?? SETS.st;
	found.places = [[0, 0], [1, 0], [0, 1]].map(([u, v]) => place(u, v));
	return found;
}

function theirLook(network) {
	const sink = network.links.map((link) => link.outputId).find((path) => !network.links.some((link) => link.inputId === path)) ?? Object.keys(network.nodes).find((path) => network.nodes[path].file === undefined && network.nodes[path].varname === undefined);
	const values = network.nodes[sink] ?? {}, links = network.links.filter((link) => link.outputId === sink);
	const look = {};
	const get = (name, fallback) => {
		const link = links.find((one_) => one_.outputName === name), picture = link && texture(network, link.inputId);
		/* Fallback value of a reader without a picture. */
		const instead = link && !picture && numbers(network.nodes[link.inputId]?.fallback, null), at = 'rgba'.indexOf(link?.inputName);
		return { value: instead ? (link.inputName === 'rgb' ? instead.slice(0, 3) : instead[at]) : numbers(values[name], fallback), picture, channel: link?.inputName };
	};
	for (const [name, fallback] of [['diffuseColor', [0.18, 0.18, 0.18]], ['emissiveColor', [0, 0, 0]], ['roughness', 0.5], ['metallic', 0], ['opacity', 1], ['normal', [0, 0, 1]], ['occlusion', 1]]) {
		const { value, picture, channel } = get(name, fallback);
		const channelAt = 'rgba'.indexOf(channel);
		look[name] = picture ? { ...picture, scale: channel === 'rgb' ? picture.scale.slice(0, 3) : picture.scale[channelAt], channel: channel === 'rgb' ? 0 : channelAt + 1 } : value;
	}
	for (const [name, fallback] of [['opacityThreshold', 0], ['ior', 1.5], ['clearcoat', 0], ['clearcoatRoughness', 0.01]]) look[name] = get(name, fallback).value;
	return look;
}

/* ---- Hob's materials */

function ourLook(model, draw) {
	const m = model.materials[draw.material];
	const picture = (slot, scale, channel) => {
		const map = m.maps[slot];
		if (!map) return null;
		const uv = draw[map.uv ? `uv${map.uv}` : 'uv'], [ox, oy, sx, sy, turn] = map.place, [c, s] = [Math.cos(turn), Math.sin(turn)];
		const place = (u, v) => [c * sx * u + s * sy * v + ox, -s * sx * u + c * sy * v + oy];
		/* Texture coordinates of a stage start at the lower left. */
		return { file: map.file.split('/').pop(), wrap: map.wrap, scale, set: [uv[0], 1 - uv[1]], places: [[0, 0], [1, 0], [0, 1]].map(([u, v]) => place(u, 1 - v)).map(([u, v]) => [u, 1 - v]), channel: channel ?? map.channel };
	};
	const packed = m.maps[1];
	const opacity = picture(5, m.base[3]) ?? null;
	return {
		name: m.name,
		diffuseColor: picture(0, m.base.slice(0, 3), 0) ?? m.base.slice(0, 3),
		emissiveColor: picture(4, m.emissive, 0) ?? m.emissive,
		roughness: packed ? picture(1, m.roughness, 2) : picture(20, m.roughness) ?? m.roughness,
		metallic: packed && m.metallic > 0 ? picture(1, m.metallic, 3) : picture(21, m.metallic) ?? m.metallic,
		opacity: opacity ?? m.base[3],
		normal: picture(2, null, 0),
		occlusion: picture(3, null, 1),
		opacityThreshold: m.alpha[0] === 1 ? m.alpha[1] : 0,
		ior: m.ior, clearcoat: m.coat[0], clearcoatRoughness: m.coat[0] > 0 ? m.coat[1] : 0,
	};
}

/* ---- comparison: Hydra's values reduced to what a material of Hob can express */

function said(theirs, ours) {
	const look = structuredClone(theirs);
	/* Opacity is a channel of the base colour's picture. */
	if (look.opacity.file && look.opacity.channel === 4 && look.diffuseColor.file === look.opacity.file && !ours.opacity.file) look.opacity = look.opacity.scale;
	look.normal = look.normal.file ? { ...look.normal, scale: null, channel: 0 } : null;
	look.occlusion = look.occlusion.file ? { ...look.occlusion, scale: null, channel: 1 } : null;
	if (look.clearcoat === 0) look.clearcoatRoughness = 0;
	return look;
}

const folder = mkdtempSync(join(tmpdir(), 'hob-usd-'));
let broken = false;
const usd = await load((line) => (broken = broken || line.includes('.yy') || line.includes('Failed to open layer')));
for (const name of FILES) writeFileSync(join(folder, name), 'picture');

function differs(files) {
	broken = false;
	let scene;
	try {
		scene = usd.open({ ...files, ...Object.fromEntries(FILES.map((name) => [name, 'picture'])) }, 'stage.usda').draw([NaN])[0];
	} catch {
		broken = true;
	}
	if (broken) return { why: null, drawn: 0 };
	for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
	const model = JSON.parse(spawnSync(dump, ['--draws', `${folder}//stage.usda`], { encoding: 'utf8', maxBuffer: 1 << 28 }).stdout);
	if (!model.ok) return { why: null, drawn: 0 };
	const why = [];
	for (const mesh of scene.meshes) {
		const name = mesh.id.split('/').pop(), draw = model.draws.find(({ node }) => model.nodes[node][0] === name);
		if (!draw) why.push(`${name} is not drawn`);
		else if (!mesh.material || !scene.materials.has(mesh.material)) {
			if (model.materials[draw.material].name) why.push(`${name}: material '${model.materials[draw.material].name}', not none`);
		} else {
			const ours = ourLook(model, draw), theirs = said(theirLook(scene.materials.get(mesh.material)), ours);
			theirs.name = mesh.material.split('/').pop();
			for (const key of Object.keys(theirs)) {
				const [a, b] = [ours, theirs].map((look) => parts(sorted(clean(look[key])), key));
				why.push(...a.filter((line) => !b.includes(line)).map((line) => `${name} has ${line}`), ...b.filter((line) => !a.includes(line)).map((line) => `${name} lacks ${line}`));
			}
		}
	}
	return { why: why.length ? why.join('\n') : null, drawn: scene.meshes.length };
}

const count = Number(option('count', 200)), first = Number(option('seed', 1));
let bad = 0, drawn = 0;
try {
	for (let seed = first; seed < first + count; seed++) {
		const files = make(seed), found = differs(files);
		drawn += found.drawn;
		if (!found.why) continue;
		bad++;
		/* The first difference, for example "lacks diffuseColor set". */
		const key = found.why.split('\n')[0].match(/ (has|lacks|is) \w+( [a-z]+)?/)?.[0] ?? '';
		const small = rest.includes('--whole') ? files : reduce(files, (less) => differs(less).why?.includes(key));
		console.log(`not ok - seed ${seed}`);
		for (const [name, content] of Object.entries(small)) console.log(`==== ${name}\n${content}`);
		console.log(`==== ${differs(small).why}`);
	}
} finally {
	rmSync(folder, { recursive: true });
}
console.log(`${count} stages, ${drawn} meshes, ${bad} stages differ`);
process.exit(bad ? 1 : 0);

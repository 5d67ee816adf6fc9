/* Random meshes and transforms, read by OpenUSD and by Hob.
 *
 *   node usd_random_shapes.mjs MODEL_DUMP [--count=200] [--seed=1]
 *
 * Each stage has meshes below groups with transform operations of all kinds, some of them animated. The meshes have
 * colours and texture coordinates in every interpolation and type, with and without indices, on themselves or
 * inherited; they have holes, left-handed orientation and subsets with materials. The same stage is also written in
 * plain form: corner by corner, one mesh per material. Hob must draw both alike; and Hydra's drawing of the plain one,
 * and its transforms of the other at several times, must equal Hob's. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { below, chance, digit, next, one, reduce, seeded, some } from './usd_chance.mjs';
import { installed, load } from './openusd.mjs';

const [dump, ...rest] = process.argv.slice(2);
const option = (name, fallback) => rest.find((word) => word.startsWith(`--${name}=`))?.split('=')[1] ?? fallback;
process.env.ASAN_OPTIONS = 'detect_leaks=0';
if (!installed) {
	console.log('skipped: npm ci --prefix tests/oracle fetches OpenUSD');
	process.exit(77);
}

/* ---- transforms */

const TIMES = [0, 1.5, 4, 6, 9];
const tenths = (n) => Array.from({ length: n }, () => (below(19) - 9) / 10);
const tuple = (list) => (list.length > 1 ? `(${list.join(', ')})` : `${list[0]}`);

/* An operation: its kind, types, and a value. Scales are uniform, to avoid shear. */
const OPS = [
	['translate', ['double3', 'float3', 'half3'], () => tuple(tenths(3).map((x) => x * 4))],
	['scale', ['float3', 'double3'], () => tuple(Array(3).fill(one([0.5, 2, 1.5])))],
	...['X', 'Y', 'Z'].map((axis) => [`rotate${axis}`, ['float', 'double'], () => `${below(24) * 15 - 180}`]),
	...['XYZ', 'XZY', 'YXZ', 'YZX', 'ZXY', 'ZYX'].map((order) => [`rotate${order}`, ['float3', 'double3'], () => tuple([0, 1, 2].map(() => below(12) * 15 - 90))]),
	['orient', ['quatf', 'quatd', 'quath'], () => one(['(1, 0, 0, 0)', '(0.5, 0.5, -0.5, 0.5)', '(0.6, 0, 0.8, 0)', '(0.8, 0.6, 0, 0)'])],
	['transform', ['matrix4d'], () => one(['((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (2, 3, 4, 1))', '((0, 2, 0, 0), (-2, 0, 0, 0), (0, 0, 2, 0), (1, 0, 0, 1))', '((0.6, 0.8, 0, 0), (-0.8, 0.6, 0, 0), (0, 0, 1, 0), (0, 5, 0, 1))'])],
];

function transform() {
	const lines = [], order = [];
	for (let i = below(4); i-- > 0; ) {
		const [kind, types, value] = one(OPS), suffix = chance(0.4) ? `:${one(['pivot', 'a', 'b'])}` : '';
		const name = `xformOp:${kind}${suffix}`;
		if (order.some((other) => other.endsWith(name))) continue;
		const type = one(types);
		const moves = kind !== 'transform' && chance(0.25);
		lines.push(moves ? `${type} ${name}.timeSamples = {${some([0, 2, 3, 5, 8], 0.6).concat([10]).map((time) => `${time}: ${value()}`).join(', ')}}` : `${type} ${name} = ${value()}`);
		if (moves && chance(0.3)) lines.push(`${type} ${name} = ${value()}`);
		order.push(name);
		if (suffix === ':pivot' && !moves) order.unshift(`!invert!${name}`);
	}
	if (chance(0.06)) order.unshift('!resetXformStack!');
	if (order.length && chance(0.92)) lines.push(`uniform token[] xformOpOrder = [${order.map((name) => `"${name}"`).join(', ')}]`);
	return lines;
}

/* ---- a mesh: plane faces over a grid, so that triangulation does not matter */

const shuffled = (list) => list.map((x) => [next(), x]).sort((a, b) => a[0] - b[0]).map(([, x]) => x);

function faces() {
	const [n, m] = [1 + below(3), 1 + below(2)], at = (x, y) => y * (n + 1) + x, list = [];
	for (let y = 0; y < m; y++)
		for (let x = 0; x < n; x++) {
			const quad = [at(x, y), at(x + 1, y), at(x + 1, y + 1), at(x, y + 1)];
			list.push(...(chance(0.4) ? [[quad[0], quad[1], quad[2]], [quad[0], quad[2], quad[3]]] : [quad]));
		}
	return { points: Array.from({ length: (n + 1) * (m + 1) }, (_, i) => [i % (n + 1), Math.floor(i / (n + 1)), 0]), list };
}

/* A primvar in some form, and its value at each corner of each face. */
function primvar(name, width, types, shape, above) {
	const how = one(['constant', 'uniform', 'varying', 'vertex', 'vertex', 'faceVarying', 'faceVarying']);
	const corners = shape.list.flat().length;
	const size = { constant: 1, uniform: shape.list.length, varying: shape.points.length, vertex: shape.points.length, faceVarying: corners }[how];
	const indexed = chance(0.5), kinds = indexed ? 1 + below(4) : size;
	const values = Array.from({ length: kinds }, () => Array.from({ length: width }, () => (1 + below(8)) / 8));
	const indices = indexed ? Array.from({ length: size }, () => below(kinds)) : Array.from({ length: size }, (_, i) => i);
	const type = one(types), pad = type.includes('3') && width === 2 ? [0] : [];
	const text = [`${type}[] primvars:${name} = [${values.map((value) => tuple([...value, ...pad])).join(', ')}]${how === 'constant' && chance(0.5) ? '' : ` (\ninterpolation = "${how}"\n)`}`];
	if (indexed) text.push(`int[] primvars:${name}:indices = [${indices.join(', ')}]`);
	(how === 'constant' && chance(0.4) ? above : shape.lines).push(...text);
	let corner = 0;
	return shape.list.map((face, f) => face.map((point) => values[indices[{ constant: 0, uniform: f, varying: point, vertex: point, faceVarying: corner }[how]] + 0 * corner++]));
}

const COLORS = { A: '0.25, 0, 0', B: '0, 0.5, 0' };
const looks = Object.entries(COLORS).map(([name, color]) => `def Material "${name}"\n{\ntoken outputs:surface.connect = </W/${name}/S.outputs:surface>\ndef Shader "S"\n{\nuniform token info:id = "UsdPreviewSurface"\ncolor3f inputs:diffuseColor = (${color})\ntoken outputs:surface\n}\n}`).join('\n');
const bind = (name) => (name ? [`rel material:binding = </W/${name}>`] : []);
const API = ' (\nprepend apiSchemas = ["MaterialBindingAPI"]\n)';
const write = (name, lines) => `def Mesh "${name}"${API}\n{\n${lines.join('\n')}\n}`;

/* The mesh as text, in both forms; `above` collects its parent's properties for both, and for the first form only. */
function mesh(name, above) {
	const shape = { ...faces(), lines: [] };
	const left = chance(0.3), hole = chance(0.2) && shape.list.length > 1 ? below(shape.list.length) : -1;
	const uv = chance(0.8) ? primvar(one(['st', 'st', 'UVMap']), 2, ['texCoord2f', 'float2', 'texCoord2d', 'texCoord2h', 'texCoord3f'], shape, above) : null;
	const color = chance(0.7) ? primvar('displayColor', 3, ['color3f', 'color3f', 'color3d', 'color3h', 'float3'], shape, above) : null;
	const own = chance(0.3) ? one(['A', 'B']) : null;
	const subsets = chance(0.35) ? some(['A', 'B'], 0.8) : [];
	let free = shuffled(shape.list.map((_, f) => f));
	const material = shape.list.map(() => own);
	const parts = subsets.map((look) => {
		const taken = free.slice(0, below(free.length + 1));
		free = free.slice(taken.length);
		for (const f of taken) material[f] = look;
		return `def GeomSubset "${look}"${API}\n{\nuniform token elementType = "face"\nuniform token familyName = "materialBind"\nint[] indices = [${taken.join(', ')}]\nrel material:binding = </W/${look}>\n}`;
	});
	const points = `point3f[] points = [${shape.points.map((p) => tuple(p)).join(', ')}]`, place = transform();
	const plain = ['uniform token subdivisionScheme = "none"', points, ...place];
	const odd = write(name, [`int[] faceVertexCounts = [${shape.list.map((face) => face.length).join(', ')}]`, `int[] faceVertexIndices = [${shape.list.flat().join(', ')}]`, ...plain, ...shape.lines, ...(left ? ['uniform token orientation = "leftHanded"'] : []), ...(hole >= 0 ? [`int[] holeIndices = [${hole}]`] : []), ...bind(own), ...parts]);
	const even = [null, 'A', 'B'].map((look) => {
		const kept = shape.list.map((_, f) => f).filter((f) => f !== hole && material[f] === look);
		if (!kept.length) return '';
		const turned = (list) => (left ? [...list].reverse() : list);
		const corners = (data, type, what) => (data ? [`${type}[] primvars:${what} = [${kept.flatMap((f) => turned(data[f])).map(tuple).join(', ')}] (\ninterpolation = "faceVarying"\n)`] : []);
		return write(`${name}${look ?? ''}`, [`int[] faceVertexCounts = [${kept.map((f) => shape.list[f].length).join(', ')}]`, `int[] faceVertexIndices = [${kept.flatMap((f) => turned(shape.list[f])).join(', ')}]`, ...plain, ...corners(uv, 'texCoord2f', 'st'), ...corners(color, 'color3f', 'displayColor'), ...bind(look)]);
	}).join('\n');
	return { odd, even };
}

function group(path, depth) {
	const above = [], name = path.split('/').pop(), place = transform();
	const inside = chance(0.8) || depth === 2 ? mesh(`M${path.replaceAll('/', '')}`, above) : { odd: '', even: '' };
	const children = depth < 2 ? some(['P', 'Q'], 0.5).map((child) => group(`${path}/${child}`, depth + 1)) : [];
	/* A value set on the parent would be inherited by the neighbours, too. */
	const wrap = (which) => `def Xform "${name}"\n{\n${place.join('\n')}\ndef Xform "In"\n{\n${which === 'odd' ? above.join('\n') : ''}\n${inside[which]}\n}\n${children.map((child) => child[which]).join('\n')}\n}`;
	return { odd: wrap('odd'), even: wrap('even') };
}

function make(seed) {
	seeded(seed);
	const meta = [`defaultPrim = "W"`, 'startTimeCode = 0\nendTimeCode = 10\ntimeCodesPerSecond = 24', ...(chance(0.5) ? [`upAxis = "${one(['Y', 'Z'])}"`] : []), ...(chance(0.6) ? [`metersPerUnit = ${one([1, 0.1, 0.0254])}`] : [])];
	const { odd, even } = group('/W/G', 0);
	const layer = (inside) => `#usda 1.0\n(\n${meta.join('\n')}\n)\ndef Xform "W"\n{\n${inside}\n${looks}\n}\n`;
	return { 'odd.usda': layer(odd), 'even.usda': layer(even) };
}

/* ---- comparison */

const folder = mkdtempSync(join(tmpdir(), 'hob-usd-'));
let broken = false;
const usd = await load((line) => (broken = broken || line.includes('.yy') || line.includes('Failed to open layer')));
const header = (text, name, fallback) => text.match(new RegExp(`^${name} = "?([^"\\n]*)"?$`, 'm'))?.[1] ?? fallback;

function hydra(files, name, times) {
	const unit = Number(header(files[name], 'metersPerUnit', 0.01)), up = header(files[name], 'upAxis', 'Y');
	return usd.open(files, name).draw(times).map(({ meshes }) => {
		const box = [Infinity, Infinity, Infinity, -Infinity, -Infinity, -Infinity], looked = new Set();
		for (const mesh of meshes.filter(({ indices }) => indices.length)) {
			for (const [i, index] of mesh.indices.entries()) {
				const p = [...mesh.points.slice(index * 3, index * 3 + 3), 1];
				const [x, y, z] = [0, 1, 2].map((k) => unit * p.reduce((sum, value, j) => sum + value * mesh.matrix[j * 4 + k], 0));
				for (const [k, value] of (up === 'Z' ? [x, z, -y] : [x, y, z]).entries()) [box[k], box[3 + k]] = [Math.min(box[k], value), Math.max(box[3 + k], value)];
				const at = (data, width) => (data ? data.data.slice(i * width, i * width + width).map((v) => v.toFixed(3)).join() : '-');
				looked.add(`${mesh.material.split('/').pop()} ${at(mesh.primvars.st, 2)} ${mesh.material ? '-' : at(mesh.primvars.displayColor, 3)}`);
			}
		}
		return { box, looked };
	});
}

function hob(files, name) {
	writeFileSync(join(folder, name), files[name]);
	const run = (...args) => JSON.parse(spawnSync(dump, args, { encoding: 'utf8', maxBuffer: 1 << 28 }).stdout);
	const model = run('--draws', `${folder}//${name}`);
	if (!model.ok) return null;
	const corners = new Set(), looked = new Set();
	for (const draw of model.draws)
		for (let i = 0; i * 3 < draw.at.length; i++) {
			const { name: look, base } = model.materials[draw.material];
			const uv = draw.uv.length ? [draw.uv[i * 2], 1 - draw.uv[i * 2 + 1]].map((v) => v.toFixed(3)).join() : '-';
			const color = look ? '-' : [0, 1, 2].map((k) => (base[k] * (draw.color.length ? draw.color[i * 4 + k] : 1)).toFixed(3)).join();
			looked.add(`${look} ${uv} ${color === '1.000,1.000,1.000' ? '-' : color}`);
			/* Orientation of a face: its corners, starting with the smallest. */
			const from = i - (i % 3), triangle = [0, 1, 2].map((k) => draw.at.slice((from + k) * 3, (from + k) * 3 + 3));
			const [u, v] = [1, 2].map((k) => triangle[k].map((x, c) => x - triangle[0][c]));
			const facing = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]], most = Math.max(...facing.map(Math.abs));
			corners.add(`${draw.at.slice(i * 3, i * 3 + 3).map((x) => x.toFixed(5))} ${look} ${uv} ${color} ${facing.map((x) => (x / most).toFixed(2) * 1 + 0)}`);
		}
	const boxes = model.clips.length ? run(`${folder}//${name}`, model.clips[0], TIMES.map((time) => time / 24).join()).samples[0].times.map(({ bounds }) => bounds) : TIMES.map(() => model.bounds);
	return { corners, looked, boxes };
}

const unlike = (what, ours, theirs) => [...[...ours].filter((x) => !theirs.has(x)).map((x) => `${what} has ${x}`), ...[...theirs].filter((x) => !ours.has(x)).map((x) => `${what} lacks ${x}`)];

function differs(files) {
	broken = false;
	let theirs, moving;
	try {
		[[theirs], moving] = [hydra(files, 'even.usda', [0]), hydra(files, 'odd.usda', TIMES)];
	} catch {
		broken = true;
	}
	const [odd, even] = broken ? [] : [hob(files, 'odd.usda'), hob(files, 'even.usda')];
	if (!odd || !even) return { why: null, drawn: 0 };
	const why = [...unlike('form', odd.corners, even.corners), ...unlike('plain', even.looked, new Set([...theirs.looked].map((x) => x.replace('1.000,1.000,1.000', '-'))))];
	for (const [i, time] of TIMES.entries()) {
		const { box } = moving[i], size = Math.max(...[0, 1, 2].map((k) => box[3 + k] - box[k]), ...box.map(Math.abs));
		if (!box.every((value, k) => Math.abs(value - odd.boxes[i][k]) <= 5e-3 * size)) why.push(`motion at ${time}: ${odd.boxes[i]}, not ${box}`);
	}
	return { why: why.length ? why.join('\n') : null, drawn: odd.corners.size };
}

const count = Number(option('count', 200)), first = Number(option('seed', 1));
let bad = 0, drawn = 0, empty = 0;
try {
	for (let seed = first; seed < first + count; seed++) {
		const files = make(seed), found = differs(files);
		drawn += found.drawn;
		empty += found.drawn === 0;
		if (!found.why) continue;
		bad++;
		/* Only differences in motion can be reduced: for others the plain form would have to be made again. */
		const small = found.why.startsWith('motion') && !rest.includes('--whole') ? reduce(files, (less) => differs(less).why?.startsWith('motion')) : files;
		console.log(`not ok - seed ${seed}`);
		for (const [name, content] of Object.entries(small)) console.log(`==== ${name}\n${content}`);
		console.log(`==== ${differs(small).why}`);
	}
} finally {
	rmSync(folder, { recursive: true });
}
console.log(`${count} stages, ${empty} of them without a surface, ${drawn} corners, ${bad} stages differ`);
process.exit(bad ? 1 : 0);

/* Compares generated USD stages with OpenUSD itself (openusd.mjs).
 *
 *   node usd_live.mjs HOB MODEL_DUMP [-v] [--odd] [PART-OF-NAME]
 *
 * For each stage of usd_stages.mjs, usd_odd.mjs (--odd: only these), usd_exporters.mjs and usd_by_hand.mjs: Hydra's
 * drawing and Hob's import agree mesh by mesh (area, centre, direction, box, colour, texture coordinates), at rest and
 * at the given times; and Hob cooks the stage and its composed, flattened form, as text and as a crate, to the same
 * bytes. `without` breaks the one feature that the stage tests: then the two must differ. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { tmpdir } from 'node:os';
import { installed, load } from './openusd.mjs';
import { byHand } from './usd_by_hand.mjs';
import { exporters } from './usd_exporters.mjs';
import { odd } from './usd_odd.mjs';
import { stages } from './usd_stages.mjs';

const [hob, dump, ...rest] = process.argv.slice(2);
const verbose = rest.includes('-v');
const wanted = rest.find((word) => !word.startsWith('-')) ?? '';
const ROOT = 'stage.usda';
/* The dump program does not free its memory. */
process.env.ASAN_OPTIONS = 'detect_leaks=0';
if (!installed) {
	console.log('skipped: npm ci --prefix tests/oracle fetches OpenUSD');
	process.exit(77);
}

/* ---- facts of a surface: [area, centre, area's direction, box, mean colour, mean texture coordinate] */

function surface(at, uv, color) {
	const fact = { area: 0, centre: [0, 0, 0], facing: [0, 0, 0], box: [Infinity, Infinity, Infinity, -Infinity, -Infinity, -Infinity], uv: [0, 0], color: [0, 0, 0] };
	for (let i = 0; i < at.length; i += 9) {
		const [a, b, c] = [at.slice(i, i + 3), at.slice(i + 3, i + 6), at.slice(i + 6, i + 9)];
		const [u, v] = [b.map((x, k) => x - a[k]), c.map((x, k) => x - a[k])];
		const cross = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]].map((x) => x / 2);
		const area = Math.hypot(...cross);
		fact.area += area;
		for (let k = 0; k < 3; k++) {
			fact.centre[k] += (area * (a[k] + b[k] + c[k])) / 3;
			fact.facing[k] += cross[k];
			for (const p of [a, b, c]) {
				fact.box[k] = Math.min(fact.box[k], p[k]);
				fact.box[3 + k] = Math.max(fact.box[3 + k], p[k]);
			}
			for (let corner = 0; corner < 3; corner++) {
				if (uv && k < 2) fact.uv[k] += (area * uv[((i / 3) + corner) * 2 + k]) / 3;
				fact.color[k] += (area * color[((i / 3) + corner) * 3 + k]) / 3;
			}
		}
	}
	for (const list of [fact.centre, fact.uv, fact.color]) for (let k = 0; k < list.length; k++) list[k] /= fact.area || 1;
	return fact;
}

const numbers = (fact, keys) => keys.flatMap((key) => fact[key]);

/* Pairs our meshes with theirs: each with the first of theirs that agrees. */
function compare(ours, theirs, keys) {
	if (ours.length !== theirs.length) return `${ours.length} meshes, not ${theirs.length}`;
	const left = [...ours];
	for (const one of theirs) {
		const size = Math.max(1e-6, ...one.box.map(Math.abs));
		const near = (a, b) => Math.abs(a - b) <= 2e-4 * Math.max(size, 1, size * size);
		const found = left.findIndex((other) => numbers(one, keys).every((value, i) => near(value, numbers(other, keys)[i])));
		if (found < 0) return `no mesh like ${JSON.stringify(one)} in ${JSON.stringify(left)}`;
		left.splice(found, 1);
	}
	return null;
}

/* ---- OpenUSD's side */

const header = (flat, name, fallback) => flat.match(new RegExp(`^    ${name} = "?([^"\\n]*)"?$`, 'm'))?.[1] ?? fallback;

function expand({ data, dimension }, corners, indices, width) {
	const per = data.length / dimension === corners ? (i) => i : data.length / dimension === 1 ? () => 0 : (i) => indices[i];
	return Array.from({ length: corners * width }, (_, i) => data[per(Math.floor(i / width)) * dimension + (i % width)]);
}

function diffuse(material) {
	const node = Object.values(material?.nodes ?? {}).find((parameters) => parameters.diffuseColor);
	return node ? Array.from(node.diffuseColor) : null;
}

function drawn(scene, flat) {
	const unit = Number(header(flat, 'metersPerUnit', 0.01)), up = header(flat, 'upAxis', 'Y');
	return scene.meshes.filter((mesh) => mesh.type === 'mesh' && mesh.indices.length > 0).map((mesh) => {
		const at = mesh.indices.flatMap((index) => {
			const p = [...mesh.points.slice(index * 3, index * 3 + 3), 1], m = mesh.matrix;
			const [x, y, z] = [0, 1, 2].map((k) => unit * p.reduce((sum, value, i) => sum + value * m[i * 4 + k], 0));
			return up === 'Z' ? [x, z, -y] : [x, y, z];
		});
		const corners = mesh.indices.length, white = Array(corners * 3).fill(1);
		const uv = Object.entries(mesh.primvars).find(([name]) => ['st', 'UVMap', 'map1'].includes(name))?.[1];
		const bound = diffuse(scene.materials.get(mesh.material)), own = mesh.primvars.displayColor;
		const color = bound ? white.map((_, i) => bound[i % 3]) : own ? expand(own, corners, mesh.indices, 3) : white;
		return surface(at, uv && expand(uv, corners, mesh.indices, 2), color);
	});
}

/* ---- Hob's side */

function put(folder, files) {
	for (const [path, content] of Object.entries(files)) {
		mkdirSync(join(folder, dirname(path)), { recursive: true });
		writeFileSync(join(folder, path), content);
	}
	return folder;
}

function imported(folder) {
	const done = spawnSync(dump, ['--draws', `${folder}//${ROOT}`], { encoding: 'utf8', maxBuffer: 1 << 28 });
	const model = JSON.parse(done.stdout);
	if (!model.ok) return { error: `${model.code}: ${model.error}`, meshes: [], notes: model.notes };
	const meshes = model.draws.filter((mesh) => mesh.topology === 0).map((mesh) => {
		const base = model.materials[mesh.material]?.base ?? [1, 1, 1, 1], corners = mesh.at.length / 3;
		const color = Array.from({ length: corners * 3 }, (_, i) => base[i % 3] * (mesh.color.length ? mesh.color[Math.floor(i / 3) * 4 + (i % 3)] : 1));
		/* Texture coordinates of a stage start at the lower left. */
		const uv = mesh.uv.length ? mesh.uv.map((value, i) => (i % 2 ? 1 - value : value)) : null;
		return surface(mesh.at, uv, color);
	});
	return { meshes, notes: model.notes, model };
}

function moved(folder, times, start, rate) {
	const clip = imported(folder).model?.clips[0] ?? '';
	const done = spawnSync(dump, [`${folder}//${ROOT}`, clip, times.map((time) => (time - start) / rate).join()], { encoding: 'utf8', maxBuffer: 1 << 28 });
	return (JSON.parse(done.stdout).samples ?? [])[0]?.times.map((sample) => sample.bounds);
}

function cooked(folder) {
	const out = join(folder, 'out');
	const done = spawnSync(hob, ['cook', join(folder, ROOT), '-q', '-o', out, '--root', folder], { encoding: 'utf8' });
	const files = done.status === 0 ? readdirSync(out, { recursive: true }).filter((name) => /\.\w+$/.test(name) && !name.endsWith('.report.json')) : [];
	return new Map(files.sort().map((name) => [name, readFileSync(join(out, name)).toString('latin1')]));
}

function unlike(a, b) {
	for (const name of new Set([...a.keys(), ...b.keys()])) if (a.get(name) !== b.get(name)) return `${name} differs from that of the flattened stage`;
	return null;
}

/* ---- one stage */

function checkDraw(stage, folder, theirs) {
	const keys = stage.keys ?? ['area', 'centre', 'facing', 'box', 'color', 'uv'];
	const times = stage.times ?? [NaN];
	const scenes = theirs.draw(times), ours = imported(folder);
	if (verbose) console.log(stage.name, JSON.stringify(ours.meshes), JSON.stringify(drawn(scenes[0], theirs.flat)), JSON.stringify(ours.notes));
	const still = ours.error && scenes[0].meshes.length > 0 ? ours.error : compare(ours.meshes, drawn(scenes[0], theirs.flat), keys);
	if (still || times.length < 2) return still;
	const start = Number(header(theirs.flat, 'startTimeCode', 0)), rate = Number(header(theirs.flat, 'timeCodesPerSecond', header(theirs.flat, 'framesPerSecond', 24)));
	const boxes = moved(folder, times, start, rate);
	if (!boxes) return 'nothing is drawn';
	for (const [i, scene] of scenes.entries()) {
		const all = drawn(scene, theirs.flat).map(({ box }) => box);
		const box = [0, 1, 2, 3, 4, 5].map((k) => Math[k < 3 ? 'min' : 'max'](...all.map((one) => one[k])));
		if (!box.every((value, k) => Math.abs(value - boxes[i][k]) <= 2e-4 * Math.max(1, Math.abs(value)))) return `at ${times[i]}: ${boxes[i]}, not ${box}`;
	}
	return null;
}

/* Bounds of everything drawn, at times, as derived by hand. */
function checkBoxes(stage, folder) {
	const times = Object.keys(stage.boxes).map(Number), found = moved(folder, times, 0, 24) ?? [];
	for (const [i, time] of times.entries())
		if (!stage.boxes[time].every((value, k) => Math.abs(value - found[i]?.[k]) <= 1e-4)) return `at ${time}: ${found[i]}, not ${stage.boxes[time]}`;
	return null;
}

/* A stage, OpenUSD's flattening of it as text, and that as a crate cook to the same bytes. */
function checkFlat(folder, ours, files, theirs) {
	const mine = cooked(ours);
	return unlike(mine, cooked(put(join(folder, 'flat'), { ...files, [ROOT]: theirs.flat }))) ?? unlike(mine, cooked(put(join(folder, 'crate'), { ...files, [ROOT]: theirs.crate() })));
}

function check(stage, folder, files, theirs) {
	const ours = put(join(folder, 'ours'), files);
	if (verbose && theirs) console.log(theirs.flat);
	return (stage.drawn === false ? null : checkDraw(stage, ours, theirs)) ?? (stage.flat === false ? null : checkFlat(folder, ours, files, theirs)) ?? stage.expect?.(imported(ours).model ?? {}) ?? (stage.boxes ? checkBoxes(stage, ours) : null);
}

/* OpenUSD's warnings, without the one that this build has no plug-in for volumes. */
let complaints = [];
const usd = await load((text) => text.trim() && !text.includes('UsdVol') && complaints.push(text));
const folder = mkdtempSync(join(tmpdir(), 'hob-usd-'));
let bad = 0, count = 0;
try {
	for (const [i, stage] of [...stages, ...odd, ...byHand, ...exporters].entries()) {
		if (!stage.name.includes(wanted) || (rest.includes('--odd') && !odd.includes(stage))) continue;
		count++;
		complaints = [];
		const [file, from, to] = stage.without, theirs = stage.alone ? null : usd.open(stage.files, ROOT);
		if (!stage.files[file].includes(from)) throw new Error(`${stage.name}: nothing to spoil`);
		const whole = (stage.complains ? null : complaints[0]) ?? check(stage, join(folder, `${i}`), stage.files, theirs);
		const spoilt = check(stage, join(folder, `${i}-spoilt`), { ...stage.files, [file]: stage.files[file].replaceAll(from, to) }, theirs);
		if (whole || !spoilt) bad++;
		console.log(`${whole || !spoilt ? 'not ok' : 'ok'} - ${stage.name}${whole ? `: ${whole}` : spoilt ? '' : ': without the feature the two agree as well'}`);
	}
} finally {
	rmSync(folder, { recursive: true });
}
console.log(`${count} stages, ${bad} differ`);
process.exit(bad ? 1 : 0);

/* Compares FBX clips played through Assimp and core/runtime with frames that Maya itself wrote as OBJ files (from
 * ufbx's data set, in the corpus): the vertices must be the same. Frames count from the take's start, 24 per second;
 * centimetres. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const TOLERANCE = 1e-5; // relative to the frame's size
const corpus = process.env.HOB_CORPUS ?? fileURLToPath(new URL('../../../shared/corpus', import.meta.url));
const frames = [
	['maya_game_sausage_7500_ascii_wiggle', 'maya_game_sausage_wiggle_18', 17],
	['maya_game_sausage_7500_binary_combined', 'maya_game_sausage_wiggle_18', 17],
	['maya_split_pivot_7700_ascii', 'maya_split_pivot_12', 12],
	['maya_pivot_offset_7700_binary', 'maya_pivot_offset_12', 12],
	['maya_equal_pivot_scale_7700_ascii', 'maya_equal_pivot_scale', 0],
];

if (!existsSync(corpus)) {
	console.log(`skipped: no corpus at ${corpus}; set HOB_CORPUS`);
	process.exit(77);
}

function vertices(path) {
	const lines = readFileSync(path, 'latin1').split('\n').filter((line) => line.startsWith('v '));
	return lines.map((line) => line.trim().split(/\s+/).slice(1, 4).map((value) => Number(value) / 100));
}

const distance = (p, q) => Math.hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]);
const farthest = (points, others) => Math.max(...points.map((p) => Math.min(...others.map((q) => distance(p, q)))));

function size(points) {
	const range = [0, 1, 2].map((i) => Math.max(...points.map((p) => p[i])) - Math.min(...points.map((p) => p[i])));
	return Math.hypot(...range);
}

const [hob, dump] = process.argv.slice(2);
const out = mkdtempSync(join(tmpdir(), 'hob-oracle-'));
let failed = 0;
try {
	for (const [fbx, frame, number] of frames) {
		const source = join(corpus, 'fbx/ufbx', `${fbx}.fbx`);
		execFileSync(hob, ['cook', source, '-o', out, '--root', join(corpus, 'fbx/ufbx'), '-q', '--settings',
			'{"lods":{"max":1},"meshlets":false}'], { stdio: ['ignore', 'ignore', 'inherit'] });
		const played = JSON.parse(execFileSync(dump, [join(out, `${fbx}.fbx`), '100000', String(number / 24)]));
		const ours = played.clips[0].frames[0].points;
		const maya = vertices(join(corpus, 'obj/ufbx', `${frame}.obj`));
		const off = Math.max(farthest(ours, maya), farthest(maya, ours)) / size(maya);
		const still = Math.max(farthest(played.rest.points, maya), farthest(maya, played.rest.points)) / size(maya);
		failed += !(off <= TOLERANCE);
		console.log(`${off <= TOLERANCE ? 'same  ' : 'DIFFER'} ${fbx}.fbx, frame ${number}: ${off.toExponential(1)} (the rest pose: ${still.toExponential(1)})`);
	}
} finally {
	rmSync(out, { recursive: true, force: true });
}
process.exit(failed ? 1 : 0);

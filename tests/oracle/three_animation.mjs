// Plays glTF clips with three.js and cooked clips with core/runtime and compares them. See README.md.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

if (!existsSync(fileURLToPath(new URL('node_modules/three', import.meta.url)))) {
	console.log('skipped: npm ci --prefix tests/oracle fetches three.js');
	process.exit(77);
}
const THREE = await import('three');
const { loadThree, moves, readDocument } = await import('./three_loading.mjs');
const { explained } = await import('./explained.mjs');

const TOLERANCE = 1e-4; // relative to the model's size
const QUANTIZED = 1e-3; // of points whose weights are steps of 1/255
const POINTS = 500;
const SETTINGS = { lods: { max: 1 }, meshlets: false, texture: { encoding: 'source' } };

// Objects of the default scene that represent glTF nodes, depth first.
function sourceNodes(gltf) {
	const found = [];
	const visit = (object) => {
		if (gltf.parser.associations.get(object)?.nodes !== undefined) found.push(object);
		object.children.forEach(visit);
	};
	gltf.scene.children.forEach(visit);
	return found;
}

function deformedPoints(scene) {
	const points = [];
	scene.traverse((object) => {
		const count = object.geometry?.attributes.position?.count ?? 0;
		if (object.isSkinnedMesh) object.skeleton.update();
		for (let i = 0; i < count; i++) {
			const p = object.getVertexPosition
				? object.getVertexPosition(i, new THREE.Vector3())
				: new THREE.Vector3().fromBufferAttribute(object.geometry.attributes.position, i);
			points.push(p.applyMatrix4(object.matrixWorld).toArray());
		}
	});
	return points;
}

function sizeOf(points, matrices) {
	const all = points.length > 0 ? points : matrices.map((m) => m.slice(12, 15));
	const box = new THREE.Box3();
	for (const p of all) box.expandByPoint(new THREE.Vector3(...p));
	return Math.max(box.isEmpty() ? 0 : box.getSize(new THREE.Vector3()).length(), 1e-3);
}

/* Vertex orders differ, so each of our vertices is compared with all of theirs, over all times: the result is its
 * largest distance from the vertex that it follows best. `worst` has an entry for each pair that is still a
 * candidate. */
class Followers {
	add(mine, theirs, size) {
		const distance = (p, q) => Math.hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]) / size;
		if (!this.worst) {
			this.worst = mine.map((p) => {
				const all = theirs.map((q, i) => [i, distance(p, q)]);
				const nearest = all.reduce((best, [, d]) => Math.min(best, d), Infinity);
				return new Map(all.filter(([, d]) => d <= nearest + 10 * TOLERANCE));
			});
			return;
		}
		for (const [v, pairs] of this.worst.entries())
			for (const [i, d] of pairs) pairs.set(i, Math.max(d, distance(mine[v], theirs[i])));
	}
	get farthest() {
		return (this.worst ?? []).reduce((most, pairs) => Math.max(most, Math.min(...pairs.values())), 0);
	}
}

class Comparison {
	constructor(gltf) {
		this.scene = gltf.scene;
		this.nodes = sourceNodes(gltf);
		this.followers = new Followers();
		this.matrix = 0;
	}
	frame(mine) {
		// Keys that are not unit quaternions (0.707) scale three.js's matrices; Hob normalises them.
		for (const node of this.nodes) node.quaternion.normalize();
		this.scene.updateMatrixWorld(true);
		const theirs = this.nodes.map((node) => node.matrixWorld.elements);
		if (mine.nodes.length !== theirs.length) throw new Error(`${mine.nodes.length} nodes, three.js has ${theirs.length}`);
		const points = deformedPoints(this.scene);
		const size = sizeOf(points, theirs);
		for (const [n, m] of theirs.entries()) {
			// Translations relative to the model's size, the rest relative to the matrix.
			const length = Math.max(1, ...m.slice(0, 12).map(Math.abs));
			m.forEach((value, i) => {
				const off = Math.abs(value - mine.nodes[n][i]) / (i >= 12 ? size : length);
				this.matrix = Math.max(this.matrix, Number.isFinite(off) ? off : Infinity);
			});
		}
		if (points.length > 0) this.followers.add(mine.points, points, size);
		this.points = mine.points.length;
	}
	get point() { return this.followers.farthest; }
}

async function compare(hob, dump, settings, path, out) {
	const gltf = await loadThree(readDocument(path));
	execFileSync(hob, ['cook', path, '-o', out, '--root', dirname(path), '-q', '--settings', JSON.stringify(settings)],
		{ stdio: ['ignore', 'ignore', 'pipe'] });
	const ours = JSON.parse(execFileSync(dump, [join(out, basename(path)), String(POINTS)], { maxBuffer: 1 << 30 }));
	if (ours.clips.length !== gltf.animations.length)
		throw new Error(`${ours.clips.length} clips, three.js has ${gltf.animations.length}`);
	const result = new Comparison(gltf);
	result.frame(ours.rest);
	result.clips = ours.clips.length;
	for (const [c, clip] of ours.clips.entries()) {
		const mixer = new THREE.AnimationMixer(gltf.scene);
		const action = mixer.clipAction(gltf.animations[c]);
		action.setLoop(THREE.LoopOnce, 1);
		action.clampWhenFinished = true;
		action.play();
		for (const [k, time] of clip.times.entries()) {
			action.paused = false;
			action.enabled = true;
			mixer.setTime(time);
			result.frame(clip.frames[k]);
		}
		mixer.stopAllAction();
		mixer.uncacheRoot(gltf.scene);
	}
	return result;
}

function filesBelow(folder) {
	return readdirSync(folder).sort().flatMap((name) => {
		const path = join(folder, name);
		return statSync(path).isDirectory() ? filesBelow(path) : /\.(gltf|glb)$/i.test(name) && moves(path) ? [path] : [];
	});
}

// Compresses the file with gltfpack (EXT_meshopt_compression with filters, KHR_mesh_quantization); both sides read the
// result.
function pack(path, out) {
	const packed = join(out, basename(path).replace(/\.\w+$/, '.glb'));
	const cli = fileURLToPath(new URL('node_modules/gltfpack/cli.js', import.meta.url));
	execFileSync(process.execPath, [cli, '-i', path, '-o', packed, '-cc', '-kn'], { stdio: ['ignore', 'ignore', 'pipe'] });
	return packed;
}

const [hob, dump, ...words] = process.argv.slice(2);
const settings = { ...SETTINGS };
const corpus = process.env.HOB_CORPUS ?? fileURLToPath(new URL('../../../shared/corpus', import.meta.url));
const paths = [];
let packing = false, most = TOLERANCE;
for (const word of words) {
	const path = word.replace(/^corpus:/, `${corpus}/`);
	if (word === '--quantized') settings.vertices = 'quantized', most = QUANTIZED;
	else if (word === '--gltfpack') packing = true;
	else if (word !== path && !existsSync(corpus)) console.log(`no corpus at ${corpus} (HOB_CORPUS): left out ${word}`);
	else paths.push(...(statSync(path).isDirectory() ? filesBelow(path) : [path]));
}
let failed = 0, compared = 0, told = 0;
console.warn = console.error = () => {}; // three.js warns about unknown extensions
for (const path of paths) {
	const out = mkdtempSync(join(tmpdir(), 'hob-oracle-'));
	const why = explained.find(({ files }) => files.test(path));
	try {
		const result = await compare(hob, dump, settings, packing ? pack(path, out) : path, out);
		const good = result.matrix <= TOLERANCE && result.point <= most;
		compared++;
		failed += !good && !why;
		told += !good && Boolean(why);
		console.log(`${good ? 'same  ' : why ? 'known ' : 'DIFFER'} ${path}: ${result.clips} clips, ${result.nodes.length} nodes, ` +
			`matrices ${result.matrix.toExponential(1)}, ${result.points} points ${result.point.toExponential(1)}` +
			(good || !why ? '' : `: ${why.because}`));
	} catch (error) {
		failed += !why;
		told += Boolean(why);
		const reason = String(error.stderr || error.message || error).trim().split('\n')[0];
		console.log(`${why ? 'known ' : 'FAILED'} ${path}: ${why ? `${why.because} (${reason})` : reason}`);
	} finally {
		rmSync(out, { recursive: true, force: true });
	}
}
console.log(`${compared} compared, ${told} differ with a known reason, ${failed} failed`);
process.exit(failed ? 1 : 0);

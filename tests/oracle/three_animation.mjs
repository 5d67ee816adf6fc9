// Plays glTF clips with three.js and cooked clips with core/runtime and compares. See README.md.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import * as THREE from 'three';
import { GLTFLoader } from 'three/addons/loaders/GLTFLoader.js';

const TOLERANCE = 1e-4; // of the model's size
const POINTS = 200;
globalThis.self ??= globalThis; // the loader asks for its global under this name
globalThis.ProgressEvent ??= class { constructor(type) { this.type = type; } };

// The file as a JSON document with its buffers inside and without pictures, which Node cannot decode.
function readDocument(path) {
	const bytes = readFileSync(path);
	let json, binary = null;
	if (bytes.toString('latin1', 0, 4) === 'glTF') {
		const length = bytes.readUInt32LE(12);
		json = JSON.parse(bytes.toString('utf8', 20, 20 + length));
		if (bytes.length > 28 + length) binary = bytes.subarray(28 + length, 28 + length + bytes.readUInt32LE(20 + length));
	} else {
		json = JSON.parse(bytes.toString('utf8'));
	}
	for (const buffer of json.buffers ?? []) {
		if (buffer.uri?.startsWith('data:')) continue;
		const data = buffer.uri ? readFileSync(join(dirname(path), decodeURIComponent(buffer.uri))) : binary;
		if (data) buffer.uri = 'data:application/octet-stream;base64,' + data.toString('base64');
	}
	for (const mesh of json.meshes ?? []) for (const primitive of mesh.primitives) delete primitive.material;
	for (const key of ['materials', 'textures', 'images', 'samplers']) delete json[key];
	const quiet = (list) => list?.filter((name) => !/^KHR_(materials|texture)|webp|basisu/.test(name));
	json.extensionsRequired = quiet(json.extensionsRequired);
	json.extensionsUsed = quiet(json.extensionsUsed);
	return json;
}

function loadThree(json) {
	return new Promise((resolve, reject) => new GLTFLoader().parse(JSON.stringify(json), '', resolve, reject));
}

// Objects of the default scene that stand for glTF nodes, depth first.
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

// Farthest that one of `points` is from the nearest of `others`. Vertex orders differ, so positions must match as sets.
function farthest(points, others) {
	let worst = 0;
	for (const p of points) {
		let best = Infinity;
		for (const q of others) {
			const d = (p[0] - q[0]) ** 2 + (p[1] - q[1]) ** 2 + (p[2] - q[2]) ** 2;
			if (d < best) best = d;
		}
		worst = Math.max(worst, best);
	}
	return Math.sqrt(worst);
}

async function compare(hob, dump, path, out) {
	const json = readDocument(path);
	if (!json.animations?.length) return null;
	// Their decoders do not run in Node; the same models exist uncompressed.
	if (json.extensionsRequired?.some((name) => /draco|meshopt/.test(name))) return null;
	const gltf = await loadThree(json);
	execFileSync(hob, ['cook', path, '-o', out, '--root', dirname(path), '-q',
		'--settings', '{"lods":{"max":1},"meshlets":false,"texture":{"encoding":"source"}}'], { stdio: ['ignore', 'ignore', 'pipe'] });
	const ours = JSON.parse(execFileSync(dump, [join(out, basename(path)), String(POINTS)], { maxBuffer: 1 << 30 }));
	if (ours.length !== gltf.animations.length) throw new Error(`${ours.length} clips, three.js has ${gltf.animations.length}`);
	const nodes = sourceNodes(gltf);
	const result = { clips: ours.length, nodes: nodes.length, matrix: 0, point: 0 };
	for (const [c, clip] of ours.entries()) {
		const mixer = new THREE.AnimationMixer(gltf.scene);
		const action = mixer.clipAction(gltf.animations[c]);
		action.setLoop(THREE.LoopOnce, 1);
		action.clampWhenFinished = true;
		action.play();
		for (const [k, time] of clip.times.entries()) {
			action.paused = false;
			action.enabled = true;
			mixer.setTime(time);
			// Keys that are no unit quaternions (0.707) scale three.js's matrices; Hob makes them unit.
			for (const node of nodes) node.quaternion.normalize();
			gltf.scene.updateMatrixWorld(true);
			const theirs = nodes.map((node) => node.matrixWorld.elements);
			const mine = clip.frames[k].nodes;
			if (mine.length !== theirs.length) throw new Error(`${mine.length} nodes, three.js has ${theirs.length}`);
			const points = deformedPoints(gltf.scene);
			const size = sizeOf(points, theirs);
			theirs.forEach((m, n) => m.forEach((value, i) => {
				// Translations against the model's size, the rest against the size of the matrix.
				const scale = i >= 12 ? size : Math.max(1, ...m.slice(0, 12).map(Math.abs));
				result.matrix = Math.max(result.matrix, Math.abs(value - mine[n][i]) / scale);
			}));
			if (points.length > 0) result.point = Math.max(result.point, farthest(clip.frames[k].points, points) / size);
		}
		mixer.stopAllAction();
		mixer.uncacheRoot(gltf.scene);
	}
	return result;
}

const [hob, dump, ...paths] = process.argv.slice(2);
let failed = 0, compared = 0;
for (const path of paths) {
	const out = mkdtempSync(join(tmpdir(), 'hob-oracle-'));
	try {
		const result = await compare(hob, dump, path, out);
		if (!result) continue;
		const good = result.matrix <= TOLERANCE && result.point <= TOLERANCE;
		failed += !good;
		compared++;
		console.log(`${good ? 'same  ' : 'DIFFER'} ${path}: ${result.clips} clips, ${result.nodes} nodes, matrices ` +
			`${result.matrix.toExponential(1)}, points ${result.point.toExponential(1)}`);
	} catch (error) {
		failed++;
		console.log(`FAILED ${path}: ${String(error.stderr ?? error.message ?? error).trim().split('\n')[0]}`);
	} finally {
		rmSync(out, { recursive: true, force: true });
	}
}
console.log(`${compared} compared, ${failed} failed`);
process.exit(failed ? 1 : 0);

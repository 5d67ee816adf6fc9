// Reads COLLADA files with three.js and compares them with Hob's result. See README.md.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

for (const name of ['three', '@xmldom/xmldom'])
	if (!existsSync(fileURLToPath(new URL(`node_modules/${name}`, import.meta.url)))) {
		console.log('skipped: npm ci --prefix tests/oracle fetches three.js and an XML parser');
		process.exit(77);
	}
const THREE = await import('three');
const { DOMParser } = await import('@xmldom/xmldom');
globalThis.DOMParser = class {
	parseFromString(text, type) { return new DOMParser({ onError: () => {} }).parseFromString(text, type); }
};
globalThis.document ??= { createElementNS: () => ({ addEventListener() {}, removeEventListener() {}, style: {} }) };
const { ColladaLoader } = await import('three/addons/loaders/ColladaLoader.js');
const { loadThree, readDocument } = await import('./three_loading.mjs');
const { explainedCollada } = await import('./explained_collada.mjs');

const SIZE_TOLERANCE = 1e-4;
const TIMES = 20;

function decode(bytes) {
	if (bytes[0] === 0xFF && bytes[1] === 0xFE) return bytes.toString('utf16le').replace(/^\uFEFF/, '').replace(/encoding="[^"]*"/, '');
	return bytes.toString('utf8').replace(/^\uFEFF/, '');
}

function documentOf(path) {
	return /\.zae$/i.test(path) ? execFileSync('unzip', ['-p', path, '*.dae']) : readFileSync(path);
}

function theirsOf(path) {
	const loaded = new ColladaLoader().parse(decode(documentOf(path)), dirname(path) + '/');
	const top = new THREE.Group();
	top.add(loaded.scene);
	return { scene: top, clips: loaded.animations ?? loaded.scene.animations ?? [] };
}

function corners(scene) {
	scene.updateMatrixWorld(true);
	const list = [];
	let triangles = 0;
	const materials = new Set(), box = new THREE.Box3();
	scene.traverse((object) => {
		const geometry = object.geometry;
		if (object.isSkinnedMesh) object.skeleton.update();
		if (!geometry?.attributes.position) return;
		const index = geometry.index, count = index ? index.count : geometry.attributes.position.count;
		for (const m of [object.material].flat()) if (m) materials.add(m.name);
		const groups = geometry.groups.length ? geometry.groups : [{ start: 0, count }];
		if (object.isMesh) triangles += groups.reduce((sum, g) => sum + Math.min(g.count, count - g.start) / 3, 0);
		for (let i = 0; i < count; i++) {
			const v = index ? index.getX(i) : i;
			const p = (object.getVertexPosition ? object.getVertexPosition(v, new THREE.Vector3())
				: new THREE.Vector3().fromBufferAttribute(geometry.attributes.position, v)).applyMatrix4(object.matrixWorld);
			box.expandByPoint(p);
			if (object.isMesh) list.push({ p, uvs: ['uv', 'uv1', 'uv2'].map((name) => geometry.attributes[name])
				.filter(Boolean).map((a) => [a.getX(v), a.getY(v)]) });
		}
	});
	return { list, triangles, materials, box };
}

// Counts our corners for which one of theirs has the same position and first UV.
function sharedCorners(ours, theirs, size, flipped) {
	const step = Math.max(size * 1e-3, 1e-9), table = new Map();
	const key = (x, y, z) => `${x},${y},${z}`;
	for (const corner of theirs) {
		const k = key(...corner.p.toArray().map((x) => Math.round(x / step)));
		if (!table.has(k)) table.set(k, []);
		table.get(k).push(corner);
	}
	let places = 0, uvs = 0, withUv = 0;
	const sampled = ours.filter((_, i) => i % Math.max(1, Math.floor(ours.length / 3000)) === 0);
	for (const corner of sampled) {
		const [x, y, z] = corner.p.toArray().map((v) => Math.round(v / step));
		const near = [];
		for (let a = -1; a <= 1; a++) for (let b = -1; b <= 1; b++) for (let c = -1; c <= 1; c++)
			near.push(...(table.get(key(x + a, y + b, z + c)) ?? []));
		places += near.length > 0;
		if (corner.uvs.length === 0 || !near.some((n) => n.uvs.length)) continue;
		withUv++;
		// Their V counts from the bottom, like the file's; ours from the top, as in glTF.
		uvs += near.some((n) => n.uvs.some(([u, v]) => corner.uvs.some(([s, t]) =>
			Math.abs(u - s) < 1e-3 && Math.abs((flipped ? 1 - v : v) - t) < 1e-3)));
	}
	return { places: sampled.length ? places / sampled.length : 1, uvs: withUv ? uvs / withUv : 1 };
}

function namedNodes(scene) {
	const found = new Map();
	scene.traverse((object) => {
		if (object.name && !found.has(object.name)) found.set(object.name, object);
	});
	return found;
}

const plain = (name) => name.replace(/[^\p{L}\p{N}]/gu, '');

// Largest distance that nodes of one name ever have, relative to the model's size.
function motion(ours, theirs, size) {
	let worst = 0, nodes = 0;
	const length = Math.max(0, ...theirs.clips.map((c) => c.duration));
	const players = [ours, theirs].map(({ scene, clips }) => {
		const mixer = new THREE.AnimationMixer(scene);
		return { mixer, actions: clips.map((clip) => mixer.clipAction(clip).play()) };
	});
	const mine = new Map([...namedNodes(ours.scene)].map(([name, node]) => [plain(name), node]));
	for (let k = 0; k < (ours.clips.length || theirs.clips.length ? TIMES : 1); k++) {
		for (const { mixer, actions } of players) {
			for (const action of actions) action.time = Math.min(length * k / (TIMES - 1), action.getClip().duration);
			mixer.update(0);
		}
		ours.scene.updateMatrixWorld(true);
		theirs.scene.updateMatrixWorld(true);
		for (const [name, node] of namedNodes(theirs.scene)) {
			const other = mine.get(plain(name));
			if (!other || node.isLight || node.isCamera) continue;
			nodes++;
			const a = new THREE.Vector3().setFromMatrixPosition(node.matrixWorld);
			const b = new THREE.Vector3().setFromMatrixPosition(other.matrixWorld);
			worst = Math.max(worst, a.distanceTo(b) / size);
			for (let axis = 0; axis < 3; axis++) {
				const x = new THREE.Vector3().setFromMatrixColumn(node.matrixWorld, axis).normalize();
				const y = new THREE.Vector3().setFromMatrixColumn(other.matrixWorld, axis).normalize();
				worst = Math.max(worst, x.distanceTo(y));
			}
		}
	}
	return { worst, nodes };
}

async function compare(hob, path, out) {
	const theirs = theirsOf(path);
	const glb = join(out, 'ours.glb');
	execFileSync(hob, ['export', path, '-o', glb, '--root', dirname(path), '-q'], { stdio: ['ignore', 'ignore', 'pipe'] });
	const document = readDocument(glb);
	const loaded = await loadThree(document);
	const ours = { scene: loaded.scene, clips: loaded.animations };
	const a = corners(ours.scene), b = corners(theirs.scene);
	const size = Math.max(b.box.isEmpty() ? 0 : b.box.getSize(new THREE.Vector3()).length(), 1e-9);
	const shared = sharedCorners(a.list, b.list, size, true);
	const boxes = a.box.isEmpty() && b.box.isEmpty() ? 0
		: Math.max(a.box.min.distanceTo(b.box.min), a.box.max.distanceTo(b.box.max)) / size;
	return { triangles: [a.triangles, b.triangles], boxes, ...shared, motion: motion(ours, theirs, size),
		clips: [ours.clips.length, theirs.clips.length], materials: [a.materials.size, b.materials.size] };
}

function filesBelow(folder) {
	return readdirSync(folder).sort().flatMap((name) => {
		const path = join(folder, name);
		return statSync(path).isDirectory() ? filesBelow(path) : /\.(dae|zae)$/i.test(name) ? [path] : [];
	});
}

const [hob, ...words] = process.argv.slice(2);
const corpus = process.env.HOB_CORPUS ?? fileURLToPath(new URL('../../../shared/corpus', import.meta.url));
const paths = [];
for (const word of words) {
	const path = word.replace(/^corpus:/, `${corpus}/`);
	if (word !== path && !existsSync(corpus)) console.log(`no corpus at ${corpus} (HOB_CORPUS): left out ${word}`);
	else paths.push(...(statSync(path).isDirectory() ? filesBelow(path) : [path]));
}
console.warn = console.error = () => {};
let failed = 0;
for (const path of paths) {
	const out = mkdtempSync(join(tmpdir(), 'hob-oracle-'));
	const why = explainedCollada.find(({ files }) => files.test(path));
	try {
		const r = await compare(hob, path, out);
		const good = r.triangles[0] === r.triangles[1] && r.boxes <= SIZE_TOLERANCE && r.places === 1 && r.uvs === 1 &&
			r.motion.worst <= 1e-3;
		failed += !good && !why;
		console.log(`${good ? 'same  ' : why ? 'known ' : 'DIFFER'} ${path.replace(corpus, '')}: ${r.triangles.join('/')} triangles, box ${r.boxes.toExponential(1)}, ` +
			`places ${r.places.toFixed(3)}, uvs ${r.uvs.toFixed(3)}, ${r.motion.nodes} node frames ${r.motion.worst.toExponential(1)}, ` +
			`${r.clips.join('/')} clips${good || !why ? '' : `: ${why.because}`}`);
	} catch (error) {
		failed += !why;
		const reason = String(error.stderr || error.stack || error).trim().split('\n').slice(0, 3).join(' | ');
		console.log(`${why ? 'known ' : 'FAILED'} ${path}: ${why ? `${why.because} (${reason})` : reason}`);
	} finally {
		rmSync(out, { recursive: true, force: true });
	}
}
console.log(`${paths.length} files, ${failed} differ`);
process.exit(failed ? 1 : 0);

// Reads VRML, MD2, 3MF, OBJ, PLY and STL with three.js and compares positions and colours of all corners with Hob's
// result. three_small.mjs HOB FILE...; "corpus:" is the model corpus.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

for (const name of ['three', '@xmldom/xmldom'])
	if (!existsSync(fileURLToPath(new URL(`node_modules/${name}`, import.meta.url)))) {
		console.log('skipped: npm ci --prefix tests/oracle fetches three.js and an XML parser');
		process.exit(77);
	}
const THREE = await import('three');
const { VRMLLoader } = await import('three/addons/loaders/VRMLLoader.js');
const { DOMParser } = await import('@xmldom/xmldom');
globalThis.DOMParser = DOMParser;
// The only kind of query that the loader makes: local names, the last one below the others.
const sample = new DOMParser().parseFromString('<a/>', 'text/xml');
for (const kind of [sample, sample.documentElement].map(Object.getPrototypeOf)) {
	kind.querySelectorAll = function (path) {
		const names = path.split(' '), name = names.pop();
		const below = (node) => names.every((above) => { while ((node = node.parentNode) && node.localName !== above); return node; });
		return [...this.getElementsByTagNameNS('*', name)].filter(below);
	};
	kind.querySelector = function (path) { return this.querySelectorAll(path)[0] ?? null; };
}
const { ThreeMFLoader } = await import('three/addons/loaders/3MFLoader.js');
const { MD2Loader } = await import('three/addons/loaders/MD2Loader.js');
const { OBJLoader } = await import('three/addons/loaders/OBJLoader.js');
const { PLYLoader } = await import('three/addons/loaders/PLYLoader.js');
const { STLLoader } = await import('three/addons/loaders/STLLoader.js');
const { loadThree, readDocument } = await import('./three_loading.mjs');

const corpus = process.env.HOB_CORPUS ?? fileURLToPath(new URL('../../../shared/corpus', import.meta.url));

// Transforms of their corners to metres, Y up. three's MD2 loader swaps Y and Z, which mirrors.
const readers = {
	'.wrl': { load: (path) => new VRMLLoader().parse(readFileSync(path, 'utf8'), dirname(path) + '/'), place: (p) => p },
	'.md2': { load: (path) => new THREE.Mesh(new MD2Loader().parse(buffer(path))), place: (p) => new THREE.Vector3(p.x, p.y, -p.z) },
	'.obj': { load: (path) => new OBJLoader().parse(readFileSync(path, 'utf8')), place: (p) => p },
	'.ply': { load: (path) => new THREE.Mesh(new PLYLoader().parse(buffer(path))), place: (p) => p },
	'.stl': { load: (path) => new THREE.Mesh(new STLLoader().parse(buffer(path))), place: (p) => p },
	// The 3MF loader keeps millimetres and Z up.
	'.3mf': { load: (path) => new ThreeMFLoader().parse(buffer(path)), place: (p) => new THREE.Vector3(p.x, p.z, -p.y).divideScalar(1000) },
};

const explained = [
	{ files: /production_components|prod_req/, because: 'ids of objects count within their part; three.js takes the last part for all' },
];

function buffer(path) {
	const bytes = readFileSync(path);
	return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
}

function corners(scene, place) {
	scene.updateMatrixWorld(true);
	const list = [];
	scene.traverse((object) => {
		if (!object.isMesh) return;
		const { position, color } = object.geometry.attributes, index = object.geometry.index;
		for (let i = 0; i < (index ? index.count : position.count); i++) {
			const v = index ? index.getX(i) : i;
			const p = place(new THREE.Vector3().fromBufferAttribute(position, v).applyMatrix4(object.matrixWorld));
			list.push({ p, color: color && [color.getX(v), color.getY(v), color.getZ(v)] });
		}
	});
	return list;
}

function areaOf(list) {
	let sum = 0;
	for (let i = 0; i + 2 < list.length; i += 3) {
		const [a, b, c] = [list[i].p, list[i + 1].p, list[i + 2].p];
		sum += b.clone().sub(a).cross(c.clone().sub(a)).length() / 2;
	}
	return sum;
}

async function check(path, hob, out) {
	const kind = readers[extname(path).toLowerCase()];
	const glb = join(out, 'ours.glb');
	execFileSync(hob, ['export', path, '-o', glb, '--root', dirname(path), '-q'], { stdio: ['ignore', 'ignore', 'pipe'] });
	return loadThree(readDocument(glb)).then((loaded) => {
		const ours = corners(loaded.scene, (p) => p), theirs = corners(kind.load(path), kind.place), wrong = [];
		const box = new THREE.Box3().setFromPoints(theirs.map((c) => c.p)), size = box.getSize(new THREE.Vector3()).length();
		const mine = new THREE.Box3().setFromPoints(ours.map((c) => c.p));
		if (ours.length !== theirs.length) wrong.push(`${ours.length / 3} triangles, theirs are ${theirs.length / 3}`);
		if (mine.min.distanceTo(box.min) + mine.max.distanceTo(box.max) > 1e-4 * size) wrong.push('another box');
		// Faces that are not plane are triangulated differently.
		if (Math.abs(areaOf(ours) - areaOf(theirs)) > 5e-3 * areaOf(theirs)) wrong.push(`area ${areaOf(ours)}, theirs ${areaOf(theirs)}`);
		let lost = 0, colors = 0, colored = 0;
		const step = 1e-3 * size, cell = (p) => [p.x, p.y, p.z].map((x) => Math.round(x / step)), table = new Map();
		for (const corner of theirs) {
			const key = cell(corner.p).join();
			if (!table.has(key)) table.set(key, []);
			table.get(key).push(corner);
		}
		for (const corner of ours) {
			const [x, y, z] = cell(corner.p), near = [];
			for (let k = 0; k < 27; k++)
				for (const t of table.get([x + k % 3 - 1, y + Math.floor(k / 3) % 3 - 1, z + Math.floor(k / 9) - 1].join()) ?? [])
					if (t.p.distanceTo(corner.p) < 1e-4 * size) near.push(t);
			lost += near.length === 0;
			if (!near.some((t) => t.color)) continue;
			colored++;
			colors += near.some((t) => t.color && corner.color && t.color.every((c, k) => Math.abs(c - corner.color[k]) < 0.01));
		}
		if (lost > 0) wrong.push(`${lost} of ${ours.length} corners are nowhere in theirs`);
		if (colors < colored) wrong.push(`${colored - colors} of ${colored} colours are others`);
		const why = wrong.length && explained.find(({ files }) => files.test(path))?.because;
		console.log(`${path}: ${ours.length / 3} triangles, ${colored} corners with colours${wrong.length ? ': ' + wrong.join('; ') : ''}${why ? ` - explained: ${why}` : ''}`);
		return why ? 0 : wrong.length;
	});
}

const [hob, ...files] = process.argv.slice(2);
const out = mkdtempSync(join(tmpdir(), 'hob-small-'));
let failed = 0;
for (const file of files) {
	const path = file.replace(/^corpus:/, corpus + '/');
	if (!existsSync(path)) console.log(`${file}: not here`);
	else failed += await check(path, hob, out).catch((error) => {
		console.log(`${path}: ${String(error.stderr || error.message).trim().split('\n')[0]}`);
		return 1;
	});
}
rmSync(out, { recursive: true });
process.exit(failed ? 1 : 0);

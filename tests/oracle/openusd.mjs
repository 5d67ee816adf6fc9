/* OpenUSD itself, as WebAssembly (npm three-usdz-loader, release 22), in Node: the composed stage, and what Hydra draws
 * of it. The build is for pages and Node but finds its data only on pages, so location and XMLHttpRequest are
 * simulated. */
import { createRequire } from 'node:module';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const require = createRequire(import.meta.url);
const folder = join(dirname(fileURLToPath(import.meta.url)), 'node_modules/three-usdz-loader/external');
export const installed = existsSync(join(folder, 'emHdBindings.wasm'));

const page = `globalThis.location = { pathname: '/', href: 'file:///' };
globalThis.XMLHttpRequest = class { open() {} send() {} };`;

export async function load(log = () => {}) {
	const threads = require('node:worker_threads');
	const Plain = threads.Worker;
	threads.Worker = class extends Plain {
		constructor(file) {
			super(`${page} require(${JSON.stringify(file)});`, { eval: true, stderr: true });
			this.unref();
		}
	};
	(0, eval)(page);
	const data = readFileSync(join(folder, 'emHdBindings.data'));
	const usd = await require(join(folder, 'emHdBindings.js'))({
		getPreloadedPackage: () => data.buffer.slice(data.byteOffset, data.byteOffset + data.length),
		wasmBinary: readFileSync(join(folder, 'emHdBindings.wasm')),
		print: log,
		printErr: log,
	}, folder);
	let stages = 0;
	return {
		/* files: {path: text or bytes}; root: the path of the stage. */
		open(files, root) {
			const at = `/stage${stages++}`;
			for (const [path, content] of Object.entries(files)) {
				const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content;
				usd.FS.createPath('/', `${at}/${dirname(path)}`.slice(1), true, true);
				usd.FS.writeFile(`${at}/${path}`, bytes);
			}
			const stage = usd.UsdStage.Open(`${at}/${root}`);
			if (!stage) throw new Error(`OpenUSD cannot open ${root}`);
			return {
				/* The composed stage as one layer without arcs. */
				flat: stage.ExportToString().replaceAll(`@${at}/`, '@./'),
				/* The same layer as a crate. */
				crate() {
					const name = `${at}/flat.usdc`;
					stage.Export(name, false);
					return usd.FS.readFile(name);
				},
				/* Draws at each time: {id, type, points, indices, matrix (rows are bases), material, primvars}. */
				draw(times) {
					const found = new Scene();
					const driver = new usd.HdWebSyncDriver(found, `${at}/${root}`);
					return times.map((time) => {
						if (time !== null) driver.SetTime(time);
						driver.Draw();
						return found.copy();
					});
				},
			};
		},
	};
}

class Scene {
	meshes = new Map();
	materials = new Map();
	createRPrim(type, id) {
		const mesh = new Mesh(type, id);
		this.meshes.set(id, mesh);
		return mesh;
	}
	createSPrim(type, id) {
		const material = new Material(id);
		if (type === 'material') this.materials.set(id, material);
		return material;
	}
	createBPrim() {}
	CommitResources() {}
	copy() {
		return { meshes: [...this.meshes.values()].map((mesh) => ({ ...mesh })), materials: new Map(this.materials) };
	}
}

class Mesh {
	points = [];
	indices = [];
	matrix = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1];
	material = '';
	primvars = {};
	constructor(type, id) {
		Object.assign(this, { type, id });
	}
	updatePoints(points) {
		this.points = Array.from(points);
	}
	updateIndices(indices) {
		this.indices = Array.from({ length: indices.size ? indices.size() : indices.length }, (_, i) => (indices.get ? indices.get(i) : indices[i]));
	}
	setTransform(matrix) {
		this.matrix = Array.from(matrix);
	}
	setMaterial(id) {
		this.material = id;
	}
	updateNormals() {}
	updatePrimvar(name, data, dimension, interpolation) {
		this.primvars[name] = { data: Array.from(data), dimension, interpolation };
	}
}

class Material {
	nodes = {};
	links = [];
	constructor(id) {
		this.id = id;
	}
	updateNode(network, path, parameters) {
		this.nodes[path] = { ...parameters };
	}
	updateFinished(type, links) {
		this.links = links.map((link) => ({ ...link }));
	}
}

/* Loads glTF files with three.js' own loader and decoders in Node, which has neither pictures nor a browser's
 * workers. */
import { resolveObjectURL } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker as Thread } from 'node:worker_threads';
import { DRACOLoader } from 'three/addons/loaders/DRACOLoader.js';
import { GLTFLoader } from 'three/addons/loaders/GLTFLoader.js';
import { MeshoptDecoder } from 'three/addons/libs/meshopt_decoder.module.js';

globalThis.self ??= globalThis; // the loader uses this name for the global object
globalThis.ProgressEvent ??= class { constructor(type) { this.type = type; } };

// A browser's Worker, implemented with a thread: DRACOLoader passes its source as a blob.
globalThis.Worker ??= class {
	constructor(url) {
		const prologue = `const { parentPort } = require('node:worker_threads');
			globalThis.self = globalThis;
			self.postMessage = (message, moved) => parentPort.postMessage(message, moved);
			parentPort.on('message', (data) => self.onmessage({ data }));\n`;
		this.waiting = [];
		resolveObjectURL(url).text().then((source) => {
			this.thread = new Thread(prologue + source, { eval: true });
			this.thread.on('message', (data) => this.onmessage({ data }));
			this.thread.on('error', (error) => this.onerror?.(error));
			for (const [message, moved] of this.waiting) this.thread.postMessage(message, moved);
		});
	}
	postMessage(message, moved) {
		if (this.thread) this.thread.postMessage(message, moved);
		else this.waiting.push([message, moved]);
	}
	terminate() { this.thread?.terminate(); }
};

class LocalDracoLoader extends DRACOLoader {
	async _loadLibrary(name, kind) {
		const folder = fileURLToPath(new URL('node_modules/three/examples/jsm/libs/draco/gltf/', import.meta.url));
		const bytes = readFileSync(join(folder, basename(name)));
		return kind === 'text' ? bytes.toString() : bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
	}
}

function split(path) {
	const bytes = readFileSync(path);
	if (bytes.toString('latin1', 0, 4) !== 'glTF') return { json: JSON.parse(bytes.toString('utf8').replace(/^\uFEFF/, '')) };
	const length = bytes.readUInt32LE(12);
	const json = JSON.parse(bytes.toString('utf8', 20, 20 + length));
	return { json, binary: bytes.length > 28 + length ? bytes.subarray(28 + length, 28 + length + bytes.readUInt32LE(20 + length)) : null };
}

// Whether a file is glTF 2.0 with clips or skins; false if it is not JSON.
export function moves(path) {
	try {
		const { json } = split(path);
		return /^2\./.test(json.asset?.version ?? '') && Boolean(json.animations?.length || json.skins?.length);
	} catch {
		return false;
	}
}

// The file as a JSON document with embedded buffers and without pictures.
export function readDocument(path) {
	const { json, binary } = split(path);
	for (const [i, buffer] of (json.buffers ?? []).entries()) {
		if (buffer.uri?.startsWith('data:')) continue;
		const data = buffer.uri ? readFileSync(join(dirname(path), decodeURIComponent(buffer.uri))) : i === 0 && binary;
		if (data) buffer.uri = 'data:application/octet-stream;base64,' + data.toString('base64');
	}
	for (const mesh of json.meshes ?? []) for (const primitive of mesh.primitives) delete primitive.material;
	for (const key of ['materials', 'textures', 'images', 'samplers']) delete json[key];
	const quiet = (list) => list?.filter((name) => !/^KHR_(materials|texture)|webp|basisu/.test(name));
	json.extensionsRequired = quiet(json.extensionsRequired);
	json.extensionsUsed = quiet(json.extensionsUsed);
	return json;
}

export async function loadThree(json) {
	const draco = new LocalDracoLoader();
	const loader = new GLTFLoader().setDRACOLoader(draco).setMeshoptDecoder(MeshoptDecoder);
	try {
		return await new Promise((resolve, reject) => loader.parse(JSON.stringify(json), '', resolve, reject));
	} finally {
		draco.dispose();
	}
}

/* Facts of a glTF scene, computed in the simplest way from an exported GLB (floats in one buffer, no compression) and
 * from a source's JSON. Shares no code with the importer and the writers. */
import { readFileSync } from 'node:fs';

/** {json, bin} of a .glb or .gltf file. */
export function readGltf(path) {
	const file = readFileSync(path);
	if (file.toString('latin1', 0, 4) !== 'glTF') return { json: JSON.parse(file.toString('utf8').replace(/^\uFEFF/, '')) };
	const length = file.readUInt32LE(12);
	const json = JSON.parse(file.toString('utf8', 20, 20 + length));
	return { json, bin: file.subarray(28 + length) };
}

function multiply(a, b) {
	const out = new Array(16).fill(0);
	for (let c = 0; c < 4; c++)
		for (let r = 0; r < 4; r++) for (let k = 0; k < 4; k++) out[c * 4 + r] += a[k * 4 + r] * b[c * 4 + k];
	return out;
}

function local({ matrix, translation: t = [0, 0, 0], rotation: q = [0, 0, 0, 1], scale: s = [1, 1, 1] }) {
	if (matrix) return matrix;
	const [x, y, z, w] = q;
	return [
		(1 - 2 * (y * y + z * z)) * s[0], 2 * (x * y + z * w) * s[0], 2 * (x * z - y * w) * s[0], 0,
		2 * (x * y - z * w) * s[1], (1 - 2 * (x * x + z * z)) * s[1], 2 * (y * z + x * w) * s[1], 0,
		2 * (x * z + y * w) * s[2], 2 * (y * z - x * w) * s[2], (1 - 2 * (x * x + y * y)) * s[2], 0,
		...t, 1,
	];
}

function triangles(json, primitive) {
	const { mode = 4, indices, attributes } = primitive;
	const count = json.accessors[indices ?? attributes.POSITION].count;
	return mode === 4 ? Math.floor(count / 3) : mode > 4 ? Math.max(count - 2, 0) : 0;
}

/** Facts of the default scene, named like the columns of ORACLE-gltf.tsv. */
export function sceneFacts({ json, bin }) {
	const f = { triangles: 0, instances: 0, draws: 0, min: [Infinity, Infinity, Infinity], max: [-Infinity, -Infinity, -Infinity] };
	const view = new DataView(bin.buffer, bin.byteOffset, bin.byteLength);
	const draw = (primitive, world) => {
		f.draws++;
		f.triangles += triangles(json, primitive);
		const accessor = json.accessors[primitive.attributes.POSITION];
		const buffer = json.bufferViews[accessor.bufferView];
		const start = (buffer.byteOffset ?? 0) + (accessor.byteOffset ?? 0);
		for (let i = 0; i < accessor.count; i++) {
			const at = start + i * (buffer.byteStride ?? 12);
			const p = [view.getFloat32(at, true), view.getFloat32(at + 4, true), view.getFloat32(at + 8, true)];
			for (let r = 0; r < 3; r++) {
				const x = world[r] * p[0] + world[4 + r] * p[1] + world[8 + r] * p[2] + world[12 + r];
				f.min[r] = Math.min(f.min[r], x);
				f.max[r] = Math.max(f.max[r], x);
			}
		}
	};
	const stack = (json.scenes?.[json.scene ?? 0]?.nodes ?? []).map((node) => [node, null]);
	while (stack.length) {
		const [id, above] = stack.pop();
		const node = json.nodes[id];
		const world = above ? multiply(above, local(node)) : local(node);
		if (node.mesh !== undefined) {
			f.instances++;
			json.meshes[node.mesh].primitives.forEach((primitive) => draw(primitive, world));
		}
		for (const child of node.children ?? []) stack.push([child, world]);
	}
	return f;
}

/** Facts found in a source's JSON without its buffers. */
export function listFacts({ json }) {
	const nodes = json.nodes ?? [];
	const seen = (of) => new Set(nodes.map(of).filter((id) => id !== undefined)).size;
	const shown = new Set();
	const stack = (json.scenes ?? []).flatMap((scene) => scene.nodes ?? []);
	while (stack.length) {
		const id = stack.pop();
		if (shown.has(id)) continue;
		shown.add(id);
		stack.push(...(nodes[id].children ?? []));
	}
	return {
		scenes: (json.scenes ?? []).length,
		cameras: seen((node) => node.camera),
		lights: seen((node) => node.extensions?.KHR_lights_punctual?.light),
		materials: (json.materials ?? []).length,
		clips: (json.animations ?? []).length,
		skins: seen((node) => node.skin),
	};
}

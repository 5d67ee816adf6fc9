/**
 * hob-three-geometry.js - meshes of a packed .meshes file as three.js geometries.
 *
 * Every vertex format of schema/FORMATS.md is converted so that WebGL draws it without a special shader: scaled
 * positions and octahedral normals are expanded to floats, colours and weights stay small and normalised, joints stay
 * integers.
 */
import { BufferAttribute, BufferGeometry, Box3, Sphere, Vector3 } from 'three';
import { constants, meshAttributes, meshLevels, readRecord } from './hob-format.js';

/** @import { Pack, Row, Section } from './hob-format.js' */

const c = constants;

const attributeNames = {
	[c.SEMANTIC_POSITION]: () => 'position',
	[c.SEMANTIC_NORMAL]: () => 'normal',
	[c.SEMANTIC_TANGENT]: () => 'tangent',
	/** @param {number} set */
	[c.SEMANTIC_UV]: (set) => (set ? `uv${set}` : 'uv'),
	/** @param {number} set */
	[c.SEMANTIC_COLOR]: (set) => (set ? `color_${set}` : 'color'),
	/** @param {number} set */
	[c.SEMANTIC_JOINTS]: (set) => (set ? `joints_${set}` : 'skinIndex'),
	/** @param {number} set */
	[c.SEMANTIC_WEIGHTS]: (set) => (set ? `weights_${set}` : 'skinWeight'),
};

/** @type {Record<string, Record<number, new (length: number) => Uint8Array | Int8Array | Uint16Array | Int16Array>>} */
const integerArrays = {
	UNORM: { 1: Uint8Array, 2: Uint16Array },
	SNORM: { 1: Int8Array, 2: Int16Array },
	UINT: { 1: Uint8Array, 2: Uint16Array },
};

/** @param {number} half */
function halfToFloat(half) {
	const sign = half & 0x8000 ? -1 : 1;
	const exponent = (half >> 10) & 31;
	const fraction = half & 1023;
	if (exponent === 0) return sign * fraction * 2 ** -24;
	if (exponent === 31) return fraction ? NaN : sign * Infinity;
	return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/**
 * @param {number} bits
 * @param {number} shift
 */
const signed10 = (bits, shift) => Math.max(((bits << (22 - shift)) >> 22) / 511, -1);

/**
 * Returns a function that reads component `k` of the vertex at byte `at` as a number.
 * @param {Row} given
 * @returns {(view: DataView, at: number, k: number) => number}
 */
function componentReader({ kind, componentBytes }) {
	if (componentBytes === 0)
		return (view, at, k) => {
			const bits = view.getUint32(at, true);
			return k < 3 ? signed10(bits, 10 * k) : Math.max((bits | 0) >> 30, -1);
		};
	if (kind === 'FLOAT') return (view, at, k) => view.getFloat32(at + 4 * k, true);
	if (kind === 'HALF') return (view, at, k) => halfToFloat(view.getUint16(at + 2 * k, true));
	const wide = componentBytes === 2;
	if (kind === 'SNORM')
		return wide ? (view, at, k) => Math.max(view.getInt16(at + 2 * k, true) / 32767, -1)
			: (view, at, k) => Math.max(view.getInt8(at + k) / 127, -1);
	const most = kind === 'UNORM' ? (wide ? 65535 : 255) : 1;
	return wide ? (view, at, k) => view.getUint16(at + 2 * k, true) / most
		: (view, at, k) => view.getUint8(at + k) / most;
}

/**
 * @param {Float32Array} out
 * @param {number} at
 * @param {number} x
 * @param {number} y
 */
function unfoldOctahedron(out, at, x, y) {
	const z = 1 - Math.abs(x) - Math.abs(y);
	const fold = Math.max(-z, 0);
	const u = x + (x >= 0 ? -fold : fold);
	const v = y + (y >= 0 ? -fold : fold);
	const length = Math.hypot(u, v, z) || 1;
	out[at] = u / length;
	out[at + 1] = v / length;
	out[at + 2] = z / length;
}

/**
 * Scale and offset of a component of a scaled attribute.
 * @param {Row} mesh
 * @param {number} semantic
 * @param {number} k
 */
function scaling(mesh, semantic, k) {
	if (semantic === c.SEMANTIC_POSITION) return [mesh.pos_scale, mesh.pos_offset[k]];
	return [mesh.uv_scale[k], mesh.uv_offset[k]];
}

/**
 * @param {Row} attribute
 * @param {DataView} view
 * @param {number} start
 * @param {number} count
 */
function expandOctahedral(attribute, view, start, count) {
	const read = componentReader(attribute.layout);
	const size = attribute.semantic === c.SEMANTIC_TANGENT ? 4 : 3;
	const out = new Float32Array(count * size);
	for (let i = 0, at = start; i < count; i++, at += attribute.stride) {
		unfoldOctahedron(out, i * size, read(view, at, 0), read(view, at, 1));
		if (size === 4) out[i * 4 + 3] = read(view, at, 3) < 0 ? -1 : 1;
	}
	return new BufferAttribute(out, size);
}

/**
 * @param {Row} attribute
 * @param {Row} mesh
 * @param {DataView} view
 * @param {number} start
 * @param {number} count
 */
function expandFloats(attribute, mesh, view, start, count) {
	const read = componentReader(attribute.layout);
	const size = attribute.components;
	const out = new Float32Array(count * size);
	for (let k = 0; k < size; k++) {
		const [scale, offset] = attribute.encoding === c.ENCODING_SCALED
			? scaling(mesh, attribute.semantic, k) : [1, 0];
		for (let i = 0, at = start; i < count; i++, at += attribute.stride) out[i * size + k] = read(view, at,
			k) * scale + offset;
	}
	return new BufferAttribute(out, size);
}

/**
 * @param {Row} attribute
 * @param {Uint8Array} bytes
 * @param {number} start
 * @param {number} count
 */
function copyIntegers(attribute, bytes, start, count) {
	const { kind, componentBytes } = attribute.layout;
	const size = attribute.layout.components;
	const out = new integerArrays[kind][componentBytes](count * size);
	const to = new Uint8Array(out.buffer);
	const length = size * componentBytes;
	for (let i = 0; i < count; i++) to.set(bytes.subarray(start + i * attribute.stride,
			start + i * attribute.stride + length), i * length);
	return new BufferAttribute(out, size, kind !== 'UINT');
}

/**
 * @param {Row} attribute
 * @param {Row} mesh
 * @param {Uint8Array} bytes
 * @param {number} count
 */
function readAttribute(attribute, mesh, bytes, count) {
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	if (attribute.encoding === c.ENCODING_OCTAHEDRAL) return expandOctahedral(attribute, view, attribute.start, count);
	const small = [c.SEMANTIC_COLOR, c.SEMANTIC_JOINTS, c.SEMANTIC_WEIGHTS].includes(attribute.semantic);
	const { kind, componentBytes } = attribute.layout;
	if (small && attribute.encoding === c.ENCODING_PLAIN && integerArrays[kind]?.[componentBytes])
		return copyIntegers(attribute, bytes, attribute.start, count);
	return expandFloats(attribute, mesh, view, attribute.start, count);
}

/** @type {['position' | 'normal', number, number][]} */
const deltaKinds = [['position', 4, c.DELTA_POSITION], ['normal', 16, c.DELTA_NORMAL]];

/**
 * Morph targets: expands sparse deltas to one dense array per target, as three.js requires.
 * @param {BufferGeometry} geometry
 * @param {Row} mesh
 * @param {Pack} pack
 * @param {(section: Section) => Uint8Array} bytesOf
 * @param {number} count
 */
function addMorphTargets(geometry, mesh, pack, bytesOf, count) {
	const table = /** @type {Section} */ (pack.find('MRPH'));
	const targets = Array.from({ length: mesh.morph_count }, (_, i) => pack.row(table, mesh.morph_first + i));
	const section = /** @type {Section} */ (pack.find('MDLT'));
	const bytes = section ? bytesOf(section) : new Uint8Array();
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	for (const [name, field, bit] of deltaKinds) {
		if (!targets.some((target) => target.attribute_mask & bit)) continue;
		geometry.morphAttributes[name] = targets.map((target) => {
			const out = new Float32Array(count * 3);
			for (let i = 0; i < (target.attribute_mask & bit ? target.delta_count : 0); i++) {
				const at = (target.delta_first + i) * section.stride;
				const vertex = view.getUint32(at, true);
				if (vertex >= count) break;
				for (let k = 0; k < 3; k++) out[vertex * 3 + k] = view.getFloat32(at + field + 4 * k, true);
			}
			return new BufferAttribute(out, 3);
		});
	}
	geometry.morphTargetsRelative = true;
	return targets;
}

/**
 * Sets bounds that also hold for morph targets; the caller adds those for skins.
 * @param {BufferGeometry} geometry
 * @param {Row} mesh
 * @param {Row[]} targets
 */
function setBounds(geometry, mesh, targets) {
	geometry.boundingBox = new Box3(new Vector3(...mesh.aabb_min), new Vector3(...mesh.aabb_max));
	geometry.boundingSphere = new Sphere(new Vector3(...mesh.sphere.slice(0, 3)), mesh.sphere[3]);
	if (!targets.length) return;
	const box = geometry.boundingBox;
	for (const target of targets)
		for (const k of /** @type {const} */ (['x', 'y', 'z'])) {
			const i = 'xyz'.indexOf(k);
			box.min[k] += Math.min(target.min[i], 0);
			box.max[k] += Math.max(target.max[i], 0);
		}
	box.getBoundingSphere(geometry.boundingSphere);
}

/** Reads the meshes of a pack on request. Decoded sections are kept as long as the reader. */
export class GeometryReader {
	/**
	 * @param {import('./hob-format.js').Pack} pack
	 * @param {{lod?: number, generatedTangents?: boolean, generatedNormals?: boolean, decoder?:
	 * import('./hob-format.js').Decoder}} options
	 */
	constructor(pack, options = {}) {
		this.pack = pack;
		this.options = options;
		this.meshes = pack.rows('MDSC');
		this.decoded = new Map();
	}

	/** @param {Section} section */
	#bytes = (section) => {
		if (!this.decoded.has(section)) this.decoded.set(section, this.pack.decode(section, this.options.decoder));
		return this.decoded.get(section);
	};

	/**
	 * @param {number} index  of the mesh
	 * @param {number} [lod]  level of detail; a mesh with fewer levels gives its last
	 * @returns {{geometry: BufferGeometry, mesh: object, targets: object[]} | null} null when there is nothing to draw
	 */
	read(index, lod = this.options.lod ?? 0) {
		const mesh = this.meshes[index];
		const levels = meshLevels(this.pack, mesh);
		if (!levels.length) return null;
		const level = levels[Math.min(lod, levels.length - 1)];
		const count = level.vertex_prefix;
		const geometry = new BufferGeometry();
		geometry.name = mesh.name;
		geometry.setIndex(this.#indices(level));
		for (const attribute of meshAttributes(this.pack, mesh)) {
			if (this.#unwanted(attribute, mesh)) continue;
			geometry.setAttribute(attributeNames[attribute.semantic](attribute.set),
				readAttribute(attribute, mesh, this.#bytes(attribute.section), count));
		}
		const targets = mesh.morph_count ? addMorphTargets(geometry, mesh, this.pack, this.#bytes, count) : [];
		setBounds(geometry, mesh, targets);
		geometry.userData = { levels: levels.map(({ index_count, vertex_prefix, error }) =>
				({ index_count, vertex_prefix, error })) };
		return { geometry, mesh, targets };
	}

	/**
	 * The meshlets of a level: `corners`, three vertex numbers per triangle, and `owners`, the meshlet of each
	 * triangle. null if there are none.
	 * @param {number} index
	 * @param {number} lod
	 */
	readMeshlets(index, lod) {
		const levels = meshLevels(this.pack, this.meshes[index]);
		const level = levels[Math.min(lod, levels.length - 1)];
		const table = this.pack.find('MLET');
		if (!level?.meshlet_count || !table) return null;
		const records = this.#bytes(table);
		const view = new DataView(records.buffer, records.byteOffset, records.byteLength);
		const vertices = this.pack.array(/** @type {Section} */ (this.pack.find('MLVT')), this.options.decoder);
		const triangles = this.#bytes(/** @type {Section} */ (this.pack.find('MLTR')));
		const corners = [];
		const owners = [];
		for (let i = 0; i < level.meshlet_count; i++) {
			const m = readRecord('meshlet', view, (level.meshlet_first + i) * table.stride);
			for (let k = 0; k < m.triangle_count * 3;
				k++) corners.push(vertices[m.vertex_offset + triangles[m.triangle_offset + k]]);
			for (let k = 0; k < m.triangle_count; k++) owners.push(i);
		}
		return { corners, owners, count: level.meshlet_count };
	}

	/**
	 * @param {{ semantic: number }} given
	 * @param {{ flags: number }} given
	 */
	#unwanted({ semantic }, { flags }) {
		const { generatedTangents, generatedNormals } = this.options;
		return (semantic === c.SEMANTIC_TANGENT && flags & c.MESH_GENERATED_TANGENTS && generatedTangents === false)
			|| (semantic === c.SEMANTIC_NORMAL && flags & c.MESH_GENERATED_NORMALS && generatedNormals === false);
	}

	/** @param {Row} level */
	#indices(level) {
		const Type = level.section.stride === 2 ? Uint16Array : Uint32Array;
		const bytes = this.#bytes(level.section);
		const all = new Type(bytes.buffer, bytes.byteOffset, level.section.count);
		return new BufferAttribute(all.slice(level.first_index, level.first_index + level.index_count), 1);
	}
}

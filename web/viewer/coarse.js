/* The coarsest level of a large model, from a part of its file, shown while the rest is loading. */
import { HobLoader } from '../client/hob-three.js';
import { Pack, constants, meshAttributes, meshLevels, readRecord } from '../client/hob-format.js';

const LARGE = 1e6; /* bytes of a file; smaller ones load as fast whole */
const HEAD = 65536;
const GAP = 65536; /* smaller gaps between parts are fetched, too: another request costs more */
const MOST = 0.4; /* share of the file */

/**
 * @param {string} url
 * @param {[number, number]} given
 * @param {AbortSignal} signal
 */
async function fetchPart(url, [first, end], signal) {
	const answer = await fetch(url, { headers: { Range: `bytes=${first}-${end - 1}` }, signal });
	if (answer.status !== 206) throw new Error(`HTTP ${answer.status}`);
	return new Uint8Array(await answer.arrayBuffer());
}

/**
 * [first, end] of the bytes for the last level of each mesh, ascending; null if they cannot be read separately.
 * @param {Pack} pack
 */
function partsOf(pack) {
	/** @type {[number, number][]} */
	const parts = [];
	/**
	 * @param {View.Row} section
	 * @param {number} first
	 * @param {number} count
	 */
	const need = (section, first, count) => {
		const from = section.offset + first * section.stride;
		parts.push([from, from + count * section.stride]);
		return section.codec === constants.CODEC_RAW;
	};
	for (const mesh of pack.rows('MDSC')) {
		const level = meshLevels(pack, mesh).at(-1);
		const apart = !level || (!mesh.morph_count && need(level.section, level.first_index, level.index_count)
			&& meshAttributes(pack, mesh)
				.every(({ section }) => need(section, mesh.first_vertex, level.vertex_prefix)));
		if (!apart) return null;
	}
	/** @type {[number, number][]} */
	const joined = [];
	for (const [first, end] of parts.sort((a, b) => a[0] - b[0])) {
		const last = joined.at(-1);
		if (last && first <= last[1] + GAP) last[1] = Math.max(last[1], end);
		else joined.push([first, end]);
	}
	return joined;
}

/**
 * The file's bytes, of which only those for the last levels are filled in; null if nothing would be gained.
 * @param {{ url: string, size: number }} given
 * @param {AbortSignal} signal
 */
async function fetchCoarse({ url, size }, signal) {
	const bytes = new Uint8Array(size);
	bytes.set(await fetchPart(url, [0, HEAD], signal));
	const { prefix_bytes: prefix } = readRecord('header', new DataView(bytes.buffer), 0);
	if (prefix > MOST * size) return null;
	if (prefix > HEAD) bytes.set(await fetchPart(url, [HEAD, prefix], signal), HEAD);
	const parts = partsOf(new Pack(bytes));
	if (!parts || parts.reduce((sum, [first, end]) => sum + end - first, prefix) > MOST * size) return null;
	await Promise.all(parts.map(async (part) => bytes.set(await fetchPart(url, part, signal), part[0])));
	return bytes;
}

/**
 * A group without textures; null if the asset is small or has no such level.
 * @param {{ outputs?: Api.Output[] }} given
 * @param {AbortSignal} signal
 */
export async function loadCoarse({ outputs = [] }, signal) {
	/** @param {string} wanted */
	const find = (wanted) => outputs.find(({ name }) => name === wanted);
	const [packed, nodes, pictures] = [find('meshes'), find('scene'), find('materials')];
	if (!packed || !nodes || !pictures || packed.size <= LARGE) return null;
	/** @param {{ url: string }} given */
	const whole = async ({ url }) => (await fetch(url, { signal })).arrayBuffer();
	const [meshes, scene, materials] = await Promise.all([fetchCoarse(packed, signal), whole(nodes), whole(pictures)]);
	if (!meshes) return null;
	const loader = new HobLoader();
	loader.lod = Infinity;
	loader.onTextureError = () => {};
	return /** @type {View.Model} */ (/** @type {unknown} */ (await loader.parse({ meshes, scene, materials,
		blob: () => Promise.reject(new Error('not asked for')) })));
}

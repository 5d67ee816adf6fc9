/* The coarsest level of a large model, from a part of its file: what is seen while the rest is on its way. */
import { HobLoader } from '../client/hob-three.js';
import { Pack, constants, meshAttributes, meshLevels, readRecord } from '../client/hob-format.js';

const LARGE = 1e6; /* bytes of a file; a smaller one is there as soon */
const HEAD = 65536;
const GAP = 65536; /* what lies between two parts is fetched with them: another request costs more */
const MOST = 0.4; /* of the file */

async function fetchPart(url, [first, end], signal) {
	const answer = await fetch(url, { headers: { Range: `bytes=${first}-${end - 1}` }, signal });
	if (answer.status !== 206) throw new Error(`HTTP ${answer.status}`);
	return new Uint8Array(await answer.arrayBuffer());
}

/* [first, end] of what the last level of each mesh needs, ascending; null where it cannot be read apart. */
function partsOf(pack) {
	const parts = [];
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
	const joined = [];
	for (const [first, end] of parts.sort((a, b) => a[0] - b[0])) {
		const last = joined.at(-1);
		if (last && first <= last[1] + GAP) last[1] = Math.max(last[1], end);
		else joined.push([first, end]);
	}
	return joined;
}

/* All bytes of the file, of which only those are there that the last levels need; null: nothing would be gained. */
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

/** A group without textures; null for an asset that has no such level, or that is small. */
export async function loadCoarse({ outputs = [] }, signal) {
	const find = (wanted) => outputs.find(({ name }) => name === wanted);
	if (!(find('meshes')?.size > LARGE)) return null;
	const whole = async ({ url }) => (await fetch(url, { signal })).arrayBuffer();
	const [meshes, scene, materials] = await Promise.all([fetchCoarse(find('meshes'), signal), whole(find('scene')),
		whole(find('materials'))]);
	if (!meshes) return null;
	const loader = new HobLoader();
	loader.lod = Infinity;
	loader.onTextureError = () => {};
	return loader.parse({ meshes, scene, materials, blob: () => Promise.reject(new Error('not asked for')) });
}

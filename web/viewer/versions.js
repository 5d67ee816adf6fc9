/* Earlier versions of an asset, to show one beside the newest. */
import { HobLoader } from '../client/hob-three.js';
import { get } from '../app/api.js';

const LISTED = 12;
const NEEDED = ['meshes', 'materials', 'scene'];

/**
 * A version that differs from the newest: `at`, when it was cooked, names it.
 * @typedef {{ at: string, outputs: { name: string, hash: string }[] }} Version
 */

/** @param {{ name: string, hash: string }[]} outputs */
const digestOf = (outputs) => outputs.filter(({ name }) => name !== 'report').map(({ name, hash }) => `${name} ${hash}`)
	.sort().join();

/**
 * The versions with other outputs than the newest, each once, newest first.
 * @param {Version[]} items  as the history has them
 * @returns {Version[]}
 */
export function othersOf(items) {
	const cooked = items.filter(({ outputs }) => NEEDED.every((wanted) => outputs.some(({ name }) => name === wanted)));
	const seen = new Set(cooked.slice(0, 1).map(({ outputs }) => digestOf(outputs)));
	return cooked.filter(({ outputs }) => !seen.has(digestOf(outputs)) && seen.add(digestOf(outputs)))
		.slice(0, LISTED);
}

/**
 * @param {View.Asset} asset
 * @param {AbortSignal} signal
 */
export const listVersions = async (asset, signal) =>
	othersOf((await get(`/api/v1/assets/${asset.id}/history?limit=50`, { signal })).items);

/**
 * @param {Version} version
 * @returns {Promise<View.Model>}
 */
export async function loadVersion({ outputs }) {
	/** @param {string} hash */
	const blob = async (hash) => {
		const answer = await fetch(`/blobs/${hash}`);
		if (!answer.ok) throw new Error(answer.status === 404 ? 'the cache has trimmed it' : `HTTP ${answer.status}`);
		return answer.arrayBuffer();
	};
	/** @param {string} wanted */
	const part = async (wanted) => {
		const found = outputs.find(({ name }) => name === wanted);
		return found ? blob(found.hash) : null;
	};
	const [meshes, materials, scene, animations] = await Promise.all([...NEEDED, 'animations'].map(part));
	const loader = new HobLoader();
	loader.onTextureError = () => {};
	const parts = /** @type {import('../client/hob-three.js').HobParts} */ ({ meshes, materials, scene, animations,
		blob });
	return /** @type {View.Model} */ (/** @type {unknown} */ (await loader.parse(parts)));
}

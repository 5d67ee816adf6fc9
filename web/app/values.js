/* Values inside of values, by a path of names. */

/**
 * The value at the end of a path; undefined where it breaks off.
 * @param {unknown} tree
 * @param {string[]} names
 * @returns {unknown}
 */
export const valueAt = (tree, names) =>
	names.reduce((value, name) => /** @type {Page.Tree | null | undefined} */ (value)?.[name], tree);

/**
 * {'lods.max': 3} -> {lods: {max: 3}}
 * @param {Page.Tree} flat
 */
export function nest(flat) {
	/** @type {Page.Tree} */
	const out = {};
	for (const [path, value] of Object.entries(flat)) {
		const names = path.split('.');
		const last = /** @type {string} */ (names.pop());
		names.reduce((tree, name) => /** @type {Page.Tree} */ (tree[name] ??= {}), out)[last] = value;
	}
	return out;
}

/**
 * For a field that is filled in before it is used, though not by the constructor.
 * @returns {never}
 */
export const later = () => /** @type {never} */ (undefined);

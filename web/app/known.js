/* Assets that a list has shown, so that opening one needs no search for its name. */
const MOST = 5000;
const known = new Map();

/** @param {Page.Listed[]} items */
export function know(items) {
	for (const { id, root, path, bytes } of items)
		if (root !== undefined) known.set(`${root}/${path}`, { id, cooked: Boolean(bytes?.cooked) });
	for (const name of known.keys()) {
		if (known.size <= MOST) break;
		known.delete(name);
	}
}

/**
 * The id of "root/path", or undefined.
 * @param {string} name
 */
export const idOf = (name) => known.get(name)?.id;

/**
 * Whether "root/path" is known to have cooked outputs.
 * @param {string} name
 */
export const isCooked = (name) => known.get(name)?.cooked ?? false;

/* Assets that a list has shown, so that opening one needs no search for its name. */
const MOST = 5000;
const known = new Map();

export function know(items) {
	for (const { id, root, path, bytes } of items)
		if (root !== undefined) known.set(`${root}/${path}`, { id, cooked: bytes?.cooked > 0 });
	for (const name of known.keys()) {
		if (known.size <= MOST) break;
		known.delete(name);
	}
}

/** The id of "root/path", or undefined. */
export const idOf = (name) => known.get(name)?.id;

/** Whether "root/path" is known to have cooked outputs. */
export const isCooked = (name) => known.get(name)?.cooked ?? false;

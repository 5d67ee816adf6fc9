/* The ids of assets that a list has shown, so that opening one needs no search for its name. */
const MOST = 5000;
const ids = new Map();

export function know(items) {
	for (const { id, root, path } of items) if (root !== undefined) ids.set(`${root}/${path}`, id);
	for (const name of ids.keys()) {
		if (ids.size <= MOST) break;
		ids.delete(name);
	}
}

/** The id of "root/path", or undefined. */
export const idOf = (name) => ids.get(name);

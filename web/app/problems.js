/* The problems of all assets in groups: messages of one code and one shape are one problem, whatever their numbers. */

/**
 * The message without what differs from asset to asset: numbers, and names in quotes.
 * @param {string} message
 */
export const shapeOf = (message) => message.replace(/'[^']*'|"[^"]*"|“[^”]*”/g, '…')
	.replace(/\b0x[0-9a-f]+\b|\d+([.,]\d+)*/gi, '…');

/**
 * items: causes as the API has them, newest first. Returns groups in the same order: {code, message, hint, root_cause,
 * assets: [{...asset, location, message}]}; `message` of an asset only where it is not that of its group. A place in
 * the first asset's own file is none of the others'.
 * @param {Api.ErrorGroups['items']} items
 */
export function groupProblems(items) {
	/** @type {Map<string, typeof items>} */
	const groups = new Map();
	for (const item of items) {
		const key = `${item.code}\n${item.root_cause ?? ''}\n${shapeOf(item.message)}`;
		groups.set(key, [...(groups.get(key) ?? []), item]);
	}
	return [...groups.values()].map((causes) => {
		const [{ code, message, hint, root_cause: cause }] = causes;
		const alike = causes.every((each) => each.message === message);
		return { code, hint: causes.every((each) => each.hint === hint) ? hint : null, root_cause: cause,
			message: alike ? message : shapeOf(message),
			assets: causes.flatMap(({ location, hint: own, assets, message: said }) => assets.map((asset) =>
				({ ...asset, hint: own, message: alike ? null : said,
					location: asset === assets[0] || location?.file !== assets[0].path ? location : null }))) };
	});
}

/** @param {{ root: string, path: string }} given */
export const folderOf = ({ root, path }) => [root, ...path.split('/').slice(0, -1)].slice(0, 2).join('/');
/** @param {{ path: string }} given */
export const formatOf = ({ path }) => /\.([^./]+)$/.exec(path)?.[1].toLowerCase() ?? '';

/**
 * The groups with the assets that fit: every word of `q`, and code, folder and format where they are given.
 * @param {Page.Group[]} groups
 * @param {{ q?: string, code?: string, folder?: string, format?: string }} given
 */
export function findProblems(groups, { q = '', code, folder, format }) {
	const wanted = q.toLowerCase().split(/\s+/).filter(Boolean);
	return groups.filter((group) => !code || group.code === code)
		.map((group) => ({ ...group, assets: group.assets.filter((asset) => (!folder || folderOf(asset) === folder)
			&& (!format || formatOf(asset) === format) && wanted.every((word) =>
				`${group.message} ${asset.message} ${group.code} ${asset.hint} ${asset.root}/${asset.path}`
					.toLowerCase().includes(word))) }))
		.filter(({ assets }) => assets.length > 0);
}

/**
 * The commit that the root of an asset was at.
 * @param {string} asset
 * @param {string} at
 * @param {{ root?: string, items: Pick<Api.Commit, 'author' | 'subject' | 'time'>[] }} [commits] newest first
 * @returns {{ author?: string, subject?: string }}
 */
export const commitAt = (asset, at, commits) => (asset.startsWith(`${commits?.root}/`)
	&& commits?.items.find(({ time }) => time && Date.parse(time) <= Date.parse(at))) || {};

/**
 * When each asset failed, from failed jobs, newest first; and the author of the commit that its root was at, where that
 * is known.
 * @param {Pick<Api.Job, 'asset' | 'finished_at'>[]} jobs
 * @param {{ root?: string, items: Pick<Api.Commit, 'author' | 'subject' | 'time'>[] }} [commits] newest first
 * @returns {Map<string, { at: string, author?: string, subject?: string }>} by "root/path"
 */
export function whenFailed(jobs, commits) {
	const found = new Map();
	for (const { asset, finished_at: at } of jobs) {
		if (!asset || !at || found.has(asset)) continue;
		const { author, subject } = commitAt(asset, at, commits);
		found.set(asset, { at, author, subject });
	}
	return found;
}

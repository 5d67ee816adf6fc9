/* The address holds the page's state: page, filter, tab. */
import { useEffect, useState } from 'preact/hooks';

/** @typedef {{ path: string, query: Page.Query }} Address */

/** @type {Set<(address: Address) => void>} */
const changed = new Set();
/** @returns {Address} */
const read = () => ({ path: location.pathname, query: Object.fromEntries(new URLSearchParams(location.search)) });
let now = read();

function tell() {
	now = read();
	for (const callback of [...changed]) callback(now);
}

let back = false;
/** Whether the browser's back or forward button led here, not a link. */
export const cameBack = () => back;

addEventListener('popstate', () => {
	back = true;
	tell();
});

/** @type {Set<() => string | false | undefined>} */
const guards = new Set();

/**
 * `why()`: a question to ask before the page is left, or undefined. Returns a function that removes the guard.
 * @param {() => string | false | undefined} why
 */
export function guardLeaving(why) {
	/** @param {BeforeUnloadEvent} event */
	const closing = (event) => why() && event.preventDefault();
	guards.add(why);
	addEventListener('beforeunload', closing);
	return () => {
		guards.delete(why);
		removeEventListener('beforeunload', closing);
	};
}

const mayLeave = () => [...guards].every((why) => !why() || confirm(why() || ''));

/**
 * @param {string} to
 * @param {{ replace?: boolean }} [given]
 */
export function navigate(to, { replace = false } = {}) {
	if (to === location.pathname + location.search || (!replace && !mayLeave())) return;
	history[replace ? 'replaceState' : 'pushState'](null, '', to);
	back = false;
	tell();
	if (!replace) document.querySelector('main')?.scrollTo(0, 0);
}

/**
 * Changes parameters of the address; empty ones are removed.
 * @param {Page.Change} change
 * @param {{ replace?: boolean }} [given]
 */
export function setQuery(change, { replace = true } = {}) {
	const query = new URLSearchParams(location.search);
	for (const [name, value] of Object.entries(change))
		if (value) query.set(name, String(value));
		else query.delete(name);
	const written = query.toString();
	navigate(location.pathname + (written ? `?${written}` : ''), { replace });
}

/**
 * setQuery with an entry in the browser's history: for choices, not for typing.
 * @param {Page.Change} change
 */
export const choose = (change) => setQuery(change, { replace: false });

export function useAddress() {
	const [address, set] = useState(now);
	useEffect(() => {
		changed.add(set);
		set(now);
		return () => void changed.delete(set);
	}, []);
	return address;
}

/* Plain clicks on links to pages of the dashboard change the address without loading a page. */
addEventListener('click', (event) => {
	const link = /** @type {Element} */ (event.target).closest?.('a[href]');
	if (!(link instanceof HTMLAnchorElement) || event.defaultPrevented || event.button || event.metaKey
			|| event.ctrlKey || event.shiftKey || event.altKey) return;
	const url = new URL(link.href);
	if (url.origin !== location.origin || link.target || link.hasAttribute('download')) return;
	if (url.pathname !== '/' && !url.pathname.startsWith('/ui/')) return;
	event.preventDefault();
	navigate(url.pathname + url.search);
});

/** @param {string} path */
export const encodePath = (path) => path.split('/').map(encodeURIComponent).join('/');
/** @param {Page.Named} asset */
export const assetAddress = (asset) =>
	asset.path_encoded ? `/ui/asset?id=${asset.id}` : `/ui/asset/${encodePath(`${asset.root}/${asset.path}`)}`;
/**
 * name: "root/path"
 * @param {string} name
 */
export const nameAddress = (name) => `/ui/asset/${encodePath(name)}`;

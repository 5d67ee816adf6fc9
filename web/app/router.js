/* The address holds the page's state: page, filter, tab. */
import { useEffect, useState } from 'preact/hooks';

const changed = new Set();
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

const guards = new Set();

/** `why()`: a question to ask before the page is left, or undefined. Returns a function that removes the guard. */
export function guardLeaving(why) {
	const closing = (event) => why() && event.preventDefault();
	guards.add(why);
	addEventListener('beforeunload', closing);
	return () => {
		guards.delete(why);
		removeEventListener('beforeunload', closing);
	};
}

const mayLeave = () => [...guards].every((why) => !why() || confirm(why()));

export function navigate(to, { replace = false } = {}) {
	if (to === location.pathname + location.search || (!replace && !mayLeave())) return;
	history[replace ? 'replaceState' : 'pushState'](null, '', to);
	back = false;
	tell();
	if (!replace) document.querySelector('main')?.scrollTo(0, 0);
}

/** Changes parameters of the address; empty ones are removed. */
export function setQuery(change, { replace = true } = {}) {
	const query = new URLSearchParams(location.search);
	for (const [name, value] of Object.entries(change))
		if (value) query.set(name, value);
		else query.delete(name);
	const written = query.toString();
	navigate(location.pathname + (written ? `?${written}` : ''), { replace });
}

/** setQuery with an entry in the browser's history: for choices, not for typing. */
export const choose = (change) => setQuery(change, { replace: false });

export function useAddress() {
	const [address, set] = useState(now);
	useEffect(() => {
		changed.add(set);
		set(now);
		return () => changed.delete(set);
	}, []);
	return address;
}

/* Plain clicks on links to pages of the dashboard change the address without loading a page. */
addEventListener('click', (event) => {
	const link = event.target.closest?.('a[href]');
	if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey
			|| event.altKey) return;
	const url = new URL(link.href);
	if (url.origin !== location.origin || link.target || link.hasAttribute('download')) return;
	if (url.pathname !== '/' && !url.pathname.startsWith('/ui/')) return;
	event.preventDefault();
	navigate(url.pathname + url.search);
});

export const encodePath = (path) => path.split('/').map(encodeURIComponent).join('/');
export const assetAddress = (asset) =>
	asset.path_encoded ? `/ui/asset?id=${asset.id}` : `/ui/asset/${encodePath(`${asset.root}/${asset.path}`)}`;
/** name: "root/path" */
export const nameAddress = (name) => `/ui/asset/${encodePath(name)}`;

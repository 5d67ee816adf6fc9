/* The session with a daemon that requires tokens. The token itself is in a cookie that scripts cannot read. */
import { useEffect, useState } from 'preact/hooks';
import { get, onRefused, post, write } from './api.js';
import { connect, listen } from './live.js';

const address = '/api/v1/session';
/** @type {Set<(state: State) => void>} */
const watchers = new Set();
const KEY = 'hob-open';
/* If the daemon required no token the last time, the page assumes the same until it is answered, and does not wait. */
const open = localStorage.getItem(KEY) === '1';
/**
 * asked: there is an answer, or it is assumed; scope: 'none', 'read' or 'write'; lost: the session has ended; leaving:
 * signing out, and nothing is read any more.
 * @typedef {{ asked: boolean, required: boolean, scope: string, lost: boolean, leaving: boolean }} State
 * @type {State}
 */
let state = { asked: open, required: false, scope: open ? 'write' : 'none', lost: false, leaving: false };

/** @param {Partial<State>} change */
function set(change) {
	state = { ...state, ...change };
	if (state.scope !== 'none') connect();
	for (const callback of [...watchers]) callback(state);
}

async function ask() {
	try {
		const { required, scope, expired } = await get(address);
		localStorage.setItem(KEY, required ? '' : '1');
		set({ asked: true, required, scope, lost: scope === 'none' && (expired || state.lost) });
	} catch {
		// The pages report that the daemon does not answer, and later changes.
		set({ asked: true, scope: state.asked ? state.scope : 'write' });
	}
}

onRefused(() => state.scope !== 'none' && set({ scope: 'none', required: true, lost: state.required }));
/* A restarted daemon may require tokens now. */
listen(({ kind }) => kind === 'hello' && ask());
/* All tabs share one cookie. */
const tabs = new BroadcastChannel('hob-session');
tabs.onmessage = ask;

export const startSession = ask;

export function useSession() {
	const [now, update] = useState(state);
	useEffect(() => {
		update(state);
		watchers.add(update);
		return () => void watchers.delete(update);
	}, []);
	return now;
}

export const useMayWrite = () => useSession().scope === 'write';

/* End the pages first: their further requests would be refused. */
export async function signOut() {
	set({ leaving: true });
	await new Promise((resolve) => setTimeout(resolve));
	try {
		await write('DELETE', address);
		set({ scope: 'none', lost: false, leaving: false });
		tabs.postMessage('changed');
	} catch {
		set({ leaving: false });
	}
}

/**
 * Throws a Problem if the token is invalid.
 * @param {string} token
 */
export async function signIn(token) {
	const { required, scope } = await post(address, { token });
	set({ required, scope, lost: false });
	tabs.postMessage('changed');
}

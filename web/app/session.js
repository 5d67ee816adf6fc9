/* The session, where the daemon asks for tokens. The token itself is in a cookie that no script sees. */
import { useEffect, useState } from 'preact/hooks';
import { get, onRefused, post, write } from './api.js';
import { connect, listen } from './live.js';

const address = '/api/v1/session';
const watchers = new Set();
const KEY = 'hob-open';
/* A daemon that let everybody in the last time is believed to do so, until it says otherwise: nothing waits for it. */
const open = localStorage.getItem(KEY) === '1';
/* asked: an answer is there, or believed; scope: 'none', 'read' or 'write'; lost: it was signed in and is no more;
 * leaving: it is being signed out, and nothing is read any more. */
let state = { asked: open, required: false, scope: open ? 'write' : 'none', lost: false, leaving: false };

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
		// The pages say that nobody answers, and what comes later.
		set({ asked: true, scope: state.asked ? state.scope : 'write' });
	}
}

onRefused(() => state.scope !== 'none' && set({ scope: 'none', required: true, lost: state.required }));
/* A daemon that was started anew may ask for tokens now. */
listen(({ kind }) => kind === 'hello' && ask());
/* One cookie serves all tabs. */
const tabs = new BroadcastChannel('hob-session');
tabs.onmessage = ask;

export const startSession = ask;

export function useSession() {
	const [now, update] = useState(state);
	useEffect(() => {
		update(state);
		watchers.add(update);
		return () => watchers.delete(update);
	}, []);
	return now;
}

export const useMayWrite = () => useSession().scope === 'write';

/* The pages end first: what they still asked for would be refused. */
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

/** Throws a Problem when the token is none. */
export async function signIn(token) {
	const { required, scope } = await post(address, { token });
	set({ required, scope, lost: false });
	tabs.postMessage('changed');
}

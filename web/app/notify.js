/* A desktop notification for every new problem, when somebody asked for it in this browser and looks elsewhere. */
import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { text } from './text.js';
import { listen } from './live.js';
import { nameAddress, navigate } from './router.js';
import { sentence } from './format.js';

const KEY = 'hob-notify';
const words = text.notify;
const wanted = () => localStorage.getItem(KEY) === 'on';

/* All tabs hear of it; the tag lets the system show it once. */
function show({ asset, error }) {
	const note = new Notification(words.failed(asset.split('/').at(-1)), { body: sentence(error.message), tag: asset,
			icon: '/favicon.ico' });
	note.onclick = () => {
		focus();
		navigate(nameAddress(asset));
		note.close();
	};
}

listen(({ kind, data }) => {
	if (kind !== 'asset' || data.kind !== 'failed' || !data.error) return;
	if (wanted() && document.hidden && globalThis.Notification?.permission === 'granted') show(data);
});

export function NotifySwitch() {
	const [on, set] = useState(wanted() && globalThis.Notification?.permission === 'granted');
	const [refused, setRefused] = useState(false);
	if (!globalThis.Notification) return null;
	const change = async ({ target }) => {
		const may = !target.checked || (await Notification.requestPermission()) === 'granted';
		const now = target.checked && may;
		localStorage.setItem(KEY, now ? 'on' : 'off');
		setRefused(!may);
		set(now);
		target.checked = now;
	};
	return html`<p class="notify"><label><input type="checkbox" checked=${on} onChange=${change} /> ${words.label}
		</label>${refused && html`<br /><small role="status">${words.refused}</small>`}</p>`;
}

/* A desktop notification and a sound for every new problem, if the user turned that on in this browser and is looking
 * elsewhere. */
import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { text } from './text.js';
import { listen } from './live.js';
import { nameAddress, navigate } from './router.js';
import { sentence } from './format.js';

const KEY = 'hob-notify';
const SOUND = 'hob-notify-sound';
const words = text.notify;
const wanted = (key = KEY) => localStorage.getItem(key) === 'on';
/**
 * @param {string} key
 * @param {boolean} on
 */
const want = (key, on) => localStorage.setItem(key, on ? 'on' : 'off');

/**
 * Every tab gets the event; because of the tag, the system shows one notification.
 * @param {Page.AssetTold} given
 */
function show({ asset, error }) {
	const note = new Notification(words.failed(asset.split('/').at(-1)),
		{ body: sentence(error?.message ?? ''), tag: asset, icon: '/favicon.ico' });
	note.onclick = () => {
		focus();
		navigate(nameAddress(asset));
		note.close();
	};
}

const TONES = [[660, 0], [440, 0.16]]; /* Hz, seconds */
const QUIET = 1500; /* ms after a sound, in which further problems are silent */

function play() {
	const context = new AudioContext();
	for (const [pitch, begin] of TONES) {
		const [tone, volume] = [context.createOscillator(), context.createGain()];
		const at = context.currentTime + begin;
		tone.frequency.value = pitch;
		volume.gain.setValueAtTime(0.15, at);
		volume.gain.exponentialRampToValueAtTime(0.001, at + 0.3);
		tone.connect(volume).connect(context.destination);
		tone.start(at);
		tone.stop(at + 0.3);
	}
	return new Promise((resolve) => setTimeout(resolve, QUIET)).then(() => context.close());
}

/* Plays in one tab only. */
const playOnce = () => navigator.locks?.request(SOUND, { ifAvailable: true }, (lock) => lock && play());

listen(({ kind, data }) => {
	if (kind !== 'asset' || data.kind !== 'failed' || !data.error || !wanted() || !document.hidden) return;
	if (globalThis.Notification?.permission === 'granted') show(data);
	if (wanted(SOUND)) playOnce();
});

export function NotifySwitch() {
	const [on, set] = useState(wanted() && globalThis.Notification?.permission === 'granted');
	const [loud, setLoud] = useState(wanted(SOUND));
	const [refused, setRefused] = useState(false);
	if (!globalThis.Notification) return null;
	/** @param {Page.On<HTMLInputElement>} given */
	const change = async ({ currentTarget: box }) => {
		const may = !box.checked || (await Notification.requestPermission()) === 'granted';
		const now = box.checked && may;
		want(KEY, now);
		setRefused(!may);
		set(now);
		box.checked = now;
	};
	/** @param {Page.On<HTMLInputElement>} given */
	const changeSound = ({ currentTarget: { checked } }) => {
		want(SOUND, checked);
		setLoud(checked);
		if (checked) playOnce();
	};
	return html`<p class="notify"><label><input type="checkbox" checked=${on} onChange=${change} /> ${words.label}
		</label>${on && html` <label><input type="checkbox" checked=${loud} onChange=${changeSound} /> ${words.sound}
		</label>`}${refused && html`<br /><small role="status">${words.refused}</small>`}</p>`;
}

/* Light, dark, or the system's choice; stored in this browser. */
import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { text } from './text.js';

const KEY = 'hob-theme';
const words = /** @type {Page.Table} */ (text.theme);
const kept = () => ['light', 'dark'].find((theme) => theme === localStorage.getItem(KEY)) ?? 'system';

/** @param {string} theme */
function apply(theme) {
	if (theme === 'system') delete document.documentElement.dataset.theme;
	else document.documentElement.dataset.theme = theme;
	dispatchEvent(new Event('hob-theme'));
}

apply(kept());

/**
 * A colour of the style sheets ("--line"), for code that draws on a canvas.
 * @param {string} name
 * @param {Element} [within]
 */
export function colourOf(name, within = document.body) {
	const probe = document.createElement('span');
	probe.style.color = `var(${name})`;
	within.append(probe);
	const { color } = getComputedStyle(probe);
	probe.remove();
	return color;
}

/**
 * Calls back whenever the page turns dark or light; returns a function that ends it.
 * @param {() => void} callback
 */
export function onTheme(callback) {
	const scheme = matchMedia('(prefers-color-scheme: dark)');
	scheme.addEventListener('change', callback);
	addEventListener('hob-theme', callback);
	return () => {
		scheme.removeEventListener('change', callback);
		removeEventListener('hob-theme', callback);
	};
}

export function ThemeSwitch() {
	const [theme, set] = useState(kept());
	/** @param {Page.On<HTMLSelectElement>} event */
	const choose = (event) => {
		localStorage.setItem(KEY, event.currentTarget.value);
		apply(event.currentTarget.value);
		set(event.currentTarget.value);
	};
	return html`<p class="theme"><label>${words.label} <select value=${theme} onChange=${choose}>
		${['system', 'light', 'dark'].map((name) => html`<option value=${name}>${words[name]}</option>`)}</select>
		</label></p>`;
}

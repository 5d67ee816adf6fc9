/* A restarted daemon may have a newer dashboard: this page then offers to load it. Its files' names change with their
 * content. */
import { html } from 'htm/preact';
import { useEffect, useState } from 'preact/hooks';
import { listen, liveState } from './live.js';
import { text } from './text.js';
import { Icon } from './ui.js';

const files = [...document.querySelectorAll('script[src^="/web/"], link[rel=stylesheet][href^="/web/"]')]
	.map((element) => element.getAttribute('src') ?? element.getAttribute('href'));

async function isOld() {
	const page = await fetch('/').then((answer) => (answer.ok ? answer.text() : null)).catch(() => null);
	return page !== null && !files.every((file) => page.includes(`"${file}"`));
}

export function Updated() {
	const [old, set] = useState(false);
	useEffect(() => {
		let greeted = liveState().connected;
		return listen(async ({ kind }) => {
			if (kind !== 'hello') return;
			if (greeted) set(await isOld());
			greeted = true;
		});
	}, []);
	return html`<div role="status">${old && html`<div class="banner">
		<${Icon} name="again" /><span>${text.updated}</span>
		<button type="button" onClick=${() => location.reload()}>${text.reloadPage}</button></div>`}</div>`;
}

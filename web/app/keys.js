/* A dialog that lists the keys; `?` opens it on every page. */
import { html } from 'htm/preact';
import { useElement, useKey } from './hooks.js';
import { text } from './text.js';

const words = text.keys;

export function Keys() {
	/** @type {{ current: HTMLDialogElement }} */
	const dialog = useElement();
	const open = () => dialog.current.open || dialog.current.showModal();
	useKey('?', open);
	return html`<button type="button" class="small" onClick=${open} aria-haspopup="dialog">${words.button}</button>
		<dialog class="keys" ref=${dialog} aria-labelledby="keys-title"><h2 id="keys-title">${words.title}</h2>
			${Object.values(words.lists).map(([name, keys]) => html`<h3>${name}</h3><dl>${keys.map(([key, what]) =>
				html`<div><dt>${key.split(' ').map((each) => html`<kbd>${each}</kbd> `)}</dt><dd>${what}</dd></div>`)}
				</dl>`)}
			<form method="dialog"><button type="submit">${words.close}</button></form></dialog>`;
}

/* Views of an asset that were saved under a name, in this browser. A view is a link's word. */
import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { Button, Quiet, Section } from './controls.js';
import { readPlace, writePlace } from './place.js';
import { readState, setState } from './state.js';
import { text } from './text.js';

const KEY = 'hob-views';
const MOST = 20; /* of an asset */

/** @typedef {{ name: string, word: string }} Saved */

/** @returns {Page.Table<Saved[]>} */
function all() {
	try {
		return JSON.parse(localStorage.getItem(KEY) ?? '{}') ?? {};
	} catch {
		return {};
	}
}

/**
 * The saved views of an asset, newest first.
 * @param {string} id
 */
export const savedViews = (id) => all()[id] ?? [];

/**
 * Saves a view; one of the same name is replaced. word '': takes it out.
 * @param {string} id
 * @param {string} name
 * @param {string} word
 */
export function saveView(id, name, word) {
	const { [id]: before = [], ...rest } = all();
	const list = [...(word ? [{ name, word }] : []), ...before.filter((each) => each.name !== name)].slice(0, MOST);
	localStorage.setItem(KEY, JSON.stringify(list.length ? { ...rest, [id]: list } : rest));
	return list;
}

/** @param {{ viewer: View.Viewer }} props */
export function SavedSection({ viewer }) {
	const { id } = viewer.asset;
	const [list, setList] = useState(() => savedViews(id));
	/** @param {string} word */
	const open = (word) => {
		const place = readPlace(word);
		if (place) setState(viewer, place);
	};
	/** @param {SubmitEvent & { currentTarget: HTMLFormElement }} event */
	const save = (event) => {
		event.preventDefault();
		const form = event.currentTarget;
		const name = String(new FormData(form).get('name') ?? '').trim();
		if (!name) return;
		const word = writePlace(readState(viewer));
		setList(saveView(id, name, word));
		open(word); /* the view takes the digits of the word, so that it is what will be opened */
		form.reset();
	};
	return html`<${Section} title=${text.saved}><form class="viewer-row" onSubmit=${save}>
			<input type="text" name="name" maxlength="60" placeholder=${text.savedName} aria-label=${text.savedName}
				autocomplete="off" /><button type="submit" class="viewer-button">${text.save}</button></form>
		${list.length ? html`<ul class="viewer-tree">${list.map(({ name, word }) => html`<li key=${name}>
			<${Button} className="viewer-link viewer-part" run=${() => open(word)}>${name}</${Button}>
			<${Button} aria-label=${text.forget(name)} run=${() => setList(saveView(id, name,
				''))}>×</${Button}></li>`)}
			</ul>` : html`<${Quiet}>${text.savedHint}</${Quiet}>`}</${Section}>`;
}

/* Actions on several assets at once: cook again, set, download, copy names. */
import { html } from 'htm/preact';
import { useRef, useState } from 'preact/hooks';
import { text } from '../text.js';
import { getTagged, post, query, write } from '../api.js';
import { number } from '../format.js';
import { useRedraw, useResource } from '../hooks.js';
import { ActionButton, CopyButton } from '../ui.js';
import { nest } from '../values.js';
import { limits, settingsOf, wordsOf } from './asset_settings.js';

const words = text.selected;
/** @param {Api.Asset} given */
const nameOf = ({ root, path }) => `${root}/${path}`;

/** The selected assets of a list, by id. They stay selected while the list is filtered and sorted. */
export function useSelection() {
	const redraw = useRedraw();
	const chosen = useRef(/** @type {Map<string, Api.Asset>} */ (new Map()));
	/**
	 * @template {unknown[]} Given
	 * @param {(...given: Given) => unknown} act
	 * @returns {(...given: Given) => void}
	 */
	const change = (act) => (...given) => {
		act(...given);
		redraw();
	};
	const map = chosen.current;
	return {
		label: words.pick,
		items: [...map.values()],
		/** @param {{ id: string }} given */
		has: ({ id }) => map.has(id),
		toggle: change((/** @type {Api.Asset} */ item) =>
			(map.has(item.id) ? map.delete(item.id) : map.set(item.id, item))),
		add: change((/** @type {Api.Asset[]} */ items) => items.forEach((item) => map.set(item.id, item))),
		clear: change(() => map.clear()),
	};
}

/**
 * Runs one after the other, to avoid flooding the daemon; failures are reported at the end.
 * @param {Api.Asset[]} items
 * @param {(item: Api.Asset) => Promise<unknown>} act
 */
async function each(items, act) {
	/** @type {[Api.Asset, Page.Problem][]} */
	const failed = [];
	for (const item of items) {
		try {
			await act(item);
		} catch (error) {
			failed.push([item, /** @type {Page.Problem} */ (error)]);
		}
	}
	if (!failed.length) return;
	const [[item, error]] = failed;
	throw Object.assign(new Error(words.failed(number(failed.length), number(items.length), nameOf(item),
			error.message)), { hint: error.hint });
}

/** @param {Api.Asset} item */
async function download(item) {
	const link = document.createElement('a');
	link.href = `${item.links.data}${query({ output: 'glb' })}`;
	link.download = `${item.path.replace(/.*\//, '').replace(/\.[^.]*$/, '')}.glb`;
	link.click();
	await new Promise((resolve) => setTimeout(resolve, 200)); /* browsers drop downloads that follow faster */
}

/** @param {string} given */
const valueOf = (given) => {
	try {
		return given.trim() === '' ? null : JSON.parse(given);
	} catch {
		return given;
	}
};

/**
 * A drop-down if the schema lists the values, else a text field; '' removes the setting.
 * @param {{ setting: Page.SettingKey | undefined, value: string, change: (value: string) => void }} props
 */
function Value({ setting, value, change }) {
	const choices = setting?.enum?.map((choice) => [choice, text.settings.choices[setting.path]?.[choice] ?? choice])
		?? (setting?.type === 'boolean' && [['true', text.yes], ['false', text.no]]);
	if (choices) return html`<select value=${value} onChange=${(event) => change(event.target.value)}>
			<option value="">${words.reset}</option>
			${choices.map(([choice, label]) => html`<option value=${choice}>${label}</option>`)}</select>`;
	return html`<input type="text" size="8" value=${value} placeholder=${words.valueHint}
			onInput=${(event) => change(event.target.value)} />`;
}

/** @param {{ items: Api.Asset[] }} props */
function SetAll({ items }) {
	const [name, setName] = useState('texture.max_size');
	const [value, setValue] = useState('');
	const schema = useResource('/api/v1/schema/settings.json');
	const setting = schema.data
		&& settingsOf(/** @type {Page.Schema} */ (schema.data)).find(({ path }) => path === name);
	const save = async () => {
		await each(items, async ({ id }) => {
			const address = `/api/v1/assets/${id}/settings`;
			const { etag } = await getTagged(address);
			const headers = { 'If-Match': etag, 'Content-Type': 'application/merge-patch+json' };
			await write('PATCH', address, nest({ [name]: valueOf(value) }), headers);
		});
		return words.setDone(number(items.length));
	};
	return html`<span class="set-all"><label>${words.setting} <select value=${name}
			onChange=${(event) => {
				setName(event.target.value);
				setValue('');
			}}>
			${Object.entries(text.settingNames).map(([key, [label]]) => html`<option value=${key}>${label}</option>`)}
			</select></label>
		<label>${words.value} <${Value} setting=${setting} value=${value} change=${setValue} /></label>
		<${ActionButton} className="small" run=${save}>${words.set}</${ActionButton}>
		${setting && html`<small class="help">${wordsOf(setting)[1]}${limits(setting)}</small>`}</span>`;
}

/** @param {{ selection: Page.Selection }} props */
export function Selected({ selection }) {
	const { items } = selection;
	const [setting, setSetting] = useState(false);
	if (!items.length) return null;
	const cook = async () => {
		await each(items, ({ id }) => post(`/api/v1/assets/${id}/cook`, { force: true }));
		return words.cookDone(number(items.length));
	};
	const fetchAll = async () => {
		await each(items.filter(({ bytes }) => bytes.cooked > 0), download);
		return '';
	};
	return html`<section class="selected" aria-label=${words.label}>
			<strong role="status">${words.count(number(items.length))}</strong>
		<${ActionButton} className="small" icon="again" run=${cook}>${text.asset.cookAgain}</${ActionButton}>
		<button type="button" class="small" aria-expanded=${String(setting)} onClick=${() => setSetting(!setting)}>
			${words.setOpen}</button>
		<${ActionButton} className="small" icon="download" run=${fetchAll} reads>${words.download}</${ActionButton}>
		<${CopyButton} value=${items.map(nameOf).join('\n')} label=${words.copyNames} />
		<button type="button" class="small" onClick=${selection.clear}>${words.clear}</button>
		${setting && html`<${SetAll} items=${items} />`}</section>`;
}

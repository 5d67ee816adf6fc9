/* Shows why something could not be cooked: the error, its place, and the remedy. */
import { html } from 'htm/preact';
import { text } from './text.js';
import { sentence } from './format.js';
import { nameAddress } from './router.js';
import { CopyButton, Icon } from './ui.js';
import { useResource } from './hooks.js';

const words = text.fault;
const KEY = 'hob-editor';

export const editorTemplate = () => localStorage.getItem(KEY) ?? '';
/** @param {string} value */
export const setEditorTemplate = (value) => (value ? localStorage.setItem(KEY, value) : localStorage.removeItem(KEY));

/**
 * @param {Api.Location | null} location
 * @param {string} [path]
 */
export const placeOf = (location, path) => {
	const file = location?.file ?? path;
	if (!file) return '';
	return `${file}${location?.line ? `:${location.line}` : ''}${location?.column ? `:${location.column}` : ''}`;
};

/**
 * The place in the file, as a link to the editor if one was chosen on the page of problems; beside: beside the name of
 * the asset, which is not repeated.
 * @param {{ location: Api.Location | null, asset: Api.Asset, beside: boolean }} props
 */
export function Place({ location, asset, beside }) {
	const roots = useResource('/api/v1/roots');
	const template = editorTemplate();
	const own = beside && (location?.file ?? asset.path) === asset.path;
	const place = own ? placeOf({ ...location, file: ' ' }).trim() : placeOf(location, asset.path);
	const folder = roots.data?.items.find((root) => root.name === asset.root)?.path;
	const full = folder && `${folder}/${location?.file ?? asset.path}`;
	const address = template && full && template.replaceAll('{path}', encodeURI(full))
		.replaceAll('{line}', String(location?.line ?? 1)).replaceAll('{column}', String(location?.column ?? 1));
	return html`<span class="place">${place && html`<${Icon} name="file" /><code class="anywhere">${place}</code>`}
			${full && html`<${CopyButton} value=${full} label=${words.copyPath} />`}
		${address && html`<a class="button small" href=${address}>${words.openEditor}</a>`}</span>`;
}

/** @param {{ error: NonNullable<Api.Error>, asset: Api.Asset, good: boolean }} props */
export function Fault({ error, asset, good }) {
	return html`<section class="fault" role="alert"><${Icon} name="failed" /><div>
		<h2>${sentence(error.message)}</h2>
		${error.hint && html`<p>${sentence(error.hint)}</p>`}
		<p><${Place} location=${error.location} asset=${asset} /></p>
		${error.root_cause && html`<p>${words.because} <a href=${nameAddress(error.root_cause)}>
				${error.root_cause}</a></p>`}
		<p class="quiet">${good ? words.goodKept : words.noGood}</p></div></section>`;
}

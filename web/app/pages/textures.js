/* Pictures in files of their own, and the assets that use each. */
import { html } from 'htm/preact';
import { query as written } from '../api.js';
import { partsOf, plural, size } from '../format.js';
import { useResource, useTitle } from '../hooks.js';
import { choose, setQuery } from '../router.js';
import { text } from '../text.js';
import { Breakable, Empty, Icon, Resource } from '../ui.js';

const words = text.textures;

/** @param {{ name: string, bytes: number, users: number }} props */
const Texture = ({ name, bytes, users }) => html`<tr><td class="name"><${Icon} name="textures" />
		${' '}<${Breakable} path=${partsOf(name).file} /><br />
		<small><${Breakable} path=${partsOf(name).folder} /></small></td>
	<td class="num">${size(bytes)}</td>
	<td class="num"><a href="/ui/assets${written({ uses: name })}">${plural(users, text.assetWord)}</a></td></tr>`;

/** @param {{ query: Page.Query }} props */
export function Textures({ query }) {
	useTitle(words.title);
	const { q, sort, cursor } = query;
	const found = useResource(`/api/v1/textures${written({ q, sort, cursor })}`,
		{ on: ({ kind }) => kind === 'asset' });
	return html`<div class="head"><h1>${words.title}</h1>
			<p class="quiet" role="status">${found.data && plural(found.data.total, words.word)}</p></div>
		<div class="toolbar"><label class="search"><span class="hidden">${words.search}</span><${Icon} name="search" />
			<input type="search" placeholder=${words.search} value=${q ?? ''} autocomplete="off" spellcheck="false"
				onInput=${(event) => setQuery({ q: event.target.value, cursor: '' })} /></label>
		<label><span class="hidden">${text.assets.sort}</span>
			<select value=${sort ?? ''} onChange=${(event) => choose({ sort: event.target.value, cursor: '' })}>
			${Object.entries(words.sorts).map(([order, label]) => html`<option value=${order}>${label}</option>`)}
			</select></label></div>
		<section class="panel"><${Resource} from=${found}>${(
			/** @type {Api.Answer<'/api/v1/textures'>} */ { items, next }) => (!items.length
			? html`<${Empty} icon="textures" title=${q ? text.assets.nothing : words.none}>
				<p>${words.noneDetail}</p></${Empty}>`
			: html`<div class="scroll" tabindex="0"><table class="textures"><thead><tr>
					<th scope="col">${text.assets.columns.name}</th><th scope="col" class="num">${words.bytes}</th>
					<th scope="col" class="num">${words.users}</th></tr></thead>
				<tbody>${items.map((item) => html`<${Texture} key=${item.name} ...${item} />`)}</tbody></table></div>
				${(next || cursor) && html`<div class="body filters">
					${cursor && html`<button type="button" class="small"
						onClick=${() => choose({ cursor: '' })}>${words.first}</button>`}
					${next && html`<button type="button" class="small"
						onClick=${() => choose({ cursor: next })}>${words.next}</button>`}</div>`}`)}</${Resource}>
		</section>`;
}

/* One search over assets and what they hold. */
import { html } from 'htm/preact';
import { useEffect, useRef } from 'preact/hooks';
import { query as written } from '../api.js';
import { plural } from '../format.js';
import { useResource, useTitle } from '../hooks.js';
import { nameAddress, setQuery } from '../router.js';
import { text } from '../text.js';
import { Thumb } from '../thumb.js';
import { Breakable, Empty, Icon, Panel, Resource } from '../ui.js';
import { ItemName, kinds, usersOf } from './library.js';

const words = text.search;
const SHOWN = 8;

/** @param {{ asset: Api.Asset }} props */
const Asset = ({ asset }) => html`<li><${Thumb} asset=${asset} /><a class="name"
	href=${nameAddress(`${asset.root}/${asset.path}`)}><${Breakable} path=${`${asset.root}/${asset.path}`} /></a></li>`;

/** @param {{ kind: import('./library.js').Kind, item: import('./library.js').Item }} props */
const Item = ({ kind, item }) => html`<li><a class="name" href="/ui/assets${written(usersOf(kind, item))}">
	<${ItemName} kind=${kind} item=${item} /></a>
	<span class="num quiet">${plural(item.users, text.assetWord)}</span></li>`;

/** @param {import('./library.js').Item} item */
const keyOf = (item) => item.name + (item.hash ?? '');

/** @param {{ answer: Api.Answer<'/api/v1/search'>, q: string }} props */
function Found({ answer, q }) {
	const some = /** @type {('assets' | import('./library.js').Kind)[]} */ (['assets', ...kinds])
		.filter((kind) => answer[kind].total > 0);
	if (!some.length) return html`<section class="panel"><${Empty} icon="search" title=${text.assets.nothing}>
		<p>${words.nothing}</p></${Empty}></section>`;
	return html`<div class="found">${some.map((kind) => {
		const { items, total } = answer[kind];
		return html`<${Panel} id=${kind} key=${kind} note=${total}
			title=${kind === 'assets' ? text.assets.title : text.library.kinds[kind].title}
			actions=${total > items.length && html`<a href="/ui/${kind}${written({ q })}">${words.all}</a>`}>
			<ul class="lines">${items.map((item) => (kind === 'assets'
				? html`<${Asset} key=${/** @type {Api.Asset} */ (item).id} asset=${item} />`
				: html`<${Item} key=${keyOf(/** @type {any} */ (item))} kind=${kind} item=${item} />`))}</ul>
			</${Panel}>`;
	})}</div>`;
}

/** @param {{ query: Page.Query }} props */
export function Search({ query }) {
	useTitle(words.title);
	const { q } = query;
	const field = useRef(/** @type {HTMLInputElement | null} */ (null));
	useEffect(() => field.current?.focus(), []);
	const found = useResource(q ? `/api/v1/search${written({ q, limit: SHOWN })}` : null,
		{ on: ({ kind }) => kind === 'asset' });
	return html`<div class="head"><h1>${words.title}</h1></div>
		<div class="toolbar"><label class="search"><span class="hidden">${words.field}</span><${Icon} name="search" />
			<input type="search" ref=${field} placeholder=${words.field} value=${q ?? ''} autocomplete="off"
				spellcheck="false" onInput=${(/** @type {Page.On<HTMLInputElement>} */ event) =>
					setQuery({ q: event.currentTarget.value })} /></label></div>
		${q ? html`<${Resource} from=${found}>${(/** @type {Api.Answer<'/api/v1/search'>} */ answer) => html`
			<${Found} answer=${answer} q=${q} />`}</${Resource}>`
			: html`<section class="panel"><div class="body"><p class="quiet">${words.hint}</p>
				<ul class="examples">${words.examples.map(([what, where]) => html`<li>
					<a href=${where}>${what}</a></li>`)}</ul></div></section>`}`;
}

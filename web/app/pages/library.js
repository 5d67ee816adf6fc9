/* The library is what assets hold: textures, materials, clips and features, and the sums of folders. Each row opens to
 * the assets that have it; a texture also to its picture, and to the setting that cut it. */
import { html } from 'htm/preact';
import { query as written } from '../api.js';
import { duration, number, partsOf, plural, size } from '../format.js';
import { useResource, useTitle } from '../hooks.js';
import { choose, encodePath, nameAddress, setQuery } from '../router.js';
import { text } from '../text.js';
import { Thumb } from '../thumb.js';
import { Breakable, Empty, Icon, Resource } from '../ui.js';

const words = text.library;
const SHOWN = 12;
/** @typedef {'textures' | 'materials' | 'clips' | 'features' | 'folders'} Kind */
/** @typedef {Api.LibraryTexture & Api.LibraryMaterial & Api.LibraryClip & Api.LibraryFolder} Item of any kind */

/** @param {Page.Told} event */
const onAsset = ({ kind }) => kind === 'asset';
/** @param {number[]} sides */
const sides = ([width, height]) => (width ? `${number(width)} × ${number(height)}` : '');
/** @param {Item} item */
const isCut = ({ source, size: cooked }) => source[0] > cooked[0] || source[1] > cooked[1];

/** @param {{ item: Item }} props */
const Cut = ({ item }) => html`${sides(item.size)}${isCut(item) && html`<br />
	<small class="warned">${words.cut}</small>`}`;

/** Columns of each kind: name of the word above, what stands there.
 * @type {Record<Kind, [string, (item: Item) => Page.Node | string][]>} */
const columns = {
	textures: [['source', (item) => sides(item.source)], ['cooked', (item) => html`<${Cut} item=${item} />`],
		['bytes', (item) => (item.embedded ? html`<span class="quiet">${words.inside}</span>` : size(item.bytes))]],
	materials: [['textures', (item) => number(item.textures)]],
	clips: [['length', (item) => duration(item.ms)]],
	features: [],
	folders: [['bytes', (item) => size(item.bytes)], ['triangles', (item) => number(item.triangles)],
		['time', (item) => duration(item.cook_ms)]],
};
export const kinds = /** @type {Kind[]} */ (Object.keys(columns));

/**
 * The list of the assets that have the item.
 * @param {Kind} kind
 * @param {Item} item
 * @returns {Page.Table}
 */
export function usersOf(kind, item) {
	if (kind === 'folders') {
		const [root, ...path] = item.name.split('/');
		return { root, q: path.join('/') };
	}
	if (kind === 'textures') return item.embedded ? { has: `texture:${item.hash}` } : { uses: item.name };
	return { has: `${kind.slice(0, -1)}:${item.name}` };
}

/**
 * The item's name in two lines, or what it means.
 * @param {{ kind: Kind, item: Item }} props
 */
export function ItemName({ kind, item }) {
	if (kind === 'textures' || kind === 'folders') {
		const { file, folder } = partsOf(item.name.replace(/\/$/, ''));
		return html`<${Breakable} path=${file} /><br /><small><${Breakable} path=${folder} /></small>`;
	}
	const meaning = kind === 'features' && /** @type {Page.Table} */ (words.features)[item.name];
	if (meaning) return html`${meaning}<br /><small><code>${item.name}</code></small>`;
	return item.name ? html`<${Breakable} path=${item.name} />` : html`<span class="quiet">${words.unnamed}</span>`;
}

/** "cut by texture.max_size, which art/cook.json sets"
 * @param {{ item: Item }} props */
function Why({ item }) {
	const settings = useResource(item.by && `/api/v1/assets/${item.asset}/settings`);
	if (!item.by) return html`<p class="quiet">${isCut(item) ? words.cut : words.whole}</p>`;
	const origin = settings.data?.origins?.[item.by];
	return html`<p>${words.by(sides(item.source), sides(item.size))} <code>${item.by}</code>
		${origin && html` (<code>${origin}</code>)`}.
		${' '}<a href=${`/ui/asset?id=${item.asset}&tab=settings`}>${words.change}</a></p>`;
}

/** @param {{ item: Item }} props */
function Picture({ item }) {
	if (item.embedded || !/\.(png|jpe?g|webp|gif|bmp|avif)$/i.test(item.name)) return null;
	const path = item.name.slice(item.name.indexOf('/') + 1);
	return html`<img class="texture" src=${`/api/v1/assets/${item.asset}/source/${encodePath(path)}`} alt=""
		loading="lazy" />`;
}

/** @param {{ kind: Kind, item: Item }} props */
function Users({ kind, item }) {
	const where = usersOf(kind, item);
	const found = useResource(`/api/v1/assets${written({ ...where, limit: SHOWN,
		fields: 'id,path,root,rev,bytes,error,standing' })}`, { on: onAsset });
	return html`<${Resource} from=${found}>${(
		/** @type {Api.Answer<'/api/v1/assets'>} */ { items }) => html`<ul class="users">${items.map((asset) => html`
		<li key=${asset.id}><${Thumb} asset=${asset} /><a href=${nameAddress(`${asset.root}/${asset.path}`)}>
			<${Breakable} path=${asset.path} /></a></li>`)}</ul>
		${item.users > items.length && html`<p><a href="/ui/assets${written(where)}">
			${words.all(plural(item.users, text.assetWord))}</a></p>`}`}</${Resource}>`;
}

/** @param {{ kind: Kind, item: Item, open: string }} props */
function Row({ kind, item, open }) {
	const id = `${item.name}${item.hash ?? ''}`;
	const shown = open === id;
	return html`<tr><td class="name"><button type="button" class="plain" aria-expanded=${String(shown)}
			onClick=${() => choose({ open: shown ? '' : id })}><${Icon} name=${shown ? 'down' : 'right'} /><span>
			<${ItemName} kind=${kind} item=${item} /></span></button></td>
		${columns[kind].map(([name, cell]) => html`<td class="num ${name}">${cell(item)}</td>`)}
		<td class="num"><a href="/ui/assets${written(usersOf(kind, item))}">${plural(item.users, text.assetWord)}</a>
		</td></tr>
		${shown && html`<tr key=${`${id}-open`}><td colspan=${2 + columns[kind].length}><div class="held">
			${kind === 'textures' && html`<${Picture} item=${item} />`}
			<div>${kind === 'textures' && html`<${Why} item=${item} />`}<${Users} kind=${kind} item=${item} /></div>
			</div></td></tr>`}`;
}

/** @param {{ page: string, query: Page.Query }} props */
export function Library({ page, query }) {
	const kind = /** @type {Kind} */ (page);
	const { title, word, sorts, detail } = words.kinds[kind];
	useTitle(title);
	const { q, sort, cursor, open } = query;
	const found = useResource(`/api/v1/${kind}${written({ q, sort: sort ?? words.first[kind], cursor })}`,
		{ on: onAsset });
	return html`<div class="head"><h1>${words.title}</h1>
			<p class="quiet" role="status">${found.data && plural(found.data.total, word)}</p></div>
		<nav class="tabs" aria-label=${words.title}>${kinds.map((name) => html`<a href="/ui/${name}"
			aria-current=${name === kind ? 'page' : undefined}>${words.kinds[name].title}</a>`)}</nav>
		<div class="toolbar"><label class="search"><span class="hidden">${words.search(kind)}</span>
			<${Icon} name="search" /><input type="search" placeholder=${words.search(kind)} value=${q ?? ''}
				autocomplete="off" spellcheck="false"
				onInput=${(/** @type {Page.On<HTMLInputElement>} */ { currentTarget: { value } }) =>
					setQuery({ q: value, cursor: '' })} /></label>
		<label><span class="hidden">${text.assets.sort}</span>
			<select value=${sort ?? words.first[kind]} onChange=${(
				/** @type {Page.On<HTMLSelectElement>} */ { currentTarget: { value } }) =>
				choose({ sort: value, cursor: '' })}>
			${sorts.map((order) => html`<option value=${order}>${words.sorts[order]}</option>`)}</select></label></div>
		<section class="panel"><${Resource} from=${found}>${(
			/** @type {{ items: Item[], next: string | null }} */ { items, next }) => (!items.length
			? html`<${Empty} icon="textures" title=${q ? text.assets.nothing : words.none}><p>${detail}</p></${Empty}>`
			: html`<div class="scroll" tabindex="0"><table class="library ${kind}"><thead><tr>
					<th scope="col">${text.assets.columns.name}</th>
					${columns[kind].map(([name]) => html`<th scope="col" class="num ${name}">
						${words.columns[name]}</th>`)}
					<th scope="col" class="num">${kind === 'folders' ? text.assets.title : words.users}</th></tr>
					</thead>
				<tbody>${items.map((item) => html`<${Row} key=${item.name + (item.hash ?? '')} kind=${kind} item=${item}
					open=${open} />`)}</tbody></table></div>
				${(next || cursor) && html`<div class="body filters">
					${cursor && html`<button type="button" class="small"
						onClick=${() => choose({ cursor: '' })}>${words.firstPage}</button>`}
					${next && html`<button type="button" class="small"
						onClick=${() => choose({ cursor: next })}>${words.nextPage}</button>`}</div>`}`)}</${Resource}>
		</section>`;
}

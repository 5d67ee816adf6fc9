import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { text } from '../text.js';
import { query } from '../api.js';
import { duration, number } from '../format.js';
import { useResource } from '../hooks.js';
import { assetAddress, nameAddress } from '../router.js';
import { Graph } from './asset_graph.js';
import { Breakable, Icon, Panel, Resource, State } from '../ui.js';

const words = text.asset;
const COOKED = 12;
const image = /\.(png|jpe?g|webp|ktx2|tga|bmp|gif|psd|hdr|exr)$/i;

/** @param {{ item: Api.Deps['items'][number], asset: Api.Asset }} props */
function Item({ item, asset }) {
	return html`<li class=${item.missing ? 'missing' : ''}
			style=${{ paddingLeft: `${1 + (Math.max(1, item.depth ?? 1) - 1) * 1.4}rem` }}>
		<span class="name">
			<${Icon} name=${image.test(item.path) ? 'textures' : item.id ? 'assets' : 'file'} />${' '}${item.id
				&& item.id !== asset.id ? html`<a href=${assetAddress({ ...item, id: item.id })}>
					<${Breakable} path=${item.path} /></a>` : html`<${Breakable} path=${item.path} />`}</span>
		${item.missing ? html`<span class="state tone-warn" title=${words.missingTitle}>
				<${Icon} name="missing" />${words.missing}</span>`
			: item.standing ? html`<${State} state=${item.standing} />`
				: html`<code class="quiet" title=${item.hash}>${item.hash?.slice(0, 8)}</code>`}</li>`;
}

/** @param {{ from: Page.Source<Api.Deps>, asset: Api.Asset, none: string }} props */
const Side = ({ from, asset, none }) => html`<${Resource} from=${from}>${(
	/** @type {Api.Deps} */ data) => (data.items.length === 0
	? html`<div class="body quiet">${none}</div>`
	: html`<ul class="lines graph">${data.items.map((item) => html`<${Item} item=${item} asset=${asset} />`)}</ul>
		${data.truncated && html`<div class="body quiet">${words.truncated}</div>`}`)}</${Resource}>`;

/**
 * Lists the models that a change of a file would cook again. file: "root/path"
 * @param {{ file: string }} props
 */
function WhatIf({ file }) {
	const found = useResource(`/api/v1/what-if${query({ file })}`);
	const name = file.split('/').at(-1);
	return html`<${Resource} from=${found}>${(
		/** @type {Api.WhatIf} */ { count, expected_ms: time, explanation, assets }) => html`
		<p>${count ? words.cooks(name, number(count), time > 0 && duration(time)) : `${name}: ${explanation}`}</p>
		${count > 0 && html`<ul class="cooked">${assets.slice(0, COOKED).map((one) =>
			html`<li key=${one.id}><a href=${nameAddress(one.asset)}>${one.asset}</a></li>`)}
			${count > COOKED && html`<li class="quiet">${words.moreCooked(number(count - COOKED))}</li>`}</ul>`}`}
		</${Resource}>`;
}

/** @param {{ asset: Api.Asset }} props */
export function Deps({ asset }) {
	const own = `${asset.root}/${asset.path}`;
	const [asked, ask] = useState(own);
	/** @param {Page.Told} event */
	const on = (event) => event.kind === 'asset';
	const made = useResource(`/api/v1/assets/${asset.id}/deps?direction=out&depth=8`, { on });
	const used = useResource(`/api/v1/assets/${asset.id}/deps?direction=in&depth=8`, { on });
	const [from, to] = [made.data?.items ?? [], used.data?.items ?? []];
	const drawn = made.data && used.data && from.length + to.length > 0;
	return html`${drawn && html`<${Panel} id="drawn" title=${words.graph}>
			<${Graph} asset=${asset} made=${from} used=${to} asked=${asked} ask=${ask} />
			<div class="body" role="status"><${WhatIf} file=${asked} /></div></${Panel}>`}
		<div class="both"><${Panel} id="deps-out" title=${words.madeOf} note=${made.data?.items.length}>
			<${Side} from=${made} asset=${asset} none=${words.madeOfNone} /></${Panel}>
		<${Panel} id="deps-in" title=${words.usedBy} note=${used.data?.items.length}>
			<${Side} from=${used} asset=${asset} none=${words.usedByNone} /></${Panel}></div>`;
}

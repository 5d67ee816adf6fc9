import { html } from 'htm/preact';
import { text } from '../text.js';
import { useResource } from '../hooks.js';
import { assetAddress } from '../router.js';
import { Breakable, Icon, Panel, Resource, State } from '../ui.js';

const words = text.asset;
const image = /\.(png|jpe?g|webp|ktx2|tga|bmp|gif|psd|hdr|exr)$/i;

function Item({ item, asset }) {
	return html`<li class=${item.missing ? 'missing' : ''}
			style=${{ paddingLeft: `${1 + (Math.max(1, item.depth ?? 1) - 1) * 1.4}rem` }}>
		<span class="name"><${Icon} name=${image.test(item.path) ? 'image' : item.id ? 'assets' : 'file'} /> ${item.id
				&& item.id !== asset.id ? html`<a href=${assetAddress({ ...item, root: item.root ?? asset.root })}>
					<${Breakable} path=${item.path} /></a>` : html`<${Breakable} path=${item.path} />`}</span>
		${item.missing ? html`<span class="state tone-warn" title=${words.missingTitle}>
				<${Icon} name="missing" />${words.missing}</span>` : item.state ? html`<${State} state=${item.state} />`
				: html`<code class="quiet" title=${item.hash}>${item.hash?.slice(0, 8)}</code>`}</li>`;
}

const Side = ({ from, asset, none }) => html`<${Resource} from=${from}>${(data) => (data.items.length === 0
	? html`<div class="body quiet">${none}</div>`
	: html`<ul class="lines graph">${data.items.map((item) => html`<${Item} item=${item} asset=${asset} />`)}</ul>
		${data.truncated && html`<div class="body quiet">${words.truncated}</div>`}`)}</${Resource}>`;

export function Deps({ asset }) {
	const on = (event) => event.kind === 'asset';
	const made = useResource(`/api/v1/assets/${asset.id}/deps?direction=out&depth=8`, { on });
	const used = useResource(`/api/v1/assets/${asset.id}/deps?direction=in&depth=8`, { on });
	return html`<div class="both"><${Panel} id="deps-out" title=${words.madeOf} note=${made.data?.items.length}>
			<${Side} from=${made} asset=${asset} none=${words.madeOfNone} /></${Panel}>
		<${Icon} name="right" /><section class="panel self"><${Icon} name="assets" />
			<strong class="anywhere">${asset.path.split('/').at(-1)}</strong></section><${Icon} name="right" />
		<${Panel} id="deps-in" title=${words.usedBy} note=${used.data?.items.length}>
			<${Side} from=${used} asset=${asset} none=${words.usedByNone} /></${Panel}></div>`;
}

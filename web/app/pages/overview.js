import { html } from 'htm/preact';
import { text } from '../text.js';
import { duration, number, plural, size } from '../format.js';
import { useResource, useTitle } from '../hooks.js';
import { assetAddress } from '../router.js';
import { changesCounts } from '../shell.js';
import { Breakable, Empty, Icon, Panel, Resource, State, stateOf, Time } from '../ui.js';

const words = text.overview;
const shown = ['fresh', 'cooking', 'queued', 'stale', 'failed', 'blocked', 'quarantined', 'missing'];
const always = ['fresh', 'failed'];

function Counts({ stats }) {
	const { assets, bytes } = stats;
	return html`<div class="counts">
		<a class="count" href="/ui/assets"><b>${number(assets.total)}</b>${words.allAssets}<br /><small>${size(bytes.source)} ${words.source}, ${size(bytes.cooked)} ${words.cooked}</small></a>
		${shown.filter((state) => assets[state] > 0 || always.includes(state)).map((state) => html`<a class="count" href="/ui/assets?state=${state}">
			<b>${number(assets[state])}</b><${State} state=${state} /></a>`)}</div>`;
}

function Problems({ errors }) {
	if (!errors.items.length) return html`<div class="body"><p class="state tone-good"><${Icon} name="fresh" />${words.allFine}</p></div>`;
	return html`<ul class="lines">${[...errors.items].sort((a, b) => b.count - a.count).slice(0, 5).map((group) => html`<li class="problem-line">
		<span class="name"><a href=${assetAddress(group.assets[0])}><${Breakable} path=${`${group.assets[0].root}/${group.assets[0].path}`} /></a>
			${group.count > 1 && html` <small>+ ${number(group.count - 1)}</small>`}<br />${group.message}</span></li>`)}</ul>`;
}

function Recent({ page }) {
	const items = page.items.filter((asset) => asset.cooked_at);
	if (!items.length) return html`<div class="body quiet">${words.noRecent}</div>`;
	return html`<ul class="lines changes">${items.map((asset) => html`<li key=${`${asset.id}.${asset.rev}`}>
		<span class="name"><a href=${assetAddress(asset)}><${Breakable} path=${asset.path} /></a></span>
		<${State} state=${stateOf(asset)} /><span class="quiet num">${duration(asset.cook_ms)}</span><${Time} at=${asset.cooked_at} /></li>`)}</ul>`;
}

function Folders({ roots }) {
	if (!roots.items.length) return html`<div class="body quiet">${words.noFolders}</div>`;
	return html`<ul class="lines">${roots.items.map((root) => html`<li><span class="name"><${Icon} name="folder" /> <a href="/ui/assets?root=${encodeURIComponent(root.name)}">${root.name}</a> <small>${root.path}</small></span>
		<span class="quiet">${plural(root.files, text.fileWord)}, ${words.mode[root.mode] ?? root.mode}${root.note && root.note !== root.mode ? `: ${root.note}` : ''}</span></li>`)}</ul>`;
}

export function Overview() {
	useTitle(words.title);
	const stats = useResource('/api/v1/stats', { on: changesCounts, every: 15000 });
	const errors = useResource('/api/v1/errors', { on: changesCounts });
	const recent = useResource('/api/v1/assets?sort=-cooked_at&limit=8&fields=id,path,root,state,error,rev,cooked_at,cook_ms', { on: changesCounts });
	const roots = useResource('/api/v1/roots', { on: changesCounts });
	return html`<div class="head"><h1>${words.title}</h1></div>
		<${Resource} from=${stats}>${(data) => (data.assets.total === 0
			? html`<section class="panel"><${Empty} title=${data.ready ? words.emptyTitle : words.scanning}><p>${words.empty}</p></${Empty}></section>`
			: html`<${Counts} stats=${data} />`)}</${Resource}>
		<div class="grid">
			<${Panel} id="problems" title=${words.problems} actions=${errors.data?.items.length > 0 && html`<a href="/ui/errors">${words.allProblems}</a>`}>
				<${Resource} from=${errors}>${(data) => html`<${Problems} errors=${data} />`}</${Resource}></${Panel}>
			<${Panel} id="recent" title=${words.recent}><${Resource} from=${recent}>${(data) => html`<${Recent} page=${data} />`}</${Resource}></${Panel}>
			<${Panel} id="folders" title=${words.folders}><${Resource} from=${roots}>${(data) => html`<${Folders} roots=${data} />`}</${Resource}></${Panel}>
		</div>`;
}

import { html } from 'htm/preact';
import { text } from '../text.js';
import { number, plural, sentence, size } from '../format.js';
import { useResource, useTitle } from '../hooks.js';
import { FirstModel } from '../drop.js';
import { changesCounts } from '../shell.js';
import { Empty, Icon, Panel, Resource, State, Time } from '../ui.js';
import { Latest } from './latest.js';

const words = text.overview;
const shown = ['fresh', 'updating', 'waiting', 'missing'];
const always = ['fresh'];
const SCAN = 2000; /* ms */

/**
 * Every asset counts in one tile: that of its state, or the problems. A problem that is being cooked again counts as
 * updating, or as waiting if it has no good version.
 * @param {{ stats: Api.Stats, warned: number }} props
 */
function Counts({ stats, warned }) {
	const { assets, bytes, standings, errors } = stats;
	const again = errors - standings.broken - standings.blocked - standings.interrupted;
	const apart = /** @type {Page.Table<number>} */ ({ updating: Math.min(again, standings.updating),
		waiting: Math.max(0, again - standings.updating) });
	/** @param {string} state */
	const well = (state) => standings[state] - (apart[state] ?? 0);
	return html`<div class="counts">
		<a class="count wide" href="/ui/assets"><b>${number(assets.total)}</b>${words.allAssets}<br />
			<small>${size(Math.max(bytes.inputs ?? 0, bytes.source))} ${words.source},${' '}
				${size(bytes.cooked)} ${words.cooked}</small>
			</a>
		${shown.filter((state) => well(state) > 0 || always.includes(state))
				.map((state) => html`<a class="count" key=${state}
			href="/ui/assets?state=${state}&problem=0"><b>${number(well(state))}</b>
			<${State} state=${state} /></a>`)}
		<a class="count" href="/ui/errors"><b>${number(stats.errors)}</b>
			<span class="state ${stats.errors ? 'tone-bad' : 'tone-good'}">
				<${Icon} name=${stats.errors ? 'failed' : 'fresh'} />${words.broken}</span></a>
		${warned > 0 && html`<a class="count" href="/ui/assets?warning=1"><b>${number(warned)}</b>
			<span class="state tone-warn"><${Icon} name="stale" />${words.warned}</span></a>`}</div>`;
}

/** @param {{ roots: Api.Roots }} props */
function Folders({ roots }) {
	if (!roots.items.length) return html`<div class="body quiet">${words.noFolders}</div>`;
	return html`<ul class="lines">${roots.items.map((root) =>
			html`<li><span class="name"><${Icon} name="folder" /> <a
				href="/ui/assets?root=${encodeURIComponent(root.name)}">${root.name}</a> <small>
				${root.path}</small></span>
		<span class="quiet">${words.mode[root.mode] ?? root.mode}
			${root.note && root.note !== root.mode ? `: ${root.note}` : ''}</span></li>`)}</ul>`;
}

/**
 * Workers or shares are missing: no asset is to blame, but not all is well.
 * @param {{ stats: Api.Stats }} props
 */
function Degraded({ stats: { degraded, upstream } }) {
	const away = upstream && upstream.state !== 'up';
	return html`${degraded && html`<p class="banner bad" role="alert"><${Icon} name="failed" />
			<span><strong>${words.degraded}</strong> ${sentence(degraded)}</span></p>`}
		${away && html`<p class="banner warn" role="status"><${Icon} name="failed" />
			<span><strong>${upstream.farm ? words.farm : words.upstream}</strong> ${words.away[upstream.state]}
				${upstream.since && html` (<${Time} at=${upstream.since} />)`}. ${words.hereMeanwhile}
				${upstream.outbox > 0 && html` ${words.waitsToGo(plural(upstream.outbox, words.resultWord),
					upstream.outbox)}`}
				${upstream.reason && html`<br /><small class="anywhere">${sentence(upstream.reason)}</small>`}</span>
			<a href="/ui/cache">${words.more}</a></p>`}`;
}

/** @param {{ roots: Api.Roots }} props */
function Warnings({ roots }) {
	const polling = roots.items.filter((root) => root.mode === 'polling');
	const missing = roots.items.filter((root) => root.missing_since);
	return [...missing.map((root) => html`<p class="banner warn"><${Icon} name="failed" />
			<span><strong>${root.name}</strong> ${words.missingNote}: ${root.note} (<${Time} at=${root.missing_since} />
				)</span></p>`), ...polling.map((root) =>
				html`<p class="banner warn"><${Icon} name="stale" />
					<span><strong>${root.name}</strong> ${words.pollingNote}
						${root.note && root.note !== root.mode ? `: ${root.note}` : ''}</span></p>`)];
}

export function Overview() {
	useTitle(words.title);
	const stats = useResource('/api/v1/stats', { on: changesCounts, every: 15000 });
	const roots = useResource('/api/v1/roots',
		{ on: ({ kind }) => kind === 'root', every: stats.data?.ready === false ? SCAN : undefined });
	return html`<div class="head"><h1>${words.title}</h1></div>
		<${Resource} from=${stats}>${(data) => (data.assets.total === 0
			? html`<section class="panel"><${Empty} title=${data.ready ? words.emptyTitle : words.scanning}>
					<${FirstModel} /></${Empty}></section>`
			: html`<${Counts} stats=${data} warned=${data.warned} />`)}</${Resource}>
		${stats.data && html`<${Degraded} stats=${stats.data} />`}
		${roots.data && html`<${Warnings} roots=${roots.data} />`}
		<${Latest} />
		<${Panel} id="folders" title=${words.folders}>
			<${Resource} from=${roots}>${(data) => html`<${Folders} roots=${data} />`}</${Resource}></${Panel}>`;
}

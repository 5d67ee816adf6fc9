import { html } from 'htm/preact';
import { text } from '../text.js';
import { duration, limitSize, number, percent, plural, sentence, size, sizeBeside } from '../format.js';
import { useClock, useResource, useTitle } from '../hooks.js';
import { assetAddress, nameAddress } from '../router.js';
import { changesCounts } from '../shell.js';
import { Chart } from '../chart.js';
import { Breakable, Empty, Icon, Panel, Resource, State, Time } from '../ui.js';
import { Latest } from './latest.js';

const words = text.overview;
const shown = ['fresh', 'updating', 'waiting', 'missing'];
const always = ['fresh'];

/* Every asset counts in one tile: that of its state, or the problems. A problem that is being cooked again counts as
 * updating, or as waiting if it has no good version. */
function Counts({ stats, warned }) {
	const { assets, bytes, standings, errors } = stats;
	const again = errors - standings.broken - standings.blocked - standings.interrupted;
	const apart = { updating: Math.min(again, standings.updating), waiting: Math.max(0, again - standings.updating) };
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

function Problems({ errors, busy }) {
	if (!errors.items.length) return html`<div class="body">
			<p class="state tone-good"><${Icon} name="fresh" />${busy ? words.noneSoFar : words.allFine}</p></div>`;
	return html`<ul class="lines">${errors.items.slice(0, 5).map((group) => html`<li class="problem-line">
		<span class="name"><a href=${assetAddress(group.assets[0])}>
				<${Breakable} path=${`${group.assets[0].root}/${group.assets[0].path}`} /></a>
			${group.count > 1 && html` <small>+ ${number(group.count - 1)}</small>`}
			<br />${sentence(group.message)}</span></li>`)}</ul>`;
}

function Folders({ roots }) {
	if (!roots.items.length) return html`<div class="body quiet">${words.noFolders}</div>`;
	return html`<ul class="lines">${roots.items.map((root) =>
			html`<li><span class="name"><${Icon} name="folder" /> <a
				href="/ui/assets?root=${encodeURIComponent(root.name)}">${root.name}</a> <small>
				${root.path}</small></span>
		<span class="quiet">${plural(root.files, text.fileWord)}, ${words.mode[root.mode] ?? root.mode}
			${root.note && root.note !== root.mode ? `: ${root.note}` : ''}</span></li>`)}</ul>`;
}

const MINUTES = 60;
/* The daemon counts its own cooks: one that has run for less than an hour has no whole hour to show. */
const young = (stats) => stats.uptime_ms < MINUTES * 60000;
const spanOf = (stats) => (young(stats) ? words.sinceStart : words.lastHour);

function Activity({ stats, now }) {
	const { cooked_by_minute: minutes, cooked, average_cook_ms: cook, average_wait_ms: wait, slowest } = stats.activity;
	const first = Math.floor(now / 60000) - MINUTES + 1;
	if (!cooked) return html`<div class="body quiet">
			${young(stats) ? words.activityNoneYet : words.activityNone}</div>`;
	return html`<div class="spark"><${Chart} axes=${false} height=${64}
			label=${`${words.activity}: ${plural(cooked, text.assetWord)}, ${spanOf(stats)}`}
			times=${minutes.map((_, at) => (first + at) * 60)}
			series=${[{ label: words.activity, tone: 'accent', values: minutes }]} /></div>
		<dl class="facts"><dt>${young(stats) ? words.startCount : words.hourCount}</dt><dd>${number(cooked)}</dd>
			<dt>${words.timeWait}</dt><dd>${duration(wait)}</dd><dt>${words.timeCook}</dt><dd>${duration(cook)}</dd>
			${slowest && html`<dt>${words.slowest}</dt>
					<dd>${duration(slowest.cook_ms)} <small>
						<a href=${nameAddress(slowest.asset)}><${Breakable} path=${slowest.asset} /></a></small></dd>`}
						</dl>`;
}

function Space({ stats }) {
	const { cache, cooks } = stats;
	const asked = cooks.hits + cooks.misses;
	return html`${cache.limit_bytes > 0 && html`<div class="body">
			<meter class="gauge" min="0" max=${cache.limit_bytes} value=${cache.bytes}
				aria-label=${text.cache.gauge} /></div>`}
		<dl class="facts"><dt>${words.disk}</dt><dd>
				${sizeBeside(cache.bytes, cache.limit_bytes)} <small>
					${cache.limit_bytes ? text.cache.ofLimit(limitSize(cache.limit_bytes))
						: text.cache.freeOnly(size(cache.disk_free_bytes))}</small></dd>
			<dt>${words.reused}</dt><dd>${asked ? percent(cooks.hits / asked) : '–'}</dd><dt>${words.saved}</dt>
			<dd>${duration(cooks.saved_ms)}</dd>
			<dt>${words.oldest}</dt><dd>${duration(cache.oldest_idle_s * 1000)}</dd><dt>${words.uptime}</dt>
			<dd>${duration(stats.uptime_ms)}</dd></dl>`;
}

/* Workers or shares are missing: no asset is to blame, but not all is well. */
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
	const errors = useResource('/api/v1/errors', { on: changesCounts });
	const warned = useResource('/api/v1/assets?warning=1&count=1&limit=1&fields=id',
		{ on: ({ kind }) => kind === 'asset' });
	const roots = useResource('/api/v1/roots', { on: changesCounts });
	const now = useClock(60000);
	return html`<div class="head"><h1>${words.title}</h1></div>
		<${Resource} from=${stats}>${(data) => (data.assets.total === 0
			? html`<section class="panel"><${Empty} title=${data.ready ? words.emptyTitle : words.scanning}>
					<p>${words.empty}</p></${Empty}></section>`
			: html`<${Counts} stats=${data} warned=${warned.data?.total} />`)}</${Resource}>
		${stats.data && html`<${Degraded} stats=${stats.data} />`}
		${roots.data && html`<${Warnings} roots=${roots.data} />`}
		<${Latest} />
		<div class="grid columns">
			<${Panel} id="problems" title=${words.problems}
				actions=${errors.data?.items.length > 0 && html`<a href="/ui/errors">${words.allProblems}</a>`}>
				<${Resource} from=${errors}>${(data) =>
						html`<${Problems} errors=${data} busy=${!stats.data || stats.data.assets.queued
							+ stats.data.assets.cooking > 0 || !stats.data.ready} />`}</${Resource}></${Panel}>
			<${Panel} id="activity" title=${words.activity} note=${stats.data && spanOf(stats.data)}>
				<${Resource} from=${stats}>${(data) => html`<${Activity} stats=${data} now=${now} />`}
				</${Resource}></${Panel}>
			${stats.data?.cache && html`<${Panel} id="space" title=${text.nav.cache}
					actions=${html`<a href="/ui/cache">${words.more}</a>`}><${Space} stats=${stats.data} /></${Panel}>`}
			<${Panel} id="folders" title=${words.folders}>
				<${Resource} from=${roots}>${(data) => html`<${Folders} roots=${data} />`}</${Resource}></${Panel}>
		</div>`;
}

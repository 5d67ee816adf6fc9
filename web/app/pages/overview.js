import { html } from 'htm/preact';
import { useRef } from 'preact/hooks';
import { text } from '../text.js';
import { duration, limitSize, number, partsOf, percent, plural, sentence, size, sizeBeside } from '../format.js';
import { useClock, useResource, useTitle } from '../hooks.js';
import { assetAddress, nameAddress } from '../router.js';
import { changesCounts } from '../shell.js';
import { Chart } from '../chart.js';
import { Breakable, Empty, Icon, Panel, Resource, State, Time } from '../ui.js';

const words = text.overview;
const shown = ['fresh', 'updating', 'waiting', 'missing'];
const always = ['fresh'];
const RECENT = 8;

/* Every asset is in one tile: in that of its state, or among the problems. A problem that is being cooked again is
 * updating, or waiting if it has no good version. */
function Counts({ stats }) {
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
				<${Icon} name=${stats.errors ? 'failed' : 'fresh'} />${words.broken}</span></a></div>`;
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

const changeLook = { cooking: ['cooking', 'work'], cooked: ['fresh', 'good'], hit: ['again', 'good'],
	fetched: ['again', 'good'], recovered: ['fresh', 'good'], failed: ['failed', 'bad'],
	removed: ['missing', 'quiet'] };

/* The newest change of each asset: what its last job came to, that it is being cooked, or that its file went. */
function changesOf(jobs, lines, gone) {
	const newest = new Map();
	const ended = jobs.items.filter((job) => job.kind === 'cook' && job.finished_at && job.result in changeLook);
	for (const job of ended.sort((a, b) => Date.parse(b.finished_at) - Date.parse(a.finished_at) || b.id - a.id)) {
		const kind = job.error ? 'failed' : job.result;
		const later = newest.get(job.asset);
		if (!later) newest.set(job.asset, { name: job.asset, kind, at: Date.parse(job.finished_at) });
		else if (!later.before) later.before = kind;
	}
	for (const job of jobs.items)
		if (job.kind === 'cook' && job.state === 'cooking') newest.set(job.asset,
			{ name: job.asset, kind: 'cooking', at: Date.parse(job.started_at) });
	const removed = lines.items.filter(({ event, message }) => event === 'removed' && !/^\d+ more {2}/.test(message))
		.map(({ message, time }) => [message, Date.parse(time)]);
	for (const [name, at] of [...removed, ...gone])
		if (!(newest.get(name)?.at > at)) newest.set(name, { name, kind: 'removed', at });
	return [...newest.values()].sort((a, b) => b.at - a.at).slice(0, RECENT)
		.map((change) => (change.before === 'failed' && change.kind !== 'failed' && change.kind !== 'removed'
				? { ...change, kind: 'recovered' } : change));
}

function Recent({ jobs, lines, gone }) {
	const changes = changesOf(jobs, lines, gone);
	if (!changes.length) return html`<div class="body quiet">${words.noRecent}</div>`;
	return html`<ul class="lines changes">${changes.map(({ name, kind, at }) => {
		const [icon, tone] = changeLook[kind];
		const { file } = partsOf(name);
		return html`<li key=${`${name}.${at}`}><span class="name"
				title=${name}>${kind === 'removed' ? file : html`<a href=${nameAddress(name)}>
					<${Breakable} path=${file} /></a>`}</span>
			<span class="state tone-${tone}"><${Icon} name=${icon} />
				${text.results[kind] ?? text.jobStates[kind] ?? text.states[kind]}</span>
			<${Time} at=${at} /></li>`;
	})}</ul>`;
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
/* A daemon counts what it cooked itself: one that runs for less than an hour tells of no whole one. */
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

/* Cooks or shares are away: nothing is wrong with any asset, and yet all is not well. */
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
	/* Removals since the page was opened: the log has them a second later, and counts those of a folder. */
	const gone = useRef(new Map());
	const removes = ({ asset }) => {
		gone.current.delete(asset);
		gone.current.set(asset, Date.now());
		if (gone.current.size > RECENT) gone.current.delete(gone.current.keys().next().value);
		return true;
	};
	const lines = useResource('/api/v1/log?limit=1000',
		{ on: ({ kind, data }) => kind === 'asset' && data.kind === 'removed' && removes(data) });
	const roots = useResource('/api/v1/roots', { on: changesCounts });
	const now = useClock(60000);
	const begun = useRef(new Set()); /* jobs that were seen to begin: what follows is progress, until they end */
	const begins = ({ id, state }) => (state === 'cooking' ? !begun.current.has(id) && begun.current.add(id)
			: begun.current.delete(id) || true);
	const jobs = useResource('/api/v1/jobs?limit=100&state=cooking,cooked,hit,fetched,failed',
		{ on: (event) => event.kind === 'asset' || (event.kind === 'job' && begins(event.data)) });
	return html`<div class="head"><h1>${words.title}</h1></div>
		<${Resource} from=${stats}>${(data) => (data.assets.total === 0
			? html`<section class="panel"><${Empty} title=${data.ready ? words.emptyTitle : words.scanning}>
					<p>${words.empty}</p></${Empty}></section>`
			: html`<${Counts} stats=${data} />`)}</${Resource}>
		${stats.data && html`<${Degraded} stats=${stats.data} />`}
		${roots.data && html`<${Warnings} roots=${roots.data} />`}
		<div class="grid columns">
			<${Panel} id="problems" title=${words.problems}
				actions=${errors.data?.items.length > 0 && html`<a href="/ui/errors">${words.allProblems}</a>`}>
				<${Resource} from=${errors}>${(data) =>
						html`<${Problems} errors=${data} busy=${!stats.data || stats.data.assets.queued
							+ stats.data.assets.cooking > 0 || !stats.data.ready} />`}</${Resource}></${Panel}>
			<${Panel} id="recent" title=${words.recent}>
				<${Resource} from=${jobs}>${(data) => html`<${Recent} gone=${gone.current} jobs=${data}
					lines=${lines.data ?? { items: [] }} />`}</${Resource}></${Panel}>
			<${Panel} id="activity" title=${words.activity} note=${stats.data && spanOf(stats.data)}>
				<${Resource} from=${stats}>${(data) => html`<${Activity} stats=${data} now=${now} />`}
				</${Resource}></${Panel}>
			${stats.data?.cache && html`<${Panel} id="space" title=${text.nav.cache}
					actions=${html`<a href="/ui/cache">${words.more}</a>`}><${Space} stats=${stats.data} /></${Panel}>`}
			<${Panel} id="folders" title=${words.folders}>
				<${Resource} from=${roots}>${(data) => html`<${Folders} roots=${data} />`}</${Resource}></${Panel}>
		</div>`;
}

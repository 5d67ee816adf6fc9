import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { text } from '../text.js';
import { post, query as written, write } from '../api.js';
import { duration, number, plural, sentence, size } from '../format.js';
import { useClock, useResource, useTitle } from '../hooks.js';
import { Chart } from '../chart.js';
import { choose, nameAddress, setQuery } from '../router.js';
import { ActionButton, AssetName, Breakable, BundleButton, Empty, Icon, Panel, Resource, Time } from '../ui.js';
import { reasonText } from './asset_why.js';
import { lasted, Timeline } from './jobs_timeline.js';

const words = text.jobs;
const SHOWN = 50;
const MOST = 200; /* finished ones */
/** @param {Api.Job} job */
const active = (job) => job.state !== 'done';
/** @param {Api.Job} job */
const running = (job) => active(job) && job.state !== 'queued';
/** @param {{ job: Api.Job }} props */
const Name = ({ job }) => (job.asset ? html`<${AssetName} name=${job.asset} />`
		: html`<span>${words.kinds[job.kind] ?? job.kind}</span>`);

/**
 * The reasons of a job as one text. The path of its asset is passed without the root.
 * @param {Api.Job} job
 */
const reasons = (job) => job.reason.map((reason) =>
		reasonText(reason, job.asset?.slice(job.asset.indexOf('/') + 1))).join('; ');

/**
 * A remembered failure of the cache: nothing was cooked.
 * @param {Api.Job} job
 */
const resultOf = (job) => (job.error && job.result === 'hit' ? 'failed' : job.result ?? '');

/** @param {{ job: Api.Job }} props */
function Result({ job }) {
	const result = resultOf(job);
	const known = result === 'failed' && (job.cached || job.result === 'hit');
	const [icon, tone] = /** @type {Page.Table<string[]>} */ ({ cooked: ['fresh', 'good'], done: ['fresh', 'good'],
		hit: ['again', 'good'], fetched: ['again', 'good'], failed: ['failed', 'bad'], cancelled: ['missing', 'quiet'],
		skipped: ['missing', 'quiet'] })[result] ?? ['queued', 'work'];
	return html`<span class="state tone-${tone}">
			<${Icon} name=${icon} />${known ? words.known : text.results[result] ?? text.jobStates[job.state]
				?? job.state}</span>`;
}

/** @param {{ job: Api.Job }} props */
const Cancel = ({ job }) => html`<${ActionButton} className="small" icon="close" run=${async () => {
	await write('DELETE', `/api/v1/jobs/${job.id}`);
	return words.cancelled;
}}>${text.cancel}</${ActionButton}>`;

/** @param {{ jobs: Api.Job[] }} props */
function Running({ jobs }) {
	const now = useClock(1000);
	if (!jobs.length) return html`<div class="body quiet">${words.noneRunning}</div>`;
	return html`<ul class="lines">${jobs.map((job) =>
			html`<li key=${job.id}><span class="name"><${Name} job=${job} /></span>
		<span class="quiet">${text.jobStates[job.stage ?? ''] ?? job.stage ?? stageOf(job) ?? text.jobStates[job.state]
				?? job.state}</span>
		${job.progress ? html`<progress max="1" value=${job.progress} aria-label=${words.progress} />`
				: html`<span class="spinner" aria-hidden="true" />`}
		<span class="num quiet">${job.started_at ? duration(now - Date.parse(job.started_at)) : ''}</span>
		<${Cancel} job=${job} /></li>`)}</ul>`;
}

/**
 * `count`: number of all waiting jobs; `jobs` are the first of them.
 * @param {{ jobs: Api.Job[], count: number }} props
 */
function Waiting({ jobs, count }) {
	if (!jobs.length) return html`<div class="body quiet">${words.noneWaiting}</div>`;
	return html`<ol class="lines">${jobs.slice(0, SHOWN)
			.map((job) => html`<li key=${job.id}><span class="name"><${Name} job=${job} /><br />
				<small>${reasons(job)}</small></span>
		${words.priorities[job.priority ?? ''] && html`<span class="quiet"
				title=${words.priorityMeaning[job.priority ?? '']}>${words.priorities[job.priority ?? '']}</span>`}
		<${Time} at=${job.queued_at} /><${Cancel} job=${job} /></li>`)}</ol>
		${count > Math.min(SHOWN, jobs.length) && html`
		<div class="body quiet">${words.more(number(count - Math.min(SHOWN, jobs.length)))}</div>`}`;
}

/**
 * The current stage, estimated if the worker does not report it.
 * @param {Api.Job} job
 */
function stageOf(job) {
	return words.stageNames[job.stages?.at(-1)?.stage ?? ''];
}

/** @param {{ stages: Api.Job['stages'] }} props */
function Stages({ stages }) {
	if (!stages?.length) return null;
	const shown = stages.filter(({ ms }) => ms >= 0.05);
	return html`<p class="quiet stages">${words.stages}: ${shown.map(({ stage, ms }) =>
		`${words.stageNames[stage] ?? stage} ${duration(ms)}`).join(', ')}</p>`;
}

/** @param {{ id: number }} props */
function Log({ id }) {
	const log = useResource(`/api/v1/jobs/${id}/log`, { as: 'text' });
	if (log.error?.status === 404) return html`<p class="quiet">${text.asset.noLog}</p>`;
	return html`<${Resource} from=${log}>${(data) => (data?.trim() ? html`<pre class="log" tabindex="0">${data}</pre>`
			: html`<p class="quiet">${text.asset.noLog}</p>`)}</${Resource}>`;
}

/** @param {Api.Job} job */
async function retry(job) {
	const page = await fetch(`/api/v1/assets${written({ path: job.asset, limit: 1, fields: 'id' })}`)
		.then((answer) => answer.json());
	if (!page.items.length) return words.gone;
	await post(`/api/v1/assets/${page.items[0].id}/cook`, { force: true });
	return text.asset.cookAsked;
}

/** @param {{ jobs: Api.Job[] }} props */
function Done({ jobs }) {
	const [open, setOpen] = useState(/** @type {number | null} */ (null));
	const [all, setAll] = useState(false);
	if (!jobs.length) return html`<div class="body quiet">${words.noneDone}</div>`;
	return html`<div class="scroll" tabindex="0">
			<table class="jobs"><thead><tr><th scope="col">${words.asset}</th><th scope="col">${words.result}</th>
				<th scope="col" class="wide">${words.reason}</th>
				<th scope="col" class="num wide spare">${words.wait}</th><th scope="col" class="num"
					title=${words.tookMeaning}>${words.took}</th>
				<th scope="col" class="num wide spare">${words.memory}</th><th scope="col">${words.when}</th>
				<th scope="col"><span class="hidden">${words.actions}</span></th></tr></thead>
		<tbody>${jobs.slice(0, all ? MOST : SHOWN).map((job) => {
			const [queued, started, finished] = [job.queued_at, job.started_at, job.finished_at]
				.map((at) => at && Date.parse(at));
			return html`<tr key=${job.id}><td class="anywhere name">
					<${Name} job=${job} />${job.error && html`<br />
						<span class="tone-bad">${sentence(job.error.message)}</span>`}</td>
						<td><${Result} job=${job} /></td>
				<td class="anywhere wide quiet why"><${Breakable} path=${reasons(job)} /></td>
				<td class="num wide spare">${started && queued ? duration(started - queued) : ''}</td>
				<td class="num">${started && finished ? lasted(finished - started) : ''}</td>
				<td class="num wide spare">${job.peak_bytes ? size(job.peak_bytes) : ''}</td>
				<td><${Time} at=${finished} /></td>
				<td><span class="pickers"><button type="button" class="small" aria-expanded=${open === job.id}
						onClick=${() => setOpen(open === job.id ? null : job.id)}>${words.log}</button>
					${resultOf(job) === 'failed' && job.asset
							&& html`<${BundleButton} url=${`/api/v1/jobs/${job.id}/bundle`}
								name=${`job-${job.id}.tar`} />
					<${ActionButton} className="small" icon="again" run=${() => retry(job)}>
						${words.retry}</${ActionButton}>`}</span></td></tr>
				${open === job.id && html`<tr key=${`${job.id}-log`}>
						<td colspan="8"><${Stages} stages=${job.stages} /><${Log} id=${job.id} /></td></tr>`}`;
		})}</tbody></table></div>
		${!all && jobs.length > SHOWN && html`<div class="body"><button type="button" class="small"
			onClick=${() => setAll(true)}>${words.showMore(number(Math.min(jobs.length, MOST) - SHOWN))}</button>
			</div>`}`;
}

const MINUTES = 60;
/**
 * The daemon counts its own cooks: one that has run for less than an hour has no whole hour to show.
 * @param {Api.Stats} stats
 */
const young = (stats) => stats.uptime_ms < MINUTES * 60000;
/** @param {Api.Stats} stats */
const spanOf = (stats) => (young(stats) ? text.overview.sinceStart : text.overview.lastHour);

/** @param {{ stats: Api.Stats, now: number }} props */
function Activity({ stats, now }) {
	const { cooked_by_minute: minutes, cooked, average_cook_ms: cook, average_wait_ms: wait, slowest } = stats.activity;
	const first = Math.floor(now / 60000) - MINUTES + 1;
	if (!cooked) return html`<div class="body quiet">
			${young(stats) ? text.overview.activityNoneYet : text.overview.activityNone}</div>`;
	return html`<div class="spark"><${Chart} axes=${false} height=${64}
			label=${`${text.overview.activity}: ${plural(cooked, text.assetWord)}, ${spanOf(stats)}`}
			times=${minutes.map((_, at) => (first + at) * 60)}
			series=${[{ label: text.overview.activity, tone: 'accent', values: minutes }]} /></div>
		<dl class="facts"><dt>${young(stats) ? text.overview.startCount : text.overview.hourCount}</dt>
			<dd>${number(cooked)}</dd>
			<dt>${text.overview.timeWait}</dt><dd>${duration(wait)}</dd>
			<dt>${text.overview.timeCook}</dt><dd>${duration(cook)}</dd>
			${slowest && html`<dt>${text.overview.slowest}</dt>
					<dd>${duration(slowest.cook_ms)} <small>
						<a href=${nameAddress(slowest.asset)}><${Breakable} path=${slowest.asset} /></a></small></dd>`}
						</dl>`;
}

const filters = ['', 'cooked', 'hit', 'fetched', 'failed', 'cancelled'];

/** @param {{ query: Page.Query }} props */
export function Jobs({ query }) {
	useTitle(words.title);
	/** @param {Page.Told} event */
	const on = (event) => event.kind === 'job' || event.kind === 'asset';
	const jobs = useResource('/api/v1/jobs?limit=1000', { on });
	const stats = useResource('/api/v1/stats', { on });
	const some = useResource(query.result ? `/api/v1/jobs${written({ limit: 200, state: query.result })}`
			: null, { on });
	const drawn = query.timeline === '1';
	const minute = useClock(60000);
	return html`<div class="head"><h1>${words.title}</h1><div class="actions"><button type="button"
			aria-pressed=${String(drawn)} onClick=${() => setQuery({ timeline: drawn ? '' : '1' })}>
			${text.timeline.title}</button></div></div>
		${drawn && html`<${Timeline} />`}
		<${Resource} from=${jobs}>${(/** @type {Api.JobPage} */ { items }) => {
			const [now, waiting] = [items.filter(running), items.filter((job) => job.state === 'queued')];
			const done = (query.result ? some.data?.items ?? [] : items)
				.filter((job) => !active(job) && (!query.result || resultOf(job) === query.result));
			const length = stats.data ? Math.max(waiting.length && 1, stats.data.queue.length) : waiting.length;
			if (!items.length) return html`<section class="panel">
					<${Empty} icon="jobs" title=${words.none}><p>${words.noneDetail}</p></${Empty}></section>`;
			return html`<div class="stack">
				<${Panel} id="running" title=${words.running} note=${now.length || ''}>
					<${Running} jobs=${now} /></${Panel}>
				<${Panel} id="waiting" title=${words.waiting} note=${length > 0 ? number(length) : ''}>
					<${Waiting} jobs=${waiting} count=${length} /></${Panel}>
				<${Panel} id="done" title=${words.done}
					actions=${html`<span class="pickers" role="group" aria-label=${words.result}>
						${filters.filter((name) => name !== 'fetched' || stats.data?.upstream)
							.map((name) => html`<button type="button" class="chip"
							aria-pressed=${(query.result ?? '') === name} onClick=${() => choose({ result: name })}>
							${name ? text.results[name] : text.assets.all}</button>`)}</span>`}>
					<${Done} jobs=${done} /></${Panel}>
				${stats.data && html`<${Panel} id="activity" title=${text.overview.activity} note=${spanOf(stats.data)}>
					<${Activity} stats=${stats.data} now=${minute} /></${Panel}>`}</div>`;
		}}</${Resource}>`;
}

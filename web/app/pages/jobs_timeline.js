/* Timeline of the newest build: each finished job is a bar, in as many lanes as there were simultaneous jobs. */
import { html } from 'htm/preact';
import { text } from '../text.js';
import { clock, duration, number, partsOf } from '../format.js';
import { useResource } from '../hooks.js';
import { nameAddress, navigate } from '../router.js';
import { Breakable, Icon, Panel, Resource } from '../ui.js';

/**
 * A finished job.
 * @typedef {{ name: string, cat: string, tid: number, ts: number, dur: number, args: { job?: number } }} Bar
 */

const words = text.timeline;
const TRACE = '/api/v1/trace?limit=2000';
const PAUSE = 60e6; /* microseconds without a job after which a new build begins */
const LANES = 32;
const LONGEST = 5;
const tones = /** @type {Page.Table} */ ({ cooked: 'work', hit: 'good', fetched: 'good', failed: 'bad',
	cancelled: 'quiet' });

/**
 * The jobs after the last pause, in order of their start.
 * @param {Api.Trace['traceEvents']} events
 */
function newestBuild(events) {
	const jobs = /** @type {Bar[]} */ (events.filter(({ ph }) => ph === 'X')).sort((a, b) => a.ts - b.ts);
	let first = 0;
	let end = 0;
	jobs.forEach(({ ts, dur }, at) => {
		if (ts > end + PAUSE) first = at;
		end = Math.max(end, ts + dur);
	});
	return jobs.slice(first);
}

/**
 * Duration of a job, which is reported in milliseconds.
 * @param {number} ms
 */
export const lasted = (ms) => duration(Math.max(1, ms));

/** @param {string} name */
function pathOf(name) {
	const { folder, file } = partsOf(name);
	return folder + file;
}

/** @param {{ jobs: Bar[], from: number, to: number }} props */
function Bars({ jobs, from, to }) {
	const lanes = Math.min(LANES, 1 + Math.max(...jobs.map(({ tid }) => tid)));
	/** @param {number} time */
	const share = (time) => (1000 * time) / Math.max(1, to - from);
	/** @param {MouseEvent} given */
	const open = ({ target }) => target instanceof SVGElement && target.dataset.name
		&& navigate(nameAddress(target.dataset.name));
	return html`<svg class="timeline" viewBox="0 0 1000 ${lanes}" preserveAspectRatio="none" role="img" onClick=${open}
			style=${{ height: `${Math.max(2, lanes) * 1.1}rem` }}
			aria-label=${words.label(number(jobs.length), duration((to - from) / 1000), lanes)}>
		${jobs.filter(({ tid }) => tid < lanes).map(({ name, cat, ts, dur, tid, args }) => html`<rect key=${args.job}
			class="tone-${tones[cat] ?? 'quiet'}" data-name=${name} x=${share(ts - from)} y=${tid + 0.08}
			width=${Math.max(1, share(dur))} height="0.84"><title>${pathOf(name)}: ${text.results[cat] ?? cat},${' '}
				${lasted(dur / 1000)}</title></rect>`)}</svg>`;
}

/** @param {{ events: Api.Trace['traceEvents'] }} props */
function Build({ events }) {
	const jobs = newestBuild(events);
	if (!jobs.length) return html`<div class="body quiet">${words.none}</div>`;
	const from = jobs[0].ts;
	const to = Math.max(...jobs.map(({ ts, dur }) => ts + dur));
	const longest = [...jobs].sort((a, b) => b.dur - a.dur).slice(0, LONGEST);
	return html`<div class="body"><${Bars} ...${{ jobs, from, to }} />
			<p class="ends quiet"><span>${clock(from / 1000)}</span><span>+ ${duration((to - from) / 1000)}</span></p>
			<p class="quiet">${words.label(number(jobs.length), duration((to - from) / 1000),
				1 + Math.max(...jobs.map(({ tid }) => tid)))}</p></div>
		<ul class="lines">${longest.map((job) => html`<li key=${job.args.job}>
			<a class="name" href=${nameAddress(job.name)}><${Breakable} path=${pathOf(job.name)} /></a>
			<span class="num quiet">${lasted(job.dur / 1000)}</span></li>`)}</ul>`;
}

export function Timeline() {
	const trace = useResource(TRACE, { on: (event) => event.kind === 'job' });
	return html`<${Panel} id="timeline" title=${words.title}
			actions=${html`<a class="button small" href=${TRACE} download="hob-trace.json" title=${words.downloadTitle}>
				<${Icon} name="download" />${words.download}</a>`}>
			<${Resource} from=${trace}>${({ traceEvents }) => html`<${Build} events=${traceEvents} />`}</${Resource}>
		</${Panel}>`;
}

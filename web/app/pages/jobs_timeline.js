/* Timeline of the newest build: a lane for each worker with the cooks on it, and the stages of the longest jobs. */
import { html } from 'htm/preact';
import { text } from '../text.js';
import { clock, duration, number, partsOf, plural } from '../format.js';
import { useResource } from '../hooks.js';
import { nameAddress, navigate } from '../router.js';
import { newestBuild, placeCooks } from '../timeline.js';
import { Breakable, Icon, Panel, Resource } from '../ui.js';

/** @typedef {import('../timeline.js').Bar} Bar */

const words = text.timeline;
const TRACE = '/api/v1/trace?limit=2000';
const LANES = 32;
const LONGEST = 8;
const tones = /** @type {Page.Table} */ ({ cooked: 'work', hit: 'good', fetched: 'good', failed: 'bad',
	cancelled: 'quiet' });

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

/** @param {Bar} job */
const stagesOf = ({ args: { stages = [] } }) => stages.filter(({ ms }) => ms >= 0.05)
	.map(({ stage, ms }) => ({ stage, ms, label: `${text.jobs.stageNames[stage] ?? stage} ${duration(ms)}` }));

/** @param {{ cooks: import('../timeline.js').Cook[], from: number, to: number, lanes: number }} props */
function Bars({ cooks, from, to, lanes }) {
	/** @param {number} time */
	const share = (time) => (1000 * time) / Math.max(1, to - from);
	/** @param {MouseEvent} given */
	const open = ({ target }) => target instanceof SVGElement && target.dataset.name
		&& navigate(nameAddress(target.dataset.name));
	return html`<svg class="timeline" viewBox="0 0 1000 ${lanes}" preserveAspectRatio="none" role="img" onClick=${open}
			style=${{ height: `${Math.max(2, lanes) * 1.1}rem` }} aria-label=${words.lanes(number(lanes))}>
		${cooks.filter(({ lane }) => lane < lanes).map(({ job, lane, ...cook }) => html`<rect key=${job.args.job}
			class="tone-${tones[job.cat] ?? 'quiet'}" data-name=${job.name} x=${share(cook.from - from)}
			y=${lane + 0.08} width=${Math.max(1, share(cook.to - cook.from))} height="0.84"><title>${pathOf(job.name)}:
				${' '}${[text.results[job.cat] ?? job.cat, ...stagesOf(job).map(({ label }) => label)].join(', ')}
				</title></rect>`)}</svg>`;
}

/**
 * The stages of a job as parts of one bar.
 * @param {{ job: Bar }} props
 */
function Stages({ job }) {
	const stages = stagesOf(job);
	const label = stages.map((stage) => stage.label).join(', ');
	return stages.length > 0 && html`<span class="stage-bar" role="img" aria-label=${label} title=${label}>
		${stages.map(({ stage, ms }) => html`<span class="stage ${stage}" style=${{ flexGrow: ms }} />`)}</span>`;
}

/** @param {{ events: Api.Trace['traceEvents'] }} props */
function Build({ events }) {
	const jobs = newestBuild(events);
	if (!jobs.length) return html`<div class="body quiet">${words.none}</div>`;
	const from = jobs[0].ts;
	const to = Math.max(...jobs.map(({ ts, dur }) => ts + dur));
	const cooks = placeCooks(jobs);
	const lanes = Math.min(LANES, 1 + Math.max(-1, ...cooks.map(({ lane }) => lane)));
	const longest = [...jobs].sort((a, b) => b.dur - a.dur).slice(0, LONGEST);
	return html`<div class="body">${lanes > 0 && html`<${Bars} ...${{ cooks, from, to, lanes }} />
			<p class="ends quiet"><span>${clock(from / 1000)}</span><span>+ ${duration((to - from) / 1000)}</span></p>`}
			<p class="quiet">${words.label(plural(jobs.length, words.job), duration((to - from) / 1000),
				lanes > 0 && words.lanes(number(lanes)))}</p></div>
		<ul class="lines">${longest.map((job) => html`<li key=${job.args.job}>
			<a class="name" href=${nameAddress(job.name)}><${Breakable} path=${pathOf(job.name)} /></a>
			<${Stages} job=${job} /><span class="num quiet">${lasted(job.dur / 1000)}</span></li>`)}</ul>`;
}

export function Timeline() {
	const trace = useResource(TRACE, { on: (event) => event.kind === 'job' });
	return html`<${Panel} id="timeline" title=${words.title}
			actions=${html`<a class="button small" href=${TRACE} download="hob-trace.json" title=${words.downloadTitle}>
				<${Icon} name="download" />${words.download}</a>`}>
			<${Resource} from=${trace}>${({ traceEvents }) => html`<${Build} events=${traceEvents} />`}</${Resource}>
		</${Panel}>`;
}

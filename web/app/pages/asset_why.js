import { html } from 'htm/preact';
import { text } from '../text.js';
import { duration, percent } from '../format.js';
import { useResource } from '../hooks.js';
import { encodePath } from '../router.js';
import { Icon, Panel, Resource, Time } from '../ui.js';
import { Findings } from './findings.js';

const words = text.asset;
const LEAST = 100; /* microseconds; what is shorter explains nothing */

/**
 * path: of the asset, which the text does not repeat.
 * @param {Api.Reason} reason
 * @param {string | undefined} path
 */
export const reasonText = (reason, path) => {
	const own = path !== undefined && reason.path === path && text.ownReasons[reason.kind];
	if (own) return own;
	const say = text.reasons[reason.kind];
	return say ? say(reason.path ?? '') : `${reason.kind}${reason.path ? ` ${reason.path}` : ''}`;
};

/** @param {unknown} value */
const shown = (value) => (value === undefined || value === null ? '–' : typeof value === 'object'
		? JSON.stringify(value) : String(typeof value === 'number' ? Number(value.toPrecision(6)) : value));

/** @param {{ changed: Api.Why['changed'] }} props */
function Changes({ changed }) {
	const short = (/** @type {unknown} */ digest) => (typeof digest === 'string' ? digest.slice(0, 12) : digest);
	const rows = changed.map(({ setting, input, from, to }) => (setting ? { name: setting, from, to }
		: { name: input ?? '', from: short(from), to: short(to), file: true }));
	return html`<div class="scroll" tabindex="0">
			<table><thead><tr><th scope="col">${words.whyWhat}</th><th scope="col">${words.before}</th>
				<th scope="col">${words.now}</th></tr></thead><tbody>
		${rows.map((row) => html`<tr><td class="anywhere">${row.file && html`<${Icon} name="file" /> `}
				${text.settingNames[row.name]?.[0] ?? row.name}</td><td><code>${shown(row.from)}</code></td>
				<td><code>${shown(row.to)}</code></td></tr>`)}</tbody></table></div>`;
}

/** @param {Api.Asset} asset */
const useReport = (asset) => /** @type {Page.Report | undefined} */ (
	useResource(asset.outputs.find(({ name }) => name === 'report')?.url).data);

/** @param {{ note: NonNullable<Page.Report['notes']>[number] }} props */
const Note = ({ note }) => html`<li><span class="state tone-${note.level === 'warning' ? 'warn' : 'work'}">
	<${Icon} name=${note.level === 'warning' ? 'stale' : 'queued'} />${words.levels[note.level] ?? note.level}</span>
	<span class="name">${note.text ?? note.message}</span>
	${note.code && html`<code class="quiet">${note.code}</code>`}</li>`;

/**
 * A rule's note is left out: its findings give the details.
 * @param {{ asset: Api.Asset }} props
 */
function Notes({ asset }) {
	const report = useReport(asset);
	const listed = new Set((report?.findings ?? []).map(({ rule }) => rule));
	const notes = (report?.notes ?? []).filter(({ code }) => !code || !listed.has(code));
	return html`<${Findings} asset=${asset} report=${report} />
		${notes.length > 0 && html`<${Panel} id="notes" title=${words.notes}>
			<ul class="lines">${notes.map((note) => html`<${Note} note=${note} />`)}</ul></${Panel}>`}`;
}

/**
 * The stages of the cook that made what is shown, the longest first, as parts of all of it.
 * @param {{ asset: Api.Asset }} props
 */
function Times({ asset }) {
	const times = Object.entries(useReport(asset)?.timings_us ?? {}).filter(([, time]) => time >= LEAST)
		.sort(([, a], [, b]) => b - a);
	const all = times.reduce((sum, [, time]) => sum + time, 0);
	if (!all) return null;
	return html`<${Panel} id="times" title=${words.times} note=${duration(all / 1000)}>
		<ul class="lines times">${times.map(([stage, time]) => html`<li key=${stage}>
			<span class="name">${words.stages[stage] ?? stage}</span>
			<meter min="0" max=${all} value=${time} aria-label=${words.stages[stage] ?? stage} />
			<span class="num">${percent(time / all)}</span><span class="num">${duration(time / 1000)}</span></li>`)}
			</ul></${Panel}>`;
}

/**
 * The agent that sent the file, if agents feed the root.
 * @param {{ asset: Api.Asset }} props
 */
function Sender({ asset }) {
	const mirrors = useResource('/api/v1/mirrors');
	const fed = mirrors.data?.items.some(({ root, agents }) => root === asset.root && agents.length);
	const { data } = useResource(
		fed ? `/api/v1/mirrors/${encodePath(asset.root)}/origin/${encodePath(asset.path)}` : undefined,
		{ on: (event) => event.kind === 'asset' && event.data.id === asset.id });
	return data && html`<p class="body">${words.sentBy(data.who)} <${Time} at=${data.at} /></p>`;
}

/** @param {{ asset: Api.Asset }} props */
export function Why({ asset }) {
	const why = useResource(`/api/v1/assets/${asset.id}/why`,
		{ on: (event) => event.kind === 'asset' && event.data.id === asset.id });
	return html`<div class="stack"><${Times} asset=${asset} /><${Notes} asset=${asset} />
			<${Resource} from=${why}>${(/** @type {Api.Why} */ data) => html`<${Panel} id="why"
				title=${words.verdicts[data.verdict] ?? data.verdict}
				note=${data.cook_ms > 0 ? duration(data.cook_ms) : ''}>
		${data.reason.length > 0 && html`<ul class="body bullets">
				${data.reason.map((reason) => html`<li>${reasonText(reason, asset.path)}</li>`)}</ul>`}
		<${Sender} asset=${asset} />
		${data.cooked_by && html`<p class="body anywhere">${words.cookedBy(data.cooked_by)}</p>`}
		${data.previous?.same && html`<div class="body quiet">${words.sameAsBefore} <${Time} at=${data.previous.at} />
				${data.compared && html`. ${words.otherThan} <${Time} at=${data.compared.at} />:`}</div>`}
		${data.changed.length > 0 ? html`<${Changes} changed=${data.changed} />
				<div class="body quiet">${words.unchanged(data.unchanged)}</div>`
				: html`<div class="body quiet">${data.previous_key ? words.nothingChanged : words.firstCook}</div>`}
	</${Panel}>`}</${Resource}></div>`;
}

/**
 * Output of the cook, and its notes; "nothing" only if both are empty.
 * @param {{ asset: Api.Asset }} props
 */
export function LogText({ asset }) {
	const log = useResource(`/api/v1/assets/${asset.id}/log`,
		{ as: 'text', on: (event) => event.kind === 'asset' && event.data.id === asset.id });
	const notes = useReport(asset)?.notes ?? [];
	const written = log.error?.status === 404 ? '' : log.data?.trim();
	if (!written && !notes.length && (written === '' || log.error?.status === 404))
		return html`<${Panel} id="log" title=${words.logTitle}><div class="body quiet">${words.noLog}</div></${Panel}>`;
	return html`<div class="stack"><${Notes} asset=${asset} />
		${written && html`<${Panel} id="log" title=${words.logTitle}>
				<pre class="log" tabindex="0">${log.data}</pre></${Panel}>`}
		${log.error && log.error.status !== 404 && html`<${Resource} from=${log}>${() => null}</${Resource}>`}</div>`;
}

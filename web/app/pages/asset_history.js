import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { text } from '../text.js';
import { ago, clock, duration, exactTime, number, size } from '../format.js';
import { useResource } from '../hooks.js';
import { Chart, Legend } from '../chart.js';
import { commitAt } from '../problems.js';
import { Icon, Panel, Resource, Time } from '../ui.js';
import { Compare } from './asset_compare.js';
import { reasonText } from './asset_why.js';

const words = text.history;

/** @param {{ result: string }} props */
const Result = ({ result }) => {
	const [icon, tone] = { cooked: ['fresh', 'good'], hit: ['again', 'good'], fetched: ['again', 'good'],
		failed: ['failed', 'bad'], cancelled: ['missing', 'quiet'],
		skipped: ['missing', 'quiet'] }[result] ?? ['queued', 'quiet'];
	return html`<span class="state tone-${tone}"><${Icon} name=${icon} />${text.results[result] ?? result}</span>`;
};

/** @param {{ versions: Api.Version[] }} props */
function Trend({ versions }) {
	const good = versions.filter(({ stats, cooked_bytes: bytes }) => stats && bytes > 0).reverse();
	if (good.length < 2) return null;
	const series = [
		{ label: words.cookedSize, tone: 'accent', format: size, values: good.map((version) => version.cooked_bytes) },
		{ label: words.triangles, tone: 'work', format: number,
			values: good.map(({ stats }) => /** @type {number | undefined} */ (stats?.triangles) ?? null) },
	];
	const [first, last] = [good[0], good[good.length - 1]];
	return html`<${Panel} id="trend" title=${words.trend} actions=${html`<${Legend} series=${series} />`}>
			<div class="body"><${Chart} times=${good.map((version) => Date.parse(version.at) / 1000)} series=${series}
		label=${words.trendLabel(size(first.cooked_bytes), size(last.cooked_bytes), good.length)} /></div></${Panel}>`;
}

/**
 * Names of versions: age, preview or final, size, and author and subject of the commit that the root was at, if known.
 * Versions of the same age have their time, too.
 * @param {Pick<Api.Version, 'job' | 'at' | 'result' | 'cooked_bytes'>[]} versions
 * @param {string} root
 * @param {{ root?: string, items: Pick<Api.Commit, 'author' | 'subject' | 'time'>[] }} [commits]  newest first
 * @returns {Map<number, string>}
 */
export function versionNames(versions, root, commits) {
	const when = versions.map(({ at }) => ago(Date.parse(at)));
	return new Map(versions.map(({ job, at, result, cooked_bytes: bytes }, i) => {
		const alike = when.filter((each) => each === when[i]).length > 1;
		const { author, subject } = commitAt(`${root}/`, at, commits);
		return [job, [`${when[i]}${alike ? ` (${clock(Date.parse(at))})` : ''}`,
			result === 'preview' ? words.preview : words.final, size(bytes),
			author && words.commit(author, subject)].filter(Boolean).join(', ')];
	}));
}

/**
 * Two cooks to compare: the served one and the newest with other outputs, unless others were picked.
 * @param {{ root: string, good: Api.Version[], from: Api.Version, to: Api.Version,
 *	pick: (jobs: number[]) => void }} props
 */
function Pickers({ root, good, from, to, pick }) {
	const commits = useResource('/api/v1/commits?limit=500', { on: (event) => event.kind === 'root' }).data;
	const told = versionNames(good, root, commits);
	/** @param {Api.Version} version */
	const option = (version) => html`<option value=${version.job}>${told.get(version.job)}</option>`;
	/**
	 * @param {string} name
	 * @param {number} value
	 * @param {(job: number) => void} chosen
	 */
	const select = (name, value, chosen) => html`<label>${name} <select value=${value} onChange=${(event) =>
		chosen(Number(event.target.value))} title=${exactTime(Date.parse(
			good.find(({ job }) => job === value)?.at ?? ''))}>${good.map(option)}</select></label>`;
	return html`<span class="pickers">${select(words.from, from.job, (job) => pick([job, to.job]))}
		${select(words.to, to.job, (job) => pick([from.job, job]))}</span>`;
}

/** @param {Api.Version} given */
const hashes = ({ outputs }) => outputs.filter(({ name }) => name !== 'report')
	.map(({ name, hash }) => `${name} ${hash}`).sort().join();

/** @param {{ versions: Api.Version[], asset: Api.Asset, query: Page.Query }} props */
function Versions({ versions, asset, query }) {
	const good = versions.filter((version) => version.outputs.length > 0);
	const [picked, pick] = useState(/** @type {number[] | null} */ (null));
	/** @param {number} job */
	const find = (job) => good.find((version) => version.job === job);
	/** @param {string | undefined} key */
	const cook = (key) => good.find((version) => version.key === key);
	const to = (picked ? find(picked[1]) : cook(query.to)) || good[0];
	const from = (picked ? find(picked[0]) : cook(query.from))
		|| good.find((version) => hashes(version) !== hashes(to)) || good[1];
	/* Cooks of other commits are not among the versions. */
	const others = !picked && query.from && query.to && !(cook(query.from) && cook(query.to));
	return html`<${Trend} versions=${versions} />
		${others ? html`<${Compare} asset=${asset} from=${query.from} to=${query.to} />`
		: from && to && html`<${Compare} asset=${asset} from=${from.key} to=${to.key}
			actions=${html`<${Pickers} ...${{ root: asset.root, good, from, to, pick }} />`} />`}
		<${Panel} id="versions" title=${words.all}>
			<div class="scroll" tabindex="0"><table>
				<thead><tr><th scope="col">${words.when}</th><th scope="col">${words.result}</th>
					<th scope="col">${words.reason}</th><th scope="col" class="num">${words.triangles}</th>
					<th scope="col" class="num">${words.cookedSize}</th>
					<th scope="col" class="num">${words.cookTime}</th></tr></thead>
			<tbody>${versions.map((version) => html`<tr><td><${Time} at=${version.at} exact /></td>
					<td><${Result} result=${version.result} /></td>
					<td class="anywhere">${version.reason.map((reason) => reasonText(reason, asset.path)).join('; ')}
						${version.error && html`<br /><span class="tone-bad">${version.error.message}</span>`}</td>
				<td class="num">${number(/** @type {number | undefined} */ (version.stats?.triangles))}</td>
				<td class="num">${version.cooked_bytes > 0 ? size(version.cooked_bytes) : ''}</td>
				<td class="num">${version.cook_ms > 0 ? duration(version.cook_ms) : ''}</td></tr>`)}</tbody></table>
				</div></${Panel}>`;
}

/**
 * A cook with the same outputs as the one before (often the final one after a preview) causes no event but that of its
 * job.
 * @param {Api.Asset} asset
 * @returns {(event: Page.Told) => boolean}
 */
export const concerns = (asset) => ({ kind, data }) => (kind === 'asset' && data.id === asset.id)
	|| (kind === 'job' && data.asset === `${asset.root}/${asset.path}`);

const None = () => html`<section class="panel"><div class="body quiet">${words.none}</div></section>`;

/**
 * query: its `from` and `to` are keys of cooks to compare.
 * @param {{ asset: Api.Asset, query: Page.Query }} props
 */
export function History({ asset, query }) {
	const history = useResource(`/api/v1/assets/${asset.id}/history?limit=200`, { on: concerns(asset) });
	const given = query.from && query.to;
	return html`<div class="stack"><${Resource} from=${history}>${({ items }) => (items.length || given
		? html`<${Versions} ...${{ versions: items, asset, query }} />` : html`<${None} />`)}</${Resource}></div>`;
}

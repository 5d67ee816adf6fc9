import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { text } from '../text.js';
import { duration, exactTime, number, percent, size } from '../format.js';
import { useResource } from '../hooks.js';
import { Chart, Legend } from '../chart.js';
import { Icon, Panel, Resource, Time } from '../ui.js';
import { reasonText } from './asset_why.js';

const words = text.history;
const compared = ['triangles', 'vertices', 'meshes', 'materials', 'textures', 'lods', 'animations', 'nodes'];

const Result = ({ result }) => {
	const [icon, tone] = { cooked: ['fresh', 'good'], hit: ['again', 'good'], fetched: ['again', 'good'], failed: ['failed', 'bad'], cancelled: ['missing', 'quiet'] }[result] ?? ['queued', 'quiet'];
	return html`<span class="state tone-${tone}"><${Icon} name=${icon} />${text.results[result] ?? result}</span>`;
};

function Change({ from, to, format }) {
	if (from === to || from == null || to == null) return html`<span class="quiet">${from === to ? words.same : ''}</span>`;
	const share = from > 0 ? (to - from) / from : 0;
	return html`<span class=${to > from ? 'tone-warn' : 'tone-good'}>${to > from ? '+' : '−'}${format(Math.abs(to - from))}${from > 0 && ` (${to > from ? '+' : '−'}${percent(Math.abs(share))})`}</span>`;
}

function Diff({ a, b }) {
	const names = [...new Set([...a.outputs, ...b.outputs].map(({ name }) => name))].filter((name) => name !== 'report');
	const sizeIn = (version, name) => version.outputs.find((output) => output.name === name);
	const rows = [[words.total, a.cooked_bytes, b.cooked_bytes, size],
		...compared.filter((name) => a.stats?.[name] || b.stats?.[name]).map((name) => [text.asset.facts[name] ?? name, a.stats?.[name], b.stats?.[name], number]),
		[words.cookTime, a.cook_ms, b.cook_ms, duration],
		...names.map((name) => [name, sizeIn(a, name)?.size, sizeIn(b, name)?.size, size, sizeIn(a, name)?.hash !== sizeIn(b, name)?.hash])];
	return html`<div class="scroll" tabindex="0"><table><thead><tr><th scope="col"><span class="hidden">${words.what}</span></th><th scope="col" class="num">${exactTime(Date.parse(a.at))}</th><th scope="col" class="num">${exactTime(Date.parse(b.at))}</th><th scope="col" class="num">${words.change}</th></tr></thead>
		<tbody>${rows.map(([name, from, to, format, other]) => html`<tr><td>${name}</td><td class="num">${from == null ? '–' : format(from)}</td><td class="num">${to == null ? '–' : format(to)}</td>
			<td class="num">${from === to && other ? words.sameSize : html`<${Change} from=${from} to=${to} format=${format} />`}</td></tr>`)}</tbody></table></div>`;
}

function Trend({ versions }) {
	const good = versions.filter((version) => version.stats && version.cooked_bytes > 0).reverse();
	if (good.length < 2) return null;
	const series = [
		{ label: words.cookedSize, tone: 'accent', format: size, values: good.map((version) => version.cooked_bytes) },
		{ label: words.triangles, tone: 'work', format: number, values: good.map((version) => version.stats.triangles ?? null) },
	];
	const [first, last] = [good[0], good.at(-1)];
	return html`<${Panel} id="trend" title=${words.trend} actions=${html`<${Legend} series=${series} />`}><div class="body"><${Chart} times=${good.map((version) => Date.parse(version.at) / 1000)} series=${series}
		label=${words.trendLabel(size(first.cooked_bytes), size(last.cooked_bytes), good.length)} /></div></${Panel}>`;
}

function Versions({ versions, asset }) {
	const good = versions.filter((version) => version.outputs.length > 0);
	const [picked, pick] = useState(null);
	const [a, b] = picked ? [versions.find(({ job }) => job === picked[0]), versions.find(({ job }) => job === picked[1])] : [good[1], good[0]];
	const option = (version) => html`<option value=${version.job}>${exactTime(Date.parse(version.at))}, ${size(version.cooked_bytes)}</option>`;
	return html`<${Trend} versions=${versions} />
		${a && b && html`<${Panel} id="diff" title=${words.compare} actions=${html`<span class="pickers"><label>${words.from} <select value=${a.job} onChange=${(event) => pick([Number(event.target.value), b.job])}>${good.map(option)}</select></label>
			<label>${words.to} <select value=${b.job} onChange=${(event) => pick([a.job, Number(event.target.value)])}>${good.map(option)}</select></label></span>`}><${Diff} a=${a} b=${b} /></${Panel}>`}
		<${Panel} id="versions" title=${words.all}><div class="scroll" tabindex="0"><table><thead><tr><th scope="col">${words.when}</th><th scope="col">${words.result}</th><th scope="col">${words.reason}</th><th scope="col" class="num">${words.triangles}</th><th scope="col" class="num">${words.cookedSize}</th><th scope="col" class="num">${words.cookTime}</th></tr></thead>
			<tbody>${versions.map((version) => html`<tr><td><${Time} at=${version.at} /></td><td><${Result} result=${version.result} /></td><td class="anywhere">${version.reason.map((reason) => reasonText(reason, asset.path)).join('; ')}${version.error && html`<br /><span class="tone-bad">${version.error.message}</span>`}</td>
				<td class="num">${number(version.stats?.triangles)}</td><td class="num">${version.cooked_bytes > 0 ? size(version.cooked_bytes) : ''}</td><td class="num">${version.cook_ms > 0 ? duration(version.cook_ms) : ''}</td></tr>`)}</tbody></table></div></${Panel}>`;
}

export function History({ asset }) {
	const history = useResource(`/api/v1/assets/${asset.id}/history?limit=200`, { on: (event) => event.kind === 'asset' && event.data.id === asset.id });
	return html`<div class="stack"><${Resource} from=${history}>${(data) => (data.items.length ? html`<${Versions} versions=${data.items} asset=${asset} />` : html`<section class="panel"><div class="body quiet">${words.none}</div></section>`)}</${Resource}></div>`;
}

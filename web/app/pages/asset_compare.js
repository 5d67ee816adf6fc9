/* Compares two cooks of an asset: changes in words, in numbers, and in pictures from one camera. */
import { html } from 'htm/preact';
import { useEffect, useState } from 'preact/hooks';
import { text } from '../text.js';
import { query } from '../api.js';
import { duration, number, percent, size } from '../format.js';
import { useResource } from '../hooks.js';
import { Icon, Loading, Panel, Resource } from '../ui.js';

const words = text.compare;
/** Icon and colour of a tone. */
export const tones = {
	bad: ['failed', 'bad'], warn: ['stale', 'warn'], note: ['queued', 'work'], good: ['fresh', 'good'],
	same: ['missing', 'quiet'],
};
const views = ['corner', 'front', 'back', 'left', 'right', 'top', 'bottom'];
const modes = ['side', 'slider', 'blink', 'difference'];
const BLINK_MS = 800;
const SHOWN = 30;

/**
 * @param {number} value
 * @param {string} unit
 */
const measure = (value, unit) => {
	if (unit === 'bytes') return size(value);
	if (unit === 'seconds') return duration(value * 1000);
	if (unit === 'degrees') return `${Number(value.toPrecision(3))}°`;
	if (unit === 'metres') return `${Number(value.toPrecision(4))}\u00a0m`;
	return number(value);
};

/** @param {{ tone: Page.Tone }} props */
const Tone = ({ tone }) => html`<span class="state tone-${tones[tone][1]}">
	<${Icon} name=${tones[tone][0]} />${words.tones[tone]}</span>`;

/** @param {{ from: number, to: number, unit: string, tone: Page.Tone }} props */
export function Difference({ from, to, unit, tone }) {
	if (tone === 'same') return html`<span class="quiet">${words.same}</span>`;
	const sign = to > from ? '+' : '−';
	const share = from > 0 ? ` (${sign}${percent(Math.abs(to - from) / from)})` : '';
	return html`<span class="tone-${tones[tone][1]}">${sign}${measure(Math.abs(to - from), unit)}${share}</span>`;
}

/** @param {{ numbers: Page.Number[] }} props */
function Numbers({ numbers }) {
	const [all, setAll] = useState(false);
	const shown = all ? numbers : numbers.filter(({ tone }) => tone !== 'same');
	return html`${shown.length > 0 && html`<div class="scroll" tabindex="0"><table class="numbers">
		<thead><tr><th scope="col"><span class="hidden">${words.what}</span></th>
				<th scope="col" class="num">${words.before}</th>
			<th scope="col" class="num">${words.after}</th><th scope="col" class="num">${words.change}</th></tr></thead>
		<tbody>${shown.map(({ name, unit, from, to, tone }) =>
				html`<tr data-number=${name}><td>${words.numbers[name] ?? name}</td>
			<td class="num">${measure(from, unit)}</td><td class="num">${measure(to, unit)}</td>
			<td class="num"><${Difference} ...${{ from, to, unit, tone }} /></td></tr>`)}</tbody></table></div>`}
		<div class="body"><button type="button" class="small" aria-pressed=${String(all)} onClick=${() => setAll(!all)}>
			${words.allNumbers}</button></div>`;
}

/** @param {{ changes: Page.Difference[], leftOut: number }} props */
function Changes({ changes, leftOut }) {
	const [all, setAll] = useState(false);
	const shown = all ? changes : changes.slice(0, SHOWN);
	return html`<ul class="lines told">${shown.map((each) =>
			html`<li data-part=${each.part}><${Tone} tone=${each.tone} />
			<span class="name">${each.text}</span></li>`)}</ul>
		${changes.length > shown.length && html`<div class="body">
				<button type="button" class="small" onClick=${() => setAll(true)}>
			${words.showAll(number(changes.length))}</button></div>`}
		${leftOut > 0 && html`<div class="body quiet">${words.leftOut(number(leftOut))}</div>`}`;
}

const place = { before: '0%', after: '50%', difference: '100%' };
/** @param {{ url: string, which: 'before' | 'after' | 'difference', style: Page.Table, hidden: boolean }} props */
export const Square = ({ url, which, style, hidden }) =>
	html`<div class="shot" role="img" aria-label=${words.squares[which]} aria-hidden=${hidden}
	style=${{ backgroundImage: `url("${url}")`, backgroundPositionX: place[which], ...style }} />`;

/** @param {{ url: string }} props */
function Slider({ url }) {
	const [at, setAt] = useState(50);
	return html`<div class="over"><${Square} url=${url} which="before" />
			<${Square} url=${url} which="after" style=${{ clipPath: `inset(0 0 0 ${at}%)` }} />
			<span class="cut" style=${{ left: `${at}%` }} /></div>
		<label class="slide">${words.squares.before}
			<input type="range" min="0" max="100" value=${at} aria-label=${words.slide}
				onInput=${(event) => setAt(Number(event.target.value))} />
			${words.squares.after}</label>`;
}

/** @param {{ url: string }} props */
function Blink({ url }) {
	const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
	const [after, setAfter] = useState(false);
	useEffect(() => {
		if (still) return undefined;
		const timer = setInterval(() => setAfter((now) => !now), BLINK_MS);
		return () => clearInterval(timer);
	}, []);
	const which = after ? 'after' : 'before';
	return html`<div class="over"><${Square} url=${url} which=${which} /></div>
		<p><button type="button" class="small" onClick=${() => setAfter(!after)}>${words.switchTo[which]}</button></p>`;
}

/** @param {{ url: string }} props */
const Side = ({ url }) => html`<div class="beside">${['before', 'after', 'difference'].map((which) => html`<figure>
	<${Square} url=${url} which=${which} /><figcaption>${words.squares[which]}</figcaption></figure>`)}</div>`;

/** @param {{ url: string }} props */
const Marked = ({ url }) => html`<div class="over"><${Square} url=${url} which="difference" /></div>
	<p class="quiet">${words.differenceMeaning}</p>`;

/** @type {Page.Table<(props: { url: string }) => Page.Node>} */
const shows = { side: Side, slider: Slider, blink: Blink, difference: Marked };

/**
 * The strip is requested once; all ways to look at it are crops.
 * @param {string} url
 */
export function useStrip(url) {
	const [state, set] = useState(/** @type {{ url: string, good?: boolean }} */ ({ url: '' }));
	useEffect(() => {
		const image = new Image();
		image.onload = () => set({ url, good: true });
		image.onerror = () => set({ url, good: false });
		image.src = url;
		return () => {
			image.onload = image.onerror = null;
			image.src = '';
		};
	}, [url]);
	return state.url === url ? state : { url, good: undefined };
}

/**
 * Clips that changed: a picture at rest shows nothing of them.
 * @param {Page.Difference[]} changes
 */
export const clipsOf = (changes) => [...new Set(changes
	.filter(({ part, change, name }) => part === 'clip' && change !== 'renamed' && name).map(({ name }) => name))];

/** @param {{ asset: Api.Asset, from: string, to: string, changes: Page.Difference[] }} props */
function Pictures({ asset, from, to, changes }) {
	const [mode, setMode] = useState('side');
	const [view, setView] = useState('corner');
	const clips = clipsOf(changes);
	const [pose, setPose] = useState(changes.every(({ part }) => part === 'clip') ? clips[0] ?? '' : '');
	const clip = clips.includes(pose) ? pose : '';
	const strip = useStrip(`/api/v1/assets/${asset.id}/compare/picture${query({ from, to, view, clip, size: 512 })}`);
	const Show = shows[mode];
	return html`<div class="pictures"><div class="bar" role="group" aria-label=${words.pictures}>
			${modes.map((each) => html`<button type="button" class="small" aria-pressed=${String(each === mode)}
					onClick=${() => setMode(each)}>
				${words.modes[each]}</button>`)}
			<label>${words.view} <select value=${view} onChange=${(event) => setView(event.target.value)}>
				${views.map((each) => html`<option value=${each}>${words.views[each]}</option>`)}</select></label>
			${clips.length > 0 && html`<label>${words.pose} <select value=${clip}
				onChange=${(event) => setPose(event.target.value)}><option value="">${words.atRest}</option>
				${clips.map((name) => html`<option value=${name}>${name}</option>`)}</select></label>`}</div>
		${clip && html`<p class="quiet">${words.posed(clip)}</p>`}
		${changes.some(({ part, change }) => part === 'mesh' && change === 'changed')
			&& html`<p class="quiet">${words.coarsest}</p>`}
		${strip.good ? html`<${Show} url=${strip.url} />`
			: strip.good === false ? html`<p class="quiet">${words.noPicture}</p>`
				: html`<${Loading} label=${words.drawing} />`}</div>`;
}

/**
 * from, to: keys of cooks, or other versions that the API accepts.
 * @param {{ asset: Api.Asset, from: string, to: string, actions: Page.Children }} props
 */
export function Compare({ asset, from, to, actions }) {
	const found = useResource(`/api/v1/assets/${asset.id}/compare${query({ from, to })}`);
	return html`<${Panel} id="diff" title=${words.title} actions=${actions}>
			<${Resource} from=${found}>${(data) => (data.equal
		? html`<p class="body quiet" id="equal">${words.equal}</p>`
		: html`<${Changes} changes=${data.changes} leftOut=${data.left_out} />
			<${Pictures} key=${`${from} ${to}`} asset=${asset} from=${from} to=${to} changes=${data.changes} />
			<${Numbers} numbers=${data.numbers} />`)}</${Resource}></${Panel}>`;
}

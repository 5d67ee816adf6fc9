/* The latest changes of all assets: what each save changed, in the daemon's words, with pictures before and after. */
import { html } from 'htm/preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { query } from '../api.js';
import { listen } from '../live.js';
import { text } from '../text.js';
import { duration, partsOf, sentence } from '../format.js';
import { LATER, useClock, useResource } from '../hooks.js';
import { nameAddress, setQuery, useAddress } from '../router.js';
import { Thumb } from '../thumb.js';
import { Breakable, Icon, Panel, Resource, Time } from '../ui.js';
import { clipsOf, Difference, Square, tones, useStrip } from './asset_compare.js';

const words = text.overview;
const FEW = 8;
const MANY = 50;
const FOREVER = '9999-01-01';
const STAYS = 400; /* ms; what the next save replaces at once is not drawn */
const shares = ['triangles', 'bytes'];

/**
 * One picture is asked for at a time, the newest first: a browser has few connections to a daemon, and drawing takes
 * cores that cooks want.
 * @typedef {{ job: number, start(): void }} Turn
 */
/** @type {Set<Turn>} */
const waiting = new Set();
/** @type {Turn | null} */
let drawn = null;

function draw() {
	if (drawn || !waiting.size) return;
	drawn = [...waiting].sort((a, b) => b.job - a.job)[0];
	waiting.delete(drawn);
	drawn.start();
}

/** @param {Turn} turn */
function leave(turn) {
	waiting.delete(turn);
	if (drawn !== turn) return;
	drawn = null;
	draw();
}

const Blank = ({ name = 'assets', tone = '' }) =>
	html`<span class="thumb ${tone}"><${Icon} name=${name} /></span>`;

/** @param {{ change: Api.AssetChange, done: () => void }} props */
function Strip({ change, done }) {
	const clips = change.changes.every(({ part }) => part === 'clip') ? clipsOf(change.changes) : [];
	const { id, from, to } = change;
	const { url, good } = useStrip(
		`/api/v1/assets/${id}/compare/picture${query({ from, to, size: 128, clip: clips[0] })}`);
	useEffect(() => {
		if (good !== undefined) done();
	}, [good]);
	return good ? /** @type {const} */ (['before', 'after']).map((which) =>
		html`<figure><${Square} url=${url} which=${which} />
			<figcaption aria-hidden="true">${text.compare[which]}</figcaption></figure>`)
		: html`<${Blank} />`;
}

/** @param {{ change: Api.AssetChange }} props */
function Pictures({ change }) {
	const { id, job, from, to } = change;
	const [starts, start] = useState(false);
	const turn = useRef({ job, start: () => start(true) }).current;
	useEffect(() => {
		const timer = from && to ? setTimeout(() => {
			waiting.add(turn);
			draw();
		}, STAYS) : undefined;
		return () => {
			clearTimeout(timer);
			leave(turn);
		};
	}, []);
	return html`<span class="pair">${starts ? html`<${Strip} change=${change} done=${() => leave(turn)} />`
		: !to ? html`<${Blank} name="errors" tone="tone-bad" />` : from ? html`<${Blank} />`
			: html`<${Thumb} asset=${{ id, rev: job, bytes: { cooked: 1 } }} />`}</span>`;
}

/**
 * Where the two cooks are beside each other; of what has none, the asset.
 * @param {Api.AssetChange} given
 */
const addressOf = ({ asset, from, to }) =>
	`${nameAddress(asset)}${from && to ? query({ tab: 'history', from, to }) : ''}`;

/** @param {{ tone: Page.Tone, text: string }} props */
const Said = ({ tone, text: said }) => html`<span class="state tone-${tones[tone][1]}"
		title=${text.compare.tones[tone]}>
	<${Icon} name=${tones[tone][0]} /><span class="name">${sentence(said)}</span></span>`;

/**
 * address: where it is looked at, if not beside its asset.
 * @param {{ change: Api.AssetChange & { address?: string } }} props
 */
export function Change({ change }) {
	const { asset, address = addressOf(change), at, tone, changes, numbers, cook_ms: took, from, to } = change;
	const { file, folder } = partsOf(asset);
	const grown = numbers.filter((each) => shares.includes(each.name) && each.from > 0);
	return html`<li data-tone=${tone} id=${asset}><${Pictures} change=${change} />
		<div class="name"><a href=${address} title=${asset}><${Breakable} path=${file} /></a>
			<small> <${Breakable} path=${folder} /></small>
			<div class="said">${changes.map((each) => html`<${Said} ...${each} />`)}
				${!changes.length && html`<${Said} tone="note" text=${words.notCompared} />`}
				${change.left_out > 0 && html`<small>${words.leftOut(change.left_out)}</small>`}</div></div>
		<div class="beside-it"><${Time} at=${at} />${took > 0 && html` <small>${duration(took)}</small>`}
			${grown.map((each) => html`<small key=${each.name}>${text.compare.numbers[each.name].split(',')[0]}
				${' '}<${Difference} ...${each} /></small>`)}
			${from && to && html`<a href=${address}>${words.compared}</a>`}</div></li>`;
}

/** @param {{ asset: string, at?: number }} props */
export const Removed = ({ asset, at }) => html`<li data-tone="note">
	<span class="pair"><${Blank} name="missing" /></span>
	<div class="name">${partsOf(asset).file}<small> ${partsOf(asset).folder}</small>
		<div class="said"><${Said} tone="note" text=${words.removed} /></div></div>
	<div class="beside-it"><${Time} at=${at} /></div></li>`;

/* Removed assets: since the page was opened by its event, before by the log, which counts those of a folder. */
function useRemoved() {
	const gone = useRef(/** @type {Map<string, number>} */ (new Map()));
	/** @param {{ asset: string }} given */
	const removes = ({ asset }) => {
		gone.current.delete(asset);
		gone.current.set(asset, Date.now());
		if (gone.current.size > MANY) gone.current.delete([...gone.current.keys()][0]);
	};
	const lines = useResource('/api/v1/log?limit=1000');
	useEffect(() => listen(({ kind, data }) => kind === 'asset' && data.kind === 'removed' && removes(data)), []);
	const logged = (lines.data?.items ?? [])
		.filter(({ event, message }) => event === 'removed' && !/^\d+ more {2}/.test(message))
		.map(({ message, time }) => /** @type {[string, number]} */ ([message, Date.parse(time)]));
	return [...new Map([...logged, ...gone.current])].map(([asset, at]) => ({ asset, at }));
}

/** @param {number} now */
const startOfYesterday = (now) => new Date(new Date(now).setHours(-24, 0, 0, 0)).toISOString();

/** @param {{ name: string, on: boolean, label: string }} props */
const Filter = ({ name, on, label }) => html`<button type="button" class="small" aria-pressed=${String(on)}
	onClick=${() => setQuery({ [name]: on ? '' : '1' })}>${label}</button>`;

export function Latest() {
	const asked = useAddress().query;
	const [worse, yesterday, commit] = ['worse', 'yesterday', 'commit'].map((name) => asked[name] === '1');
	const [limit, setLimit] = useState(FEW);
	const now = useClock(60000);
	const since = yesterday ? startOfYesterday(now) : undefined;
	const found = useResource(`/api/v1/history${query({ limit, since, worse, commit })}`,
		{ on: ({ kind, data }) => kind === 'asset' && data.quality !== 'preview' });
	const git = useRef(/** @type {{ root: string, at: string }[]} */ ([]));
	git.current = found.data?.commits ?? git.current;
	/** @param {{ asset: string }} given */
	const floor = ({ asset }) => {
		const at = git.current.find(({ root }) => asset.startsWith(`${root}/`))?.at;
		return Math.max(since ? Date.parse(since) : 0, commit ? Date.parse(at ?? FOREVER) : 0);
	};
	/* Cooks that were not compared in time are compared a little later. */
	const late = found.data?.items.filter(({ compared, from, to }) => from && to && !compared)
		.map(({ job }) => job).join();
	useEffect(() => {
		const timer = late ? setTimeout(found.reload, LATER) : undefined;
		return () => clearTimeout(timer);
	}, [late]);
	const removed = useRemoved();
	const gone = new Map(removed.map(({ asset, at }) => [asset, at]));
	/** @param {Api.Answer<'/api/v1/history'>} given */
	const list = ({ items: all, next }) => {
		/* An asset that was removed since the list was asked for has no picture any more. */
		const items = all.filter(({ asset, at }) => (gone.get(asset) ?? 0) <= Date.parse(at));
		const present = new Set(items.map(({ asset }) => asset));
		const shown = worse ? items : [...items, ...removed.filter((each) =>
			!present.has(each.asset) && each.at >= floor(each))]
			.sort((a, b) => Number(new Date(b.at)) - Number(new Date(a.at))).slice(0, limit);
		if (!shown.length)
			return html`<div class="body quiet">${worse || since || commit ? words.noSuch : words.noRecent}</div>`;
		return html`<ul class="lines latest">${shown.map((change) => ('job' in change
				? html`<${Change} key=${change.job} change=${change} />`
				: html`<${Removed} key=${`${change.asset} ${change.at}`} ...${change} />`))}</ul>
			${next && limit < MANY && html`<div class="body"><button type="button" class="small"
				onClick=${() => setLimit(MANY)}>${words.older}</button></div>`}`;
	};
	const filters = html`<span class="filters" role="group">
		<${Filter} name="worse" on=${worse} label=${words.worse} />
		<${Filter} name="yesterday" on=${yesterday} label=${words.yesterday} />
		${(commit || git.current.length > 0)
			&& html`<${Filter} name="commit" on=${commit} label=${words.commit} />`}</span>`;
	return html`<${Panel} id="recent" className="changes" title=${words.recent} actions=${filters}>
		<${Resource} from=${found}>${list}</${Resource}></${Panel}>`;
}

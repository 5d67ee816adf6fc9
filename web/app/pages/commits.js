/* Commits of a git repository, and what changed between two of them: the page that a pull request links to. Its lines
 * are those of the latest changes. */
import { html } from 'htm/preact';
import { useEffect, useState } from 'preact/hooks';
import { get, post, query } from '../api.js';
import { number, percent } from '../format.js';
import { useResource, useTitle } from '../hooks.js';
import { nameAddress } from '../router.js';
import { text } from '../text.js';
import { Empty, Failure, Icon, isFresh, Loading, Panel, Resource, Time } from '../ui.js';
import { tones } from './asset_compare.js';
import { Change, Removed } from './latest.js';

/**
 * @typedef {Api.Answer<'/api/v1/revs/latest/manifest'>['assets'][number]} Entry  an asset of a manifest
 * @typedef {Api.Commit & { all: Map<string, Entry> }} Settled
 * @typedef {Omit<Api.AssetChange, 'changes' | 'at' | 'result'> & { address: string, weight: number,
 *	changes: { tone: Page.Tone, text: string }[] }} Described
 * @typedef {{ before: Settled, after: Settled, changes: Described[], gone: string[] }} Compared
 * @typedef {{ done?: Compared, error?: Page.Problem, waits?: Api.Commit, looked?: number, of?: number }} Progress
 */
const words = text.commits;
/** @type {Page.Table<string[]>} */
const icons = { warm: ['fresh', 'good'], broken: ['failed', 'bad'], cooking: ['cooking', 'work'],
	cold: ['missing', 'quiet'], empty: ['missing', 'quiet'] };
const ASKED = 4; /* comparisons at a time */
/** @type {Page.Table<number>} */
const weights = { bad: 1000, warn: 30, note: 1, good: 0 };
/** @type {('bad' | 'warn' | 'good' | 'note')[]} */
const order = ['bad', 'warn', 'good', 'note'];
const SAID = 5;

/** @param {string} id */
const short = (id) => id.slice(0, 7);
/** @type {(name: string, root: string | undefined, more?: Page.Change) => `/api/v1/commits/${string}`} */
const commitPath = (name, root, more = {}) =>
	`/api/v1/commits/${encodeURIComponent(name)}${query({ root, ...more })}`;
/** @param {Page.Change} parameters */
const compareAddress = (parameters) => `/ui/compare${query(parameters)}`;
/** @param {Api.Commit} commit */
const counts = ({ assets, waiting, failed }) => (assets
	? words.counts(number(assets - waiting), number(assets), number(failed)) : '');
/** @param {Api.Commit} commit */
const stateOf = ({ state, assets }) => (state === 'warm' && !assets ? 'empty' : state);

/** @param {{ commit: Api.Commit }} props */
export const CommitState = ({ commit }) => html`<span class="state tone-${icons[stateOf(commit)][1]}"
		title=${words.meaning[stateOf(commit)]}>
	<${Icon} name=${icons[stateOf(commit)][0]} />${words.states[stateOf(commit)]}</span>`;

/** @param {{ commit: Api.Commit, root: string | undefined }} props */
function Commit({ commit, root }) {
	const [parent] = commit.parents;
	return html`<li data-state=${commit.state}><div class="name">${parent
			? html`<a href=${compareAddress({ root, from: parent, to: commit.id })}>${commit.subject}</a>`
			: commit.subject}
			<small> ${commit.author}, <code>${short(commit.id)}</code></small></div>
		<div class="beside-it"><${Time} at=${commit.time} />
			<${CommitState} commit=${commit} />
			${commit.state !== 'cold' && html`<small>${counts(commit)}</small>`}</div></li>`;
}

/** @param {{ items: Api.Commit[], name: string | undefined }} props */
function Warm({ items, name }) {
	const warm = items.find(({ warm_since: since, assets }) => since && assets);
	if (!warm) return null;
	const good = warm.failed === 0;
	return html`<p class="banner ${good ? 'good' : 'bad'}" id="warm"><${Icon} name=${good ? 'fresh' : 'failed'} />
		<span>${words.warm(name, short(warm.id))} (${counts(warm)}, <${Time} at=${warm.warm_since} />)</span></p>`;
}

/**
 * /ui/commits?root=art&ref=main
 * @param {{ query: Page.Query }} props
 */
export function Commits({ query: { root, ref } }) {
	useTitle(words.title);
	const found = useResource(`/api/v1/commits${query({ root, ref })}`,
		{ on: ({ kind, data }) => kind === 'asset' && data.quality !== 'preview', every: 15000 });
	return html`<div class="head"><h1>${words.title}</h1></div>
		<${Resource} from=${found}>${({ root: name, ref: branch, items }) => (items.length
			? html`<${Warm} items=${items} name=${branch} />
				<${Panel} id="commits" title=${branch} note=${name}><ul class="lines latest">
					${items.map((/** @type {Api.Commit} */ commit) =>
					html`<${Commit} key=${commit.id} commit=${commit} root=${name} />`)}</ul></${Panel}>`
			: html`<section class="panel"><${Empty} icon="commits" title=${words.none}><p>${words.noneDetail}</p>
				</${Empty}></section>`)}</${Resource}>`;
}

/* ---- what changed between two commits */

/**
 * @param {string} name
 * @param {string | undefined} root
 * @param {(commit: Api.Commit) => void} tell
 * @returns {Promise<Settled>}
 */
async function settle(name, root, tell) {
	/** @type {Api.Commit} */
	let commit = await post(commitPath(name, root).replace(/(?=\?|$)/, '/cook'));
	while (commit.state === 'cooking') {
		tell(commit);
		commit = await get(commitPath(name, root, { wait: 10 }));
	}
	const below = commit.assets_below ?? '';
	/** @type {`/api/v1/revs/${string}`} */
	const manifest = `/api/v1/revs/latest/manifest${query({ root: below, records: true })}`;
	/** @type {Entry[]} */
	let assets = [];
	try {
		assets = /** @type {Api.Manifest} */ (await get(manifest)).assets;
	} catch (problem) {
		if (/** @type {Page.Problem} */ (problem).status !== 404) throw problem; /* 404: a commit without models */
	}
	return { ...commit, all: new Map(assets.map((each) => [each.asset.slice(below.length + 1), each])) };
}

/** @param {Entry} entry */
const isBroken = ({ state, outputs }) => !isFresh(state) || outputs.length === 0;
/** @param {Entry} entry */
const outputsOf = ({ outputs }) => outputs.map(({ name, hash }) => `${name} ${hash}`).sort().join();

/** @type {(path: string, root: string, now: Entry) => Described} */
const blank = (path, root, now) => ({ asset: `${root}/${path}`, address: nameAddress(now.asset), id: now.id,
	job: now.rev, from: null, to: now.record ?? null, changes: [], numbers: [], left_out: 0, tone: 'note',
	compared: true, cook_ms: 0, weight: 0 });

/**
 * @param {string} path
 * @param {string} root
 * @param {Entry | undefined} was
 * @param {Entry} now
 * @returns {Promise<Described>}
 */
async function describe(path, root, was, now) {
	const change = blank(path, root, now);
	if (isBroken(now)) {
		const { error } = await get(`/api/v1/assets/${now.id}`);
		return { ...change, to: null, tone: 'bad', weight: 1e6,
			changes: [{ tone: 'bad', text: error?.message ?? words.broken }] };
	}
	if (!was || isBroken(was))
		return { ...change, tone: was ? 'good' : 'note', weight: was ? 500 : 0.5,
			changes: [{ tone: was ? 'good' : 'note', text: was ? words.mended : words.added }] };
	/* The tip's asset lasts longer than that of a commit's folder. */
	const id = was.asset === change.asset ? was.id : now.id;
	const found = await get(`/api/v1/assets/${id}/compare${query({ from: was.record, to: now.record })}`);
	const { changes, numbers, tones } = found;
	const pair = query({ tab: 'history', from: was.record, to: now.record });
	return { ...change, id, from: was.record ?? null, changes: changes.slice(0, SAID),
		numbers: numbers.filter(({ tone }) => tone !== 'same'),
		address: `${nameAddress(id === was.id ? was.asset : now.asset)}${pair}`,
		left_out: Math.max(0, changes.length - SAID) + found.left_out,
		tone: order.find((tone) => tones[tone] > 0) ?? 'note',
		weight: Object.entries(weights).reduce((sum, [tone, weight]) => sum + weight * tones[tone], 0)
			+ numbers.filter(({ from }) => from > 0)
				.reduce((sum, { from, to }) => sum + 10 * Math.abs(to - from) / Math.max(from, to), 0) };
}

/**
 * @param {Page.Query} sides
 * @param {(progress: Progress) => void} tell
 * @returns {Promise<Compared>}
 */
async function compare({ root, from, to }, tell) {
	const [before, after] = await Promise.all([from, to]
		.map((name) => settle(name, root, (commit) => tell({ waits: commit }))));
	const found = [...after.all].filter(([path, now]) => {
		const was = before.all.get(path);
		return !was || isBroken(was) !== isBroken(now) || outputsOf(was) !== outputsOf(now);
	});
	const gone = [...before.all.keys()].filter((path) => !after.all.has(path));
	/** @type {Described[]} */
	const changes = [];
	let next = 0;
	await Promise.all(Array.from({ length: ASKED }, async () => {
		while (next < found.length) {
			const [path, now] = found[next++];
			changes.push(await describe(path, after.root, before.all.get(path), now));
			tell({ looked: changes.length, of: found.length });
		}
	}));
	changes.sort((a, b) => b.weight - a.weight || (a.asset < b.asset ? -1 : 1));
	/* Pictures are drawn in the order of the page. */
	return { before, after, gone,
		changes: changes.map((change, at) => ({ ...change, job: change.from ? -at : change.job })) };
}

/** @param {{ changes: Described[], gone: string[] }} found */
function summary({ changes, gone }) {
	const added = changes.filter(({ from, changes: [first] }) => !from && first?.text === words.added).length;
	const sums = /** @type {const} */ (['from', 'to']).map((side) => changes.flatMap(({ numbers }) => numbers)
		.filter(({ name }) => name === 'bytes').reduce((sum, each) => sum + each[side], 0));
	const grown = sums[0] > 0 && sums[1] !== sums[0]
		? `${sums[1] > sums[0] ? '+' : '\u2212'}${percent(Math.abs(sums[1] - sums[0]) / sums[0])}` : '';
	return words.summary(number(changes.length - added), number(added), number(gone.length), grown);
}

/**
 * A link names commits; `ref` is the branch that it was made for, which may have moved on or been rewritten.
 * @param {{ root: string | undefined, from: string, to: string, name: string, lost: boolean }} props
 */
function Moved({ root, from, to, name, lost }) {
	const found = useResource(commitPath(name, root), { every: 30000 });
	if (!found.data || (!lost && found.data.id.startsWith(to))) return null;
	return html`<p class="banner warn" role="status" id="moved"><${Icon} name="stale" /><span>
		${(lost ? words.rewritten : words.moved)(name, short(to), short(found.data.id))}</span>
		<a href=${compareAddress({ root, from, to: found.data.id, ref: name })}>${words.follow}</a></p>`;
}

/** @param {{ commit: Api.Commit }} props */
const Side = ({ commit }) => html`<span class="name"><code>${short(commit.id)}</code> ${commit.subject}
	<small> ${commit.author}, <${Time} at=${commit.time} /></small> <${CommitState} commit=${commit} /></span>`;

/** @param {{ commit: Api.Commit }} props */
const Notes = ({ commit: { notes } }) => (notes?.length ?? 0) > 0 && html`<${Panel} id="notes" title=${words.leftOut}
	note=${number(notes?.length)}><ul class="lines">${notes?.map(({ path, text: said }) =>
		html`<li><span class="name">${path} <small>${said}</small></span></li>`)}</ul></${Panel}>`;

/**
 * Names by what became of them, the worst first, above the pictures; each leads to its line.
 * @param {Pick<Compared, 'changes' | 'gone'>} props
 */
export function Names({ changes, gone }) {
	/** @type {Map<string, { tone: Page.Tone, names: string[] }>} */
	const groups = new Map();
	for (const { asset, tone, changes: [first] } of changes) {
		const label = first?.text === words.added ? words.isNew : text.compare.tones[tone];
		groups.set(label, { tone, names: [...groups.get(label)?.names ?? [], asset] });
	}
	/** @param {MouseEvent} event */
	const go = (event) => {
		const { hash } = new URL(/** @type {HTMLAnchorElement} */ (event.currentTarget).href);
		const line = document.getElementById(decodeURIComponent(hash.slice(1)));
		event.preventDefault();
		line?.scrollIntoView({ block: 'center' });
		line?.querySelector('a')?.focus({ preventScroll: true });
	};
	/** @type {(tone: string, icon: string, label: string, names: Page.Children[]) => Page.Node} */
	const line = (tone, icon, label, names) => html`<li key=${label}><span class="state tone-${tone}">
		<${Icon} name=${icon} />${label} ${number(names.length)}</span>
		<span class="anywhere">${names.map((each, at) => [at > 0 && ', ', each])}</span></li>`;
	return html`<ul class="names" aria-label=${words.list}>${[...groups].map(([label, { tone, names }]) =>
		line(tones[tone][1], tones[tone][0], label, names.map((asset) =>
			html`<a href="#${encodeURIComponent(asset)}" onClick=${go}>${asset.slice(asset.indexOf('/') + 1)}</a>`)))}
		${gone.length > 0 && line('quiet', 'missing', text.states.removed, gone)}</ul>`;
}

/** @param {Compared} props */
const Found = ({ before, after, changes, gone }) => html`<p class="sides"><${Side} commit=${before} /> \u2192
		<${Side} commit=${after} /></p>
	<${Panel} id="changed" className="changes" title=${summary({ changes, gone })}>
		${changes.length + gone.length > 0 ? html`<${Names} ...${{ changes, gone }} /><ul class="lines latest">
			${changes.map((change) => html`<${Change} key=${change.asset} change=${change} />`)}
			${gone.map((path) => html`<${Removed} key=${path} asset=${`${before.root}/${path}`} />`)}</ul>`
		: html`<div class="body quiet">${words.same}</div>`}</${Panel}>
	<${Notes} commit=${after} />`;

/**
 * /ui/compare?root=art&from=COMMIT&to=COMMIT&ref=BRANCH
 * @param {{ query: Page.Query }} props
 */
export function CompareCommits({ query: { root, from, to, ref } }) {
	const [state, set] = useState(/** @type {Progress} */ ({}));
	useTitle(from && to ? words.compareTitle(short(from), short(to)) : words.title);
	useEffect(() => {
		let over = false;
		/** @param {Progress} change */
		const tell = (change) => !over && set(change);
		set({});
		if (from && to) compare({ root, from, to }, tell).then((done) => tell({ done }), (error) => tell({ error }));
		return () => {
			over = true;
		};
	}, [root, from, to]);
	const { done, error, waits, looked } = state;
	const lost = error?.status === 404;
	return html`<div class="head"><h1>${words.compare}</h1></div>
		${ref && (done || lost) && html`<${Moved} root=${root} from=${from} to=${to} name=${ref} lost=${lost} />`}
		${!from || !to ? html`<section class="panel"><${Empty} icon="commits" title=${words.noPair}><p>
				${words.noPairDetail}</p></${Empty}></section>`
			: error ? html`<${Failure} error=${error} />`
				: !done ? html`<${Loading} label=${looked ? words.looking(looked, state.of)
					: waits ? words.waits(short(waits.id), counts(waits)) : text.loading} />`
					: html`<${Found} ...${done} />`}`;
}

import { html } from 'htm/preact';
import { useEffect, useRef } from 'preact/hooks';
import { text } from '../text.js';
import { duration, number, plural, sentence, size } from '../format.js';
import { listen } from '../live.js';
import { askAgain, makeRefresher, preload, useElement, useKey, useRedraw, useResource, useTitle } from '../hooks.js';
import { assetAddress, choose, navigate, setQuery } from '../router.js';
import { FirstModel } from '../drop.js';
import { Gallery } from '../gallery.js';
import { List } from '../list.js';
import { Rows } from '../rows.js';
import { changesCounts } from '../shell.js';
import { Empty, Failure, Icon, Loading, problemStates, State, stateOf, Time } from '../ui.js';
import { Thumb } from '../thumb.js';
import { fetchAhead } from './asset.js';
import { Selected, useSelection } from './assets_selected.js';

const words = text.assets;
const FIELDS = 'id,path,root,kind,standing,quality,rev,cooked_at,cook_ms,bytes,stats,warnings,error,links';
const states = ['fresh', 'updating', 'waiting', 'broken', 'blocked', 'interrupted', 'missing'];
/* Names that earlier versions used in links. */
const former = /** @type {Page.Table} */ ({ queued: 'waiting', cooking: 'waiting', stale: 'updating', failed: 'broken',
	quarantined: 'broken' });

/** @param {Page.Change} parameters */
function useRows(parameters) {
	const redraw = useRedraw();
	const wanted = JSON.stringify(parameters);
	/* shown: the rows before, while the first ones of a new search have not come. */
	const now = useRef(/** @type {{ wanted: string, rows: Rows, shown: Rows | null } | null} */ (null));
	const live = useRef(/** @type {{ ask(): void, end(): void } | null} */ (null));
	if (!live.current) {
		/* Subscribed before the first read, so that no change is missed. */
		const fresh = makeRefresher(async () => now.current?.rows.refresh(), 400);
		const deaf = listen((event) => ['asset', 'hello', 'reset'].includes(event.kind) && fresh.ask());
		live.current = { ask: fresh.ask, end: () => (deaf(), fresh.end()) };
	}
	if (now.current?.wanted !== wanted) {
		now.current?.rows.close();
		const shown = now.current && (now.current.shown ?? now.current.rows);
		const rows = new Rows('/api/v1/assets', parameters, FIELDS, () => {
			if (now.current?.rows !== rows) return;
			now.current.shown = null;
			askAgain(rows.error, () => live.current?.ask());
			redraw();
		});
		now.current = { wanted, rows, shown };
	}
	useEffect(() => () => {
		live.current?.end();
		now.current?.rows.close();
		now.current = null;
	}, []);
	const { rows, shown } = now.current;
	return { rows: rows.total === null && !rows.error && shown?.total != null ? shown : rows, wanted };
}

/** @param {{ query: Page.Query, stats: Page.Source<Api.Stats> }} props */
function Chips({ query, stats }) {
	const { assets, standings: counts = {}, errors = 0, warnings = 0 } = stats.data ?? {};
	/**
	 * @param {boolean} pressed
	 * @param {Page.Change} change
	 * @param {Page.Children} label
	 * @param {number} [count]
	 * @param {string} [title]
	 */
	const chip = (pressed, change, label, count, title) =>
		html`<button type="button" class="chip" aria-pressed=${pressed} title=${title}
			onClick=${() => choose(change)}>${label}
			${count !== undefined && html` <b>${number(count)}</b>`}</button>`;
	/**
	 * If all problems have one state, its chip would repeat the chip of problems.
	 * @param {string} state
	 */
	const allAre = (state) => problemStates.includes(state) && counts[state] === errors;
	const [kind, ...name] = (query.has ?? '').split(':');
	const every = !query.state && !query.warning && !query.problem && !query.rule && !query.uses && !query.has;
	return html`<div class="chips" role="group" aria-label=${words.columns.state}>
		${chip(every, { state: '', warning: '', problem: '', rule: '', level: '', uses: '', has: '' }, words.all,
			assets?.total)}
		${states.filter((state) => (counts[state] > 0 && !allAre(state)) || query.state === state)
				.map((state) => chip(query.state === state,
			{ state: query.state === state ? '' : state, problem: '' }, html`<${State} state=${state} />`,
			counts[state]))}
		${(errors > 0 || query.problem)
				&& chip(query.problem === '1', { problem: query.problem === '1' ? '' : '1' },
			html`<span class="state tone-bad"><${Icon} name="failed" />${words.problems}</span>`, errors,
			words.problemsMeaning)}
		${query.rule && chip(true, { rule: '', level: '' }, html`<code>${query.rule}</code>`)}
		${query.uses && chip(true, { uses: '' }, html`${words.uses} <code>${query.uses}</code>`)}
		${query.has && chip(true, { has: '' }, html`${words.has[kind]} <code>${name.join(':')}</code>`)}
		${(warnings > 0 || query.warning)
				&& chip(Boolean(query.warning), { warning: query.warning ? '' : '1' }, words.withWarnings)}</div>`;
}

/** @param {{ query: Page.Query, roots: Api.Roots | undefined }} props */
function Toolbar({ query, roots }) {
	/** @type {{ current: HTMLInputElement }} */
	const field = useElement();
	useKey('/', (event) => {
		event.preventDefault();
		field.current.focus();
		field.current.select();
	});
	/** @param {Page.On<HTMLInputElement>} event */
	const typed = (event) => setQuery({ q: event.currentTarget.value });
	/** @param {Page.On<HTMLInputElement, KeyboardEvent>} event */
	const leave = (event) => {
		if (event.key === 'ArrowDown' || (event.key === 'Enter' && event.currentTarget.value)) {
			event.preventDefault();
			/** @type {HTMLElement | null} */ (document.querySelector('.rows .row[tabindex="0"]'))?.focus();
		} else if (event.key === 'Escape' && event.currentTarget.value) {
			setQuery({ q: '' });
		}
	};
	return html`<div class="toolbar">
		<label class="search"><span class="hidden">${words.search}</span><${Icon} name="search" />
			<input type="search" ref=${field} placeholder=${words.search} value=${query.q ?? ''} onInput=${typed}
				onKeyDown=${leave} autocomplete="off" spellcheck="false" /><kbd aria-hidden="true">/</kbd></label>
		${roots && roots.items.length > 1 && html`<label><span class="hidden">${words.folder}</span>
				<select value=${query.root ?? ''} onChange=${(event) => choose({ root: event.target.value })}>
			<option value="">${words.anyFolder}</option>
			${roots.items.map((root) => html`<option value=${root.name}>${root.name}</option>`)}</select></label>`}
		<label><span class="hidden">${words.kind}</span>
			<select value=${query.kind ?? ''} onChange=${(event) => choose({ kind: event.target.value })}>
			<option value="">${words.anyKind}</option>
			${Object.entries(words.kinds).map(([kind, label]) => html`<option value=${kind}>${label}</option>`)}
			</select></label>
		<label><span class="hidden">${words.sort}</span>
			<select value=${query.sort ?? 'path'} onChange=${(event) =>
				choose({ sort: event.target.value === 'path' ? '' : event.target.value })}>
			${Object.entries(words.sorts).map(([sort, label]) => html`<option value=${sort}>${label}</option>`)}
			</select></label>
		<button type="button" aria-pressed=${String(query.view === 'gallery')}
			onClick=${() => choose({ view: query.view ? '' : 'gallery' })}>${words.gallery}</button>
	</div>`;
}

/** @param {{ name: string, className?: string, by: string[], sort: string }} props */
function Column({ name, className = '', by, sort }) {
	const label = words.columns[name];
	const [first, second] = by;
	const order = sort === first ? (first[0] === '-' ? 'descending' : 'ascending') : sort === second
		? (second[0] === '-' ? 'descending' : 'ascending') : 'none';
	const next = sort === first ? second : first;
	return html`<span class=${className} role="columnheader" aria-sort=${order}
			title=${name === 'lods' ? words.lodsTitle : undefined}>
			<button type="button" onClick=${() => choose({ sort: next === 'path' ? '' : next })}>
		${label}${order !== 'none' && html`<${Icon} name=${order === 'ascending' ? 'up' : 'down'} />`}</button></span>`;
}

/**
 * Shows the value by which the list is sorted.
 * @param {Api.Asset} asset
 * @param {string | undefined} sort
 */
const sizeShown = (asset, sort) => (/textures$/.test(sort ?? '') ? asset.bytes.textures : asset.bytes.cooked);

/**
 * The value by which the list is sorted, [class of its column, words], for windows that have no room for the column.
 * @param {Api.Asset} given
 * @param {string} [sort]
 */
function sortedBy({ stats, bytes, cook_ms: took, cooked_at: at }, sort = '') {
	const values = /** @type {Page.Table<[string, Page.Children]>} */ ({
		triangles: ['num', stats?.triangles != null
			&& `${number(stats?.triangles)} ${words.columns.triangles.toLowerCase()}`],
		lods: ['lods', stats?.lods > 0 && `${number(stats?.lods)} ${words.columns.lods.toLowerCase()}`],
		 bytes: ['num', bytes.cooked > 0 && size(bytes.cooked)],
	textures: ['num', bytes.textures > 0 && size(bytes.textures)], cook_ms: ['when', took > 0 && duration(took)],
	cooked_at: ['when', at && html`<${Time} at=${at} />`] });
	return values[sort.replace(/^-/, '')] ?? [];
}

/**
 * Below the name: why it failed, or its folder and number of warnings.
 * @param {{ asset: Api.Asset, folder: string, sort: string | undefined }} props
 */
function Where({ asset, folder, sort }) {
	if (asset.error) return html`<span class="where tone-bad" title=${asset.error.message}>
			${sentence(asset.error.message)}</span>`;
	const [column, value] = sortedBy(asset, sort);
	return html`<span class="where">${value && html`<b class="sorted by-${column}">${value}</b>`}
			${' '}${asset.root}/${folder}
			${asset.warnings > 0 && html` <span class="warned">${plural(asset.warnings, text.warningWord)}</span>`}
			</span>`;
}

/**
 * @param {Api.Asset} asset
 * @param {string | undefined} sort
 */
function Row(asset, sort) {
	const slash = asset.path.lastIndexOf('/');
	const stats = /** @type {Page.Stats} */ (asset.stats ?? {});
	return html`<span class="name" role="gridcell"><${Thumb} key=${asset.id} asset=${asset} /><span>
			<span class="titles"><a class="title" href=${assetAddress(asset)} tabindex="-1"
				title=${`${asset.root}/${asset.path}`}>${asset.path.slice(slash + 1)}</a>
				${asset.error && html`<small>${asset.root}/${asset.path.slice(0, slash + 1)}</small>`}</span>
			<${Where} asset=${asset} folder=${asset.path.slice(0, slash + 1)} sort=${sort} /></span></span>
		<span role="gridcell"><${State} state=${stateOf(asset)} /></span>
		<span class="num" role="gridcell">${number(stats.triangles)}</span>
		<span class="num lods" role="gridcell">${number(stats.lods)}</span>
		<span class="num" role="gridcell">${sizeShown(asset, sort) ? size(sizeShown(asset, sort)) : ''}</span>
		<span class="when" role="gridcell">${/cook_ms$/.test(sort ?? '') ? asset.cook_ms > 0 && duration(asset.cook_ms)
			: html`<${Time} at=${asset.cooked_at} />`}</span>`;
}

/**
 * A pressed row will be opened; a focused one may be.
 * @param {Api.Asset} given
 * @param {boolean} pressed
 */
function comesNear({ id, root, path }, pressed) {
	preload(`/api/v1/assets/${id}`);
	if (pressed) fetchAhead(`${root}/${path}`);
}

/** @param {{ query: Page.Query }} props */
export function Assets({ query }) {
	useTitle(words.title);
	const stats = useResource('/api/v1/stats', { on: changesCounts });
	const roots = useResource('/api/v1/roots');
	const selection = useSelection();
	const { q, root, kind, warning, problem, rule, level, uses, has, sort } = query;
	const state = former[query.state] ?? query.state;
	const { rows, wanted } = useRows({ q, root, standing: state, kind, warning, problem, rule, level, uses, has,
		sort });
	const filtered = Boolean(q || root || state || kind || warning || problem || rule || level || uses || has);
	const size = /textures$/.test(sort ?? '') ? ['textures', 'textures'] : ['size', 'bytes'];
	const when = /cook_ms$/.test(sort ?? '') ? ['time', 'cook_ms'] : ['cooked', 'cooked_at'];
	/**
	 * @param {string} name
	 * @param {string} key
	 * @param {string} [className]
	 * @param {string} [first]
	 */
	const column = (name, key, className = '', first = '-') =>
		html`<${Column} name=${name} className=${className} sort=${sort ?? 'path'}
		by=${first ? [`-${key}`, key] : [key, `-${key}`]} />`;
	const header = html`${column('name', 'path', '', '')}${column('state', 'state', '', '')}
		${column('triangles', 'triangles', 'num')}
		${column('lods', 'lods', 'num lods')}${column(size[0], size[1], 'num')}${column(when[0], when[1], 'num when')}`;
	return html`<div class="head"><h1>${words.title}</h1>
			<p class="quiet" role="status">${rows.total !== null && plural(rows.total, text.assetWord)}</p></div>
		<${Toolbar} query=${query} roots=${roots.data} /><${Chips} query=${query} stats=${stats} />
		<${Selected} selection=${selection} />
		${rows.error && html`<${Failure} error=${rows.error} retry=${() => rows.refresh()} />`}
		${rows.total === 0 ? (filtered
			? html`<section class="panel"><${Empty} icon="search" title=${words.nothing}><p>${words.nothingDetail}</p>
					<p><a href="/ui/assets">${words.clear}</a></p></${Empty}></section>`
			: html`<section class="panel"><${Empty} title=${words.none}><${FirstModel} />
					</${Empty}></section>`)
			: rows.total === null ? !rows.error && html`<${Loading} />`
				: query.view === 'gallery' ? html`<${Gallery} rows=${rows} label=${words.list} resetKey=${wanted} />`
				: html`<${List} rows=${rows} selection=${selection} label=${words.list} header=${header}
						row=${(asset) => Row(asset, sort)} resetKey=${wanted}
						open=${(asset) => navigate(assetAddress(asset))}
						near=${comesNear} />`}`;
}

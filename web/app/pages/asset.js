import { html } from 'htm/preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { text } from '../text.js';
import * as api from '../api.js';
import { number, plural, size, duration } from '../format.js';
import { listen } from '../live.js';
import { useElement, useResource, useTitle } from '../hooks.js';
import { ActionButton, Breakable, Empty, Icon, Loading, Resource, State, stateOf, Time } from '../ui.js';
import { Fault } from '../fault.js';
import { idOf, isCooked, know } from '../known.js';
import { nameAddress, navigate } from '../router.js';
import { thumbAddress } from '../thumb.js';
import { Files } from './asset_files.js';
import { Deps } from './asset_deps.js';
import { AssetSettings } from './asset_settings.js';
import { concerns, History } from './asset_history.js';
import { LogText, Why } from './asset_why.js';

const words = text.asset;
/** @type {Page.Table<(props: { asset: Api.Asset, query: Page.Query }) => Page.Node>} */
const tabs = { files: Files, settings: AssetSettings, deps: Deps, history: History, why: Why, log: LogText };

/**
 * The 3D view is a bundle of its own. It follows events itself, so it stays while the asset is cooked again. shown() is
 * called when its first picture is visible.
 * @param {{ asset: Api.Asset, shown: () => void }} props
 */
function Viewer({ asset, shown }) {
	/** @type {{ current: HTMLElement }} */
	const place = useElement();
	const [error, setError] = useState(/** @type {Error | null} */ (null));
	useLayoutEffect(() => {
		const stop = new AbortController();
		setError(null);
		import('../../viewer/viewer.js')
			.then(async ({ mountViewer }) => {
				const shows = { ...asset, poster: thumbAddress(asset) };
				if (!stop.signal.aborted)
					await mountViewer(place.current, { asset: shows, events: { listen }, signal: stop.signal });
			})
			.then(shown)
			.catch((reason) => stop.signal.aborted || setError(reason));
		return () => {
			stop.abort();
			place.current?.replaceChildren();
		};
	}, [asset.id, asset.path]);
	return html`<section class="viewer" aria-labelledby="view"><h2 class="hidden" id="view">${words.view}</h2>
			<div class="canvas" ref=${place} />${error
				&& html`<p class="quiet">${words.noView} ${error.message}</p>`}</section>`;
}

/**
 * If an earlier cook is served again: since when, and whether that repaired the asset.
 * @param {Api.Asset} asset
 */
function useReturn(asset) {
	const history = useResource(`/api/v1/assets/${asset.id}/history?limit=2`, { on: concerns(asset) });
	const [now, before] = history.data?.items ?? [];
	if (asset.error || !words.returned[now?.result]) return [];
	return [before?.result === 'failed' ? words.facts.repaired : words.facts.again,
		html`<${Time} at=${now.at} /> <small>${words.returned[now.result]}</small>`];
}

/** @param {{ asset: Api.Asset }} props */
function Facts({ asset }) {
	const { bytes } = asset;
	const stats = /** @type {Page.Stats} */ (asset.stats ?? {});
	const textures = asset.outputs.reduce((sum, output) => sum
			+ (output.name.startsWith('textures/') ? output.size : 0), 0);
	const facts = [
		[words.facts.triangles, stats.triangles != null && number(stats.triangles)],
		[words.facts.vertices, stats.vertices != null && number(stats.vertices)],
		[words.facts.lods, stats.lods > 0 && number(stats.lods)],
		[words.facts.materials, stats.materials > 0 && number(stats.materials)],
		[words.facts.textures, stats.textures > 0 && html`${number(stats.textures)} <small>${size(textures)}</small>`],
		[words.facts.animations, stats.animations > 0 && number(stats.animations)],
		[words.facts.source, html`${size(bytes.inputs)} ${bytes.inputs > bytes.source
				&& html`<small>${words.ownFile(size(bytes.source))}</small>`}`],
				[words.facts.cooked, bytes.cooked > 0 && size(bytes.cooked)],
		[words.facts.time, asset.cook_ms > 0 && duration(asset.cook_ms)],
		[words.facts.when, asset.cooked_at && html`<${Time} at=${asset.cooked_at} />`],
		useReturn(asset),
	];
	return html`<dl class="strip">${facts.filter(([, value]) => value)
			.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

/**
 * @param {{ label: string, used: number | undefined, limit: number | undefined, format: (value: number) => string
 * }} props
 */
function Budget({ label, used, limit, format }) {
	if (!limit || used == null) return null;
	const over = used > limit;
	return html`<div class="budget"><span>${label}</span>
			<meter min="0" max=${limit} value=${Math.min(used, limit)} class=${over ? 'over' : ''}
				aria-label=${label} />
		<span class=${over ? 'tone-bad' : 'quiet'}>${format(used)} ${words.of} ${format(limit)}
			${over ? ` (${words.overBudget})` : ''}</span></div>`;
}

/** @param {{ asset: Api.Asset }} props */
function Budgets({ asset }) {
	const budget = /** @type {{ triangles?: number, bytes?: number }} */ (asset.settings?.budget ?? {});
	if (!budget.triangles && !budget.bytes) return null;
	return html`<div class="budgets"><${Budget} label=${words.budgetTriangles} used=${asset.stats?.triangles}
			limit=${budget.triangles} format=${number} />
		<${Budget} label=${words.budgetBytes} used=${asset.bytes.cooked} limit=${budget.bytes} format=${size} /></div>`;
}

/** @param {{ asset: Api.Asset }} props */
function Head({ asset }) {
	const parts = asset.path.split('/');
	const name = parts.pop();
	const again = async () => {
		await api.post(`/api/v1/assets/${asset.id}/cook`, { force: true });
		return words.cookAsked;
	};
	return html`<nav class="crumbs" aria-label=${words.crumbs}><a href="/ui/assets">${text.nav.assets}</a>
			<${Icon} name="right" /><a href="/ui/assets?root=${encodeURIComponent(asset.root)}">${asset.root}</a>
			${parts.map((part, at) => html`<${Icon} name="right" />
					<a href="/ui/assets${api.query({ root: asset.root, q: `${parts.slice(0, at + 1).join('/')}/` })}">
						${part}</a>`)}</nav>
		<div class="head"><h1><${Breakable} path=${name} /></h1><${State} state=${stateOf(asset)} />
			${asset.warnings > 0 && html`<a class="warned" href="?tab=why">
					<${Icon} name="stale" /> ${plural(asset.warnings, text.warningWord)}</a>`}
			<div class="actions"><${ActionButton} run=${again} icon="again">${words.cookAgain}</${ActionButton}>
			</div></div>`;
}

/**
 * The content of another tab starts in the upper half of the window, below the rest of the view.
 * @param {{ now: string, address: string }} props
 */
function Tabs({ now, address }) {
	/** @type {{ current: HTMLElement }} */
	const nav = useElement();
	const before = useRef(now);
	useLayoutEffect(() => {
		const hidden = nav.current.getBoundingClientRect().top > innerHeight * 0.55;
		if (before.current !== now && hidden) nav.current.scrollIntoView({ block: 'center' });
		before.current = now;
	}, [now]);
	return html`<nav class="tabs" aria-label=${words.tabsLabel} ref=${nav}>
			${Object.keys(tabs).map((name) => html`<a href="${address}${address.includes('?') ? '&' : '?'}tab=${name}"
				aria-current=${now === name ? 'page' : undefined}>${words.tabs[name]}</a>`)}</nav>`;
}

const PICTURE_FIRST = 150; /* ms */

/**
 * Delays content below the view briefly for its first picture: [whether it is time, function that says so].
 * @param {Api.Asset} asset
 */
function usePictureFirst(asset) {
	const [due, set] = useState(!asset.outputs.length);
	useEffect(() => {
		const timer = setTimeout(() => set(true), PICTURE_FIRST);
		return () => clearTimeout(timer);
	}, []);
	return [due, () => set(true)];
}

/** @param {{ asset: Api.Asset, query: Page.Query }} props */
function Page({ asset, query }) {
	const [due, shown] = usePictureFirst(asset);
	const now = tabs[query.tab] ? query.tab : 'files';
	const Tab = tabs[now];
	const address = query.id ? `${location.pathname}?id=${query.id}` : location.pathname;
	return html`<${Head} asset=${asset} />
		${asset.error && html`<${Fault} error=${asset.error} asset=${asset} good=${asset.outputs.length > 0} />`}
		<${Facts} asset=${asset} /><${Budgets} asset=${asset} />
		${asset.outputs.length > 0 ? html`<${Viewer} ...${{ asset, shown }} />` : !asset.error
				&& html`<section class="panel"><${Loading} label=${text.stateMeaning[asset.standing]} /></section>`}
		<${Tabs} now=${now} address=${address} />
		<div class="tab">${due && html`<${Tab} asset=${asset} key=${asset.id} query=${query} />`}</div>`;
}

/**
 * Changes the address when the asset is renamed while its page is open.
 * @param {string} below
 * @param {Api.Asset | undefined} asset
 */
function useNewName(below, asset) {
	const name = asset && !asset.path_encoded && `${asset.root}/${asset.path}`;
	useLayoutEffect(() => {
		if (!below || !name || name === below) return;
		know([asset]);
		navigate(nameAddress(name) + location.search, { replace: true });
	}, [below, name]);
}

/**
 * Requests the outputs of an asset that is being opened along with its facts.
 * @param {string} name
 */
export function fetchAhead(name) {
	if (isCooked(name)) import('../../viewer/viewer.js').then((viewer) => viewer.fetchAhead(name), () => {});
}

/** @param {{ below: string, query: Page.Query }} props */
export function Asset({ below, query }) {
	useLayoutEffect(() => fetchAhead(below), [below]);
	/** @param {Page.Told} event */
	const mine = (event) => event.kind === 'asset' && (event.data.asset === below || event.data.id === query.id);
	const known = query.id ?? idOf(below);
	const found = useResource(known ? null : `/api/v1/assets${api.query({ path: below, limit: 1, fields: 'id' })}`,
		{ on: mine });
	const id = known ?? found.data?.items[0]?.id;
	const asset = useResource(id && `/api/v1/assets/${id}`,
		{ on: ({ kind, data }) => (kind === 'asset' || kind === 'job') && (data.id === id || data.asset === below) });
	useNewName(below, asset.data);
	const name = (asset.data?.path ?? below).split('/').at(-1) ?? '';
	useTitle(name);
	if (asset.error?.status === 404 || (!id && found.data))
		return html`<section class="panel"><${Empty} heading="h1" icon="search" title=${words.notFound}>
				<p>${words.notFoundDetail} <a href="/ui/assets${api.query({ q: name })}">${name || text.nav.assets}</a>
				</p></${Empty}></section>`;
	if (!id) return html`<${Resource} from=${found}>${() => null}</${Resource}>`;
	return html`<${Resource} from=${asset}>${(data) => html`<${Page} key=${data.id} asset=${data} query=${query} />`}
		</${Resource}>`;
}

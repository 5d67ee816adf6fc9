/* Small components that the pages share. */
import { html } from 'htm/preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { text } from './text.js';
import { ago, exactTime, partsOf } from './format.js';
import { probe } from './api.js';
import { useClock } from './hooks.js';
import { nameAddress } from './router.js';
import { useMayWrite } from './session.js';

/* Paths on a grid of 16, drawn in the colour of the text. */
const paths = /** @type {Page.Table} */ ({
	overview: 'M2 2h5v6H2zM9 2h5v3H9zM9 7h5v7H9zM2 10h5v4H2z',
	textures: 'M2 2.5h12v11H2zM2 11l3.5-3.5 3 3 2-2L14 12M10.5 6v.2',
	assets: 'M8 1.5 14 5v6L8 14.5 2 11V5zM2 5l6 3.5L14 5M8 8.5v6',
	jobs: 'M8 14a6 6 0 1 0 0-12 6 6 0 0 0 0 12zM8 4.5V8l2.5 1.5',
	errors: 'M8 2 15 14H1zM8 6.5v3.5M8 12v.2',
	commits: 'M8 10.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM8 1v4.5M8 10.5V15',
	cache: 'M2 4c0-1.2 2.7-2 6-2s6 .8 6 2-2.7 2-6 2-6-.8-6-2zM2 4v8c0 1.2 2.7 2 6 2s6-.8 6-2V4M2 8c0 1.2 2.7 2 ' +
		'6 2s6-.8 6-2',
	clients: 'M2 3h12v8H2zM6 14h4M8 11v3',
	log: 'M3 3h10M3 6.3h7M3 9.6h10M3 13h5',
	settings: 'M2 4.5h7M13 4.5h1M2 11.5h1M7 11.5h7M11 2.8v3.4M5 9.8v3.4',
	api: 'M5 4 1.5 8 5 12M11 4l3.5 4L11 12M9 3 7 13',
	menu: 'M2 4h12M2 8h12M2 12h12',
	close: 'M3.5 3.5l9 9M12.5 3.5l-9 9',
	search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM10.7 10.7 14 14',
	fresh: 'M3 8.5 6.5 12 13 4.5',
	queued: 'M8 13.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11zM8 5v3.2l2 1.3',
	cooking: 'M8 2.5a5.5 5.5 0 1 1-5.5 5.5',
	stale: 'M8 2.5 14 13.5H2zM8 6.8v3',
	failed: 'M4 4l8 8M12 4l-8 8',
	blocked: 'M5.5 3v10M10.5 3v10',
	missing: 'M3 8h10',
	quarantined: 'M8 13.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11zM4.2 4.2l7.6 7.6',
	copy: 'M5 5V2h9v9h-3M2 5h9v9H2z',
	download: 'M8 2v8M4.5 7 8 10.5 11.5 7M2.5 13.5h11',
	again: 'M13.5 8A5.5 5.5 0 1 1 11.6 3.8M13.5 1.8v3h-3',
	right: 'M6 3l5 5-5 5',
	up: 'M8 13V3M4 7l4-4 4 4',
	down: 'M8 3v10M4 9l4 4 4-4',
	folder: 'M1.5 3.5h4.5l1.5 2h7v7.5h-13z',
	file: 'M3.5 1.5h6l3 3v10h-9zM9.5 1.5v3h3',
});

/** @param {{ name: string }} props */
export const Icon = ({ name }) => html`<svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
		<path d=${paths[name] ?? paths.missing} /></svg>`;

/**
 * The asset's standing as the daemon reports it; a preview is "fresh" and will be replaced by its final cook.
 * @param {{ standing: Api.Standing, quality: string }} given
 */
export const stateOf = ({ standing, quality }) =>
	(standing === 'fresh' && quality === 'preview' ? 'preview' : standing);

/** @param {string} state */
export const isFresh = (state) => state === 'fresh';

/** problemStates: the states that count as problems. isSettled: whether the newest cook of the asset has ended. */
export const problemStates = ['broken', 'blocked', 'interrupted'];
/** @param {{ standing: Api.Standing }} given */
export const isSettled = ({ standing }) => standing === 'fresh' || problemStates.includes(standing);

const stateIcon = /** @type {Page.Table} */ ({ broken: 'failed', interrupted: 'blocked', updating: 'cooking',
	waiting: 'queued', preview: 'cooking', skipped: 'missing', removed: 'missing' });
const stateTone = /** @type {Page.Table} */ ({ fresh: 'good', updating: 'work', waiting: 'work', preview: 'work',
	broken: 'bad', blocked: 'warn', interrupted: 'warn', missing: 'warn' });

/** @param {{ state: string, label: Page.Children }} props */
export const State = ({ state, label }) => html`<span class="state tone-${stateTone[state] ?? 'quiet'}"
		title=${text.stateMeaning[state]}>
	<${Icon} name=${stateIcon[state] ?? state} />${label ?? text.states[state] ?? state}</span>`;

/**
 * A relative time, exact on hover, or the other way round; at: milliseconds or RFC 3339.
 * @param {{ at: number | string | null | undefined, exact: boolean }} props
 */
export function Time({ at, exact }) {
	const now = useClock();
	if (!at) return null;
	const time = typeof at === 'number' ? at : Date.parse(at);
	/** @param {{ currentTarget: HTMLElement }} given */
	const other = ({ currentTarget }) => (currentTarget.title = exact ? ago(time, now) : exactTime(time));
	return html`<time datetime=${new Date(time).toISOString()}
		onPointerEnter=${other}>${exact ? exactTime(time) : ago(time, now)}</time>`;
}

export const Loading = ({ label = text.loading }) =>
	html`<p class="loading" role="status"><span class="spinner" aria-hidden="true" />${label}</p>`;

/** @param {{ icon?: string, title: string, children: Page.Children, heading?: string }} props */
export const Empty = ({ icon = 'assets', title, children, heading = 'h2' }) =>
	html`<div class="empty"><${Icon} name=${icon} /><${heading}>${title}</${heading}>${children}</div>`;

/** @param {{ error: Page.Problem, retry?: () => void }} props */
export function Failure({ error, retry }) {
	const lost = error.code === 'offline';
	return html`<div class="failure" role="alert">
		<${Icon} name="errors" />
		<div><strong>${lost ? text.offlineTitle : text.failedTitle}</strong>
			<p>${lost ? text.offline : error.message}</p>${error.hint && html`<p class="quiet">${error.hint}</p>`}
			${retry && !lost && html`<button type="button" onClick=${retry}>
					<${Icon} name="again" />${text.retry}</button>`}</div>
	</div>`;
}

/**
 * Shows the loading state or error of a resource, else `children(data)`.
 * @template Data
 * @param {{ from: Page.Source<Data>, children: (data: Data) => Page.Children, loading?: string }} props
 */
export function Resource({ from, children, loading }) {
	if (from.data !== undefined) return html`${from.error
			&& html`<${Failure} error=${from.error} retry=${from.reload} />`}${children(from.data)}`;
	if (from.error) return html`<${Failure} error=${from.error} retry=${from.reload} />`;
	return html`<${Loading} label=${loading} />`;
}

/**
 * @param {{ title: string, note: Page.Children, actions: Page.Children, children: Page.Children, className?:
 * string, id: string }} props
 */
export const Panel = ({ title, note, actions, children, className = '', id }) =>
	html`<section class="panel ${className}" aria-labelledby=${id}>
	<header><h2 id=${id}>${title}${(note || note === 0) && html` <small>${note}</small>`}</h2>
		${actions}</header>${children}</section>`;

/** @param {{ value: string, label?: string }} props */
export function CopyButton({ value, label = text.copy }) {
	const [done, set] = useState(false);
	const timer = useRef(0);
	useEffect(() => () => clearTimeout(timer.current), []);
	const copy = async () => {
		if (navigator.clipboard) await navigator.clipboard.writeText(value);
		else copyBySelection(value);
		set(true);
		clearTimeout(timer.current);
		timer.current = setTimeout(() => set(false), 1600);
	};
	return html`<button type="button" class="small" onClick=${copy}><${Icon} name=${done ? 'fresh' : 'copy'} />
			<span aria-live="polite">${done ? text.copied : label}</span></button>`;
}

/**
 * For pages without the clipboard API: plain HTTP from another machine.
 * @param {string} value
 */
function copyBySelection(value) {
	const field = document.createElement('textarea');
	field.value = value;
	field.className = 'hidden';
	document.body.append(field);
	field.select();
	document.execCommand('copy');
	field.remove();
}

/**
 * A button for a slow action: shows that it runs, then its result.
 * @param {{ run: () => Promise<string | void>, icon: string, children: Page.Children, className?: string, reads:
 * boolean }} props
 */
export function ActionButton({ run, icon, children, className = '', reads }) {
	const [state, set] = useState(/** @type {{ busy?: boolean, done?: string | void, error?: Page.Problem }} */ ({}));
	const mayRun = useMayWrite() || reads;
	const act = async () => {
		set({ busy: true });
		try {
			set({ done: await run() });
		} catch (error) {
			set({ error: /** @type {Page.Problem} */ (error) });
		}
	};
	return html`<span class="action"><button type="button" class=${className} disabled=${state.busy || !mayRun}
			title=${mayRun ? undefined : text.session.readOnlyTitle} onClick=${act}>
		${state.busy ? html`<span class="spinner" aria-hidden="true" />` : icon && html`<${Icon} name=${icon} />`}
		${children}</button>
		<span class="outcome ${state.error ? 'tone-bad' : 'quiet'}"
			role="status">${state.error ? `${state.error.message}${state.error.hint ? ` (${state.error.hint})` : ''}`
				: state.done ?? ''}</span></span>`;
}

/**
 * Downloads a bundle to repeat a cook elsewhere; may fail if sources have changed. url: ".../bundle".
 * @param {{ url: string, name: string }} props
 */
export function BundleButton({ url, name }) {
	const run = async () => {
		await probe(url);
		const link = document.createElement('a');
		link.href = url;
		link.download = name;
		link.click();
	};
	return html`<span title=${text.asset.bundleTitle}>
			<${ActionButton} className="small" icon="download" run=${run}
				reads>${text.asset.bundle}</${ActionButton}></span>`;
}

/**
 * A link to an asset by "root/path": the file's name, and its folder below.
 * @param {{ name: string }} props
 */
export function AssetName({ name }) {
	const { file, folder, user } = partsOf(name);
	return html`<a href=${nameAddress(name)}><${Breakable} path=${file} /></a><br />
		<small><${Breakable} path=${folder} />${user && `, ${text.unsaved(user)}`}</small>`;
}

/**
 * Long names may wrap after a slash, and at separators of words.
 * @param {{ path: string }} props
 */
export const Breakable = ({ path }) => path.split(/(?<=[/_])|(?=[.])/)
	.map((part, at) => (at === 0 ? part : html`<wbr />${part}`));

/* Frame of every page: navigation, number of problems, and whether the page is live. */
import { html } from 'htm/preact';
import { useEffect, useState } from 'preact/hooks';
import { text } from './text.js';
import { clock, number } from './format.js';
import { Dropped } from './drop.js';
import { navigate, useAddress } from './router.js';
import { LATER, pace, useKey, useLive, useResource } from './hooks.js';
import { Keys } from './keys.js';
import { Icon } from './ui.js';
import { signOut, useSession } from './session.js';
import { ThemeSwitch } from './theme.js';
import { Updated } from './updated.js';
import { SHORT, Work } from './work.js';

const groups = [['overview', 'search', 'assets', 'textures', 'commits', 'errors', 'jobs'],
	['cache', 'clients', 'log'], ['settings', 'api']];
const GIT = '~commits'; /* the root of a repository's other commits */
/** @param {string} page */
const addressOf = (page) => (page === 'overview' ? '/' : `/ui/${page}`);

/**
 * A cook's outcome is shown soon, its beginning and its preview only if they last.
 * @param {Page.Told} given
 */
export const changesCounts = ({ kind, data }) =>
	(kind === 'job' || (kind === 'asset' && data.quality === 'preview') ? LATER : kind === 'asset');

/** @param {{ count: number | undefined, tone: Page.Tone, label: string }} props */
function Badge({ count, tone, label }) {
	if (!count) return null;
	return html`<span class="badge tone-${tone}" title=${label}>${number(count)}</span>`;
}

function Live() {
	const { connected, known, hello, lost } = useLive();
	const words = connected ? text.live.on : known ? text.live.off : text.live.starting;
	return html`<p class="live ${connected ? 'on' : 'off'}" role="status"
			title=${connected ? text.live.onTitle : text.live.offTitle}>
		<span class="dot" aria-hidden="true" />${words}
		${!connected && lost ? html` <small>${text.live.of(clock(lost))}</small>`
			: hello && html` <small>${hello.version}</small>`}</p>`;
}

function Person() {
	const { required, scope } = useSession();
	if (!required) return null;
	return html`<p class="person">${scope === 'read'
			&& html`<span class="quiet" title=${text.session.readOnlyTitle}>${text.session.readOnly}</span>`}
		<button type="button" class="small" onClick=${signOut}>${text.session.out}</button></p>`;
}

/** @param {{ page: string, children: Page.Children }} props */
export function Shell({ page, children }) {
	const [open, setOpen] = useState(false);
	const { path } = useAddress();
	const stats = useResource('/api/v1/stats', { on: changesCounts, every: 15000 });
	const git = useResource('/api/v1/roots').data?.items.some(({ name }) => name.endsWith(GIT));
	pace.gap = (stats.data?.progress?.left ?? 0) > SHORT ? 2000 : 300;
	useEffect(() => setOpen(false), [path]);
	useKey('/', (event) => {
		const field = /** @type {HTMLInputElement | null} */ (document.querySelector('main input[type=search]'));
		event.preventDefault();
		if (field) field.focus();
		else navigate('/ui/search');
	});
	const badges = /** @type {Page.Table<Page.Node>} */ ({
		errors: html`<${Badge} tone="bad" label=${text.nav.errors} count=${stats.data?.errors} />`,
		jobs: html`<${Badge} tone="work" label=${text.overview.working} count=${stats.data?.progress?.left} />`,
	});
	const { connected, known } = useLive();
	return html`<div class="shell ${known && !connected ? 'away' : ''}">
		<a class="skip" href="#main">${text.skip}</a>
		<header class="side">
			<a class="brand" href="/"><img src="/favicon.ico" alt="" width="26" height="26" />${text.product}</a>
			<button type="button" class="menu" aria-expanded=${open} aria-controls="nav"
				onClick=${() => setOpen(!open)}>
				<${Icon} name=${open ? 'close' : 'menu'} />${text.menu}</button>
			<nav id="nav" class=${open ? 'open' : ''} aria-label=${text.nav.label}>
				${groups.map((names) => names.filter((name) => name !== 'commits' || git))
				.map((names) => html`<ul>${names.map((name) => html`<li>
				<a href=${addressOf(name)} aria-current=${page === name ? 'page' : undefined}>
					<${Icon} name=${name} />${text.nav[name]}${badges[name]}</a></li>`)}</ul>`)}</nav>
			<${Person} /><${Keys} /><${ThemeSwitch} /><${Live} />
		</header>
		<main id="main" tabindex="-1" class="page-${page}"><${Updated} />
			<${Work} stats=${stats.data} /><${Dropped} />${children}</main>
	</div>`;
}

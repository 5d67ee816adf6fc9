/* Entry point of the dashboard. */
import { render } from 'preact';
import { html } from 'htm/preact';
import 'uplot/dist/uPlot.min.css';
import './style/base.css';
import './style/shell.css';
import './style/parts.css';
import './style/list.css';
import './style/pages.css';
import './style/compare.css';
import '../viewer/viewer.css';
import { waitForEarly } from './api.js';
import { startSession, useSession } from './session.js';
import { useAddress } from './router.js';
import { useTitle } from './hooks.js';
import { text } from './text.js';
import { Shell } from './shell.js';
import { Empty } from './ui.js';
import { Overview } from './pages/overview.js';
import { Assets } from './pages/assets.js';
import { Asset } from './pages/asset.js';
import { Library } from './pages/library.js';
import { Search } from './pages/search.js';
import { Jobs } from './pages/jobs.js';
import { Commits, CompareCommits } from './pages/commits.js';
import { Errors } from './pages/errors.js';
import { Cache } from './pages/cache.js';
import { Clients } from './pages/clients.js';
import { Log } from './pages/log.js';
import { Settings } from './pages/settings.js';
import { Api } from './pages/api.js';
import { SignIn } from './pages/sign_in.js';

/** @type {Page.Table<(props: { page: string, query: Page.Query, below: string }) => Page.Node | null>} */
const pages = { '': Overview, search: Search, assets: Assets, asset: Asset, textures: Library, materials: Library,
	clips: Library, features: Library, folders: Library, jobs: Jobs, errors: Errors, cache: Cache,
	commits: Commits, compare: CompareCommits,
	clients: Clients, log: Log, settings: Settings, api: Api };

const inLibrary = new Set(['materials', 'clips', 'features', 'folders']);

function NotThere() {
	useTitle(text.notThere.title);
	return html`<${Empty} heading="h1" icon="search" title=${text.notThere.title}><p>${text.notThere.detail}</p>
			<p><a href="/">${text.notThere.home}</a></p></${Empty}>`;
}

function App() {
	const { asked, scope, lost, leaving } = useSession();
	if (!asked || leaving) return null;
	return scope === 'none' ? html`<${SignIn} lost=${lost} />` : html`<${Pages} />`;
}

function Pages() {
	const { path, query } = useAddress();
	const [, folder, name = '', ...rest] = path.split('/');
	const Page = ['', 'ui'].includes(folder) && pages[name];
	let below = '';
	try {
		below = decodeURIComponent(rest.join('/'));
	} catch {
		// An address that is cut off inside an escape names nothing.
	}
	const shown = inLibrary.has(name) ? 'textures' : name === 'asset' ? 'assets'
		: name === 'compare' ? 'commits' : name || 'overview';
	return html`<${Shell} page=${shown}>
			${Page ? html`<${Page} key=${name} ...${{ page: name, query, below }} />`
				: html`<${NotThere} />`}</${Shell}>`;
}

startSession();
await waitForEarly();
render(html`<${App} />`, document.body);

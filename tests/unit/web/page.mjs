/* Lets modules of the pages run in node: stand-ins for what a browser gives, and components as text. Import this first. */
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

export const web = join(dirname(fileURLToPath(import.meta.url)), '../../../web');
const events = new EventTarget();
const stored = new Map();
Object.assign(globalThis, {
	location: new URL('http://127.0.0.1:7780/'), devicePixelRatio: 1, innerWidth: 1280, innerHeight: 800,
	addEventListener: events.addEventListener.bind(events), removeEventListener: events.removeEventListener.bind(events), dispatchEvent: events.dispatchEvent.bind(events),
	localStorage: { getItem: (key) => stored.get(key) ?? null, setItem: (key, value) => stored.set(key, String(value)), removeItem: (key) => stored.delete(key) },
	history: { pushState: (_, __, to) => (globalThis.location = new URL(to, globalThis.location)), replaceState: (_, __, to) => (globalThis.location = new URL(to, globalThis.location)) },
	document: Object.assign(new EventTarget(), { hidden: false, documentElement: { dataset: {}, style: {} }, querySelector: () => null, querySelectorAll: () => [] }),
	matchMedia: () => Object.assign(new EventTarget(), { matches: false }), BroadcastChannel: class { postMessage() {} }, requestAnimationFrame: () => 0, cancelAnimationFrame: () => {},
});

/** Imports a module below web/. */
export const load = (path) => import(pathToFileURL(join(web, path)));

const { renderToString } = await import(pathToFileURL(join(web, 'node_modules/preact-render-to-string/dist/index.mjs')));
const { html } = await import(pathToFileURL(join(web, 'node_modules/htm/preact/index.mjs')));
const { keep } = await load('app/hooks.js');
export { html };

/** A component as text; answers: {path: what the API would answer}. */
export function show(component, props = {}, answers = {}) {
	for (const [path, data] of Object.entries(answers)) keep(path, data);
	return renderToString(html`<${component} ...${props} />`);
}

const entities = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'", nbsp: ' ' };
/** The words of what show() gave, as a person reads them. */
export const read = (shown) => shown.replace(/<wbr ?\/>/g, '').replace(/<[^>]*>/g, ' ').replace(/&(#?\w+);/g, (_, name) => entities[name] ?? ' ').replaceAll('\u00a0', ' ').replace(/\s+/g, ' ').trim();

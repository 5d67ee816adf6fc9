import { html } from 'htm/preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { text } from '../text.js';
import { getTagged, write } from '../api.js';
import { percent, size } from '../format.js';
import { listen } from '../live.js';
import { useResource } from '../hooks.js';
import { useMayWrite } from '../session.js';
import { Failure, Icon, Loading, Panel, Resource } from '../ui.js';

const words = text.settings;

const at = (object, path) => path.split('.').reduce((value, name) => value?.[name], object);

/** {'lods.max': 3} -> {lods: {max: 3}} */
function nest(flat) {
	const out = {};
	for (const [path, value] of Object.entries(flat)) {
		const names = path.split('.');
		const last = names.pop();
		names.reduce((object, name) => (object[name] ??= {}), out)[last] = value;
	}
	return out;
}

/** The schema's keys with dots: [{path, type, description, ...}]. */
const keysOf = (schema, prefix = '') => Object.entries(schema.properties ?? {}).filter(([name]) => !['$schema', 'calculate_LODs'].includes(name))
	.flatMap(([name, one]) => (one.type === 'object' ? keysOf(one, `${prefix}${name}.`) : [{ path: prefix + name, ...one }]));

function Control({ setting, value, change, labelled }) {
	if (setting.type === 'boolean') return html`<input type="checkbox" id=${labelled} checked=${value} onChange=${(event) => change(event.target.checked)} />`;
	const choices = setting.enum ?? words.steps[setting.path];
	if (choices) {
		const all = choices.includes(value) ? choices : [...choices, value].sort((a, b) => a - b);
		return html`<select id=${labelled} value=${value} onChange=${(event) => change(setting.enum ? event.target.value : Number(event.target.value))}>${all.map((choice) => html`<option value=${choice}>${words.choices[setting.path]?.[choice] ?? (words.units[setting.path] ? `${choice} ${words.units[setting.path]}` : choice)}</option>`)}</select>`;
	}
	const whole = setting.type === 'integer';
	return html`<input type="number" id=${labelled} value=${whole ? value : Number(Number(value).toPrecision(6))} min=${setting.minimum} max=${setting.maximum} step=${whole ? 1 : 'any'}
		onInput=${(event) => event.target.value !== '' && event.target.checkValidity() && change(Number(event.target.value))} />${words.units[setting.path] && html` <span class="quiet">${words.units[setting.path]}</span>`}`;
}

function Origin({ origin, sidecar }) {
	if (origin === 'default') return html`<span class="origin quiet">${words.origins.default}</span>`;
	const own = origin === sidecar;
	return html`<span class="origin ${own ? 'own' : ''}" title=${origin}><${Icon} name=${own ? 'assets' : 'folder'} />${own ? words.origins.own : origin}</span>`;
}

function Row({ setting, data, drafts, draft }) {
	const { path } = setting;
	const [label, help] = text.settingNames[path] ?? [path, setting.description];
	const changed = path in drafts;
	const own = data.origins[path] === data.sidecar.path;
	const value = changed && drafts[path] !== null ? drafts[path] : at(data.settings, path);
	const id = `setting-${path.replaceAll('.', '-')}`;
	return html`<div class="setting ${changed ? 'draft' : ''}"><div><label for=${id}>${label}</label><p class="quiet" title=${path}>${help ?? setting.description}</p></div>
		<div class="control"><${Control} setting=${setting} value=${value} labelled=${id} change=${(next) => draft(path, next)} /></div>
		<div class="from">${changed ? html`<span class="origin tone-work">${drafts[path] === null ? words.willReset : words.unsaved}</span><button type="button" class="small" onClick=${() => draft(path)}>${words.undo}</button>`
			: html`<${Origin} origin=${data.origins[path]} sidecar=${data.sidecar.path} />${own && html`<button type="button" class="small" onClick=${() => draft(path, null)}>${words.reset}</button>`}`}</div></div>`;
}

/* What a saved change brought: told when the asset has been cooked again. */
function useOutcome(asset) {
	const [before, setBefore] = useState(null);
	const done = before && asset.rev > before.rev && ['fresh', 'stale', 'failed'].includes(asset.state) && (asset.state === 'fresh' || asset.error);
	return { watch: () => setBefore({ bytes: asset.bytes.cooked, rev: asset.rev }), before, done };
}

function Outcome({ asset, outcome }) {
	const { before, done } = outcome;
	if (!before) return null;
	if (!done) return html`<p class="outcome-line" role="status"><span class="spinner" aria-hidden="true" />${words.cooking}</p>`;
	if (asset.error) return html`<p class="outcome-line tone-bad" role="status"><${Icon} name="failed" />${words.failed}</p>`;
	const now = asset.bytes.cooked;
	const share = before.bytes ? (now - before.bytes) / before.bytes : 0;
	return html`<p class="outcome-line tone-good" role="status"><${Icon} name="fresh" />${now === before.bytes ? words.sameSize(size(now)) : words.newSize(size(before.bytes), size(now), `${share > 0 ? '+' : '−'}${percent(Math.abs(share))}`)}</p>`;
}

function Editor({ asset, schema }) {
	const [tagged, setTagged] = useState(null);
	const [error, setError] = useState(null);
	const [drafts, setDrafts] = useState({});
	const [busy, setBusy] = useState(false);
	const outcome = useOutcome(asset);
	const mayWrite = useMayWrite();
	const address = `/api/v1/assets/${asset.id}/settings`;
	const dirty = useRef(false);
	dirty.current = Object.keys(drafts).length > 0;
	const load = () => getTagged(address).then((found) => setTagged(found), setError);
	useEffect(() => {
		load();
		return listen((event) => (event.kind === 'hello' || (event.kind === 'asset' && event.data.id === asset.id)) && !dirty.current && load());
	}, [address]);
	if (!tagged) return error ? html`<${Failure} error=${error} retry=${load} />` : html`<${Loading} />`;
	const { data, etag } = tagged;
	const draft = (path, value) => setDrafts((old) => {
		const next = { ...old };
		if (value === undefined || (value !== null && value === at(data.settings, path))) delete next[path];
		else next[path] = value;
		return next;
	});
	const save = async (event) => {
		event.preventDefault();
		setBusy(true);
		setError(null);
		try {
			outcome.watch();
			await write('PATCH', address, nest(drafts), { 'If-Match': etag, 'Content-Type': 'application/merge-patch+json' });
			setDrafts({});
		} catch (reason) {
			setError(reason.status === 412 ? Object.assign(reason, { message: words.conflict }) : reason);
		}
		await load();
		setBusy(false);
	};
	const keys = keysOf(schema);
	const grouped = Object.entries(words.groups).map(([name, paths]) => [name, paths.map((path) => keys.find((key) => key.path === path)).filter(Boolean)]);
	const rest = keys.filter((key) => !Object.values(words.groups).flat().includes(key.path));
	const count = Object.keys(drafts).length;
	return html`<form class="stack" onSubmit=${save}>
		${error && html`<${Failure} error=${error} />`}
		<p class="quiet">${words.intro} <code class="anywhere">${data.sidecar.path}</code>${data.sidecar.exists ? '' : ` ${words.notYet}`}</p>
		${[...grouped, ...(rest.length ? [[words.other, rest]] : [])].map(([name, settings]) => html`<${Panel} id=${`group-${name}`} title=${name}>${settings.map((setting) => html`<${Row} key=${setting.path} setting=${setting} data=${data} drafts=${drafts} draft=${draft} />`)}</${Panel}>`)}
		<div class="savebar ${count || outcome.before ? 'open' : ''}"><button type="submit" class="primary" disabled=${!count || busy || !mayWrite} title=${mayWrite ? undefined : text.session.readOnlyTitle}>${busy ? html`<span class="spinner" aria-hidden="true" />` : ''}${words.save(count)}</button>
			${count > 0 && html`<button type="button" onClick=${() => setDrafts({})}>${words.discard}</button>`}
			${count === 0 && html`<${Outcome} asset=${asset} outcome=${outcome} />`}</div>
	</form>`;
}

export function AssetSettings({ asset }) {
	const schema = useResource('/api/v1/schema/settings.json');
	return html`<${Resource} from=${schema}>${(data) => html`<${Editor} asset=${asset} schema=${data} />`}</${Resource}>`;
}

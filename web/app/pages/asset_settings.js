import { html } from 'htm/preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { text } from '../text.js';
import { getTagged, query, write } from '../api.js';
import { percent, plural, quantity, size } from '../format.js';
import { listen } from '../live.js';
import { useElement, useKey, useResource } from '../hooks.js';
import { guardLeaving } from '../router.js';
import { useMayWrite } from '../session.js';
import { nest, valueAt } from '../values.js';
import { Empty, Failure, Icon, isSettled, Loading, Panel, Resource } from '../ui.js';

const words = text.settings;
const TEXTURES_LOOKED_AT = 64;
const KTX2_HEAD = 28;
const TINY = 1e-6; /* a bound as small, or as large, limits no value that people write */
const HUGE = 1e9;
const KTX2_MAGIC = 0xab4b5458;

/**
 * Files that may hold settings of an asset, nearest first: its sidecar, then cook.json of each folder above.
 * @param {string} path
 */
const filesOf = (path) => [`${path}.cook.json`, ...path.split('/').map((_, depth, names) =>
	[...names.slice(0, names.length - 1 - depth), 'cook.json'].join('/'))];

/** @typedef {Page.Table<Page.Setting | null>} Drafts  new values of settings; null: the setting is taken out */

/**
 * The schema itself, or the one that its $ref names.
 * @param {Page.Schema} schema
 */
const rootOf = (schema) => (schema.$ref
		? /** @type {Page.Schema} */ (valueAt(schema, schema.$ref.split('/').slice(1))) : schema);

/**
 * The schema's keys, joined with dots: [{path, type, description, ...}].
 * @param {Page.Schema} schema
 * @param {string} [prefix]
 * @returns {Page.SettingKey[]}
 */
const keysOf = (schema, prefix = '') => Object.entries(schema.properties ?? {})
	.filter(([name]) => !['$schema', 'calculate_LODs', 'rules'].includes(name)) /* rules are edited in files only */
	.flatMap(([name, one]) => (one.type === 'object' ? keysOf(one, `${prefix}${name}.`)
			: [{ path: prefix + name, ...one }]));

/**
 * All settings of the schema: [{path, type, description, ...}].
 * @param {Page.Schema} schema
 */
export const settingsOf = (schema) => keysOf(rootOf(schema));

/**
 * @param {{ setting: Page.SettingKey, value: Page.Setting, change: (value: Page.Setting) => void, labelled: string
 * }} props
 */
function Control({ setting, value, change, labelled }) {
	if (setting.type === 'boolean') return html`<input type="checkbox" id=${labelled} checked=${value}
			onChange=${(event) => change(event.target.checked)} />`;
	/** @type {(string | number)[]} */
	const choices = setting.enum ?? words.steps[setting.path];
	if (choices) {
		const now = typeof value === 'boolean' ? Number(value) : value;
		const all = choices.includes(now) ? choices : [...choices, now].sort((a, b) => Number(a) - Number(b));
		return html`<select id=${labelled} value=${value}
				onChange=${(event) => change(setting.enum ? event.target.value : Number(event.target.value))}>
				${all.map((choice) => html`<option value=${choice}>
					${words.choices[setting.path]?.[choice]
						?? (words.units[setting.path] ? `${choice} ${words.units[setting.path]}` : choice)}</option>`)}
						</select>`;
	}
	if (setting.type === 'string')
		return html`<input type="text" id=${labelled} value=${value ?? ''} spellcheck="false"
				onInput=${(event) => change(event.target.value)} />`;
	const whole = setting.type === 'integer';
	return html`<input type="number" id=${labelled} value=${whole ? value : Number(Number(value).toPrecision(6))}
			min=${setting.minimum} max=${setting.maximum} step=${whole ? 1 : 'any'}
		onInput=${(event) => event.target.value !== '' && event.target.checkValidity()
				&& change(Number(event.target.value))} />
				${words.units[setting.path] && html` <span class="quiet">${words.units[setting.path]}</span>`}`;
}

/** @param {{ origin: string, files: string[], data: Api.Settings }} props */
function Origin({ origin, files, data }) {
	if (origin === 'default') return html`<span class="origin quiet">${words.origins.default}</span>`;
	const own = origin === files[0];
	const nearer = files.includes(origin) && files.indexOf(origin) < files.indexOf(data.sidecar.path);
	return html`<span class="origin ${own ? 'own' : ''}" title=${origin}><${Icon} name=${own ? 'assets' : 'folder'} />
			${own ? words.origins.own : origin}${nearer && ` ${words.nearer}`}</span>`;
}

/** @param {Page.Setting | undefined} value */
const say = (value) => (typeof value === 'number' ? quantity(value) : typeof value === 'boolean'
		? (value ? text.yes : text.no) : value);

/**
 * @param {number} from
 * @param {number} to
 */
const range = (from, to) => (from > 0 && from < TINY && to >= HUGE ? words.above(say(0))
		: words.range(say(from), say(to)));

/**
 * ", 1 to 7, default 7": the allowed values, if the schema gives them.
 * @param {Page.SettingKey} given
 */
export function limits({ path, type, minimum, maximum, default: standard }) {
	const named = words.choices[path]?.[String(standard)] ?? say(standard);
	const ranged = (type === 'integer' || type === 'number') && maximum !== undefined && maximum < 4294967295;
	return `${ranged ? `, ${range(minimum ?? 0, maximum)}` : ''}${standard === undefined || standard === ''
		? '' : `, ${words.standard(named)}`}`;
}

/**
 * The label and the explanation of a setting.
 * @param {Page.SettingKey} given
 */
export const wordsOf = ({ path, description }) => {
	const [label, help] = text.settingNames[path] ?? [path, description];
	return [label, help ?? description];
};

/**
 * Whether every word of the search occurs in the row's text or in its description in the schema.
 * @param {Page.SettingKey} setting
 * @param {string} search
 */
const matches = (setting, search) => {
	const said = [...wordsOf(setting), setting.path, setting.description].join(' ').toLowerCase();
	return search.toLowerCase().split(/\s+/).every((word) => said.includes(word));
};

/**
 * The value in the file that is edited, else the effective one.
 * @param {Api.Settings} data
 * @param {string} path
 */
const valueOf = (data, path) => /** @type {Page.Setting} */ (
	valueAt(data.sidecar.value, path.split('.')) ?? valueAt(data.settings, path.split('.')));

/**
 * @param {{ setting: Page.SettingKey, data: Api.Settings, files: string[], drafts: Drafts, draft: (path: string,
 * value?: Page.Setting | null) => void }} props
 */
function Row({ setting, data, files, drafts, draft }) {
	const { path } = setting;
	const [label, help] = wordsOf(setting);
	const changed = path in drafts;
	const own = data.origins[path] === data.sidecar.path;
	const value = changed && drafts[path] !== null ? drafts[path] : valueOf(data, path);
	const id = `setting-${path.replaceAll('.', '-')}`;
	return html`<div class="setting ${changed ? 'draft' : ''}">
			<div><label for=${id}>${label}</label><p class="quiet" title=${setting.description}>
				${help}
			<small><code>${path}</code>${limits(setting)}</small></p></div>
		<div class="control"><${Control} setting=${setting} value=${value} labelled=${id}
				change=${(next) => draft(path, next)} /></div>
		<div class="from">${changed ? html`<span class="origin tone-work">
				${drafts[path] === null ? words.willReset : words.unsaved}</span>
				<button type="button" class="small" onClick=${() => draft(path)}>${words.undo}</button>`
			: html`<${Origin} origin=${data.origins[path]} files=${files} data=${data} />
				${own && html`<button type="button" class="small" onClick=${() => draft(path, null)}>
					${words.reset}</button>`}`}</div></div>`;
}

/** @param {Api.Asset} asset */
const bytesOf = (asset) => {
	/** @type {Page.Table<number>} */
	const sums = { textures: 0, meshes: 0, other: 0 };
	for (const { name, size: bytes } of asset.outputs) sums[name.startsWith('textures/') ? 'textures'
			: name === 'meshes' ? 'meshes' : 'other'] += bytes;
	return sums;
};

/**
 * [width, height] of the largest texture, from the head of each KTX2 file; null until it is known, or if there is
 * none.
 * @param {Api.Asset} asset
 */
function useLargestTexture(asset) {
	const [largest, setLargest] = useState(/** @type {number[] | null} */ (null));
	const textures = asset.outputs.filter(({ name }) => name.startsWith('textures/')).slice(0, TEXTURES_LOOKED_AT);
	useEffect(() => {
		const stop = new AbortController();
		/** @param {{ url: string }} given */
		const look = async ({ url }) => {
			const answer = await fetch(url, { headers: { Range: `bytes=0-${KTX2_HEAD - 1}` }, signal: stop.signal });
			const head = new DataView(await answer.arrayBuffer());
			return answer.ok && head.byteLength >= KTX2_HEAD && head.getUint32(0) === KTX2_MAGIC
				? [head.getUint32(20, true), head.getUint32(24, true)] : [0, 0];
		};
		Promise.all(textures.map(look)).then((sides) => {
			const most = sides.sort((a, b) => Math.max(...b) - Math.max(...a))[0];
			setLargest(most?.[0] ? most : null);
		}, () => {});
		return () => stop.abort();
	}, [textures.map(({ hash }) => hash).join()]);
	return largest;
}

/**
 * Tells how much of the asset the settings of a group can change.
 * @param {{ name: string, asset: Api.Asset }} props
 */
function GroupNote({ name, asset }) {
	const largest = useLargestTexture(asset);
	const { textures, meshes } = bytesOf(asset);
	if (!asset.outputs.length) return null;
	if (name === 'Textures') return textures ? words.textureShare(size(textures),
		percent(textures / asset.bytes.cooked), largest && largest.join('\u00a0×\u00a0')) : words.noTextures;
	return name === 'Levels of detail' ? words.meshShare(size(meshes), percent(meshes / asset.bytes.cooked)) : null;
}

/**
 * Outcome of a saved change, shown once the asset has been cooked again.
 * @param {Api.Asset} asset
 */
function useOutcome(asset) {
	const [before, setBefore] = useState(
		/** @type {{ bytes: number, parts: Page.Table<number>, rev: number } | null} */ (null));
	/* A preview is larger than the final cook, so it does not show what the change saved. */
	const done = before && asset.rev > before.rev && (asset.quality !== 'preview' || asset.error)
		&& isSettled(asset);
	return { watch: () => setBefore({ bytes: asset.bytes.cooked, parts: bytesOf(asset), rev: asset.rev }),
		before, done };
}

/** @param {{ asset: Api.Asset, outcome: ReturnType<typeof useOutcome> }} props */
function Outcome({ asset, outcome }) {
	const { before, done } = outcome;
	if (!before) return null;
	if (!done) return html`<p class="outcome-line" role="status"><span class="spinner" aria-hidden="true" />
			${words.cooking}</p>`;
	if (asset.error) return html`<p class="outcome-line tone-bad" role="status">
			<${Icon} name="failed" />${words.failed}</p>`;
	const now = asset.bytes.cooked;
	if (now === before.bytes) return html`<p class="outcome-line tone-good" role="status">
			<${Icon} name="fresh" />${words.sameSize(size(now))}</p>`;
	/**
	 * @param {number} from
	 * @param {number} to
	 * @returns {[string, string, string]}
	 */
	const change = (from, to) => [size(from), size(to),
		from ? `${to > from ? '+' : '−'}${percent(Math.abs(to - from) / from)}` : ''];
	const parts = bytesOf(asset);
	const moved = Object.keys(parts).filter((name) => Math.abs(parts[name] - before.parts[name]) > before.bytes / 200);
	return html`<p class="outcome-line tone-${now > before.bytes ? 'warn' : 'good'}" role="status">
			<${Icon} name=${now > before.bytes ? 'up' : 'down'} /><span>${words.newSize(...change(before.bytes, now))}
		${moved.length > 0 && html` <small>${moved.map((name) =>
				words.partSize[name](...change(before.parts[name], parts[name]))).join(' · ')}</small>`}</span></p>`;
}

/**
 * Chooses where the change applies: to the model, or to a folder with everything below.
 * @param {{ asset: Api.Asset, files: string[], file: string, choose: (name: string) => void, locked: boolean }}
 * props
 */
function Reach({ asset, files, file, choose, locked }) {
	/** @param {string} name */
	const folder = (name) => [asset.root, ...name.split('/').slice(0, -1)].join('/');
	return html`<label class="reach">${words.reach} <select value=${file} disabled=${locked}
			title=${locked ? words.reachLocked : undefined} onChange=${(event) => choose(event.target.value)}>
		${files.map((name, depth) => html`<option value=${name}>
			${depth ? words.reachFolder(folder(name)) : words.reachModel}</option>`)}</select></label>`;
}

/** @param {{ value: string, change: (value: string) => void, shown: number, of: number }} props */
function Search({ value, change, shown, of }) {
	/** @type {{ current: HTMLInputElement }} */
	const field = useElement();
	useKey('/', (event) => {
		event.preventDefault();
		field.current.focus();
		field.current.select();
	});
	/** @param {KeyboardEvent} event */
	const pressed = (event) => {
		if (event.key === 'Enter') event.preventDefault(); /* Enter would save */
		if (event.key === 'Escape') change('');
	};
	return html`<div class="toolbar"><label class="search"><span class="hidden">${words.search}</span>
			<${Icon} name="search" />
			<input type="search" ref=${field} placeholder=${words.search} value=${value} autocomplete="off"
				spellcheck="false" onInput=${(event) => change(event.target.value)} onKeyDown=${pressed} />
			<kbd aria-hidden="true">/</kbd></label>
		<span class="quiet" role="status">${shown === of ? plural(of, words.word) : words.found(shown, of)}</span>
		</div>`;
}

/** @param {{ asset: Api.Asset, schema: Page.Schema }} props */
function Editor({ asset, schema }) {
	const files = filesOf(asset.path);
	const [file, setFile] = useState(files[0]);
	const [saved, setSaved] = useState('');
	const folder = file !== files[0];
	const [tagged, setTagged] = useState(
		/** @type {{ data: Api.Settings, etag: string, address: string } | null} */ (null));
	const [error, setError] = useState(/** @type {Page.Problem | null} */ (null));
	const [drafts, setDrafts] = useState(/** @type {Drafts} */ ({}));
	const [search, setSearch] = useState('');
	const [busy, setBusy] = useState(false);
	const outcome = useOutcome(asset);
	const mayWrite = useMayWrite();
	const address = /** @type {const} */ (`/api/v1/assets/${asset.id}/settings${query({ file: folder && file })}`);
	const dirty = useRef(false);
	dirty.current = Object.keys(drafts).length > 0;
	/* A change must go to the file that is shown and no other. */
	const wanted = useRef(address);
	wanted.current = address;
	const load = () => getTagged(address)
		.then((found) => wanted.current === address && setTagged({ ...found, address }), setError);
	useEffect(() => {
		load();
		return listen((event) => (event.kind === 'hello' || (event.kind === 'asset' && event.data.id === asset.id))
				&& !dirty.current && load());
	}, [address]);
	useEffect(() => guardLeaving(() => dirty.current && words.leave), []);
	if (!tagged) return error ? html`<${Failure} error=${error} retry=${load} />` : html`<${Loading} />`;
	const { data, etag } = tagged;
	const here = tagged.address === address;
	/** @param {string} name */
	const choose = (name) => {
		setSaved('');
		setFile(name);
	};
	/**
	 * @param {string} path
	 * @param {Page.Setting | null | undefined} value
	 */
	const draft = (path, value) => setDrafts((old) => {
		const next = { ...old };
		if (value === undefined || (value !== null && value === valueOf(data, path))) delete next[path];
		else next[path] = value;
		return next;
	});
	/** @param {Event} event */
	const save = async (event) => {
		event.preventDefault();
		setBusy(true);
		setError(null);
		try {
			setSaved('');
			if (!folder) outcome.watch();
			await write('PATCH', address, nest(drafts),
				{ 'If-Match': etag, 'Content-Type': 'application/merge-patch+json' });
			setDrafts({});
			if (folder) setSaved(file);
		} catch (reason) {
			const problem = /** @type {Page.Problem} */ (reason);
			if (problem.status === 412) problem.message = words.conflict;
			setError(problem);
		}
		await load();
		setBusy(false);
	};
	const every = settingsOf(schema);
	const found = search.trim() === '' ? every : every.filter((key) => matches(key, search.trim()));
	/* Settings with unsaved values stay visible. */
	const keys = every.filter((key) => found.includes(key) || key.path in drafts);
	/** @type {[string, Page.SettingKey[]][]} */
	const grouped = Object.entries(words.groups)
		.map(([name, paths]) => [name, keys.filter(({ path }) => paths.includes(path))
			.sort((a, b) => paths.indexOf(a.path) - paths.indexOf(b.path))]);
	const rest = keys.filter((key) => !Object.values(words.groups).flat().includes(key.path));
	grouped.push([words.other, rest]);
	const count = Object.keys(drafts).length;
	return html`<form class="stack" onSubmit=${save}>
		${error && html`<${Failure} error=${error} />`}
		<${Reach} asset=${asset} files=${files} file=${file} choose=${choose} locked=${count > 0 || busy} />
		<p class="quiet">${folder ? words.introFolder : words.intro} <code class="anywhere">${data.sidecar.path}</code>
			${data.sidecar.exists ? '' : ` ${words.notYet}`}</p>
		<${Search} value=${search} change=${setSearch} shown=${found.length} of=${every.length} />
		<fieldset class="stack" disabled=${!here}>
			${keys.length === 0 && html`<section class="panel">
					<${Empty} icon="search" title=${words.nothing}><p><button type="button"
						onClick=${() => setSearch('')}>${words.showAll}</button></p></${Empty}></section>`}
			${grouped.filter(([, settings]) => settings.length).map(([name, settings]) =>
				html`<${Panel} id=${`group-${name}`} title=${name}
					note=${html`<${GroupNote} name=${name} asset=${asset} />`}>
					${settings.map((setting) => html`<${Row} key=${setting.path} setting=${setting} data=${data}
						files=${files} drafts=${drafts} draft=${draft} />`)}</${Panel}>`)}</fieldset>
		<div class="savebar ${count || outcome.before || saved ? 'open' : ''}">
			<button type="submit" class="primary" disabled=${!count || busy || !mayWrite}
				title=${mayWrite ? undefined : text.session.readOnlyTitle}>
				${busy ? html`<span class="spinner" aria-hidden="true" />` : ''}${words.save(count)}</button>
			${count > 0 && html`<button type="button" onClick=${() => setDrafts({})}>${words.discard}</button>`}
			${count === 0 && saved && html`<p class="outcome-line tone-good" role="status"><${Icon} name="fresh" />
				${words.savedFolder(saved)}</p>`}
			${count === 0 && !saved && html`<${Outcome} asset=${asset} outcome=${outcome} />`}</div>
	</form>`;
}

/** @param {{ asset: Api.Asset }} props */
export function AssetSettings({ asset }) {
	const schema = useResource('/api/v1/schema/settings.json');
	return html`<${Resource} from=${schema}>${(data) => html`<${Editor} asset=${asset} schema=${data} />`}
		</${Resource}>`;
}

import { NotifySwitch } from '../notify.js';
import { html } from 'htm/preact';
import { useEffect, useState } from 'preact/hooks';
import { text } from '../text.js';
import { post } from '../api.js';
import { number, plural, sentence } from '../format.js';
import { useResource, useTitle } from '../hooks.js';
import { listen } from '../live.js';
import { changesCounts } from '../shell.js';
import { assetAddress, choose, nameAddress, setQuery } from '../router.js';
import { ActionButton, Breakable, Empty, Icon, Resource, State, Time } from '../ui.js';
import { editorTemplate, Place, setEditorTemplate } from '../fault.js';
import { findProblems, folderOf, formatOf, groupProblems, whenFailed } from '../problems.js';
import { BrokenRules } from './findings.js';

const words = text.errors;
const SHOWN = 4;
const KEPT = 8; /* repaired assets */

/** @typedef {ReturnType<typeof whenFailed>} Failed */

/** @param {{ when: { at: string, author?: string, subject?: string } | undefined }} props */
const When = ({ when }) => when && html`<small class="when"><${Time} at=${when.at} />
	${when.author && html` <span title=${when.subject}>${words.by(when.author)}</span>`}</small>`;

/** @param {{ asset: Page.Group['assets'][number], failed: Failed }} props */
const Affected = ({ asset, failed }) => html`<li><a href=${assetAddress(asset)}>
		<${Breakable} path=${`${asset.root}/${asset.path}`} /></a> <${State} state=${asset.standing} />
		${' '}<${Place} location=${asset.location} asset=${asset} beside />
		${' '}<${When} when=${failed.get(`${asset.root}/${asset.path}`)} />
		${asset.message && html`<br /><small>${sentence(asset.message)}</small>`}</li>`;

/** @param {{ group: Page.Group, failed: Failed }} props */
function Group({ group: { message, hint, root_cause: cause, assets }, failed }) {
	const [all, setAll] = useState(false);
	const [first] = assets;
	const again = async () => {
		await Promise.all(assets.map(({ id }) => post(`/api/v1/assets/${id}/cook`, { force: true })));
		return text.asset.cookAsked;
	};
	return html`<article class="panel problem" aria-labelledby=${`p-${first.id}`}>
		<${Icon} name="failed" /><div class="anywhere">
			<div class="says"><h2 id=${`p-${first.id}`}>${sentence(message)}</h2>
				<${ActionButton} className="small" icon="again" run=${again}>${words.retry}</${ActionButton}></div>
			${hint && html`<p class="hint">${sentence(hint)}</p>`}
			${cause && html`<p>${text.fault.because} <a href=${nameAddress(cause)}>${cause}</a></p>`}
			${assets.length > 1 && html`<p class="quiet">${words.affects(number(assets.length))}</p>`}
			<ul class="affected">${(all ? assets : assets.slice(0, SHOWN)).map((asset) =>
				html`<${Affected} key=${asset.id} ...${{ asset, failed }} />`)}</ul>
			${assets.length > SHOWN && html`<p><button type="button" class="small" onClick=${() => setAll(!all)}>
				${all ? words.fewer : words.showAll(number(assets.length))}</button></p>`}</div></article>`;
}

function EditorLink() {
	const [value, set] = useState(editorTemplate());
	/** @param {Page.On<HTMLInputElement>} event */
	const change = ({ currentTarget: { value: typed } }) => {
		set(typed);
		setEditorTemplate(typed.trim());
	};
	return html`<details class="editor"><summary>${words.editor}</summary><p class="quiet">${words.editorHelp}</p>
		<label>${words.editorLabel} <input type="text" value=${value} onInput=${change}
				placeholder="vscode://file/{path}:{line}:{column}" spellcheck="false" /></label></details>`;
}

/* The assets that were repaired while this page is open, newest first. */
function useRepaired() {
	const [names, set] = useState(/** @type {string[]} */ ([]));
	useEffect(() => listen(({ kind, data }) => {
		if (kind !== 'asset') return;
		if (data.kind === 'recovered') set((old) =>
				[data.asset, ...old.filter((name) => name !== data.asset)].slice(0, KEPT));
		else if (data.kind === 'failed') set((old) => old.filter((name) => name !== data.asset));
	}), []);
	return names;
}

function Repaired() {
	const names = useRepaired();
	if (!names.length) return null;
	return html`<section class="panel" aria-label=${words.repaired} aria-live="polite">
			<ul class="lines">${names.map((name) => html`<li key=${name}>
		<span class="state tone-good"><${Icon} name="fresh" />${words.repaired}</span>
		<span class="name"><a href=${nameAddress(name)}><${Breakable} path=${name} /></a></span></li>`)}
		</ul></section>`;
}

/**
 * A choice of one of the values that the problems have; nothing where all have the same.
 * @param {{ name: string, value?: string, label: string, any: string, values: string[], say?: (value: string) =>
 * string }} props
 */
function Choice({ name, value = '', label, any, values, say = (each) => each }) {
	if (values.length < 2) return null;
	return html`<label><span class="hidden">${label}</span>
		<select value=${value} onChange=${(event) => choose({ [name]: event.target.value })}>
			<option value="">${any}</option>
			${values.map((each) => html`<option value=${each}>${say(each)}</option>`)}</select></label>`;
}

/** @param {{ query: Page.Query, groups: Page.Group[] }} props */
function Toolbar({ query, groups }) {
	const assets = groups.flatMap((group) => group.assets);
	/**
	 * @template Thing
	 * @param {Thing[]} list
	 * @param {(each: Thing) => string} of
	 */
	const some = (list, of) => [...new Set(list.map(of))].sort();
	return html`<div class="toolbar"><label class="search"><span class="hidden">${words.search}</span>
			<${Icon} name="search" />
			<input type="search" placeholder=${words.search} value=${query.q ?? ''}
				onInput=${(event) => setQuery({ q: event.target.value })}
				spellcheck="false" autocomplete="off" /></label>
		<${Choice} name="code" value=${query.code} label=${words.kind} any=${words.anyKind}
			values=${some(groups, ({ code }) => code)} say=${(code) => words.codes[code] ?? code} />
		<${Choice} name="folder" value=${query.folder} label=${words.folder} any=${words.anyFolder}
			values=${some(assets, folderOf)} />
		<${Choice} name="format" value=${query.format} label=${words.format} any=${words.anyFormat}
			values=${some(assets, formatOf)} /></div>`;
}

/** @param {{ query: Page.Query }} props */
export function Errors({ query }) {
	useTitle(words.title);
	const errors = useResource('/api/v1/errors', { on: (event) => event.kind === 'asset' });
	const stats = useResource('/api/v1/stats', { on: changesCounts }).data;
	const jobs = useResource('/api/v1/jobs?state=failed&limit=1000', { on: (event) => event.kind === 'asset' });
	const commits = useResource('/api/v1/commits?limit=500', { on: (event) => event.kind === 'root' });
	const failed = whenFailed(jobs.data?.items ?? [], commits.data);
	const left = stats?.progress?.left ?? 0;
	const items = errors.data?.items ?? [];
	const groups = groupProblems(items);
	const shown = findProblems(groups, query);
	return html`<div class="head"><h1>${words.title}</h1>${items.length > 0 && html`<p class="quiet" role="status">
			${words.count(plural(groups.length, words.causeWord),
					plural(errors.data?.assets ?? 0, text.assetWord))}</p>`}</div>
		<${Resource} from=${errors}>${() => html`<div class="stack"><${Repaired} />
			${items.length === 0 ? html`<section class="panel">
					<${Empty} icon="fresh" title=${left ? text.overview.noneSoFar : words.none}>
						<p>${left ? words.noneYet(plural(left, text.assetWord))
							: stats?.assets.total === 0 ? words.nothing : words.noneDetail}</p></${Empty}>
						</section>`
				: html`<${Toolbar} query=${query} groups=${groups} />
					${shown.length === 0 && html`<section class="panel">
							<${Empty} icon="search" title=${text.assets.nothing}>
						<p><a href="/ui/errors">${words.all}</a></p></${Empty}></section>`}
					${shown.map((group) => html`<${Group} key=${`${group.code}${group.message}${group.root_cause}`}
							...${{ group, failed }} />`)}
					<${EditorLink} />`}<${BrokenRules} /><${NotifySwitch} /></div>`}</${Resource}>`;
}

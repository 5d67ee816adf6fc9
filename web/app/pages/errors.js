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
import { ActionButton, Breakable, Empty, Icon, Resource, State } from '../ui.js';
import { editorTemplate, Place, setEditorTemplate } from '../fault.js';
import { BrokenRules } from './findings.js';

const words = text.errors;
const SHOWN = 8;

function Group({ group }) {
	const [all, setAll] = useState(false);
	const [first, ...others] = group.assets;
	const caused = group.root_cause ? group.assets : others;
	const again = async () => {
		await Promise.all(group.assets.map((asset) => post(`/api/v1/assets/${asset.id}/cook`, { force: true })));
		return text.asset.cookAsked;
	};
	return html`<article class="panel problem" aria-labelledby=${`p-${first.id}`}>
		<${Icon} name="failed" /><div class="anywhere">
			<h2 id=${`p-${first.id}`}>${sentence(group.message)}</h2>
			${group.hint && html`<p class="hint">${sentence(group.hint)}</p>`}
			${group.root_cause ? html`<p>${text.fault.because} <a href=${nameAddress(group.root_cause)}>
					${group.root_cause}</a></p>` : html`<p class="asset">
					<a href=${assetAddress(first)}><${Breakable} path=${`${first.root}/${first.path}`} /></a> <${State}
						state=${first.standing} /></p>`}
			<p><${Place} location=${group.location} asset=${first} /></p>
			${caused.length > 0 && html`<details open=${caused.length <= 3}>
					<summary>${group.root_cause ? words.caused(number(group.count))
						: words.same(number(group.count - 1))}</summary>
				<ul class="bullets">${(all ? caused : caused.slice(0, SHOWN))
						.map((asset) => html`<li><a href=${assetAddress(asset)}>
							<${Breakable} path=${`${asset.root}/${asset.path}`} /></a> <${State}
							state=${asset.standing} /></li>`)}</ul>
				${caused.length > SHOWN && html`<button type="button" class="small" onClick=${() => setAll(!all)}>
						${all ? words.fewer : words.showAll(number(caused.length))}</button>`}</details>`}
			<p><${ActionButton} className="small" icon="again" run=${again}>${words.retry}</${ActionButton}></p>
			</div></article>`;
}

function EditorLink() {
	const [value, set] = useState(editorTemplate());
	const change = (event) => {
		set(event.target.value);
		setEditorTemplate(event.target.value.trim());
	};
	return html`<details class="editor"><summary>${words.editor}</summary><p class="quiet">${words.editorHelp}</p>
		<label>${words.editorLabel} <input type="text" value=${value} onInput=${change}
				placeholder="vscode://file/{path}:{line}:{column}" spellcheck="false" /></label></details>`;
}

const matches = (group, q) => q.toLowerCase().split(/\s+/).every((word) => `${group.message} ${group.code} ${group.hint}
	${group.assets.map((asset) => `${asset.root}/${asset.path}`).join('\n')}`.toLowerCase().includes(word));

/* The assets that were repaired while this page is open, newest first. */
function useRepaired() {
	const [names, set] = useState([]);
	useEffect(() => listen(({ kind, data }) => {
		if (kind !== 'asset') return;
		if (data.kind === 'recovered') set((old) =>
				[data.asset, ...old.filter((name) => name !== data.asset)].slice(0, SHOWN));
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

function Toolbar({ query, codes }) {
	return html`<div class="toolbar"><label class="search"><span class="hidden">${words.search}</span>
			<${Icon} name="search" />
			<input type="search" placeholder=${words.search} value=${query.q ?? ''}
				onInput=${(event) => setQuery({ q: event.target.value })}
				spellcheck="false" autocomplete="off" /></label>
		${codes.length > 1 && html`<label><span class="hidden">${words.kind}</span>
			<select value=${query.code ?? ''} onChange=${(event) => choose({ code: event.target.value })}>
				<option value="">${words.anyKind}</option>
				${codes.map((code) => html`<option value=${code}>${words.codes[code] ?? code}</option>`)}
			</select></label>`}</div>`;
}

export function Errors({ query }) {
	useTitle(words.title);
	const errors = useResource('/api/v1/errors', { on: (event) => event.kind === 'asset' });
	const left = useResource('/api/v1/stats', { on: changesCounts }).data?.progress?.left ?? 0;
	const items = errors.data?.items ?? [];
	const codes = [...new Set(items.map(({ code }) => code))].sort();
	const shown = items.filter((group) => (!query.code || group.code === query.code) && matches(group, query.q ?? ''));
	return html`<div class="head"><h1>${words.title}</h1>${items.length > 0 && html`<p class="quiet" role="status">
			${words.count(plural(errors.data.groups, words.causeWord),
					plural(errors.data.assets, text.assetWord))}</p>`}</div>
		<${Resource} from=${errors}>${() => html`<div class="stack"><${Repaired} />
			${items.length === 0 ? html`<section class="panel">
					<${Empty} icon="fresh" title=${left ? text.overview.noneSoFar : words.none}>
						<p>${left ? words.noneYet(plural(left, text.assetWord)) : words.noneDetail}</p></${Empty}>
						</section>`
				: html`<${Toolbar} query=${query} codes=${codes} />
					${shown.length === 0 && html`<section class="panel">
							<${Empty} icon="search" title=${text.assets.nothing}>
						<p><a href="/ui/errors">${words.all}</a></p></${Empty}></section>`}
					${shown.map((group) => html`<${Group} key=${`${group.code}${group.message}${group.assets[0].id}`}
							group=${group} />`)}
					<${EditorLink} />`}<${BrokenRules} /><${NotifySwitch} /></div>`}</${Resource}>`;
}

import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { text } from '../text.js';
import { useResource, useTitle } from '../hooks.js';
import { setQuery } from '../router.js';
import { quoteShell } from '../snippets.js';
import { CopyButton, Empty, Icon, Resource } from '../ui.js';
import { valueAt } from '../values.js';

/**
 * The parts of openapi.json that this page reads.
 * @typedef {{ $ref?: string, enum?: string[], type?: string | string[], items?: Schema, description?: string,
 *     content?: Page.Table<{ example?: unknown }> }} Schema
 * @typedef {{ name: string, in: string, required?: boolean, description?: string,
 *     schema?: Schema & { default?: unknown } }} Parameter
 * @typedef {{ summary: string, description?: string, parameters?: Parameter[], responses: Page.Table<Schema> }} Call
 * @typedef {{ info: { description: string }, paths: Page.Table<Page.Table<Call>> }} Described
 */

const words = text.api;
const methods = ['get', 'post', 'put', 'patch', 'delete'];

/* "`word`" in descriptions is code. */
const Prose = ({ value = '' }) => value.split('`').map((part, at) => (at % 2 ? html`<code>${part}</code>` : part));
/**
 * @template {object} Kind
 * @param {Described} document
 * @param {Kind & { $ref?: string }} object
 * @returns {Kind}
 */
const resolve = (document, object) => (object.$ref
		? /** @type {Kind} */ (valueAt(document, object.$ref.split('/').slice(1))) : object);

/**
 * @param {Schema | undefined} schema
 * @returns {string}
 */
function typeOf(schema) {
	if (!schema) return '';
	if (schema.$ref) return schema.$ref.split('/').at(-1) ?? '';
	if (schema.enum) return schema.enum.join(' | ');
	if (schema.type === 'array') return `${typeOf(schema.items)}[]`;
	return [schema.type].flat().join(' | ');
}

/** @param {{ document: Described, path: string, method: string, operation: Call }} props */
function Operation({ document, path, method, operation }) {
	const [open, setOpen] = useState(false);
	const parameters = (operation.parameters ?? []).map((one) => resolve(document, one));
	const url = `${location.origin}${path}`;
	const plain = method === 'get' && !path.includes('{');
	return html`<li class="operation"><h2><button type="button" aria-expanded=${open} onClick=${() => setOpen(!open)}>
			<${Icon} name=${open ? 'down' : 'right'} /><b class="method">${method.toUpperCase()}</b>
			<code class="anywhere">${path}</code><span class="quiet">${operation.summary}</span></button></h2>
		${open && html`<div class="body stack">${operation.description
				&& html`<p><${Prose} value=${operation.description} /></p>`}
			<p class="pickers"><${CopyButton} value=${`curl${method === 'get' ? ''
					: ` -X ${method.toUpperCase()}`} ${quoteShell(url)}`} label=${words.copyCurl} />
					${plain && html`<a class="button small" href=${path} target="_blank"
						rel="noreferrer">${words.open}</a>`}</p>
			${parameters.length > 0 && html`<div class="scroll" tabindex="0">
					<table><thead><tr><th scope="col">${words.parameter}</th><th scope="col">${words.where}</th>
						<th scope="col">${words.type}</th><th scope="col">${words.meaning}</th></tr></thead><tbody>
				${parameters.map((one) => html`<tr><td>
						<code>${one.name}</code>${one.required && html` <small>${words.required}</small>`}</td>
						<td>${one.in}</td><td class="anywhere"><code>${typeOf(one.schema)}</code></td>
						<td><${Prose} value=${one.description} />
							${one.schema?.default !== undefined
								&& html` <small>${words.byDefault} ${String(one.schema.default)}</small>`}</td></tr>`)}
								</tbody></table></div>`}
			<div class="scroll" tabindex="0"><table>
					<thead><tr><th scope="col">${words.answer}</th><th scope="col">${words.meaning}</th></tr></thead>
					<tbody>${Object.entries(operation.responses)
						.map(([status, one]) => html`<tr><td><code>${status}</code></td>
							<td>${resolve(document, one).description}</td></tr>`)}</tbody></table></div>
			${Object.values(operation.responses).flatMap((one) => Object.values(resolve(document, one).content ?? {}))
					.filter((content) => content.example).slice(0, 1)
					.map((content) => html`<pre class="log"
						tabindex="0">${typeof content.example === 'string' ? content.example
							: JSON.stringify(content.example, null, 2)}</pre>`)}</div>`}</li>`;
}

/** @param {{ query: Page.Query }} props */
export function Api({ query }) {
	useTitle(words.title);
	const document = /** @type {Page.Source<Described>} */ (useResource('/openapi.json'));
	const wanted = (query.q ?? '').toLowerCase();
	return html`<div class="head"><h1>${words.title}</h1>
			<div class="actions"><a href="/openapi.json" target="_blank" rel="noreferrer">openapi.json</a></div></div>
		<${Resource} from=${document}>${(/** @type {Described} */ data) => {
			const all = Object.entries(data.paths).flatMap(([path, item]) => methods.filter((method) => item[method])
					.map((method) => ({ path, method, operation: item[method] })))
				.filter(({ path, operation }) => !wanted
						|| `${path} ${operation.summary}`.toLowerCase().includes(wanted));
			const [first, ...more] = data.info.description.split('\n\n');
			return html`<p class="quiet before"><${Prose} value=${first} /></p>
				<details class="quiet before"><summary>${words.more}</summary>
					${more.map((each) => html`<p><${Prose} value=${each} /></p>`)}</details>
				<div class="toolbar"><label class="search"><span class="hidden">${words.search}</span>
						<${Icon} name="search" /><input type="search" placeholder=${words.search} value=${query.q ?? ''}
							onInput=${(event) => setQuery({ q: event.target.value })} spellcheck="false"
							autocomplete="off" /></label></div>
				<section class="panel">${all.length ? html`<ul
						class="operations">${all.map((one) =>
							html`<${Operation} key=${one.method + one.path} document=${data} ...${one} />`)}</ul>`
							: html`<${Empty} icon="search" title=${text.assets.nothing} />`}</section>`;
		}}</${Resource}>`;
}

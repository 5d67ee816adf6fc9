import { html } from 'htm/preact';
import { text } from '../text.js';
import { duration, limitSize, number } from '../format.js';
import { useResource, useTitle } from '../hooks.js';
import { Empty, Panel, Resource } from '../ui.js';

const words = text.config;
/** @param {unknown} value */
const empty = (value) => value === null || value === undefined || value === ''
	|| (Array.isArray(value) && value.length === 0);

/** @param {Api.Config['values'][number]} given */
function shown({ key, value }) {
	if (empty(value)) return html`<span class="quiet">${text.none}</span>`;
	if (words.zero[key] && value === 0) return words.zero[key];
	if (typeof value === 'number' && /(_size|_limit|_bytes|_below)$/.test(key)) return html`<span
			title=${number(value)}>${limitSize(value)}</span>`;
	if (typeof value === 'number' && /_(ms|seconds)$/.test(key)) return duration(key.endsWith('_ms') ? value
			: value * 1000);
	if (typeof value === 'boolean') return value ? text.yes : text.no;
	return Array.isArray(value) ? value.join(', ') : typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** @param {Api.Config['values']} values */
function groupsOf(values) {
	/** @type {Map<string, typeof values>} */
	const groups = new Map();
	for (const value of values) {
		const [group, ...rest] = value.key.split('.');
		const name = rest.length ? group : '';
		groups.set(name, [...(groups.get(name) ?? []), value]);
	}
	return [...groups];
}

export function Settings() {
	useTitle(words.title);
	const config = useResource('/api/v1/config', { on: (event) => event.kind === 'config' });
	return html`<div class="head"><h1>${words.title}</h1></div><p class="quiet before">${words.intro}</p>
		<${Resource} from=${config}>${(/** @type {Api.Config} */ data) => (data.values.length === 0
				? html`<${Empty} icon="settings" title=${words.none} />`
				: html`<div class="stack">${groupsOf(data.values)
					.map(([name, values]) => html`<${Panel} id=${`c-${name || 'top'}`}
						title=${words.groups[name] ?? (name || words.groups.top)}>
			<div class="scroll" tabindex="0"><table>
					<thead><tr><th scope="col">${words.key}</th><th scope="col">${words.value}</th>
						<th scope="col">${words.origin}</th></tr></thead>
						<tbody>${values.map((value) => html`<tr><td><code>${value.key}</code></td>
							<td class="anywhere">${shown(value)}</td>
							<td class=${value.origin === 'default' ? 'quiet' : ''}>
								${words.origins[value.origin] ?? value.origin}</td></tr>`)}</tbody></table></div>
								</${Panel}>`)}</div>`)}</${Resource}>`;
}

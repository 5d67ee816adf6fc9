import { html } from 'htm/preact';
import { text } from '../text.js';
import { number, plural } from '../format.js';
import { useResource, useTitle } from '../hooks.js';
import { Empty, Icon, Panel, Resource, Time } from '../ui.js';

const words = text.clients;

/**
 * Shortens "Mozilla/5.0 (...) Chrome/156" to a name.
 * @param {string} agent
 */
function agentName(agent) {
	if (!agent) return words.unknown;
	/** @type {[RegExp, string][]} */
	const known = [[/HeadlessChrome|Chrome\/(\d+)/, 'Chrome'], [/Firefox\/(\d+)/, 'Firefox'],
		[/Version\/(\d+).*Safari/, 'Safari']];
	if (agent.startsWith('Mozilla/')) for (const [pattern, name] of known) if (
			pattern.test(agent)) return `${words.browser} (${name})`;
	return agent;
}

/** @param {{ items: Api.Clients['items'] }} props */
function Table({ items }) {
	return html`<section class="panel"><div class="scroll" tabindex="0">
			<table><thead><tr><th scope="col">${words.who}</th><th scope="col" class="wide">${words.address}</th>
				<th scope="col">${words.watches}</th><th scope="col" class="num" title=${words.usesTitle}>
					${words.uses}</th><th scope="col">${words.since}</th>
					<th scope="col">${words.state}</th></tr></thead>
		<tbody>${items.map((client) => html`<tr><td title=${client.agent}>${agentName(client.agent)}</td>
				<td class="wide"><code>${client.address}</code></td>
				<td class=${client.assets.length ? 'anywhere' : undefined} title=${client.kinds.join(', ')}>
					${client.assets.length ? client.assets.join(', ') : words.everything}</td>
			<td class="num">${number(client.uses)}</td><td><${Time} at=${client.since} /></td>
			<td>${client.behind > 0 ? html`<span class="state tone-warn">
				<${Icon} name="queued" />${words.behind(client.behind)}</span>`
				: html`<span class="state tone-good"><${Icon} name="fresh" />${words.current}</span>`}</td></tr>`)}
				</tbody></table></div></section>`;
}

/* The agents that feed mirror roots, on machines of artists. */
function Agents() {
	const mirrors = useResource('/api/v1/mirrors', { every: 3000 });
	const agents = (mirrors.data?.items ?? []).flatMap(({ root, agents: items }) => items.map(
		(agent) => ({ ...agent, root: agent.base ? `${root}/${agent.base}` : root })));
	if (!agents.length) return null;
	return html`<${Panel} id="agents" title=${words.agents} note=${agents.length}>
		<div class="scroll" tabindex="0"><table><thead><tr><th scope="col">${words.agent}</th>
			<th scope="col">${words.folder}</th><th scope="col">${words.feeds}</th>
			<th scope="col">${words.saved}</th><th scope="col">${words.state}</th></tr></thead>
		<tbody>${agents.map((agent) => html`<tr><td title=${agent.program}>${agent.who}</td>
			<td class="anywhere"><code>${agent.folder}</code></td><td class="anywhere">${agent.root}</td>
			<td class="anywhere">${agent.saved_at ? html`<${Time} at=${agent.saved_at} /> ${agent.last}`
		: words.never}</td>
			<td>${agent.state === 'connected'
		? html`<span class="state tone-good"><${Icon} name="fresh" />${words.connected}</span>`
		: html`<span class="state tone-warn"><${Icon} name="queued" />
				${words.away} <${Time} at=${agent.seen_at} /></span>`}</td></tr>`)}</tbody></table></div></${Panel}>`;
}

export function Clients() {
	useTitle(words.title);
	const clients = useResource('/api/v1/clients', { on: (event) => event.kind === 'asset', every: 3000 });
	return html`<div class="head"><h1>${words.title}</h1>
			${clients.data && html`<p class="quiet">${plural(clients.data.count, words.word)}</p>`}</div>
		<${Resource} from=${clients}>${(data) => (data.items.length ? html`<${Table} items=${data.items} />`
				: html`<section class="panel"><${Empty} icon="clients" title=${words.none}>
					<p>${words.noneDetail}</p></${Empty}></section>`)}</${Resource}>
		<p class="quiet after">${words.explain}</p><${Agents} />`;
}

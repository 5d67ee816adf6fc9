/* Broken rules, over all assets and for one asset. */
import { html } from 'htm/preact';
import { text } from '../text.js';
import { query } from '../api.js';
import { number, plural, quantity, sentence } from '../format.js';
import { useResource } from '../hooks.js';
import { Icon, Panel } from '../ui.js';

const words = text.findings;
const PLACES = 4;
const order = ['error', 'warning', 'info'];
const tones = { error: ['bad', 'failed'], warning: ['warn', 'stale'], info: ['work', 'queued'] };

/** @param {{ level: Api.RuleLevel }} props */
function Level({ level }) {
	const [tone, icon] = tones[level];
	return html`<span class="state tone-${tone}"><${Icon} name=${icon} />${words.levels[level]}</span>`;
}

/** For the page of problems: each broken rule with a link to its assets. */
export function BrokenRules() {
	const found = useResource('/api/v1/findings?limit=1', { on: (event) => event.kind === 'asset' });
	const rules = (found.data?.rules ?? []).sort((a, b) => order.indexOf(a.level) - order.indexOf(b.level));
	if (!rules.length) return null;
	return html`<${Panel} id="rules" title=${words.title} note=${plural(rules.length, words.ruleWord)}>
		<ul class="lines">${rules.map(({ rule, level, assets, count, meaning }) => html`<li key=${rule + level}>
			<${Level} level=${level} />
			<span class="name">${sentence(meaning)} <code class="quiet">${rule}</code></span>
			<a href="/ui/assets${query({ rule, level })}">${plural(assets, text.assetWord)}</a>
			${count > assets && html`<span class="quiet">${plural(count, words.findingWord)}</span>`}</li>`)}</ul>
		</${Panel}>`;
}

/** @param {Page.Place} place */
const pointOf = (place) => `(${place.map((part) => quantity(part)).join(', ')})`;

/** @param {Page.Place[]} places */
const placesOf = (places) => [words.at, ...places.slice(0, PLACES).map(pointOf),
	...(places.length > PLACES ? [words.more(number(places.length - PLACES))] : [])].join(' ');

/** @param {{ findings: Page.Finding[] }} props */
function Objects({ findings }) {
	return html`<ul class="bullets">${findings.map(({ kind, name, value, places = [] }) => html`<li>
		${name ? words.of(words.kinds[kind] ?? kind, name) : words.whole}: ${number(Number(value.toPrecision(6)))}
		${places.length > 0 && html` <small class="quiet">${placesOf(places)}</small>`}</li>`)}</ul>`;
}

/**
 * For the page of an asset. report: the parsed output, undefined until it is loaded.
 * @param {{ asset: Api.Asset, report: Page.Report | undefined }} props
 */
export function Findings({ asset, report }) {
	const { errors, warnings, infos } = asset.findings;
	const any = errors + warnings + infos > 0;
	const name = `${asset.root}/${asset.path}`;
	const found = useResource(any ? `/api/v1/findings${query({ path: name, limit: 1 })}` : null,
		{ on: (event) => event.kind === 'asset' && event.data.id === asset.id });
	const rules = (any && found.data?.rules) || [];
	const objects = report?.findings ?? [];
	const unchecked = report?.unchecked ?? [];
	if (!rules.length && !unchecked.length) return null;
	return html`<${Panel} id="findings" title=${words.asset}>
		<ul class="lines">${rules.map(({ rule, level, meaning, mend }) => html`<li key=${rule + level}>
			<${Level} level=${level} />
			<div class="name">${sentence(meaning)} <code class="quiet">${rule}</code>
				<p class="quiet">${sentence(mend)}</p>
				<${Objects} findings=${objects.filter((one) => one.rule === rule)} /></div></li>`)}</ul>
		${unchecked.length > 0 && html`<p class="body quiet">${words.unchecked} ${unchecked.map((rule, at) =>
			html`${at > 0 && ', '}<code>${rule}</code>`)}</p>`}</${Panel}>`;
}

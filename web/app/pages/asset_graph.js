/* A drawing of the files and assets around an asset: those that it is made from on the left, those made from it on the
 * right. */
import { html } from 'htm/preact';
import { text } from '../text.js';
import { number } from '../format.js';

/**
 * @typedef {Api.Deps['items'][number]} Linked
 * @typedef {{ root: string, path: string, missing?: boolean, self?: boolean }} File
 * @typedef {File | { more: number }} Item  `more`: how many of a column are not shown
 * @typedef {{ x: number, y: number }} Spot
 */

const words = text.asset;
const [WIDE, TALL, GAP, BETWEEN] = [12, 1.9, 0.5, 3]; /* rem */
const ROWS = 12; /* of a column; the lists below show the others */

/** @param {{ root: string, path: string }} given */
const nameOf = ({ root, path }) => `${root}/${path}`;
/** @param {Item} item */
const keyOf = (item) => ('more' in item ? `more ${item.more}` : nameOf(item));
/**
 * @param {Item[]} list
 * @returns {Item[]}
 */
const atMost = (list) => (list.length > ROWS ? [...list.slice(0, ROWS - 1), { more: list.length - ROWS + 1 }] : list);

/**
 * Columns from left to right, each a list of items; the asset's own column has only the asset.
 * @param {Api.Asset} asset
 * @param {Linked[]} made
 * @param {Linked[]} used
 * @returns {Item[][]}
 */
function columnsOf(asset, made, used) {
	/** @param {Linked[]} items */
	const byDepth = (items) => {
		/** @type {Linked[][]} */
		const columns = [];
		for (const item of items) (columns[item.depth - 1] ??= []).push(item);
		return columns.map(atMost);
	};
	return [...byDepth(made).reverse(), [{ ...asset, self: true }], ...byDepth(used)];
}

/**
 * Position of each item: {name: {x, y}}, the upper left corner of its box in rem.
 * @param {Item[][]} columns
 */
function placesOf(columns) {
	const rows = Math.max(...columns.map(({ length }) => length));
	/** @type {Map<string, Spot>} */
	const places = new Map();
	columns.forEach((items, column) => items.forEach((item, row) => places.set(keyOf(item), {
		x: column * (WIDE + BETWEEN), y: (row + (rows - items.length) / 2) * (TALL + GAP) })));
	return { places, width: columns.length * (WIDE + BETWEEN) - BETWEEN, height: rows * (TALL + GAP) - GAP };
}

/** @param {{ from: Spot, to: Spot, missing: boolean | undefined }} props */
function Edge({ from, to, missing }) {
	const [x0, y0, x1, y1] = [from.x + WIDE, from.y + TALL / 2, to.x, to.y + TALL / 2];
	const middle = (x0 + x1) / 2;
	return html`<path class=${missing ? 'missing' : ''} d="M${x0} ${y0}C${middle} ${y0} ${middle} ${y1} ${x1} ${y1}"
		vector-effect="non-scaling-stroke" />`;
}

/** @param {{ item: Item, at: Spot, asked: string, ask: (name: string) => void }} props */
function Node({ item, at, asked, ask }) {
	const style = { left: `${at.x}rem`, top: `${at.y}rem` };
	if ('more' in item)
		return html`<span class="node quiet" style=${style}>${words.graphMore(number(item.more))}</span>`;
	const name = nameOf(item);
	return html`<button type="button" style=${style} title=${name} aria-pressed=${String(asked === name)}
		aria-label=${words.ask(item.path)} class=${item.self ? 'self' : item.missing ? 'missing' : ''}
		onClick=${() => ask(name)}>${item.path.split('/').at(-1)}</button>`;
}

/**
 * made, used: items of .../deps; ask("root/path") is called for a pressed item.
 * @param {{ asset: Api.Asset, made: Linked[], used: Linked[], asked: string, ask: (name: string) => void }} props
 */
export function Graph({ asset, made, used, asked, ask }) {
	const columns = columnsOf(asset, made, used);
	const { places, width, height } = placesOf(columns);
	const edges = [...made.map((item) => ({ item, from: nameOf(item), to: nameOf(item.via) })),
		...used.map((item) => ({ item, from: nameOf(item.via), to: nameOf(item) }))]
		.map(({ item, from, to }) => ({ from: places.get(from), to: places.get(to), missing: item.missing }))
		.filter(({ from, to }) => from && to);
	return html`<div class="connections scroll" tabindex="0" role="group" aria-label=${words.graphLabel}>
		<div style=${{ width: `${width}rem`, height: `${height}rem` }}>
			<svg viewBox="0 0 ${width} ${height}" width="100%" height="100%" aria-hidden="true">
				${edges.map((edge) => html`<${Edge} ...${edge} />`)}</svg>
			${columns.flat().map((item) => html`<${Node} key=${keyOf(item)} item=${item}
				at=${places.get(keyOf(item))} asked=${asked} ask=${ask} />`)}</div></div>`;
}

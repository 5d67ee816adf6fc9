/* The small picture of an asset. The daemon draws it at the first request and sends an event when it is ready, so only
 * rows that stay visible for a moment request it. Until then the row has an icon of the page: each placeholder image
 * from the daemon would be a document of its own, which slows down every task of the browser. */
import { html } from 'htm/preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { query } from './api.js';
import { useRedraw } from './hooks.js';
import { listen } from './live.js';
import { Icon } from './ui.js';

const STAYS = 200;
/** @type {Map<string, number>} */
const drawn = new Map();
/** @type {Map<string, { redraw(): void, asked?: boolean, there?: boolean }>} */
const rows = new Map();

/** @param {string} id */
function askAgain(id) {
	drawn.set(id, (drawn.get(id) ?? 0) + 1);
	rows.get(id)?.redraw();
}

listen(({ kind, data }) => {
	if (kind === 'thumbnail') askAgain(data.id);
	if (kind !== 'hello') return;
	/* Repeats requests whose event was sent before this tab listened, or by a daemon that has ended. */
	for (const [id, row] of rows) if (row.asked && !row.there) askAgain(id);
});

/**
 * Address of the small picture for the asset's newest cook.
 * @param {Page.Drawn} asset
 * @param {number} [size]
 */
export const thumbAddress = (asset, size = 128) =>
	`/api/v1/assets/${asset.id}/thumbnail${query({ size, rev: `${asset.rev}.${drawn.get(asset.id) ?? 0}`,
		placeholder: '0' })}`;

/** @param {{ asset: Page.Drawn, size?: number }} props */
export function Thumb({ asset, size = 128 }) {
	const [wanted, want] = useState(false);
	const [there, come] = useState(false);
	const row = useRef({ redraw: useRedraw() }).current;
	const asked = wanted && asset.bytes.cooked > 0;
	Object.assign(row, { asked, there });
	useEffect(() => {
		const timer = setTimeout(() => want(true), STAYS);
		rows.set(asset.id, row);
		return () => {
			clearTimeout(timer);
			if (rows.get(asset.id) === row) rows.delete(asset.id);
		};
	}, [asset.id, asset.rev]);
	const failed = asset.error && !asset.bytes.cooked;
	return html`<span class="thumb ${failed ? 'tone-bad' : ''}">${!(asked && there)
			&& html`<${Icon} name=${failed ? 'errors' : 'assets'} />`}
		${asked && html`<img src=${thumbAddress(asset, size)} alt="" width="36" height="36" hidden=${!there}
			onLoad=${() => come(true)} onError=${() => come(false)} />`}</span>`;
}

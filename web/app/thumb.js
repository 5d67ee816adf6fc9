/* The small picture of an asset. The daemon draws it when it is asked for the first time and says when it is there,
 * so it is only asked for what stays on screen for a moment. Until then the row has an icon of the page: each drawing
 * that the daemon sends would be a document of its own, which slows down every task of the browser. */
import { html } from 'htm/preact';
import { useEffect, useState } from 'preact/hooks';
import { query } from './api.js';
import { listen } from './live.js';
import { Icon } from './ui.js';

const STAYS = 200;
const drawn = new Map();
const waiting = new Map();

listen(({ kind, data }) => {
	if (kind !== 'thumbnail') return;
	drawn.set(data.id, (drawn.get(data.id) ?? 0) + 1);
	waiting.get(data.id)?.();
});

/** Where the small picture of an asset is as it was cooked last. */
export const thumbAddress = (asset, size = 128) =>
	`/api/v1/assets/${asset.id}/thumbnail${query({ size, rev: `${asset.rev}.${drawn.get(asset.id) ?? 0}`,
		placeholder: '0' })}`;

export function Thumb({ asset, size = 128 }) {
	const [wanted, want] = useState(false);
	const [there, come] = useState(false);
	const [, redraw] = useState(0);
	useEffect(() => {
		const timer = setTimeout(() => want(true), STAYS);
		const again = () => redraw((count) => count + 1);
		waiting.set(asset.id, again);
		return () => {
			clearTimeout(timer);
			if (waiting.get(asset.id) === again) waiting.delete(asset.id);
		};
	}, [asset.id, asset.rev]);
	const asked = wanted && asset.bytes.cooked > 0;
	return html`<span class="thumb">${!(asked && there) && html`<${Icon} name="assets" />`}
		${asked && html`<img src=${thumbAddress(asset, size)} alt="" width="36" height="36" hidden=${!there}
			onLoad=${() => come(true)} onError=${() => come(false)} />`}</span>`;
}

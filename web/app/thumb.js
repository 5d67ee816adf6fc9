/* The picture of an asset in a list. The daemon answers at once: with the picture, or with a plain sign while it draws one,
 * and tells when it is there. */
import { html } from 'htm/preact';
import { useEffect, useReducer } from 'preact/hooks';
import { listen } from './live.js';
import { Icon } from './ui.js';

export function Thumb({ asset }) {
	const [drawn, again] = useReducer((count) => count + 1, 0);
	useEffect(() => listen(({ kind, data }) => kind === 'thumbnail' && data.id === asset.id && again()), [asset.id]);
	if (!asset.bytes.cooked) return html`<span class="thumb"><${Icon} name="assets" /></span>`;
	return html`<span class="thumb"><img src="/api/v1/assets/${asset.id}/thumbnail?size=128&v=${asset.rev}.${drawn}" alt="" width="36" height="36" decoding="async" /></span>`;
}

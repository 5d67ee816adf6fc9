/* The assets of a list as pictures: a grid of which only the visible rows exist. */
import { html } from 'htm/preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { assetAddress } from './router.js';
import { Thumb } from './thumb.js';
import { State, stateOf } from './ui.js';

const CARD = { width: 176, height: 226 }; /* with the space between two */
const SPARE = 1; /* rows above and below the window */

/** @param {{ asset: Api.Asset }} props */
const Card = ({ asset }) => html`<a class="card" href=${assetAddress(asset)} title=${`${asset.root}/${asset.path}`}>
	<${Thumb} asset=${asset} size=${256} />
	<span class="title">${asset.path.slice(asset.path.lastIndexOf('/') + 1)}</span>
	<small><${State} state=${stateOf(asset)} /></small></a>`;

/** @param {{ rows: import('./rows.js').Rows, label: string, resetKey: string }} props */
export function Gallery({ rows, label, resetKey }) {
	const place = useRef(/** @type {HTMLDivElement | null} */ (null));
	const [view, set] = useState({ top: 0, width: 900, height: 600 });
	const total = rows.total ?? 0;
	const across = Math.max(1, Math.floor((view.width - 8) / CARD.width));
	const first = Math.max(0, Math.floor(view.top / CARD.height) - SPARE) * across;
	const last = Math.min(total, (Math.ceil((view.top + view.height) / CARD.height) + SPARE) * across);
	useLayoutEffect(() => {
		const box = place.current;
		if (!box) return undefined;
		const measure = () => set({ top: box.scrollTop, width: box.clientWidth, height: box.clientHeight });
		const watch = new ResizeObserver(measure);
		watch.observe(box);
		box.addEventListener('scroll', measure, { passive: true });
		return () => (watch.disconnect(), box.removeEventListener('scroll', measure));
	}, []);
	useLayoutEffect(() => place.current?.scrollTo(0, 0), [resetKey]);
	useLayoutEffect(() => rows.show(first, last - 1), [rows, first, last]);
	const shown = [];
	for (let index = first; index < last; index++) shown.push(index);
	return html`<div class="list gallery" ref=${place} tabindex="0" role="region" aria-label=${label}>
		<div class="space" style=${{ height: `${Math.ceil(total / across) * CARD.height}px` }}>${shown.map((index) => {
			const asset = rows.at(index);
			const at = `translate(${(index % across) * CARD.width}px, ${Math.floor(index / across) * CARD.height}px)`;
			return html`<div key=${index} class="cell" style=${{ transform: at }}>
				${asset && html`<${Card} key=${asset.id} asset=${asset} />`}</div>`;
		})}</div></div>`;
}

/* Lines over time. The library is loaded with the first chart. */
import { html } from 'htm/preact';
import { useEffect } from 'preact/hooks';
import { useElement } from './hooks.js';
/** @import uPlot from 'uplot' */
import { axisTimes } from './format.js';
import { colourOf as colour, onTheme } from './theme.js';


/**
 * series: [{label, values, tone, format, bars}], each with a scale of its own; times: seconds since 1970. label: the
 * description for screen readers.
 * @param {{ times: number[], series: Page.Series[], label: string, height?: number, axes?: boolean }} props
 */
export function Chart({ times, series, label, height = 150, axes = true }) {
	/** @type {{ current: HTMLElement }} */
	const place = useElement();
	const wanted = JSON.stringify([times, series.map(({ values }) => values), height]);
	useEffect(() => {
		/** @type {uPlot | null} */
		let chart = null;
		let ended = false;
		/** @type {typeof uPlot} */
		let Plot;
		const draw = () => {
			chart?.destroy();
			const axis = { stroke: colour('--quiet'), grid: { stroke: colour('--line'), width: 1 },
				ticks: { show: false }, font: '11px system-ui', size: 34 };
			chart = new Plot({
				width: Math.max(120, place.current.clientWidth), height, legend: { show: false },
				cursor: { show: axes, y: false, points: { size: 7 } }, padding: axes ? [10, 6, 0, 0] : [4, 0, 2, 0],
				scales: Object.fromEntries([['x', { time: true }],
						...series.map((_, at) => [`y${at}`,
							{ range: (/** @type {uPlot} */ _, /** @type {number} */ low, /** @type {number} */ high) =>
									[Math.min(0, low), high > 0 ? high * 1.08 : 1] }])]),
				axes: axes ? [{ ...axis, size: 26, grid: { show: false },
						values: (/** @type {uPlot} */ _, /** @type {number[]} */ marks, /** @type {number} */ _axis,
							/** @type {number} */ _space, /** @type {number} */ apart) => axisTimes(marks, apart) },
					...series.map((one, at) => ({ ...axis, scale: `y${at}`, side: at === 0 ? 3 : 1, size: 62,
							stroke: colour(`--${one.tone}`), grid: { show: at === 0, stroke: colour('--line'),
								width: 1 }, 
								values: (/** @type {uPlot} */ _, /** @type {number[]} */ ticks) =>
								ticks.map((tick) => one.format?.(tick) ?? '') }))]
								: [{ show: false }, ...series.map(() => ({ show: false }))],
				series: [{}, ...series.map((one, at) =>
						({ label: one.label, scale: `y${at}`, stroke: colour(`--${one.tone}`), width: 1.75,
								fill: axes ? undefined : colour(`--${one.tone}-soft`),
								points: { show: axes && times.length < 60, size: 5 } }))],
			}, [times, ...series.map(({ values }) => values)], place.current);
		};
		let still = () => {};
		const sizes = new ResizeObserver(() => place.current
				&& chart?.setSize({ width: Math.max(120, place.current.clientWidth), height }));
		import('uplot').then((module) => {
			if (ended || !place.current) return;
			Plot = module.default;
			draw();
			sizes.observe(place.current);
			still = onTheme(draw);
		}, () => {});
		return () => {
			ended = true;
			sizes.disconnect();
			still();
			chart?.destroy();
		};
	}, [wanted]);
	return html`<div class="chart" role="img" aria-label=${label} ref=${place}
			style=${{ minHeight: `${height}px` }} />`;
}

/** @param {{ series: Page.Series[] }} props */
export const Legend = ({ series }) => html`<ul class="legend"
		aria-hidden="true">${series.map(({ label, tone }) =>
			html`<li class="tone-${tone}"><span />${label}</li>`)}</ul>`;

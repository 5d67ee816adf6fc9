import { html } from 'htm/preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { text } from '../text.js';
import { get } from '../api.js';
import { clock, exactTime } from '../format.js';
import { listen } from '../live.js';
import { useTitle } from '../hooks.js';
import { setQuery } from '../router.js';
import { Empty, Failure, Icon, Loading } from '../ui.js';

const words = text.log;
const levels = ['debug', 'info', 'warning', 'error'];
const KEPT = 2000;
const tone = /** @type {Page.Table} */ ({ debug: 'quiet', info: 'quiet', warning: 'warn', error: 'bad' });
const icon = /** @type {Page.Table} */ ({ warning: 'stale', error: 'failed' });

/* Lines can arrive in bursts: they are drawn together, once per frame. */
function useLines() {
	const [lines, setLines] = useState(/** @type {Page.LogLine[] | null} */ (null));
	const [error, setError] = useState(/** @type {Page.Problem | null} */ (null));
	useEffect(() => {
		/** @type {Page.LogLine[]} */
		let came = [];
		let frame = 0;
		const flush = () => {
			frame = 0;
			const batch = came;
			came = [];
			setLines((old) => [...(old ?? []), ...batch].slice(-KEPT));
		};
		const load = () => get('/api/v1/log?limit=1000').then((page) => {
			came = [];
			setError(null);
			setLines(page.items);
		}, setError);
		load();
		const deaf = listen((event) => {
			if (event.kind === 'hello') load();
			if (event.kind !== 'log') return;
			came.push(event.data);
			frame ||= requestAnimationFrame(flush);
		});
		return () => {
			deaf();
			cancelAnimationFrame(frame);
		};
	}, []);
	return { lines, error };
}

/** @param {{ query: Page.Query }} props */
export function Log({ query }) {
	useTitle(words.title);
	const { lines, error } = useLines();
	const place = useRef(/** @type {HTMLElement | null} */ (null));
	const atEnd = useRef(true);
	const least = Math.max(0, levels.indexOf(query.level ?? 'info'));
	const wanted = (query.q ?? '').toLowerCase();
	const shown = (lines ?? []).filter((line) => levels.indexOf(line.level) >= least
			&& (!wanted || `${line.event} ${line.message}`.toLowerCase().includes(wanted)));
	useLayoutEffect(() => {
		if (place.current && atEnd.current) place.current.scrollTop = place.current.scrollHeight;
	});
	/** @param {Page.On<HTMLElement>} given */
	const scrolled = ({ currentTarget: target }) => (atEnd.current = target.scrollTop
			+ target.clientHeight > target.scrollHeight - 30);
	return html`<div class="head"><h1>${words.title}</h1></div>
		<div class="toolbar"><label>${words.least} <select value=${query.level ?? 'info'}
				onChange=${(event) => setQuery({ level: event.target.value === 'info' ? '' : event.target.value })}>
				${levels.map((level) => html`<option value=${level}>${words.levels[level]}</option>`)}</select></label>
			<label class="search"><span class="hidden">${words.search}</span><${Icon} name="search" />
				<input type="search" placeholder=${words.search} value=${query.q ?? ''}
					onInput=${(event) => setQuery({ q: event.target.value })} spellcheck="false" autocomplete="off" />
					</label></div>
		${error ? html`<${Failure} error=${error} />` : lines === null ? html`<${Loading} />`
			: shown.length === 0 ? html`<section class="panel">
					<${Empty} icon="log" title=${words.none}><p>${words.noneDetail}</p></${Empty}></section>`
				: html`<div class="panel loglines" ref=${place} onScroll=${scrolled} tabindex="0" role="log"
						aria-label=${words.title}>${shown.map((line) =>
							html`<div class="logline tone-${tone[line.level]}">
								<time title=${exactTime(Date.parse(line.time))}>${clock(Date.parse(line.time))}</time>
					<span class="level" title=${line.level}>
						${icon[line.level] && html`<${Icon} name=${icon[line.level]} />
							<span class="hidden">${line.level}</span>`}</span>
							<span class="anywhere"><b>${line.event}</b> ${line.message}</span></div>`)}</div>`}`;
}

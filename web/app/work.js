/* Progress of long work on every page: current cook, share, speed, remaining time. Also in the tab's title and icon. */
import { html } from 'htm/preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { text } from './text.js';
import { duration, number, partsOf, percent } from './format.js';
import { listen } from './live.js';
import { setTabNote, useClock, useResource } from './hooks.js';
import { nameAddress } from './router.js';
import { Icon } from './ui.js';

const words = text.work;
export const SHORT = 3; /* up to this many jobs are shown only on their own page */
const LATE = 5000;

/**
 * Rounded up to a useful precision: "8 s", "2 min", "1 h 10 min".
 * @param {number} ms
 */
function about(ms) {
	const minutes = Math.ceil(ms / 60000);
	if (ms < 55000) return `${Math.max(1, Math.ceil(ms / 1000))}\u00a0s`;
	return minutes < 60 ? `${minutes}\u00a0min` : duration(minutes * 60000);
}

/**
 * {done, total, left, share, perMinute, failed, eta} of the current work, or null.
 * @param {Api.Stats | undefined} stats
 */
export function workOf(stats) {
	const run = stats?.progress;
	if (!stats || !run?.began_at || run.ended_at || run.left === 0) return null;
	const total = run.done + run.left;
	/* Before any cook has ended, only the speed so far is known. */
	const eta = stats.queue?.eta_ms || (run.per_minute > 0 ? (run.left / run.per_minute) * 60000 : 0);
	/* A failure that was repaired meanwhile is no longer a problem. */
	const failed = Math.min(run.failed, stats.errors ?? 0);
	return { done: run.done, total, left: run.left, share: run.done / total, perMinute: run.per_minute, failed, eta };
}

/** @type {Promise<string | null> | null} */
let plainIcon = null;
let shownBad = false;

/**
 * The icon of the tab, with a red dot while there are problems.
 * @param {boolean} bad
 */
async function setIcon(bad) {
	if (bad === shownBad) return;
	shownBad = bad;
	const link = /** @type {HTMLLinkElement} */ (document.querySelector('link[rel=icon]'));
	plainIcon ??= fetch('/favicon.ico').then((answer) => answer.text()).catch(() => null);
	const icon = await plainIcon;
	if (icon === null) {
		plainIcon = null;
		shownBad = false;
		return;
	}
	const drawn = icon.replace('</svg>',
		'<circle cx="24" cy="24" r="8" fill="#e5362b" stroke="#fff" stroke-width="2"/></svg>');
	if (bad === shownBad) link.href = bad ? `data:image/svg+xml,${encodeURIComponent(drawn)}` : '/favicon.ico';
}

function Now() {
	const jobs = useResource('/api/v1/jobs?limit=3&state=cooking');
	const [begun, set] = useState('');
	useEffect(() => listen(({ kind, data }) => kind === 'job' && data.state === 'cooking' && set(data.asset)), []);
	const name = begun || jobs.data?.items[0]?.asset;
	if (!name) return null;
	return html`<span class="now"><a href=${nameAddress(name)} title=${name}>${partsOf(name).file}</a></span>`;
}

/**
 * Whether no job has finished for longer than the estimate for all remaining ones.
 * @param {ReturnType<typeof workOf>} work
 * @param {number} now
 */
function useLate(work, now) {
	const last = useRef(/** @type {{ done?: number, at: number }} */ ({ at: 0 }));
	if (work?.done !== last.current.done) last.current = { done: work?.done, at: now };
	return work !== null && now - last.current.at > Math.max(work.eta, LATE);
}

/** @param {{ stats: Api.Stats | undefined }} props */
export function Work({ stats }) {
	const now = useClock(1000);
	const work = workOf(stats);
	const late = useLate(work, now);
	const errors = stats?.errors ?? 0;
	const long = work && work.total > SHORT;
	useEffect(() => {
		setTabNote([long && percent(work.share), errors > 0 && `${number(errors)} ✕`].filter(Boolean).join(' · '));
		setIcon(errors > 0);
	}, [long && percent(work.share), errors]);
	if (!long) return null;
	return html`<section class="work" aria-label=${words.label}>
		<progress max=${work.total} value=${work.done} aria-label=${words.label} />
		<p><strong>${words.of(number(work.done), number(work.total))}</strong>
			<span>${words.rate(number(Math.round(work.perMinute)))}</span>
			${late ? html`<span>${words.late}</span>` : work.eta > 0
				&& html`<span>${words.left(about(work.eta))}</span>`}
			${work.failed > 0 && html`<a class="state tone-bad" href="/ui/errors">
					<${Icon} name="failed" />${words.failed(number(work.failed))}</a>`}
			<${Now} /></p></section>`;
}

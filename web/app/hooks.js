/* Data that stays up to date: read once, and again whenever an event says that it may have changed. */
import { useCallback, useEffect, useLayoutEffect, useReducer, useRef, useState } from 'preact/hooks';
import { get, isAbort } from './api.js';
import { listen, liveState, watchState } from './live.js';

/** @type {Map<string, unknown>} */
const kept = new Map();
const KEPT = 60;

/**
 * @param {string} url
 * @param {unknown} data
 */
export function keep(url, data) {
	kept.delete(url);
	kept.set(url, data);
	if (kept.size > KEPT) kept.delete([...kept.keys()][0]);
}

/**
 * Renders the component again.
 * @returns {() => void}
 */
export function useRedraw() {
	const [, redraw] = useReducer((/** @type {number} */ count, /** @type {void} */ _) => count + 1, 0);
	return redraw;
}

/**
 * A reference to an element of a component: it is there in effects and in handlers.
 * @template Element
 * @returns {{ current: Element }}
 */
export const useElement = () => /** @type {{ current: Element }} */ (useRef(null));

/** gap: least time in ms between two reads of one resource; longer while many cooks wait. */
export const pace = { gap: 300 };
export const SOON = 100; /* ms; the events of one save come within this time */
export const LATER = 2000;

/**
 * Calls `run` within the time that is asked for, but never twice at a time, at most every `gap` ms or twice the time
 * that it takes, and not while the tab is hidden; and `every()` ms after it has ended, if nobody has asked by then.
 * @param {() => Promise<void>} run
 * @param {number} [gap]
 * @param {() => number} [every]
 */
export function makeRefresher(run, gap = 0, every = () => Infinity) {
	let timer = 0;
	let due = 0;
	let busy = false;
	let again = Infinity; /* the time within which somebody asked meanwhile */
	let ended = false;
	let last = 0;
	let took = 0;
	const go = async () => {
		timer = 0;
		busy = true;
		again = Infinity;
		last = performance.now();
		await run();
		took = performance.now() - last;
		busy = false;
		const within = Math.min(again, every());
		if (within < Infinity) ask(within);
	};
	const ask = (within = 0) => {
		if (busy || document.hidden) {
			again = Math.min(again, within);
			return;
		}
		const now = performance.now();
		const at = Math.max(now + within, last + Math.max(gap || pace.gap, 2 * took));
		if (ended || (timer && due <= at)) return;
		clearTimeout(timer);
		due = at;
		timer = setTimeout(go, at - now);
	};
	const shown = () => !document.hidden && again < Infinity && !busy && ask();
	const now = () => (document.hidden ? ask() : go());
	document.addEventListener('visibilitychange', shown);
	return {
		ask,
		/** The first time, without waiting for other work. */
		now,
		end() {
			ended = true;
			clearTimeout(timer);
			document.removeEventListener('visibilitychange', shown);
		},
	};
}

const AGAIN = 1000; /* ms */

/**
 * Repeats a failed request: soon if the event stream is connected, otherwise once it is connected again.
 * @param {Page.Problem | null | undefined} error
 * @param {() => void} ask
 */
export const askAgain = (error, ask) => error?.code === 'offline' && liveState().connected && setTimeout(ask, AGAIN);

/**
 * Requests the data that useResource(url) is going to need.
 * @param {string} url
 */
export async function preload(url) {
	if (kept.has(url)) return;
	const data = await get(url).catch(() => undefined);
	if (data !== undefined && !kept.has(url)) keep(url, data);
}

/**
 * All users of a URL share one read, so they show the same state.
 * @type {Map<string, Source>}
 */
const sources = new Map();

/**
 * @typedef {{ data?: unknown, error?: Page.Problem | null, loading?: boolean }} State
 * @typedef {(event: Page.Told) => unknown} Concerns  true: soon; a number: within so many ms
 * @typedef {{ redraw(): void, on?: Concerns, every?: number }} Reader
 */

class Source {
	/**
	 * @param {string} url
	 * @param {'text' | 'json'} [as]
	 */
	constructor(url, as) {
		this.url = url;
		this.as = as;
		/** @type {State} */
		this.state = { data: kept.get(url), error: null, loading: true };
		/** @type {Set<Reader>} */
		this.readers = new Set();
		this.stop = new AbortController();
		this.refresher = makeRefresher(() => this.read(), 0, () => Math.min(...[...this.readers].map(({ every }) =>
			every ?? Infinity)));
		this.deaf = listen((event) => {
			const tells = event.kind === 'hello' || event.kind === 'reset';
			const wanted = [...this.readers].map(({ on }) => tells || on?.(event)).filter(Boolean);
			if (wanted.length)
				this.refresher.ask(Math.min(...wanted.map((within) => (within === true ? SOON : Number(within)))));
		});
	}

	async read() {
		try {
			const data = await get(this.url, { signal: this.stop.signal, as: this.as });
			keep(this.url, data);
			this.tell({ data, error: null });
		} catch (error) {
			if (isAbort(error)) return;
			const problem = /** @type {Page.Problem} */ (error);
			this.tell({ error: problem });
			askAgain(problem, () => this.refresher.ask());
		}
	}

	/** @param {Partial<State>} change */
	tell(change) {
		if (this.stop.signal.aborted) return;
		this.state = { ...this.state, ...change, loading: false };
		for (const { redraw } of [...this.readers]) redraw();
	}

	/**
	 * Returns a function that ends the use; a URL without users is not read again.
	 * @param {Reader} reader
	 */
	join(reader) {
		this.readers.add(reader);
		if (this.readers.size === 1) this.refresher.now();
		else if (!this.state.loading) this.refresher.ask();
		return () => {
			this.readers.delete(reader);
			if (this.readers.size) return;
			sources.delete(this.url);
			this.stop.abort();
			this.refresher.end();
			this.deaf();
		};
	}
}

/**
 * {data, error, loading, reload} of a GET. `on(event)`: whether the event makes the data out of date, or the time in
 * ms within which to ask; `every`: also reload when the data are as old as that. The last data remains while a new
 * answer is pending, and if it fails.
 * @template {string} Path
 * @param {Path | '' | 0 | false | null | undefined} url  undefined, false, ...: nothing is asked for
 * @param {{ on?: Concerns, every?: number, as?: 'text' | 'json' }} [given]
 * @returns {Page.Source<Api.Answer<Path>>}
 */
export function useResource(url, { on, every, as } = {}) {
	const redraw = useRedraw();
	const reader = useRef(/** @type {Reader} */ ({ redraw })).current;
	Object.assign(reader, { on, every });
	/* Requests before the page is painted, not after it. */
	useLayoutEffect(() => {
		if (!url) return undefined;
		const source = sources.get(url) ?? new Source(url, as);
		sources.set(url, source);
		return source.join(reader);
	}, [url, every]);
	const reload = useCallback(() => void (url && sources.get(url)?.refresher.ask()), [url]);
	const state = (url && sources.get(url)?.state)
		|| { data: url ? kept.get(url) : undefined, error: null, loading: Boolean(url) };
	return /** @type {Page.Source<Api.Answer<Path>>} */ ({ ...state, reload });
}

export function useLive() {
	const [state, set] = useState(liveState());
	useEffect(() => {
		set(liveState());
		return watchState(set);
	}, []);
	return state;
}

/** @type {Map<number, Set<(now: number) => void>>} */
const clocks = new Map();

/**
 * The current time, updated every `ms` (so that relative times stay right) and at every rendering. Users of the same
 * interval share one timer.
 */
export function useClock(ms = 10000) {
	const [, set] = useState(Date.now);
	useEffect(() => {
		const callbacks = clocks.get(ms) ?? new Set();
		if (!clocks.has(ms)) setInterval(() => callbacks.size && !document.hidden
				&& [...callbacks].forEach((callback) => callback(Date.now())), ms);
		clocks.set(ms, callbacks);
		callbacks.add(set);
		return () => void callbacks.delete(set);
	}, [ms]);
	return Date.now();
}

/**
 * @param {string} key
 * @param {(event: KeyboardEvent) => void} run
 */
export function useKey(key, run) {
	const current = useRef(run);
	current.current = run;
	useEffect(() => {
		/** @param {KeyboardEvent} event */
		const press = (event) => {
			const target = /** @type {Element} */ (event.target);
			const typing = target.closest?.('input, textarea, select, [contenteditable]');
			if (event.key === key && !typing && !event.ctrlKey && !event.metaKey
					&& !event.altKey) current.current(event);
		};
		addEventListener('keydown', press);
		return () => removeEventListener('keydown', press);
	}, [key]);
}

const tab = { title: '', note: '' };
const writeTitle = () => (document.title = [tab.note && `(${tab.note})`, tab.title && `${tab.title} ·`,
		'Hob'].filter(Boolean).join(' '));

/**
 * Sets the prefix of the title of every page: progress of work, number of problems.
 * @param {string} note
 */
export function setTabNote(note) {
	tab.note = note;
	writeTitle();
}

/** @param {string} title */
export function useTitle(title) {
	useEffect(() => {
		tab.title = title;
		writeTitle();
	}, [title]);
}

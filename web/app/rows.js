/* A list of any length behind an API that returns pages one after the other: pages are read when they become visible.
 *
 * Page n begins after cursor n, which the page before returned. To jump far ahead, only the cursors in between are
 * fetched, a thousand rows at a time. After a change the visible pages are read again from the cursor of the first one,
 * so that the visible rows stay in place; later cursors are dropped. */
import { get, isAbort, query } from './api.js';
import { know } from './known.js';

const PAGE = 100;
const SKIP = 10; /* pages per jump: the API returns 1000 rows at most */
const KEPT = 40;

export class Rows {
	/**
	 * @param {string} path
	 * @param {Page.Change} parameters
	 * @param {string} fields
	 * @param {() => void} changed
	 */
	constructor(path, parameters, fields, changed) {
		this.path = path;
		this.parameters = parameters;
		this.fields = fields;
		this.changed = changed;
		/** @type {Map<number, Api.Asset[]>} */
		this.pages = new Map();
		this.cursors = new Map([[0, '']]);
		/** @type {Set<number>} */
		this.outdated = new Set();
		this.turn = 0; /* number of refreshes */
		/** @type {number | null} */
		this.total = null;
		/** @type {Page.Problem | null} */
		this.error = null;
		/** @type {Promise<void> | null} */
		this.running = null;
		this.first = 0;
		this.last = 0;
		this.stop = new AbortController();
		this.pump();
	}

	/** @param {number} index */
	at(index) {
		return this.pages.get(Math.floor(index / PAGE))?.[index % PAGE];
	}

	/**
	 * Rows first..last are on screen.
	 * @param {number} first
	 * @param {number} last
	 */
	show(first, last) {
		this.first = Math.floor(Math.max(0, first) / PAGE);
		this.last = Math.floor(Math.max(0, last) / PAGE);
		this.pump();
	}

	/** After a change: reads visible pages again at once, the others when they become visible. */
	async refresh() {
		this.turn++;
		this.outdated = new Set();
		for (const page of this.cursors.keys()) if (page > this.first) this.cursors.delete(page);
		for (const page of [...this.pages.keys()])
			if (page < this.first || page > this.last) this.pages.delete(page);
			else this.outdated.add(page);
		if (!this.pages.size) this.outdated.add(this.first);
		await this.pump();
	}

	close() {
		this.stop.abort();
	}

	wanted() {
		const end = this.total === null ? 0 : Math.max(0, Math.ceil(this.total / PAGE) - 1);
		for (let page = Math.min(this.first, end); page <= Math.min(this.last, end); page++)
			if (!this.pages.has(page) || this.outdated.has(page)) return page;
		return null;
	}

	/**
	 * @param {number} page
	 * @param {number} pages
	 * @param {string} fields
	 */
	async read(page, pages, fields) {
		const cursor = this.cursors.get(page);
		return /** @type {Promise<Api.AssetPage>} */ (get(this.path + query({ ...this.parameters, fields,
			limit: pages * PAGE, cursor, count: fields === this.fields }), { signal: this.stop.signal }));
	}

	async pump() {
		this.running ??= this.run().finally(() => {
			this.running = null;
			/* Pages may have become visible while the last answer was handled. */
			if (!this.error && !this.stop.signal.aborted && this.wanted() !== null) this.pump();
		});
		return this.running;
	}

	async run() {
		try {
			for (let page = this.wanted(); page !== null; page = this.wanted()) await this.load(page);
			this.error = null;
		} catch (error) {
			if (isAbort(error)) return;
			this.error = /** @type {Page.Problem} */ (error);
		}
		this.changed();
	}

	/** @param {number} page */
	async load(page) {
		const { turn } = this;
		let from = page;
		while (!this.cursors.has(from)) from--;
		if (from < page) {
			const pages = Math.min(page - from, SKIP);
			const { next } = await this.read(from, pages, 'id');
			if (next) this.cursors.set(from + pages, next);
			else this.total = Math.min(this.total ?? 0, (from + pages) * PAGE);
			return;
		}
		const { items, next, total } = await this.read(page, 1, this.fields);
		this.pages.set(page, items);
		know(items);
		/* An answer that was pending during a change may be outdated. */
		if (turn === this.turn) this.outdated.delete(page);
		else this.outdated.add(page);
		if (next) this.cursors.set(page + 1, next);
		if (total !== this.total) {
			const end = Math.ceil((total ?? 0) / PAGE);
			for (const kept of [...this.pages.keys()]) if (kept >= end && kept > 0) this.pages.delete(kept);
		}
		this.total = total;
		if (this.pages.size > KEPT) this.forget();
		this.changed();
	}

	/** Drops the pages farthest from the view. */
	forget() {
		const middle = (this.first + this.last) / 2;
		const order = [...this.pages.keys()].sort((a, b) => Math.abs(b - middle) - Math.abs(a - middle));
		for (const page of order.slice(0, order.length - KEPT)) this.pages.delete(page);
	}
}

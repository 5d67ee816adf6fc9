/* A table of which only the visible rows exist. Up, Down, Page Up, Page Down, Home and End move, Enter opens. If rows
 * can be selected, Space and Ctrl+click select, Shift extends the selection, and Escape clears it. */
import { html } from 'htm/preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useElement } from './hooks.js';
import { cameBack } from './router.js';

const HEIGHT = 48;
const SPARE = 6;
/* Scroll position of each list by its address, restored when the user comes back. */
const left = new Map();
const here = () => location.pathname + location.search;
/** @param {{ active?: number, top?: number }} change */
const leave = (change) => left.set(here(), { ...left.get(here()), ...change });

/**
 * near(item, pressed) is called when a row gets the focus, or a pointer is pressed on it: it may be opened next.
 * selection: {has(item), toggle(item), add(items), clear(), label}, or undefined.
 * @param {{ rows: import('./rows.js').Rows, label: string, header: Page.Children, row: (item: Api.Asset) =>
 * Page.Children, open: (item: Api.Asset, event: Event) => void, near: (item: Api.Asset, pressed: boolean) => void,
 * resetKey: string, selection: Page.Selection }} props
 */
export function List({ rows, label, header, row, open, near, resetKey, selection }) {
	/** @type {{ current: HTMLElement }} */
	const scroller = useElement();
	const focusNext = useRef(/** @type {number | null} */ (null)); /* the row to focus once it is rendered */
	/* An item's cells are made once: unchanged ones cost nothing while scrolling. */
	const drawn = useRef(new WeakMap());
	const [view, setView] = useState({ first: 0, last: 20, bar: 0 }); /* bar: width of the scroll bar */
	const [active, setOnlyActive] = useState(0);
	const anchor = useRef(0);
	const total = rows.total ?? 0;
	/** @param {number} index */
	const setActive = (index) => {
		leave({ active: index });
		setOnlyActive(index);
	};

	const measure = () => {
		const { scrollTop, clientHeight, clientWidth, offsetWidth } = scroller.current;
		const bar = offsetWidth - clientWidth;
		leave({ top: scrollTop });
		const first = Math.max(0, Math.floor(scrollTop / HEIGHT) - SPARE);
		const last = Math.ceil((scrollTop + clientHeight) / HEIGHT) + SPARE;
		setView((old) => (old.first === first && old.last === last && old.bar === bar ? old : { first, last, bar }));
	};
	useEffect(() => {
		let frame = 0;
		const scrolled = () => (frame ||= requestAnimationFrame(() => {
			frame = 0;
			if (scroller.current) measure();
		}));
		const place = scroller.current;
		place.addEventListener('scroll', scrolled, { passive: true });
		const sizes = new ResizeObserver(scrolled);
		sizes.observe(place);
		return () => {
			place.removeEventListener('scroll', scrolled);
			sizes.disconnect();
			cancelAnimationFrame(frame);
		};
	}, []);
	useLayoutEffect(() => {
		const { top = 0, active: row = 0 } = (cameBack() && left.get(here())) || {};
		scroller.current.scrollTop = top;
		if (top || row) focusNext.current = Math.min(row, total - 1);
		setActive(Math.min(row, Math.max(0, total - 1)));
		measure();
	}, [resetKey]);
	useEffect(() => rows.show(view.first, view.last), [rows, view]);
	useLayoutEffect(() => {
		const row = focusNext.current !== null && /** @type {HTMLElement | null} */ (
			scroller.current.querySelector(`[data-index="${focusNext.current}"]`));
		if (!row) return;
		focusNext.current = null;
		row.focus({ preventScroll: true });
	});

	/** @param {number} to */
	const move = (to) => {
		const index = Math.max(0, Math.min(total - 1, to));
		const place = scroller.current;
		const top = index * HEIGHT;
		if (top < place.scrollTop) place.scrollTop = top;
		else if (top + HEIGHT > place.scrollTop + place.clientHeight) place.scrollTop = top + HEIGHT
			- place.clientHeight;
		focusNext.current = index;
		measure();
		setActive(index);
	};
	/**
	 * Selects the loaded rows between the last selected one and this one.
	 * @param {number} to
	 */
	const extend = (to) => {
		const items = [];
		for (let i = Math.min(anchor.current, to); i <= Math.max(anchor.current, to); i++) items.push(rows.at(i));
		selection?.add(items.filter((item) => item !== undefined));
	};
	/**
	 * @param {number} index
	 * @param {boolean} far
	 */
	const select = (index, far) => {
		const item = rows.at(index);
		if (far) extend(index);
		else if (item) selection?.toggle(item);
		anchor.current = index;
	};
	/**
	 * @param {MouseEvent} event
	 * @param {Api.Asset} item
	 * @param {number} index
	 */
	const click = (event, item, index) => {
		setActive(index);
		const target = /** @type {Element} */ (event.target);
		const box = target.closest('.pick');
		if (!box && target.closest('a')) return; /* including Ctrl+click, which opens a tab */
		if (selection && (box || event.ctrlKey || event.metaKey || event.shiftKey)) select(index, event.shiftKey);
		else open(item, event);
	};
	/** @param {KeyboardEvent} event */
	const press = (event) => {
		const item = rows.at(active);
		const page = Math.max(1, Math.floor(scroller.current.clientHeight / HEIGHT) - 1);
		const step = /** @type {Page.Table<number>} */ ({ ArrowDown: 1, ArrowUp: -1, PageDown: page,
			PageUp: -page, Home: -total, End: total })[event.key];
		if (step !== undefined) {
			event.preventDefault();
			const to = Math.max(0, Math.min(total - 1, active + step));
			move(active + step);
			if (selection && event.shiftKey) extend(to);
		} else if (selection && event.key === ' ' && item) {
			event.preventDefault();
			select(active, event.shiftKey);
		} else if (selection && event.key === 'Escape') {
			selection.clear();
		} else if (event.key === 'Enter' && item) {
			event.preventDefault();
			open(item, event);
		}
	};

	/**
	 * @param {Api.Asset | undefined} item
	 * @param {number} index
	 */
	const focused = (item, index) => {
		setActive(index);
		if (item) near(item, false);
	};
	/** @param {Api.Asset} item */
	const cells = (item) => {
		if (!drawn.current.has(item)) drawn.current.set(item, row(item));
		return drawn.current.get(item);
	};
	const first = Math.min(view.first, Math.max(0, total - 1));
	const last = Math.min(total, view.last);
	const shown = [];
	for (let index = first; index < last; index++) shown.push(index);
	if (active < total && (active < first || active >= last)) shown.push(active);
	return html`<div class="list" role="grid" aria-label=${label} aria-multiselectable=${selection ? 'true' : undefined}
			aria-rowcount=${total + 1} onKeyDown=${press}>
		<div role="rowgroup" style=${{ paddingRight: `${view.bar}px` }}>
			<div class="row header" role="row" aria-rowindex="1">${header}</div></div>
		<div class="rows" role="rowgroup" ref=${scroller} tabindex="-1">
			<div class="space" role="presentation" style=${{ height: `${total * HEIGHT}px` }}>${shown.map((index) => {
			const item = rows.at(index);
			return html`<div key=${index} class="row ${item ? '' : 'blank'}" role="row" data-index=${index}
					aria-rowindex=${index + 2} tabindex=${index === active ? 0 : -1}
				aria-selected=${selection && item ? String(selection.has(item)) : undefined}
				style=${{ transform: `translateY(${index * HEIGHT}px)` }} onFocus=${() => focused(item, index)}
				onPointerDown=${() => item && near(item, true)}
				onClick=${(event) => item && click(event, item, index)}>
				${item && selection && html`<span class="pick" role="gridcell">
					<input type="checkbox" tabindex="-1" checked=${selection.has(item)} aria-label=${selection.label} />
					</span>`}${item ? cells(item) : html`<span role="gridcell"><span class="bar" /></span>`}</div>`;
		})}</div></div></div>`;
}

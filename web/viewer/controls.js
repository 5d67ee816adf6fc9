/* Controls of the view. Each shows a value that its owner stores; `change` is called with a new value. */
import { html } from 'htm/preact';
import { useId, useLayoutEffect } from 'preact/hooks';
import { useRedraw } from '../app/hooks.js';

/** Lets components follow the state of an object: tell() renders them again. */
export class Changes {
	/** @type {Set<() => void>} */
	#followers = new Set();

	tell() {
		for (const redraw of this.#followers) redraw();
	}

	/**
	 * Returns a function that ends it.
	 * @param {() => void} redraw
	 */
	follow(redraw) {
		this.#followers.add(redraw);
		return () => void this.#followers.delete(redraw);
	}
}

/** @param {Changes} changes */
export function useChanges(changes) {
	const redraw = useRedraw();
	useLayoutEffect(() => changes.follow(redraw), [changes]);
}

/** @param {{ run: () => void, className?: string, children: Page.Children, [name: string]: unknown }} props */
export const Button = ({ run, className = '', children, ...rest }) => html`<button type="button"
	class="viewer-button ${className}" onClick=${run} ...${rest}>${children}</button>`;

/**
 * A switch that looks like a button; `change(on)`.
 * @param {{ on: unknown, change: (on: boolean) => void, children: Page.Children, [name: string]: unknown }} props
 */
export const Toggle = ({ on, change, children, ...rest }) => html`<${Button} aria-pressed=${String(Boolean(on))}
	run=${() => change(!on)} ...${rest}>${children}</${Button}>`;

/**
 * options: [value, text]
 * @param {{ label: string, options: [string | number, Page.Children][], value: string | number, change: (value:
 * string) => void }} props
 */
export function Choice({ label, options, value, change }) {
	const id = useId();
	return html`<span class="viewer-choice"><label for=${id}>${label}</label>
		<select id=${id} value=${value} onChange=${({ target }) => change(target.value)}>
			${options.map(([each, name]) => html`<option value=${each}>${name}</option>`)}</select></span>`;
}

/**
 * `say(value)` is the text beside it.
 * @param {{ label: string, min: number | string, max: number | string, step: number | string, value: number, say:
 * (value: number) => string, change: (value: number) => void, className?: string, disabled: boolean | object | null
 * }} props
 */
export function Slider({ label, min, max, step, value, say, change, className = '', disabled }) {
	const id = useId();
	return html`<div class="viewer-slider ${className}"><label for=${id}>${label}</label>
		<input id=${id} type="range" min=${min} max=${max} step=${step} disabled=${disabled} value=${value}
			aria-valuetext=${say(value)} onInput=${({ target }) => change(Number(target.value))} />
		<output for=${id}>${say(value)}</output></div>`;
}

/** @param {{ title: string, children: Page.Children }} props */
export const Section = ({ title, children }) => html`<section class="viewer-section"><h2>${title}</h2>${children}
	</section>`;

/** @param {{ children: Page.Children }} props */
export const Quiet = ({ children }) => html`<p class="viewer-quiet">${children}</p>`;

/**
 * rows: table rows
 * @param {{ heads: string[], children: Page.Children }} props
 */
export const Table = ({ heads, children }) => html`<div class="viewer-scroll" tabindex="0" role="group"
	aria-label=${heads[0]}><table><thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
	<tbody>${children}</tbody></table></div>`;

/**
 * rows: [name, value]
 * @param {{ rows: [string, Page.Children][] }} props
 */
export const Facts = ({ rows }) => html`<dl>${rows.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd>
	</div>`)}</dl>`;

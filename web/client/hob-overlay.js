/**
 * hob-overlay.js - shows on the page why a saved change is not visible.
 *
 *     import { HobOverlay } from './hob-overlay.js';
 *     const loader = new HobLoader();
 *     loader.overlay = new HobOverlay();      // shows the errors of watched models, until the next good save
 */
const style = `
	:host { position: fixed; inset: auto 0 0 0; z-index: 2147483000; max-height: 60vh; overflow: auto;
		font: 14px/1.5 system-ui, sans-serif; color: #fff; background: #8c1d18; box-shadow: 0 -2px 12px #0008; }
	:host([hidden]) { display: none; }
	ul { list-style: none; margin: 0; padding: 12px 56px 12px 16px; }
	li + li { margin-top: 12px; }
	p { margin: 0; overflow-wrap: anywhere; }
	.where { font-family: ui-monospace, monospace; }
	.hint::before { content: '→ '; }
	button { position: absolute; top: 8px; right: 12px; width: 32px; height: 32px;
		font: inherit; color: inherit; background: #0004; border: 1px solid #fff8; border-radius: 4px;
		cursor: pointer; }
`;

/**
 * @param {string} name
 * @param {string} className
 * @param {string} text
 */
function element(name, className, text) {
	const out = document.createElement(name);
	out.className = className;
	out.textContent = text;
	return out;
}

/** A custom element, <hob-overlay>, which adds itself to the page when there is an error. */
export class HobOverlay extends (globalThis.HTMLElement ?? Object) {
	#errors = new Map();
	#list = document.createElement('ul');

	constructor() {
		super();
		const close = element('button', '', '✕');
		close.setAttribute('type', 'button');
		close.setAttribute('aria-label', 'Hide until the next error');
		close.addEventListener('click', () => (this.hidden = true));
		this.attachShadow({ mode: 'open' }).append(element('style', '', style), this.#list, close);
	}

	connectedCallback() {
		this.setAttribute('role', 'alert');
	}

	/**
	 * @param {string} name  of the asset  @param {{message: string, file?: string, line?: number, hint?: string}}
	 * error
	 */
	show(name, error) {
		this.#errors.set(name, error);
		this.#draw();
	}

	/**
	 * Removes the asset's error.
	 * @param {string} name
	 */
	clear(name) {
		if (this.#errors.delete(name)) this.#draw();
	}

	#draw() {
		this.#list.replaceChildren(...[...this.#errors].map(([name, { message, file, line, hint }]) => {
			const item = document.createElement('li');
			const where = file && !name.endsWith(file) ? `${name}: ${file}` : name;
			item.append(element('p', 'where', line ? `${where}:${line}` : where), element('p', 'what', message));
			if (hint) item.append(element('p', 'hint', hint));
			return item;
		}));
		this.hidden = this.#errors.size === 0;
		if (!this.hidden && !this.isConnected) document.body.append(this);
	}
}

globalThis.customElements?.define('hob-overlay', HobOverlay);

/* Elements in one call: h('button', { type: 'button', onclick: run, 'aria-pressed': 'false' }, 'Fit'). */
export function h(tag, properties = {}, ...children) {
	const element = document.createElement(tag);
	for (const [name, value] of Object.entries(properties)) {
		if (value === undefined || value === null || value === false) continue;
		if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
		else if (name === 'class') element.className = value;
		else if (name === 'value') element.value = value;
		else element.setAttribute(name, value === true ? '' : value);
	}
	element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
	return element;
}

let last = 0;

/** A new id for labels. */
export const newId = (name) => `viewer-${name}-${++last}`;

export function button(label, run, properties = {}) {
	return h('button', { type: 'button', class: 'viewer-button', onclick: run, ...properties }, label);
}

/** A switch that looks like a button; `change(on)`. */
export function toggle(label, on, change, properties = {}) {
	const element = button(label, () => {
		const pressed = element.getAttribute('aria-pressed') !== 'true';
		element.setAttribute('aria-pressed', pressed);
		change(pressed);
	}, { 'aria-pressed': String(on), ...properties });
	return element;
}

/** A select with a label before it; options: [value, text]. */
export function choice(label, options, value, change, properties = {}) {
	const id = newId('choice');
	const select = h('select', { id, onchange: () => change(select.value), ...properties },
		options.map(([each, name]) => h('option', { value: each }, name)));
	select.value = value;
	return h('span', { class: 'viewer-choice' }, h('label', { for: id }, label), select);
}

/** A slider with its label and value; `say(value)` is what stands beside it. */
export function slider({ label, min, max, step, value, say, change, class: name = '' }) {
	const id = newId('slider');
	const said = h('output', { for: id }, say(value));
	const input = h('input', { id, type: 'range', min, max, step, value, 'aria-valuetext': say(value) });
	const show = (now) => {
		said.textContent = say(now);
		input.setAttribute('aria-valuetext', say(now));
	};
	input.addEventListener('input', () => {
		show(Number(input.value));
		change(Number(input.value));
	});
	const row = h('div', { class: `viewer-slider ${name}` }, h('label', { for: id }, label), input, said);
	row.show = (now) => {
		if (document.activeElement !== input || Number(input.value) === now) input.value = now;
		show(now);
	};
	row.input = input;
	return row;
}

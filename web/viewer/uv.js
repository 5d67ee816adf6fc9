/* Shows the triangles of the visible parts in a UV set, and how much of the square they cover. */
import { html } from 'htm/preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import { percent } from '../app/format.js';
import { useElement } from '../app/hooks.js';
import { Choice, Quiet, Section } from './controls.js';
import { text } from './text.js';

/** @typedef {{ used?: number, shared?: number, from: number[], to: number[], whole: boolean }} Measured */

const SIDE = 512; /* pixels of the drawing */
const [FINEST, COARSEST] = [256, 16]; /* cells along each side of the grid for counting */
const WORK = 1e7; /* most cells examined */
const MOST = 100000; /* most triangles; leaving out others is reported */
const FAR = 8; /* most squares to each side that a drawing shows */

/** @param {number} set */
const nameOf = (set) => (set ? `uv${set}` : 'uv');

/**
 * Calls visit(u0, v0, u1, v1, u2, v2) for the drawn triangles; false if some were left out.
 * @param {View.Model} model
 * @param {string} name
 * @param {(u0: number, v0: number, u1: number, v1: number, u2: number, v2: number) => void} visit
 */
function visitTriangles(model, name, visit) {
	let left = MOST;
	model.traverseVisible(({ isMesh, geometry }) => {
		const uv = isMesh && geometry.attributes[name];
		if (!uv) return;
		const { index } = geometry;
		const count = index ? index.count : uv.count;
		const at = (/** @type {number} */ i) => (index ? index.getX(i) : i);
		for (let i = 0; i + 2 < count && left > 0; i += 3, left--) {
			const [a, b, c] = [at(i), at(i + 1), at(i + 2)];
			visit(uv.getX(a), uv.getY(a), uv.getX(b), uv.getY(b), uv.getX(c), uv.getY(c));
		}
	});
	return left > 0;
}

/**
 * Adds one to each of side * side cells whose middle is inside the triangle; coordinates wrap around.
 * @param {Uint32Array} cells
 * @param {number} side
 * @param {number} u0
 * @param {number} v0
 * @param {number} u1
 * @param {number} v1
 * @param {number} u2
 * @param {number} v2
 */
function count(cells, side, u0, v0, u1, v1, u2, v2) {
	const area = (u1 - u0) * (v2 - v0) - (u2 - u0) * (v1 - v0);
	const [low, high] = [Math.min(v0, v1, v2), Math.max(v0, v1, v2)];
	const [left, right] = [Math.min(u0, u1, u2), Math.max(u0, u1, u2)];
	if (!area || !(high - low < FAR && right - left < FAR)) return;
	/** @param {number} i */
	const wrap = (i) => ((i % side) + side) % side;
	for (let y = Math.ceil(low * side - 0.5); (y + 0.5) / side < high; y++)
		for (let x = Math.ceil(left * side - 0.5); (x + 0.5) / side < right; x++) {
			const [u, v] = [(x + 0.5) / side, (y + 0.5) / side];
			const a = ((u1 - u) * (v2 - v) - (u2 - u) * (v1 - v)) / area;
			const b = ((u2 - u) * (v0 - v) - (u0 - u) * (v2 - v)) / area;
			if (a > 0 && b > 0 && a + b < 1) cells[wrap(y) * side + wrap(x)]++;
		}
}

/**
 * {used, shared, from, to, whole} of a set: shares of the square, and the extent of its coordinates. If the picture
 * repeats so often that counting would be slow, the shares are missing.
 * @param {View.Model} model
 * @param {number} set
 * @returns {Measured}
 */
export function measureUv(model, set) {
	const [from, to] = [[Infinity, Infinity], [-Infinity, -Infinity]];
	let squares = 0;
	const whole = visitTriangles(model, nameOf(set), (...corners) => {
		corners.forEach((value, i) => {
			from[i % 2] = Math.min(from[i % 2], value);
			to[i % 2] = Math.max(to[i % 2], value);
		});
		const [u0, v0, u1, v1, u2, v2] = corners;
		squares += (Math.max(u0, u1, u2) - Math.min(u0, u1, u2)) * (Math.max(v0, v1, v2) - Math.min(v0, v1, v2));
	});
	const side = Math.min(FINEST, Math.floor(Math.sqrt(WORK / squares)));
	if (!(side >= COARSEST)) return { from, to, whole };
	const cells = new Uint32Array(side * side);
	visitTriangles(model, nameOf(set), (...corners) => count(cells, side, ...corners));
	/** @param {number} least */
	const share = (least) => cells.reduce((sum, cell) => sum + Number(cell >= least), 0) / cells.length;
	return { used: share(1), shared: share(2), from, to, whole };
}

/**
 * The picture's square is framed; v grows downwards, as in the picture.
 * @param {HTMLCanvasElement} canvas
 * @param {View.Model} model
 * @param {number} set
 * @param {Measured} given
 */
function draw(canvas, model, set, { from, to }) {
	const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
	const style = getComputedStyle(canvas);
	const low = Math.max(-FAR, Math.min(0, ...from));
	const scale = SIDE / (Math.min(FAR, Math.max(1, ...to)) - low);
	/** @param {number} value */
	const at = (value) => (value - low) * scale;
	pen.clearRect(0, 0, SIDE, SIDE);
	pen.lineWidth = 0.6;
	pen.strokeStyle = style.color;
	/* One long path would take seconds, and separate lines would darken where they cross. */
	visitTriangles(model, nameOf(set), (u0, v0, u1, v1, u2, v2) => {
		pen.beginPath();
		pen.moveTo(at(u0), at(v0));
		pen.lineTo(at(u1), at(v1));
		pen.lineTo(at(u2), at(v2));
		pen.closePath();
		pen.stroke();
	});
	pen.lineWidth = 2;
	pen.strokeStyle = style.borderColor;
	pen.strokeRect(at(0), at(0), scale, scale);
}

/** @param {number} value */
const near = (value) => Number(value.toFixed(2));

/**
 * The sets that any part of a model has.
 * @param {View.Model} model
 */
const setsOf = (model) => [0, 1, 2, 3].filter((set) => {
	let found = false;
	model.traverse(({ isMesh, geometry }) => (found ||= Boolean(isMesh && geometry.attributes[nameOf(set)])));
	return found;
});

/** @param {Measured} given */
function say({ used, shared, from, to, whole }) {
	const outside = [...from, ...to].some((value) => value < -0.005 || value > 1.005);
	return [used !== undefined && text.uvUsed(percent(used), percent(shared ?? 0)),
		outside && text.uvReach(near(from[0]), near(from[1]), near(to[0]), near(to[1])), !whole
			&& text.uvPart].filter(Boolean).join(' ');
}

/** @param {{ model: View.Model, set: number }} props */
function Layout({ model, set }) {
	/** @type {{ current: HTMLCanvasElement }} */
	const canvas = useElement();
	const [said, setSaid] = useState('');
	useLayoutEffect(() => {
		const found = measureUv(model, set);
		draw(canvas.current, model, set, found);
		setSaid(say(found));
	}, [model, set]);
	return html`<canvas class="viewer-uv" ref=${canvas} width=${SIDE} height=${SIDE} role="img" aria-label=${said} />
		<${Quiet}>${said}</${Quiet}>`;
}

/**
 * Drawn when the section is opened.
 * @param {{ model: View.Model }} props
 */
export function UvSection({ model }) {
	const sets = setsOf(model);
	const [chosen, choose] = useState(0);
	const [open, setOpen] = useState(false);
	if (!sets.length) return null;
	const set = sets.includes(chosen) ? chosen : sets[0];
	return html`<${Section} title=${text.uv}><details onToggle=${({ target }) => setOpen(target.open)}>
		<summary>${text.uvShow}</summary>
		${sets.length > 1 && html`<${Choice} label=${text.uvSet} options=${sets.map((each) => [each, each + 1])}
			value=${set} change=${(value) => choose(Number(value))} />`}
		${open && html`<${Layout} ...${{ model, set }} />`}</details></${Section}>`;
}

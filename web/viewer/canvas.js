/* The canvas of a view: its name, its keys, a click on the model. */
import { press } from './keys.js';
import { text } from './text.js';

/**
 * The canvas belongs to the page; a view uses it until it ends.
 * @param {View.Viewer} viewer
 * @param {HTMLCanvasElement} canvas
 */
export function dressCanvas(viewer, canvas) {
	const { signal } = viewer.ends;
	for (const [name, value] of Object.entries({ class: 'viewer-canvas', tabindex: '0', role: 'application',
		'aria-roledescription': text.viewRole, 'aria-label': text.view(viewer.asset.path),
		'aria-describedby': 'viewer-keys' }))
		canvas.setAttribute(name, value);
	canvas.addEventListener('keydown', (event) => press(viewer, event), { signal });
	/** @type {[number, number] | null} */
	let down = null;
	canvas.addEventListener('pointerdown', (event) => (down = [event.clientX, event.clientY]), { signal });
	canvas.addEventListener('click', ({ clientX, clientY }) => {
		const moved = !down || Math.hypot(clientX - down[0], clientY - down[1]) > 4;
		if (!viewer.model || moved) return;
		const ray = viewer.stage.rayAt(clientX, clientY);
		if (viewer.ruler) viewer.measure(ray);
		else viewer.tree.pick(ray);
	}, { signal });
	canvas.addEventListener('webglcontextlost', () => viewer.tell(text.lost), { signal });
	canvas.addEventListener('webglcontextrestored', () => {
		viewer.tell('');
		viewer.stage.invalidate();
	}, { signal });
}

/* The keys of the 3D view: each acts while the picture has the focus. */
const STEP = Math.PI / 24;

/** @param {(stage: View.Viewer['stage']) => void} act */
const move = (act) => (/** @type {View.Viewer} */ viewer) => {
	if (viewer.stage.through) viewer.lookThrough(-1);
	act(viewer.stage);
};
const closer = move((stage) => stage.approach(1 / 1.15));

/** @type {Page.Table<(viewer: View.Viewer) => unknown>} */
export const keys = {
	ArrowLeft: move((stage) => stage.turn(-STEP, 0)),
	ArrowRight: move((stage) => stage.turn(STEP, 0)),
	ArrowUp: move((stage) => stage.turn(0, -STEP)),
	ArrowDown: move((stage) => stage.turn(0, STEP)),
	'+': closer,
	'=': closer,
	'-': move((stage) => stage.approach(1.15)),
	/** @param {View.Viewer} viewer */
	f: (viewer) => viewer.fit(),
	/** @param {View.Viewer} viewer */
	F: (viewer) => viewer.fit(),
	/** @param {View.Viewer} viewer */
	p: (viewer) => viewer.savePicture(),
	/** @param {View.Viewer} viewer */
	w: (viewer) => viewer.setFull(!viewer.full),
	/** @param {View.Viewer} viewer */
	h: (viewer) => viewer.full && viewer.setFolded(!viewer.folded),
	/** @param {View.Viewer} viewer */
	t: (viewer) => viewer.setTurning(!viewer.stage.controls.autoRotate),
	/** @param {View.Viewer} viewer */
	u: (viewer) => viewer.undo.go(-1),
	r: (viewer) => viewer.undo.go(1),
	',': (viewer) => viewer.clips.step(-1),
	/** @param {View.Viewer} viewer */
	'.': (viewer) => viewer.clips.step(1),
};

/**
 * @param {View.Viewer} viewer
 * @param {KeyboardEvent} event
 */
export function press(viewer, event) {
	const held = event.ctrlKey || event.metaKey;
	const undoes = held && !event.altKey && event.key.toLowerCase() === 'z';
	if (!viewer.stage || event.altKey || (held && !undoes)) return;
	const run = undoes ? keys[event.shiftKey ? 'r' : 'u'] : keys[event.key];
	if (!run || !viewer.model) return;
	run(viewer);
	event.preventDefault();
	event.stopPropagation();
}

/* The keys of the 3D view: each acts while the picture has the focus. */
const STEP = Math.PI / 24;

const move = (act) => (viewer) => {
	if (viewer.stage.through) viewer.lookThrough(-1);
	act(viewer.stage);
};
const closer = move((stage) => stage.approach(1 / 1.15));

export const keys = {
	ArrowLeft: move((stage) => stage.turn(-STEP, 0)),
	ArrowRight: move((stage) => stage.turn(STEP, 0)),
	ArrowUp: move((stage) => stage.turn(0, -STEP)),
	ArrowDown: move((stage) => stage.turn(0, STEP)),
	'+': closer,
	'=': closer,
	'-': move((stage) => stage.approach(1.15)),
	f: (viewer) => viewer.fit(),
	F: (viewer) => viewer.fit(),
	p: (viewer) => viewer.savePicture(),
	w: (viewer) => viewer.setFull(!viewer.full),
	h: (viewer) => viewer.full && viewer.setFolded(!viewer.folded),
	t: (viewer) => viewer.setTurning(!viewer.stage.controls.autoRotate),
	',': (viewer) => viewer.clips.step(-1),
	'.': (viewer) => viewer.clips.step(1),
};

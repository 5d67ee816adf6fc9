/* Everything that is chosen in a view, as one object: a link writes it, and opening the link restores it. */
import { jointsOf } from './looks.js';
import { text } from './text.js';

/* A number that is left out where it is the usual one. */
const unless = (usual, value) => (value === usual ? undefined : value);

export function readState(viewer) {
	const { lod: level, look, clips, helpers, stage, light, model, tree, cameras } = viewer;
	const parts = tree.parts.map(({ path }) => path);
	const on = (name) => Boolean(helpers[name]);
	return { ...stage.where(), level, look, clip: clips.clip, time: clips.time, other: clips.other, share: clips.share,
		wireframe: stage.wireframe, bounds: on('bounds'), normals: on('normals'), tangents: on('tangents'),
		skeleton: on('skeleton'), gridOff: viewer.gridOff, byDistance: Boolean(viewer.byDistance),
		shadow: Boolean(stage.shadow), turning: stage.controls.autoRotate,
		exposure: unless(1, light.exposure), surroundings: unless('room', light.surroundings),
		ground: unless('page', light.ground), camera: unless(-1, cameras.indexOf(stage.through)),
		variant: unless(-1, (model.userData.variants ?? []).indexOf(viewer.variant)),
		joint: unless(-1, jointsOf(model).indexOf(viewer.joint)), alone: unless(-1, parts.indexOf(tree.alone)),
		hidden: [...tree.hidden].map((path) => parts.indexOf(path)) };
}

/** Sets a view to a state; what the model does not have is left out. */
export function setState(viewer, state) {
	const { clips, tree, model, stage } = viewer;
	const pathOf = (index) => tree.parts[index]?.path;
	const { light, variants = [] } = { light: viewer.light, variants: model.userData.variants };
	if (variants[state.variant]) viewer.setVariant(variants[state.variant]);
	if (state.level > 0 && state.level < viewer.levels.length) viewer.setLod(state.level);
	if (state.byDistance) viewer.setByDistance(true);
	viewer.joint = jointsOf(model)[state.joint] ?? '';
	if (text.looks[state.look]) viewer.setLook(state.look);
	const known = (clip) => clip >= 0 && clip < (clips.names?.length ?? 0);
	if (known(state.clip)) clips.choose(state.clip, { time: state.time });
	if (known(state.clip) && known(state.other)) clips.blend(state.other, state.share);
	tree.set(() => {
		tree.hidden = new Set(state.hidden.map(pathOf).filter(Boolean));
		tree.alone = pathOf(state.alone) ?? null;
	});
	if (state.wireframe) viewer.setWireframe(true);
	if (state.bounds) viewer.setBounds(true);
	if (state.normals) viewer.setNormals(true);
	if (state.tangents) viewer.setTangents(true);
	if (state.skeleton) viewer.setSkeleton(true);
	viewer.gridOff = Boolean(state.gridOff);
	viewer.setLight({ exposure: state.exposure ?? light.exposure,
		surroundings: text.surroundingsOf[state.surroundings] ? state.surroundings : light.surroundings,
		ground: text.groundOf[state.ground] ? state.ground : light.ground });
	if (state.shadow) viewer.setShadow(true);
	stage.place(state);
	if (viewer.cameras[state.camera]) viewer.lookThrough(state.camera);
	viewer.setTurning(Boolean(state.turning));
	viewer.changes.tell();
}

/* Everything that is chosen in a view, as one object: a link writes it, opening the link restores it, and so does
 * undo. */
import { jointsOf } from './looks.js';
import { text } from './text.js';

/**
 * A choice that is left out where it is the usual one.
 * @template Kind
 * @param {Kind} usual
 * @param {Kind} value
 */
const unless = (usual, value) => (value === usual ? undefined : value);

/**
 * Switches of a view: whether each is on, and how it is set.
 * @type {[keyof View.Choices, (viewer: View.Viewer) => unknown, (viewer: View.Viewer, on: boolean) => void][]}
 */
const switches = [
	['wireframe', ({ stage }) => stage.wireframe, (viewer, on) => viewer.setWireframe(on)],
	['bounds', ({ helpers }) => helpers.bounds, (viewer, on) => viewer.setBounds(on)],
	['normals', ({ helpers }) => helpers.normals, (viewer, on) => viewer.setNormals(on)],
	['tangents', ({ helpers }) => helpers.tangents, (viewer, on) => viewer.setTangents(on)],
	['skeleton', ({ helpers }) => helpers.skeleton, (viewer, on) => viewer.setSkeleton(on)],
	['byDistance', ({ byDistance }) => byDistance, (viewer, on) => viewer.setByDistance(on)],
	['shadow', ({ stage }) => stage.shadow, (viewer, on) => viewer.setShadow(on)],
	['turning', ({ stage }) => stage.controls.autoRotate, (viewer, on) => viewer.setTurning(on)],
	['gridOff', ({ gridOff }) => gridOff, (viewer, on) => viewer.setGrid(!on)],
];

/**
 * @param {View.Viewer} viewer
 * @returns {View.State}
 */
export function readState(viewer) {
	const { lod: level, look, clips, stage, light, model, tree, cameras } = viewer;
	const parts = tree.parts.map(({ path }) => path);
	return { ...stage.where(), level, look, clip: clips.clip, time: clips.time, other: clips.other, share: clips.share,
		...Object.fromEntries(switches.map(([name, isOn]) => [name, Boolean(isOn(viewer))])),
		exposure: unless(1, light.exposure), surroundings: unless('room', light.surroundings),
		ground: unless('page', light.ground), camera: unless(-1, stage.through ? cameras.indexOf(stage.through) : -1),
		variant: unless(-1, (model.userData.variants ?? []).indexOf(viewer.variant)),
		joint: unless(-1, jointsOf(model).indexOf(viewer.joint)),
		alone: unless(-1, tree.alone === null ? -1 : parts.indexOf(tree.alone)),
		hidden: [...tree.hidden].map((path) => parts.indexOf(path)) };
}

/**
 * Sets a view to a state; what the model does not have is left out.
 * @param {View.Viewer} viewer
 * @param {View.State} state
 */
export function setState(viewer, state) {
	const { clips, tree, model, stage } = viewer;
	/** @param {number | undefined} index */
	const pathOf = (index = -1) => tree.parts[index]?.path;
	/** @type {string[]} */
	const variants = model.userData.variants ?? [];
	const variant = variants[state.variant ?? -1] ?? '';
	if (variant !== viewer.variant) viewer.setVariant(variant);
	const level = state.level < (viewer.levels?.length ?? 0) ? state.level : 0;
	if (level !== viewer.lod) viewer.setLod(level);
	for (const [name, isOn, set] of switches)
		if (Boolean(isOn(viewer)) !== Boolean(state[name])) set(viewer, Boolean(state[name]));
	viewer.joint = jointsOf(model)[state.joint ?? -1] ?? '';
	const look = text.looks[state.look] ? state.look : 'material';
	if (look !== viewer.look || look === 'weights') viewer.setLook(look);
	/** @param {number} clip */
	const known = (clip) => clip >= 0 && clip < clips.names.length;
	const [clip, other = -1] = [known(state.clip) ? state.clip : -1, state.other];
	if (clip !== clips.clip || state.time !== clips.time) clips.choose(clip, { time: clip < 0 ? 0 : state.time });
	const blended = known(clip) && known(other) ? other : -1;
	if (blended !== clips.other || (blended >= 0 && state.share !== clips.share))
		clips.blend(blended, state.share ?? clips.share);
	tree.set(() => {
		tree.hidden = new Set((state.hidden ?? []).map(pathOf).filter(Boolean));
		tree.alone = pathOf(state.alone) ?? null;
	});
	const { surroundings = 'room', ground = 'page' } = state;
	viewer.setLight({ exposure: state.exposure ?? 1, surroundings: text.surroundingsOf[surroundings]
		? surroundings : 'room',
		ground: text.groundOf[ground] ? ground : 'page' });
	stage.place(state);
	const camera = viewer.cameras[state.camera ?? -1] ?? null;
	if (camera !== stage.through) viewer.lookThrough(state.camera ?? -1);
	viewer.changes.tell();
}

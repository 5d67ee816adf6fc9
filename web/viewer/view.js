/* The view around the picture: tools above, messages on it, the player below, sections beside it. */
import { render } from 'preact';
import { html } from 'htm/preact';
import { exactTime, sentence } from '../app/format.js';
import { useState } from 'preact/hooks';
import { Player } from './clips.js';
import { Button, Choice, Quiet, Slider, Toggle, useChanges } from './controls.js';
import { closeDropped } from './drop.js';
import { FindingSection } from './findings.js';
import { jointsOf, looksOf } from './looks.js';
import { MaterialSection } from './materials.js';
import { CostSection, FactSection, LevelSection, LightSection, MorphSection } from './panel.js';
import { SavedSection } from './saved.js';
import { Inspector } from './texels.js';
import { text } from './text.js';
import { TreeSection } from './tree.js';
import { UvSection } from './uv.js';

const POSTER = 128; /* pixels; a placeholder has another size */
/** @param {View.Asset} asset */
const isGltf = (asset) => /\.(gltf|glb|vrm)$/i.test(asset.path);

/** @param {{ viewer: View.Viewer }} props */
function Looks({ viewer }) {
	const { model, helpers, stage, look } = viewer;
	const has = looksOf(model);
	const skeleton = model.userData.cooked.anims?.find('SKIN')?.count > 0;
	return html`<div class="viewer-group">
		<${Choice} label=${text.shading} options=${Object.entries(text.looks).filter(([name]) => has(name))}
			value=${look} change=${(name) => viewer.setLook(name)} />
		${look === 'weights' && html`<${Choice} label=${text.joint} value=${viewer.joint}
			options=${[['', text.jointsAll], ...jointsOf(model).map((name) => [name, name])]}
			change=${(name) => viewer.setJoint(name)} />`}
		<${Toggle} on=${stage.wireframe} change=${(on) => viewer.setWireframe(on)}>${text.wireframe}</${Toggle}>
		<${Toggle} on=${helpers.bounds} change=${(on) => viewer.setBounds(on)}>${text.bounds}</${Toggle}>
		<${Toggle} on=${helpers.normals} change=${(on) => viewer.setNormals(on)}>${text.normalLines}</${Toggle}>
		${has('tangents') && html`<${Toggle} on=${helpers.tangents} change=${(on) => viewer.setTangents(on)}>
			${text.tangentLines}</${Toggle}>`}
		${skeleton && html`<${Toggle} on=${helpers.skeleton} change=${(on) => viewer.setSkeleton(on)}>
			${text.skeleton}</${Toggle}>`}
		<${Toggle} on=${!viewer.gridOff} change=${(on) => viewer.setGrid(on)}>${text.grid}</${Toggle}></div>`;
}

/** @param {{ viewer: View.Viewer }} props */
function Actions({ viewer }) {
	const { model, cameras, stage, variant, asset } = viewer;
	/** @type {string[]} */
	const variants = model.userData.variants ?? [];
	return html`<div class="viewer-group">
		${cameras.length > 0 && html`<${Choice} label=${text.camera}
			value=${stage.through ? cameras.indexOf(stage.through) : -1}
			options=${[[-1, text.orbit], ...cameras.map((camera, i) => [i, camera.userData.name || camera.name])]}
			change=${(index) => viewer.lookThrough(Number(index))} />`}
		${variants.length > 0 && html`<${Choice} label=${text.variant} value=${variant}
			options=${[['', text.noVariant], ...variants.map((name) => [name, name])]}
			change=${(name) => viewer.setVariant(name)} />`}
		${isGltf(asset) && html`<${Toggle} on=${viewer.comparing === 'source'} change=${(on) => viewer.setCompare(on)}>
			${text.compare}</${Toggle}>`}
		${viewer.versions.length > 0 && html`<${Choice} label=${text.version}
			value=${viewer.comparing === 'source' ? '' : viewer.comparing}
			options=${[['', text.versionNone], ...viewer.versions.map(({ at }) => [at, exactTime(Date.parse(at))])]}
			change=${(at) => viewer.compareWith(at)} />`}
		<${Toggle} on=${viewer.ruler} title=${text.rulerHint} change=${(on) => viewer.setRuler(on)}>
			${text.ruler}</${Toggle}>
		<${Toggle} on=${stage.controls.autoRotate} title=${text.turnHint} change=${(on) => viewer.setTurning(on)}>
			${text.turn}</${Toggle}>
		<${Button} title=${text.undoHint} disabled=${!viewer.undo.steps.canUndo} run=${() => viewer.undo.go(-1)}>
			${text.undo}</${Button}>
		<${Button} title=${text.redoHint} disabled=${!viewer.undo.steps.canRedo} run=${() => viewer.undo.go(1)}>
			${text.redo}</${Button}>
		<${Button} title=${text.linkHint} run=${() => viewer.copyLink()}>${text.link}</${Button}>
		<${Button} title=${text.pictureHint} run=${() => viewer.savePicture()}>${text.picture}</${Button}>
		<${Button} title=${text.fitHint} run=${() => viewer.fit()}>${text.fit}</${Button}>
		${!viewer.full && html`<${Button} title=${text.fullHint} run=${() => viewer.setFull(true)}>
			${text.full}</${Button}>`}</div>`;
}

/** @param {{ viewer: View.Viewer }} props */
const Tools = ({ viewer }) => html`<div class="viewer-tools" role="toolbar" aria-label=${text.viewRole}>
	${viewer.levels && html`<${Looks} viewer=${viewer} /><${Actions} viewer=${viewer} />`}</div>`;

/**
 * A small picture of the asset, until its model is loaded.
 * @param {{ src: string | undefined }} props
 */
function Poster({ src }) {
	const [fits, setFits] = useState(false);
	return html`<img class="viewer-poster" src=${src} alt="" hidden=${!fits}
		onLoad=${({ target }) => setFits(target.naturalWidth === POSTER)} />`;
}

/** @param {{ viewer: View.Viewer }} props */
const Divider = ({ viewer }) => html`<div class="viewer-divider" style=${{ '--at': `${viewer.splitAt * 100}%` }}>
	<span class="viewer-side viewer-side-source">${viewer.besideName}</span>
	<span class="viewer-side viewer-side-cooked">${text.cooked}</span><span class="viewer-edge" />
	<${Slider} label=${text.compareAt} min="0" max="100" step="1" value=${viewer.splitAt * 100}
		say=${(at) => `${Math.round(at)} %`} change=${(at) => viewer.splitView(at / 100)} /></div>`;

/** @param {{ viewer: View.Viewer }} props */
function Fault({ viewer }) {
	const { title, message, place, hint } = viewer.fault ?? { title: '', message: '', place: '', hint: '' };
	return html`<div class="viewer-alert-head"><strong>${title}</strong>
			<${Button} className="viewer-x" aria-label=${text.hide} run=${() => viewer.hideError()}>×</${Button}></div>
		<p>${sentence(message)}</p>${place && html`<p class="viewer-place"><code>${place}</code></p>`}
		${hint && html`<p><b>${text.hint}: </b>${hint}</p>`}
		<${Quiet}>${title === text.dropFailed ? text.failedDropped
			: viewer.model || viewer.asset.rev ? text.failedKept : text.failedNever}</${Quiet}>`;
}

/** @param {{ viewer: View.Viewer }} props */
const Dropped = ({ viewer }) => html`<p class="viewer-dropped">${text.dropShown(viewer.dropped)}
	<${Button} run=${() => closeDropped(viewer)}>${text.dropBack}</${Button}></p>`;

/** @param {{ viewer: View.Viewer }} props */
const Picture = ({ viewer }) => html`<div class="viewer-stage" ref=${viewer.stageHost}>
	<div class="viewer-surface" ref=${viewer.surfaceHost} />
	${!viewer.model && !viewer.coarse && !viewer.fault && html`<${Poster} src=${viewer.asset.poster} />`}
	${viewer.source && html`<${Divider} viewer=${viewer} />`}
	<p class="viewer-says" role="status">${viewer.message}</p><p class="viewer-legend">${viewer.legend}</p>
	<div class="viewer-alert" role="alert" hidden=${!viewer.fault}>
		${viewer.fault && html`<${Fault} viewer=${viewer} />`}</div>
	${viewer.dropped && html`<${Dropped} viewer=${viewer} />`}</div>`;

/** @param {{ problems: string[] }} props */
const Problems = ({ problems }) => html`<ul class="viewer-notes">${problems.map((each) => html`<li>${each}</li>`)}
	</ul>`;

/** @param {{ viewer: View.Viewer }} props */
const Panel = ({ viewer }) => html`<div class="viewer-panel">${viewer.levels && html`
	<${FindingSection} viewer=${viewer} /><${LevelSection} viewer=${viewer} /><${MorphSection} viewer=${viewer} />
	<${MaterialSection} model=${viewer.model} inspect=${(image) => viewer.inspect(image)} />
	<${TreeSection} tree=${viewer.tree} /><${UvSection} model=${viewer.model} />
	${viewer.problems.length > 0 && html`<${Problems} problems=${viewer.problems} />`}
	<${LightSection} viewer=${viewer} />
	<${SavedSection} viewer=${viewer} /><${FactSection} viewer=${viewer} /><${CostSection} viewer=${viewer} />`}</div>`;

/** @param {{ viewer: View.Viewer }} props */
function View({ viewer }) {
	useChanges(viewer.changes);
	const { full, folded } = viewer;
	/** @param {KeyboardEvent} given */
	const leave = ({ key, target }) => key === 'Escape' && full
		&& !/** @type {Element} */ (target).closest('dialog') && viewer.setFull(false);
	return html`<div class="viewer-root ${full ? 'viewer-full' : ''} ${full && folded ? 'viewer-folded' : ''}"
			onKeyDown=${leave}><p class="viewer-hidden" id="viewer-keys">${text.keys}</p>
		${full && html`<div class="viewer-group viewer-corner">
			<${Toggle} on=${!folded} title=${text.panelsHint} change=${(on) => viewer.setFolded(!on)}>
				${text.panels}</${Toggle}>
			<${Button} run=${() => viewer.setFull(false)}>${text.leaveFull}</${Button}></div>`}
		<${Tools} viewer=${viewer} />
		<div class="viewer-main"><div class="viewer-left"><${Picture} viewer=${viewer} />
			<${Player} clips=${viewer.clips} /></div><${Panel} viewer=${viewer} /></div>
		${viewer.inspected >= 0 && html`<${Inspector} renderer=${viewer.stage.renderer} index=${viewer.inspected}
			pictures=${viewer.model.userData.cooked.pictures} close=${() => viewer.inspect(-1)} />`}</div>`;
}

/**
 * Renders the view of a Viewer into its element and sets `stageHost` and `surfaceHost`. Returns a function that ends
 * it.
 * @param {View.Viewer} viewer
 */
export function showView(viewer) {
	render(html`<${View} viewer=${viewer} />`, viewer.element);
	return () => render(null, viewer.element);
}

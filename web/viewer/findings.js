/* Broken rules of the model: a list beside the picture; a chosen one is marked on the model and framed. */
import { html } from 'htm/preact';
import * as THREE from 'three';
import { number } from '../app/format.js';
import { boxOf } from './frame.js';
import { Quiet, Section, Toggle } from './controls.js';
import { text } from './text.js';

const ROWS = 100;
const NEAR = 0.08; /* of the model's size: what is seen around a single place */
const RED = 0xe5262e;

/**
 * The findings of a cooked asset, [{rule, kind, name, value, places}]; none without a report.
 * @param {Api.Output[] | undefined} outputs
 * @param {AbortSignal} signal
 * @returns {Promise<Page.Finding[]>}
 */
export async function fetchFindings(outputs, signal) {
	const report = outputs?.find(({ name }) => name === 'report');
	const answer = report && await fetch(`/blobs/${report.hash}`, { signal });
	return (answer?.ok && (await answer.json()).findings) || [];
}

/**
 * "body/arm", without the children that hold a node's meshes.
 * @param {View.Thing} object
 * @param {View.Model} model
 */
function pathOf(object, model) {
	const names = [];
	for (let at = /** @type {View.Thing | null} */ (object); at && at !== model; at = at.parent)
		if (at.userData.hob?.mesh === undefined || at.parent === model) names.unshift(at.userData.name || at.name);
	return names.filter(Boolean).join('/');
}

/**
 * The objects that a finding is about; all of a model.
 * @param {View.Model} model
 * @param {{ kind: string, name: string }} given
 */
function objectsOf(model, { kind, name }) {
	const { geometry, pictures } = model.userData.cooked;
	/** @type {View.Thing[]} */
	const found = [];
	model.traverse((object) => {
		const mesh = geometry.meshes[object.userData.hob?.mesh];
		if (kind === 'node' ? !mesh && pathOf(object, model) === name
			: mesh && (kind === 'mesh' ? mesh.name === name || (!mesh.name && pathOf(object, model) === name)
				: kind !== 'material' || pictures.records[mesh.material]?.name === name)) found.push(object);
	});
	return found.length || kind === 'mesh' || kind === 'node' ? found : [model];
}

/**
 * @param {THREE.Vector3[]} points
 * @param {number} size
 * @param {number} color
 */
function dots(points, size, color) {
	const made = new THREE.Points(new THREE.BufferGeometry().setFromPoints(points), new THREE.PointsMaterial({ size,
		sizeAttenuation: false, color, depthTest: false, transparent: true, toneMapped: false }));
	made.renderOrder = size > 10 ? 10 : 11;
	made.frustumCulled = false;
	return made;
}

/**
 * Marks a finding: {marks, box}; null if the model no longer has its object.
 * @param {View.Model} model
 * @param {Page.Finding} finding
 */
export function markFinding(model, finding) {
	const objects = objectsOf(model, finding);
	const points = [];
	const marks = new THREE.Group();
	const box = new THREE.Box3();
	model.updateMatrixWorld(true);
	for (const object of objects) {
		for (const place of finding.places ?? [])
			for (let i = 0; i < (object.isInstancedMesh ? object.count : 1); i++) {
				const at = new THREE.Matrix4();
				if (object.isInstancedMesh) object.getMatrixAt(i, at);
				points.push(new THREE.Vector3(...place).applyMatrix4(at).applyMatrix4(object.matrixWorld));
			}
		if (!finding.places?.length) box.union(boxOf(object));
	}
	if (points.length) marks.add(dots(points, 14, 0xffffff), dots(points, 10, RED));
	else if (!box.isEmpty()) {
		const lines = new THREE.Box3Helper(box, RED);
		/** @type {THREE.LineBasicMaterial} */ (lines.material).depthTest = false;
		marks.add(lines);
	}
	for (const point of points) box.expandByPoint(point);
	return marks.children.length ? { marks, box } : null;
}

/**
 * Something with corners that a camera can frame: the box, and a part of the model around it.
 * @param {THREE.Box3} box
 * @param {THREE.Box3} whole
 */
export function around(box, whole) {
	const room = box.clone().expandByScalar(whole.getSize(new THREE.Vector3()).length() * NEAR);
	const corners = Array.from({ length: 8 }, (_, i) => new THREE.Vector3(room[i & 1 ? 'max' : 'min'].x,
		room[i & 2 ? 'max' : 'min'].y, room[i & 4 ? 'max' : 'min'].z));
	return /** @type {View.Thing} */ (/** @type {unknown} */ (new THREE.Points(new THREE.BufferGeometry(
		).setFromPoints(corners))));
}

/** @param {{ viewer: View.Viewer }} props */
export function FindingSection({ viewer }) {
	const { findings, marked } = viewer;
	if (!findings.length) return null;
	return html`<${Section} title=${text.findings}><ul class="viewer-findings">${findings.slice(0, ROWS).map((each) =>
		html`<li key=${each.rule + each.kind + each.name}><${Toggle} on=${marked === each}
			change=${(on) => viewer.mark(on ? each : null)}><code>${each.rule}</code> ${each.name}
			<span class="viewer-count">${number(Number(each.value.toPrecision(4)))}</span></${Toggle}></li>`)}</ul>
		${findings.length > ROWS && html`<${Quiet}>${text.findingsMore(number(findings.length - ROWS))}</${Quiet}>`}
		</${Section}>`;
}

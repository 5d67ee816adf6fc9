/* Sections beside the picture: levels of detail, morph targets, light, facts, costs. */
import { html } from 'htm/preact';
import { useEffect, useState } from 'preact/hooks';
import * as THREE from 'three';
import { meshAttributes, meshLevels } from '../client/hob-format.js';
import { number, size } from '../app/format.js';
import { Button, Choice, Facts, Quiet, Section, Slider, Table, Toggle, useChanges } from './controls.js';
import { text } from './text.js';

const perTriangle = /** @type {Page.Table<number>} */ ({ 0: 3, 1: 2, 2: 1 });

/**
 * @typedef {ReturnType<typeof measureLevels>[number]} Level
 * @typedef {ReturnType<typeof morphsOf>[number]} Morph
 */

/**
 * The costs of drawing the whole scene with each level.
 * @param {View.Model} group
 */
export function measureLevels(group) {
	const { meshes, geometry } = group.userData.cooked;
	const drawn = new Map();
	const scale = new Map();
	group.traverse((object) => {
		const index = object.userData.hob?.mesh;
		if (index === undefined) return;
		drawn.set(index, (drawn.get(index) ?? 0) + 1);
		scale.set(index, Math.max(scale.get(index) ?? 0, object.matrixWorld.getMaxScaleOnAxis()));
	});
	const count = Math.max(0, ...[...drawn.keys()].map((index) => geometry.meshes[index].lod_count));
	const copies = [...drawn.values()].some((times) => times > 1);
	return Array.from({ length: count }, (_, level) => {
		const sum = { triangles: 0, vertices: 0, bytes: 0, error: 0, mean: 0, copies };
		for (const [index, times] of drawn) {
			const mesh = geometry.meshes[index];
			const levels = meshLevels(meshes, mesh);
			const lod = levels[Math.min(level, levels.length - 1)];
			if (!lod) continue;
			const strides = new Map(meshAttributes(meshes, mesh).map(({ section: s, stride }) => [s, stride]));
			const vertexBytes = [...strides.values()].reduce((a, b) => a + b, 0);
			if (mesh.topology === 0) sum.triangles += (lod.index_count / perTriangle[mesh.topology]) * times;
			sum.vertices += lod.vertex_prefix * times;
			sum.bytes += lod.vertex_prefix * vertexBytes + lod.index_count * lod.section.stride;
			sum.error = Math.max(sum.error, lod.error * scale.get(index));
			sum.mean = Math.max(sum.mean, lod.mean_error * scale.get(index));
		}
		return sum;
	});
}

/**
 * @param {number} error
 * @param {number} whole
 */
const share = (error, whole) => (error === 0 ? '0' : `${((error / whole) * 100).toPrecision(2)} %`);

/** @param {{ level: Level | undefined }} props */
function OneLevel({ level }) {
	return html`<${Section} title=${text.levels}><${Quiet}>${text.levelsOne}${level
		&& ` ${number(level.triangles)} ${text.triangles.toLowerCase()}, ${size(level.bytes)}.`}
		${level?.copies && ` ${text.copies}`}</${Quiet}></${Section}>`;
}

/** @param {{ viewer: View.Viewer }} props */
export function LevelSection({ viewer }) {
	const { lod, byDistance, box } = viewer;
	const levels = viewer.levels ?? [];
	if (levels.length < 2) return html`<${OneLevel} level=${levels[0]} />`;
	const whole = box.isEmpty() ? 1 : box.getSize(new THREE.Vector3()).length();
	return html`<${Section} title=${text.levels}>
		<${Slider} label=${text.level} min="0" max=${levels.length - 1} step="1" value=${lod} disabled=${byDistance}
			say=${(level) => `${level}: ${number(levels[level].triangles)}`}
			change=${(level) => viewer.setLod(level)} />
		<${Toggle} on=${byDistance} change=${(on) => viewer.setByDistance(on)}
			title=${text.byDistanceHint}>${text.byDistance}</${Toggle}>
		${byDistance && html`<p class="viewer-quiet" role="status">
			${text.byDistanceDrawn(byDistance.drawn[0], byDistance.drawn[1])}</p>`}
		<${Table} heads=${[text.level, text.triangles, text.vertices, text.size, text.error, text.meanError]}>
			${levels.map((level, i) => html`<tr aria-current=${!byDistance && i === lod ? 'true' : undefined}>
				<th scope="row">${i}</th><td>${number(level.triangles)}</td><td>${number(level.vertices)}</td>
				<td>${size(level.bytes)}</td>
				<td title=${level.error.toPrecision(3)}>${share(level.error, whole)}</td>
				<td title=${level.mean.toPrecision(3)}>${share(level.mean, whole)}</td></tr>`)}</${Table}>
		<${Quiet}>${text.errorHint}. ${levels[0].copies && text.copies}</${Quiet}></${Section}>`;
}

/**
 * Morph targets by name, each {name, before, low, high, get(), set(value)}: one entry sets all meshes that have the
 * target.
 * @param {View.Model} group
 */
export function morphsOf(group) {
	/** @type {Map<string, [View.Thing, number][]>} */
	const targets = new Map();
	group.traverse((object) => {
		for (const [name, i] of Object.entries(object.morphTargetDictionary ?? {}))
			targets.set(name, [...(targets.get(name) ?? []), [object, i]]);
	});
	return [...targets].map(([name, list]) => {
		const [[first, at]] = list;
		const get = () => first.morphTargetInfluences?.[at] ?? 0;
		return { name, before: get(), low: Math.min(0, get()), high: Math.max(1, get()), get,
			/** @param {number} value */
			set: (value) => list.forEach(([object, i]) =>
				object.morphTargetInfluences && (object.morphTargetInfluences[i] = value)) };
	});
}

/** @param {{ viewer: View.Viewer }} props */
export function MorphSection({ viewer }) {
	const { morphs, clips, stage } = viewer;
	useChanges(clips.changes);
	if (!morphs.length) return null;
	/** @param {[Morph, number][]} list */
	const set = (list) => {
		for (const [morph, value] of list) morph.set(value);
		viewer.changes.tell();
		stage.invalidate();
	};
	return html`<${Section} title=${text.morphs}>${clips.playing && html`<${Quiet}>${text.morphsDriven}</${Quiet}>`}
		${morphs.map((morph) => html`<${Slider} key=${morph.name} label=${morph.name} min=${morph.low} max=${morph.high}
			step="0.01" value=${morph.get()} disabled=${clips.playing} say=${(value) => value.toFixed(2)}
			change=${(value) => set([[morph, value]])} />`)}
		<${Button} disabled=${clips.playing} run=${() => set(morphs.map((morph) => [morph, morph.before]))}>
			${text.morphsReset}</${Button}></${Section}>`;
}

/** @param {{ viewer: View.Viewer }} props */
export function LightSection({ viewer }) {
	const { surroundings, exposure } = viewer.light;
	return html`<${Section} title=${text.light}>
		<${Choice} label=${text.surroundings} options=${Object.entries(text.surroundingsOf)} value=${surroundings}
			change=${(name) => viewer.setLight({ surroundings: name })} />
		<${Slider} label=${text.exposure} min="-3" max="3" step="0.1" value=${Math.log2(exposure)}
			say=${(stops) => `${stops > 0 ? '+' : ''}${Number(stops).toFixed(1)} EV`}
			change=${(stops) => viewer.setLight({ exposure: 2 ** stops })} />
		<${Choice} label=${text.ground} options=${Object.entries(text.groundOf)} value=${viewer.light.ground}
			change=${(ground) => viewer.setLight({ ground })} />
		<${Toggle} on=${viewer.stage.shadow} change=${(on) => viewer.setShadow(on)}>${text.shadow}</${Toggle}>
		<${Quiet}>${text.hdrHint}</${Quiet}></${Section}>`;
}

/**
 * Metres in a unit that suits the largest: "4.26 × 6.29 × 2.76 cm".
 * @param {number[]} values
 */
export function lengths(values) {
	const most = Math.max(...values);
	const [factor, unit] = most >= 1 ? [1, 'm'] : most >= 0.01 ? [100, 'cm'] : [1000, 'mm'];
	/** @param {number} value */
	const say = (value) => (value >= 1000 ? number(Math.round(value)) : value === 0 ? '0'
			: value.toPrecision(value < 0.1 ? 1 : 3));
	return `${values.map((value) => say(value * factor)).join(' × ')}\u00a0${unit}`;
}

/** @param {{ viewer: View.Viewer }} props */
export function FactSection({ viewer }) {
	const { model, box, meshlets } = viewer;
	const joints = model.userData.cooked.anims?.find('JNTS')?.count ?? 0;
	let meshes = 0;
	model.traverse((object) => (meshes += object.userData.hob ? 1 : 0));
	const rows = [[text.dimensions, box.isEmpty() ? '–' : lengths(box.getSize(new THREE.Vector3()).toArray())],
		[text.meshes, number(meshes)], joints > 0 && [text.joints, number(joints)],
		meshlets && [text.meshletsCount, number(meshlets.count)]];
	return html`<${Section} title=${text.facts}><${Facts} rows=${rows.filter(Boolean)} /></${Section}>`;
}

/** @param {View.Model} group */
function memoryOf(group) {
	/** @type {Set<object>} */
	const seen = new Set();
	let bytes = 0;
	/**
	 * @template {object} Thing
	 * @param {Thing | null | undefined} thing
	 * @param {(thing: Thing) => number} sizeOf
	 */
	const add = (thing, sizeOf) => {
		if (!thing || seen.has(thing)) return;
		seen.add(thing);
		bytes += sizeOf(thing);
	};
	/** @param {THREE.Texture} texture */
	const picture = (texture) => {
		const { mipmaps, image } = /** @type {{ mipmaps?: { data?: Uint8Array }[], image?: { width?: number,
			height?: number } }} */ (texture);
		const levels = mipmaps?.reduce((sum, { data }) => sum + (data?.byteLength ?? 0), 0);
		return levels || ((image?.width ?? 0) * (image?.height ?? 0) * 16) / 3;
	};
	group.traverse(({ geometry, material, userData }) => {
		for (const attribute of geometry ? [...Object.values(geometry.attributes), geometry.index]
				: []) add(attribute?.array, (array) => array.byteLength);
		for (const each of [userData.hob?.material ?? material].flat().filter(Boolean))
			for (const value of Object.values(each)) if (value instanceof THREE.Texture) add(value, picture);
	});
	return bytes;
}

const COSTS_EVERY = 250; /* ms */

/**
 * Costs of the newest picture.
 * @param {{ viewer: View.Viewer }} props
 */
export function CostSection({ viewer }) {
	const { stage, model } = viewer;
	const [costs, setCosts] = useState(/** @type {ReturnType<typeof stage.costs> | null} */ (null));
	useEffect(() => {
		/** @type {ReturnType<typeof setTimeout> | undefined} */
		let timer;
		const read = () => {
			timer = undefined;
			setCosts(stage.costs());
		};
		stage.drawn = () => void (timer ??= setTimeout(read, COSTS_EVERY));
		stage.drawn();
		return () => {
			stage.drawn = () => {};
			clearTimeout(timer);
		};
	}, [stage]);
	/** @type {Page.Table} */
	const values = costs ? { ms: `${costs.ms.toFixed(1)}\u00a0ms`, draws: number(costs.draws),
		triangles: number(costs.triangles), memory: size(memoryOf(model)) } : {};
	return html`<${Section} title=${text.costs}>
		<${Facts} rows=${Object.entries(text.costOf).map(([name, label]) => [label, values[name]])} /></${Section}>`;
}

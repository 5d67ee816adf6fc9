/* The sections beside the picture: levels of detail, morph targets, facts. */
import * as THREE from 'three';
import { meshAttributes, meshLevels } from '../client/hob-format.js';
import { number, size } from '../app/format.js';
import { button, choice, h, slider } from './dom.js';
import { text } from './text.js';

export function section(title, ...children) {
	return h('section', { class: 'viewer-section' }, h('h2', {}, title), ...children);
}

export function table(heads, rows) {
	return h('div', { class: 'viewer-scroll', tabindex: '0', role: 'group', 'aria-label': heads[0] },
		h('table', {}, h('thead', {}, h('tr', {}, heads.map((head) => h('th', { scope: 'col' }, head)))),
			h('tbody', {}, rows)));
}

const perTriangle = { 0: 3, 1: 2, 2: 1 };

/** Per level: what drawing the whole scene with it takes. */
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
	return Array.from({ length: count }, (_, level) => {
		const copies = [...drawn.values()].some((times) => times > 1);
		const sum = { triangles: 0, vertices: 0, bytes: 0, error: 0, copies };
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
		}
		return sum;
	});
}

const share = (error, whole) => (error === 0 ? '0' : `${((error / whole) * 100).toPrecision(2)} %`);

/** choose(level) when the slider moves. Answers the section with show(level). */
export function levelSection(levels, whole, chosen, choose) {
	if (levels.length < 2) {
		const [only] = levels;
		return section(text.levels, h('p', { class: 'viewer-quiet' },
			`${text.levelsOne}${only ? ` ${number(only.triangles)} ${text.triangles.toLowerCase()}, ${size(
					only.bytes)}.` : ''}${only?.copies ? ` ${text.copies}` : ''}`));
	}
	const rows = levels.map((level, i) => h('tr', {}, h('th', { scope: 'row' }, String(i)),
			h('td', {}, number(level.triangles)),
		h('td', {}, number(level.vertices)), h('td', {}, size(level.bytes)),
		h('td', { title: level.error.toPrecision(3) }, share(level.error, whole))));
	const say = (level) => `${level}: ${number(levels[level].triangles)}`;
	const bar = slider({ label: text.level, min: 0, max: levels.length - 1, step: 1, value: chosen, say,
			class: 'viewer-lod',
		change: (level) => {
			mark(level);
			choose(level);
		} });
	const mark = (level) => rows.forEach((row, i) =>
			(i === level ? row.setAttribute('aria-current', 'true') : row.removeAttribute('aria-current')));
	mark(chosen);
	return section(text.levels, bar, table([text.level, text.triangles, text.vertices, text.size, text.error], rows),
		h('p', { class: 'viewer-quiet' }, text.errorHint, '.', levels[0].copies ? ` ${text.copies}` : ''));
}

/** Morph targets by name: one slider moves all meshes that have it. */
export function morphSection(group, changed) {
	const targets = new Map();
	group.traverse((object) => {
		for (const [name, i] of Object.entries(object.morphTargetDictionary ?? {}))
			if (targets.has(name)) targets.get(name).push([object, i]);
			else targets.set(name, [[object, i]]);
	});
	if (!targets.size) return null;
	const before = new Map();
	const rows = [...targets].map(([name, list]) => {
		const get = () => list[0][0].morphTargetInfluences[list[0][1]];
		before.set(name, get());
		const low = Math.min(0, get());
		const row = slider({ label: name, min: low, max: Math.max(1, get()), step: 0.01, value: get(),
				say: (value) => value.toFixed(2),
			change: (value) => {
				for (const [object, i] of list) object.morphTargetInfluences[i] = value;
				changed();
			} });
		row.refresh = () => row.show(get());
		row.set = (value) => {
			for (const [object, i] of list) object.morphTargetInfluences[i] = value;
			row.show(value);
		};
		row.get = get;
		row.name = name;
		return row;
	});
	const reset = button(text.morphsReset, () => {
		for (const row of rows) row.set(before.get(row.name));
		changed();
	});
	const note = h('p', { class: 'viewer-quiet', hidden: true }, text.morphsDriven);
	const made = section(text.morphs, note, ...rows, reset);
	made.refresh = (driven) => {
		note.hidden = !driven;
		for (const row of rows) {
			row.refresh();
			row.input.disabled = driven;
		}
		reset.disabled = driven;
	};
	made.values = () => Object.fromEntries(rows.map((row) => [row.name, row.get()]));
	made.setValues = (values) => rows.forEach((row) => values[row.name] !== undefined && row.set(values[row.name]));
	return made;
}

/** Metres in the unit that suits the largest: "4.26 × 6.29 × 2.76 cm". */
function lengths(values) {
	const most = Math.max(...values);
	const [factor, unit] = most >= 1 ? [1, 'm'] : most >= 0.01 ? [100, 'cm'] : [1000, 'mm'];
	const say = (value) => (value >= 1000 ? number(Math.round(value)) : value === 0 ? '0'
			: value.toPrecision(value < 0.1 ? 1 : 3));
	return `${values.map((value) => say(value * factor)).join(' × ')}\u00a0${unit}`;
}

export function factSection(group, box, meshletCount, joints) {
	const dimensions = box.isEmpty() ? '–' : lengths(box.getSize(new THREE.Vector3()).toArray());
	let meshes = 0;
	group.traverse((object) => (meshes += object.userData.hob ? 1 : 0));
	const facts = [[text.dimensions, dimensions], [text.meshes, number(meshes)]];
	if (joints) facts.push([text.joints, number(joints)]);
	if (meshletCount !== null) facts.push([text.meshletsCount, number(meshletCount)]);
	return section(text.facts, h('dl', {}, facts.map(([name, value]) => h('div', {}, h('dt', {}, name),
			h('dd', {}, value)))));
}

const memoryOf = (group) => {
	const seen = new Set();
	let bytes = 0;
	const add = (thing, size_of) => {
		if (thing && !seen.has(thing)) {
			seen.add(thing);
			bytes += size_of(thing);
		}
	};
	const picture = (texture) => {
		const levels = texture.mipmaps?.reduce((sum, { data }) => sum + (data?.byteLength ?? 0), 0);
		return levels || ((texture.image?.width ?? 0) * (texture.image?.height ?? 0) * 16) / 3;
	};
	group.traverse(({ geometry, material }) => {
		for (const attribute of geometry ? [...Object.values(geometry.attributes), geometry.index]
				: []) add(attribute?.array, (array) => array.byteLength);
		for (const each of [material].flat().filter(Boolean))
			for (const value of Object.values(each)) if (value?.isTexture) add(value, picture);
	});
	return bytes;
};

/** What the newest picture took. Answers the section with refresh(costs). */
export function costSection(group) {
	const rows = Object.fromEntries(Object.entries(text.costOf).map(([name, label]) => [name, [label, h('dd')]]));
	const made = section(text.costs, h('dl', {},
			Object.values(rows).map(([label, value]) => h('div', {}, h('dt', {}, label), value))));
	const memory = size(memoryOf(group));
	made.refresh = ({ ms, draws, triangles }) => {
		rows.ms[1].textContent = `${ms.toFixed(1)}\u00a0ms`;
		rows.draws[1].textContent = number(draws);
		rows.triangles[1].textContent = number(triangles);
		rows.memory[1].textContent = memory;
	};
	return made;
}

/** change(surroundings, exposure) */
export function lightSection(light, change) {
	const exposure = slider({ label: text.exposure, min: -3, max: 3, step: 0.1, value: Math.log2(light.exposure),
		say: (stops) => `${stops > 0 ? '+' : ''}${Number(stops).toFixed(1)} EV`, change: (stops) => {
			light.exposure = 2 ** stops;
			change(light.surroundings, light.exposure);
		} });
	const around = choice(text.surroundings, Object.entries(text.surroundingsOf), light.surroundings, (name) => {
		light.surroundings = name;
		change(light.surroundings, light.exposure);
	});
	return section(text.light, around, exposure);
}

/* The parts of a model as a tree: found by name or by clicking the picture, hidden, or shown alone, with the cost of
 * each. */
import { html } from 'htm/preact';
import { useEffect, useState } from 'preact/hooks';
import { useElement } from '../app/hooks.js';
import * as THREE from 'three';
import { NONE, meshLevels } from '../client/hob-format.js';
import { number } from '../app/format.js';
import { later } from '../app/values.js';
import { Button, Changes, Quiet, Section, Toggle, useChanges } from './controls.js';
import { text } from './text.js';

/** @typedef {{ object: View.Thing, depth: number, path: string, name: string }} TreePart */

const ROWS = 200; /* in a longer tree, use the search */

/**
 * [{object, depth, path, name}] from the top; path identifies an object again after another cook.
 * @param {View.Model} group
 */
function listParts(group) {
	/** @type {TreePart[]} */
	const out = [];
	/**
	 * @param {View.Thing} object
	 * @param {number} depth
	 * @param {string} above
	 */
	const walk = (object, depth, above) => {
		const seen = new Map();
		for (const child of object.children) {
			const name = child.userData.name || child.name || child.type;
			const nth = seen.get(name) ?? 0;
			seen.set(name, nth + 1);
			const path = `${above}/${name}${nth ? `#${nth}` : ''}`;
			out.push({ object: child, depth, path, name });
			walk(child, depth + 1, path);
		}
	};
	walk(group, 0, '');
	return out;
}

/**
 * @param {View.Thing | null} object
 * @returns {boolean}
 */
const isShown = (object) => !object || (object.visible && isShown(object.parent));

/**
 * @param {View.Thing} object
 * @param {View.Thing} ancestor
 */
const isInside = (object, ancestor) => {
	for (let at = /** @type {View.Thing | null} */ (object); at; at = at.parent) if (at === ancestor) return true;
	return false;
};

/**
 * The cost of drawing an object, and the density of its textures: "1,234 triangles, 700 vertices, 512 texels per
 * metre".
 * @param {View.Model} group
 * @param {View.Thing} object
 */
export function costOf(group, object) {
	const { meshes, geometry, pictures } = group.userData.cooked;
	const sum = { triangles: 0, vertices: 0, draws: 0 };
	let density = 0;
	object.traverse((each) => {
		const index = each.userData.hob?.mesh;
		if (index === undefined) return;
		const mesh = geometry.meshes[index];
		const [full] = meshLevels(meshes, mesh);
		sum.draws++;
		sum.vertices += mesh.vertex_count;
		if (full && mesh.topology === 0) sum.triangles += full.index_count / 3;
		const ref = pictures.records[mesh.material]?.textures[0];
		const image = ref === undefined || ref === NONE ? null : pictures.images[pictures.texrefs[ref].image];
		if (image && mesh.uv_density) density = Math.max(density,
			mesh.uv_density * Math.max(image.width, image.height));
	});
	return [text.countOf.triangles(number(sum.triangles)), text.countOf.vertices(number(sum.vertices)),
		sum.draws > 1 && text.countOf.draws(number(sum.draws)),
		density > 0 && text.countOf.texels(number(Math.round(density)))]
		.filter(Boolean).join(', ');
}

/** The parts that are picked, hidden or shown alone; `changed()` is called when the picture must be drawn again. */
export class Tree {
	hidden = /** @type {Set<string>} */ (new Set());
	alone = /** @type {string | null} */ (null);
	picked = /** @type {string | null} */ (null);
	parts = /** @type {TreePart[]} */ ([]);
	group = /** @type {View.Model} */ (later());
	changes = new Changes();

	/** @param {() => void} changed */
	constructor(changed) {
		this.changed = changed;
	}

	/**
	 * Replaces an earlier model; hidden, alone and picked parts stay, by path.
	 * @param {View.Model} group
	 */
	setModel(group) {
		this.group = group;
		this.parts = listParts(group);
		const paths = new Set(this.parts.map(({ path }) => path));
		this.hidden = new Set([...this.hidden].filter((path) => paths.has(path)));
		if (!this.find(this.alone)) this.alone = null;
		if (!this.find(this.picked)) this.picked = null;
		this.apply();
		this.changes.tell();
	}

	/** @param {string | null} path */
	find(path) {
		return this.parts.find((part) => part.path === path) ?? null;
	}

	/** Sets the visibility of all objects. */
	apply() {
		const alone = this.find(this.alone)?.object;
		const hidden = this.parts.filter(({ path }) => this.hidden.has(path)).map(({ object }) => object);
		for (const { object } of this.parts)
			if (object.userData.hob)
				object.visible = (!alone || isInside(object, alone)) && !hidden.some((each) => isInside(object, each));
	}

	/** @param {() => void} change */
	set(change) {
		change();
		this.apply();
		this.changes.tell();
		this.changed();
	}

	/**
	 * @param {string} path
	 * @param {boolean} on
	 */
	hide(path, on) {
		this.set(() => this.hidden[on ? 'add' : 'delete'](path));
	}

	/** @param {string | null} path */
	isolate(path) {
		this.set(() => (this.alone = path));
	}

	/**
	 * Picks a part; if it is already picked, unpicks it.
	 * @param {string | null} path
	 */
	choose(path) {
		this.set(() => (this.picked = path === this.picked ? null : path));
	}

	/**
	 * The first part on a ray; null: none.
	 * @param {THREE.Raycaster} raycaster
	 */
	pick(raycaster) {
		const [hit] = raycaster.intersectObject(this.group, true).filter(({ object }) =>
			isShown(/** @type {View.Thing} */ (object)) && object.userData.hob);
		this.choose(hit ? this.parts.find(({ object }) => object === hit.object)?.path ?? null : null);
		return hit ?? null;
	}

	/** World box of the picked part; null: none is picked. */
	pickedBox() {
		const part = this.find(this.picked);
		return part ? new THREE.Box3().setFromObject(part.object) : null;
	}
}

/** @param {{ tree: Tree, part: TreePart }} props */
function Part({ tree, part: { object, depth, path, name } }) {
	const here = path === tree.picked;
	const alone = path === tree.alone;
	/** @type {{ current: HTMLElement }} */
	const line = useElement();
	useEffect(() => void (here && line.current.scrollIntoView({ block: 'nearest' })), [here]);
	return html`<li ref=${line} aria-current=${here ? 'true' : undefined} style=${{ '--depth': Math.min(depth, 12) }}>
		<${Button} run=${() => tree.choose(path)} className="viewer-link viewer-part" title=${path.slice(1)}>
			${name}</${Button}>
		<${Toggle} on=${tree.hidden.has(path)} change=${(on) => tree.hide(path, on)}
			aria-label=${`${text.hidePart} ${name}`}>${text.hidePart}</${Toggle}>
		<${Toggle} on=${alone} change=${(on) => tree.isolate(on ? path : null)}
			aria-label=${`${text.alone} ${name}`}>${text.alone}</${Toggle}>
		${here && html`<${Quiet}>${costOf(tree.group, object)}</${Quiet}>`}</li>`;
}

/** @param {{ tree: Tree }} props */
export function TreeSection({ tree }) {
	const [words, setWords] = useState('');
	useChanges(tree.changes);
	if (tree.parts.length < 2) return null;
	const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
	const found = tree.parts.filter(({ name }) => wanted.every((word) => name.toLowerCase().includes(word)));
	const first = Math.max(0, found.findIndex(({ path }) => path === tree.picked) - ROWS / 2);
	const shown = found.slice(first, first + ROWS);
	return html`<${Section} title=${`${text.tree} (${number(tree.parts.length)})`}>
		<input type="search" value=${words} placeholder=${text.treeSearch} aria-label=${text.treeSearch}
			onInput=${({ target }) => setWords(target.value)} />
		<ul class="viewer-tree">${shown.map((part) => html`<${Part} key=${part.path} ...${{ tree, part }} />`)}
			${found.length > shown.length
				&& html`<li class="viewer-quiet">${text.treeMore(number(found.length - shown.length))}</li>`}</ul>
		</${Section}>`;
}

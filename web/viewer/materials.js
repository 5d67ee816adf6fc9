/* The materials of a model. */
import { html } from 'htm/preact';
import { NONE, constants as c } from '../client/hob-format.js';
import { number, size } from '../app/format.js';
import { Button, Quiet, Section } from './controls.js';
import { slots, text } from './text.js';

/** @type {[number, string][]} */
const extensions = [[c.EXT_SPECULAR, 'specular'], [c.EXT_IOR, 'refraction index'], [c.EXT_CLEARCOAT, 'clear coat'],
	[c.EXT_SHEEN, 'sheen'],
	[c.EXT_TRANSMISSION, 'transmission'], [c.EXT_VOLUME, 'volume'], [c.EXT_IRIDESCENCE, 'iridescence'],
	[c.EXT_ANISOTROPY, 'anisotropy'],
	[c.EXT_DISPERSION, 'dispersion'], [c.EXT_DIFFUSE_TRANSMISSION, 'diffuse transmission']];

/** @param {number} linear */
const toByte = (linear) => Math.round(255 * (linear <= 0.0031308 ? 12.92 * linear
		: 1.055 * Math.min(linear, 1) ** (1 / 2.4) - 0.055));
/** @param {number} value */
const two = (value) => String(Math.round(value * 100) / 100);

/** @param {View.Row} material */
function factsOf(material) {
	const unlit = material.flags & c.MATERIAL_IS_UNLIT;
	const facts = unlit ? ['unlit'] : [`metallic ${two(material.metallic)}`, `roughness ${two(material.roughness)}`];
	if (material.flags & c.MATERIAL_BLEND) facts.push(`see-through ${two(material.base_color[3])}`);
	if (material.flags & c.MATERIAL_MASK) facts.push(`cut out below ${two(material.alpha_cutoff)}`);
	if (material.flags & c.MATERIAL_DOUBLE_SIDED) facts.push('two-sided');
	if (material.emissive.some((/** @type {number} */ value) => value > 0)) facts.push('emissive');
	for (const [bit, name] of extensions) if (material.ext_mask & bit) facts.push(bit === c.EXT_IOR
			? `${name} ${two(material.ior)}` : name);
	return facts.join(', ');
}

/** @param {{ color: number[] }} props */
const Swatch = ({ color: [r, g, b] }) => html`<span class="viewer-swatch" aria-hidden="true"
	style=${{ backgroundColor: `rgb(${toByte(r)} ${toByte(g)} ${toByte(b)})` }} />`;

/**
 * @param {{ material: View.Row, name: string, open: boolean, pictures: { texrefs: View.Row[], images: View.Row[]
 * }, inspect: (image: number) => void }} props
 */
function Material({ material, name, open, pictures: { texrefs, images }, inspect }) {
	const used = Array.from(/** @type {Uint32Array} */ (material.textures))
		.map((ref, slot) => ({ image: ref === NONE ? -1 : texrefs[ref].image, slot }))
		.filter(({ image }) => images[image]);
	return html`<details open=${open}><summary><${Swatch} color=${material.base_color} />
			<span class="viewer-name">${name}</span></summary>
		<${Quiet}>${factsOf(material)}</${Quiet}>
		${used.length > 0 && html`<ul class="viewer-textures">${used.map(({ image, slot }) => html`<li>
			<${Button} className="viewer-link" run=${() => inspect(image)}
				aria-label=${text.inspect(`${slots[slot]} ${images[image].name}`)}>${slots[slot]}</${Button}>
			<span class="viewer-quiet">${images[image].width}×${images[image].height}, ${size(images[image].bytes)}
			</span></li>`)}</ul>`}</details>`;
}

/**
 * inspect(index of the image) opens the dialog of texels.
 * @param {{ model: View.Model, inspect: (image: number) => void }} props
 */
export function MaterialSection({ model, inspect }) {
	const { pictures } = model.userData.cooked;
	const { records } = pictures;
	if (!records.length) return html`<${Section} title=${text.materials}><${Quiet}>${text.noMaterials}</${Quiet}>
		</${Section}>`;
	return html`<${Section} title=${`${text.materials} (${number(records.length)})`}>
		${records.map((/** @type {View.Row} */ material, /** @type {number} */ i) =>
			html`<${Material} key=${i} material=${material} pictures=${pictures}
			name=${material.name || `${text.material} ${i + 1}`} open=${records.length <= 3} inspect=${inspect} />`)}
		</${Section}>`;
}

/* The materials of a model, and a dialog that shows each mip level and channel of their pictures as they were
 * cooked. */
import * as THREE from 'three';
import { NONE, constants as c } from '../client/hob-format.js';
import { number, size } from '../app/format.js';
import { button, choice, h, slider } from './dom.js';
import { section, table } from './panel.js';
import { slots, text } from './text.js';

const extensions = [[c.EXT_SPECULAR, 'specular'], [c.EXT_IOR, 'refraction index'], [c.EXT_CLEARCOAT, 'clear coat'],
	[c.EXT_SHEEN, 'sheen'],
	[c.EXT_TRANSMISSION, 'transmission'], [c.EXT_VOLUME, 'volume'], [c.EXT_IRIDESCENCE, 'iridescence'],
	[c.EXT_ANISOTROPY, 'anisotropy'],
	[c.EXT_DISPERSION, 'dispersion'], [c.EXT_DIFFUSE_TRANSMISSION, 'diffuse transmission']];

const formats = { 0: 'as in the source', 9: 'R8', 16: 'RG8', 37: 'RGBA8', 43: 'RGBA8 sRGB', 97: 'RGBA16F', 131: 'BC1',
	132: 'BC1 sRGB', 133: 'BC1',
	134: 'BC1 sRGB', 137: 'BC3', 138: 'BC3 sRGB', 139: 'BC4', 141: 'BC5', 145: 'BC7', 146: 'BC7 sRGB', 157: 'ASTC 4×4',
	158: 'ASTC 4×4 sRGB', 165: 'ASTC 6×6', 166: 'ASTC 6×6 sRGB' };

const toByte = (linear) => Math.round(255 * (linear <= 0.0031308 ? 12.92 * linear
		: 1.055 * Math.min(linear, 1) ** (1 / 2.4) - 0.055));
const two = (value) => String(Math.round(value * 100) / 100);

function factsOf(material) {
	const unlit = material.flags & c.MATERIAL_IS_UNLIT;
	const facts = unlit ? ['unlit'] : [`metallic ${two(material.metallic)}`, `roughness ${two(material.roughness)}`];
	if (material.flags & c.MATERIAL_BLEND) facts.push(`see-through ${two(material.base_color[3])}`);
	if (material.flags & c.MATERIAL_MASK) facts.push(`cut out below ${two(material.alpha_cutoff)}`);
	if (material.flags & c.MATERIAL_DOUBLE_SIDED) facts.push('two-sided');
	if (material.emissive.some((value) => value > 0)) facts.push('emissive');
	for (const [bit, name] of extensions) if (material.ext_mask & bit) facts.push(bit === c.EXT_IOR
			? `${name} ${two(material.ior)}` : name);
	return facts.join(', ');
}

function swatch([r, g, b]) {
	const mark = h('span', { class: 'viewer-swatch', 'aria-hidden': 'true' });
	mark.style.backgroundColor = `rgb(${toByte(r)} ${toByte(g)} ${toByte(b)})`;
	return mark;
}

/** inspect(index of the image, name) opens the dialog. */
export function materialSection(group, inspect) {
	const { pictures } = group.userData.cooked;
	const { records, texrefs, images } = pictures;
	if (!records.length) return section(text.materials, h('p', { class: 'viewer-quiet' }, text.noMaterials));
	const list = records.map((material, i) => {
		const used = Array.from(material.textures)
			.map((ref, slot) => (ref === NONE ? null : { image: texrefs[ref].image, slot }))
			.filter((each) => each && images[each.image]);
		const rows = used.map(({ image, slot }) => h('li', {},
			button(slots[slot], () => inspect(image),
				{ class: 'viewer-link', 'aria-label': text.inspect(`${slots[slot]} ${images[image].name}`) }),
			h('span', { class: 'viewer-quiet' }, `${images[image].width}×${images[image].height}, ${size(
					images[image].bytes)}`)));
		return h('details', { open: records.length <= 3 },
			h('summary', {}, swatch(material.base_color),
				h('span', { class: 'viewer-name' }, material.name || `${text.materials} ${i + 1}`)),
			h('p', { class: 'viewer-quiet' }, factsOf(material)),
			rows.length ? h('ul', { class: 'viewer-textures' }, rows) : null);
	});
	return section(`${text.materials} (${number(records.length)})`, ...list);
}

const channelMatrix = { rgb: 0, rgba: 1, r: 2, g: 3, b: 4, a: 5 };

/* Draws one mip level of a texture, texel by texel, into pixels that a canvas takes. */
class LevelReader {
	constructor(renderer) {
		this.renderer = renderer;
		this.material = new THREE.RawShaderMaterial({
			glslVersion: THREE.GLSL3,
			depthTest: false,
			depthWrite: false,
			uniforms: { map: { value: null }, level: { value: 0 }, channel: { value: 0 }, srgb: { value: false },
				pair: { value: false } },
			vertexShader: 'in vec3 position; void main() { gl_Position = vec4(position.xy, 0.0, 1.0); }',
			fragmentShader: `precision highp float;
				uniform sampler2D map; uniform int level, channel; uniform bool srgb, pair;
				out vec4 color;
				void main() {
					vec4 c = texelFetch(map, ivec2(gl_FragCoord.xy), level);
					if (srgb) c.rgb = mix(c.rgb * 12.92, 1.055 * pow(c.rgb, vec3(1.0 / 2.4)) - 0.055,
						step(0.0031308, c.rgb));
					if (pair) { vec2 n = c.xy * 2.0 - 1.0; c.b = sqrt(max(1.0 - dot(n, n), 0.0)) * 0.5 + 0.5; }
					color = channel == 0 ? vec4(c.rgb, 1.0) : channel == 1 ? c : vec4(vec3(c[channel - 2]), 1.0);
				}`,
		});
		this.scene = new THREE.Scene();
		this.scene.add(new THREE.Mesh(new THREE.PlaneGeometry(2, 2), this.material));
		this.scene.children[0].frustumCulled = false;
		this.camera = new THREE.Camera();
	}

	read(texture, level, width, height, channel, pair) {
		const { renderer } = this;
		const target = new THREE.WebGLRenderTarget(width, height, { depthBuffer: false });
		const { uniforms } = this.material;
		uniforms.map.value = texture;
		uniforms.level.value = level;
		uniforms.channel.value = channelMatrix[channel];
		uniforms.srgb.value = texture.colorSpace === THREE.SRGBColorSpace;
		uniforms.pair.value = pair && channel === 'rgb';
		renderer.setRenderTarget(target);
		renderer.render(this.scene, this.camera);
		const pixels = new Uint8ClampedArray(width * height * 4);
		renderer.readRenderTargetPixels(target, 0, 0, width, height, pixels);
		renderer.setRenderTarget(null);
		target.dispose();
		return new ImageData(pixels, width, height);
	}

	dispose() {
		this.material.dispose();
		this.scene.children[0].geometry.dispose();
	}
}

/* A frame that scrolls: dragged with the mouse, pinched with two fingers, Ctrl and the wheel (a pinch on most
 * touchpads) zoom. One finger scrolls by itself. zoomBy(powers of two, where in the frame). */
function panAndPinch(frame, zoomBy) {
	const held = new Map();
	const apart = () => {
		const [a, b] = [...held.values()];
		return Math.hypot(a.x - b.x, a.y - b.y);
	};
	const middle = () => {
		const box = frame.getBoundingClientRect();
		const points = [...held.values()];
		return [0, 1].map((axis) => points.reduce((sum, p) => sum + (axis ? p.y - box.top : p.x - box.left),
				0) / points.length);
	};
	const release = ({ pointerId }) => held.delete(pointerId);
	frame.addEventListener('pointerdown', (event) => {
		held.set(event.pointerId, { x: event.clientX, y: event.clientY });
		if (event.pointerType === 'mouse') frame.setPointerCapture(event.pointerId);
	});
	frame.addEventListener('pointermove', (event) => {
		const was = held.get(event.pointerId);
		if (!was) return;
		const before = held.size === 2 ? apart() : 0;
		held.set(event.pointerId, { x: event.clientX, y: event.clientY });
		if (before > 0) zoomBy(Math.log2(Math.max(1, apart()) / before), middle());
		else if (event.pointerType === 'mouse') frame.scrollBy(was.x - event.clientX, was.y - event.clientY);
	});
	for (const name of ['pointerup', 'pointercancel', 'lostpointercapture']) frame.addEventListener(name, release);
	frame.addEventListener('wheel', (event) => {
		if (!event.ctrlKey) return;
		event.preventDefault();
		const box = frame.getBoundingClientRect();
		zoomBy(-event.deltaY / 100, [event.clientX - box.left, event.clientY - box.top]);
	}, { passive: false });
}

const nearest = -3;
const farthest = 5;

/** The dialog; `renderer` draws the levels. */
export class TextureInspector {
	constructor(renderer, host) {
		this.renderer = renderer;
		this.canvas = h('canvas', { class: 'viewer-texels', role: 'img' });
		this.title = h('h2', {});
		this.facts = h('p', { class: 'viewer-quiet' });
		this.controls = h('div', { class: 'viewer-row' });
		this.frame = h('div', { class: 'viewer-texels-frame', tabindex: '0', role: 'group',
				'aria-label': text.textures }, this.canvas);
		panAndPinch(this.frame, (by, at) => this.texture && this.zoomTo(this.state.zoom + by, at));
		this.dialog = h('dialog', { class: 'viewer-dialog', onclose: () => this.drop(),
				onclick: (event) => event.target === this.dialog && this.dialog.close() },
			h('div', { class: 'viewer-dialog-head' }, this.title, button(text.close, () => this.dialog.close())),
			this.facts, this.controls,
			this.frame, this.levels = h('div'));
		host.append(this.dialog);
	}

	/** Opens on image `index` of what a MaterialReader has read. */
	async open(pictures, index) {
		const image = pictures.images[index];
		const picture = await pictures.picture(index);
		this.title.textContent = image.name;
		this.image = image;
		this.drop();
		this.dialog.showModal();
		if (!picture) {
			this.facts.textContent = image.name;
			this.controls.replaceChildren();
			return;
		}
		/* A sampler of its own: texels as they are, every level there. */
		this.texture = picture.clone();
		this.texture.magFilter = THREE.NearestFilter;
		const count = Math.max(1, picture.mipmaps?.length || 1);
		this.texture.minFilter = count > 1 ? THREE.NearestMipmapNearestFilter : THREE.NearestFilter;
		this.texture.generateMipmaps = false;
		if (!picture.userData.levels && image.flags & c.IMAGE_SRGB) this.texture.colorSpace = THREE.SRGBColorSpace;
		this.texture.needsUpdate = true;
		this.reader = new LevelReader(this.renderer);
		/* All of a large picture is in the frame at first; small ones are not blown up. */
		const fit = Math.log2(Math.min(this.dialog.clientWidth / image.width, innerHeight * 0.56 / image.height));
		this.state = { level: 0, channel: 'rgb', zoom: Math.max(nearest, Math.min(0, Math.floor(fit * 4) / 4)) };
		this.build(count, picture);
		this.draw();
	}

	build(count, picture) {
		const { image } = this;
		const format = formats[image.vk_format] ?? `VkFormat ${image.vk_format}`;
		this.facts.textContent = [`${image.width} × ${image.height}`, format,
			`${count} ${count === 1 ? 'level' : 'levels'}`, size(image.bytes),
			image.flags & c.IMAGE_NORMAL_XY ? 'normals in two channels' : null, image.flags & c.IMAGE_OPACITY_PACKED
				? 'opacity packed into alpha' : null,
			picture.userData.unpacked ? text.unpacked(picture.userData.unpacked) : null,
			image.flags & c.IMAGE_PLACEHOLDER ? 'stands in for a missing picture' : null].filter(Boolean).join(' · ');
		const mip = slider({ label: text.mip, min: 0, max: count - 1, step: 1, value: 0,
				change: (level) => this.set({ level }),
			say: (level) => `${level}: ${Math.max(1, image.width >> level)}×${Math.max(1, image.height >> level)}` });
		mip.input.disabled = count < 2;
		const channel = choice(text.channels, Object.entries(text.channel), 'rgb',
			(value) => this.set({ channel: value }));
		this.zoom = slider({ label: text.zoom, min: nearest, max: farthest, step: 0.05, value: this.state.zoom,
				say: (value) => `${Math.round(2 ** value * 100)} %`, change: (value) => this.zoomTo(value) });
		this.controls.replaceChildren(mip, channel, this.zoom);
		const rows = count < 2 ? [] : picture.mipmaps.map((level, i) =>
				h('tr', {}, h('th', { scope: 'row' }, String(i)),
			h('td', {}, `${level.width} × ${level.height}`), h('td', {}, size(level.data.byteLength))));
		this.levels.replaceChildren(...(rows.length ? [table([text.mip, 'Texels', text.size], rows)] : []));
	}

	set(change) {
		Object.assign(this.state, change);
		this.draw();
	}

	/** What is at `at`, a place in the frame, stays there. */
	zoomTo(wanted, at = [this.frame.clientWidth / 2, this.frame.clientHeight / 2]) {
		const zoom = Math.max(nearest, Math.min(farthest, wanted));
		const { scrollLeft, scrollTop } = this.frame;
		const by = 2 ** (zoom - this.state.zoom);
		this.state.zoom = zoom;
		this.resize();
		this.zoom.show(zoom);
		this.frame.scrollTo((scrollLeft + at[0]) * by - at[0], (scrollTop + at[1]) * by - at[1]);
	}

	resize() {
		this.canvas.style.width = `${Math.max(1, this.image.width * 2 ** this.state.zoom)}px`;
	}

	draw() {
		const { level, channel } = this.state;
		const width = Math.max(1, this.image.width >> level);
		const height = Math.max(1, this.image.height >> level);
		const data = this.reader.read(this.texture, level, width, height, channel, this.texture.userData.twoChannels);
		this.canvas.width = width;
		this.canvas.height = height;
		this.canvas.getContext('2d').putImageData(data, 0, 0);
		this.resize();
		this.canvas.setAttribute('aria-label', `${this.image.name}, ${text.mip} ${level}`);
	}

	drop() {
		this.texture?.dispose();
		this.reader?.dispose();
		this.texture = this.reader = null;
	}

	dispose() {
		if (this.dialog.open) this.dialog.close();
		this.drop();
		this.dialog.remove();
	}
}

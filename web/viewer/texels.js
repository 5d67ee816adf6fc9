/* A dialog that shows each mip level and channel of a cooked picture, and the values of its texels. */
import { html } from 'htm/preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import * as THREE from 'three';
import { constants as c } from '../client/hob-format.js';
import { size } from '../app/format.js';
import { useElement } from '../app/hooks.js';
import { Button, Choice, Quiet, Slider, Table } from './controls.js';
import { text } from './text.js';

const formats = /** @type {Page.Table} */ ({ 0: 'as in the source', 9: 'R8', 16: 'RG8', 37: 'RGBA8',
	43: 'RGBA8 sRGB', 97: 'RGBA16F', 131: 'BC1',
	132: 'BC1 sRGB', 133: 'BC1', 134: 'BC1 sRGB', 137: 'BC3', 138: 'BC3 sRGB', 139: 'BC4', 141: 'BC5', 143: 'BC6H',
	145: 'BC7', 146: 'BC7 sRGB', 157: 'ASTC 4×4', 158: 'ASTC 4×4 sRGB', 165: 'ASTC 6×6', 166: 'ASTC 6×6 sRGB' });

const channelMatrix = /** @type {Page.Table<number>} */ ({ rgb: 0, rgba: 1, r: 2, g: 3, b: 4, a: 5 });

/* Draws one mip level of a texture, texel by texel, into pixels for a canvas. */
class LevelReader {
	/** @param {THREE.WebGLRenderer} renderer */
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
		this.plane = new THREE.Mesh(new THREE.PlaneGeometry(2, 2), this.material);
		this.plane.frustumCulled = false;
		this.scene.add(this.plane);
		this.camera = new THREE.Camera();
	}

	/**
	 * @param {THREE.Texture} texture
	 * @param {number} level
	 * @param {number} width
	 * @param {number} height
	 * @param {string} channel
	 * @param {boolean} pair
	 */
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
		this.plane.geometry.dispose();
	}
}

/**
 * Makes a frame scroll when dragged with the mouse, and zoom when pinched with two fingers, or with Ctrl and the wheel
 * (a pinch on most touchpads). One finger scrolls by itself. zoomBy(powers of two, position in the frame). Returns a
 * function that ends it.
 * @param {HTMLElement} frame
 * @param {(by: number, at: number[]) => void} zoomBy
 */
function panAndPinch(frame, zoomBy) {
	/** @type {Map<number, { x: number, y: number }>} */
	const held = new Map();
	const stop = new AbortController();
	const { signal } = stop;
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
	/** @param {{ pointerId: number }} given */
	const release = ({ pointerId }) => held.delete(pointerId);
	frame.addEventListener('pointerdown', (event) => {
		held.set(event.pointerId, { x: event.clientX, y: event.clientY });
		if (event.pointerType === 'mouse') frame.setPointerCapture(event.pointerId);
	}, { signal });
	frame.addEventListener('pointermove', (event) => {
		const was = held.get(event.pointerId);
		if (!was) return;
		const before = held.size === 2 ? apart() : 0;
		held.set(event.pointerId, { x: event.clientX, y: event.clientY });
		if (before > 0) zoomBy(Math.log2(Math.max(1, apart()) / before), middle());
		else if (event.pointerType === 'mouse') frame.scrollBy(was.x - event.clientX, was.y - event.clientY);
	}, { signal });
	for (const name of /** @type {const} */ (['pointerup', 'pointercancel', 'lostpointercapture']))
		frame.addEventListener(name, release, { signal });
	frame.addEventListener('wheel', (event) => {
		if (!event.ctrlKey) return;
		event.preventDefault();
		const box = frame.getBoundingClientRect();
		zoomBy(-event.deltaY / 100, [event.clientX - box.left, event.clientY - box.top]);
	}, { passive: false, signal });
	return () => stop.abort();
}

const nearest = -3;
const farthest = 5;

/**
 * @param {number} side
 * @param {number} level
 */
const sideOf = (side, level) => Math.max(1, side >> level);

/**
 * A copy with another sampler: no filtering, all levels.
 * @param {THREE.Texture} picture
 * @param {View.Row} image
 */
function asTexels(picture, image) {
	const texture = picture.clone();
	texture.magFilter = THREE.NearestFilter;
	texture.minFilter = picture.mipmaps?.length > 1 ? THREE.NearestMipmapNearestFilter : THREE.NearestFilter;
	texture.generateMipmaps = false;
	if (!picture.userData.levels && image.flags & c.IMAGE_SRGB) texture.colorSpace = THREE.SRGBColorSpace;
	texture.needsUpdate = true;
	return texture;
}

/**
 * Returns read(level, channel), which gives an ImageData.
 * @param {THREE.WebGLRenderer} renderer
 * @param {THREE.Texture} picture
 * @param {View.Row} image
 */
function useReader(renderer, picture, image) {
	const reader = useMemo(() => {
		const texture = asTexels(picture, image);
		const levels = new LevelReader(renderer);
		return {
			/**
			 * @param {number} level
			 * @param {string} channel
			 */
			read: (level, channel) => levels.read(texture, level, sideOf(image.width, level),
				sideOf(image.height, level), channel, texture.userData.twoChannels),
			dispose() {
				texture.dispose();
				levels.dispose();
			},
		};
	}, [picture]);
	useEffect(() => () => reader.dispose(), [reader]);
	return reader;
}

/**
 * @param {View.Row} image
 * @param {THREE.Texture} picture
 * @param {number} count
 */
function saysOf(image, picture, count) {
	return [`${image.width} × ${image.height}`, formats[image.vk_format] ?? `VkFormat ${image.vk_format}`,
		`${count} ${count === 1 ? 'level' : 'levels'}`, size(image.bytes),
		image.flags & c.IMAGE_NORMAL_XY && 'normals in two channels',
		image.flags & c.IMAGE_OPACITY_PACKED && 'opacity packed into alpha',
		picture.userData.unpacked && text.unpacked(picture.userData.unpacked),
		image.flags & c.IMAGE_PLACEHOLDER && 'stands in for a missing picture'].filter(Boolean).join(' · ');
}

/**
 * "x 12, y 3: 128 64 255 255, #8040ff" of the texel under the pointer.
 * @param {ImageData} given
 * @param {HTMLCanvasElement} canvas
 * @param {{ clientX: number, clientY: number }} given
 */
function texelAt({ width, height, data }, canvas, { clientX, clientY }) {
	const box = canvas.getBoundingClientRect();
	const [x, y] = [Math.floor((clientX - box.left) / box.width * width),
		Math.floor((clientY - box.top) / box.height * height)];
	if (x < 0 || y < 0 || x >= width || y >= height) return '';
	const values = [...data.subarray((y * width + x) * 4, (y * width + x) * 4 + 4)];
	return text.texel(x, y, values.join(' '),
		`#${values.slice(0, 3).map((value) => value.toString(16).padStart(2, '0')).join('')}`);
}

/** @param {{ picture: THREE.Texture }} props */
function Levels({ picture }) {
	const levels = /** @type {{ width: number, height: number, data: Uint8Array }[]} */ (picture.mipmaps ?? []);
	if (levels.length < 2) return null;
	return html`<${Table} heads=${[text.mip, 'Texels', text.size]}>${levels.map((level, i) => html`<tr>
		<th scope="row">${i}</th><td>${level.width} × ${level.height}</td><td>${size(level.data.byteLength)}</td>
		</tr>`)}</${Table}>`;
}

/** @param {{ renderer: THREE.WebGLRenderer, image: View.Row, picture: THREE.Texture }} props */
function Texels({ renderer, image, picture }) {
	const [level, setLevel] = useState(0);
	const [channel, setChannel] = useState('rgb');
	const [zoom, setZoom] = useState(0);
	const [under, setUnder] = useState('');
	/** @type {{ current: HTMLCanvasElement }} */
	const canvas = useElement();
	/** @type {{ current: HTMLElement }} */
	const frame = useElement();
	const now = useRef(0); /* the newest zoom, perhaps not drawn yet */
	const anchor = useRef(/** @type {[number, number] | null} */ (null)); /* scroll position that belongs to it */
	const reader = useReader(renderer, picture, image);
	const values = useMemo(() => ({ of: /** @type {ImageData | null} */ (null) }), [reader, level]);
	/**
	 * @param {number} wanted
	 * @param {number[]} [at]
	 */
	const zoomTo = (wanted, at = [frame.current.clientWidth / 2, frame.current.clientHeight / 2]) => {
		const next = Math.max(nearest, Math.min(farthest, wanted));
		const by = 2 ** (next - now.current);
		const { scrollLeft, scrollTop } = frame.current;
		anchor.current = [(scrollLeft + at[0]) * by - at[0], (scrollTop + at[1]) * by - at[1]];
		now.current = next;
		setZoom(next);
	};
	/* A large picture is shrunk to the frame at first; a small one is not enlarged. */
	useLayoutEffect(() => {
		const fit = Math.log2(Math.min(frame.current.clientWidth / image.width, innerHeight * 0.56 / image.height));
		zoomTo(Math.min(0, Math.floor(fit * 4) / 4));
		return panAndPinch(frame.current, (by, at) => zoomTo(now.current + by, at));
	}, [picture]);
	useLayoutEffect(() => {
		const data = reader.read(level, channel);
		Object.assign(canvas.current, { width: data.width, height: data.height });
		canvas.current.getContext('2d')?.putImageData(data, 0, 0);
	}, [reader, level, channel]);
	useLayoutEffect(() => {
		if (anchor.current) frame.current.scrollTo(...anchor.current);
		anchor.current = null;
	}, [zoom]);
	/** @param {PointerEvent} event */
	const point = (event) => {
		values.of ??= reader.read(level, 'rgba');
		setUnder(texelAt(values.of, canvas.current, event));
	};
	const count = Math.max(1, picture.mipmaps?.length || 1);
	return html`<${Quiet}>${saysOf(image, picture, count)}</${Quiet}>
		<div class="viewer-row">
			<${Slider} label=${text.mip} min="0" max=${count - 1} step="1" value=${level} disabled=${count < 2}
				say=${(each) => `${each}: ${sideOf(image.width, each)}×${sideOf(image.height, each)}`}
				change=${setLevel} />
			<${Choice} label=${text.channels} options=${Object.entries(text.channel)} value=${channel}
				change=${setChannel} />
			<${Slider} label=${text.zoom} min=${nearest} max=${farthest} step="0.05" value=${zoom}
				say=${(value) => `${Math.round(2 ** value * 100)} %`} change=${zoomTo} /></div>
		<div class="viewer-texels-frame" tabindex="0" role="group" aria-label=${text.textures} ref=${frame}
			onPointerMove=${point} onPointerLeave=${() => setUnder('')}>
			<canvas class="viewer-texels" role="img" ref=${canvas} aria-label=${`${image.name}, ${text.mip} ${level}`}
				style=${{ width: `${Math.max(1, image.width * 2 ** zoom)}px` }} /></div>
		<p class="viewer-quiet viewer-texel">${under || text.texelHint}</p>
		<${Levels} picture=${picture} />`;
}

/**
 * Shows image `index` of a MaterialReader; `renderer` draws its levels.
 * @param {{ renderer: THREE.WebGLRenderer, pictures: View.Pictures, index: number, close: () => void }} props
 */
export function Inspector({ renderer, pictures, index, close }) {
	const image = pictures.images[index];
	/** @type {{ current: HTMLDialogElement }} */
	const dialog = useElement();
	const [picture, setPicture] = useState(/** @type {THREE.Texture | null} */ (null));
	useEffect(() => {
		dialog.current.showModal();
		let ended = false;
		pictures.picture(index).then((/** @type {THREE.Texture | null} */ found) => ended || setPicture(found));
		return () => void (ended = true);
	}, []);
	const end = () => dialog.current.close();
	return html`<dialog class="viewer-dialog" ref=${dialog} onClose=${close} aria-label=${image.name}
		onClick=${({ target }) => target === dialog.current && end()}>
		<div class="viewer-dialog-head"><h2>${image.name}</h2><${Button} run=${end}>${text.close}</${Button}></div>
		${picture && html`<${Texels} ...${{ renderer, image, picture }} />`}</dialog>`;
}

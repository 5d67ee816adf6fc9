/* Textures kept as Basis Universal (texture.basis: keep), unpacked by three's transcoder in a worker that is started
 * for the first of them. */
import * as THREE from 'three';
import { read } from 'three/addons/libs/ktx-parse.module.js';

const SRGB = 2; /* KHR_DF_TRANSFER_SRGB */
const waiting = new Map();
let worker = null;
let last = 0;

async function start() {
	const [script, program] = /** @type {HTMLMetaElement} */ (
		document.querySelector('meta[name=hob-basis]')).content.split(' ');
	const wasm = await (await fetch(program)).arrayBuffer();
	const made = new Worker(script);
	made.onmessage = ({ data: { id, levels, error } }) => {
		const { resolve, reject } = waiting.get(id);
		waiting.delete(id);
		if (error) reject(new Error(error));
		else resolve(levels);
	};
	made.onerror = () => {
		for (const { reject } of waiting.values()) reject(new Error('the transcoder of Basis Universal does not run'));
		waiting.clear();
	};
	return { made, wasm };
}

/** @param {Uint8Array} bytes */
async function levelsOf(bytes) {
	const { made, wasm } = await (worker ??= start());
	const id = ++last;
	return new Promise((resolve, reject) => {
		waiting.set(id, { resolve, reject });
		made.postMessage({ id, wasm, bytes });
	});
}

/** For HobLoader.setKTX2Loader. */
export const basis = {
	/**
	 * @param {ArrayBuffer} buffer
	 * @param {(texture: THREE.Texture) => void} done
	 * @param {(error: unknown) => void} failed
	 */
	async parse(buffer, done, failed) {
		try {
			const bytes = new Uint8Array(buffer);
			const [{ transferFunction }] = read(bytes).dataFormatDescriptor;
			const levels = await levelsOf(bytes);
			const [{ data, width, height }] = levels;
			const texture = new THREE.DataTexture(data, width, height, THREE.RGBAFormat);
			texture.mipmaps = levels.length > 1 ? levels : [];
			texture.colorSpace = transferFunction === SRGB ? THREE.SRGBColorSpace : THREE.NoColorSpace;
			done(texture);
		} catch (error) {
			failed(error);
		}
	},
};

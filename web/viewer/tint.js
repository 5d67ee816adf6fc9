/* Materials that show a number by its colour: a channel of a material, the weights of a skin. */
import * as THREE from 'three';

/**
 * Adds to a material what tells a surface's form without light, `facing` from 0 to 1 and the place `vHobAt` before the
 * camera, and the code that sets diffuseColor. vertex: code after the skin is known; shared: declarations of both.
 * @param {THREE.Material} material
 * @param {{ shared?: string, vertex?: string, fragment: string }} given
 */
export function seeForm(material, { shared = '', vertex = '', fragment }) {
	material.onBeforeCompile = (shader) => {
		const declare = `#include <common>\nvarying vec3 vHobAt;\n${shared}`;
		shader.vertexShader = shader.vertexShader.replace('#include <common>', declare)
			.replace('#include <project_vertex>', `#include <project_vertex>\nvHobAt = mvPosition.xyz;\n${vertex}`);
		shader.fragmentShader = shader.fragmentShader.replace('#include <common>', declare)
			.replace('#include <color_fragment>', `#include <color_fragment>
				float facing = abs(normalize(cross(dFdx(vHobAt), dFdy(vHobAt))).z);
				${fragment}`);
	};
	material.customProgramCacheKey = () => shared + vertex + fragment;
}

/* A channel: its picture, its factor, and the value that is shown, if it is no colour. */
/**
 * @type {Page.Table<(own: View.Material) => { map: THREE.Texture | null, alphaMap?: THREE.Texture | null, show: string,
 *     color?: THREE.Color, factor?: number, opacity?: number }>}
 */
const channels = {
	base: (own) => ({ map: own.map, color: own.color, show: '' }),
	emission: (own) => ({ map: own.emissiveMap, show: '',
		color: own.emissive?.clone().multiplyScalar(own.emissiveIntensity ?? 1) ?? new THREE.Color(0) }),
	roughness: (own) => ({ map: own.roughnessMap, factor: own.roughness ?? 1, show: 'vec3(diffuseColor.g)' }),
	metallic: (own) => ({ map: own.metalnessMap, factor: own.metalness ?? 0, show: 'vec3(diffuseColor.b)' }),
	occlusion: (own) => ({ map: own.aoMap, factor: 1,
		show: `vec3(1.0 + (diffuseColor.r - 1.0) * ${Number(own.aoMapIntensity ?? 1).toFixed(4)})` }),
	alpha: (own) => ({ map: own.map, alphaMap: own.alphaMap, opacity: own.opacity, show: 'vec3(diffuseColor.a)' }),
};
export const channelNames = Object.keys(channels);

/**
 * Shows one channel of the material `own`, which keeps its pictures.
 * @param {string} name
 * @param {View.Material} own
 */
export function makeChannel(name, own) {
	const { map = null, alphaMap = null, color, factor = 1, opacity = 1, show } = channels[name](own);
	const material = new THREE.MeshBasicMaterial({ map, alphaMap, opacity, side: THREE.DoubleSide, toneMapped: false,
		color: color ?? new THREE.Color(factor, factor, factor) });
	material.userData.borrowed = true;
	if (!show) return material;
	material.onBeforeCompile = (shader) => {
		shader.fragmentShader = shader.fragmentShader
			.replace('#include <alphahash_fragment>', `#include <alphahash_fragment>\ndiffuseColor.rgb = ${show};`)
			.replace('#include <colorspace_fragment>', '');
	};
	material.customProgramCacheKey = () => show;
	return material;
}

const HEAT = 'vec3(smoothstep(0.25, 0.75, w), w < 0.5 ? smoothstep(0.0, 0.5, w) : smoothstep(1.0, 0.5, w) * 0.9, '
	+ 'smoothstep(0.5, 0.0, w) * 0.8)';
const COUNTS = 'w < 0.5 ? vec3(0.9, 0.1, 0.8) : w < 1.5 ? vec3(0.15, 0.3, 0.8) : w < 2.5 ? vec3(0.1, 0.6, 0.25) '
	+ ': w < 3.5 ? vec3(0.85, 0.7, 0.1) : vec3(0.85, 0.15, 0.1)';

/** joint: index in the skin whose weight is shown; ALL: by how many joints a vertex is moved; BARE: no skin. */
export const ALL = -1;
export const BARE = -2;
/** @param {number} joint */
export function makeWeights(joint) {
	const material = new THREE.MeshBasicMaterial({ side: THREE.DoubleSide, toneMapped: false });
	/** @param {(index: string, weight: string) => string} code */
	const each = (code) => [0, 1, 2, 3].map((i) => code(`skinIndex[${i}]`, `skinWeight[${i}]`)).join(' + ');
	const sum = joint === ALL ? each((index, weight) => `step(0.002, ${weight})`)
		: each((index, weight) => `(abs(${index} - ${joint}.0) < 0.5 ? ${weight} : 0.0)`);
	seeForm(material, { shared: 'varying float vHobWeight;', vertex: `vHobWeight = 0.0;
		#ifdef USE_SKINNING
		vHobWeight = ${sum};
		#endif`, fragment: `float w = vHobWeight;
		diffuseColor.rgb = ${joint === BARE ? 'vec3(0.35)' : `(${joint === ALL ? COUNTS : HEAT})`}
			* (0.5 + 0.5 * facing);` });
	return material;
}

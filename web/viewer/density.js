/* Shows the density of base colour texels per metre by colour, for every pixel: stretched parts, and parts finer than
 * anybody sees. */
import * as THREE from 'three';
import { seeForm } from './tint.js';

/* Densities in texels per metre that are shown as blue, green and red. */
export const DENSITY = [64, 512, 4096];

const dot = new THREE.DataTexture(new Uint8Array([255, 255, 255, 255]), 1, 1);

/* Lengths in camera space are those of the world. The ratio of a pixel's area in the picture to its area on the surface
 * is the square of the density. */
const measure = `
	vec2 du = dFdx(vMapUv), dv = dFdy(vMapUv);
	float picture = abs(du.x * dv.y - du.y * dv.x) * hobTexels;
	float surface = length(cross(dFdx(vHobAt), dFdy(vHobAt)));
	float finer = log2(max(sqrt(picture / max(surface, 1e-20)), 1e-3) / ${DENSITY[1].toFixed(1)}) / 3.0;
	vec3 hobColor = finer < 0.0 ? mix(vec3(0.1, 0.62, 0.25), vec3(0.1, 0.25, 0.8), min(-finer, 1.0))
		: mix(vec3(0.1, 0.62, 0.25), vec3(0.85, 0.1, 0.08), min(finer, 1.0));
	diffuseColor.rgb = picture > 0.0 ? hobColor * (0.55 + 0.45 * facing) : vec3(0.35) * facing;`;

/**
 * The material of surfaces whose picture has `texels` in all.
 * @param {number} texels
 */
export function makeDensity(texels) {
	const material = new THREE.MeshBasicMaterial({ map: dot, side: THREE.DoubleSide, toneMapped: false });
	seeForm(material, { fragment: measure.replace('hobTexels', texels.toFixed(1)) });
	return material;
}

/**
 * The texels of the base colour's picture, as often as it is repeated.
 * @param {View.Material | undefined} material
 */
export function texelsOf(material) {
	const map = material?.map;
	const { width, height } = /** @type {{ width: number, height: number }} */ (map?.mipmaps?.[0] ?? map?.image ?? {});
	return map && width > 0 ? width * height * Math.abs(map.repeat.x * map.repeat.y) : 0;
}

/**
 * hob-three-environment.js - environment maps for three.js, from .hdr or .exr files that Hob cooked with the setting
 * environment.cook.
 *
 *     const model = await loader.loadAsync('art/studio.hdr');
 *     const light = environmentLight(model.userData.environment, renderer);
 *     scene.environment = scene.background = light.texture;
 *
 * The file's levels are already blurred, each for the roughness that three.js uses it for. They are only copied into
 * three.js' own kind of cube (PMREMGenerator), whose faces are mirrored. Make a new one after a reload.
 */
import * as THREE from 'three';

/* Factors that convert the bands of radiance harmonics to irradiance. */
const bands = [Math.PI, 2 * Math.PI / 3, Math.PI / 4];

/**
 * A light probe from nine coefficients of irradiance (KTX2's key HobIrradiance), for materials that the environment
 * does not light.
 * @param {ArrayLike<number>} numbers
 */
export function irradianceProbe(numbers) {
	const probe = new THREE.LightProbe();
	probe.sh.coefficients.forEach((coefficient, i) => coefficient.fromArray(numbers, 3 * i)
		.divideScalar(bands[i === 0 ? 0 : i < 4 ? 1 : 2]));
	return probe;
}

/** @param {THREE.CompressedCubeTexture} cube */
function levelMaterial(cube) {
	return new THREE.ShaderMaterial({
		uniforms: { cube: { value: cube }, level: { value: 0 } },
		vertexShader: 'varying vec3 way; void main() { way = position;'
			+ ' gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0); }',
		fragmentShader: 'varying vec3 way; uniform samplerCube cube; uniform float level;'
			+ ' void main() { gl_FragColor = vec4(textureLod(cube, way, level).rgb, 1.0); }',
		side: THREE.BackSide, blending: THREE.NoBlending, depthTest: false, depthWrite: false,
	});
}

/**
 * @param {{cube: THREE.CompressedCubeTexture}} environment  userData.environment of a loaded environment map
 * @param {THREE.WebGLRenderer} renderer  the one that draws with it
 * @returns {THREE.WebGLCubeRenderTarget} its `texture` is for scene.environment and scene.background; dispose() it
 */
export function environmentLight({ cube }, renderer) {
	const { width: size, mipmaps } = /** @type {{ width: number, mipmaps: { width: number, height: number }[] }} */ (
		/** @type {unknown} */ (cube.image[0]));
	const target = new THREE.WebGLCubeRenderTarget(size, { type: THREE.HalfFloatType, generateMipmaps: false,
		minFilter: THREE.LinearMipmapLinearFilter, colorSpace: THREE.LinearSRGBColorSpace, depthBuffer: false });
	target.texture.isPMREMTexture = true;
	Object.assign(target.texture, { mipmaps: mipmaps.map(({ width, height }) => ({ width, height })) });
	const box = new THREE.Mesh(new THREE.BoxGeometry(5, 5, 5), levelMaterial(cube));
	const camera = new THREE.CubeCamera(1, 10, target);
	mipmaps.forEach(({ width, height }, i) => {
		box.material.uniforms.level.value = i;
		target.viewport.set(0, 0, width, height); /* set by hand: the renderer does not scale it to the level */
		camera.activeMipmapLevel = i;
		camera.update(renderer, box);
	});
	target.viewport.set(0, 0, size, size);
	box.geometry.dispose();
	box.material.dispose();
	return target;
}

/* Draws a model twice with one renderer, one camera and one light: its source through three.js' own glTF loader, and what
 * Hob made of it through HobLoader. The functions on window are what the tests call. */
import * as THREE from 'three';
import { GLTFLoader } from 'three/addons/loaders/GLTFLoader.js';
import { DRACOLoader } from 'three/addons/loaders/DRACOLoader.js';
import { MeshoptDecoder } from 'three/addons/libs/meshopt_decoder.module.js';
import { RoomEnvironment } from 'three/addons/environments/RoomEnvironment.js';
import pixelmatch from 'pixelmatch';
import { HobLoader, disposeContent, selectVariant } from 'hob/hob-three.js';

const side = 512;
const renderer = new THREE.WebGLRenderer({ antialias: false, preserveDrawingBuffer: true });
renderer.setSize(side, side);
renderer.toneMapping = THREE.NeutralToneMapping;
document.body.append(renderer.domElement);
const environment = new THREE.PMREMGenerator(renderer).fromScene(new RoomEnvironment(), 0.04).texture;

const draco = new DRACOLoader().setDecoderPath('/modules/three/examples/jsm/libs/draco/gltf/');
const sourceLoader = new GLTFLoader().setDRACOLoader(draco).setMeshoptDecoder(MeshoptDecoder);

const textureFields = (material) => Object.values(material).filter((value) => value?.isTexture);

/* Mip chains are made by the driver here and by Hob there; without them textures can be compared to the last bit. */
function dropMips(object) {
	const plain = { [THREE.NearestMipmapNearestFilter]: THREE.NearestFilter, [THREE.NearestMipmapLinearFilter]: THREE.NearestFilter,
		[THREE.LinearMipmapNearestFilter]: THREE.LinearFilter, [THREE.LinearMipmapLinearFilter]: THREE.LinearFilter };
	object.traverse(({ material }) => {
		for (const texture of material ? textureFields(material) : []) {
			texture.minFilter = plain[texture.minFilter] ?? texture.minFilter;
			texture.generateMipmaps = false;
			if (texture.mipmaps?.length > 1) texture.mipmaps = texture.isCompressedTexture ? texture.mipmaps.slice(0, 1) : [];
			texture.needsUpdate = true;
		}
	});
}

function pose(object, animations, { clip, time }) {
	if (clip === undefined) return;
	const mixer = new THREE.AnimationMixer(object);
	mixer.clipAction(animations[clip]).play();
	mixer.setTime(time);
}

function frame(object) {
	object.updateMatrixWorld(true);
	const box = new THREE.Box3().setFromObject(object, true);
	const sphere = box.getBoundingSphere(new THREE.Sphere());
	const radius = sphere.radius || 1;
	const camera = new THREE.PerspectiveCamera(35, 1, radius / 100, radius * 20);
	camera.position.set(0.55, 0.4, 1).normalize().multiplyScalar(radius / Math.sin(THREE.MathUtils.degToRad(17.5)) * 0.95).add(sphere.center);
	camera.lookAt(sphere.center);
	return camera;
}

function draw(object, camera) {
	const scene = new THREE.Scene();
	scene.background = new THREE.Color(0x30343a);
	scene.environment = environment;
	const sun = new THREE.DirectionalLight(0xffffff, 1.5);
	sun.position.set(1, 2, 1.5);
	scene.add(sun, object);
	renderer.render(scene, camera);
	const gl = renderer.getContext();
	const pixels = new Uint8Array(side * side * 4);
	gl.readPixels(0, 0, side, side, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
	scene.remove(object);
	return { pixels, png: renderer.domElement.toDataURL('image/png') };
}

function compare(a, b) {
	let most = 0;
	let sum = 0;
	let differ = 0;
	let drawn = 0;
	for (let i = 0; i < a.length; i += 4) {
		let here = 0;
		for (let k = 0; k < 3; k++) {
			const d = Math.abs(a[i + k] - b[i + k]);
			here = Math.max(here, d);
			sum += d * d;
		}
		most = Math.max(most, here);
		if (here) differ++;
		if (a[i] !== a[0] || a[i + 1] !== a[1] || a[i + 2] !== a[2]) drawn++;
	}
	const diff = new Uint8Array(a.length);
	const off = pixelmatch(a, b, diff, side, side, { threshold: 0.1, includeAA: true });
	return { max: most, rmse: Math.sqrt(sum / (side * side * 3)), off, differ, drawn };
}

let reference = null;

window.rendererName = () => {
	const gl = renderer.getContext();
	return gl.getParameter(gl.getExtension('WEBGL_debug_renderer_info')?.UNMASKED_RENDERER_WEBGL ?? gl.RENDERER);
};

window.drawSource = async (url, options) => {
	const gltf = await sourceLoader.loadAsync(url);
	if (!options.mips) dropMips(gltf.scene);
	const camera = frame(gltf.scene);
	pose(gltf.scene, gltf.animations, options);
	const { pixels, png } = draw(gltf.scene, camera);
	reference = { camera, pixels };
	return { png, clips: gltf.animations.map(({ name, duration, tracks }) => ({ name, duration, tracks: tracks.length })) };
};

window.drawCooked = async (name, options) => {
	const problems = [];
	const loader = new HobLoader().setPath('/a/');
	loader.generatedTangents = options.generatedTangents ?? false;
	loader.onTextureError = (error) => problems.push(error.message);
	const model = await loader.loadAsync(name);
	if (options.variant) selectVariant(model, options.variant);
	if (!options.mips) dropMips(model);
	pose(model, model.animations, options);
	const { pixels, png } = draw(model, reference.camera);
	disposeContent(model);
	return { ...compare(reference.pixels, pixels), png, problems };
};

let watched = null;

window.watchModel = async (name) => {
	const model = await new HobLoader().setPath('/a/').loadAsync(name);
	watched = { model, events: [], camera: frame(model) };
	const loader = new HobLoader().setPath('/a/');
	watched.stop = loader.watch(model, () => watched.events.push({ kind: 'reload' }),
		({ file, message, hint }) => watched.events.push({ kind: 'error', file, message, hint }));
	watched.geometry = new Set();
	model.traverse((object) => object.geometry?.addEventListener('dispose', () => (watched.disposed = true)));
	watched.meshes = [];
	model.traverse((object) => object.isMesh && watched.meshes.push(object.uuid));
};

window.watchedFacts = () => {
	const meshes = [];
	watched.model.traverse((object) => object.isMesh && meshes.push(object.uuid));
	const { png } = draw(watched.model, watched.camera);
	return { events: watched.events, disposed: Boolean(watched.disposed), sameMeshes: meshes.join() === watched.meshes.join(), png };
};

window.ready = true;

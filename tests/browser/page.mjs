/* Draws a model twice with one renderer, camera and light: its source with three.js' own glTF loader, and its cooked
 * form with HobLoader. The tests call the functions on window. */
import * as THREE from 'three';
import { ColladaLoader } from 'three/addons/loaders/ColladaLoader.js';
import { FBXLoader } from 'three/addons/loaders/FBXLoader.js';
import { GLTFLoader } from 'three/addons/loaders/GLTFLoader.js';
import { HDRLoader } from 'three/addons/loaders/HDRLoader.js';
import { KTX2Loader } from 'three/addons/loaders/KTX2Loader.js';
import { DRACOLoader } from 'three/addons/loaders/DRACOLoader.js';
import { MeshoptDecoder } from 'three/addons/libs/meshopt_decoder.module.js';
import { RoomEnvironment } from 'three/addons/environments/RoomEnvironment.js';
import pixelmatch from 'pixelmatch';
import { HobLoader, disposeContent, environmentLight, selectVariant } from 'hob/hob-three.js';
import { decodeBlocks } from 'hob/hob-blocks.js';
import { read as readKtx } from 'three/addons/libs/ktx-parse.module.js';
import { ZSTDDecoder } from 'three/addons/libs/zstddec.module.js';

const side = 512;
const renderer = new THREE.WebGLRenderer({ antialias: false, preserveDrawingBuffer: true });
renderer.setSize(side, side);
renderer.toneMapping = THREE.NeutralToneMapping;
document.body.append(renderer.domElement);
const environment = new THREE.PMREMGenerator(renderer).fromScene(new RoomEnvironment(), 0.04).texture;

const draco = new DRACOLoader().setDecoderPath('/modules/three/examples/jsm/libs/draco/gltf/');
const ktx2 = new KTX2Loader().setTranscoderPath('/modules/three/examples/jsm/libs/basis/').detectSupport(renderer);
const sourceLoader = new GLTFLoader().setDRACOLoader(draco).setMeshoptDecoder(MeshoptDecoder).setKTX2Loader(ktx2);

const textureFields = (material) => Object.values(material).filter((value) => value?.isTexture);

/* The driver makes the source's mip chains, Hob the cooked ones; without them textures are equal bit by bit. */
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

/* glTF has single-precision numbers and unit quaternions; three.js keeps the text's doubles as they are. */
function toSingle(object) {
	object.traverse(({ position, quaternion, scale }) => {
		quaternion.normalize();
		for (const value of [position, quaternion, scale]) value.fromArray(value.toArray().map(Math.fround));
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

/* off: pixels that pixelmatch counts, mostly at edges; rmse: of all pixels; rest: of the pixels that are not off. */
function compare(a, b) {
	const mask = new Uint8Array(a.length);
	const off = pixelmatch(a, b, mask, side, side, { threshold: 0.1, includeAA: true, diffMask: true });
	const found = { max: 0, off, differ: 0, drawn: 0 };
	let sum = 0;
	let rest = 0;
	for (let i = 0; i < a.length; i += 4) {
		const d = [0, 1, 2].map((k) => Math.abs(a[i + k] - b[i + k]));
		const square = d[0] ** 2 + d[1] ** 2 + d[2] ** 2;
		sum += square;
		if (!mask[i + 3]) rest += square;
		if (square) found.differ++;
		found.max = Math.max(found.max, ...d);
		if (a[i] !== a[0] || a[i + 1] !== a[1] || a[i + 2] !== a[2]) found.drawn++;
	}
	return { ...found, rmse: Math.sqrt(sum / (side * side * 3)), rest: Math.sqrt(rest / (side * side * 3)) };
}

let reference = null;

window.rendererName = () => {
	const gl = renderer.getContext();
	return gl.getParameter(gl.getExtension('WEBGL_debug_renderer_info')?.UNMASKED_RENDERER_WEBGL ?? gl.RENDERER);
};

window.drawSource = async (url, options) => {
	const gltf = await sourceLoader.loadAsync(url);
	if (!options.mips) dropMips(gltf.scene);
	toSingle(gltf.scene);
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
	loader.generatedNormals = options.generatedNormals ?? true;
	loader.onTextureError = (error) => problems.push(error.message);
	const model = await loader.loadAsync(name);
	if (options.variant) selectVariant(model, options.variant);
	if (!options.mips) dropMips(model);
	pose(model, model.animations, options);
	const { pixels, png } = draw(model, reference.camera);
	disposeContent(model);
	return { ...compare(reference.pixels, pixels), png, problems };
};

/* Projects every vertex of a source, in each pose, with that pose's camera: the vertices' box, and the part of the view
 * from -1 to 1 that they cover. poses: [{clip, time, camera}], camera = projection * view, column by column. */
window.sourceBounds = async (url, poses) => {
	const { scene, animations } = await sourceLoader.loadAsync(url);
	return poses.map(({ clip, time, camera }) => {
		const mixer = new THREE.AnimationMixer(scene);
		if (clip >= 0) mixer.clipAction(animations[clip]).play();
		mixer.setTime(time);
		scene.updateMatrixWorld(true);
		const box = new THREE.Box3();
		const view = new THREE.Box3();
		const through = new THREE.Matrix4().fromArray(camera);
		const at = new THREE.Vector3();
		const own = new THREE.Matrix4();
		scene.traverse((object) => {
			const position = object.geometry?.attributes.position;
			if (!position) return;
			object.skeleton?.update();
			for (let instance = 0; instance < (object.isInstancedMesh ? object.count : 1); instance++) {
				if (object.isInstancedMesh) object.getMatrixAt(instance, own);
				else own.identity();
				own.premultiply(object.matrixWorld);
				for (let i = 0; i < position.count; i++) {
					if (object.isMesh) object.getVertexPosition(i, at);
					else at.fromBufferAttribute(position, i);
					box.expandByPoint(at.applyMatrix4(own));
					view.expandByPoint(at.applyMatrix4(through));
				}
			}
		});
		mixer.stopAllAction();
		return { box: [box.min.toArray(), box.max.toArray()], view: [view.min.toArray(), view.max.toArray()] };
	});
};

/* Loaders of other formats make other materials and do not convert units: only shapes are compared, by their
 * normals. */
let foreign = null;

/* Removes the file's own lights. */
function unlit(object) {
	object.traverse((part) => {
		if (part.isLight) part.visible = false;
	});
	return object;
}

function asShape(object) {
	const material = new THREE.MeshNormalMaterial({ side: THREE.DoubleSide, flatShading: true });
	unlit(object).traverse((part) => {
		if (part.material) part.material = material;
	});
}

window.loadForeign = async (url, name, options) => {
	const collada = /\.dae$/i.test(url);
	const source = await (collada ? new ColladaLoader() : new FBXLoader().setResourcePath(new URL('textures/', new URL(url, location)).href)).loadAsync(url);
	const root = new THREE.Group();
	root.add(collada ? source.scene : source);
	root.scale.setScalar(options.unit ?? 1);
	const animations = collada ? source.scene.animations : source.animations;
	const cooked = await new HobLoader().setPath('/a/').loadAsync(name);
	const camera = frame(root);
	// a missing picture stays missing
	for (let frames = 0, waiting = options.looks; waiting && frames < 200; frames++) {
		await new Promise((resolve) => requestAnimationFrame(resolve));
		waiting = false;
		root.traverse(({ material }) => {
			for (const m of [material ?? []].flat()) waiting ||= textureFields(m).some((texture) => !texture.image);
		});
	}
	const looks = options.looks ? [root, cooked].map((object) => draw(unlit(object), camera).png) : [];
	asShape(root);
	asShape(cooked);
	foreign = { root, cooked, animations: [animations, cooked.animations], camera };
	return { looks, clips: foreign.animations.map((list) => list.map(({ name, duration }) => ({ name, duration }))) };
};

window.drawForeign = (options) => {
	const [source, cooked] = [foreign.root, foreign.cooked].map((object, i) => {
		pose(object, foreign.animations[i], { ...options, time: options.time + (i === 0 ? options.later ?? 0 : 0) });
		return draw(object, foreign.camera);
	});
	return { ...compare(source.pixels, cooked.pixels), source: source.png, cooked: cooked.png };
};

/* Recreates the scene of core/runtime/examples/draw: its background, its lamp, and its sky as a hemisphere light. */
window.drawLikeSample = async (url, options) => {
	const gltf = await sourceLoader.loadAsync(url);
	toSingle(gltf.scene);
	pose(gltf.scene, gltf.animations, options);
	const framed = frame(gltf.scene);
	const center = new THREE.Box3().setFromObject(gltf.scene, true).getCenter(new THREE.Vector3());
	const camera = new THREE.PerspectiveCamera(THREE.MathUtils.radToDeg(0.7), 1, framed.near, framed.far);
	camera.position.copy(framed.position);
	camera.lookAt(center);
	const scene = new THREE.Scene();
	scene.background = new THREE.Color().setRGB(0.16, 0.17, 0.19, THREE.SRGBColorSpace);
	const lamp = new THREE.DirectionalLight(0xffffff, 3);
	lamp.position.set(0.4, 0.8, 0.5);
	const sky = new THREE.HemisphereLight(new THREE.Color(0.55, 0.6, 0.7), new THREE.Color(0.25, 0.23, 0.22), Math.PI);
	scene.add(lamp, sky, gltf.scene);
	renderer.toneMapping = THREE.NoToneMapping;
	renderer.render(scene, camera);
	renderer.toneMapping = THREE.NeutralToneMapping;
	const gl = renderer.getContext();
	const pixels = new Uint8Array(side * side * 4);
	gl.readPixels(0, 0, side, side, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
	reference = { camera, pixels };
	const start = Math.min(...gltf.animations[options.clip].tracks.map(({ times }) => times[0]));
	return { png: renderer.domElement.toDataURL('image/png'), start, look: [...camera.position.toArray(), ...center.toArray()] };
};

async function readPicture(url) {
	const picture = await createImageBitmap(await (await fetch(url)).blob());
	const canvas = new OffscreenCanvas(side, side);
	const context = canvas.getContext('2d');
	context.setTransform(1, 0, 0, -1, 0, side); // rows from the bottom, as in readPixels
	context.drawImage(picture, 0, 0);
	return context.getImageData(0, 0, side, side).data;
}

window.compareWithPicture = async (url) => compare(reference.pixels, await readPicture(url));

/* ---- spheres in an environment */

const within = { reference: null, spheres: null, camera: null, cooked: null };

/* The picture, and for each sphere the root mean square difference from the reference. */
function offReference(pixels) {
	return within.spheres.map(({ center, radius }) => {
		let sum = 0;
		let count = 0;
		for (let y = Math.ceil(center.y - radius); y <= center.y + radius; y++)
			for (let x = Math.ceil(center.x - radius); x <= center.x + radius; x++) {
				if (Math.hypot(x - center.x, y - center.y) > radius) continue;
				const at = 4 * (y * side + x);
				for (let k = 0; k < 3; k++) sum += (pixels[at + k] - within.reference[at + k]) ** 2;
				count += 3;
			}
		return Math.sqrt(sum / count);
	});
}

function drawUnder(object, light, probe) {
	const scene = new THREE.Scene();
	scene.background = new THREE.Color().setRGB(0.16, 0.17, 0.19, THREE.SRGBColorSpace);
	scene.environment = light;
	scene.add(object);
	if (probe) scene.add(probe);
	renderer.toneMapping = THREE.NoToneMapping;
	renderer.render(scene, within.camera);
	renderer.toneMapping = THREE.NeutralToneMapping;
	const gl = renderer.getContext();
	const pixels = new Uint8Array(side * side * 4);
	gl.readPixels(0, 0, side, side, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
	scene.remove(object);
	return { pixels, png: renderer.domElement.toDataURL('image/png') };
}

/* The pixels of each sphere, without its edge, where a pixel may be covered or not. */
function findSpheres(object) {
	within.spheres = [];
	object.traverse((part) => {
		if (!part.isMesh) return;
		const center = part.getWorldPosition(new THREE.Vector3());
		const away = center.distanceTo(within.camera.position);
		const radius = (0.93 * side) / 2 / Math.tan(THREE.MathUtils.degToRad(within.camera.fov / 2)) / Math.sqrt(away ** 2 - 1);
		center.project(within.camera);
		within.spheres.push({ center: { x: ((center.x + 1) / 2) * side - 0.5, y: ((center.y + 1) / 2) * side - 0.5 }, radius });
	});
}

async function loadEnvironment(name, unpack) {
	const problems = [];
	const loader = new HobLoader().setPath('/a/');
	loader.onTextureError = (error) => problems.push(error.message);
	if (unpack) loader.detectSupport({ extensions: { has: () => false } });
	const { environment } = (await loader.loadAsync(name)).userData;
	return { environment, problems };
}

/* options: {source}: an .hdr that three.js blurs itself, which becomes the reference; or {cooked, unpack}: Hob's cooked
 * form. */
window.drawWithin = async (url, { source, cooked, unpack }) => {
	const { scene } = await sourceLoader.loadAsync(url);
	if (source) {
		const framed = frame(scene);
		const center = new THREE.Box3().setFromObject(scene).getCenter(new THREE.Vector3());
		within.camera = new THREE.PerspectiveCamera(THREE.MathUtils.radToDeg(0.7), 1, framed.near, framed.far);
		within.camera.position.copy(framed.position);
		within.camera.lookAt(center);
		within.camera.updateMatrixWorld();
		findSpheres(scene);
		const texture = await new HDRLoader().loadAsync(source);
		const target = new THREE.PMREMGenerator(renderer).fromEquirectangular(texture);
		const { pixels, png } = drawUnder(scene, target.texture);
		within.reference = pixels;
		return { png, look: [...within.camera.position.toArray(), ...center.toArray()] };
	}
	const { environment, problems } = await loadEnvironment(cooked, unpack);
	const light = environmentLight(environment, renderer);
	const { pixels, png } = drawUnder(scene, light.texture);
	light.dispose();
	return { png, problems, spheres: offReference(pixels) };
};

/* Compares white matte spheres lit by the probe with the same lit by the last level of the cube. */
window.compareProbe = async (name) => {
	const { environment } = await loadEnvironment(name);
	const light = environmentLight(environment, renderer);
	const spheres = new THREE.Mesh(new THREE.SphereGeometry(2), new THREE.MeshLambertMaterial());
	spheres.position.set(4.4, 1.1, 0);
	spheres.updateMatrixWorld();
	const kept = { ...within };
	within.reference = drawUnder(spheres, light.texture).pixels;
	const { pixels } = drawUnder(spheres, null, environment.probe);
	within.spheres = [{ center: { x: side / 2, y: side / 2 }, radius: 60 }];
	const found = offReference(pixels);
	Object.assign(within, kept);
	return { spheres: found };
};

window.compareSpheres = async (url) => offReference(await readPicture(url));

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

window.textureFamilies = () => {
	const gl = renderer.getContext();
	const names = { s3tc: 'WEBGL_compressed_texture_s3tc', rgtc: 'EXT_texture_compression_rgtc', bptc: 'EXT_texture_compression_bptc',
		astc: 'WEBGL_compressed_texture_astc' };
	return Object.fromEntries(Object.entries(names).map(([family, name]) => [family, Boolean(gl.getExtension(name))]));
};

/* Every texel of every level as a shader reads it: 0..1, colours in linear light. */
/* BC6H: three's loader supports it only inside Basis Universal. */
async function readLight(url) {
	const ktx = readKtx(new Uint8Array(await (await fetch(url)).arrayBuffer()));
	if (ktx.vkFormat !== 143) return null;
	const zstd = new ZSTDDecoder();
	await zstd.init();
	const mipmaps = ktx.levels.map(({ levelData, uncompressedByteLength }, i) => ({
		data: zstd.decode(levelData, uncompressedByteLength),
		width: Math.max(1, ktx.pixelWidth >> i), height: Math.max(1, ktx.pixelHeight >> i) }));
	const texture = new THREE.CompressedTexture(mipmaps, ktx.pixelWidth, ktx.pixelHeight, THREE.RGB_BPTC_UNSIGNED_Format);
	texture.needsUpdate = true;
	return texture;
}

/* WebGL takes BC blocks only of sides that are multiples of four. */
async function readRagged(url) {
	const ktx = readKtx(new Uint8Array(await (await fetch(url)).arrayBuffer()));
	const { vkFormat, pixelWidth, pixelHeight } = ktx;
	if (vkFormat < 131 || vkFormat > 146 || (pixelWidth % 4 === 0 && pixelHeight % 4 === 0)) return null;
	const levels = (await unpackTexture(url)).map((data, i) => ({ data: new Uint8Array(data),
		width: Math.max(1, pixelWidth >> i), height: Math.max(1, pixelHeight >> i) }));
	const texture = new THREE.DataTexture(levels[0].data, pixelWidth, pixelHeight);
	texture.mipmaps = levels;
	texture.minFilter = THREE.LinearMipmapLinearFilter;
	texture.colorSpace = [132, 134, 138, 146].includes(vkFormat) ? THREE.SRGBColorSpace : THREE.NoColorSpace;
	texture.needsUpdate = true;
	return texture;
}

window.readTexture = async (url) => {
	const texture = (await readLight(url)) ?? (await readRagged(url)) ?? (await ktx2.loadAsync(url));
	const material = new THREE.RawShaderMaterial({
		glslVersion: THREE.GLSL3,
		uniforms: { map: { value: texture }, level: { value: 0 } },
		vertexShader: 'in vec3 position; void main() { gl_Position = vec4(position, 1.0); }',
		fragmentShader: 'precision highp float; precision highp sampler2D; uniform sampler2D map; uniform int level; out vec4 color;' +
			'void main() { color = texelFetch(map, ivec2(gl_FragCoord.xy), level); }',
		blending: THREE.NoBlending, depthTest: false,
	});
	const quad = new THREE.Mesh(new THREE.PlaneGeometry(2, 2), material);
	quad.frustumCulled = false;
	const levels = (texture.mipmaps?.length ? texture.mipmaps : [texture.image]).map(({ width, height }, level) => {
		const target = new THREE.WebGLRenderTarget(width, height, { type: THREE.FloatType, depthBuffer: false });
		const pixels = new Float32Array(4 * width * height);
		material.uniforms.level.value = level;
		renderer.setRenderTarget(target);
		renderer.render(quad, new THREE.Camera());
		renderer.readRenderTargetPixels(target, 0, 0, width, height, pixels);
		renderer.setRenderTarget(null);
		target.dispose();
		return { width, height, pixels: [...pixels] };
	});
	const srgb = texture.colorSpace === THREE.SRGBColorSpace;
	texture.dispose();
	return { srgb, levels };
};

/* The same texture unpacked without the GPU: codes 0..255 as stored. */
window.unpackTexture = async (url) => {
	const ktx = readKtx(new Uint8Array(await (await fetch(url)).arrayBuffer()));
	const zstd = new ZSTDDecoder();
	await zstd.init();
	return Promise.all(ktx.levels.map(async ({ levelData, uncompressedByteLength }, i) => {
		const data = ktx.supercompressionScheme === 2 ? zstd.decode(levelData, uncompressedByteLength) : levelData;
		return [...(await decodeBlocks(ktx.vkFormat, data, Math.max(1, ktx.pixelWidth >> i), Math.max(1, ktx.pixelHeight >> i)))];
	}));
};

window.ready = true;

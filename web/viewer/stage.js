/* Renderer, light, free camera, and when to draw: after a change, and while a clip plays. */
import * as THREE from 'three';
import { OrbitControls } from 'three/addons/controls/OrbitControls.js';
import { colourOf, onTheme } from '../app/theme.js';
import { environmentLight } from '../client/hob-three.js';
import { RoomEnvironment } from 'three/addons/environments/RoomEnvironment.js';
import { frameOf } from './frame.js';

/* One WebGL context serves the page: the next asset's view takes over that of the last. A new one costs a second. */
/** @type {Surface | null} */
let spare = null;

/**
 * @typedef {{ canvas: HTMLCanvasElement, renderer: THREE.WebGLRenderer, environment: THREE.Texture,
 *     retired: Map<string, THREE.Material>, slow: boolean }} Surface
 */

/** @returns {Surface} */
function makeSurface() {
	const canvas = document.createElement('canvas');
	const slow = isSlow();
	const renderer = new THREE.WebGLRenderer({ canvas, antialias: !slow });
	renderer.toneMapping = THREE.NeutralToneMapping;
	renderer.debug.checkShaderErrors = false; /* checking waits for each program before the next is compiled */
	const generator = new THREE.PMREMGenerator(renderer);
	const environment = generator.fromScene(new RoomEnvironment(), 0.04).texture;
	generator.dispose();
	return { canvas, renderer, environment, retired: new Map(), slow };
}

/* Whether WebGL is rendered by the processor. There four samples per pixel take longer than all the rest: while
 * anything moves, one sample is drawn, and a still view is drawn at twice the size. */
function isSlow() {
	const gl = document.createElement('canvas').getContext('webgl2');
	const names = gl?.getExtension('WEBGL_debug_renderer_info');
	const name = gl?.getParameter(names?.UNMASKED_RENDERER_WEBGL ?? gl.RENDERER);
	gl?.getExtension('WEBGL_lose_context')?.loseContext();
	return /llvmpipe|swiftshader|software|basic render/i.test(name);
}

/** {canvas, renderer, environment, retired, slow}; throws where there is no WebGL. */
function takeSurface() {
	const surface = spare ?? makeSurface();
	spare = null;
	return surface;
}

/**
 * Sets the pixels of a canvas that is `x` by `y` on the page. Setting the same size again would also recreate the
 * buffer and wait for it; but sizes of the same pixels may be parts of a pixel apart.
 * @param {Surface} given
 * @param {{ x: number, y: number }} given
 * @param {number} [finer]
 */
function setBuffer({ canvas, renderer }, { x, y }, finer = 1) {
	const ratio = Math.min(devicePixelRatio, 2) * finer;
	if (canvas.width !== Math.floor(x * ratio) || canvas.height !== Math.floor(y * ratio))
		renderer.setDrawingBufferSize(x, y, ratio);
	else renderer.setViewport(0, 0, x, y);
}

/**
 * Frees the surface if its context is lost, or if there is another one already. A surface drawn at twice the size is
 * reduced now, while nobody waits.
 * @param {Surface} surface
 */
function giveSurface(surface) {
	const { canvas, renderer, environment } = surface;
	renderer.setRenderTarget(null);
	renderer.setScissorTest(false);
	renderer.renderLists.dispose();
	for (const { name } of [...canvas.attributes]) if (!['width',
			'height'].includes(name)) canvas.removeAttribute(name);
	canvas.remove();
	if (!spare && !renderer.getContext().isContextLost()) {
		spare = surface;
		setTimeout(() => spare === surface && setBuffer(surface, renderer.getSize(new THREE.Vector2())));
		return;
	}
	for (const material of surface.retired.values()) material.dispose();
	environment.dispose();
	renderer.dispose();
	renderer.forceContextLoss();
}

const fov = 35;
const ROOM = 0.5; /* of the light of three's room: with all of it, white surfaces look alike from every side */
const RETIRED_MOST = 48; /* programs */
const SETTLES = 500; /* ms */
const FINE = 2;
const from = new THREE.Vector3(0.55, 0.4, 1).normalize();

export class Stage {
	/** Helpers around the models, with materials of their own; left out of captures. */
	helpers = new THREE.Scene();
	models = new THREE.Group();
	/** 0..1: the source is drawn left of it; null = one picture. */
	split = /** @type {number | null} */ (null);
	/** Colour of the background instead of the page's. */
	ground = /** @type {THREE.Color | null} */ (null);
	/** An environment map as light, and as background of the balls; else null. */
	own = /** @type {THREE.WebGLRenderTarget | THREE.WebGLCubeRenderTarget | null} */ (null);
	/** Drawn at twice the size, see isSlow. */
	fine = false;
	/** A camera of the scene that replaces the free one. */
	through = /** @type {View.Camera | null} */ (null);
	/** {model, box, aspect} that fills the view, also after a resize, until the camera is moved. */
	framed = /** @type {{ model: View.Thing, box: THREE.Box3, aspect: number } | null} */ (null);
	wireframe = false;
	/** A plane that takes the shadow, while there is one. */
	shadow = /** @type {ReturnType<typeof makeShadow> | null} */ (null);
	/** The colour of lines, as the page's theme has it. */
	lines = '';
	waiting = 0;
	running = false;
	ended = false;
	took = 0;
	last = 0;
	counts = { draws: 0, triangles: 0 };
	settling = /** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined);
	/** Called when somebody moves the camera. */
	onGrab = () => {};
	/** Called with the colour of lines when the theme has changed. */
	onTheme = () => {};
	/** Called after each picture. */
	drawn = () => {};
	/** Called before each picture with the seconds since the last one; true: draw again. */
	onFrame = (/** @type {number} */ _) => false;
	/** Called before each half of a picture: 'cooked' or 'source'. */
	onSide = (/** @type {'cooked' | 'source'} */ _) => {};

	/**
	 * The canvas becomes the first child of `host`.
	 * @param {HTMLElement} host
	 */
	constructor(host) {
		this.surface = takeSurface();
		const { canvas, renderer, environment } = this.surface;
		this.canvas = canvas;
		this.renderer = renderer;
		this.host = host;
		host.prepend(canvas);
		this.scene = new THREE.Scene();
		this.scene.background = new THREE.Color(0x30343a);
		this.scene.environment = environment;
		this.scene.environmentIntensity = ROOM;
		renderer.toneMappingExposure = 1;
		this.sun = new THREE.DirectionalLight(0xffffff, 1.5);
		this.sun.position.set(1, 2, 1.5);
		this.even = new THREE.AmbientLight(0xffffff, 0);
		this.scene.add(this.sun, this.even, this.models);
		this.camera = new THREE.PerspectiveCamera(fov, 1, 0.01, 100);
		this.camera.position.copy(from);
		this.controls = new OrbitControls(this.camera, canvas);
		this.controls.addEventListener('change', () => this.invalidate());
		this.controls.addEventListener('start', () => {
			this.framed = null;
			this.onGrab();
		});
		this.sphere = new THREE.Sphere(new THREE.Vector3(), 1);
		this.wire = makeWire();
		this.watchSize();
		this.watchTheme();
	}

	watchSize() {
		this.sizes = new ResizeObserver(() => this.resize());
		this.sizes.observe(this.host);
		this.resize();
	}

	watchTheme() {
		const read = () => {
			/** @type {THREE.Color} */ (this.scene.background).set(colourOf('--viewer-ground', this.host));
			this.lines = colourOf('--viewer-line', this.host);
			this.onTheme();
			this.invalidate();
		};
		this.unwatchTheme = onTheme(read);
		read();
	}

	resize() {
		const { clientWidth: width, clientHeight: height } = this.host;
		if (!width || !height) return;
		setBuffer(this.surface, { x: width, y: height }, this.fine ? FINE : 1);
		this.camera.aspect = width / height;
		this.camera.updateProjectionMatrix();
		const { framed } = this;
		if (framed && framed.aspect !== this.camera.aspect) this.fit(framed.model, framed.box, false);
		this.invalidate();
	}

	/** @param {boolean} on */
	setFine(on) {
		clearTimeout(this.settling);
		if (this.fine === on || this.ended) return;
		this.fine = on;
		setBuffer(this.surface, this.renderer.getSize(new THREE.Vector2()), on ? FINE : 1);
	}

	/* Draws a still view again without jagged edges, if that is too slow for a moving one. */
	settle() {
		if (!this.surface.slow || this.running) return;
		this.settling = setTimeout(() => {
			this.setFine(true);
			this.draw();
		}, SETTLES);
	}

	invalidate() {
		if (this.waiting || this.ended) return;
		this.waiting = requestAnimationFrame((now) => {
			this.waiting = 0;
			this.frame(now);
		});
	}

	/** @param {number} now */
	frame(now) {
		const seconds = this.running ? Math.min((now - this.last) / 1000, 0.25) : 0;
		this.last = now;
		this.setFine(false);
		this.running = this.onFrame(seconds) || this.controls.autoRotate;
		if (this.controls.autoRotate) this.controls.update(seconds);
		const began = performance.now();
		this.draw();
		this.took = performance.now() - began;
		this.drawn();
		if (this.running) this.invalidate();
		this.settle();
	}

	activeCamera() {
		if (!this.through) return this.camera;
		const { width, height } = this.canvas;
		const aspect = width / height;
		if (this.through instanceof THREE.PerspectiveCamera) this.through.aspect = aspect;
		else {
			this.through.right = this.through.top * aspect;
			this.through.left = -this.through.right;
		}
		this.through.updateProjectionMatrix();
		return this.through;
	}

	draw() {
		const camera = this.activeCamera();
		if (this.split === null) return this.drawSide('cooked', camera);
		const size = this.renderer.getSize(new THREE.Vector2());
		const edge = Math.round(size.x * this.split);
		this.renderer.setScissorTest(true);
		this.renderer.setScissor(0, 0, edge, size.y);
		this.drawSide('source', camera);
		this.renderer.setScissor(edge, 0, size.x - edge, size.y);
		this.drawSide('cooked', camera);
		this.renderer.setScissorTest(false);
	}

	/**
	 * @param {'cooked' | 'source'} side
	 * @param {View.Camera} camera
	 */
	drawSide(side, camera) {
		this.onSide(side);
		const { background } = this.scene;
		const behind = this.ground ?? this.own?.texture;
		if (behind) this.scene.background = behind;
		this.renderer.render(this.scene, camera);
		const { calls: draws, triangles } = this.renderer.info.render;
		this.counts = { draws, triangles }; /* without helpers */
		this.scene.background = background;
		this.renderer.autoClear = false;
		if (this.wireframe) this.drawWire(camera);
		if (this.helpers.visible) this.renderer.render(this.helpers, camera);
		this.renderer.autoClear = true;
	}

	/** @param {View.Camera} camera */
	drawWire(camera) {
		const { background } = this.scene;
		this.scene.background = null;
		this.scene.overrideMaterial = this.wire;
		this.renderer.render(this.scene, camera);
		this.scene.overrideMaterial = null;
		this.scene.background = background;
	}

	/**
	 * Looks at a model from the front right, or with `turn` false from the current direction; `box` is the model's.
	 * @param {View.Thing} model
	 * @param {THREE.Box3} box
	 * @param {boolean} [turn]
	 */
	fit(model, box, turn = true) {
		this.framed = { model, box, aspect: this.camera.aspect };
		this.frameBox(box);
		const { center, radius } = this.sphere;
		const half = Math.tan(THREE.MathUtils.degToRad(fov / 2));
		const direction = turn ? from.clone() : this.camera.position.clone().sub(this.controls.target).normalize();
		const found = frameOf(model, direction, half, this.camera.aspect);
		const least = found ? radius * 1e-3 : radius / half;
		this.controls.target.copy(found?.to ?? center);
		this.camera.position.copy(found?.from ?? center);
		if (this.camera.position.distanceTo(this.controls.target) < least)
			this.camera.position.copy(this.controls.target).addScaledVector(direction, least);
		this.controls.update();
		this.invalidate();
	}

	/**
	 * After a reload: the camera stays, unless the size of the model has changed.
	 * @param {View.Model} model
	 * @param {THREE.Box3} box
	 */
	follow(model, box) {
		const before = this.sphere.radius;
		if (this.framed) this.framed.box = box;
		this.frameBox(box);
		const ratio = this.sphere.radius / before;
		if (ratio > 2 || ratio < 0.5) this.fit(model, box, false);
	}

	/**
	 * Adapts near and far planes to the size of the model.
	 * @param {THREE.Box3} box
	 */
	frameBox(box) {
		if (box.isEmpty()) this.sphere.set(new THREE.Vector3(), 1);
		else box.getBoundingSphere(this.sphere);
		this.sphere.radius ||= 1;
		const { radius } = this.sphere;
		this.camera.near = radius / 200;
		this.camera.far = radius * 60;
		this.controls.minDistance = radius / 50;
		this.controls.maxDistance = radius * 25;
		this.camera.updateProjectionMatrix();
	}

	/**
	 * Turns the free camera around its target, in radians.
	 * @param {number} yaw
	 * @param {number} pitch
	 */
	turn(yaw, pitch) {
		this.framed = null;
		const offset = this.camera.position.clone().sub(this.controls.target);
		const place = new THREE.Spherical().setFromVector3(offset);
		place.theta += yaw;
		place.phi = THREE.MathUtils.clamp(place.phi + pitch, 0.01, Math.PI - 0.01);
		this.camera.position.setFromSpherical(place).add(this.controls.target);
		this.controls.update();
		this.invalidate();
	}

	/** @param {number} factor */
	approach(factor) {
		this.framed = null;
		const { minDistance, maxDistance, target } = this.controls;
		const offset = this.camera.position.clone().sub(target);
		offset.setLength(THREE.MathUtils.clamp(offset.length() * factor, minDistance, maxDistance));
		this.camera.position.copy(offset.add(target));
		this.controls.update();
		this.invalidate();
	}

	/**
	 * surroundings: 'room' lights from all sides and with a sun, 'sun' with the sun only, 'flat' equally from
	 * everywhere.
	 * @param {string} surroundings
	 * @param {number} exposure
	 */
	setLight(surroundings, exposure) {
		const around = this.own?.texture ?? this.surface.environment;
		this.scene.environment = surroundings === 'room' ? around : null;
		this.scene.environmentIntensity = this.own ? 1 : ROOM;
		this.sun.intensity = { room: this.own ? 0 : 1.5, sun: 3.5 }[surroundings] ?? 0;
		this.even.intensity = { sun: 0.15, flat: 3 }[surroundings] ?? 0;
		this.renderer.toneMappingExposure = exposure;
		this.invalidate();
	}

	/**
	 * Uses an environment map of the loader instead of the room; null: the room.
	 * @param {import('../client/hob-three.js').HobEnvironment | null} environment
	 * @param {{ surroundings: string, exposure: number }} given
	 */
	setSurroundings(environment, { surroundings, exposure }) {
		this.own?.dispose();
		this.own = environment ? environmentLight(environment, this.renderer) : null;
		this.setLight(surroundings, exposure);
	}

	/**
	 * Lights by a panorama that the reader of a page chose.
	 * @param {THREE.Texture} texture
	 */
	lightBy(texture) {
		const generator = new THREE.PMREMGenerator(this.renderer);
		this.own?.dispose();
		this.own = generator.fromEquirectangular(texture);
		generator.dispose();
		texture.dispose();
	}

	/**
	 * A shadow of the sun on the ground below `box`; null: none.
	 * @param {THREE.Box3 | null} box
	 */
	setShadow(box) {
		disposeShadow(this.shadow);
		this.shadow = box && !box.isEmpty() ? makeShadow(box, this.sun) : null;
		this.sun.castShadow = Boolean(this.shadow);
		this.renderer.shadowMap.enabled = Boolean(this.shadow);
		if (this.shadow) {
			this.scene.add(this.shadow, this.sun.target);
			this.models.traverse((object) => (object.castShadow = true));
		} else {
			this.sun.target.removeFromParent();
			this.sun.shadow.dispose();
			this.sun.position.set(1, 2, 1.5);
		}
		this.invalidate();
	}

	/**
	 * A ray through a position on the canvas, in pixels of the page.
	 * @param {number} x
	 * @param {number} y
	 */
	rayAt(x, y) {
		const { left, top, width, height } = this.canvas.getBoundingClientRect();
		const caster = new THREE.Raycaster();
		caster.setFromCamera(new THREE.Vector2(((x - left) / width) * 2 - 1, 1 - ((y - top) / height) * 2),
			this.activeCamera());
		return caster;
	}

	/** Position and target of the free camera; place() sets them. */
	where() {
		return { from: this.camera.position.toArray(), to: this.controls.target.toArray() };
	}

	/** @param {{ from: number[], to: number[] }} given */
	place({ from: at, to }) {
		this.framed = null;
		this.camera.position.fromArray(at);
		this.controls.target.fromArray(to);
		this.controls.update();
		this.invalidate();
	}

	/** {ms, draws, triangles, geometries, textures, programs} of the newest picture. */
	costs() {
		const { memory, programs } = this.renderer.info;
		const { geometries, textures } = memory;
		return { ms: this.took, ...this.counts, geometries, textures,
			programs: programs?.length ?? 0 };
	}

	/**
	 * Takes materials that are no longer shown, without their textures. three keeps a program while a material needs
	 * it, so one material of each of the newest programs is kept: the next asset that needs the program has it at once,
	 * where linking takes a tenth of a second.
	 * @param {THREE.Material[]} materials
	 */
	retire(materials) {
		const { retired } = this.surface; /* program's key -> material, newest last */
		/** @param {THREE.Material} material */
		const release = (material) => [...retired.values()].includes(material) || material.dispose();
		for (const material of materials) {
			for (const [key, value] of Object.entries(material))
				if (value instanceof THREE.Texture) Object.assign(material, { [key]: null });
			const { programs } = /** @type {{ programs?: Map<string, unknown> }} */ (this.renderer.properties.get(
				material));
			for (const key of programs?.keys() ?? []) {
				const kept = retired.get(key) ?? material;
				retired.delete(key);
				retired.set(key, kept);
			}
			release(material);
		}
		for (const [key, material] of [...retired].slice(0, Math.max(0, retired.size - RETIRED_MOST))) {
			retired.delete(key);
			release(material);
		}
	}

	/**
	 * One picture of one side without helpers, as a data URL; `side` pixels square, or the size on screen.
	 * @param {'cooked' | 'source'} which
	 * @param {number} side
	 */
	capture(which, side) {
		const { helpers } = this;
		const ratio = this.renderer.getPixelRatio();
		helpers.visible = false;
		if (!side && this.surface.slow) this.setFine(true);
		if (side) {
			this.renderer.setPixelRatio(1);
			this.renderer.setSize(side, side, false);
			this.camera.aspect = 1;
			this.camera.updateProjectionMatrix();
		}
		this.drawSide(which, this.activeCamera());
		const url = this.canvas.toDataURL('image/png');
		helpers.visible = true;
		if (side) {
			this.renderer.setPixelRatio(ratio);
			this.resize();
		}
		this.invalidate();
		return url;
	}

	dispose() {
		clearTimeout(this.settling);
		this.ended = true;
		cancelAnimationFrame(this.waiting);
		this.sizes?.disconnect();
		this.unwatchTheme?.();
		this.controls.dispose();
		this.wire.dispose();
		if (this.shadow) this.setShadow(null);
		cancelAnimationFrame(this.waiting);
		this.own?.dispose();
		giveSurface(this.surface);
	}
}

const SHADOW_TEXELS = 1024;

/**
 * @param {THREE.Box3} box
 * @param {THREE.DirectionalLight} sun
 */
function makeShadow(box, sun) {
	const middle = box.getCenter(new THREE.Vector3());
	const radius = box.getSize(new THREE.Vector3()).length() / 2;
	sun.target.position.copy(middle);
	/* From the left: with the sun behind the camera, a box would hide its own shadow. */
	sun.position.copy(middle).add(new THREE.Vector3(-1, 2, 1.5).setLength(radius * 3));
	const { camera } = sun.shadow;
	Object.assign(camera, { left: -radius, right: radius, top: radius, bottom: -radius, near: radius,
		far: radius * 6 });
	camera.updateProjectionMatrix();
	sun.shadow.mapSize.set(SHADOW_TEXELS, SHADOW_TEXELS);
	sun.shadow.normalBias = radius * 0.004;
	const plane = new THREE.Mesh(new THREE.PlaneGeometry(radius * 8, radius * 8).rotateX(-Math.PI / 2),
		new THREE.ShadowMaterial({ opacity: 0.4 }));
	plane.position.set(middle.x, box.min.y - radius * 0.002, middle.z);
	plane.receiveShadow = true;
	return plane;
}

/** @param {THREE.Mesh<THREE.BufferGeometry, THREE.Material> | null} plane */
function disposeShadow(plane) {
	plane?.removeFromParent();
	plane?.geometry.dispose();
	plane?.material.dispose();
}

/* Drawn slightly nearer, so that the surface's own triangles do not hide it. */
function makeWire() {
	const wire = new THREE.MeshBasicMaterial({ wireframe: true, color: 0x0a0a0a, transparent: true, opacity: 0.55,
			toneMapped: false });
	wire.onBeforeCompile = (shader) => {
		shader.vertexShader = shader.vertexShader.replace('#include <project_vertex>',
			'#include <project_vertex>\n\tgl_Position.z -= 0.0004 * gl_Position.w;');
	};
	return wire;
}

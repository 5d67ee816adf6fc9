/* Renderer, light, free camera and what is drawn when: a picture is made when something changed, or while a clip plays. */
import * as THREE from 'three';
import { OrbitControls } from 'three/addons/controls/OrbitControls.js';
import { colourOf, onTheme } from '../app/theme.js';
import { RoomEnvironment } from 'three/addons/environments/RoomEnvironment.js';
import { distanceFor } from './frame.js';

const fov = 35;
const from = new THREE.Vector3(0.55, 0.4, 1).normalize();

export class Stage {
	/** What is drawn round the models with materials of its own, and left out of captures. */
	helpers = new THREE.Scene();
	models = new THREE.Group();
	/** 0..1: left of it the source is drawn; null = one picture. */
	split = null;
	/** A camera of the scene instead of the free one. */
	through = null;
	/** Called before each picture with the seconds since the last one; true: keep going. */
	onFrame = () => false;
	/** Called before each part of a picture: 'cooked' or 'source'. */
	onSide = () => {};

	constructor(canvas, host) {
		this.canvas = canvas;
		this.host = host;
		this.renderer = new THREE.WebGLRenderer({ canvas, antialias: true });
		this.renderer.toneMapping = THREE.NeutralToneMapping;
		this.scene = new THREE.Scene();
		this.scene.background = new THREE.Color(0x30343a);
		this.environment = new THREE.PMREMGenerator(this.renderer).fromScene(new RoomEnvironment(), 0.04).texture;
		this.scene.environment = this.environment;
		const sun = new THREE.DirectionalLight(0xffffff, 1.5);
		sun.position.set(1, 2, 1.5);
		this.scene.add(sun, this.models);
		this.camera = new THREE.PerspectiveCamera(fov, 1, 0.01, 100);
		this.camera.position.copy(from);
		this.controls = new OrbitControls(this.camera, canvas);
		this.controls.addEventListener('change', () => this.invalidate());
		this.controls.addEventListener('start', () => this.onGrab?.());
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
			this.scene.background.set(colourOf('--viewer-ground', this.host));
			this.lines = colourOf('--viewer-line', this.host);
			this.onTheme?.(this.lines);
			this.invalidate();
		};
		this.unwatchTheme = onTheme(read);
		read();
	}

	resize() {
		const { clientWidth: width, clientHeight: height } = this.host;
		if (!width || !height) return;
		this.renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
		this.renderer.setSize(width, height, false);
		this.camera.aspect = width / height;
		this.camera.updateProjectionMatrix();
		this.invalidate();
	}

	invalidate() {
		if (this.waiting || this.ended) return;
		this.waiting = requestAnimationFrame((now) => {
			this.waiting = 0;
			this.frame(now);
		});
	}

	frame(now) {
		const seconds = this.running ? Math.min((now - this.last) / 1000, 0.25) : 0;
		this.last = now;
		this.running = this.onFrame(seconds);
		this.draw();
		if (this.running) this.invalidate();
	}

	activeCamera() {
		if (!this.through) return this.camera;
		const { width, height } = this.canvas;
		const aspect = width / height;
		if (this.through.isPerspectiveCamera) this.through.aspect = aspect;
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

	drawSide(side, camera) {
		this.onSide(side);
		this.scene.overrideMaterial = this.override ?? null;
		this.renderer.render(this.scene, camera);
		this.scene.overrideMaterial = null;
		this.renderer.autoClear = false;
		if (this.wireframe) this.drawWire(camera);
		if (this.helpers.visible) this.renderer.render(this.helpers, camera);
		this.renderer.autoClear = true;
	}

	drawWire(camera) {
		const { background } = this.scene;
		this.scene.background = null;
		this.scene.overrideMaterial = this.wire;
		this.renderer.render(this.scene, camera);
		this.scene.overrideMaterial = null;
		this.scene.background = background;
	}

	/** Looks at a box from the front right; keeps where the camera looks from when `turn` is false. */
	fit(box, turn = true) {
		this.frameBox(box);
		const { center, radius } = this.sphere;
		const half = Math.tan(THREE.MathUtils.degToRad(fov / 2));
		const direction = turn ? from.clone() : this.camera.position.clone().sub(this.controls.target).normalize();
		const away = box.isEmpty() ? radius / half : Math.max(distanceFor(box, direction, half, this.camera.aspect), radius * 1e-3);
		this.camera.position.copy(direction.multiplyScalar(away).add(center));
		this.controls.target.copy(center);
		this.controls.update();
		this.invalidate();
	}

	/** After a reload: the camera stays where it is, unless the model is another size now. */
	follow(box) {
		const before = this.sphere.radius;
		this.frameBox(box);
		const ratio = this.sphere.radius / before;
		if (ratio > 2 || ratio < 0.5) this.fit(box, false);
	}

	/** Near and far follow the size of what is shown. */
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

	/** Turns the free camera round its target, in radians. */
	turn(yaw, pitch) {
		const offset = this.camera.position.clone().sub(this.controls.target);
		const place = new THREE.Spherical().setFromVector3(offset);
		place.theta += yaw;
		place.phi = THREE.MathUtils.clamp(place.phi + pitch, 0.01, Math.PI - 0.01);
		this.camera.position.setFromSpherical(place).add(this.controls.target);
		this.controls.update();
		this.invalidate();
	}

	approach(factor) {
		const { minDistance, maxDistance, target } = this.controls;
		const offset = this.camera.position.clone().sub(target);
		offset.setLength(THREE.MathUtils.clamp(offset.length() * factor, minDistance, maxDistance));
		this.camera.position.copy(offset.add(target));
		this.controls.update();
		this.invalidate();
	}

	/** One picture of one side without helpers, as the canvas's data URL; `side` pixels square, or as it is on screen. */
	capture(which, side) {
		const { helpers } = this;
		const ratio = this.renderer.getPixelRatio();
		helpers.visible = false;
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
		this.ended = true;
		cancelAnimationFrame(this.waiting);
		this.sizes.disconnect();
		this.unwatchTheme();
		this.controls.dispose();
		this.environment.dispose();
		this.wire.dispose();
		this.renderer.dispose();
		this.renderer.forceContextLoss();
	}
}

/* Drawn over the surface: a little nearer, so that its own triangles do not hide it. */
function makeWire() {
	const wire = new THREE.MeshBasicMaterial({ wireframe: true, color: 0x0a0a0a, transparent: true, opacity: 0.55, toneMapped: false });
	wire.onBeforeCompile = (shader) => {
		shader.vertexShader = shader.vertexShader.replace('#include <project_vertex>',
			'#include <project_vertex>\n\tgl_Position.z -= 0.0004 * gl_Position.w;');
	};
	return wire;
}

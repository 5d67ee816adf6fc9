/* A model of a Hob daemon that changes when it is saved: ?asset=art/duck.glb. The daemon is at /hob (vite.config.js),
 * or at ?hob=HOST:PORT. */
import { AmbientLight, Box3, DirectionalLight, PerspectiveCamera, Scene, Vector3, WebGLRenderer } from 'three';
import { HobLoader } from 'hob-client/three';
import { HobOverlay } from 'hob-client/overlay';

const query = new URLSearchParams(location.search);
const daemon = query.has('hob') ? `http://${query.get('hob')}` : import.meta.env.DEV ? '/hob' : 'http://127.0.0.1:7780';
const asset = query.get('asset') ?? 'models/simple/spot.obj';

const renderer = new WebGLRenderer({ antialias: true });
const camera = new PerspectiveCamera(45, 1, 0.01, 1000);
const scene = new Scene();
const sun = new DirectionalLight(0xffffff, 3);
sun.position.set(1, 2, 3);
scene.add(new AmbientLight(0xffffff, 1), sun);
document.body.append(renderer.domElement);

function render(): void {
	renderer.setSize(innerWidth, innerHeight);
	camera.aspect = innerWidth / innerHeight;
	camera.updateProjectionMatrix();
	renderer.render(scene, camera);
}

const loader = new HobLoader().setPath(`${daemon}/a/`);
loader.overlay = new HobOverlay();
const model = await loader.loadAsync(asset);
scene.add(model);
const bounds = new Box3().setFromObject(model);
const size = bounds.getSize(new Vector3()).length();
camera.position.copy(bounds.getCenter(new Vector3())).add(new Vector3(0.5, 0.4, 1).multiplyScalar(size));
camera.lookAt(bounds.getCenter(new Vector3()));
loader.watch(model, render);
addEventListener('resize', render);
render();
document.body.dataset.shown = asset;

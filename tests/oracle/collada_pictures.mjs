/* Draws COLLADA files twice, side by side: Hob's export as GLB (left), and three.js' own COLLADA loader (right).
 *
 *   node collada_pictures.mjs HOB OUT FILE.dae|FILE.zae[@SECONDS]...
 *
 * Three.js in Chromium draws both, with the same camera and lights, and with materials of one kind made from the
 * colours, textures and sidedness of each; colours are read as sRGB, like that loader does. With @SECONDS, each first
 * clip is played to that time. OUT/NAME.png is a pair, OUT/sheet.png all pairs; one line per file gives both numbers of
 * triangles and the number of differing pixels. The pictures are for inspection: only a file that does not cook is a
 * failure. */
import { createServer } from 'node:http';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { execFileSync } from 'node:child_process';

const here = dirname(fileURLToPath(import.meta.url));
const { chromium } = createRequire(join(here, '../browser/page.mjs'))('playwright-core');
const [hob, out, ...words] = process.argv.slice(2);
const SIDE = 360;
mkdirSync(out, { recursive: true });
process.env.ASAN_OPTIONS = 'detect_leaks=0';

/* Runs in the page. */
async function draw({ glb, dae, seconds, side }) {
	const THREE = await import('three');
	const { GLTFLoader } = await import('three/addons/loaders/GLTFLoader.js');
	const { ColladaLoader } = await import('three/addons/loaders/ColladaLoader.js');
	const renderer = new THREE.WebGLRenderer({ antialias: true, preserveDrawingBuffer: true });
	renderer.setSize(side, side);
	const manager = new THREE.LoadingManager();
	const loaded = new Promise((resolve) => (manager.onLoad = resolve));
	const ours = await new GLTFLoader().loadAsync(glb);
	const theirs = await new ColladaLoader(manager).loadAsync(dae);
	await Promise.race([loaded, new Promise((resolve) => setTimeout(resolve, 3000))]);
	const top = new THREE.Group();
	top.add(theirs.scene);
	const sides = [[ours.scene, ours.animations[0]], [top, (theirs.animations ?? theirs.scene.animations ?? [])[0]]];
	const alike = (m) => new (m.isMeshBasicMaterial ? THREE.MeshBasicMaterial : THREE.MeshLambertMaterial)({
		color: m.color, map: m.map?.image ? m.map : null, emissive: m.emissive ?? 0, emissiveMap: m.emissiveMap ?? null, opacity: m.opacity,
		transparent: m.transparent, alphaTest: m.alphaTest, side: THREE.DoubleSide, vertexColors: m.vertexColors });
	for (const [scene, clip] of sides) {
		scene.traverse((one) => {
			if (one.isLight) one.visible = false;
			if (one.isMesh) one.material = Array.isArray(one.material) ? one.material.map(alike) : alike(one.material);
		});
		if (clip && seconds !== null) {
			const mixer = new THREE.AnimationMixer(scene);
			mixer.clipAction(clip).play();
			mixer.setTime(seconds);
		}
		scene.updateMatrixWorld(true);
	}
	const boxes = sides.map(([scene]) => new THREE.Box3().setFromObject(scene, true));
	const whole = boxes[0].isEmpty() ? boxes[1] : boxes[0];
	const size = whole.getSize(new THREE.Vector3()).length();
	const middle = whole.getCenter(new THREE.Vector3());
	const camera = new THREE.PerspectiveCamera(35, 1, size / 100, size * 20);
	camera.position.set(0.7, 0.5, 1).normalize().multiplyScalar(size * 1.7).add(middle);
	camera.lookAt(middle);
	const canvas = Object.assign(document.createElement('canvas'), { width: 2 * side, height: side });
	const paper = canvas.getContext('2d', { willReadFrequently: true });
	const triangles = sides.map(([group], i) => {
		const scene = new THREE.Scene();
		const lamp = new THREE.DirectionalLight(0xffffff, 2);
		lamp.position.set(1, 2, 3);
		scene.background = new THREE.Color(0x8899aa);
		scene.add(new THREE.AmbientLight(0xffffff, 1), lamp, group);
		renderer.render(scene, camera);
		paper.drawImage(renderer.domElement, i * side, 0);
		let sum = 0;
		group.traverse((one) => (sum += one.isMesh ? (one.geometry.index ?? one.geometry.attributes.position).count / 3 : 0));
		return sum;
	});
	const pixels = [0, 1].map((i) => paper.getImageData(i * side, 0, side, side).data);
	let differ = 0;
	for (let i = 0; i < pixels[0].length; i += 4) differ += [0, 1, 2].some((k) => Math.abs(pixels[0][i + k] - pixels[1][i + k]) > 16);
	renderer.dispose();
	return { picture: canvas.toDataURL(), triangles, differ: differ / (side * side) };
}

async function sheet({ pairs, side }) {
	const [columns, width, height] = [2, 2 * side, side];
	const canvas = Object.assign(document.createElement('canvas'), { width: columns * (width + 8), height: Math.ceil(pairs.length / columns) * (height + 26) });
	const paper = canvas.getContext('2d');
	paper.fillStyle = '#fff';
	paper.fillRect(0, 0, canvas.width, canvas.height);
	paper.fillStyle = '#000';
	paper.font = '15px sans-serif';
	for (const [i, pair] of pairs.entries()) {
		const [x, y] = [(i % columns) * (width + 8), Math.floor(i / columns) * (height + 26)];
		const image = Object.assign(new Image(), { src: pair.picture });
		await image.decode();
		paper.fillText(pair.name, x + 4, y + 17);
		paper.drawImage(image, x, y + 22, width, height);
	}
	return canvas.toDataURL();
}

const work = mkdtempSync(join(tmpdir(), 'hob-pictures-'));
writeFileSync(join(work, 'hob.json'), '{"defaults": {"colors": "srgb"}}');
const start = '<!doctype html><script type="importmap">{"imports":{"three":"/three/build/three.module.js","three/addons/":"/three/examples/jsm/"}}</script>';
let folder = work;
const kinds = { '.js': 'text/javascript', '.png': 'image/png', '.jpg': 'image/jpeg', '.gif': 'image/gif' };
const server = createServer((request, response) => {
	const path = decodeURIComponent(new URL(request.url, 'http://here').pathname);
	const file = path.startsWith('/three/') ? join(here, 'node_modules', path) : path.startsWith('/made/') ? join(work, path.slice(6)) : join(folder, path);
	if (path !== '/' && !existsSync(file)) return response.writeHead(404).end();
	response.setHeader('content-type', path === '/' ? 'text/html' : kinds[extname(file).toLowerCase()] ?? 'application/octet-stream');
	response.end(path === '/' ? start : readFileSync(file));
}).listen(0, '127.0.0.1');
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--use-gl=angle', '--use-angle=gl-egl', '--ignore-gpu-blocklist', '--disable-dev-shm-usage'] });
const save = (name, url) => writeFileSync(join(out, name), Buffer.from(url.split(',')[1], 'base64'));
const pairs = [];
for (const word of words) {
	const [, path, time] = word.match(/^(.*?)(?:@([\d.]+))?$/);
	const name = basename(path) + (time ? ` at ${time} s` : '');
	const page = await browser.newPage();
	page.on('pageerror', (error) => console.log(`${name}: ${error.message}`));
	try {
		folder = dirname(path);
		let document = basename(path);
		if (/\.zae$/i.test(path)) {
			folder = join(work, 'archive');
			execFileSync('unzip', ['-qo', path, '-d', folder]);
			document = execFileSync('find', [folder, '-name', '*.dae', '-printf', '%P\n'], { encoding: 'utf8' }).split('\n')[0];
		}
		execFileSync(hob, ['export', path, '-o', join(work, 'ours.glb'), '--root', dirname(path), '--config', join(work, 'hob.json'), '-q'], { stdio: ['ignore', 'ignore', 'pipe'] });
		await page.goto(`http://127.0.0.1:${server.address().port}/`);
		const found = await page.evaluate(draw, { glb: '/made/ours.glb', dae: `/${document}`, seconds: time ? Number(time) : null, side: SIDE });
		save(`${name.replaceAll(' ', '_')}.png`, found.picture);
		pairs.push({ name, picture: found.picture });
		console.log(`${name}: ${found.triangles.join('/')} triangles, ${(found.differ * 100).toFixed(2)} % of the pixels differ`);
	} catch (error) {
		console.log(`${name}: ${error.stderr || error.message}`);
		process.exitCode = 1;
	}
	await page.close();
}
const last = await browser.newPage();
save('sheet.png', await last.evaluate(sheet, { pairs, side: SIDE }));
await browser.close();
server.close();
rmSync(work, { recursive: true, force: true });
process.exit();

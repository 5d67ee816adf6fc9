/* Draws usdz files twice, side by side: Hob's export as GLB (left), and OpenUSD's Hydra (right).
 *
 *   node usdz_pictures.mjs HOB OUT FILE.usdz...
 *
 * Three.js in Chromium draws both, with the same camera and light; of Hydra's materials it supports UsdPreviewSurface
 * with textures. OUT/NAME.png is a pair, OUT/sheet.png all pairs; OUT/facts.tsv has for each file its digest, and for
 * both sides the box in metres, the triangles, and the number of differing pixels. Hydra's faces are drawn from both
 * sides, without lights; this build of OpenUSD has no plug-in for skeletons, so it draws no skinned mesh. The pictures
 * are for inspection: only a file that does not cook is a failure. */
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { spawnSync } from 'node:child_process';
import { load } from './openusd.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const { chromium } = createRequire(join(here, '../browser/page.mjs'))('playwright-core');
const [hob, out, ...files] = process.argv.slice(2);
const SIDE = 480;
mkdirSync(out, { recursive: true });
process.env.ASAN_OPTIONS = 'detect_leaks=0';

/* The members of a package, which are stored uncompressed. */
function members(bytes) {
	const found = {};
	const end = bytes.lastIndexOf(Buffer.from('PK\x05\x06', 'latin1'));
	let at = bytes.readUInt32LE(end + 16);
	for (let left = bytes.readUInt16LE(end + 10); left > 0; left--) {
		const [size, name, extra, comment, local] = [bytes.readUInt32LE(at + 20), bytes.readUInt16LE(at + 28), bytes.readUInt16LE(at + 30), bytes.readUInt16LE(at + 32), bytes.readUInt32LE(at + 42)];
		const start = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
		found[bytes.toString('utf8', at + 46, at + 46 + name)] = bytes.subarray(start, start + size);
		at += 46 + name + extra + comment;
	}
	return found;
}

/* Hydra's drawing of a package, for the page: meshes, materials, and pictures as data URLs. */
function hydra(usd, bytes) {
	const zip = members(bytes);
	const stage = usd.open({ 'a.usdz': bytes }, 'a.usdz');
	const header = (name, fallback) => stage.flat.match(new RegExp(`^    ${name} = "?([^"\\n]*)"?$`, 'm'))?.[1] ?? fallback;
	const scene = stage.draw([null])[0];
	const pictures = {};
	for (const material of scene.materials.values()) {
		for (const node of Object.values(material.nodes)) {
			const path = String(node.file?.resolvedPath ?? node.file ?? '');
			const member = Object.keys(zip).find((name) => path && path.replace(/\]$/, '').endsWith(name.replace(/^0\//, '')));
			if (!member) continue;
			node.picture = member;
			pictures[member] = `data:image/${member.endsWith('.png') ? 'png' : 'jpeg'};base64,${zip[member].toString('base64')}`;
		}
	}
	const meshes = scene.meshes
		.filter((mesh) => mesh.indices.length)
		.map((mesh) => ({ ...mesh, nodes: scene.materials.get(mesh.material)?.nodes ?? {}, links: scene.materials.get(mesh.material)?.links ?? [], found: scene.materials.has(mesh.material) }));
	return { meshes, pictures, up: header('upAxis', 'Y'), unit: Number(header('metersPerUnit', '0.01')) };
}

/* Runs in the page. */
async function draw({ glb, side }) {
	const theirs = await (await fetch('/hydra.json')).json();
	const THREE = await import('three');
	const { GLTFLoader } = await import('three/addons/loaders/GLTFLoader.js');
	const { RoomEnvironment } = await import('three/addons/environments/RoomEnvironment.js');
	const { toCreasedNormals } = await import('three/addons/utils/BufferGeometryUtils.js');
	const renderer = new THREE.WebGLRenderer({ antialias: true, preserveDrawingBuffer: true });
	renderer.setSize(side, side);
	renderer.toneMapping = THREE.NeutralToneMapping;
	const environment = new THREE.PMREMGenerator(renderer).fromScene(new RoomEnvironment(), 0.04).texture;
	const wraps = { repeat: THREE.RepeatWrapping, mirror: THREE.MirroredRepeatWrapping, clamp: THREE.ClampToEdgeWrapping };

	async function texture(material, reader, node, links, colour) {
		const map = await new THREE.TextureLoader().loadAsync(theirs.pictures[reader.picture]);
		map.wrapS = wraps[reader.wrapS] ?? THREE.RepeatWrapping;
		map.wrapT = wraps[reader.wrapT] ?? THREE.RepeatWrapping;
		map.anisotropy = 1;
		if (colour && reader.sourceColorSpace !== 'raw') map.colorSpace = THREE.SRGBColorSpace;
		const turned = links.filter((link) => link.outputId === node).map((link) => material[link.inputId]).find((one) => one?.translation ?? one?.scale);
		if (turned) {
			const angle = ((turned.rotation ?? 0) * Math.PI) / 180;
			const [c, s, [x, y], [dx, dy]] = [Math.cos(angle), Math.sin(angle), turned.scale ?? [1, 1], turned.translation ?? [0, 0]];
			map.matrixAutoUpdate = false;
			map.matrix.set(c * x, -s * y, dx, s * x, c * y, dy, 0, 0, 1);
		}
		return map;
	}

	async function surface(mesh) {
		const painted = mesh.primvars.displayColor && !mesh.found;
		const material = new THREE.MeshPhysicalMaterial({ vertexColors: !!painted, side: THREE.DoubleSide });
		if (!mesh.found && !painted) material.color.setRGB(0.18, 0.18, 0.18);
		const reads = mesh.links.filter((link) => mesh.nodes[link.inputId]?.picture);
		const sink = mesh.links.map((link) => link.outputId).find((path) => !mesh.links.some((link) => link.inputId === path));
		const [path, inputs] = [sink, mesh.nodes[sink]].every(Boolean) ? [sink, mesh.nodes[sink]] : (Object.entries(mesh.nodes).find(([, node]) => !node.picture && (node.diffuseColor || node.roughness !== undefined)) ?? []);
		if (!inputs) return material;
		material.color.setRGB(...(inputs.diffuseColor ?? [0.18, 0.18, 0.18]));
		material.roughness = inputs.roughness ?? 0.5;
		material.metalness = inputs.metallic ?? 0;
		material.clearcoat = inputs.clearcoat ?? 0;
		material.clearcoatRoughness = inputs.clearcoatRoughness ?? 0.01;
		material.emissive.setRGB(...(inputs.emissiveColor ?? [0, 0, 0]));
		material.opacity = inputs.opacity ?? 1;
		material.alphaTest = inputs.opacityThreshold ?? 0;
		material.transparent = material.opacity < 1 && !material.alphaTest;
		const points = mesh.links.find((link) => link.outputId === path && link.outputName === 'diffuseColor' && mesh.primvars[mesh.nodes[link.inputId]?.varname]);
		if (points) [material.vertexColors] = [true, material.color.setRGB(1, 1, 1)];
		for (const link of reads.filter((one) => one.outputId === path)) {
			const reader = mesh.nodes[link.inputId];
			const into = link.outputName;
			const map = await texture(mesh.nodes, reader, link.inputId, mesh.links, into === 'diffuseColor' || into === 'emissiveColor');
			const scale = reader.scale ?? [1, 1, 1, 1];
			if (into === 'diffuseColor') [material.map] = [map, material.color.setRGB(...scale.slice(0, 3))];
			if (into === 'emissiveColor') [material.emissiveMap] = [map, material.emissive.setRGB(...scale.slice(0, 3))];
			if (into === 'normal') material.normalMap = map;
			if (into === 'occlusion') material.aoMap = map;
			if (into === 'roughness') [material.roughnessMap, material.roughness] = [map, scale[1]];
			if (into === 'metallic') [material.metalnessMap, material.metalness] = [map, scale[2]];
			if (into === 'opacity' && !material.alphaTest) material.transparent = true;
		}
		return material;
	}

	async function solid(mesh) {
		const corners = mesh.indices.length;
		const spread = (primvar, width) => {
			const values = new Float32Array(corners * width);
			const count = primvar.data.length / primvar.dimension;
			for (let i = 0; i < corners; i++) {
				const from = count === corners ? i : count === 1 ? 0 : count === corners / 3 ? Math.floor(i / 3) : mesh.indices[i];
				for (let k = 0; k < width; k++) values[i * width + k] = primvar.data[from * primvar.dimension + k];
			}
			return new THREE.BufferAttribute(values, width);
		};
		const geometry = new THREE.BufferGeometry();
		geometry.setAttribute('position', spread({ data: mesh.points, dimension: 3 }, 3));
		const named = Object.values(mesh.nodes).map((node) => mesh.primvars[node.varname]).find((one) => one?.dimension === 2);
		const places = named ?? Object.values(mesh.primvars).find((one) => one.dimension === 2);
		if (places) geometry.setAttribute('uv', spread(places, 2));
		if (mesh.primvars.displayColor) geometry.setAttribute('color', spread(mesh.primvars.displayColor, 3));
		const told = mesh.primvars.normals?.data.some((x) => x !== 0);
		if (told) geometry.setAttribute('normal', spread(mesh.primvars.normals, 3));
		const shown = new THREE.Mesh(told ? geometry : toCreasedNormals(geometry, 0.8), await surface(mesh));
		shown.matrixAutoUpdate = false;
		shown.matrix.fromArray(mesh.matrix);
		return shown;
	}

	const ours = (await new GLTFLoader().loadAsync(glb)).scene;
	const other = new THREE.Group();
	for (const mesh of theirs.meshes) other.add(await solid(mesh));
	other.scale.setScalar(theirs.unit);
	if (theirs.up === 'Z') other.rotation.x = -Math.PI / 2;
	const sides = [ours, other];
	for (const one of sides) one.updateMatrixWorld(true);
	const boxes = sides.map((one) => new THREE.Box3().setFromObject(one, true));
	const whole = boxes[1].isEmpty() ? boxes[0] : boxes[0].clone().union(boxes[1]);
	const size = whole.getSize(new THREE.Vector3()).length();
	const middle = whole.getCenter(new THREE.Vector3());
	const camera = new THREE.PerspectiveCamera(35, 1, size / 100, size * 20);
	camera.position.set(0.7, 0.5, 1).normalize().multiplyScalar(size * 1.7).add(middle);
	camera.lookAt(middle);
	const canvas = Object.assign(document.createElement('canvas'), { width: 2 * side, height: side });
	const paper = canvas.getContext('2d', { willReadFrequently: true });
	const triangles = sides.map((one, i) => {
		const scene = new THREE.Scene();
		scene.environment = environment;
		scene.background = new THREE.Color(0x8899aa);
		scene.add(one);
		renderer.render(scene, camera);
		paper.drawImage(renderer.domElement, i * side, 0);
		let sum = 0;
		one.traverse((each) => (sum += each.isMesh ? (each.geometry.index ?? each.geometry.attributes.position).count / 3 * (each.count ?? 1) : 0));
		return sum;
	});
	const pixels = [0, 1].map((i) => paper.getImageData(i * side, 0, side, side).data);
	let differ = 0;
	for (let i = 0; i < pixels[0].length; i += 4) differ += [0, 1, 2].some((k) => Math.abs(pixels[0][i + k] - pixels[1][i + k]) > 32);
	renderer.dispose();
	return { picture: canvas.toDataURL(), triangles, differ: differ / (side * side), boxes: boxes.map((box) => [...box.min, ...box.max].map((x) => Number(x.toFixed(4)))) };
}

async function sheet({ pairs, side }) {
	const [columns, width, height] = [3, side, side / 2];
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

const page0 = '<!doctype html><script type="importmap">{"imports":{"three":"/three/build/three.module.js","three/addons/":"/three/examples/jsm/"}}</script>';
let drawn = '';
const server = createServer((request, response) => {
	const path = decodeURIComponent(new URL(request.url, 'http://here').pathname);
	if (path === '/hydra.json') return response.end(drawn);
	const file = path.startsWith('/three/') ? join(here, 'node_modules', path) : join(out, path);
	if (path !== '/' && !existsSync(file)) return response.writeHead(404).end();
	response.setHeader('content-type', path === '/' ? 'text/html' : extname(file) === '.js' ? 'text/javascript' : 'application/octet-stream');
	response.end(path === '/' ? page0 : readFileSync(file));
}).listen(0);
const launch = () => chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--use-gl=angle', '--use-angle=gl-egl', '--ignore-gpu-blocklist', '--disable-dev-shm-usage'] });
const save = (name, url) => writeFileSync(join(out, name), Buffer.from(url.split(',')[1], 'base64'));
const usd = await load();
const pairs = [];
const lines = [['file', 'sha256', 'bytes', 'box of Hob', 'box of Hydra', 'triangles of Hob', 'of Hydra', 'pixels that differ', 'notes of Hob'].join('\t')];
for (const file of files) {
	const bytes = readFileSync(file);
	const name = basename(file, '.usdz');
	const done = spawnSync(hob, ['export', file, '-o', join(out, `${name}.glb`)], { encoding: 'utf8' });
	if (done.status !== 0) {
		console.log(`${name}: hob export: ${done.status} ${done.stderr}`);
		process.exitCode = 1;
		continue;
	}
	const browser = await launch();
	const page = await browser.newPage();
	page.on('pageerror', (error) => console.log(`${name}: ${error.message}`));
	await page.goto(`http://127.0.0.1:${server.address().port}/`);
	try {
		drawn = JSON.stringify(hydra(usd, bytes));
		const found = await page.evaluate(draw, { glb: `/${name}.glb`, side: SIDE });
		save(`${name}.png`, found.picture);
		pairs.push({ name: `${name}`, picture: found.picture });
		lines.push([basename(file), createHash('sha256').update(bytes).digest('hex'), bytes.length, ...found.boxes.map((box) => box.join(' ')), ...found.triangles, `${(found.differ * 100).toFixed(1)} %`, done.stderr.trim().replaceAll(/\s+/g, ' ')].join('\t'));
		console.log(lines.at(-1));
	} catch (error) {
		console.log(`${name}: ${error.message}`);
		process.exitCode = 1;
	}
	await browser.close();
}
writeFileSync(join(out, 'facts.tsv'), `${lines.join('\n')}\n`);
const browser = await launch();
const last = await browser.newPage();
save('sheet.png', await last.evaluate(sheet, { pairs, side: SIDE }));
await browser.close();
server.close();
process.exit();

/* The pictures of these pages, of a real dashboard over the sample models: node docs/pictures.mjs (needs build/release, `npm ci
 * --prefix tests/browser` and chromium). They go to docs/pictures; live.png is an animated PNG. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openStudio } from '../tests/browser/studio.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const models = join(here, '../tests/data/models');
const out = process.argv[2] ?? join(here, 'pictures');
const STEPS = [1.25, 1.5, 1.2, 0.85];
const WIDE = { width: 1120, height: 720 }, SMALL = { width: 800, height: 560 };

const table = Uint32Array.from({ length: 256 }, (_, n) => {
	for (let k = 0; k < 8; k++) n = n & 1 ? 0xEDB88320 ^ (n >>> 1) : n >>> 1;
	return n;
});
const crc = (bytes) => (bytes.reduce((c, b) => table[(c ^ b) & 255] ^ (c >>> 8), 0xFFFFFFFF) ^ 0xFFFFFFFF) >>> 0;

function chunk(type, data) {
	const body = Buffer.concat([Buffer.from(type, 'latin1'), data]), all = Buffer.alloc(body.length + 8);
	all.writeUInt32BE(data.length);
	body.copy(all, 4);
	all.writeUInt32BE(crc(body), body.length + 4);
	return all;
}

function chunksOf(png) {
	const list = [];
	for (let at = 8; at < png.length;) {
		const size = png.readUInt32BE(at);
		list.push({ type: png.toString('latin1', at + 4, at + 8), data: png.subarray(at + 8, at + 8 + size) });
		at += size + 12;
	}
	return list;
}

const words = (...values) => {
	const out = Buffer.alloc(values.length * 4);
	values.forEach((value, i) => out.writeUInt32BE(value, i * 4));
	return out;
};

/* Frames of one size and kind, each shown for `ms`. */
function animated(frames, ms) {
	const head = chunksOf(frames[0])[0].data;
	const parts = [frames[0].subarray(0, 8), chunk('IHDR', head), chunk('acTL', words(frames.length, 0))];
	const delay = Buffer.from([ms >> 8, ms & 255, 1000 >> 8, 1000 & 255, 0, 0]);
	let number = 0;
	frames.forEach((png, i) => {
		const pixels = Buffer.concat(chunksOf(png).filter(({ type }) => type === 'IDAT').map(({ data }) => data));
		parts.push(chunk('fcTL', Buffer.concat([words(number++, head.readUInt32BE(0), head.readUInt32BE(4), 0, 0), delay])));
		parts.push(i === 0 ? chunk('IDAT', pixels) : chunk('fdAT', Buffer.concat([words(number++), pixels])));
	});
	return Buffer.concat([...parts, chunk('IEND', Buffer.alloc(0))]);
}

const taller = (obj, by) => obj.toString().replace(/^v (\S+) (\S+) (\S+)/gm, (_, x, y, z) => `v ${x} ${y * by} ${z}`);

const files = {};
for (const name of ['chest_gold', 'barrel_large_decorated', 'box_small'])
	for (const ending of ['obj', 'mtl']) files[`props/${name}.${ending}`] = readFileSync(join(models, `dungeon/${name}.${ending}`));
files['props/dungeon_texture.png'] = readFileSync(join(models, 'dungeon/dungeon_texture.png'));
files['characters/spot.obj'] = readFileSync(join(models, 'simple/spot.obj'));
files['characters/cube.glb'] = readFileSync(join(models, 'simple/AnimatedMorphCube.glb'));
const chest = files['props/chest_gold.obj'];

const studio = await openStudio(files);
mkdirSync(out, { recursive: true });
try {
	await studio.sync();
	const page = await studio.newPage();
	await page.emulateMedia({ colorScheme: 'dark' });
	await page.setViewportSize(WIDE);
	const settled = async () => {
		await page.waitForFunction(() => !document.querySelector('.loading'));
		await page.waitForFunction(() => [...document.images].every((image) => image.complete));
	};
	const drawn = () => page.waitForFunction(() => {
		const viewer = document.querySelector('.viewer-root')?.parentElement.viewer;
		return viewer?.levels && !viewer.message;
	});
	/* The view's message about a save goes away again, so it is listened to from before. */
	const saved = async (path, text) => {
		await page.evaluate(() => {
			const { viewer } = document.querySelector('.viewer-root').parentElement;
			viewer.told = [];
			viewer.ear ??= viewer.changes.follow(() => viewer.told.push(viewer.message));
		});
		studio.save(path, text);
		await page.waitForFunction(() => document.querySelector('.viewer-root').parentElement.viewer.told
			.some((said) => said.startsWith('Updated')));
	};
	const keep = async (name) => writeFileSync(join(out, name), await page.screenshot());
	const asset = `${studio.origin}/ui/asset/art/props/chest_gold.obj`;

	await page.getByText('chest_gold.obj').first().waitFor();
	await settled();
	await keep('overview.png');
	await page.goto(asset);
	await drawn();
	await settled();
	await keep('asset.png');

	await page.setViewportSize(SMALL);
	await page.reload();
	await drawn();
	const frames = [await page.screenshot()];
	for (const step of STEPS) {
		await saved('props/chest_gold.obj', taller(chest, step));
		frames.push(await page.screenshot());
	}
	writeFileSync(join(out, 'live.png'), animated(frames, 700));

	await page.setViewportSize(WIDE);
	await page.goto(`${studio.origin}/ui/asset/art/characters/cube.glb`);
	await drawn();
	studio.save('characters/cube.glb', files['characters/cube.glb'].subarray(0, 300));
	await page.locator('.fault').waitFor();
	await drawn();
	await keep('broken.png');
} finally {
	await studio.close();
}

/* The 3D view marks what breaks a rule: a choice in its list puts red marks where the report says, and frames them. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pngjs from 'pngjs';
import { missing, project } from './bench.mjs';
import { openStudio } from './studio.mjs';

const keep = process.env.HOB_PICTURES;
/* Rules with the format in which the tests of rules break them. */
const rules = { 'mesh.degenerate': 'gltf', 'mesh.duplicate-faces': 'obj', 'mesh.open': 'gltf', 'mesh.non-manifold': 'dae', 'mesh.inside-out': 'fbx',
	'mesh.interpenetrating': 'usda', 'mesh.loose': 'ply', 'uv.outside': 'obj', 'uv.overlap': 'gltf', 'uv.flipped': 'usda', 'uv.stretch': 'dae',
	'skin.unweighted': 'gltf', 'scene.negative-scale': 'gltf', 'mesh.no-normals': 'fbx', 'scene.size': 'gltf' };
const write = `
import json, pathlib, sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import test_rules as t
for rule, kind in json.loads(sys.argv[3]).items():
    setting, broken, *_ = t.ROWS[rule]
    broken["materials"] = [(name, (0.2, 0.4, 0.8), alpha, picture) for name, _, alpha, picture in broken["materials"]]
    folder = pathlib.Path(sys.argv[2]) / rule
    folder.mkdir(parents=True)
    (folder / "cook.json").write_text(json.dumps({"rules": {rule: setting, "deep": True}}))
    (folder / f"m.{kind}").write_bytes(t.WRITERS[kind](broken).replace(b"{stem}", b"m"))
    if rule == "mesh.open":
        (folder.parent.parent / "closed.gltf").write_bytes(t.WRITERS[kind](t.ROWS[rule][2]))
    if kind == "obj":
        (folder / "m.mtl").write_bytes(t.mtl(broken))
`;
const reds = (png) => {
	const { data } = pngjs.PNG.sync.read(png);
	let count = 0;
	for (let i = 0; i < data.length; i += 4) count += data[i] > 200 && data[i + 1] < 90 && data[i + 2] < 90;
	return count;
};

describe('findings in the 3D view', { skip: missing() ?? false }, () => {
	let studio;
	let page;
	before(async () => {
		studio = await openStudio({});
		execFileSync('python3', ['-c', write, join(project, 'tests/integration'), studio.art, JSON.stringify(rules)],
			{ env: { ...process.env, HOB: process.env.HOB ?? '' } });
		await studio.sync();
		page = await studio.newPage();
		await page.setViewportSize({ width: 1500, height: 1200 });
		if (keep) mkdirSync(keep, { recursive: true });
	});
	after(() => studio?.close());

	for (const [rule, kind] of Object.entries(rules)) test(`${rule} is marked`, async () => {
		await page.goto(`${studio.origin}/ui/asset/art/${rule}/m.${kind}`);
		const choice = page.locator('.viewer-findings button', { hasText: rule });
		await choice.waitFor();
		const canvas = page.locator('.viewer-canvas');
		const settled = () => page.waitForFunction(() => {
			const { viewer } = document.querySelector('.viewer-root').parentElement;
			return viewer.levels && !viewer.message && !viewer.stage.waiting;
		});
		await settled();
		const plain = reds(await canvas.screenshot());
		await choice.click();
		await settled();
		const marked = await canvas.screenshot();
		if (keep) writeFileSync(join(keep, `${rule}.png`), marked);
		assert.ok(reds(marked) > plain + 4, `${reds(marked)} red pixels, ${plain} without`);
		const off = await page.evaluate(() => {
			const { viewer } = document.querySelector('.viewer-root').parentElement;
			const { camera } = viewer.stage;
			let most = 0;
			viewer.helpers.marks.traverse((object) => {
				const at = object.geometry?.attributes.position;
				object.updateMatrixWorld();
				for (let i = 0; i < (at?.count ?? 0); i++) {
					const point = viewer.box.min.clone().fromBufferAttribute(at, i).applyMatrix4(object.matrixWorld).project(camera);
					most = Math.max(most, Math.abs(point.x), Math.abs(point.y));
				}
			});
			return most;
		});
		assert.ok(off > 0 && off <= 1, `a mark is at ${off} of the view`);
		assert.equal(await choice.getAttribute('aria-pressed'), 'true');
		await choice.click();
		await settled();
		assert.equal(await choice.getAttribute('aria-pressed'), 'false');
	});

	test('a finding goes when the file is saved without its fault', async () => {
		await page.goto(`${studio.origin}/ui/asset/art/mesh.open/m.gltf`);
		const choice = page.locator('.viewer-findings button', { hasText: 'mesh.open' });
		await choice.click();
		studio.save('mesh.open/m.gltf', readFileSync(join(studio.folder, 'closed.gltf')));
		await choice.waitFor({ state: 'detached' });
		assert.equal(await page.evaluate(() => document.querySelector('.viewer-root').parentElement.viewer.helpers.marks), null);
	});
});

/* The client as npm installs it: the package contains every file that it names, and a strict TypeScript program accepts
 * its types. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { here, missing, project } from './bench.mjs';

const program = `
import { HobClient, HobError, type HobEvent } from 'hob-client';
import { HobLoader, selectVariant } from 'hob-client/three';
import { HobOverlay } from 'hob-client/overlay';
import { Pack } from 'hob-client/format';
import { Scene } from 'three';

const hob = new HobClient('http://127.0.0.1:7780', { token: 'secret' });
let meshes = await hob.get('art/duck.glb');
const names: string[] = new Pack(meshes.bytes).rows('MDSC').map((mesh) => mesh.name);
const stop: () => void = hob.watch('**', async (event: HobEvent) => {
	if (event.kind !== 'asset') return;
	const output = event.data.outputs?.find(({ name }) => name === 'meshes');
	if (output) meshes = { ...meshes, ...(await hob.blob(output.hash, { older: meshes })) };
});
const loader = new HobLoader().setPath('/a/');
loader.overlay = new HobOverlay();
const model = await loader.loadAsync('art/duck.glb');
new Scene().add(model);
selectVariant(model, 'red');
loader.watch(model, (group) => console.log(group.children.length), (error: HobError) => console.log(error.file, error.hint));
export { names, stop };
`;

function lacking() {
	if (spawnSync('npm', ['--version']).status !== 0) return 'there is no npm';
	return existsSync(join(here, 'node_modules/typescript')) ? null : 'there is no typescript: npm ci --prefix tests/browser fetches it';
}

describe('hob-client as a package', { skip: missing() ?? lacking() ?? false }, () => {
	let folder;
	before(() => {
		folder = mkdtempSync(join(tmpdir(), 'hob-package-'));
		const packed = execFileSync('npm', ['pack', '--silent', '--pack-destination', folder, join(project, 'web/client')], { encoding: 'utf8' }).trim();
		mkdirSync(join(folder, 'node_modules/hob-client'), { recursive: true });
		execFileSync('tar', ['-xzf', join(folder, packed), '--strip-components=1', '-C', join(folder, 'node_modules/hob-client')]);
		for (const name of ['three', '@types']) symlinkSync(join(here, 'node_modules', name), join(folder, 'node_modules', name));
		writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
	});
	after(() => rmSync(folder, { recursive: true, force: true }));

	test('its entries are there and load', () => {
		const { exports } = JSON.parse(readFileSync(join(folder, 'node_modules/hob-client/package.json')));
		const wanted = { '.': 'HobClient', './three': 'HobLoader', './overlay': 'HobOverlay', './format': 'Pack' };
		for (const [entry, name] of Object.entries(wanted)) {
			readFileSync(join(folder, 'node_modules/hob-client', exports[entry].types));
			const script = `import { ${name} } from 'hob-client${entry.slice(1)}'; if (typeof ${name} !== 'function') process.exit(3);`;
			const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { cwd: folder, encoding: 'utf8' });
			assert.equal(status, 0, `${entry}: ${stderr}`);
		}
	});

	test('the version is the project\'s', () => {
		const [, version] = /project\(hob VERSION ([\d.]+)/.exec(readFileSync(join(project, 'CMakeLists.txt'), 'utf8'));
		assert.equal(JSON.parse(readFileSync(join(project, 'web/client/package.json'))).version, version);
	});

	test('a strict TypeScript program compiles, and a wrong one does not', () => {
		const compile = (text) => {
			writeFileSync(join(folder, 'program.ts'), text);
			return spawnSync(process.execPath, [join(here, 'node_modules/typescript/bin/tsc'), '--noEmit', '--strict', '--skipLibCheck', '--target', 'es2022', '--module', 'nodenext',
				'--lib', 'es2023,dom,dom.iterable', 'program.ts'], { cwd: folder, encoding: 'utf8' });
		};
		const good = compile(program);
		assert.equal(good.status, 0, good.stdout);
		assert.match(compile(program.replace('hob.blob(output.hash', 'hob.blob(output.size')).stdout, /not assignable to parameter of type 'string'/);
	});
});

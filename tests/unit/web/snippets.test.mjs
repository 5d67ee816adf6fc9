/* web/app/snippets.js: a copied line runs nothing but itself, whatever the file's name. Each language's own interpreter
 * or compiler reads the lines for forty hostile names and must get exactly that name. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { quoteC, quoteJs, quotePython, quoteShell, snippets } from '../../../web/app/snippets.js';

const names = [
	'$(touch ran).glb', '`touch ran`.glb', "';touch ran;'.glb", '";touch ran;".glb', "'$(touch ran)'.glb", '\\\';touch ran;#.glb',
	'a\ntouch ran\n.glb', "a'\ntouch ran\n'.glb", '&touch ran&.glb', '|touch ran.glb', '>ran', '<(touch ran).glb', '${IFS}touch${IFS}ran',
	'-o ran', '--output=ran', '~', '*', '?[a]*', '!touch ran', '#.glb', '\\', '\\\\', "\\'", '\\"', '"', "'", "''", '"""', "'''", '\t\r\n',
	'\u0001\u001b[31m\u007f', '\u0085\u2028\u2029', '${process.exit(9)}', '`${process.exit(9)}`', '??/"', '\\x41\\101\\u0041', '%s%n%d', '{}{0}',
	'größe 木.glb', '😀\u202e.glb',
];
const asset = (name) => ({ root: 'art', path: name, links: { data: `/a/art/${encodeURIComponent(name)}` } });
const origin = 'http://127.0.0.1:7780';

/* Runs in a folder of its own, which must stay unchanged. */
function alone(act) {
	const folder = mkdtempSync(join(tmpdir(), 'hob-snippets-'));
	try {
		const before = act.prepare?.(folder) ?? 0;
		const out = act.run(folder);
		assert.equal(readdirSync(folder).length, before, `files appeared: ${readdirSync(folder)}`);
		return out;
	} finally {
		rmSync(folder, { recursive: true });
	}
}

test('there are forty names', () => assert.equal(names.length, 40));

test('a shell reads each name as one word, and runs nothing', () => {
	for (const name of names) {
		const line = snippets.curl(asset(name), origin, `${name}.meshes`);
		const words = alone({ run: (cwd) => execFileSync('sh', ['-c', `curl() { for word; do printf '%s\\0' "$word"; done; }\n${line}`], { cwd }) });
		assert.deepEqual(words.toString().split('\0').slice(0, -1),
			['-f', `${origin}/a/art/${encodeURIComponent(name)}?output=meshes`, '-o', `${name}.meshes`], line);
	}
	assert.equal(execFileSync('sh', ['-c', `printf %s ${quoteShell("a'b")}`]).toString(), "a'b");
});

test('JavaScript reads each name as it is', () => {
	for (const name of names) {
		assert.equal(new Function(`return ${quoteJs(name)};`)(), name);
		const body = snippets.js(asset(name), origin).replace(/^import.*$/m, '');
		const asked = [];
		class HobLoader {
			setPath() { return this; }
			async loadAsync(path) { asked.push(path); }
			watch() {}
		}
		const run = new Function('HobLoader', 'scene', 'render', `return (async () => {${body}\n})();`);
		run(HobLoader, { add() {} }, () => {});
		assert.deepEqual(asked, [`art/${name}`]);
	}
});

test('Python reads each name as it is', (t) => {
	if (spawnSync('python3', ['--version']).status !== 0) return t.skip('there is no python3');
	const program = `import sys\n${names.map((name) => `sys.stdout.buffer.write(${quotePython(name)}.encode() + b"\\0")`).join('\n')}\n`;
	const out = alone({ run: (cwd) => execFileSync('python3', ['-'], { cwd, input: program }) });
	assert.deepEqual(out.toString().split('\0').slice(0, -1), names);
	for (const name of names) assert.ok(snippets.python(asset(name), origin).split('\n').length === 4, name);
});

test('C reads each name as it is', (t) => {
	const cc = process.env.CC ?? 'cc';
	if (spawnSync(cc, ['--version']).status !== 0) return t.skip(`there is no ${cc}`);
	const program = `#include <stdio.h>\n#include <string.h>\nint main(void)\n{\n\tstatic const char *const names[] = {${names.map(quoteC).join(',\n')}};\n`
		+ '\tfor (size_t i = 0; i < sizeof names / sizeof *names; i++)\n\t\tfwrite(names[i], 1, strlen(names[i]) + 1, stdout);\n\treturn 0;\n}\n';
	const out = alone({
		prepare: (folder) => (writeFileSync(join(folder, 'names.c'), program), execFileSync(cc, ['-std=c11', '-Wall', '-Werror', '-o', 'names', 'names.c'], { cwd: folder }), 2),
		run: (folder) => execFileSync(join(folder, 'names'), { cwd: folder }),
	});
	assert.deepEqual(out.toString().split('\0').slice(0, -1), names);
});

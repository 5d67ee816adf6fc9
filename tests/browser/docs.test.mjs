/* The script that makes the pictures of docs/ still does, of the dashboard as it is now. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { missing, project, withoutDashboard } from './bench.mjs';

const kinds = (png) => {
	const list = [];
	for (let at = 8; at < png.length; at += png.readUInt32BE(at) + 12) list.push(png.toString('latin1', at + 4, at + 8));
	return list;
};

describe('the pictures of the documentation', { skip: missing() ?? withoutDashboard() ?? false }, () => {
	const out = mkdtempSync(join(tmpdir(), 'hob-pictures-'));
	after(() => rmSync(out, { recursive: true, force: true }));

	test('are made by a script, and are those that the pages show', () => {
		execFileSync(process.execPath, [join(project, 'docs/pictures.mjs'), out], { stdio: 'inherit' });
		const made = readdirSync(out).sort();
		assert.deepEqual(made, readdirSync(join(project, 'docs/pictures')).sort());
		for (const name of made) assert.equal(kinds(readFileSync(join(out, name))).at(-1), 'IEND', name);
		const live = kinds(readFileSync(join(out, 'live.png')));
		assert.equal(live.filter((kind) => kind === 'fcTL').length, 5);
		const docs = join(project, 'docs');
		const pages = readdirSync(docs).filter((name) => name.endsWith('.md')).map((name) => readFileSync(join(docs, name), 'utf8')).join('');
		for (const name of made) assert.ok(pages.includes(`(pictures/${name})`), `no page shows ${name}`);
	});
});

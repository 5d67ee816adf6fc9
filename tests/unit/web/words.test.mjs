/* Every name that the tables of schema/ bring to a page has words in web/app/text.js, and sizes are shown in the units
 * they were set in. */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { limitSize, size, sizeBeside } from '../../../web/app/format.js';
import { text } from '../../../web/app/text.js';

const project = fileURLToPath(new URL('../../..', import.meta.url));
const table = (name) => readFileSync(join(project, 'schema', name), 'utf8');
const every = (source, pattern) => [...source.matchAll(pattern)].map((match) => match.slice(1));
const settings = table('settings.def');

test('every setting is explained: by words of its own, which then have a group, or by those of its table', () => {
	const found = every(settings, /^SETTING\(\w+, \w+, "([^"]+)"[^"]*"(.+)"\)$/gm);
	const keys = found.map(([key]) => key);
	assert.ok(keys.length > 25);
	const grouped = Object.values(text.settings.groups).flat();
	for (const [key, explained] of found) {
		assert.ok(text.settingNames[key]?.length === 2 || explained.length > 20, key);
		assert.ok(!text.settingNames[key] || grouped.includes(key), `${key} is in no group`);
	}
	assert.deepEqual(Object.keys(text.settingNames).filter((key) => !keys.includes(key)), []);
});

test('every group of the daemon\'s own settings has a name', () => {
	const groups = new Set(every(table('config.def'), /^CONFIG\(\w+, \w+, "([a-z_]+)\./gm).flat());
	assert.ok(groups.size > 5);
	for (const group of groups) assert.ok(text.config.groups[group], group);
});

test('every stage of a job has words', () => {
	const [[list]] = every(readFileSync(join(project, 'server/cook/job.c'), 'utf8'), /names\[SRV_JOB_STAGES\] = \{([^}]+)\}/g);
	const stages = every(list, /"([^"]+)"/g).flat().filter((name) => name !== 'new');
	assert.ok(stages.length > 15);
	assert.deepEqual(Object.keys(text.jobs.stageNames).sort(), stages.sort());
});

test('every state, error and format has words', () => {
	for (const [state] of every(table('standings.def'), /^STANDING\(\w+, "([^"]+)"/gm)) assert.ok(text.states[state] && text.stateMeaning[state], state);
	const shown = every(table('errors.def'), /^HOB_ERR\(\w+, "((?:import|cook|io)\.[^"]+)"/gm).flat();
	assert.ok(shown.length > 15);
	for (const code of shown) assert.ok(text.errors.codes[code], code);
	const folder = join(project, 'core/import');
	const importers = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.c'))
		.flatMap((name) => every(readFileSync(join(folder, name), 'utf8'), /^\t\.name = "([^"]+)",/gm).flat());
	assert.ok(importers.length >= 10);
	for (const name of importers) assert.ok(text.assets.kinds[name], name);
});

test('a limit is told as it was set, and what is beside it in the same unit', () => {
	assert.equal(limitSize(4294967296), '4\u00a0GiB');
	assert.equal(limitSize(512 * 1048576), '512\u00a0MiB');
	assert.equal(limitSize(32768), '32\u00a0KiB');
	assert.equal(limitSize(5000000), size(5000000));
	assert.equal(limitSize(4000000000), size(4000000000));
	assert.equal(limitSize(0), size(0));
	assert.equal(sizeBeside(3221225472, 4294967296), '3.00\u00a0GiB');
	assert.equal(sizeBeside(3221225472, 0), '3.22\u00a0GB');
});

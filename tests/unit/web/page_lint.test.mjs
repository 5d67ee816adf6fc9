/* Faults that tests/lint/page.mjs must find: a fault of each kind is planted into what the lint reads. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { propFindings, ready, styleFindings, typeFindings, web } from '../../lint/page.mjs';

const options = { skip: ready ? false : 'npm ci --prefix web fetches typescript and eslint' };

/* {name: the file's text with `right` replaced}. */
function plant(name, right, wrong) {
	const text = readFileSync(join(web, name), 'utf8');
	assert.ok(text.includes(right), `${name}: ${right}`);
	return { [name]: text.replace(right, wrong) };
}

test('components get only what they take', options, () => {
	const { findings, uses } = propFindings();
	assert.deepEqual(findings, []);
	assert.ok(uses > 350, `${uses} uses of components were seen`);
});

for (const [name, right, wrong, component] of [['app/pages/latest.js', '<${Strip} change=', '<${Strip} changing=', 'Strip'], ['app/shell.js', '<${Work} stats=', '<${Work} stat=', 'Work'],
	['app/pages/jobs.js', '<${Panel} id=', '<${Panel} idd=', 'Panel'], ['viewer/view.js', '<${TreeSection} tree=', '<${TreeSection} trees=', 'TreeSection'],
	['app/pages/overview.js', '<${Counts} stats=', '<${Counts} nothing stats=', 'Counts'], ['app/pages/asset.js', '...${{ asset, shown }}', '...${{ asset, show: shown }}', 'Viewer']])
	test(`a misspelt property is found: ${wrong}`, options, () => {
		const { findings } = propFindings(plant(name, right, wrong));
		assert.equal(findings.length, 1, `${findings}`);
		assert.match(findings[0], new RegExp(`^${name}:\\d+: <${component}> takes no '`));
	});

test('a misspelt member of an answer, of a model and of a setting of the loader are found by their types', options, () => {
	const found = typeFindings({ ...plant('app/pages/library.js', 'found.data.total', 'found.data.totals'), ...plant('viewer/shown.js', 'this.stage.wireframe = on', 'this.stage.wirefame = on'),
		...plant('client/hob-three.js', 'client.wait = this.wait', 'client.wait = this.waits') });
	assert.deepEqual(found.map((line) => line.split(':')[0]).sort(), ['app/pages/library.js', 'client/hob-three.js', 'viewer/shown.js'], `${found.join('\n')}`);
});

test('a name that nothing uses and a comparison that converts are found', options, async () => {
	const found = await styleFindings({ 'app/planted.js': 'const never = 1;\nexport const same = (a, b) => a == b;\n' });
	assert.deepEqual(found.map((line) => /\((.*)\)$/.exec(line)[1]).sort(), ['eqeqeq', 'no-unused-vars']);
});

// Redocly's recommended rules: the document is valid OpenAPI 3.1, every reference resolves, every example fits its schema.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {fileURLToPath} from 'node:url';
import {createConfig, lint} from '@redocly/openapi-core';

const document = fileURLToPath(new URL('../../schema/openapi.json', import.meta.url));

// Rules that a daemon on the user's own machine cannot keep, each with its reason.
const rules = {
	'no-server-example.com': 'off',
	'operation-4xx-response': 'error',
	'no-invalid-media-type-examples': 'error',
	'no-invalid-parameter-examples': 'error',
	'no-invalid-schema-examples': 'error',
	'no-server-variables-empty-enum': 'error',
	'info-license-url': 'off', // it has an SPDX identifier
	'no-path-trailing-slash': 'off', // people type /ui/ for the page
	'no-unused-components': 'off', // answers that every operation may give are described once, in the introduction
};

test('the document keeps the rules', async () => {
	const config = await createConfig({extends: ['recommended'], rules});
	const problems = await lint({ref: document, config});
	const told = problems.map(p => `${p.severity} ${p.ruleId} ${p.location?.[0]?.pointer ?? ''}: ${p.message}`);
	assert.deepEqual(told, []);
});

/* docker/monitoring/grafana.json is a dashboard according to the types that Grafana generates from its own schema (npm
 * @grafana/schema). */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { here, project } from './bench.mjs';

const types = join(here, 'node_modules/@grafana/schema/dist/types/raw/dashboard/x/types.gen.d.ts');

/* In JSON, an enum's member is written as its value. */
const source = (board) => `import type { Dashboard } from '${types.replace('.d.ts', '')}';
type Plain<T> = T extends string ? \`\${T}\` : T extends boolean | number | null | undefined ? T
	: T extends (infer U)[] ? Plain<U>[] : T extends object ? { [K in keyof T]: Plain<T[K]> } : T;
export const board: Plain<Dashboard> = ${board};`;

function findings(board) {
	const name = join(here, 'board.ts');
	const options = { strict: true, noEmit: true, skipLibCheck: true, module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler, target: ts.ScriptTarget.ES2022, types: [] };
	const host = ts.createCompilerHost(options);
	const read = host.getSourceFile;
	host.getSourceFile = (file, ...rest) => (file === name ? ts.createSourceFile(file, source(board), ts.ScriptTarget.ES2022) : read(file, ...rest));
	return ts.getPreEmitDiagnostics(ts.createProgram([name], options, host)).map((one) => ts.flattenDiagnosticMessageText(one.messageText, '\n'));
}

describe('the dashboard for Grafana', { skip: existsSync(types) ? false : 'npm ci --prefix tests/browser fetches @grafana/schema' }, () => {
	const board = readFileSync(join(project, 'docker/monitoring/grafana.json'), 'utf8');
	test('is one by its schema', () => assert.deepEqual(findings(board), []));
	test('and would not be with a key or a value that Grafana does not know', () => {
		assert.notDeepEqual(findings(board.replace('"schemaVersion"', '"schemaVersoin"')), []);
		assert.notDeepEqual(findings(board.replace('"timeseries"', '7')), []);
	});
});

/* Runs one test file. Exits with 77, which ctest shows as skipped, if a requirement is missing. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const skip = (why) => {
	console.log(`skipped: ${why}`);
	process.exit(77);
};

if (!existsSync(join(here, 'node_modules'))) skip('npm ci --prefix tests/browser fetches what is needed');
const file = join(here, process.argv[2]);
const needsBrowser = /from '\.\/\w+\.mjs'/.test(readFileSync(file, 'utf8')); /* a helper of this folder */
const why = needsBrowser && (await import('./bench.mjs')).missing();
if (why) skip(why);
process.exit(spawnSync(process.execPath, ['--test', file], { stdio: 'inherit' }).status ?? 1);

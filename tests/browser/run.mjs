/* Runs one test file. Exits with 77, which ctest shows as skipped, if a requirement is missing. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const skip = (why) => {
	console.log(`skipped: ${why}`);
	process.exit(77);
};

if (!existsSync(join(here, 'node_modules'))) skip('npm ci --prefix tests/browser fetches what is needed');
const why = (await import('./bench.mjs')).missing();
if (why) skip(why);
process.exit(spawnSync(process.execPath, ['--test', join(here, process.argv[2])], { stdio: 'inherit' }).status ?? 1);

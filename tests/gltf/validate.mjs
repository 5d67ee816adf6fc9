// node validate.mjs FILE.glb...: prints the Khronos validator's errors and warnings; exits with 1 if there are errors.
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import validator from 'gltf-validator';

/** Messages of severity 0 (error) and 1 (warning). */
export async function problems(bytes) {
	const report = await validator.validateBytes(bytes, { maxIssues: 1000 });
	return report.issues.messages.filter((message) => message.severity <= 1);
}

if (import.meta.url === pathToFileURL(process.argv[1]).href)
	for (const path of process.argv.slice(2))
		for (const { severity, code, message, pointer } of await problems(new Uint8Array(readFileSync(path)))) {
			console.log(`${path}: ${severity ? 'warning' : 'error'} ${code}: ${message} (${pointer})`);
			if (severity === 0) process.exitCode = 1;
		}

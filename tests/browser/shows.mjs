/* shows.mjs URL NAME [FILE]: opens the page and waits until its body has data-shown="NAME"; otherwise prints the page's
 * complaints. With FILE, a model that is shown: what the page says (data-shown aside) after half of it is saved, and that
 * the overlay goes with the next good save. No answer may be an error. */
import { readFileSync, writeFileSync } from 'node:fs';
import { launchBrowser, patience } from './bench.mjs';

const [, , url, name, file] = process.argv;
const browser = await launchBrowser();
const page = await browser.newPage();
const heard = [];
page.on('pageerror', (error) => heard.push(error.message));
page.on('console', (line) => heard.push(line.text()));
const wrong = [];
page.on('response', (answer) => answer.status() >= 400 && wrong.push(`${answer.status()} ${answer.url()}`));
page.on('requestfailed', (request) => heard.push(`${request.url()}: ${request.failure().errorText}`));
try {
	await page.goto(url, { timeout: patience });
	await page.waitForFunction((wanted) => document.body.dataset.shown === wanted, name, { timeout: patience });
	if (file) {
		const whole = readFileSync(file), overlay = page.locator('vite-error-overlay');
		writeFileSync(file, 'f 1 2 999999\n');
		await overlay.waitFor({ timeout: patience });
		console.log(await overlay.locator('.message').textContent());
		writeFileSync(file, whole);
		await overlay.waitFor({ state: 'detached', timeout: patience });
		if (wrong.length > 0) throw new Error(wrong.join('\n'));
	}
} catch (error) {
	console.log(`${error.message}\n${heard.join('\n')}\n${await page.content()}`);
	process.exitCode = 1;
}
await browser.close();

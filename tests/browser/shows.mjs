/* shows.mjs URL NAME: opens the page and waits until its body has data-shown="NAME"; otherwise prints the page's
 * complaints. */
import { launchBrowser, patience } from './bench.mjs';

const [, , url, name] = process.argv;
const browser = await launchBrowser();
const page = await browser.newPage();
const heard = [];
page.on('pageerror', (error) => heard.push(error.message));
page.on('console', (line) => heard.push(line.text()));
page.on('requestfailed', (request) => heard.push(`${request.url()}: ${request.failure().errorText}`));
try {
	await page.goto(url, { timeout: patience });
	await page.waitForFunction((wanted) => document.body.dataset.shown === wanted, name, { timeout: patience });
} catch (error) {
	console.log(`${error.message}\n${heard.join('\n')}\n${await page.content()}`);
	process.exitCode = 1;
}
await browser.close();

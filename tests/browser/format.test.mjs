/* The pages' numbers and times, compared with the browser's own formatters; needs no browser. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

const stored = new Map();
globalThis.localStorage = { getItem: (key) => stored.get(key) ?? null, setItem: (key, value) => stored.set(key, value) };
let made = 0;
const { NumberFormat } = Intl;
Intl.NumberFormat = function (...given) {
	made++;
	return new NumberFormat(...given);
};

/* Loads the module like a page in a browser with that locale. */
async function open(locale) {
	Object.defineProperty(globalThis, 'navigator', { configurable: true, value: { language: locale } });
	made = 0;
	return import(`../../web/app/format.js?${Math.random()}`);
}

const values = [0, 7, 999, 1000, 1234, 50000, 1234567, 9876543210];
for (const locale of ['en-US', 'de-DE', 'fr-FR', 'sv-SE', 'es-ES', 'hi-IN', 'en-IN', 'ar-EG', 'de-CH'])
	test(`numbers of ${locale} are those of the browser, the first time and later`, async () => {
		for (const time of [1, 2]) {
			const { number, size } = await open(locale);
			for (const value of [...values, -1234, 0.5]) assert.equal(number(value), new NumberFormat(locale).format(value), `time ${time}`);
			assert.equal(size(1234567), `${new NumberFormat(locale, { minimumFractionDigits: 2 }).format(1.23)}\u00a0MB`);
		}
	});

test('a page that is opened again makes no formatter for its numbers', async () => {
	await open('en-US').then(({ number }) => number(1));
	const { number, size, percent, duration } = await open('en-US');
	assert.deepEqual([number(50000), size(1500), percent(0.5), duration(1500)], ['50,000', '1.50\u00a0KB', '50\u00a0%', '1.5\u00a0s']);
	assert.equal(made, 0);
});

test('times are told as RelativeTimeFormat does', async () => {
	const { ago } = await open('en-US');
	const words = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
	const [minute, hour, day] = [60, 3600, 86400];
	for (const [seconds, count, unit] of [[-7, -7, 'second'], [-minute, -1, 'minute'], [-180, -3, 'minute'], [-hour, -1, 'hour'],
		[-day, -1, 'day'], [-5 * day, -5, 'day'], [-40 * day, -1, 'month'], [-100 * day, -3, 'month'], [-400 * day, -1, 'year'],
		[-900 * day, -2, 'year'], [90, 2, 'minute'], [day, 1, 'day'], [hour * 3, 3, 'hour']])
		assert.equal(ago(1e12 + seconds * 1000, 1e12), words.format(count, unit));
});

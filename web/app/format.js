/* Numbers, sizes and times in the form that people read. */
import { text } from './text.js';

/* Numbers and dates follow the browser's locale; words are English, as everywhere here. */
const locale = globalThis.navigator?.language ?? 'en';
/**
 * Makes each formatter when it is first used, so that the first page does not wait for others.
 * @template Value
 * @param {() => { format(value: Value): string }} make
 */
const later = (make) => {
	/** @type {{ format(value: Value): string } | null} */
	let made = null;
	return { format: (/** @type {Value} */ value) => (made ??= make()).format(value) };
};
const whole = later(() => new Intl.NumberFormat(locale));
const KEY = 'hob-marks';
/**
 * The browser's first formatter takes a page 30 ms. Most locales write numbers as English does, with other marks: those
 * marks are stored for the next page. null: not such a locale.
 * @param {string} digits
 * @param {string} mark
 */
const grouped = (digits, mark) => digits.replace(/\B(?=(\d{3})+$)/g, mark);

function findMarks() {
	const store = globalThis.localStorage; // undefined in workers
	const kept = JSON.parse(store?.getItem(KEY) ?? 'null');
	if (kept?.locale === locale) return kept.marks;
	const [, group, , decimal] = new Intl.NumberFormat(locale, { minimumFractionDigits: 1 }).formatToParts(12345.6)
		.map(({ value }) => value);
	const alike = decimal && [0, 999, 1234, 12345, 1234567].every((n) => grouped(String(n), group) === whole.format(n));
	const marks = alike ? { group, decimal } : null;
	store?.setItem(KEY, JSON.stringify({ locale, marks }));
	return marks;
}
/** @type {{ group: string, decimal: string } | null | undefined} */
let marks;

/**
 * @param {number} value
 * @param {number | null} digits
 */
function plain(value, digits) {
	if (marks === undefined) marks = findMarks();
	if (!marks || !(value >= 0 && value < 1e15)) return null;
	if (digits === null) return Number.isInteger(value) ? grouped(String(value), marks.group) : null;
	return value.toFixed(digits).replace('.', marks.decimal);
}

const full = later(() => new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'long' }));
const fraction = [0, 1, 2].map((digits) => later(() => new Intl.NumberFormat(locale,
	{ minimumFractionDigits: digits, maximumFractionDigits: digits, useGrouping: false })));
/**
 * @param {number} value
 * @param {number} digits
 */
const fixed = (value, digits) => plain(value, digits) ?? fraction[digits].format(value);

/** @param {number | null | undefined} value */
export const number = (value) =>
	(value === null || value === undefined ? '' : plain(value, null) ?? whole.format(value));

/**
 * 1234567 -> ['1.23', 'MB']: three digits, decimal units.
 * @param {number} bytes
 */
export function sizeParts(bytes) {
	const units = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'];
	let unit = 0;
	let value = bytes;
	while (Math.abs(value) >= 999.5 && unit < units.length - 1) {
		value /= 1000;
		unit++;
	}
	const size = Math.abs(value);
	return [fixed(value, unit === 0 || size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2), units[unit]];
}

/** @param {number | null | undefined} bytes */
export const size = (bytes) => (bytes === null || bytes === undefined ? '' : sizeParts(bytes).join('\u00a0'));

/**
 * A limit in the unit in which it was set: 4294967296 -> "4 GiB". One that is not a whole number of MiB (below 1 MiB:
 * of KiB) is shown like any other size.
 * @param {number} bytes
 */
export function limitSize(bytes) {
	if (!bytes || bytes % (bytes < 1048576 ? 1024 : 1048576)) return size(bytes);
	const units = ['KiB', 'MiB', 'GiB', 'TiB'];
	let [unit, value] = [0, bytes / 1024];
	for (; value % 1024 === 0 && unit < units.length - 1; unit++) value /= 1024;
	return `${number(value)}\u00a0${units[unit]}`;
}

/**
 * A size in the units of the limit shown with it, so that both can be compared.
 * @param {number} bytes
 * @param {number} limit
 */
export function sizeBeside(bytes, limit) {
	if (!limit || limit % 1048576) return size(bytes);
	/** @type {[string, number]} */
	const [unit, length] = limit % 1073741824 ? ['MiB', 1048576] : ['GiB', 1073741824];
	return `${fixed(bytes / length, bytes / length >= 99.95 ? 0 : 2)}\u00a0${unit}`;
}

/** @param {number | null | undefined} ms */
export function duration(ms) {
	if (ms === null || ms === undefined) return '';
	if (ms < 10) return `${fixed(Math.max(0, ms), ms > 0 && ms < 0.95 ? 1 : 0)}\u00a0ms`;
	if (ms < 1000) return `${Math.round(ms)}\u00a0ms`;
	const seconds = ms / 1000;
	if (seconds < 60) return `${fixed(seconds, seconds < 10 ? 1 : 0)}\u00a0s`;
	const minutes = Math.floor(seconds / 60);
	if (minutes < 60) return minutes < 10 ? `${minutes}\u00a0min ${Math.floor(seconds % 60)}\u00a0s`
		: `${minutes}\u00a0min`;
	const hours = Math.floor(minutes / 60);
	if (hours < 48) return `${hours}\u00a0h ${minutes % 60}\u00a0min`;
	return `${number(Math.floor(hours / 24))}\u00a0days`;
}

/** @type {[number, string, number][]} */
const steps = [[60, 'second', 1], [3600, 'minute', 60], [86400, 'hour', 3600], [86400 * 30, 'day', 86400],
	[86400 * 365, 'month', 86400 * 30]];

/**
 * time: milliseconds since 1970
 * @param {number} time
 * @param {number} [now]
 */
export function ago(time, now = Date.now()) {
	const seconds = Math.round((time - now) / 1000);
	if (Math.abs(seconds) < 5) return text.justNow;
	for (const [below, unit, length] of steps)
		if (Math.abs(seconds) < below) return text.fromNow(Math.round(seconds / length), unit);
	return text.fromNow(Math.round(seconds / (86400 * 365)), 'year');
}

const precise = later(() => new Intl.NumberFormat(locale, { maximumSignificantDigits: 6 }));
/**
 * A number of any size without the noise of single precision: 0.3000000119 -> "0.3"
 * @param {number} value
 */
export const quantity = (value) => (Number.isInteger(value) ? number(value) : precise.format(value));

/** @param {Intl.DateTimeFormatOptions} options */
const axisOf = (options) => later(() => new Intl.DateTimeFormat(locale, options));
/** @type {[number, ReturnType<typeof axisOf>][]} */
const axes = [[60, axisOf({ timeStyle: 'medium' })], [86400, axisOf({ timeStyle: 'short' })],
	[Infinity, axisOf({ month: 'short', day: 'numeric' })]];
/**
 * Formatter for marks on an axis; marks: seconds since 1970, `apart` seconds from each other.
 * @param {number[]} marks
 * @param {number} apart
 */
export const axisTimes = (marks, apart) => {
	const [, words] = axes.find(([below]) => apart < below) ?? axes[2];
	return marks.map((mark) => words.format(mark * 1000));
};

/** @param {number} time */
export const exactTime = (time) => full.format(time);
/** @param {number} time */
export const clock = (time) => new Date(time).toLocaleTimeString(locale);

/**
 * 0.934 -> "93 %", 0.004 -> "0.4 %"
 * @param {number} share
 */
export const percent = (share) => `${fixed(share * 100, share > 0 && share < 0.0995 ? 1 : 0)}\u00a0%`;

/**
 * "root/path" -> {file, folder}; for an unsaved model (live/USER/ROOT/PATH.glb) those of the asset that it replaces,
 * and its user.
 * @param {string} name
 */
export function partsOf(name) {
	const [, user, asset] = /^live\/([^/]+)\/(.+)\.glb$/.exec(name) ?? [];
	const shown = asset ?? name;
	const slash = shown.lastIndexOf('/') + 1;
	return { file: shown.slice(slash), folder: shown.slice(0, slash), user };
}

/**
 * A message as a sentence: 'the GLB says' -> 'The GLB says'; one that begins with a quote, a path or a name is
 * unchanged.
 * @param {string} message
 */
export const sentence = (message) => message?.replace(/^[a-z]+(?=[\s,:;])/,
	(word) => word[0].toUpperCase() + word.slice(1));

/**
 * @param {number} count
 * @param {string[]} given
 */
export const plural = (count, [one, many]) => `${number(count)} ${count === 1 ? one : many}`;

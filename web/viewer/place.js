/* A view encoded as a word of the address, so that a link opens it again: camera, clips, and every choice. */

/** @param {number} value */
const digits = (value) => Number(value.toPrecision(7));

/* Choices after the clip, each a letter and its value: switches have none. */
const switches = { wireframe: 'w', bounds: 'b', normals: 'n', tangents: 't', skeleton: 'k', gridOff: 'g',
	byDistance: 'd', shadow: 'o', turning: 'y' };
const numbers = { exposure: 'e', variant: 'v', camera: 'c', joint: 'j', alone: 'a' };
const names = { surroundings: 's', ground: 'q' };
/** @type {Page.Table<[string, Page.Table]>} */
const LETTERS = Object.fromEntries([switches, numbers, names].flatMap((table) =>
	Object.entries(table).map(([name, letter]) => [letter, [name, table]])));

/**
 * {from: [x, y, z], to: [x, y, z], level, look, clip, time, other, share, ...choices} -> text without characters that
 * an address escapes; other: a second clip with `share` of the pose, or -1. Choices: switches that are on, numbers
 * other than their usual value, which is undefined, and `hidden`: numbers of parts.
 * @param {View.State} given
 */
export function writePlace({ from, to, level, look, clip, time, other = -1, share = 0.5, hidden = [], ...choices }) {
	const chose = /** @type {Page.Table<string | number | boolean | undefined>} */ (choices);
	const clips = [clip, digits(time), ...(other < 0 ? [] : [other, digits(share)])];
	const chosen = [...Object.entries(switches).map(([name, letter]) => chose[name] && letter),
		...Object.entries(numbers).map(([name, letter]) => chose[name] !== undefined
			&& letter + digits(Number(chose[name]))),
		...Object.entries(names).map(([name, letter]) => chose[name] && `${letter}${chose[name]}`),
		...hidden.map((part) => `h${part}`)].filter(Boolean);
	return [[...from, ...to].map(digits).join('*'), level, look, clip < 0 ? '' : clips.join('*'), chosen.join('*')]
		.join('_').replace(/_+$/, '');
}

/** @param {string} word */
function readChoices(word) {
	/** @type {number[]} */
	const hidden = [];
	const found = /** @type {Page.Table<unknown>} */ ({ hidden });
	for (const [letter, ...rest] of word.split('*').filter(Boolean)) {
		const value = rest.join('');
		const [name, table] = LETTERS[letter] ?? ['', null];
		if (letter === 'h' && /^\d+$/.test(value)) hidden.push(Number(value));
		else if (table === switches) found[name] = true;
		else if (table === numbers && value && Number.isFinite(Number(value))) found[name] = Number(value);
		else if (table === names && /^[a-z]+$/.test(value)) found[name] = value;
	}
	return found;
}

/**
 * Decodes it; null if the word is invalid.
 * @param {string | null} word
 * @returns {View.State | null}
 */
export function readPlace(word) {
	const [camera = '', level = '0', look = '', clip = '', chosen = ''] = (word ?? '').split('_');
	const values = camera.split('*').map(Number);
	if (values.length !== 6 || !values.every(Number.isFinite)) return null;
	const [index, time, other, share] = clip.split('*').map(Number);
	return { from: values.slice(0, 3), to: values.slice(3), level: Number.isInteger(Number(level))
			? Math.max(0, Number(level)) : 0,
		look: /^[a-z0-9]*$/.test(look) ? look : '', clip: clip && Number.isInteger(index) ? index : -1,
		time: Number.isFinite(time) ? time : 0, other: share >= 0 && share <= 1 && other >= 0 ? other : -1, share,
		...readChoices(chosen) };
}

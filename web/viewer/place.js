/* A view encoded as a word of the address, so that a link opens it again: camera and choices. */
const digits = (value) => Number(value.toPrecision(5));

/** {from: [x, y, z], to: [x, y, z], level, look, clip, time, other, share} -> text without characters that an address
 * escapes; other: a second clip with `share` of the pose, or -1. */
export function writePlace({ from, to, level, look, clip, time, other = -1, share }) {
	const parts = [...from, ...to].map(digits);
	const clips = [clip, digits(time), ...(other < 0 ? [] : [other, digits(share)])];
	return [parts.join('*'), level, look, clip < 0 ? '' : clips.join('*')].join('_').replace(/_+$/, '');
}

/** Decodes it; null if the word is invalid. */
export function readPlace(word) {
	const [numbers = '', level = '0', look = '', clip = ''] = (word ?? '').split('_');
	const values = numbers.split('*').map(Number);
	if (values.length !== 6 || !values.every(Number.isFinite)) return null;
	const [index, time, other, share] = clip.split('*').map(Number);
	return { from: values.slice(0, 3), to: values.slice(3), level: Number.isInteger(Number(level))
			? Math.max(0, Number(level)) : 0,
		look: /^[a-z0-9]*$/.test(look) ? look : '', clip: clip && Number.isInteger(index) ? index : -1,
		time: Number.isFinite(time) ? time : 0, other: share >= 0 && share <= 1 && other >= 0 ? other : -1, share };
}

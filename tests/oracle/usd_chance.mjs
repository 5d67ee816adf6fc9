/* Repeatable random numbers, and reduction of stages' texts, for randomly made stages. */

let state = 1;
export const seeded = (seed) => (state = seed * 7919);
export function next() {
	state = (state + 0x6d2b79f5) | 0;
	let t = Math.imul(state ^ (state >>> 15), 1 | state);
	t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
	return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
}
export const below = (n) => Math.floor(next() * n);
export const one = (list) => list[below(list.length)];
export const chance = (p) => next() < p;
export const some = (list, p) => list.filter(() => chance(p));
export const digit = () => 1 + below(9);

/* Lines from an opening bracket to the closing one, or only the line. */
function block(lines, at) {
	let open = 0, end = at;
	do {
		open += (lines[end].match(/[{(]\s*$/) ? 1 : 0) - (lines[end].match(/^\s*[})]/) ? 1 : 0);
		/* The braces of a prim follow its name on a line of their own. */
		end++;
	} while (end < lines.length && (open > 0 || (/^(def|over|class) /.test(lines[at]) && end - at < 3 && !lines.slice(at, end).includes('{'))));
	return end;
}

/* Removes blocks and lines of text layers as long as `still` holds. */
export function reduce(files, still) {
	let best = files;
	for (let again = true; again; ) {
		again = false;
		for (const name of Object.keys(best)) {
			if (name.endsWith('.usda'))
				for (let at = 1; at < best[name].split('\n').length; at++) {
					const lines = best[name].split('\n');
					const less = { ...best, [name]: [...lines.slice(0, at), ...lines.slice(block(lines, at))].join('\n') };
					if (!/^[})(]|info:id|^\w+ outputs:\w+$|primvars:|inputs:in.connect/.test(lines[at]) && still(less)) {
						best = less;
						again = true;
						at--;
					}
				}
		}
	}
	return best;
}

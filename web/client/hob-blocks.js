/**
 * hob-blocks.js - decodes block-compressed textures to pixels, for graphics cards without that format. No dependencies.
 *
 *     const pixels = await decodeBlocks(146, level.data, level.width, level.height);
 *
 * BC1, BC3, BC4, BC5, BC6H (unsigned) and BC7 as in the Khronos Data Format Specification, and two-dimensional ASTC
 * with low dynamic range; high dynamic range in ASTC becomes magenta, as the specification requires.
 */

/** @typedef {Uint8Array | Uint16Array} Pixels */

const BREATH = 10; /* ms of work, after which the page gets a turn */

/** VkFormat of ASTC: the block's width and height; the number after it is the same in sRGB. */
/** @type {Record<number, number[]>} */
const astcSides = { 157: [4, 4], 159: [5, 4], 161: [5, 5], 163: [6, 5], 165: [6, 6], 167: [8, 5],
	169: [8, 6], 171: [8, 8],
	173: [10, 5], 175: [10, 6], 177: [10, 8], 179: [10, 10], 181: [12, 10], 183: [12, 12] };

/* ---- BC1 to BC5 */

/**
 * @param {Uint8Array} block
 * @param {number} at
 * @param {boolean} fourAlways
 * @param {boolean} opaque
 * @param {Pixels} out
 */
function readColors(block, at, fourAlways, opaque, out) {
	const c = [block[at] | (block[at + 1] << 8), block[at + 2] | (block[at + 3] << 8)];
	const four = fourAlways || c[0] > c[1];
	const ends = c.map((v) => [((v >> 11) << 3) | (v >> 13), ((v >> 5) & 63) << 2 | ((v >> 9) & 3),
			((v & 31) << 3) | ((v >> 2) & 7)]);
	/**
	 * @param {number} a
	 * @param {number} b
	 * @param {number} of
	 */
	const mixed = (a, b, of) => ends[0].map((first, k) => Math.floor((a * first + b * ends[1][k]) / of));
	const palette = [ends[0], ends[1], four ? mixed(2, 1, 3) : mixed(1, 1, 2), four ? mixed(1, 2, 3) : [0, 0, 0]];
	for (let i = 0; i < 16; i++) {
		const pick = (block[at + 4 + (i >> 2)] >> (2 * (i & 3))) & 3;
		for (let k = 0; k < 3; k++) out[4 * i + k] = palette[pick][k];
		out[4 * i + 3] = pick === 3 && !four && !opaque ? 0 : 255;
	}
}

/**
 * @param {Uint8Array} block
 * @param {number} at
 * @param {number} channel
 * @param {Pixels} out
 */
function readScalars(block, at, channel, out) {
	const [a, b] = [block[at], block[at + 1]];
	const steps = a > b ? 7 : 5;
	const palette = [a, b];
	for (let i = 1; i < steps; i++) palette.push(Math.floor(((steps - i) * a + i * b) / steps));
	if (steps === 5) palette.push(0, 255);
	const bits = new Bits(block, at + 2);
	for (let i = 0; i < 16; i++) out[4 * i + channel] = palette[bits.take(3)];
}

/* ---- bits, the lowest of the first byte first */

class Bits {
	/**
	 * @param {Uint8Array} bytes
	 * @param {number} [byte]
	 */
	constructor(bytes, byte = 0) {
		this.bytes = bytes;
		this.at = 8 * byte;
	}

	/** @param {number} count */
	take(count) {
		let value = 0;
		for (let i = 0; i < count; i++, this.at++) value |= ((this.bytes[this.at >> 3] >> (this.at & 7)) & 1) << i;
		return value;
	}
}

/* ---- BC7 */

/* By mode: number of subsets; bits of partition, rotation, index selection, colour, alpha; own and shared p-bits; bits
 * of index and second index. */
const bc7Modes = ['3400401030', '2600600130', '3600500020', '2600701020', '1021560023', '1020780022', '1000771040',
	'2600551020']
	.map((digits) => [...digits].map(Number));
/** @type {Record<number, number[]>} */
const bc7Weights = { 2: [0, 21, 43, 64], 3: [0, 9, 18, 27, 37, 46, 55, 64],
	4: [0, 4, 9, 13, 17, 21, 26, 30, 34, 38, 43, 47, 51, 55, 60, 64] };

/**
 * The subset of each pixel, two bits each; eight partitions per line.
 * @param {string} text
 */
const words = (text) => text.trim().split(/\s+/).map((word) => parseInt(word, 16));
const partitions2 = words(`
	50505050 40404040 54545454 54505040 50404000 55545450 55545040 54504000
	50400000 55555450 55544000 54400000 55555440 55550000 55555500 55000000
	55150100 00004054 15010000 00405054 00004050 15050100 05010000 40505054
	00404050 05010100 14141414 05141450 01155440 00555500 15014054 05414150
	44444444 55005500 11441144 05055050 05500550 11114444 41144114 44111144
	15055054 01055040 05041050 05455150 14414114 50050550 41411414 00141400
	00041504 00105410 10541000 04150400 50410514 41051450 05415014 14054150
	41050514 41505014 40011554 54150140 50505500 00555050 15151010 54540404`);
const partitions3 = words(`
	aa685050 6a5a5040 5a5a4200 5450a0a8 a5a50000 a0a05050 5555a0a0 5a5a5050
	aa550000 aa555500 aaaa5500 90909090 94949494 a4a4a4a4 a9a59450 2a0a4250
	a5945040 0a425054 a5a5a500 55a0a0a0 a8a85454 6a6a4040 a4a45000 1a1a0500
	0050a4a4 aaa59090 14696914 69691400 a08585a0 aa821414 50a4a450 6a5a0200
	a9a58000 5090a0a8 a8a09050 24242424 00aa5500 24924924 24499224 50a50a50
	500aa550 aaaa4444 66660000 a5a0a5a0 50a050a0 69286928 44aaaa44 66666600
	aa444444 54a854a8 95809580 96969600 a85454a8 80959580 aa141414 96960000
	aaaa1414 a05050a0 a0a5a5a0 96000000 40804080 a9a8a9a8 aaaaaa44 2a4a5254`);
/**
 * The pixel of each later subset whose index omits its highest bit, one digit per partition.
 * @param {string} text
 */
const digits = (text) => [...text].map((digit) => parseInt(digit, 16));
const anchors2 = digits('fffffffffffffffff282288f28228822ff6828ff28222ff66268ff22fffff22f');
const anchors3 = ['33ff83ff88666533338f336a588685ff8f356a8ff3f5ffff3f55585a5a8dfc33',
	'f883ff38fffffff8f8f3f8f83f6affa8f3faa89a6f8f3668f3ffffffffff3ff8'].map(digits);

/**
 * @param {Uint8Array} block
 * @param {Pixels} out
 */
function readBc7(block, out) {
	const number = block[0] ? 31 - Math.clz32(block[0] & -block[0]) : 8;
	if (number === 8) return out.fill(0);
	const [subsets, partitionBits, rotationBits, selectionBits, color, alpha, ownP, sharedP, index,
		index2] = bc7Modes[number];
	const bits = new Bits(block);
	bits.take(number + 1);
	const partition = bits.take(partitionBits);
	const rotation = bits.take(rotationBits);
	const swap = bits.take(selectionBits);
	const count = 2 * subsets;
	const ends = Array.from({ length: count }, () => [0, 0, 0, 255]);
	/** @type {number[]} */
	const lowest = [];
	for (let k = 0; k < 3; k++) for (const end of ends) end[k] = bits.take(color);
	if (alpha) for (const end of ends) end[3] = bits.take(alpha);
	let p = 0;
	ends.forEach((end, e) => {
		if (ownP || (sharedP && e % 2 === 0)) p = bits.take(1);
		lowest[e] = p;
	});
	for (const [e, end] of ends.entries())
		for (let k = 0; k < (alpha ? 4 : 3); k++) {
			const has = ownP || sharedP ? 1 : 0;
			const wide = (k < 3 ? color : alpha) + has;
			const value = (has ? (end[k] << 1) | lowest[e] : end[k]) << (8 - wide);
			end[k] = value | (value >> wide);
		}
	const pattern = subsets === 1 ? 0 : subsets === 2 ? partitions2[partition] : partitions3[partition];
	/** @param {number} i */
	const isAnchor = (i) => i === 0 || (subsets === 2 && i === anchors2[partition])
		|| (subsets === 3 && (i === anchors3[0][partition] || i === anchors3[1][partition]));
	const first = Array.from({ length: 16 }, (_, i) => bc7Weights[index][bits.take(index - (isAnchor(i) ? 1 : 0))]);
	const second = index2 ? Array.from({ length: 16 },
		(_, i) => bc7Weights[index2][bits.take(index2 - (i === 0 ? 1 : 0))]) : first;
	for (let i = 0; i < 16; i++) {
		const s = 2 * ((pattern >>> (2 * i)) & 3);
		for (let k = 0; k < 4; k++) {
			const weight = ((k < 3) !== Boolean(swap) ? first : second)[i];
			out[4 * i + k] = ((64 - weight) * ends[s][k] + weight * ends[s + 1][k] + 32) >> 6;
		}
		if (rotation) [out[4 * i + 3], out[4 * i + rotation - 1]] = [out[4 * i + rotation - 1], out[4 * i + 3]];
	}
}

/* ---- BC6H */

/* By code: bits of an end, bits of the others as differences from it (r, g, b), and what follows the code: channel, end
 * (w and x of the first subset, y and z of the second), and bits, the last named first. */
const rgb = 'rw9:0 gw9:0 bw9:0';
/** @type {[number, [number, number[] | null, string]][]} */
const bc6hLayouts = [
	[0, [10, [5, 5, 5],
		`gy4 by4 bz4 ${rgb} rx4:0 gz4 gy3:0 gx4:0 bz0 gz3:0 bx4:0 bz1 by3:0 ry4:0 bz2 rz4:0 bz3`]],
	[1, [7, [6, 6, 6],
		'gy5 gz4 gz5 rw6:0 bz0 bz1 by4 gw6:0 by5 bz2 gy4 bw6:0 bz3 bz5 bz4 rx5:0 gy3:0 gx5:0 ' +
		'gz3:0 bx5:0 by3:0 ry5:0 rz5:0']],
	[2, [11, [5, 4, 4],
		`${rgb} rx4:0 rw10 gy3:0 gx3:0 gw10 bz0 gz3:0 bx3:0 bw10 bz1 by3:0 ry4:0 bz2 rz4:0 bz3`]],
	[6, [11, [4, 5, 4],
		`${rgb} rx3:0 rw10 gz4 gy3:0 gx4:0 gw10 gz3:0 bx3:0 bw10 bz1 by3:0 ry3:0 bz0 bz2 rz3:0 gy4 ` +
		'bz3']],
	[10, [11, [4, 4, 5],
		`${rgb} rx3:0 rw10 by4 gy3:0 gx3:0 gw10 bz0 gz3:0 bx4:0 bw10 by3:0 ry3:0 bz1 bz2 rz3:0 bz4 ` +
		'bz3']],
	[14, [9, [5, 5, 5],
		'rw8:0 by4 gw8:0 gy4 bw8:0 bz4 rx4:0 gz4 gy3:0 gx4:0 bz0 gz3:0 bx4:0 bz1 by3:0 ry4:0 bz2 ' +
		'rz4:0 bz3']],
	[18, [8, [6, 5, 5],
		'rw7:0 gz4 by4 gw7:0 bz2 gy4 bw7:0 bz3 bz4 rx5:0 gy3:0 gx4:0 bz0 gz3:0 bx4:0 bz1 by3:0 ' +
		'ry5:0 rz5:0']],
	[22, [8, [5, 6, 5],
		'rw7:0 bz0 by4 gw7:0 gy5 gy4 bw7:0 gz5 bz4 rx4:0 gz4 gy3:0 gx5:0 gz3:0 bx4:0 bz1 by3:0 ' +
		'ry4:0 bz2 rz4:0 bz3']],
	[26, [8, [5, 5, 6],
		'rw7:0 bz1 by4 gw7:0 by5 gy4 bw7:0 bz5 bz4 rx4:0 gz4 gy3:0 gx4:0 bz0 gz3:0 bx5:0 by3:0 ' +
		'ry4:0 bz2 rz4:0 bz3']],
	[30, [6, null,
		'rw5:0 gz4 bz0 bz1 by4 gw5:0 gy5 by5 bz2 gy4 bw5:0 gz5 bz3 bz5 bz4 rx5:0 gy3:0 gx5:0 ' +
		'gz3:0 bx5:0 by3:0 ry5:0 rz5:0']],
	[3, [10, null,
		`${rgb} rx9:0 gx9:0 bx9:0`]],
	[7, [11, [9, 9, 9],
		`${rgb} rx8:0 rw10 gx8:0 gw10 bx8:0 bw10`]],
	[11, [12, [8, 8, 8],
		`${rgb} rx7:0 rw10:11 gx7:0 gw10:11 bx7:0 bw10:11`]],
	[15, [16, [4, 4, 4],
		`${rgb} rx3:0 rw10:15 gx3:0 gw10:15 bx3:0 bw10:15`]],
];
const bc6hModes = new Map(bc6hLayouts.map(([code, [bits, delta, layout]]) => [code, { bits, delta,
	fields: layout.split(' ').map((field) => {
	const [last, first = last] = field.slice(2).split(':').map(Number);
	return { channel: 'rgb'.indexOf(field[0]), end: 'wxyz'.indexOf(field[1]), first, last };
}) }]));

/**
 * Decodes to sixteen half floats; a reserved mode gives black.
 * @param {Uint8Array} block
 * @param {Pixels} out
 */
function readBc6h(block, out) {
	const bits = new Bits(block);
	let code = bits.take(2);
	if (code > 1) code |= bits.take(3) << 2;
	for (let i = 0; i < 64; i++) out[i] = i % 4 === 3 ? 0x3c00 : 0;
	const mode = bc6hModes.get(code);
	if (!mode) return;
	const two = (code & 3) !== 3;
	const ends = Array.from({ length: 4 }, () => [0, 0, 0]);
	for (const { channel, end, first, last } of mode.fields) {
		const step = Math.sign(last - first) || 1;
		for (let bit = first; bit !== last + step; bit += step) ends[end][channel] |= bits.take(1) << bit;
	}
	const partition = two ? bits.take(5) : 0;
	for (let k = 0; mode.delta && k < 3; k++)
		for (const end of ends.slice(1)) {
			const delta = (end[k] << (32 - mode.delta[k])) >> (32 - mode.delta[k]);
			end[k] = (ends[0][k] + delta) & ((1 << mode.bits) - 1);
		}
	const most = (1 << mode.bits) - 1;
	/** @param {number} v */
	const widened = (v) => (mode.bits >= 15 || v === 0 ? v : v === most ? 65535 : ((v << 16) + 32768) >>> mode.bits);
	const wide = ends.map((end) => end.map(widened));
	const size = two ? 3 : 4;
	for (let i = 0; i < 16; i++) {
		const weight = bc7Weights[size][bits.take(size - (i === 0 || (two && i === anchors2[partition]) ? 1 : 0))];
		const s = two ? 2 * ((partitions2[partition] >>> (2 * i)) & 3) : 0;
		for (let k = 0; k < 3; k++)
			out[4 * i + k] = (((wide[s][k] * (64 - weight) + wide[s + 1][k] * weight + 32) >> 6) * 31) >> 6;
	}
}

/* ---- ASTC */

/* [bits, trits, quints] by the number of values, largest first. */
const ranges = [[8, 0, 0], [6, 1, 0], [5, 0, 1], [7, 0, 0], [5, 1, 0], [4, 0, 1], [6, 0, 0], [4, 1, 0], [3, 0, 1],
	[5, 0, 0], [3, 1, 0],
	[2, 0, 1], [4, 0, 0], [2, 1, 0], [1, 0, 1], [3, 0, 0], [1, 1, 0]];
const weightRanges = [[[1, 0, 0], [0, 1, 0], [2, 0, 0], [0, 0, 1], [1, 1, 0], [3, 0, 0]],
	[[1, 0, 1], [2, 1, 0], [4, 0, 0], [2, 0, 1], [3, 1, 0], [5, 0, 0]]];
/**
 * @param {number} count
 * @param {number[]} given
 */
const sequenceBits = (count, [bits, trits, quints]) => count * bits
	+ (trits ? Math.ceil((8 * count) / 5) : quints ? Math.ceil((7 * count) / 3) : 0);

/** @param {number} t */
function tritsOf(t) {
	let c = t & 31, t4, t3;
	if (((t >> 2) & 7) === 7) {
		c = ((t >> 3) & 28) | (t & 3);
		t4 = t3 = 2;
	} else if (((t >> 5) & 3) === 3) [t4, t3] = [2, t >> 7];
	else [t4, t3] = [t >> 7, (t >> 5) & 3];
	/**
	 * @param {number} a
	 * @param {number} b
	 */
	const low = (a, b) => (a << 1) | (b & ~a & 1);
	if ((c & 3) === 3) return [low((c >> 3) & 1, (c >> 2) & 1), c >> 4, 2, t3, t4];
	if (((c >> 2) & 3) === 3) return [c & 3, 2, 2, t3, t4];
	return [low((c >> 1) & 1, c & 1), (c >> 2) & 3, c >> 4, t3, t4];
}

/** @param {number} q */
function quintsOf(q) {
	const last = q & 1;
	if (((q >> 1) & 3) === 3 && ((q >> 5) & 3) === 0) return [4, 4, (last << 2) | (((q >> 4) & ~last & 1) << 1)
			| ((q >> 3) & ~last & 1)];
	const high = ((q >> 1) & 3) === 3;
	const c = high ? (((q >> 3) & 3) << 3) | ((~(q >> 5) & 3) << 1) | last : q & 31;
	const q2 = high ? 4 : (q >> 5) & 3;
	return (c & 7) === 5 ? [c >> 3, 4, q2] : [c & 7, c >> 3, q2];
}

/**
 * Reads a sequence of integers: [bits, digit] each. The last group may be cut off: missing bits are zero.
 * @param {Bits} bits
 * @param {number} count
 * @param {number[]} given
 */
function readSequence(bits, count, [width, trits, quints]) {
	/** @type {number[][]} */
	const out = [];
	if (!trits && !quints) {
		for (let i = 0; i < count; i++) out.push([bits.take(width), 0]);
		return out;
	}
	const shares = trits ? [2, 2, 1, 2, 1] : [3, 2, 2];
	const end = bits.at + sequenceBits(count, [width, trits, quints]);
	/** @param {number} n */
	const take = (n) => {
		const there = Math.max(0, Math.min(n, end - bits.at));
		return bits.take(there);
	};
	while (out.length < count) {
		let packed = 0, at = 0;
		const low = shares.map((share) => {
			const value = take(width);
			packed |= take(share) << at;
			at += share;
			return value;
		});
		(trits ? tritsOf(packed) : quintsOf(packed)).forEach((digit, i) => out.length < count
				&& out.push([low[i], digit]));
	}
	return out;
}

/* Letters of the specification's tables: the value's bit that each bit of B repeats; 'b' is bit 1, '0' none. */
/** @type {Record<string, [number, string]>} */
const colorMix = { t1: [204, '000000000'], t2: [93, 'b000b0bb0'], t3: [44, 'cb000cbcb'], t4: [22, 'dcb000dcb'],
	t5: [11, 'edcb000ed'], t6: [5, 'fedcb000f'],
	q1: [113, '000000000'], q2: [54, 'b0000bb00'], q3: [26, 'cb0000cbc'], q4: [13, 'dcb0000dc'], q5: [6, 'edcb0000e'] };
/** @type {Record<string, [number, string]>} */
const weightMix = { t1: [50, '0000000'], t2: [23, 'b000b0b'], t3: [11, 'cb000cb'], q1: [28, '0000000'],
	q2: [13, 'b0000b0'] };

/**
 * @param {number} value
 * @param {number} digit
 * @param {[number, string]} given
 * @param {number} high
 */
function unmix(value, digit, [factor, pattern], high) {
	let b = 0;
	for (const letter of pattern) b = (b << 1) | (letter === '0' ? 0 : (value >> (letter.charCodeAt(0) - 97)) & 1);
	const a = value & 1 ? (1 << pattern.length) - 1 : 0;
	return (a & high) | (((digit * factor + b) ^ a) >> 2);
}

/**
 * @param {number} value
 * @param {number} width
 * @param {number} wanted
 */
function repeat(value, width, wanted) {
	let out = 0;
	for (let left = wanted; left > 0; left -= width) out = left >= width ? (out << width) | value : (out << left)
		| (value >> (width - left));
	return out;
}

/**
 * @param {number[]} read  value and digit of a sequence
 * @param {number[]} range
 */
const colorOf = ([value, digit], [width, trits, quints]) =>
	(trits || quints ? unmix(value, digit, colorMix[(trits ? 't' : 'q') + width], 128) : repeat(value, width, 8));

/**
 * @param {number[]} read  value and digit of a sequence
 * @param {number[]} range
 */
function weightOf([value, digit], [width, trits, quints]) {
	let w;
	if (width === 0) w = (trits ? [0, 32, 63] : [0, 16, 32, 47, 63])[digit];
	else w = trits || quints ? unmix(value, digit, weightMix[(trits ? 't' : 'q') + width], 32)
		: repeat(value, width, 6);
	return w > 32 ? w + 1 : w;
}

/**
 * Width and height of the grid of weights, whether there are two planes, and the range; null for reserved modes.
 * @param {number} mode
 */
function readMode(mode) {
	const [a, b] = [(mode >> 5) & 3, (mode >> 7) & 3];
	let range = (mode >> 4) & 1, dual = (mode >> 10) & 1, precise = (mode >> 9) & 1, wide, high;
	if (mode & 3) {
		range |= (mode & 3) << 1;
		const small = (mode >> 7) & 1;
		[wide, high] = [[b + 4, a + 2], [b + 8, a + 2], [a + 2, b + 8],
			mode & 256 ? [small + 2, a + 2] : [a + 2, small + 6]][(mode >> 2) & 3];
	} else {
		range |= ((mode >> 2) & 3) << 1;
		if (b === 2) {
			[wide, high] = [a + 6, ((mode >> 9) & 3) + 6];
			dual = precise = 0;
		} else if (b === 3) [wide, high] = a === 0 ? [6, 10] : a === 1 ? [10, 6] : [0, 0];
		else [wide, high] = b === 0 ? [12, a + 2] : [a + 2, 12];
	}
	return range < 2 || !wide ? null : { wide, high, dual, range: weightRanges[precise][range - 2] };
}

/** @param {number} seed */
function hash(seed) {
	let p = seed;
	p ^= p >>> 15;
	p = (p - (p << 17)) | 0;
	p = (p + (p << 7)) | 0;
	p = (p + (p << 4)) | 0;
	p ^= p >>> 5;
	p = (p + (p << 16)) | 0;
	p ^= p >>> 7;
	p ^= p >>> 3;
	p ^= p << 6;
	return (p ^ (p >>> 17)) >>> 0;
}

/**
 * Which of `count` partitions each pixel of a block belongs to.
 * @param {number} number
 * @param {number} count
 * @param {number[]} given
 */
function partitionOf(number, count, [width, height]) {
	const small = width * height < 31 ? 1 : 0;
	const seed = number + (count - 1) * 1024;
	const random = hash(seed);
	const pair = [seed & 2 ? 4 : 5, count === 3 ? 6 : 5];
	if (!(seed & 1)) pair.reverse();
	const factors = [0, 4, 8, 12, 16, 20, 24, 28].map((at, i) => (((random >>> at) & 15) ** 2) >> pair[i & 1]);
	const offsets = [14, 10, 6, 2].map((at) => random >>> at);
	return Array.from({ length: width * height }, (_, i) => {
		const [x, y] = [(i % width) << small, Math.floor(i / width) << small];
		const values = offsets.map((offset, k) =>
				(k < count ? (factors[2 * k] * x + factors[2 * k + 1] * y + offset) & 63 : -1));
		return values.indexOf(Math.max(...values));
	});
}

/** @param {number} value */
const clamp = (value) => Math.max(0, Math.min(255, value));
/** @param {number[]} given */
const contract = ([r, g, b, a]) => [(r + b) >> 1, (g + b) >> 1, b, a];

/**
 * [base, signed offset] of a pair.
 * @param {number} base
 * @param {number} offset
 */
function signedPair(base, offset) {
	const moved = (offset >> 1) & 63;
	return [(base >> 1) | (offset & 128), moved & 32 ? moved - 64 : moved];
}

/**
 * The two colours of an endpoint mode; null for high dynamic range.
 * @param {number} mode
 * @param {number[]} v
 */
function endpointsOf(mode, v) {
	/**
	 * @param {number[]} r
	 * @param {number[]} g
	 * @param {number[]} b
	 * @param {number[]} [a]
	 */
	const two = (r, g, b, a) => [[v[r[0]], v[g[0]], v[b[0]], a ? v[a[0]] : 255],
		[v[r[1]], v[g[1]], v[b[1]], a ? v[a[1]] : 255]];
	/** @param {number[][]} given */
	const inOrder = ([low, high]) => (high[0] + high[1] + high[2] >= low[0] + low[1] + low[2] ? [low, high]
			: [contract(high), contract(low)]);
	/**
	 * @param {number} a
	 * @param {number} b
	 */
	const scaled = (a, b) => [[0, 1, 2].map((k) => (v[k] * v[3]) >> 8).concat(a), [v[0], v[1], v[2], b]];
	const moved = () => {
		const pairs = Array.from({ length: v.length / 2 }, (_, i) => signedPair(v[2 * i], v[2 * i + 1]));
		const low = pairs.map(([base]) => base).concat(255).slice(0, 4);
		const high = pairs.map(([base, offset]) => base + offset).concat(255).slice(0, 4);
		const grows = pairs[0][1] + pairs[1][1] + pairs[2][1] >= 0;
		return (grows ? [low, high] : [contract(high), contract(low)]).map((end) => end.map(clamp));
	};
	switch (mode) {
	case 0: return two([0, 1], [0, 1], [0, 1]);
	case 1: {
		const low = (v[0] >> 2) | (v[1] & 0xc0);
		const high = clamp(low + (v[1] & 63));
		return [[low, low, low, 255], [high, high, high, 255]];
	}
	case 4: return two([0, 1], [0, 1], [0, 1], [2, 3]);
	case 5: {
		const [[l, dl], [a, da]] = [signedPair(v[0], v[1]), signedPair(v[2], v[3])];
		return [[l, l, l, a], [l + dl, l + dl, l + dl, a + da]].map((end) => end.map(clamp));
	}
	case 6: return scaled(255, 255);
	case 8: return inOrder(two([0, 1], [2, 3], [4, 5]));
	case 9: case 13: return moved();
	case 10: return scaled(v[4], v[5]);
	case 12: return inOrder(two([0, 1], [2, 3], [4, 5], [6, 7]));
	default: return null;
	}
}

/**
 * Interpolates the grid's weights to the pixels of the block.
 * @param {number[]} weights
 * @param {{ wide: number, high: number, dual: number }} given
 * @param {number[]} given
 * @param {number} plane
 */
function spread(weights, { wide, high, dual }, [width, height], plane) {
	/** @param {number} side */
	const step = (side) => Math.floor((1024 + (side >> 1)) / (side - 1));
	const [dx, dy] = [step(width), step(height)];
	const planes = dual ? 2 : 1;
	/** @param {number} at */
	const weight = (at) => weights[at * planes + plane] ?? 0;
	return Array.from({ length: width * height }, (_, i) => {
		const gx = (dx * (i % width) * (wide - 1) + 32) >> 6;
		const gy = (dy * Math.floor(i / width) * (high - 1) + 32) >> 6;
		const [fx, fy] = [gx & 15, gy & 15];
		const at = (gx >> 4) + (gy >> 4) * wide;
		const both = (fx * fy + 8) >> 4;
		return (weight(at) * (16 - fx - fy + both) + weight(at + 1) * (fx - both) + weight(at + wide) * (fy - both)
				+ weight(at + wide + 1) * both + 8) >> 4;
	});
}

/** @param {Uint8Array} block */
function reversed(block) {
	const out = new Uint8Array(16);
	for (let i = 0; i < 16; i++) for (let bit = 0; bit < 8; bit++) out[15 - i] |= ((block[i] >> bit) & 1) << (7 - bit);
	return out;
}

/**
 * The endpoint modes of the partitions, and how many bits below the weights belong to them.
 * @param {Uint8Array} block
 * @param {number} count
 * @param {number} below
 */
function readColorModes(block, count, below) {
	const bits = new Bits(block);
	if (count === 1) {
		bits.at = 13;
		return { modes: [bits.take(4)], start: 17, extra: 0 };
	}
	bits.at = 23;
	const low = bits.take(6);
	if (!(low & 3)) return { modes: Array(count).fill(low >> 2), start: 29, extra: 0 };
	const extra = 3 * count - 4;
	bits.at = below - extra;
	const all = low | (bits.take(extra) << 6);
	const base = (low & 3) - 1;
	return { modes: Array.from({ length: count }, (_, i) => ((base + ((all >> (2 + i)) & 1)) << 2)
			| ((all >> (2 + count + 2 * i)) & 3)), start: 29, extra };
}

/**
 * @param {Uint8Array} block
 * @param {number[]} sides
 * @param {boolean} srgb
 * @param {Pixels} out
 */
function readAstc(block, sides, srgb, out) {
	const magenta = () => {
		for (let i = 0; i < out.length; i += 4) out.set([255, 0, 255, 255], i);
	};
	const bits = new Bits(block);
	const number = bits.take(11);
	if ((number & 511) === 508) {
		if (number & 512) return magenta();
		for (let i = 0; i < out.length; i += 4) out.set([block[9], block[11], block[13], block[15]], i);
		return undefined;
	}
	const mode = readMode(number);
	const count = bits.take(2) + 1;
	if (!mode || mode.wide > sides[0] || mode.high > sides[1] || (mode.dual && count === 4)) return magenta();
	const weightCount = mode.wide * mode.high * (mode.dual ? 2 : 1);
	const weightBits = sequenceBits(weightCount, mode.range);
	if (weightCount > 64 || weightBits < 24 || weightBits > 96) return magenta();
	const { modes, start, extra } = readColorModes(block, count, 128 - weightBits);
	const end = 128 - weightBits - extra - (mode.dual ? 2 : 0);
	const colorCount = modes.reduce((sum, each) => sum + 2 * ((each >> 2) + 1), 0);
	const range = ranges.find((each) => sequenceBits(colorCount, each) <= end - start);
	if (colorCount > 18 || !range) return magenta();
	bits.at = start;
	const colors = readSequence(bits, colorCount, range).map((each) => colorOf(each, range));
	bits.at = end;
	const second = mode.dual ? bits.take(2) : -1;
	let at = 0;
	const ends = modes.map((each) => endpointsOf(each, colors.slice(at, (at += 2 * ((each >> 2) + 1)))));
	if (ends.includes(null)) return magenta();
	const grid = readSequence(new Bits(reversed(block)), weightCount, mode.range)
		.map((each) => weightOf(each, mode.range));
	const planes = [spread(grid, mode, sides, 0)];
	if (mode.dual) planes.push(spread(grid, mode, sides, 1));
	bits.at = 13;
	const parts = count > 1 ? partitionOf(bits.take(10), count, sides) : null;
	for (let i = 0; i < sides[0] * sides[1]; i++) {
		const [low, high] = ends[parts ? parts[i] : 0] ?? [];
		for (let k = 0; k < 4; k++) {
			const weight = planes[k === second ? 1 : 0][i];
			/** @param {number} c */
			const wide = (c) => (srgb && k < 3 ? (c << 8) | 128 : c * 257);
			out[4 * i + k] = (wide(low[k]) * (64 - weight) + wide(high[k]) * weight + 32) >> 14;
		}
	}
	return undefined;
}

/* ---- pictures */

/**
 * {width, height, bytes, read(block, out)} for a format's blocks, null for other formats.
 * @param {number} vkFormat
 * @returns {{ width: number, height: number, bytes: number, read(block: Uint8Array, out: Pixels): unknown,
 *     pixels?: new (length: number) => Pixels } | null}
 */
function codecOf(vkFormat) {
	if (vkFormat >= 131 && vkFormat <= 134) return { width: 4, height: 4, bytes: 8,
		/**
		 * @param {Uint8Array} block
		 * @param {Pixels} out
		 */
		read: (block, out) => readColors(block, 0, false, vkFormat < 133, out) };
	if (vkFormat === 137 || vkFormat === 138) return { width: 4, height: 4, bytes: 16, read: (block, out) => {
		readColors(block, 8, true, true, out);
		readScalars(block, 0, 3, out);
	} };
	/** @param {number} channels */
	const scalars = (channels) => ({ width: 4, height: 4, bytes: 8 * channels,
		read: (/** @type {Uint8Array} */ block, /** @type {Pixels} */ out) => {
		for (let i = 0; i < 64; i++) out[i] = i % 4 === 3 ? 255 : 0;
		for (let k = 0; k < channels; k++) readScalars(block, 8 * k, k, out);
	} });
	if (vkFormat === 139) return scalars(1);
	if (vkFormat === 141) return scalars(2);
	if (vkFormat === 145 || vkFormat === 146) return { width: 4, height: 4, bytes: 16, read: readBc7 };
	if (vkFormat === 143) return { width: 4, height: 4, bytes: 16, read: readBc6h, pixels: Uint16Array };
	const srgb = vkFormat % 2 === 0;
	const sides = astcSides[srgb ? vkFormat - 1 : vkFormat];
	return sides ? { width: sides[0], height: sides[1], bytes: 16,
		/**
		 * @param {Uint8Array} block
		 * @param {Pixels} out
		 */
		read: (block, out) => readAstc(block, sides, srgb, out) } : null;
}

/** @param {number} vkFormat */
export const canDecode = (vkFormat) => codecOf(vkFormat) !== null;

/**
 * Pixels of a level, four bytes each (R, G, B, A as stored: sRGB stays sRGB); channels that the format lacks are 0,
 * alpha 255. BC6H gives a Uint16Array of half floats.
 * @param {number} vkFormat
 * @param {Uint8Array} data
 * @param {number} width
 * @param {number} height
 */
export async function decodeBlocks(vkFormat, data, width, height) {
	const codec = codecOf(vkFormat);
	if (!codec) throw new Error(`VkFormat ${vkFormat} is not made of blocks that are known here`);
	const across = Math.ceil(width / codec.width);
	const down = Math.ceil(height / codec.height);
	if (data.length < across * down * codec.bytes) throw new Error('the texture ends before its last block');
	const { pixels: Pixels = Uint8Array } = codec;
	const pixels = new Pixels(4 * width * height);
	const out = new Pixels(4 * codec.width * codec.height);
	let breath = performance.now() + BREATH;
	for (let row = 0; row < down; row++) {
		for (let column = 0; column < across; column++) {
			const at = (row * across + column) * codec.bytes;
			codec.read(data.subarray(at, at + codec.bytes), out);
			const wide = Math.min(codec.width, width - column * codec.width);
			for (let y = 0; y < codec.height && row * codec.height + y < height; y++) {
				const from = 4 * y * codec.width;
				pixels.set(out.subarray(from, from + 4 * wide),
					4 * ((row * codec.height + y) * width + column * codec.width));
			}
		}
		if (performance.now() < breath) continue;
		await new Promise((resolve) => setTimeout(resolve));
		breath = performance.now() + BREATH;
	}
	return pixels;
}

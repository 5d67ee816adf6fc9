/**
 * hob-delta.js - finds the bytes of a packed file that must be fetched, given an older file of the same kind.
 *
 * A file's table has a digest of each section, and its section RNGS digests of each mesh's part of the sections. Bytes
 * with the same digest are copied from the older file, wherever they are in it. The digests are no proof: check the
 * result against the SHA-256 of the whole file.
 */
import { constants, hex, isPack, readRecord, records } from './hob-format.js';

/** @import { Row } from './hob-format.js' */

const tableBytes = 4096;
const gapBytes = 4096; // smaller gaps of known bytes are fetched again: another request costs more
const rangeType = 'R'.charCodeAt(0) | ('N'.charCodeAt(0) << 8) | ('G'.charCodeAt(0) << 16) | ('S'.charCodeAt(0) << 24);

/** @param {Uint8Array} bytes */
const viewOf = (bytes) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/**
 * @param {Uint8Array} bytes
 * @returns {Row | null}
 */
function readHeader(bytes) {
	if (!isPack(bytes)) return null;
	const header = readRecord('header', viewOf(bytes), 0);
	const known = header.ver_major === constants.VERSION_MAJOR && header.header_bytes >= records.header.bytes
		&& header.entry_bytes >= records.section.bytes;
	return known ? { ...header, tableEnd: header.header_bytes + header.section_count * header.entry_bytes } : null;
}

/**
 * @param {Uint8Array} bytes
 * @param {Row} header
 * @returns {Row[]}
 */
function readSections(bytes, header) {
	return Array.from({ length: header.section_count }, (_, i) => {
		const section = readRecord('section', viewOf(bytes), header.header_bytes + i * header.entry_bytes);
		return { ...section, end: section.offset + section.stored_bytes };
	});
}

/**
 * @param {Uint8Array} bytes
 * @param {Row[]} sections
 */
function readRanges(bytes, sections) {
	const section = sections.find(({ type }) => type === rangeType);
	if (!section || section.codec !== constants.CODEC_RAW || section.stride !== records.range.bytes
			|| section.end > bytes.length) return [];
	return Array.from({ length: section.count },
		(_, i) => readRecord('range', viewOf(bytes), section.offset + i * section.stride));
}

/**
 * @param {Uint8Array} digest
 * @param {number} size
 */
const keyOf = (digest, size) => `${hex(digest)}.${size}`;

/**
 * Offsets of bytes in the older file: {key: offset}.
 * @param {Uint8Array} older
 */
function indexOf(older) {
	const header = readHeader(older);
	/** @type {Map<string, number>} */
	const found = new Map();
	if (!header || header.tableEnd > older.length) return found;
	const sections = readSections(older, header);
	for (const { digest, stored_bytes: size, offset, end } of sections) if (end <= older.length) found.set(keyOf(digest,
			size), offset);
	for (const { digest, size, offset } of readRanges(older, sections)) if (offset
			+ size <= older.length) found.set(keyOf(digest, size), offset);
	return found;
}

/**
 * Copies all known bytes to `whole`; returns [first, end] of the missing ones, ascending.
 * @param {Uint8Array} whole
 * @param {Row[]} sections
 * @param {number} came
 * @param {Uint8Array} older
 * @param {Map<string, number>} known
 */
function plan(whole, sections, came, older, known) {
	/** @type {[number, number][]} */
	const needs = [];
	/**
	 * @param {number} first
	 * @param {number} end
	 */
	const need = (first, end) => {
		if (first >= end) return;
		const last = needs.at(-1);
		if (last && first <= last[1] + gapBytes) last[1] = end;
		else needs.push([first, end]);
	};
	/**
	 * @param {Uint8Array} digest
	 * @param {number} size
	 * @param {number} to
	 */
	const take = (digest, size, to) => {
		const from = known.get(keyOf(digest, size));
		if (from !== undefined) whole.set(older.subarray(from, from + size), to);
		return from !== undefined;
	};
	const ranges = readRanges(whole, sections);
	let next = 0;
	for (const section of sections) {
		if (section.type === rangeType || section.end <= came
				|| take(section.digest, section.stored_bytes, section.offset)) continue;
		let at = section.offset;
		for (; next < ranges.length && ranges[next].offset < section.end; next++) {
			const { offset, size, digest } = ranges[next];
			if (offset < at || offset + size > section.end) continue;
			need(at, offset);
			if (!take(digest, size, offset)) need(offset, offset + size);
			at = offset + size;
		}
		need(at, section.end);
	}
	return needs;
}

/**
 * @param {Uint8Array} older
 * @param {(first: number, end: number) => Promise<{bytes: Uint8Array, total: number}>} fetchRange
 * @returns {Promise<Uint8Array | null>} all bytes, not yet verified; null: not possible, fetch the whole file
 */
export async function fetchDelta(older, fetchRange) {
	if (!readHeader(older)) return null;
	let { bytes: head, total } = await fetchRange(0, tableBytes);
	const header = readHeader(head);
	if (head.length >= total) return head;
	if (!header || header.file_bytes !== total || header.tableEnd > total) return null;
	if (header.tableEnd > head.length) ({ bytes: head } = await fetchRange(0, header.tableEnd));
	const sections = readSections(head, header);
	if (sections.some((section, i) => section.end > total
			|| section.offset < (i ? sections[i - 1].end : header.tableEnd))) return null;
	const whole = new Uint8Array(total);
	whole.set(head);
	const known = indexOf(older);
	const ranges = sections.find(({ type }) => type === rangeType);
	if (ranges && ranges.end > head.length) {
		const from = known.get(keyOf(ranges.digest, ranges.stored_bytes));
		whole.set(from === undefined ? (await fetchRange(ranges.offset, ranges.end)).bytes
				: older.subarray(from, from + ranges.stored_bytes), ranges.offset);
	}
	await Promise.all(plan(whole, sections, head.length, older, known)
			.map(async ([first, end]) => whole.set((await fetchRange(first, end)).bytes, first)));
	return whole;
}

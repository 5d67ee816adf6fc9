// The JavaScript reader, compared with the C description of the same files (tests/data/formats/*.json).
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { FormatError, NONE, Pack, constants, hex, meshAttributes, meshLevels } from '../../../web/client/hob-format.js';

const data = (name) => new URL(`../../data/formats/${name}`, import.meta.url);
const load = (name) => new Uint8Array(readFileSync(data(name)).slice());
const described = (name) => JSON.parse(readFileSync(data(`${name}.json`), 'utf8'));

/** Compares a value of the reader with the description, which has bytes as hex, 32-bit floats, and infinities as
 * words. */
function same(got, want, path) {
	if (got instanceof Uint8Array) assert.equal(hex(got), want, path);
	else if (Array.isArray(want)) {
		assert.equal(got.length, want.length, path);
		want.forEach((value, i) => same(got[i], value, `${path}[${i}]`));
	} else if (want !== null && typeof want === 'object') {
		assert.deepEqual(Object.keys(got), Object.keys(want), path);
		for (const key of Object.keys(want)) same(got[key], want[key], `${path}.${key}`);
	} else if (typeof got === 'number' && want === 'inf') assert.equal(got, Infinity, path);
	else if (typeof got === 'number' && !Number.isInteger(want)) assert.equal(got, Math.fround(want), path);
	else assert.equal(typeof got === 'number' && Math.abs(got) > 1e15 ? Math.fround(want) : want, got, path);
}

for (const name of ['raw.meshes', 'raw.materials', 'raw.scene', 'raw.animations', 'encoded.meshes'])
	test(`${name} reads as C describes it`, () => {
		const pack = new Pack(load(name));
		const want = described(name);
		assert.equal(pack.kind, want.kind);
		assert.equal(hex(pack.header.digest), want.digest);
		assert.equal(pack.header.prefix_bytes, want.prefix_bytes);
		pack.sections.forEach((section, i) => {
			assert.equal(section.type, want.sections[i].type);
			assert.equal(section.offset, want.sections[i].offset);
			assert.equal(hex(section.digest), want.sections[i].digest);
		});
		same(pack.describe(), want.records, name);
	});

test('vertices and indices are views of the file', () => {
	const pack = new Pack(load('raw.meshes'));
	const [quad, arm, wire, none] = pack.rows('MDSC');
	const position = meshAttributes(pack, quad).find((a) => a.semantic === constants.SEMANTIC_POSITION);
	const floats = pack.array(position.section);
	assert.equal(floats.buffer, pack.bytes.buffer);
	assert.deepEqual(Array.from(new Float32Array(floats.buffer, floats.byteOffset, 12)), [0, 0, 0, 2, 0, 0, 2, 1, 0, 0, 1, 0]);
	assert.equal(meshAttributes(pack, wire)[0].start, 4 * 12);
	assert.equal(meshAttributes(pack, arm).length, 5);
	assert.deepEqual(meshAttributes(pack, none), []);
	const levels = meshLevels(pack, quad);
	const indices = pack.array(levels[1].section);
	assert.ok(indices instanceof Uint16Array);
	assert.equal(levels[1].attributes, null);
	assert.deepEqual(Array.from(indices.subarray(levels[1].first_index, levels[1].first_index + levels[1].index_count)), [0, 1, 2]);
});

test('links are found by node', () => {
	const pack = new Pack(load('raw.scene'));
	assert.equal(pack.link('LMSH', 4), 1);
	assert.equal(pack.link('LMSH', 0), NONE);
	assert.equal(pack.link('LCAM', 5), 0);
});

test('a prefix is enough for the tables', () => {
	const whole = load('raw.meshes');
	const { prefix_bytes } = new Pack(whole).header;
	const pack = new Pack(whole.slice(0, prefix_bytes), { prefix: true });
	assert.equal(pack.rows('MDSC')[0].name, 'quad');
	assert.throws(() => pack.array(pack.find('VTX_')), FormatError);
	assert.throws(() => new Pack(whole.slice(0, prefix_bytes)), FormatError);
});

test('encoded sections go through the decoder', () => {
	const pack = new Pack(load('encoded.meshes'));
	const section = pack.sections.find((s) => s.codec !== constants.CODEC_RAW);
	assert.throws(() => pack.decode(section), FormatError);
	const calls = [];
	const note = (out, count, stride, stored) => calls.push([out.length, count, stride, stored.length]);
	pack.decode(section, { decodeVertexBuffer: note, decodeIndexBuffer: note, decodeIndexSequence: note });
	assert.deepEqual(calls, [[section.raw_bytes, section.count, section.stride, section.stored_bytes]]);
});

test('damaged headers and tables are refused, never misread', () => {
	const good = load('raw.scene');
	for (let at = 0; at < 64 + 64 * 6; at++) {
		const bytes = good.slice();
		bytes[at] ^= 0xff;
		try {
			new Pack(bytes).describe();
		} catch (error) {
			assert.ok(error instanceof FormatError || error instanceof RangeError || error instanceof TypeError, `${at}: ${error.stack}`);
		}
	}
});

test('a section of elements without bytes is refused, not read four billion times', () => {
	const bytes = load('raw.scene');
	const view = new DataView(bytes.buffer, bytes.byteOffset);
	const at = 64 + 64 * new Pack(bytes).sections.findIndex((section) => section.type === 'SUBT');
	view.setBigUint64(at + 16, 0n, true); // stored
	view.setBigUint64(at + 24, 0n, true); // raw
	view.setUint32(at + 32, 0xffffffff, true);
	view.setUint32(at + 36, 0, true); // stride
	assert.throws(() => new Pack(bytes), FormatError);
	view.setUint32(at + 36, 4, true);
	view.setBigUint64(at + 24, 4n * 0xffffffffn, true);
	assert.throws(() => new Pack(bytes), FormatError);
});

#include "usd_crate.h"

/* ---- reading */

hob_bytes hob_usd_take_bytes(hob_usd_cursor *c, uint64_t size)
{
	if (c->failed || c->at > c->file.size || size > c->file.size - c->at) {
		if (c->in_value)
			hob_leave(TRUNCATED, "the file ends within a value");
		c->failed = true;
		return (hob_bytes){0};
	}
	hob_bytes taken = {c->file.data + c->at, (size_t)size};
	c->at += (size_t)size;
	return taken;
}

uint8_t hob_usd_take_u8(hob_usd_cursor *c)
{
	hob_bytes b = hob_usd_take_bytes(c, 1);
	return c->failed ? 0 : b.data[0];
}

uint32_t hob_usd_take_u32(hob_usd_cursor *c)
{
	hob_bytes b = hob_usd_take_bytes(c, 4);
	return c->failed ? 0 : hob_load_u32(b.data);
}

uint64_t hob_usd_take_u64(hob_usd_cursor *c)
{
	hob_bytes b = hob_usd_take_bytes(c, 8);
	return c->failed ? 0 : hob_load_u64(b.data);
}

double hob_usd_take_f64(hob_usd_cursor *c)
{
	uint64_t bits = hob_usd_take_u64(c);
	double value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

/* ---- LZ4 */

/* Reads the rest of a length of 15: further bytes to add, up to the first that is not 255. */
static bool take_length(const uint8_t **at, const uint8_t *end, size_t *length)
{
	uint8_t more = 255;
	if (*length != 15)
		return true;
	while (more == 255) {
		if (*at == end)
			return false;
		more = *(*at)++;
		*length += more;
	}
	return true;
}

static bool lz4_block(hob_bytes packed, uint8_t *out, size_t room, size_t *made)
{
	const uint8_t *at = packed.data, *end = packed.data + packed.size;
	size_t size = 0;
	while (at < end) {
		uint8_t token = *at++;
		size_t literals = token >> 4, match = token & 15, back;
		if (!take_length(&at, end, &literals) || literals > (size_t)(end - at) || literals > room - size)
			return false;
		memcpy(out + size, at, literals);
		at += literals;
		size += literals;
		if (at == end)
			break;
		if (end - at < 2)
			return false;
		back = hob_load_u16(at);
		at += 2;
		if (!take_length(&at, end, &match))
			return false;
		match += 4;
		if (back == 0 || back > size || match > room - size)
			return false;
		for (size_t i = 0; i < match; i++, size++)
			out[size] = out[size - back];
	}
	*made = size;
	return true;
}

bool hob_usd_unpack(hob_bytes packed, uint8_t *out, size_t size, size_t *made)
{
	if (packed.size < 1)
		return false;
	uint32_t blocks = packed.data[0];
	hob_usd_cursor c = {{packed.data + 1, packed.size - 1}, 0, false, false};
	*made = 0;
	if (blocks == 0)
		return lz4_block(c.file, out, size, made);
	for (uint32_t i = 0; i < blocks; i++) {
		size_t part;
		hob_bytes block = hob_usd_take_bytes(&c, hob_usd_take_u32(&c));
		if (c.failed || !lz4_block(block, out + *made, size - *made, &part))
			return false;
		*made += part;
	}
	return true;
}

bool hob_usd_may_unpack(uint64_t stored, uint64_t raw)
{
	return raw / 255 <= stored + 16;
}

/* ---- integers */

/* Decodes integers: the most common delta, a two-bit width code per number, then the other deltas. */
static bool decode(const uint8_t *raw, size_t size, uint64_t count, uint32_t width, void *out)
{
	size_t codes = (size_t)(count * 2 + 7) / 8;
	hob_usd_cursor c = {{raw, size}, 0, false, false};
	int64_t common = width == 4 ? (int32_t)hob_usd_take_u32(&c) : (int64_t)hob_usd_take_u64(&c);
	hob_bytes code = hob_usd_take_bytes(&c, codes);
	uint64_t sum = 0;
	for (uint64_t i = 0; i < count && !c.failed; i++) {
		int64_t delta = common;
		uint32_t kind = code.data[i / 4] >> (i % 4 * 2) & 3,
				 bytes = kind == 0 ? 0 : (width == 4 ? 1u : 2u) << (kind - 1);
		hob_bytes b = hob_usd_take_bytes(&c, bytes);
		if (bytes == 1)
			delta = c.failed ? 0 : (int8_t)b.data[0];
		else if (bytes == 2)
			delta = c.failed ? 0 : (int16_t)hob_load_u16(b.data);
		else if (bytes == 4)
			delta = c.failed ? 0 : (int32_t)hob_load_u32(b.data);
		else if (bytes == 8)
			delta = c.failed ? 0 : (int64_t)hob_load_u64(b.data);
		sum += (uint64_t)delta;
		if (width == 4)
			((uint32_t *)out)[i] = (uint32_t)sum;
		else
			((uint64_t *)out)[i] = sum;
	}
	return !c.failed;
}

void *hob_usd_unpack_ints(hob_usd_crate *c, hob_usd_cursor *at, uint64_t count, uint32_t width)
{
	hob_arena *arena = c->u->scratch;
	hob_usd_cursor inner = {at->file, at->at, at->failed, false};
	hob_bytes packed = hob_usd_take_bytes(&inner, hob_usd_take_u64(&inner));
	if (inner.failed)
		hob_leave(TRUNCATED, "the file ends within packed numbers");
	at->at = inner.at;
	if (count > (uint64_t)1 << 32 || !hob_usd_may_unpack(packed.size, count / 4))
		hob_leave(CORRUPT, "%zu packed bytes cannot hold %llu numbers", packed.size,
				  (unsigned long long)count);
	size_t most = (size_t)(width + (count * 2 + 7) / 8 + count * width), made;
	void *out = hob_arena_array(arena, (size_t)count + 1, width, 8);
	hob_arena_mark mark = hob_arena_save(arena);
	uint8_t *raw = HOB_NEW(arena, uint8_t, most);
	if (count > 0 && !(hob_usd_unpack(packed, raw, most, &made) && decode(raw, made, count, width, out)))
		hob_leave(CORRUPT, "packed numbers are damaged");
	hob_arena_restore(arena, mark);
	return out;
}

#include "zip.h"

#include <libdeflate.h>

enum {
	END_SIZE = 22,
	ENTRY_SIZE = 46,
	LOCAL_SIZE = 30,
	COMMENT_MAX = 65535,
	STORED = 0,
	DEFLATED = 8,
	ENCRYPTED = 1,
	LOCATOR_SIZE = 20, /* size of the locator of the 64-bit end record */
	WIDE_END_SIZE = 56,
	WIDE = 1 /* id of the extra field with 64-bit numbers */
};

static const uint32_t elsewhere = 0xFFFFFFFF; /* the value is in the 64-bit record */

static bool is_at(hob_bytes zip, size_t at, size_t size, const char *magic)
{
	return at <= zip.size && size <= zip.size - at && memcmp(zip.data + at, magic, 4) == 0;
}

static bool find_wide_end(size_t end, hob_zip *zip)
{
	if (end < LOCATOR_SIZE || !is_at(zip->bytes, end - LOCATOR_SIZE, LOCATOR_SIZE, "PK\006\007"))
		return false;
	uint64_t at = hob_load_u64(zip->bytes.data + end - LOCATOR_SIZE + 8);
	if (!is_at(zip->bytes, at, WIDE_END_SIZE, "PK\006\006"))
		return false;
	zip->directory = hob_load_u64(zip->bytes.data + at + 48);
	return true;
}

/* The end record locates the directory; it follows the directory, before the archive's comment. */
bool hob_zip_open(hob_bytes file, hob_zip *out)
{
	for (size_t back = END_SIZE; back <= file.size && back <= END_SIZE + COMMENT_MAX; back++) {
		size_t end = file.size - back;
		if (!is_at(file, end, END_SIZE, "PK\005\006"))
			continue;
		*out = (hob_zip){file, hob_load_u32(file.data + end + 16), hob_load_u16(file.data + end + 10)};
		return out->directory != elsewhere || find_wide_end(end, out);
	}
	return false;
}

/* Reads the numbers that the extra field holds instead of the entry, in a fixed order. */
static bool read_wide(const uint8_t *entry, size_t *const numbers[3])
{
	const uint8_t *extra = entry + ENTRY_SIZE + hob_load_u16(entry + 28);
	const uint8_t *end = extra + hob_load_u16(entry + 30);
	bool all = true;
	for (int i = 0; i < 3; i++)
		all = all && *numbers[i] != elsewhere;
	while (!all && end - extra >= 4 && hob_load_u16(extra + 2) <= end - extra - 4) {
		const uint8_t *at = extra + 4;
		bool wide = hob_load_u16(extra) == WIDE;
		extra = at + hob_load_u16(extra + 2);
		for (int i = 0; i < 3 && wide; i++)
			if (*numbers[i] == elsewhere && extra - at >= 8) {
				*numbers[i] = hob_load_u64(at);
				at += 8;
			}
		all = wide;
	}
	return all;
}

static bool describe(const hob_zip *zip, const uint8_t *entry, hob_zip_member *out)
{
	uint32_t flags = hob_load_u16(entry + 8), method = hob_load_u16(entry + 10);
	size_t packed = hob_load_u32(entry + 20), size = hob_load_u32(entry + 24), at = hob_load_u32(entry + 42);
	if ((flags & ENCRYPTED) || (method != STORED && method != DEFLATED) ||
		!read_wide(entry, (size_t *const[]){&size, &packed, &at}) ||
		!is_at(zip->bytes, at, LOCAL_SIZE, "PK\003\004"))
		return false;
	const uint8_t *local = zip->bytes.data + at;
	at += LOCAL_SIZE + (size_t)hob_load_u16(local + 26) + hob_load_u16(local + 28);
	if (at > zip->bytes.size || packed > zip->bytes.size - at)
		return false;
	out->packed = (hob_bytes){zip->bytes.data + at, packed};
	out->stored = method == STORED;
	out->size = out->stored ? packed : size;
	return true;
}

bool hob_zip_next(const hob_zip *zip, size_t *at, hob_zip_member *out)
{
	if (*at == 0)
		*at = zip->directory;
	while (is_at(zip->bytes, *at, ENTRY_SIZE, "PK\001\002")) {
		const uint8_t *entry = zip->bytes.data + *at;
		size_t name = hob_load_u16(entry + 28);
		size_t whole = ENTRY_SIZE + name + hob_load_u16(entry + 30) + hob_load_u16(entry + 32);
		if (whole > zip->bytes.size - *at)
			return false;
		*at += whole;
		out->name = (hob_str){(const char *)entry + ENTRY_SIZE, name};
		if (describe(zip, entry, out))
			return true;
	}
	return false;
}

bool hob_zip_find(const hob_zip *zip, hob_str name, hob_zip_member *out)
{
	size_t at = 0;
	while (hob_zip_next(zip, &at, out))
		if (hob_str_equal(out->name, name))
			return true;
	return false;
}

bool hob_zip_find_suffix(const hob_zip *zip, hob_str suffix, hob_zip_member *out)
{
	size_t at = 0;
	while (hob_zip_next(zip, &at, out))
		if (hob_str_ends_nocase(out->name, suffix))
			return true;
	return false;
}

bool hob_zip_unpack(hob_arena *arena, const hob_zip_member *member, size_t most, hob_bytes *out)
{
	if (member->size == 0 || member->size > most)
		return false;
	if (member->stored) {
		*out = member->packed;
		return true;
	}
	uint8_t *data = HOB_NEW(arena, uint8_t, member->size);
	struct libdeflate_decompressor *inflater = libdeflate_alloc_decompressor();
	bool done = inflater && libdeflate_deflate_decompress(inflater, member->packed.data, member->packed.size,
														  data, member->size, NULL) == LIBDEFLATE_SUCCESS;
	if (inflater)
		libdeflate_free_decompressor(inflater);
	*out = (hob_bytes){data, member->size};
	return done;
}

bool hob_gzip_unpack(hob_arena *arena, hob_bytes file, size_t most, hob_bytes *out)
{
	if (file.size < 18 || file.data[0] != 0x1F || file.data[1] != 0x8B)
		return false;
	/* The last four bytes are the size; deflate expands at most 1032 times. */
	size_t size = hob_load_u32(file.data + file.size - 4);
	if (size == 0 || size > most || size / 1032 > file.size)
		return false;
	uint8_t *data = (uint8_t *)hob_arena_alloc(arena, size, 16);
	struct libdeflate_decompressor *inflater = libdeflate_alloc_decompressor();
	bool done = inflater && libdeflate_gzip_decompress(inflater, file.data, file.size, data, size, NULL) ==
								LIBDEFLATE_SUCCESS;
	if (inflater)
		libdeflate_free_decompressor(inflater);
	*out = (hob_bytes){data, done ? size : 0};
	return done;
}

#include "assimp_zip.h"

#include <libdeflate.h>

enum { END_SIZE = 22, ENTRY_SIZE = 46, LOCAL_SIZE = 30, COMMENT_MAX = 65535, STORED = 0, DEFLATED = 8 };

static bool is_at(hob_bytes zip, size_t at, size_t size, const char *magic)
{
	return at <= zip.size && size <= zip.size - at && memcmp(zip.data + at, magic, 4) == 0;
}

/* Offset of the central directory; the record that says so stands behind it, before a comment. */
static bool find_directory(hob_bytes zip, size_t *at, uint32_t *count)
{
	for (size_t back = END_SIZE; back <= zip.size && back <= END_SIZE + COMMENT_MAX; back++) {
		size_t end = zip.size - back;
		if (!is_at(zip, end, END_SIZE, "PK\005\006"))
			continue;
		*count = hob_load_u16(zip.data + end + 10);
		*at = hob_load_u32(zip.data + end + 16);
		return true;
	}
	return false;
}

static bool unpack(hob_arena *arena, const uint8_t *entry, hob_bytes zip, size_t most, hob_bytes *out)
{
	uint32_t method = hob_load_u16(entry + 10), packed = hob_load_u32(entry + 20);
	size_t size = hob_load_u32(entry + 24), at = hob_load_u32(entry + 42);
	if (size == 0 || size > most || !is_at(zip, at, LOCAL_SIZE, "PK\003\004"))
		return false;
	at += LOCAL_SIZE + (size_t)hob_load_u16(zip.data + at + 26) + hob_load_u16(zip.data + at + 28);
	if (at > zip.size || packed > zip.size - at)
		return false;
	if (method == STORED) {
		*out = (hob_bytes){zip.data + at, packed};
		return true;
	}
	struct libdeflate_decompressor *inflater = method == DEFLATED ? libdeflate_alloc_decompressor() : NULL;
	uint8_t *data = inflater ? HOB_NEW(arena, uint8_t, size) : NULL;
	bool done = data && libdeflate_deflate_decompress(inflater, zip.data + at, packed, data, size, NULL) ==
							LIBDEFLATE_SUCCESS;
	if (inflater)
		libdeflate_free_decompressor(inflater);
	*out = (hob_bytes){data, size};
	return done;
}

bool hob_assimp_zip_member(hob_arena *arena, hob_bytes zip, hob_str suffix, size_t most, hob_bytes *out)
{
	size_t at;
	uint32_t count;
	if (!find_directory(zip, &at, &count))
		return false;
	for (uint32_t i = 0; i < count && is_at(zip, at, ENTRY_SIZE, "PK\001\002"); i++) {
		const uint8_t *entry = zip.data + at;
		size_t name = hob_load_u16(entry + 28);
		size_t whole = ENTRY_SIZE + name + hob_load_u16(entry + 30) + hob_load_u16(entry + 32);
		if (whole > zip.size - at)
			return false;
		if (hob_str_ends_nocase((hob_str){(const char *)entry + ENTRY_SIZE, name}, suffix))
			return unpack(arena, entry, zip, most, out);
		at += whole;
	}
	return false;
}

/* usd_crate.h - the binary format of USD, for usd_crate.c: compressed numbers (usd_crate_pack.c) and values
 * (usd_crate_value.c).
 *
 * All input is checked: counts against the bytes that could hold them before allocation, offsets against the
 * file, indices against their tables; nested values are at most HOB_LIMIT_USD_DICTIONARY_DEPTH deep. Source:
 * OpenUSD v24.08, pxr/usd/usd/crateFile.cpp, integerCoding.cpp, crateDataTypes.h;
 * pxr/base/tf/fastCompression.cpp. */
#ifndef HOB_USD_CRATE_H
#define HOB_USD_CRATE_H

#include "usd_private.h"

typedef struct hob_usd_crate {
	hob_usd *u;
	hob_usd_layer *layer;
	hob_bytes file;
	uint32_t version; /* major * 10000 + minor * 100 + patch: 700 for 0.7.0 */
	hob_str *tokens;
	uint32_t *strings; /* tokens */
	uint32_t *field_tokens;
	uint64_t *field_values;
	uint32_t *field_sets;
	uint32_t *path_parent, *path_token; /* of each path; the root's parent is HOB_NONE */
	bool *path_is_property;
	hob_str *path_text;	  /* built on demand */
	uint32_t *path_order; /* parents before children */
	uint64_t token_count, string_count, field_count, set_count, path_count, ordered_count;
	hob_usd_map known; /* value rep -> value already read */
	hob_usd_value *values;
	uint32_t value_count;
} hob_usd_crate;

/* Reads consecutive numbers; past the end of the file `failed` is set and reads return 0. */
typedef struct hob_usd_cursor {
	hob_bytes file;
	size_t at;
	bool failed;
	bool in_value; /* instead raises TRUNCATED */
} hob_usd_cursor;

uint8_t hob_usd_take_u8(hob_usd_cursor *c);
uint32_t hob_usd_take_u32(hob_usd_cursor *c);
uint64_t hob_usd_take_u64(hob_usd_cursor *c);
double hob_usd_take_f64(hob_usd_cursor *c);
/* The next `size` bytes; {0} and `failed` when fewer remain. */
hob_bytes hob_usd_take_bytes(hob_usd_cursor *c, uint64_t size);

/* ---- usd_crate_pack.c ---- */

/* LZ4 blocks into at most `size` bytes; *made is the unpacked size. False when the blocks are damaged. */
bool hob_usd_unpack(hob_bytes packed, uint8_t *out, size_t size, size_t *made) HOB_MUST_CHECK;
/* Reads a u64 size and that many bytes; unpacks them to `count` integers of `width` bytes, in scratch. */
void *hob_usd_unpack_ints(hob_usd_crate *c, hob_usd_cursor *at, uint64_t count, uint32_t width);
/* Whether `stored` bytes can unpack to `raw` bytes. */
bool hob_usd_may_unpack(uint64_t stored, uint64_t raw);

/* ---- usd_crate_value.c ---- */

hob_usd_value hob_usd_crate_value(hob_usd_crate *c, uint64_t rep, uint32_t depth);
/* The specifier stored in a rep. */
hob_usd_specifier hob_usd_crate_specifier(uint64_t rep);

#endif

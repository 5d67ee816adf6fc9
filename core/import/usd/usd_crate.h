/* usd_crate.h - the binary format of USD: compressed numbers (usd_crate_pack.c), values (usd_crate_value.c),
 * for usd_crate.c.
 *
 * Nothing of a file is trusted: counts are checked against the bytes that could hold them before memory is
 * taken, offsets against the file, indices against their tables, and values in values nest
 * HOB_LIMIT_USD_DICTIONARY_DEPTH deep at most. Source: OpenUSD v24.08, pxr/usd/usd/crateFile.cpp,
 * integerCoding.cpp, crateDataTypes.h; pxr/base/tf/fastCompression.cpp. */
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
	hob_str *path_text;	  /* made when asked for */
	uint32_t *path_order; /* parents before children */
	uint64_t token_count, string_count, field_count, set_count, path_count, ordered_count;
	hob_usd_map known; /* value rep -> values that were read already */
	hob_usd_value *values;
	uint32_t value_count, value_room;
	hob_error *err;
} hob_usd_crate;

/* Reads numbers one behind the other; at the end of the file `failed` is set and zeros come. */
typedef struct hob_usd_cursor {
	hob_bytes file;
	size_t at;
	bool failed;
} hob_usd_cursor;

uint8_t hob_usd_take_u8(hob_usd_cursor *c);
uint32_t hob_usd_take_u32(hob_usd_cursor *c);
uint64_t hob_usd_take_u64(hob_usd_cursor *c);
double hob_usd_take_f64(hob_usd_cursor *c);
/* The next `size` bytes; {0} with `failed` when there are not as many. */
hob_bytes hob_usd_take_bytes(hob_usd_cursor *c, uint64_t size);

/* ---- usd_crate_pack.c ---- */

/* Blocks of LZ4 into exactly `size` bytes or fewer; *made says how many. False when the blocks are
 * damaged. */
bool hob_usd_unpack(hob_bytes packed, uint8_t *out, size_t size, size_t *made) HOB_MUST_CHECK;
/* A u64 size, then so many bytes of packed integers: `count` of them, 4 or 8 bytes each, in scratch. */
bool hob_usd_unpack_ints(hob_usd_crate *c, hob_usd_cursor *at, uint64_t count, uint32_t width,
						 void **out) HOB_MUST_CHECK;
/* How much `stored` bytes can unpack to. */
bool hob_usd_may_unpack(uint64_t stored, uint64_t raw);
float hob_usd_half(uint16_t bits);

/* ---- usd_crate_value.c ---- */

bool hob_usd_crate_value(hob_usd_crate *c, uint64_t rep, uint32_t depth, hob_usd_value *out) HOB_MUST_CHECK;
/* The specifier that a rep holds. */
hob_usd_specifier hob_usd_crate_specifier(uint64_t rep);

#endif

/* pack_build.h - the container half of the packed writers: strings, sections, layout of the file, digests.
 *
 * A writer adds sections in file order (those without the GPU flag first) within hob_pack_write, where it
 * need not check for memory. Section data is borrowed until the end. */
#ifndef HOB_PACK_BUILD_H
#define HOB_PACK_BUILD_H

#include "pack_layout.h"
#include "pack_write.h"

typedef struct pack_section {
	hob_pk_section entry;
	hob_bytes *pieces; /* the data of the section, in order */
	uint32_t piece_count;
	uint16_t codec; /* to try when encoding; HOB_PK_CODEC_RAW = never */
	hob_bytes stored;
} pack_section;

typedef struct pack_builder {
	hob_arena *arena;
	const hob_pack_options *options;
	hob_error *err;
	bool failed; /* by a limit: there will be no file */
	uint32_t flags;
	uint16_t ver_minor; /* the lowest version whose readers know everything in the file */
	pack_section *sections;
	uint32_t section_count, section_room;
	uint32_t ranges; /* index of RNGS, 0: the file has none */
	hob_buf strings;
	uint32_t *string_slots; /* open addressing: offset + 1 */
	uint32_t string_count, string_room;
} pack_builder;

/* Appends the file of the sections that `put` adds. */
bool hob_pack_write(uint32_t kind, void (*put)(pack_builder *builder, const void *from), const void *from,
					const hob_pack_options *options, hob_buf *out, hob_error *err) HOB_MUST_CHECK;

/* Refuses what does not fit a file; the first reason counts. */
#define hob_pack_refuse(builder, ...)                                                                        \
	((builder)->failed = (builder)->failed || !hob_fail((builder)->err, LIMIT, __VA_ARGS__))

/* Offset of the string in STRS; equal strings share one. Invalid UTF-8 and NULs become U+FFFD. */
uint32_t hob_pack_add_string(pack_builder *builder, hob_str s);

/* Zeroed memory until the file is written, aligned to 16. */
#define PACK_NEW(builder, type, count) ((type *)hob_arena_array((builder)->arena, (count), sizeof(type), 16))

/* Adds a section of one piece. STRS is section 0: the first section added is number 1. */
pack_section *hob_pack_add(pack_builder *builder, uint32_t type, const void *data, size_t count,
						   uint32_t stride);
/* Adds a section of `count` records and returns them, all zero, to be filled. */
#define PACK_TABLE(builder, section, type, count)                                                            \
	((type *)hob_pack_table((builder), (section), (count), sizeof(type)))
void *hob_pack_table(pack_builder *builder, uint32_t type, size_t count, uint32_t stride);
/* Like hob_pack_add, for several pieces; their array is borrowed, too. */
pack_section *hob_pack_add_pieces(pack_builder *builder, uint32_t type, hob_bytes *pieces,
								  uint32_t piece_count, size_t count, uint32_t stride);
/* Like hob_pack_add_pieces, for a section after the prefix. */
pack_section *hob_pack_add_gpu(pack_builder *builder, uint32_t type, hob_bytes *pieces, uint32_t piece_count,
							   size_t count, uint32_t stride, uint16_t codec);

/* Adds RNGS, which is filled at the end: a range for each piece of a raw section; small neighbours are
 * joined, sections of one piece are cut into blocks. */
void hob_pack_add_ranges(pack_builder *builder);

#endif

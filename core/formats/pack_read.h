/* pack_read.h - packed files, opened in place.
 *
 * Opening checks the header and the section table against the size, and that records of known sections are at
 * least as long as this reader knows them: after that, every section lies within the file and every record
 * may be read. The contents of records (ids, offsets, counts) are not checked: run hob_pack_validate() on
 * foreign files first, or check each id before use. Nothing is copied or allocated.
 *
 *     hob_pack pack;
 *     if (!hob_pack_open(file, &pack, err)) ...
 *     hob_pack_array meshes = hob_pack_find(&pack, HOB_PK_MDSC);
 *     for (uint32_t i = 0; i < meshes.count; i++) {
 *         const hob_pk_mesh *mesh = HOB_PACK_AT(hob_pk_mesh, meshes, i); */
#ifndef HOB_PACK_READ_H
#define HOB_PACK_READ_H

#include "../base/base.h"
#include "pack_layout.h"

typedef struct hob_pack {
	hob_bytes file;
	const hob_pk_header *header;
	uint32_t kind, section_count;
} hob_pack;

/* A section's elements: `stride` bytes apart, at least as long as the record that this reader knows. */
typedef struct hob_pack_array {
	const uint8_t *data; /* NULL if count is 0, or while the section is encoded */
	uint32_t count, stride;
} hob_pack_array;

#define HOB_PACK_AT(type, array, index)                                                                      \
	((const type *)(const void *)((array).data + (size_t)(index) * (array).stride))

/* True if the bytes begin like a packed file. */
bool hob_pack_is(hob_bytes file);

/* Opens a whole file. `file.data` must be aligned to 8 bytes (malloc, mmap and arenas are). A section type
 * that is unknown is skipped later, or refused here when it must be understood. Errors: TRUNCATED, CORRUPT,
 * NEWER (another major version), UNSUPPORTED (must-understand section, other byte order). Cost: O(sections).
 */
bool hob_pack_open(hob_bytes file, hob_pack *out, hob_error *err) HOB_MUST_CHECK;
/* Likewise, for data at any address: copied into the arena if it is not aligned. Within hob_guarded. */
bool hob_pack_open_anywhere(hob_bytes file, hob_arena *arena, hob_pack *out, hob_error *err) HOB_MUST_CHECK;
bool hob_pack_is_known(uint32_t type); /* whether this reader knows the section type */
const hob_pk_section *hob_pack_section(const hob_pack *pack, uint32_t index); /* NULL if out of range */
/* The first section of a type; empty if there is none. */
hob_pack_array hob_pack_find(const hob_pack *pack, uint32_t type);
/* The elements of section `index`: data is NULL if it is encoded. */
hob_pack_array hob_pack_array_at(const hob_pack *pack, uint32_t index);

/* The elements of section `index`: decoded into the arena if the section is encoded (O(raw bytes)), otherwise
 * in place. If the file is garbage, decoded indices can be, too. Called within hob_guarded. Errors: CORRUPT,
 * UNSUPPORTED (unknown codec). */
bool hob_pack_decode(const hob_pack *pack, uint32_t index, hob_arena *arena, hob_pack_array *out,
					 hob_error *err) HOB_MUST_CHECK;

/* The string at an offset in STRS; empty if the offset is out of range. NUL-terminated. */
hob_str hob_pack_string(const hob_pack *pack, uint32_t offset);

/* The value linked to a node in a section of links (LMSH ...), HOB_PK_NONE when there is none. O(log links).
 */
uint32_t hob_pack_link(hob_pack_array links, uint32_t node);

/* The extras of `index` of an extra_kind (HOB_PK_EXTRA_NODE ...) in a scene file; NULL if there are none.
 * O(log extras). */
const hob_pk_extra *hob_pack_extra(const hob_pack *scene, uint32_t kind, uint32_t index);

/* Name of a section type or kind as text, for messages: 4 characters and a NUL. */
typedef struct hob_fourcc {
	char text[5];
} hob_fourcc;
hob_fourcc hob_fourcc_text(uint32_t fourcc);

#endif

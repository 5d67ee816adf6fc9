/* pack_check.h - shared by the packed validators: a file whose container is valid, with decoded sections.
 * Functions return false with the error set. */
#ifndef HOB_PACK_CHECK_H
#define HOB_PACK_CHECK_H

#include "../base/base.h"
#include "pack_layout.h"

typedef struct check_section {
	hob_pk_section entry;
	const uint8_t *data; /* decoded; [entry.count][entry.stride] */
} check_section;

typedef struct check_file {
	hob_bytes bytes;
	hob_pk_header header;
	check_section *sections;
	const uint8_t *strings;
	uint32_t string_bytes;
	hob_arena *arena;
	hob_error *err;
} check_file;

#define CHECK(file, condition, ...)                                                                          \
	do {                                                                                                     \
		if (!(condition))                                                                                    \
			return hob_fail((file)->err, CORRUPT, __VA_ARGS__);                                              \
	} while (0)

/* Checks container, digests, padding and strings; decodes the sections. */
bool hob_check_container(check_file *file, hob_bytes bytes, hob_arena *arena, hob_error *err);

/* The only section of a type; zeroed if there is none. */
check_section hob_check_find(const check_file *file, uint32_t type);
/* Copies record `index`, as far as this code knows it. */
void hob_check_read(const check_section *section, uint32_t index, void *record, size_t size);
/* Declares `name`, a copy of record `index`. */
#define READ(type, name, section, index)                                                                     \
	hob_pk_##type name;                                                                                      \
	hob_check_read(&(section), (index), &(name), sizeof(name))
uint32_t hob_check_u32(const check_section *section, uint32_t index);

bool hob_check_name(const check_file *file, uint32_t name);
bool hob_check_finite(const float *values, size_t count);
/* Whether all numbers of a section of floats are finite. */
bool hob_check_all_finite(const check_file *file, const check_section *section, const char *what);
/* Checks that first == *cursor and first + count <= limit; then advances the cursor. */
bool hob_check_run(const check_file *file, uint32_t first, uint32_t count, uint32_t *cursor, uint32_t limit,
				   const char *what);

bool hob_check_meshes(const check_file *file);
/* Checks CLST, CLGR and CLUS against each other. hob_check_meshes checks their meshes and meshlets. */
bool hob_check_clusters(const check_file *file);
bool hob_check_materials(const check_file *file);
bool hob_check_scene(const check_file *file);
bool hob_check_animations(const check_file *file);

/* Largest joint index that mesh `mesh` uses, over all vertices; -1 without joints. */
int64_t hob_check_top_joint(const check_file *meshes, uint32_t mesh);

#endif

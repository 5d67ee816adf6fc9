/* cook_memory.h - the memory of one cook. */
#ifndef HOB_COOK_MEMORY_H
#define HOB_COOK_MEMORY_H

#include "cook.h"

#include "../model/baked.h"

/* Owns everything a result refers to; result.arena is its first member. */
typedef struct hob_cook_memory {
	hob_arena result, scratch;
	hob_arena *mesh_result, *mesh_scratch; /* by thread */
	uint32_t thread_count;
	hob_buf packed[4], report;
} hob_cook_memory;

/* Bytes that a cook may use. */
size_t hob_cook_memory_limit(const hob_cook_request *request);

/* NULL if there is no memory. */
hob_cook_memory *hob_cook_memory_new(const hob_cook_request *request);
void hob_cook_memory_free(hob_cook_memory *memory); /* NULL is allowed */

/* Whether `bytes` more are available now. */
bool hob_cook_memory_has(size_t limit, uint64_t bytes);

/* Memory that levels of detail of a large model need in addition to its import, if each level has `ratio` of
 * the triangles of the one before; 0 for up to two million triangles, where trying costs little. */
uint64_t hob_cook_memory_of_levels(const hob_model *model, uint32_t lod_max, float ratio);

#endif

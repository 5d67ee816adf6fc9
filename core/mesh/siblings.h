/* siblings.h - vertices that differ in normal and tangent alone, and which of them suits a triangle. */
#ifndef HOB_SIBLINGS_H
#define HOB_SIBLINGS_H

#include "../model/model.h"

typedef struct hob_siblings {
	/* families; a vertex without siblings is one of its own. One for each vertex: no arrays follow */
	uint32_t count;
	uint32_t *family;  /* [vertex_count] */
	uint32_t *first;   /* [count + 1] into members */
	uint32_t *members; /* [vertex_count] vertices by family, ascending */
} hob_siblings;

/* Memory comes from `arena` and stays. Errors: MEMORY. Cost O(vertices * bytes of a vertex). */
bool hob_siblings_find(const hob_mesh *mesh, hob_arena *arena, hob_siblings *out,
					   hob_error *err) HOB_MUST_CHECK;

/* Lets each corner of each triangle take, of its vertex's family, the member whose normal is nearest to the
 * triangle's own; members whose tangent has the handedness of the triangle's mapping come first; of equals
 * the first.
 * siblings  of fewer families than vertices, here and below
 * indices   [index_count] in and out
 * Returns   how many members were tried: all of a small family, up to 256 of a large one, evenly. */
uint64_t hob_siblings_choose(const hob_siblings *siblings, const hob_mesh *mesh, uint32_t *indices,
							 uint32_t index_count);

/* Lets each corner take the first member of its family. */
void hob_siblings_unite(const hob_siblings *siblings, uint32_t *indices, uint32_t index_count);

#endif

/* vertex_arrays.h - all per-vertex arrays of a mesh as one list, so that operations on every attribute
 * (welding, reordering) are written once and omit none. */
#ifndef HOB_VERTEX_ARRAYS_H
#define HOB_VERTEX_ARRAYS_H

#include "../model/model.h"

typedef struct hob_vertex_array {
	const void *data; /* [vertex_count][size] bytes, 4-byte aligned */
	uint32_t size;	  /* bytes of one element, a multiple of 4 */
	bool is_float;	  /* elements are floats: -0 equals +0 */
	uint32_t kind;	  /* equal for the same array of meshes with as many targets and influences */
} hob_vertex_array;

/* Number of arrays that `mesh` has, its position and morph targets included. */
uint32_t hob_vertex_arrays_count(const hob_mesh *mesh);

/* Fills out[hob_vertex_arrays_count(mesh)] in a fixed order. */
void hob_vertex_arrays_list(const hob_mesh *mesh, hob_vertex_array *out);

/* Like hob_vertex_arrays_list, but only the arrays that determine a vertex's place, at rest and in motion:
 * position, joints and weights, positions of morph targets. `out` has room for all. Returns their number. */
uint32_t hob_vertex_arrays_place(const hob_mesh *mesh, hob_vertex_array *out);

/* Makes *out a mesh whose vertex i is `in`'s vertex from[i], i < count. Names, indices, index_count and
 * mappings are those of `in`; the vertex arrays and the list of targets are new and belong to `arena`. Arrays
 * that `in` does not have stay NULL. Cost O(count * bytes of a vertex). */
void hob_mesh_gather(const hob_mesh *in, const uint32_t *from, uint32_t count, hob_arena *arena,
					 hob_mesh *out);

#endif

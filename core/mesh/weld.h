/* weld.h - joins vertices that are equal in every attribute. */
#ifndef HOB_WELD_H
#define HOB_WELD_H

#include "vertex_arrays.h"

/* Builds the remap old vertex -> new vertex.
 *
 * arrays        [array_count] compared exactly, but -0 equals +0, and NaN equals the same bits
 * indices       [index_count] u32, each < vertex_count (asserted); vertices that no index names are unused.
 *               NULL with index_count 0: every vertex counts as used.
 * remap         [vertex_count] out: HOB_NONE when unused, else the new vertex. New vertices are numbered in
 *               the order of their first occurrence among the old ones.
 * from          [vertex_count] out: from[new] is the old vertex that is kept, the first of its equals.
 * scratch       restored; 14 to 20 bytes a vertex
 * Returns       number of new vertices
 * Cost          O(vertex_count * bytes of a vertex) expected.
 * Source        an open-addressing table over a multiplicative hash of all attributes; compare
 *               meshopt_generateVertexRemapMulti, which tells -0 from +0 and needs indices. */
uint32_t hob_weld(const hob_vertex_array *arrays, uint32_t array_count, uint32_t vertex_count,
				  const uint32_t *indices, uint32_t index_count, uint32_t *remap, uint32_t *from,
				  hob_arena *scratch);

/* Slots of an open-addressing table for `count` entries: a power of two. */
uint32_t hob_table_size(uint32_t count);

static inline uint64_t hob_mix(uint64_t hash, uint64_t words)
{
	hash = (hash ^ words) * 0x9FB21C651E98DF25ull;
	return hash ^ hash >> 32;
}

/* Lists items by key, otherwise in their order.
 *
 * keys          [count] each < key_count
 * first         [key_count + 1] in: zeros; out: where the items of each key begin
 * items         [count] out */
void hob_list_by_key(const uint32_t *keys, uint32_t count, uint32_t key_count, uint32_t *first,
					 uint32_t *items);

/* The corner after or before one of a list of triangles, within its triangle. */
static inline uint32_t hob_next_corner(uint32_t corner)
{
	return corner % 3 == 2 ? corner - 2 : corner + 1;
}

static inline uint32_t hob_previous_corner(uint32_t corner)
{
	return corner % 3 == 0 ? corner + 2 : corner - 1;
}

/* The root of a union-find tree; halves the path to it. */
static inline uint32_t hob_root_of(uint32_t *parent, uint32_t i)
{
	while (parent[i] != i)
		i = parent[i] = parent[parent[i]];
	return i;
}

/* Finds which vertices are at one position.
 *
 * first         [vertex_count] out: the first vertex at the same position
 * scratch       restored */
void hob_weld_places(const float *positions, uint32_t vertex_count, hob_arena *scratch, uint32_t *first);

/* Rewrites triangles through `remap` (NULL: as they are) and drops those that have a vertex twice.
 *
 * indices       [index_count] in; index_count a multiple of 3
 * out           [index_count] out, may be `indices`; NULL: counts only
 * corners       [index_count] out: the indices of those that stay, not rewritten; may be NULL
 * Returns       number of indices written, a multiple of 3. Order is kept. */
uint32_t hob_weld_triangles(const uint32_t *indices, uint32_t index_count, const uint32_t *remap,
							uint32_t *out, uint32_t *corners);

/* Whether two of a triangle's corners are equal in every one of `arrays`, so that it is invisible.
 *
 * arrays        [array_count] arrays that determine a corner's place: positions, and data that moves them
 *               (hob_vertex_arrays_place) */
bool hob_weld_is_collapsed(const hob_vertex_array *arrays, uint32_t array_count, const uint32_t corner[3]);

/* Drops a mesh's triangles of that kind.
 *
 * indices       [*index_count] in and out; *index_count a multiple of 3. Order is kept
 * scratch       restored */
void hob_weld_drop_collapsed(const hob_mesh *mesh, uint32_t *indices, uint32_t *index_count,
							 hob_arena *scratch);

#endif

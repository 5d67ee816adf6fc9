/* sheets.h - sheets with two sides: flags, leaves, hair cards that are modelled as a front and a mirrored
 * back.
 *
 * Where each triangle of a piece has its mirror - one other triangle at the same three places, wound the
 * other way - the two sides look like a closed body without thickness: collapses within the sheet cost
 * nothing, and differ between the sides. So one side is simplified as an open surface, and the other follows
 * it. */
#ifndef HOB_SHEETS_H
#define HOB_SHEETS_H

#include "../model/model.h"

/* Drops one side of every sheet.
 *
 * A piece (triangles connected by position) is a sheet if all its triangles have mirrors, each vertex of the
 * kept side has exactly one mirror vertex, and the two move together (hob_vertex_arrays_place). Triangles
 * without area that are in such a piece are dropped, too.
 *
 * first        [mesh->vertex_count] the first vertex at the same place
 * indices      [*index_count] in and out, *index_count a multiple of 3; order is kept
 * Returns      [mesh->vertex_count] in `arena`, the vertex of the other side at the same place;
 *              HOB_NONE: not in a sheet. May be the vertex itself. NULL: there are no sheets
 * Cost         about 20 ns and 4 bytes a triangle where no triangle has a mirror; 0.4 us and 100 bytes for
 *              those that do. */
uint32_t *hob_sheets_fold(const hob_mesh *mesh, const uint32_t *first, uint32_t *indices,
						  uint32_t *index_count, hob_arena *arena);

/* Appends the other side of every triangle of a sheet.
 *
 * indices      [2 * index_count] in and out
 * Returns      the new number of indices. */
uint32_t hob_sheets_unfold(const uint32_t *mirror, uint32_t *indices, uint32_t index_count);

#endif

/* lod_chunks.h - levels of detail of meshes that are too large to be simplified in one piece. */
#ifndef HOB_LOD_CHUNKS_H
#define HOB_LOD_CHUNKS_H

#include "lods.h"

#include "../model/baked.h"

enum { HOB_LOD_CHUNK = 1 << 20 };

/* hob_lods_build for any number of triangles, in the memory of one chunk.
 *
 * Triangles are divided by position into chunks. The first levels, three at most, are made chunk by chunk:
 * vertices where chunks meet stay, so that there is no crack, and a chunk that cannot shrink further keeps
 * what it has. The error is the largest of the chunks'. Further levels are made from the last of these as if
 * it were a new mesh, in other chunks or in one piece; its error is added to theirs. (With a fourth level,
 * locked vertices spoil the error: 1.80 instead of 0.13 on a grid of 20 M triangles.)
 *
 * chunk          triangles of a chunk, roughly; hob_lods_build takes a mesh of at most two chunks.
 *                HOB_LOD_CHUNK unless in tests
 * otherwise as hob_lods_build
 * Memory         5 bytes a triangle and 40 a vertex, in addition to one chunk's and the levels. */
hob_lod_end hob_lod_chunks_build(const hob_mesh *mesh, const hob_lod_options *options, uint32_t chunk,
								 hob_lod_level *levels, uint32_t *level_count, hob_arena *arena);

#endif

/* pack_cut.h - a packed meshes file without its finest levels of detail.
 *
 * Vertices stand coarsest level first, so what a level and the coarser ones need is the beginning of each mesh's vertices: the
 * cut file holds those vertices, the indices and meshlets of the levels that stay, the morph deltas of the vertices that stay,
 * and everything else as it was: ids, names, materials, layouts, bounds of the full meshes. Errors of levels still tell how far
 * the surface may be from the full one; where the first level's is not 0 the file has the flag FILE_CUT. A mesh without that
 * many levels keeps its coarsest; one without indices stays as it is. */
#ifndef HOB_PACK_CUT_H
#define HOB_PACK_CUT_H

#include "pack_read.h"

/* Of the mesh that has most. */
uint32_t hob_pack_level_count(const hob_pack *pack);

/* Appends the file without the levels 0..level-1 to *out, encoded as `file` is; level 0 gives the same bytes again when this
 * version wrote them. `file` is one that hob_pack_validate() accepted. Errors: NOT_FOUND when no mesh has that level (the
 * context says which there are), UNSUPPORTED for a file of another kind or with more streams than this version writes, MEMORY
 * and those of hob_pack_open. Cost: decodes and writes what stays. */
bool hob_pack_cut(hob_bytes file, uint32_t level, const hob_parallel *parallel, hob_buf *out,
				  hob_error *err) HOB_MUST_CHECK;

#endif

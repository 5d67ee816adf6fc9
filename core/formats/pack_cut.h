/* pack_cut.h - a packed meshes file without its finest levels of detail.
 *
 * Vertices are stored coarsest level first, so a level and the coarser ones need only the first vertices of
 * each mesh. The cut file has those vertices, their morph deltas, and the indices and meshlets of the
 * remaining levels. Everything else is unchanged: ids, names, materials, layouts, bounds of the full meshes.
 * Errors of levels still refer to the full surface; if the first level has an error, the file has the flag
 * FILE_CUT. A mesh with fewer levels keeps its coarsest; one without indices is unchanged. */
#ifndef HOB_PACK_CUT_H
#define HOB_PACK_CUT_H

#include "pack_read.h"

/* The largest number of levels that a mesh has. */
uint32_t hob_pack_level_count(const hob_pack *pack);

/* Appends the file without the levels before `level` to *out, with the same encoding as `file`; level 0 gives
 * the same bytes again if this version wrote them. hob_pack_validate() must have accepted `file`. Errors:
 * NOT_FOUND if no mesh has that level (the context lists the levels), UNSUPPORTED for a file of another kind
 * or with more streams than this version writes, MEMORY and those of hob_pack_open. Cost: decodes and writes
 * the remaining data. */
bool hob_pack_cut(hob_bytes file, uint32_t level, const hob_parallel *parallel, hob_buf *out,
				  hob_error *err) HOB_MUST_CHECK;

#endif

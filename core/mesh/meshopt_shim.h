/* meshopt_shim.h - the functions of meshoptimizer that allocate. Without memory it throws; here that leaves
 * the function of hob_guarded, and outside of one the output is invalid. Parameters as in meshoptimizer.h;
 * positions are 12 bytes apart. */
#ifndef HOB_MESHOPT_SHIM_H
#define HOB_MESHOPT_SHIM_H

#include "../base/base.h"

#include <meshoptimizer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* These three reorder the indices in place. */
void hob_meshopt_order_strip(uint32_t *indices, size_t index_count, size_t vertex_count);
void hob_meshopt_order_fifo(uint32_t *indices, size_t index_count, size_t vertex_count, unsigned cache);
void hob_meshopt_order_overdraw(uint32_t *indices, size_t index_count, const float *positions,
								size_t vertex_count, float threshold);
/* `count` is set */
void hob_meshopt_meshlets(struct meshopt_Meshlet *out, unsigned *vertices, unsigned char *triangles,
						  const uint32_t *indices, size_t index_count, size_t vertex_count,
						  size_t most_vertices, size_t most_triangles, size_t *count);

#ifdef __cplusplus
}
#endif

#endif

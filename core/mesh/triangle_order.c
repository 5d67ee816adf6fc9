#include "triangle_order.h"

#include <assert.h>
#include <meshoptimizer.h>

enum { FIFO_SIZE = 16 };
static const float overdraw_threshold = 1.05f;

void hob_order_triangles(uint32_t *indices, uint32_t index_count, const float *positions,
						 uint32_t vertex_count, hob_order_effort effort)
{
	if (index_count == 0)
		return;
	if (effort == HOB_ORDER_SMALL) {
		meshopt_optimizeVertexCacheStrip(indices, indices, index_count, vertex_count);
		return;
	}
	meshopt_optimizeVertexCacheFifo(indices, indices, index_count, vertex_count, FIFO_SIZE);
	if (effort == HOB_ORDER_BEST)
		meshopt_optimizeOverdraw(indices, indices, index_count, positions, vertex_count, 12,
								 overdraw_threshold);
}

uint32_t hob_order_vertices(uint32_t *const *levels, const uint32_t *counts, uint32_t level_count,
							uint32_t vertex_count, uint32_t *remap, uint32_t *order, uint32_t *prefixes)
{
	memset(remap, 0xFF, vertex_count * sizeof *remap);
	uint32_t used = 0;
	for (uint32_t l = level_count; l-- > 0;) {
		for (uint32_t i = 0; i < counts[l]; i++) {
			uint32_t v = levels[l][i];
			assert(v < vertex_count);
			if (remap[v] == HOB_NONE) {
				remap[v] = used;
				order[used++] = v;
			}
			levels[l][i] = remap[v];
		}
		prefixes[l] = used;
	}
	return used;
}

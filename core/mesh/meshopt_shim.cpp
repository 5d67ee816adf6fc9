#include "meshopt_shim.h"

#include "../base/guard.h"

#include <new>

template <class Call> static void need_memory_for(Call call)
{
	hob_error why;
	try {
		call();
		return;
	} catch (const std::bad_alloc &) {
		hob_fail(&why, MEMORY, "no memory left to order triangles");
	}
	hob_guard_raise(&why);
}

void hob_meshopt_order_strip(uint32_t *indices, size_t index_count, size_t vertex_count)
{
	need_memory_for([&] { meshopt_optimizeVertexCacheStrip(indices, indices, index_count, vertex_count); });
}

void hob_meshopt_order_fifo(uint32_t *indices, size_t index_count, size_t vertex_count, unsigned cache)
{
	need_memory_for(
		[&] { meshopt_optimizeVertexCacheFifo(indices, indices, index_count, vertex_count, cache); });
}

void hob_meshopt_order_overdraw(uint32_t *indices, size_t index_count, const float *positions,
								size_t vertex_count, float threshold)
{
	need_memory_for([&] {
		meshopt_optimizeOverdraw(indices, indices, index_count, positions, vertex_count, 12, threshold);
	});
}

void hob_meshopt_meshlets(struct meshopt_Meshlet *out, unsigned *vertices, unsigned char *triangles,
						  const uint32_t *indices, size_t index_count, size_t vertex_count,
						  size_t most_vertices, size_t most_triangles, size_t *count)
{
	need_memory_for([&] {
		*count = meshopt_buildMeshletsScan(out, vertices, triangles, indices, index_count, vertex_count,
										   most_vertices, most_triangles);
	});
}

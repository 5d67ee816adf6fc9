#include "meshopt_shim.h"

#include <new>

template <class Call> static bool has_memory_for(Call call)
{
	try {
		call();
		return true;
	} catch (const std::bad_alloc &) {
		return false;
	}
}

bool hob_meshopt_order_strip(uint32_t *indices, size_t index_count, size_t vertex_count)
{
	return has_memory_for(
		[&] { meshopt_optimizeVertexCacheStrip(indices, indices, index_count, vertex_count); });
}

bool hob_meshopt_order_fifo(uint32_t *indices, size_t index_count, size_t vertex_count, unsigned cache)
{
	return has_memory_for(
		[&] { meshopt_optimizeVertexCacheFifo(indices, indices, index_count, vertex_count, cache); });
}

bool hob_meshopt_order_overdraw(uint32_t *indices, size_t index_count, const float *positions,
								size_t vertex_count, float threshold)
{
	return has_memory_for([&] {
		meshopt_optimizeOverdraw(indices, indices, index_count, positions, vertex_count, 12, threshold);
	});
}

bool hob_meshopt_meshlets(struct meshopt_Meshlet *out, unsigned *vertices, unsigned char *triangles,
						  const uint32_t *indices, size_t index_count, size_t vertex_count,
						  size_t most_vertices, size_t most_triangles, size_t *count)
{
	return has_memory_for([&] {
		*count = meshopt_buildMeshletsScan(out, vertices, triangles, indices, index_count, vertex_count,
										   most_vertices, most_triangles);
	});
}

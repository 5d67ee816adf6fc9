#include "meshlets.h"
#include "meshopt_shim.h"
#include "triangle_order.h"

hob_meshlet_cut hob_meshlets_cut(uint32_t *indices, uint32_t index_count, const float *positions,
								 uint32_t vertex_count, bool by_place, hob_arena *arena)
{
	if (index_count == 0)
		return (hob_meshlet_cut){0};
	size_t bound = meshopt_buildMeshletsBound(index_count, HOB_MESHLET_VERTICES, HOB_MESHLET_TRIANGLES),
		   count = 0;
	hob_meshlet_cut cut = {.meshlets = HOB_NEW(arena, struct meshopt_Meshlet, bound),
						   .vertices = HOB_NEW(arena, uint32_t, bound * HOB_MESHLET_VERTICES),
						   .triangles = HOB_NEW(arena, uint8_t, bound * HOB_MESHLET_TRIANGLES * 3)};
	uint32_t *sorted = by_place ? HOB_NEW(arena, uint32_t, index_count) : indices;
	if (by_place)
		hob_order_by_place(indices, index_count, positions, arena, sorted);
	else
		hob_order_triangles(indices, index_count, positions, vertex_count, HOB_ORDER_FAST);
	hob_meshopt_meshlets(cut.meshlets, cut.vertices, cut.triangles, sorted, index_count, vertex_count,
						 HOB_MESHLET_VERTICES, HOB_MESHLET_TRIANGLES, &count);
	cut.count = (uint32_t)count;
	return cut;
}

static void *grown(hob_arena *arena, const void *from, uint32_t count, uint64_t more, size_t size)
{
	/* Numbers are of 32 bits; more than that fits no arena. */
	void *out = hob_arena_array(arena, more <= UINT32_MAX - count ? count + more : SIZE_MAX, size, 4);
	if (count > 0)
		memcpy(out, from, count * size);
	return out;
}

void hob_meshlets_reserve(hob_meshlets *m, uint32_t count, uint64_t vertex_count, uint64_t triangle_bytes,
						  hob_arena *arena)
{
	m->items = grown(arena, m->items, m->count, count, sizeof *m->items);
	m->vertices = grown(arena, m->vertices, m->vertex_count, vertex_count, sizeof *m->vertices);
	m->triangles = grown(arena, m->triangles, m->triangle_bytes, triangle_bytes, 1);
}

void hob_meshlets_add(hob_meshlets *m, const uint32_t *vertices, uint32_t vertex_count,
					  const uint8_t *triangles, uint32_t triangle_count, const float *positions,
					  uint32_t mesh_vertex_count)
{
	hob_baked_meshlet *item = &m->items[m->count++];
	struct meshopt_Bounds bounds =
		meshopt_computeMeshletBounds(vertices, triangles, triangle_count, positions, mesh_vertex_count, 12);
	*item = (hob_baked_meshlet){.vertex_offset = m->vertex_count,
								.triangle_offset = m->triangle_bytes,
								.vertex_count = (uint8_t)vertex_count,
								.triangle_count = (uint8_t)triangle_count,
								.radius = bounds.radius,
								.cone_cutoff = bounds.cone_cutoff_s8};
	memcpy(item->center, bounds.center, sizeof item->center);
	memcpy(item->cone_axis, bounds.cone_axis_s8, sizeof item->cone_axis);
	memcpy(m->vertices + m->vertex_count, vertices, vertex_count * sizeof *vertices);
	m->vertex_count += vertex_count;
	memcpy(m->triangles + m->triangle_bytes, triangles, 3 * (size_t)triangle_count);
	for (m->triangle_bytes += 3 * triangle_count; m->triangle_bytes % 4 != 0;)
		m->triangles[m->triangle_bytes++] = 0;
}

hob_meshlets hob_meshlets_build(const uint32_t *indices, const float *positions, uint32_t vertex_count,
								hob_baked_lod *lods, uint32_t lod_count, hob_arena *result,
								hob_arena *scratch)
{
	hob_arena_mark mark = hob_arena_save(scratch);
	hob_meshlet_cut pieces[HOB_MAX_LODS];
	uint32_t count = 0;
	uint64_t vertices = 0, bytes = 0;
	for (uint32_t l = 0; l < lod_count; l++) {
		uint32_t corners = lods[l].index_count, *ordered = HOB_NEW(scratch, uint32_t, corners);
		memcpy(ordered, indices + lods[l].index_first, corners * sizeof *ordered);
		pieces[l] = hob_meshlets_cut(ordered, corners, positions, vertex_count, false, scratch);
		count += pieces[l].count;
		for (uint32_t m = 0; m < pieces[l].count; m++)
			vertices += pieces[l].meshlets[m].vertex_count,
				bytes += 4 * ((pieces[l].meshlets[m].triangle_count * 3u + 3) / 4);
	}
	hob_meshlets all = {0};
	hob_meshlets_reserve(&all, count, vertices, bytes, result);
	for (uint32_t l = 0; l < lod_count; l++) {
		lods[l].meshlet_first = all.count;
		lods[l].meshlet_count = pieces[l].count;
		for (uint32_t m = 0; m < pieces[l].count; m++) {
			const struct meshopt_Meshlet *meshlet = &pieces[l].meshlets[m];
			hob_meshlets_add(&all, pieces[l].vertices + meshlet->vertex_offset, meshlet->vertex_count,
							 pieces[l].triangles + meshlet->triangle_offset, meshlet->triangle_count,
							 positions, vertex_count);
		}
	}
	hob_arena_restore(scratch, mark);
	return all;
}

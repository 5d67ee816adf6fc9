#include "meshlets.h"
#include "meshopt_shim.h"
#include "triangle_order.h"

bool hob_meshlets_cut(uint32_t *indices, uint32_t index_count, const float *positions, uint32_t vertex_count,
					  bool by_place, hob_arena *arena, hob_meshlet_cut *out, hob_error *err)
{
	*out = (hob_meshlet_cut){0};
	if (index_count == 0)
		return true;
	size_t bound = meshopt_buildMeshletsBound(index_count, HOB_MESHLET_VERTICES, HOB_MESHLET_TRIANGLES),
		   count;
	hob_meshlet_cut cut = {.meshlets = HOB_NEW(arena, struct meshopt_Meshlet, bound),
						   .vertices = HOB_NEW(arena, uint32_t, bound * HOB_MESHLET_VERTICES),
						   .triangles = HOB_NEW(arena, uint8_t, bound * HOB_MESHLET_TRIANGLES * 3)};
	uint32_t *sorted = by_place ? HOB_NEW(arena, uint32_t, index_count) : indices;
	if (!cut.meshlets || !cut.vertices || !cut.triangles || !sorted ||
		!(by_place ? hob_order_by_place(indices, index_count, positions, arena, sorted)
				   : hob_order_triangles(indices, index_count, positions, vertex_count, HOB_ORDER_FAST)) ||
		!hob_meshopt_meshlets(cut.meshlets, cut.vertices, cut.triangles, sorted, index_count, vertex_count,
							  HOB_MESHLET_VERTICES, HOB_MESHLET_TRIANGLES, &count))
		return hob_fail_memory(err, arena, "meshlets");
	const struct meshopt_Meshlet *last = &cut.meshlets[count - 1];
	cut.count = (uint32_t)count;
	cut.vertex_count = last->vertex_offset + last->vertex_count;
	cut.triangle_bytes = last->triangle_offset + ((last->triangle_count * 3 + 3) & ~3u);
	*out = cut;
	return true;
}

void hob_meshlet_bound(hob_baked_meshlet *meshlet, const uint32_t *vertices, const uint8_t *triangles,
					   const float *positions, uint32_t vertex_count)
{
	struct meshopt_Bounds bounds = meshopt_computeMeshletBounds(vertices, triangles, meshlet->triangle_count,
																positions, vertex_count, 12);
	memcpy(meshlet->center, bounds.center, sizeof meshlet->center);
	memcpy(meshlet->cone_axis, bounds.cone_axis_s8, sizeof meshlet->cone_axis);
	meshlet->radius = bounds.radius;
	meshlet->cone_cutoff = bounds.cone_cutoff_s8;
}

bool hob_meshlets_build(const uint32_t *indices, const float *positions, uint32_t vertex_count,
						hob_baked_lod *lods, uint32_t lod_count, hob_arena *result, hob_arena *scratch,
						hob_meshlets *out, hob_error *err)
{
	hob_arena_mark mark = hob_arena_save(scratch);
	hob_meshlet_cut pieces[HOB_MAX_LODS];
	hob_meshlets all = {0};
	for (uint32_t l = 0; l < lod_count; l++) {
		uint32_t count = lods[l].index_count, *ordered = HOB_NEW(scratch, uint32_t, count);
		if (!ordered)
			return hob_fail_memory(err, scratch, "meshlets");
		memcpy(ordered, indices + lods[l].index_first, count * sizeof *ordered);
		if (!hob_meshlets_cut(ordered, count, positions, vertex_count, false, scratch, &pieces[l], err))
			return false;
		all.count += pieces[l].count;
		all.vertex_count += pieces[l].vertex_count;
		all.triangle_bytes += pieces[l].triangle_bytes;
	}
	all.items = HOB_NEW(result, hob_baked_meshlet, all.count);
	all.vertices = HOB_NEW(result, uint32_t, all.vertex_count);
	all.triangles = HOB_NEW(result, uint8_t, all.triangle_bytes);
	if (!all.items || !all.vertices || !all.triangles)
		return hob_fail_memory(err, result, "meshlets");
	uint32_t at = 0, vertex_at = 0, triangle_at = 0;
	for (uint32_t l = 0; l < lod_count; l++) {
		const hob_meshlet_cut *piece = &pieces[l];
		lods[l].meshlet_first = at;
		lods[l].meshlet_count = piece->count;
		for (uint32_t m = 0; m < piece->count; m++) {
			const struct meshopt_Meshlet *meshlet = &piece->meshlets[m];
			hob_baked_meshlet *item = &all.items[at++];
			*item = (hob_baked_meshlet){.vertex_offset = vertex_at + meshlet->vertex_offset,
										.triangle_offset = triangle_at + meshlet->triangle_offset,
										.vertex_count = (uint8_t)meshlet->vertex_count,
										.triangle_count = (uint8_t)meshlet->triangle_count};
			hob_meshlet_bound(item, piece->vertices + meshlet->vertex_offset,
							  piece->triangles + meshlet->triangle_offset, positions, vertex_count);
			/* The gaps after odd triangle counts stay zero, because only whole triangles are copied. */
			memcpy(all.triangles + item->triangle_offset, piece->triangles + meshlet->triangle_offset,
				   meshlet->triangle_count * 3u);
		}
		if (piece->count > 0)
			memcpy(all.vertices + vertex_at, piece->vertices, piece->vertex_count * sizeof(uint32_t));
		vertex_at += piece->vertex_count;
		triangle_at += piece->triangle_bytes;
	}
	hob_arena_restore(scratch, mark);
	*out = all;
	return true;
}

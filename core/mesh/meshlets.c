#include "meshlets.h"
#include "meshopt_shim.h"
#include "triangle_order.h"

typedef struct piece {
	struct meshopt_Meshlet *meshlets;
	unsigned int *vertices;
	unsigned char *triangles;
	uint32_t count, vertex_count, triangle_bytes;
} piece_t;

static bool cut(const uint32_t *indices, uint32_t index_count, const float *positions, uint32_t vertex_count,
				hob_arena *scratch, piece_t *out, hob_error *err)
{
	*out = (piece_t){0};
	if (index_count == 0)
		return true;
	size_t bound = meshopt_buildMeshletsBound(index_count, HOB_MESHLET_VERTICES, HOB_MESHLET_TRIANGLES);
	piece_t piece = {.meshlets = HOB_NEW(scratch, struct meshopt_Meshlet, bound),
					 .vertices = HOB_NEW(scratch, unsigned int, bound *HOB_MESHLET_VERTICES),
					 .triangles = HOB_NEW(scratch, unsigned char, bound *HOB_MESHLET_TRIANGLES * 3)};
	uint32_t *ordered = HOB_NEW(scratch, uint32_t, index_count);
	if (!piece.meshlets || !piece.vertices || !piece.triangles || !ordered)
		return hob_fail_memory(err, scratch, "meshlets");
	memcpy(ordered, indices, index_count * sizeof *ordered);
	size_t count = 0;
	if (!hob_order_triangles(ordered, index_count, positions, vertex_count, HOB_ORDER_FAST) ||
		!hob_meshopt_meshlets(piece.meshlets, piece.vertices, piece.triangles, ordered, index_count,
							  vertex_count, HOB_MESHLET_VERTICES, HOB_MESHLET_TRIANGLES, &count))
		return hob_fail_memory(err, scratch, "meshlets");
	const struct meshopt_Meshlet *last = &piece.meshlets[count - 1];
	piece.count = (uint32_t)count;
	piece.vertex_count = last->vertex_offset + last->vertex_count;
	piece.triangle_bytes = last->triangle_offset + ((last->triangle_count * 3 + 3) & ~3u);
	*out = piece;
	return true;
}

static hob_baked_meshlet describe(const piece_t *piece, const struct meshopt_Meshlet *m,
								  const float *positions, uint32_t vertex_count)
{
	struct meshopt_Bounds bounds = meshopt_computeMeshletBounds(
		piece->vertices + m->vertex_offset, piece->triangles + m->triangle_offset, m->triangle_count,
		positions, vertex_count, 12);
	hob_baked_meshlet out = {.radius = bounds.radius,
							 .cone_cutoff = bounds.cone_cutoff_s8,
							 .vertex_count = (uint8_t)m->vertex_count,
							 .triangle_count = (uint8_t)m->triangle_count};
	memcpy(out.center, bounds.center, sizeof out.center);
	memcpy(out.cone_axis, bounds.cone_axis_s8, sizeof out.cone_axis);
	return out;
}

bool hob_meshlets_build(const uint32_t *indices, const float *positions, uint32_t vertex_count,
						hob_baked_lod *lods, uint32_t lod_count, hob_arena *result, hob_arena *scratch,
						hob_meshlets *out, hob_error *err)
{
	hob_arena_mark mark = hob_arena_save(scratch);
	piece_t pieces[HOB_MAX_LODS];
	hob_meshlets all = {0};
	for (uint32_t l = 0; l < lod_count; l++) {
		if (!cut(indices + lods[l].index_first, lods[l].index_count, positions, vertex_count, scratch,
				 &pieces[l], err)) {
			hob_arena_restore(scratch, mark);
			return false;
		}
		all.count += pieces[l].count;
		all.vertex_count += pieces[l].vertex_count;
		all.triangle_bytes += pieces[l].triangle_bytes;
	}
	all.items = HOB_NEW(result, hob_baked_meshlet, all.count);
	all.vertices = HOB_NEW(result, uint32_t, all.vertex_count);
	all.triangles = HOB_NEW(result, uint8_t, all.triangle_bytes);
	if (!all.items || !all.vertices || !all.triangles) {
		hob_arena_restore(scratch, mark);
		return hob_fail_memory(err, result, "meshlets");
	}
	uint32_t at = 0, vertex_at = 0, triangle_at = 0;
	for (uint32_t l = 0; l < lod_count; l++) {
		const piece_t *piece = &pieces[l];
		lods[l].meshlet_first = at;
		lods[l].meshlet_count = piece->count;
		for (uint32_t m = 0; m < piece->count; m++) {
			const struct meshopt_Meshlet *meshlet = &piece->meshlets[m];
			hob_baked_meshlet *item = &all.items[at++];
			*item = describe(piece, meshlet, positions, vertex_count);
			item->vertex_offset = vertex_at + meshlet->vertex_offset;
			item->triangle_offset = triangle_at + meshlet->triangle_offset;
			/* The gaps behind odd triangle counts stay zero: only whole triangles are copied. */
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

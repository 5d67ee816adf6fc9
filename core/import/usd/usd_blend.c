#include "usd_skel.h"

#include "../text.h"

#include <math.h>

/* Adds a shape's offsets to the vertices made from its points. */
static void put_offsets(const hob_usd_value *offsets, const hob_usd_value *indices, const uint32_t *points,
						uint32_t vertex_count, const uint32_t *place, size_t point_count, float *out)
{
	for (uint32_t v = 0; v < vertex_count; v++) {
		size_t at = points[v];
		if (indices)
			at = points[v] < point_count && place[points[v]] != HOB_NONE ? place[points[v]] : SIZE_MAX;
		if (at >= offsets->count)
			continue;
		for (size_t k = 0; k < 3; k++) {
			double number = hob_usd_component(offsets, at * 3 + k);
			out[(size_t)v * 3 + k] = isfinite(number) ? (float)number : 0;
		}
	}
}

/* offset_name, normal_name: properties with the offsets. */
static bool put_target(hob_usd_build_t *b, const hob_usd_prim *shape, hob_str offset_name,
					   hob_str normal_name, const uint32_t *points, hob_mesh *mesh, hob_morph_target *to,
					   hob_error *err)
{
	hob_usd *u = b->u;
	const hob_usd_value *offsets = hob_usd_still(u, shape, offset_name),
						*normals = hob_usd_still(u, shape, normal_name);
	const hob_usd_value *indices = hob_usd_still(u, shape, HOB_STR("pointIndices"));
	size_t point_count = 0;
	uint32_t *place = NULL;
	to->position = HOB_NEW(u->result, float, (size_t)mesh->vertex_count * 3);
	if (!to->position)
		return hob_fail_memory(err, u->result, "a blend shape");
	for (uint32_t v = 0; v < mesh->vertex_count; v++)
		point_count = points[v] >= point_count ? (size_t)points[v] + 1 : point_count;
	if (indices) {
		place = HOB_NEW(u->scratch, uint32_t, point_count);
		if (!place)
			return hob_fail_memory(err, u->scratch, "a blend shape");
		memset(place, 0xFF, point_count * sizeof *place);
		for (uint32_t i = 0; i < indices->count; i++) {
			double at = hob_usd_component(indices, i);
			if (at >= 0 && at < (double)point_count)
				place[(size_t)at] = i;
		}
	}
	if (offsets && offsets->width == 3)
		put_offsets(offsets, indices, points, mesh->vertex_count, place, point_count, to->position);
	if (!normals || normals->width != 3 || !mesh->normal)
		return true;
	to->normal = HOB_NEW(u->result, float, (size_t)mesh->vertex_count * 3);
	if (!to->normal)
		return hob_fail_memory(err, u->result, "a blend shape");
	put_offsets(normals, indices, points, mesh->vertex_count, place, point_count, to->normal);
	return true;
}

static bool new_target(hob_usd_build_t *b, hob_mesh *mesh, hob_str name, hob_morph_target **out,
					   hob_error *err)
{
	hob_arena *arena = b->u->result;
	hob_morph_target *to = &mesh->targets[mesh->target_count];
	to->name = hob_text_name(arena, name);
	to->position = HOB_NEW(arena, float, (size_t)mesh->vertex_count * 3);
	if (!to->name.data || !to->position)
		return hob_fail_memory(err, arena, "blend shapes");
	mesh->target_count++;
	*out = to;
	return true;
}

/* Adds the targets of a shape and of its in-betweens. */
static bool put_shape(hob_usd_build_t *b, hob_str name, uint32_t id, const hob_usd_inbetween *between,
					  uint32_t count, const uint32_t *points, hob_mesh *mesh, hob_error *err)
{
	hob_usd *u = b->u;
	hob_morph_target *to, *whole;
	if (!new_target(b, mesh, name, &whole, err))
		return false;
	if (id == HOB_NONE)
		return true;
	if (!put_target(b, &u->prims[id], HOB_STR("offsets"), HOB_STR("normalOffsets"), points, mesh, whole, err))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		hob_str property = between[i].property;
		hob_str own = hob_arena_printf(u->scratch, "%.*s%.*s", HOB_FMT(name),
									   (int)(property.len - strlen("inbetweens")),
									   property.data + strlen("inbetweens"));
		hob_str normals = hob_arena_printf(u->scratch, "%.*s:normalOffsets", HOB_FMT(property));
		if (!own.data || !normals.data)
			return hob_fail_memory(err, u->scratch, "blend shapes");
		if (!new_target(b, mesh, own, &to, err) ||
			!put_target(b, &u->prims[id], property, normals, points, mesh, to, err) ||
			!hob_usd_knot_add(b, to, whole->name, between[i].weight, err))
			return false;
	}
	return true;
}

typedef struct found_shape {
	uint32_t prim, count;
	hob_usd_inbetween *between;
} found_shape;

static bool find_shapes(hob_usd *u, const hob_str *targets, uint32_t count, found_shape *out, uint64_t *total,
						hob_error *err)
{
	*total = count;
	for (uint32_t i = 0; i < count; i++) {
		out[i] = (found_shape){.prim = hob_usd_prim_at(u, targets[i])};
		if (out[i].prim != HOB_NONE &&
			!hob_usd_inbetweens(u, &u->prims[out[i].prim], &out[i].between, &out[i].count, err))
			return false;
		*total += out[i].count;
	}
	return *total <= HOB_LIMIT_TARGETS || hob_fail(err, LIMIT, "%llu blend shapes, at most %llu are allowed",
												   (unsigned long long)*total, HOB_LIMIT_TARGETS);
}

bool hob_usd_put_shapes(hob_usd_build_t *b, uint32_t id, const uint32_t *points, hob_mesh *mesh,
						hob_error *err)
{
	hob_usd *u = b->u;
	const hob_usd_prim *prim = &u->prims[id];
	const hob_usd_value *names = hob_usd_still(u, prim, HOB_STR("skel:blendShapes"));
	hob_str *targets;
	uint32_t count;
	if (!names || names->kind != HOB_USD_TEXT || !hob_usd_below_skel_root(u, id))
		return true;
	if (!hob_usd_targets(u, prim, HOB_STR("skel:blendShapeTargets"), HOB_USD_T_targetPaths, &targets, &count,
						 err))
		return false;
	count = names->count < count ? (uint32_t)names->count : count;
	uint64_t total;
	found_shape *shapes = HOB_NEW(u->scratch, found_shape, count);
	if (!shapes)
		return hob_fail_memory(err, u->scratch, "blend shapes");
	if (!find_shapes(u, targets, count, shapes, &total, err))
		return false;
	mesh->targets = HOB_NEW(u->result, hob_morph_target, total);
	if (!mesh->targets)
		return hob_fail_memory(err, u->result, "blend shapes");
	for (uint32_t i = 0; i < count; i++)
		if (!put_shape(b, ((const hob_str *)names->data)[i], shapes[i].prim, shapes[i].between,
					   shapes[i].count, points, mesh, err))
			return false;
	return true;
}

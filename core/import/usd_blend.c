#include "usd_skel.h"

#include "text.h"

#include <math.h>

/* Adds the offsets of a shape to the vertices that are its points. */
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

static bool put_target(hob_usd_build_t *b, const hob_usd_prim *shape, const uint32_t *points, hob_mesh *mesh,
					   hob_morph_target *to, hob_error *err)
{
	hob_usd *u = b->u;
	const hob_usd_value *offsets = hob_usd_still(u, shape, HOB_STR("offsets")),
						*normals = hob_usd_still(u, shape, HOB_STR("normalOffsets"));
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

/* Offsets that a shape has at a part of its weight are properties "inbetweens:NAME". */
static bool has_inbetweens(const hob_usd *u, const hob_usd_prim *shape)
{
	for (uint32_t i = 0; i < shape->order_count; i++) {
		const hob_usd_site *site = &shape->sites[shape->order[i]];
		const hob_usd_stack *stack = &u->stacks[site->stack];
		for (uint32_t k = 0; k < stack->layer_count; k++) {
			const hob_usd_layer *layer = &u->layers[stack->layers[k]];
			uint32_t spec =
				site->specs[k] == HOB_NONE ? HOB_NONE : layer->specs[site->specs[k]].first[HOB_USD_PROPERTY];
			for (; spec != HOB_NONE; spec = layer->specs[spec].next)
				if (hob_str_starts(u->tokens[layer->specs[spec].name], HOB_STR("inbetweens:")))
					return true;
		}
	}
	return false;
}

bool hob_usd_put_shapes(hob_usd_build_t *b, uint32_t id, const uint32_t *points, hob_mesh *mesh,
						hob_error *err)
{
	hob_usd *u = b->u;
	const hob_usd_prim *prim = &u->prims[id];
	const hob_usd_value *names = hob_usd_still(u, prim, HOB_STR("skel:blendShapes"));
	hob_str *targets;
	uint32_t count;
	if (!names || names->kind != HOB_USD_TEXT)
		return true;
	if (!hob_usd_targets(u, prim, HOB_STR("skel:blendShapeTargets"), HOB_USD_T_targetPaths, &targets, &count,
						 err))
		return false;
	count = names->count < count ? (uint32_t)names->count : count;
	if (count > HOB_LIMIT_TARGETS)
		return hob_fail(err, LIMIT, "%u blend shapes, at most %llu are allowed", count, HOB_LIMIT_TARGETS);
	mesh->targets = HOB_NEW(u->result, hob_morph_target, count);
	if (!mesh->targets)
		return hob_fail_memory(err, u->result, "blend shapes");
	for (uint32_t i = 0; i < count; i++) {
		uint32_t shape = hob_usd_prim_at(u, targets[i]);
		hob_morph_target *to = &mesh->targets[i];
		to->name = hob_text_name(u->result, ((const hob_str *)names->data)[i]);
		to->position = HOB_NEW(u->result, float, (size_t)mesh->vertex_count * 3);
		if (!to->name.data || !to->position)
			return hob_fail_memory(err, u->result, "blend shapes");
		if (shape != HOB_NONE && !put_target(b, &u->prims[shape], points, mesh, to, err))
			return false;
		if (shape != HOB_NONE && has_inbetweens(u, &u->prims[shape]))
			hob_usd_note(u, "inbetweens",
						 "blend shape '%.*s': its in-betweens are left out; it goes straight to its end",
						 HOB_FMT(u->prims[shape].path));
	}
	mesh->target_count = count;
	return true;
}

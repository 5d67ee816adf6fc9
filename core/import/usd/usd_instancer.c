#include "usd_build.h"

#include <math.h>

typedef struct instancer {
	const hob_usd_value *positions, *orientations, *scales, *kinds, *ids, *hidden, *inactive;
	hob_str *prototypes;
	uint32_t prototype_count;
} instancer_t;

static double component_or(const hob_usd_value *value, uint32_t width, size_t element, uint32_t at,
						   double fallback)
{
	double number = value && value->width == width ? hob_usd_component(value, element * width + at) : NAN;
	return isfinite(number) ? number : fallback;
}

static bool lists(const hob_usd_value *ids, double id)
{
	for (size_t k = 0; ids && k < ids->count; k++)
		if (hob_usd_component(ids, k) == id)
			return true;
	return false;
}

static bool is_hidden(const instancer_t *in, size_t i)
{
	double id = in->ids ? hob_usd_component(in->ids, i) : (double)i;
	return lists(in->hidden, id) || lists(in->inactive, id);
}

static void place(const instancer_t *in, size_t i, hob_node *node)
{
	double q[4], length = 0;
	for (uint32_t k = 0; k < 4; k++) {
		q[k] = component_or(in->orientations, 4, i, k, k == 3);
		length += q[k] * q[k];
	}
	for (uint32_t k = 0; k < 4; k++)
		node->rotation[k] = length > 0 ? (float)(q[k] / sqrt(length)) : (float)(k == 3);
	for (uint32_t k = 0; k < 3; k++) {
		node->translation[k] = (float)component_or(in->positions, 3, i, k, 0);
		node->scale[k] = (float)component_or(in->scales, 3, i, k, 1);
	}
}

static bool build_instance(hob_usd_build_t *b, const instancer_t *in, size_t i, uint32_t prototype,
						   hob_usd_context context, hob_error *err)
{
	uint32_t node;
	hob_str name =
		hob_arena_printf(b->u->scratch, "%.*s_%zu", HOB_FMT(b->u->tokens[b->u->prims[prototype].name]), i);
	if (!name.data)
		return hob_fail_memory(err, b->u->scratch, "instances");
	if (!hob_usd_add_node(b, name, context.node, &node, err))
		return false;
	place(in, i, &b->model.nodes[node]);
	context.node = node;
	return hob_usd_build_prim(b, prototype, context, err);
}

/* Whether an instancer that is being drawn holds the prototype. */
static bool is_open(const hob_usd_build_t *b, hob_str prototype, hob_usd_context context)
{
	for (uint32_t i = 0; i < context.instancers; i++)
		if (hob_usd_path_below(b->u->prims[b->instancers[i]].path, prototype))
			return true;
	return false;
}

bool hob_usd_build_instancer(hob_usd_build_t *b, uint32_t id, uint32_t node, hob_usd_context context,
							 hob_error *err)
{
	hob_usd *u = b->u;
	const hob_usd_prim *prim = &u->prims[id];
	instancer_t in = {.positions = hob_usd_still(u, prim, HOB_STR("positions")),
					  .orientations = hob_usd_still(u, prim, HOB_STR("orientations")),
					  .scales = hob_usd_still(u, prim, HOB_STR("scales")),
					  .kinds = hob_usd_still(u, prim, HOB_STR("protoIndices")),
					  .ids = hob_usd_still(u, prim, HOB_STR("ids")),
					  .hidden = hob_usd_still(u, prim, HOB_STR("invisibleIds")),
					  .inactive = hob_usd_meta(u, prim, HOB_STR(""), HOB_USD_T_inactiveIds)};
	if (context.instancers >= HOB_USD_NESTED_INSTANCERS) {
		hob_usd_note(u, "instancers", "instancer '%.*s' is inside %d others; it is left out",
					 HOB_FMT(prim->path), HOB_USD_NESTED_INSTANCERS);
		return true;
	}
	if (!hob_usd_targets(u, prim, HOB_STR("prototypes"), HOB_USD_T_targetPaths, &in.prototypes,
						 &in.prototype_count, err))
		return false;
	if (!in.positions || !in.kinds) {
		hob_usd_note(u, "instancers", "instancer '%.*s' lacks %s; it is left out, as in OpenUSD",
					 HOB_FMT(prim->path), in.positions ? "protoIndices" : "positions");
		return true;
	}
	hob_usd_attribute moving;
	if (hob_usd_get(u, prim, HOB_STR("positions"), &moving) && moving.samples && moving.samples->count > 1)
		hob_usd_note(u, "instances-move",
					 "instancer '%.*s' moves its instances; they stay as they are at first",
					 HOB_FMT(prim->path));
	size_t left_out = (in.hidden ? in.hidden->count : 0) + (in.inactive ? in.inactive->count : 0);
	if (left_out > 65536)
		return hob_fail(err, LIMIT, "%zu hidden instances", left_out);
	context.node = node;
	b->instancers[context.instancers++] = id;
	for (uint32_t p = 0; p < in.prototype_count; p++)
		if (is_open(b, in.prototypes[p], context)) {
			hob_usd_note(u, "cycle", "instancer '%.*s' is inside its own prototype '%.*s', which is left out",
						 HOB_FMT(u->prims[id].path), HOB_FMT(in.prototypes[p]));
			in.prototypes[p] = HOB_STR("");
		}
	for (size_t i = 0; in.kinds && i < in.kinds->count && in.kinds->width == 1; i++) {
		double kind = hob_usd_component(in.kinds, i);
		if (!(kind >= 0) || kind >= in.prototype_count || is_hidden(&in, i))
			continue;
		uint32_t prototype = hob_usd_prim_at(u, in.prototypes[(size_t)kind]);
		if (prototype != HOB_NONE && !build_instance(b, &in, i, prototype, context, err))
			return false;
	}
	return true;
}

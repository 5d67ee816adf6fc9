#include "usd_skel.h"

#include "../shape.h"
#include "../text.h"

#include <math.h>

bool hob_usd_add_node(hob_usd_build_t *b, hob_str name, uint32_t parent, uint32_t *out, hob_error *err)
{
	hob_model *m = &b->model;
	if (m->node_count >= HOB_LIMIT_NODES)
		return hob_fail(err, LIMIT, "more than %llu nodes", HOB_LIMIT_NODES);
	hob_node *nodes =
		(hob_node *)hob_usd_more(b->u->scratch, m->nodes, m->node_count, &b->node_room, sizeof *nodes);
	hob_str kept = hob_text_name(b->u->result, name);
	if (!nodes || !kept.data)
		return hob_fail_memory(err, b->u->scratch, "nodes");
	m->nodes = nodes;
	*out = m->node_count++;
	nodes[*out] = hob_shape_plain_node(kept);
	nodes[*out].parent = parent;
	nodes[*out].source = HOB_NONE;
	if (parent == HOB_NONE) {
		m->scene_roots = (uint32_t *)hob_usd_more(b->u->scratch, m->scene_roots, m->scene_root_count,
												  &b->root_room, sizeof *m->scene_roots);
		if (!m->scene_roots)
			return hob_fail_memory(err, b->u->scratch, "nodes");
		m->scene_roots[m->scene_root_count++] = *out;
	}
	return true;
}

/* Types that hold data of other prims and have no place in the scene. */
static bool is_data(hob_str type)
{
	static const char *const types[] = {"Material",		 "Shader",	   "NodeGraph",		 "GeomSubset",
										"SkelAnimation", "BlendShape", "RenderSettings", "RenderProduct",
										"RenderVar",	 "Backdrop",   "PhysicsScene",	 "CoordSysBinding"};
	for (size_t i = 0; i < HOB_COUNT_OF(types); i++)
		if (hob_str_equal(type, hob_str_of(types[i])))
			return true;
	return false;
}

/* A child of the root, for a prim that resets the stack of transforms: nodes are in depth-first order, so it
 * is built after the tree that it lies in. */
static bool build_later(hob_usd_build_t *b, uint32_t id, hob_usd_context context, hob_error *err)
{
	b->late =
		(hob_usd_late *)hob_usd_more(b->u->scratch, b->late, b->late_count, &b->late_room, sizeof *b->late);
	if (!b->late)
		return hob_fail_memory(err, b->u->scratch, "nodes");
	context.node = b->u->z_up ? 0 : HOB_NONE;
	b->late[b->late_count++] = (hob_usd_late){id, context};
	return true;
}

bool hob_usd_build_late(hob_usd_build_t *b, hob_error *err)
{
	for (uint32_t i = 0; i < b->late_count; i++)
		if (!hob_usd_build_prim(b, b->late[i].prim, b->late[i].context, err))
			return false;
	return true;
}

static bool is_sheared_at(const double m[16])
{
	hob_node node = {0};
	hob_usd_place(&node, m);
	return node.has_matrix;
}

/* At rest, or at a sample. */
static bool is_sheared(hob_usd *u, const hob_usd_prim *prim, const double local[16], bool moves, bool *out,
					   hob_error *err)
{
	double *times, m[16];
	size_t count;
	bool resets, moving;
	*out = is_sheared_at(local);
	if (!moves || *out)
		return true;
	if (!hob_usd_xform_times(u, prim, &times, &count, err))
		return false;
	for (size_t i = 0; i < count && !*out; i++) {
		hob_usd_local(u, prim, times[i], m, &resets, &moving);
		*out = is_sheared_at(m);
	}
	return true;
}

/* Adds the prim's node to the scene, with its transform. *node: where its mesh and its children are. */
static bool place(hob_usd_build_t *b, const hob_usd_prim *prim, hob_usd_context context,
				  const double local[16], bool moves, uint32_t *node, hob_error *err)
{
	uint32_t outer, inner = HOB_NONE;
	bool sheared;
	if (!is_sheared(b->u, prim, local, moves, &sheared, err) ||
		!hob_usd_add_node(b, b->u->tokens[prim->name], context.node, &outer, err) ||
		(sheared && !hob_usd_add_node(b, b->u->tokens[prim->name], outer, &inner, err)))
		return false;
	if (sheared)
		hob_usd_place_two(&b->model.nodes[outer], &b->model.nodes[inner], local);
	else
		hob_usd_place(&b->model.nodes[outer], local);
	*node = sheared ? inner : outer;
	if (!moves)
		return true;
	b->moving = (hob_usd_moving *)hob_usd_more(b->u->scratch, b->moving, b->moving_count, &b->moving_room,
											   sizeof *b->moving);
	if (!b->moving)
		return hob_fail_memory(err, b->u->scratch, "animation");
	b->moving[b->moving_count++] = (hob_usd_moving){(uint32_t)(prim - b->u->prims), outer, inner};
	return true;
}

/* Only a prim with a type can be seen or not; on others these properties mean nothing. Source:
 * UsdGeomImageable. */
static hob_str seen_as(const hob_usd *u, const hob_usd_prim *prim, const char *property)
{
	return prim->type.len > 0 ? hob_usd_text(hob_usd_still(u, prim, hob_str_of(property))) : HOB_STR("");
}

/* Whether the prim is hidden at some times and seen at others. */
static bool comes_and_goes(const hob_usd *u, const hob_usd_prim *prim)
{
	hob_usd_attribute a;
	bool hides = false, shows = false;
	if (prim->type.len == 0 || !hob_usd_get(u, prim, HOB_STR("visibility"), &a) || a.scale == 0)
		return false;
	for (size_t i = 0; a.samples && i < a.samples->count; i++) {
		bool hidden = hob_str_equal(hob_usd_text(&a.samples->values[i]), HOB_STR("invisible"));
		hides = hides || hidden;
		shows = shows || !hidden;
	}
	return hides && shows;
}

static bool dispatch(hob_usd_build_t *b, uint32_t id, uint32_t node, hob_usd_context context, hob_error *err)
{
	hob_str type = b->u->prims[id].type;
	if (hob_str_equal(type, HOB_STR("Mesh")))
		return hob_usd_build_mesh(b, id, node, err) && hob_usd_skin_later(b, id, node, err);
	if (hob_str_equal(type, HOB_STR("TetMesh")))
		return hob_usd_build_mesh(b, id, node, err);
	if (hob_str_equal(type, HOB_STR("PointInstancer")))
		return hob_usd_build_instancer(b, id, node, context, err);
	if (hob_str_equal(type, HOB_STR("Skeleton")))
		return hob_usd_build_skeleton(b, id, node, err);
	if (hob_str_equal(type, HOB_STR("Camera")))
		return hob_usd_build_camera(b, id, node, err);
	if (hob_str_ends_nocase(type, HOB_STR("Light")))
		return hob_usd_build_light(b, id, node, err);
	return hob_usd_build_shape(b, id, node, err);
}

bool hob_usd_build_prim(hob_usd_build_t *b, uint32_t id, hob_usd_context context, hob_error *err)
{
	hob_usd_prim *prim = &b->u->prims[id];
	if (is_data(prim->type))
		return true;
	/* Meshes that bones bend are seen even if the bones are not. */
	bool bones = hob_str_equal(prim->type, HOB_STR("Skeleton"));
	bool blinks = !bones && comes_and_goes(b->u, prim);
	bool hidden =
		context.hidden || (!bones && hob_str_equal(seen_as(b->u, prim, "visibility"), HOB_STR("invisible")));
	hob_str purpose = seen_as(b->u, prim, "purpose");
	if (purpose.len > 0)
		context.unseen =
			!hob_str_equal(purpose, HOB_STR("default")) && !hob_str_equal(purpose, HOB_STR("render"));
	uint32_t node, root = b->u->z_up ? 0 : HOB_NONE;
	double local[16];
	bool resets, moves;
	hob_usd_local(b->u, prim, NAN, local, &resets, &moves);
	if (resets && context.instancers == 0 && context.node != root)
		return build_later(b, id, context, err);
	if (!place(b, prim, context, local, moves, &node, err) ||
		(blinks &&
		 !hob_usd_add_follower(b, &b->blinking, &b->blinking_count, &b->blinking_room, id, node, err)))
		return false;
	prim->node = node;
	b->model.nodes[node].hidden = hidden;
	context.hidden = hidden && !blinks;
	b->unseen += context.unseen && !bones;
	if ((bones || !context.unseen) && !dispatch(b, id, node, context, err))
		return hob_fail_in(err, "prim '%.*s'", HOB_FMT(prim->path));
	context.node = node;
	/* An instancer draws its prototypes itself. */
	return hob_str_equal(prim->type, HOB_STR("PointInstancer")) ||
		   hob_usd_build_children(b, id, context, err);
}

bool hob_usd_build_children(hob_usd_build_t *b, uint32_t id, hob_usd_context context, hob_error *err)
{
	const hob_usd *u = b->u;
	for (uint32_t c = u->prims[id].first_child; c != HOB_NONE; c = u->prims[c].next)
		if (u->prims[c].defined && !u->prims[c].abstract && !hob_usd_build_prim(b, c, context, err))
			return false;
	return true;
}

#include "fbx_private.h"

#include <math.h>

/* Converts to metres; a top node also gets `turn`. Mirrors left-handed files. */
static void to_model(const hob_fbx *f, bool top, const hob_fbx_trs *in, float t[3], float q[4], float s[3])
{
	hob_fbx_trs place = *in;
	if (f->mirrored) {
		place.t[0] = -place.t[0];
		place.q[1] = -place.q[1];
		place.q[2] = -place.q[2];
	}
	if (top && f->turned) {
		hob_fbx_quat_rotate(f->turn, place.t, place.t);
		hob_quat_multiply_double(f->turn, place.q, place.q);
	}
	double length = 0;
	for (int k = 0; k < 4; k++)
		length += place.q[k] * place.q[k];
	length = sqrt(length);
	for (int k = 0; k < 3; k++) {
		double at = place.t[k] * f->unit;
		t[k] = fabs(at) < 1e30 ? (float)at : 0;
		s[k] = fabs(place.s[k]) < 1e30 ? (float)place.s[k] : 1;
	}
	bool turns = length > 1e-9 && length < 1e9;
	for (int k = 0; k < 4; k++)
		q[k] = turns ? (float)(place.q[k] / length) : k == 3;
}

hob_node *hob_fbx_new_node(hob_fbx *f, uint32_t parent, hob_str name, const hob_fbx_trs *place)
{
	hob_node node = {
		.parent = parent, .source = HOB_NONE, .skin = HOB_NONE, .camera = HOB_NONE, .light = HOB_NONE};
	node.name = hob_fbx_name(f, name);
	if (f->lists.nodes.size / sizeof node >= HOB_LIMIT_NODES)
		hob_leave(LIMIT, "more than %llu nodes; split the scene", HOB_LIMIT_NODES);
	to_model(f, parent == HOB_NONE, place, node.translation, node.rotation, node.scale);
	hob_buf_put(&f->lists.nodes, &node, sizeof node);
	return (hob_node *)(void *)f->lists.nodes.data + (f->lists.nodes.size / sizeof node - 1);
}

static uint32_t last_id(const hob_fbx *f)
{
	return (uint32_t)(f->lists.nodes.size / sizeof(hob_node)) - 1;
}

/* ---- meshes of a node */

static hob_fbx_variant materials_of(hob_fbx *f, uint32_t owner)
{
	hob_fbx_variant out = {.next = HOB_NONE};
	out.materials = HOB_NEW(f->scratch, uint32_t, f->objects[owner].below_count);
	HOB_FBX_EACH_BELOW (edge, f, owner, MATERIAL, "")
		out.materials[out.material_count++] = f->objects[edge->child].index;
	return out;
}

static bool same_materials(const hob_fbx_variant *a, const hob_fbx_variant *b)
{
	return a->material_count == b->material_count &&
		   (a->material_count == 0 ||
			memcmp(a->materials, b->materials, a->material_count * sizeof *a->materials) == 0);
}

/* Adds the parts of a geometry with the materials of one node; the arrays are shared with other variants. */
static uint32_t add_variant(hob_fbx *f, hob_fbx_geometry *g, hob_fbx_variant *variant, uint32_t node)
{
	const hob_fbx_object *own = &f->objects[g->object], *user = &f->objects[node];
	hob_str name = hob_fbx_name(f, own->name.len > 0 ? own->name : user->name);
	uint32_t id = HOB_LISTS_COUNT(f->variants, hob_fbx_variant);
	variant->mesh_first = HOB_LISTS_COUNT(f->lists.meshes, hob_mesh);
	for (uint32_t p = 0; p < g->part_count; p++) {
		hob_mesh mesh = g->parts[p].mesh;
		uint32_t slot = g->parts[p].slot;
		mesh.name = name;
		mesh.source_mesh = id;
		mesh.material = slot < variant->material_count ? variant->materials[slot] : HOB_NONE;
		/* A mesh within its model's record has no properties of its own. */
		if (p == 0 && own->record != user->record)
			hob_fbx_extras(f, g->object, &mesh.extras);
		hob_buf_put(&f->lists.meshes, &mesh, sizeof mesh);
	}
	variant->next = g->variant_first;
	g->variant_first = id;
	hob_buf_put(&f->variants, variant, sizeof *variant);
	if (HOB_LISTS_COUNT(f->lists.meshes, hob_mesh) > HOB_LIMIT_MESHES)
		hob_leave(LIMIT, "more than %llu meshes", HOB_LIMIT_MESHES);
	return id;
}

static bool is_variant(const hob_fbx *f, uint32_t id, const hob_fbx_variant *wanted)
{
	return same_materials(HOB_LISTS_AT(f->variants, const hob_fbx_variant, id), wanted);
}

/* The first mesh for a node, of a new or known variant. `own`: the node's materials; when there are none,
 * those connected to the geometry itself are used. */
static uint32_t find_variant(hob_fbx *f, hob_fbx_geometry *g, const hob_fbx_node *node,
							 const hob_fbx_variant *own)
{
	hob_fbx_variant wanted = own->material_count > 0 ? *own : materials_of(f, g->object);
	uint32_t id = g->variant_first;
	/* Few users have materials of their own; the chain is followed for a bounded length. */
	for (int looked = 0; id != HOB_NONE && looked < 256 && !is_variant(f, id, &wanted); looked++)
		id = HOB_LISTS_AT(f->variants, hob_fbx_variant, id)->next;
	if (id == HOB_NONE || !is_variant(f, id, &wanted))
		id = add_variant(f, g, &wanted, node->object);
	return HOB_LISTS_AT(f->variants, hob_fbx_variant, id)->mesh_first;
}

static const hob_fbx_trs at_origin = {{0, 0, 0}, {0, 0, 0, 1}, {1, 1, 1}};

static void attach_geometry(hob_fbx *f, uint32_t node_id, uint32_t geometry, const hob_fbx_variant *own,
							uint32_t *taken)
{
	hob_fbx_node *node = &f->nodes[node_id];
	hob_fbx_geometry *g = &f->geometries[geometry];
	if (g->part_count == 0)
		return;
	uint32_t first = find_variant(f, g, node, own), id = node->scale_id;
	bool apart = g->geometric_differs && node->has_geometric && !g->skinned;
	if (apart || node->hides_mesh || *taken > 0) {
		hob_str name = f->objects[node->object].name;
		hob_str child = hob_arena_printf(f->scratch, "%.*s_geometry", HOB_FMT(name));
		hob_fbx_new_node(f, node->scale_id, child, apart ? &node->geometric : &at_origin);
		id = last_id(f);
	}
	++*taken;
	if (node->mesh_id == HOB_NONE)
		node->mesh_id = id;
	hob_node *to = (hob_node *)(void *)f->lists.nodes.data + id;
	to->hidden = to->hidden || node->hides_mesh;
	to->mesh_first = (uint32_t)(f->lists.mesh_refs.size / sizeof first);
	to->mesh_count = g->part_count;
	for (uint32_t p = 0; p < g->part_count; p++, first++)
		hob_buf_put(&f->lists.mesh_refs, &first, sizeof first);
	if (f->lists.mesh_refs.size / sizeof first > HOB_LIMIT_NODES)
		hob_leave(LIMIT, "more than %llu uses of meshes", HOB_LIMIT_NODES);
	/* The skin names nodes that do not exist yet; make_skins adds it later. */
	if (g->skinned)
		to->skin = geometry;
	to->source = node_id;
}

static void attach_geometries(hob_fbx *f, uint32_t node)
{
	uint32_t taken = 0;
	if (f->nodes[node].geometry == HOB_NONE)
		return;
	hob_fbx_variant own = materials_of(f, f->nodes[node].object);
	HOB_FBX_EACH_BELOW (edge, f, f->nodes[node].object, GEOMETRY, "")
		if (f->objects[edge->child].index != HOB_NONE && edge->property.len == 0)
			attach_geometry(f, node, f->objects[edge->child].index, &own, &taken);
}

/* ---- nodes */

static void drop_levels(hob_fbx *f)
{
	uint32_t dropped = 0;
	for (uint32_t i = 0; i < f->node_count; i++) {
		hob_fbx_node *node = &f->nodes[f->order[i]];
		if (node->parent == HOB_NONE)
			continue;
		const hob_fbx_node *parent = &f->nodes[node->parent];
		node->level_dropped = parent->level_dropped;
		if (parent->level_dropped || parent->first_child == f->order[i] || !parent->lod_group)
			continue;
		node->level_dropped = true;
		dropped++;
	}
	if (dropped > 0)
		hob_fbx_info(f, "levels",
					 "%u coarser level%s left out: only the first of each group is read, and new "
					 "ones are made",
					 dropped, dropped == 1 ? " is" : "s are");
}

static void emit_node(hob_fbx *f, uint32_t id)
{
	hob_fbx_node *node = &f->nodes[id];
	hob_fbx_trs place = node->rest, leaf = at_origin;
	uint32_t parent = HOB_NONE;
	const double *own = f->own_scales + (size_t)id * 3;
	if (node->parent != HOB_NONE) {
		const hob_fbx_node *above = &f->nodes[node->parent];
		bool beside = above->scale_apart && node->inherit != 1;
		parent = beside ? above->id : above->scale_id;
		for (int k = 0; beside && k < 3; k++)
			place.t[k] *= f->own_scales[(size_t)node->parent * 3 + (size_t)k];
	}
	for (int k = 0; k < 3; k++) {
		leaf.s[k] = own[k];
		place.s[k] = node->scale_apart ? 1 : own[k];
	}
	hob_str name = f->objects[node->object].name;
	hob_node *made = hob_fbx_new_node(f, parent, name, &place);
	made->source = id;
	made->hidden = node->hidden;
	hob_fbx_extras(f, node->object, &made->extras);
	node->id = node->scale_id = last_id(f);
	if (node->scale_apart) {
		hob_str leaf_name = hob_arena_printf(f->scratch, "%.*s_scale", HOB_FMT(name));
		hob_fbx_new_node(f, node->id, leaf_name, &leaf)->source = id;
		node->scale_id = last_id(f);
	}
	if (!node->level_dropped)
		attach_geometries(f, id);
	hob_fbx_emit_attributes(f, id);
}

static void reverse(uint32_t *ids, uint32_t count)
{
	for (uint32_t i = 0; i < count / 2; i++) {
		uint32_t swap = ids[i];
		ids[i] = ids[count - 1 - i], ids[count - 1 - i] = swap;
	}
}

/* Depth first. Children of a scale leaf precede those of the node itself. */
static void emit_all(hob_fbx *f)
{
	uint32_t depth = 0, *stack = HOB_NEW(f->scratch, uint32_t, f->node_count);
	for (uint32_t id = f->first_top; id != HOB_NONE; id = f->nodes[id].next)
		stack[depth++] = id;
	reverse(stack, depth);
	while (depth > 0) {
		uint32_t id = stack[--depth], first = depth;
		HOB_PLACE("node '@'", 0, f->objects[f->nodes[id].object].name);
		emit_node(f, id);
		for (int with_leaf = 1; with_leaf >= 0; with_leaf--)
			for (uint32_t c = f->nodes[id].first_child; c != HOB_NONE; c = f->nodes[c].next)
				if ((!f->nodes[id].scale_apart || f->nodes[c].inherit == 1) == with_leaf)
					stack[depth++] = c;
		reverse(stack + first, depth - first);
	}
}

static void make_skins(hob_fbx *f)
{
	uint32_t count = (uint32_t)(f->lists.nodes.size / sizeof(hob_node));
	hob_node *nodes = (hob_node *)(void *)f->lists.nodes.data;
	for (uint32_t i = 0; i < count; i++)
		if (nodes[i].skin != HOB_NONE)
			nodes[i].skin = hob_fbx_make_skin(f, &f->geometries[nodes[i].skin], nodes[i].source);
}

void hob_fbx_emit(hob_fbx *f)
{
	drop_levels(f);
	emit_all(f);
	make_skins(f);
	hob_lists_take(&f->lists, f->model);
}

#include "flatten.h"
#include "../base/limits.h"

#include <math.h>

static const float identity[16] = {[0] = 1, [5] = 1, [10] = 1, [15] = 1};

/* ---- counting and allocating */

typedef struct counts {
	uint64_t nodes, meshes, materials, cameras, lights, skins, weight_nodes;
} counts_t;

static counts_t count(const hob_model *model)
{
	counts_t c = {0};
	for (uint32_t n = 0; n < model->node_count; n++) {
		const hob_node *node = &model->nodes[n];
		c.meshes += node->mesh_count;
		for (uint32_t i = 0; i < node->mesh_count; i++)
			c.materials += model->meshes[model->mesh_refs[node->mesh_first + i]].material != HOB_NONE;
		c.cameras += node->camera != HOB_NONE;
		c.lights += node->light != HOB_NONE;
		c.skins += node->skin != HOB_NONE;
		c.weight_nodes += node->weight_count > 0;
	}
	c.nodes = model->node_count + c.meshes;
	return c;
}

static hob_baked_links new_links(hob_arena *arena, uint64_t room)
{
	return (hob_baked_links){0, HOB_NEW(arena, hob_baked_link, room)};
}

static void *copy(hob_arena *arena, const void *data, size_t items, size_t size)
{
	void *to = hob_arena_array(arena, items, size, 8);
	if (items > 0)
		memcpy(to, data, items * size);
	return to;
}

static void allocate(const hob_model *model, const counts_t *c, hob_arena *arena, hob_baked_scene *s)
{
	size_t n = c->nodes;
	s->node_count = (uint32_t)n;
	s->hierarchy = HOB_NEW(arena, hob_baked_hierarchy, n);
	s->subtree = HOB_NEW(arena, uint32_t, n);
	s->trs = HOB_NEW(arena, hob_baked_trs, n);
	s->local = HOB_NEW(arena, float, n * 16);
	s->global = HOB_NEW(arena, float, n * 16);
	s->aabb = HOB_NEW(arena, float, n * 6);
	s->names = HOB_NEW(arena, hob_str, n);
	s->node_of_model = HOB_NEW(arena, uint32_t, model->node_count);
	s->morph_weight_count = model->weight_count;
	s->morph_weights = copy(arena, model->weights, model->weight_count, sizeof *s->morph_weights);
	s->scene_count = model->scene_count;
	s->scenes = copy(arena, model->scenes, model->scene_count, sizeof *s->scenes);
	s->scene_root_count = model->scene_root_count;
	s->scene_roots = HOB_NEW(arena, uint32_t, model->scene_root_count);
	s->default_scene = model->default_scene;
	s->camera_count = model->camera_count;
	s->cameras = copy(arena, model->cameras, model->camera_count, sizeof *s->cameras);
	s->light_count = model->light_count;
	s->lights = copy(arena, model->lights, model->light_count, sizeof *s->lights);
	s->material_count = model->material_count;
	s->material_names = HOB_NEW(arena, hob_str, model->material_count);
	s->mesh_links = new_links(arena, c->meshes);
	s->material_links = new_links(arena, c->materials);
	s->camera_links = new_links(arena, c->cameras);
	s->light_links = new_links(arena, c->lights);
	s->skin_links = new_links(arena, c->skins);
	s->weight_links = new_links(arena, c->weight_nodes);
}

/* ---- filling, node by node in order */

static void add_link(hob_baked_links *links, uint32_t node, uint32_t value)
{
	if (value != HOB_NONE)
		links->items[links->count++] = (hob_baked_link){node, value};
}

static void add_node(hob_baked_scene *s, uint32_t id, uint32_t parent)
{
	hob_baked_hierarchy *node = &s->hierarchy[id];
	*node = (hob_baked_hierarchy){-1, -1, -1, -1, 0};
	if (parent == HOB_NONE)
		return;
	hob_baked_hierarchy *above = &s->hierarchy[parent];
	node->parent = (int32_t)parent;
	node->level = above->level + 1;
	if (above->first_child < 0) {
		above->first_child = node->last_sibling = (int32_t)id;
		return;
	}
	hob_baked_hierarchy *first = &s->hierarchy[above->first_child];
	s->hierarchy[first->last_sibling].next_sibling = (int32_t)id;
	first->last_sibling = (int32_t)id;
}

static bool is_mirrored(const float *m)
{
	double a[9];
	for (int column = 0; column < 3; column++)
		for (int row = 0; row < 3; row++)
			a[3 * column + row] = (double)m[4 * column + row];
	return a[0] * (a[4] * a[8] - a[5] * a[7]) - a[3] * (a[1] * a[8] - a[2] * a[7]) +
			   a[6] * (a[1] * a[5] - a[2] * a[4]) <
		   0;
}

static void place(hob_baked_scene *s, uint32_t id, const float local[16])
{
	float *global = s->global + 16 * (size_t)id;
	int32_t parent = s->hierarchy[id].parent;
	memcpy(s->local + 16 * (size_t)id, local, 64);
	if (parent >= 0)
		hob_matrix_multiply(s->global + 16 * (size_t)parent, local, global);
	else
		memcpy(global, local, 64);
	if (is_mirrored(global))
		s->trs[id].flags |= HOB_NODE_MIRRORED;
}

static void place_node(hob_baked_scene *s, uint32_t id, const hob_node *node)
{
	hob_baked_trs *trs = &s->trs[id];
	float local[16], t[3], r[4], scale[3];
	memcpy(trs->t, node->translation, sizeof trs->t);
	memcpy(trs->r, node->rotation, sizeof trs->r);
	memcpy(trs->s, node->scale, sizeof trs->s);
	hob_node_local_matrix(node, local);
	if (node->hidden)
		trs->flags |= HOB_NODE_HIDDEN;
	if (node->has_matrix)
		trs->flags |= HOB_NODE_FROM_MATRIX;
	if (node->has_matrix && !hob_matrix_decompose(node->matrix, t, r, scale))
		trs->flags |= HOB_NODE_SHEAR;
	place(s, id, local);
}

static void add_mesh_child(const hob_model *model, const hob_node *node, uint32_t parent, uint32_t i,
						   hob_baked_scene *s, hob_arena *arena)
{
	uint32_t id = parent + 1 + i, mesh = model->mesh_refs[node->mesh_first + i];
	add_node(s, id, parent);
	s->trs[id] = (hob_baked_trs){.r = {0, 0, 0, 1}, .s = {1, 1, 1}};
	place(s, id, identity);
	s->names[id] = hob_arena_printf(arena, "%.*s_Mesh_%u", HOB_FMT(node->name), i);
	add_link(&s->mesh_links, id, mesh);
	add_link(&s->material_links, id, model->meshes[mesh].material);
}

static void fill_nodes(const hob_model *model, hob_baked_scene *s, hob_arena *arena)
{
	uint32_t id = 0;
	for (uint32_t n = 0; n < model->node_count; n++) {
		const hob_node *node = &model->nodes[n];
		s->node_of_model[n] = id;
		add_node(s, id, node->parent == HOB_NONE ? HOB_NONE : s->node_of_model[node->parent]);
		place_node(s, id, node);
		s->names[id] = node->name;
		add_link(&s->camera_links, id, node->camera);
		add_link(&s->light_links, id, node->light);
		add_link(&s->skin_links, id, node->skin);
		add_link(&s->weight_links, id, node->weight_count > 0 ? node->weight_first : HOB_NONE);
		for (uint32_t i = 0; i < node->mesh_count; i++)
			add_mesh_child(model, node, id, i, s, arena);
		id += 1 + node->mesh_count;
	}
}

/* ---- extras */

static void add_extra(hob_baked_scene *s, hob_extra_kind kind, uint32_t index, const hob_extras *extras)
{
	if (extras->values.len + extras->extensions.len > 0)
		s->extras[s->extra_count++] = (hob_baked_extra){kind, index, *extras};
}

static void fill_extras(const hob_model *model, hob_baked_scene *s, hob_arena *arena)
{
	s->extras = HOB_NEW(arena, hob_baked_extra,
						1 + (size_t)model->scene_count + model->node_count + model->material_count +
							model->mesh_count + model->camera_count + model->light_count + model->skin_count +
							model->clip_count);
	add_extra(s, HOB_EXTRA_FILE, 0, &model->extras);
	for (uint32_t i = 0; i < model->scene_count; i++)
		add_extra(s, HOB_EXTRA_SCENE, i, &model->scenes[i].extras);
	for (uint32_t i = 0; i < model->node_count; i++)
		add_extra(s, HOB_EXTRA_NODE, s->node_of_model[i], &model->nodes[i].extras);
	for (uint32_t i = 0; i < model->material_count; i++)
		add_extra(s, HOB_EXTRA_MATERIAL, i, &model->materials[i].extras);
	for (uint32_t i = 0; i < model->mesh_count; i++)
		add_extra(s, HOB_EXTRA_MESH, i, &model->meshes[i].extras);
	for (uint32_t i = 0; i < model->camera_count; i++)
		add_extra(s, HOB_EXTRA_CAMERA, i, &model->cameras[i].extras);
	for (uint32_t i = 0; i < model->light_count; i++)
		add_extra(s, HOB_EXTRA_LIGHT, i, &model->lights[i].extras);
	for (uint32_t i = 0; i < model->skin_count; i++)
		add_extra(s, HOB_EXTRA_SKIN, i, &model->skins[i].extras);
	for (uint32_t i = 0; i < model->clip_count; i++)
		add_extra(s, HOB_EXTRA_CLIP, i, &model->clips[i].extras);
}

static bool check_globals(const hob_baked_scene *s, hob_error *err)
{
	for (size_t i = 0; i < 16 * (size_t)s->node_count; i++)
		if (!isfinite(s->global[i]))
			return hob_fail(
				err, CORRUPT,
				"the world transform of node %zu '%.*s' is too large for a float; look at the scales and "
				"translations of its %d ancestors",
				i / 16, HOB_FMT(s->names[i / 16]), s->hierarchy[i / 16].level);
	return true;
}

bool hob_scene_bake(const hob_model *model, const hob_baked_mesh *meshes, hob_arena *arena,
					hob_arena *scratch, hob_baked_scene *out, hob_error *err)
{
	counts_t counts = count(model);
	if (counts.nodes > HOB_LIMIT_NODES)
		return hob_fail(err, LIMIT, "%llu nodes with one for each mesh of a node, the limit is %llu",
						(unsigned long long)counts.nodes, HOB_LIMIT_NODES);
	hob_baked_scene s = {0};
	allocate(model, &counts, arena, &s);
	fill_nodes(model, &s, arena);
	fill_extras(model, &s, arena);
	if (!check_globals(&s, err))
		return false;
	for (uint32_t i = s.node_count; i-- > 0;) {
		s.subtree[i]++;
		if (s.hierarchy[i].parent >= 0)
			s.subtree[s.hierarchy[i].parent] += s.subtree[i];
	}
	for (uint32_t i = 0; i < s.scene_root_count; i++)
		s.scene_roots[i] = s.node_of_model[model->scene_roots[i]];
	for (uint32_t i = 0; i < s.material_count; i++)
		s.material_names[i] = model->materials[i].name;
	hob_scene_bounds(model, meshes, &s, scratch);
	*out = s;
	return true;
}

void hob_scene_mesh_skins(const hob_model *model, uint32_t *skins)
{
	for (uint32_t m = 0; m < model->mesh_count; m++)
		skins[m] = HOB_NONE;
	for (uint32_t n = 0; n < model->node_count; n++) {
		const hob_node *node = &model->nodes[n];
		for (uint32_t i = 0; node->skin != HOB_NONE && i < node->mesh_count; i++) {
			uint32_t *skin = &skins[model->mesh_refs[node->mesh_first + i]];
			*skin = *skin == HOB_NONE ? node->skin : *skin;
		}
	}
}

#include "model_edit.h"
#include "../base/guard.h"
#include "mesh_join.h"
#include "static_nodes.h"

#include <stdlib.h>

/* A mesh reference of a node that will be joined. */
typedef struct piece {
	uint32_t node, place; /* `place`: number of the reference within the node */
	uint32_t mesh, anchor, kind;
	uint64_t scenes;
} piece_t;

typedef struct merge {
	hob_model model; /* the edited copy */
	hob_static_nodes nodes;
	piece_t *pieces;
	uint32_t piece_count, group_count;
	bool *taken;		 /* [old mesh_ref by running number of (node, place)] removed by joining */
	uint32_t *first_ref; /* [node_count] running number of the node's first reference */
	uint32_t *added; /* [node_count] newest joined mesh of the node, or HOB_NONE; others follow in more[] */
	uint32_t *more;	 /* [mesh] the same node's joined mesh before this one */
	hob_arena *arena, *scratch;
} merge_t;

static int compare_groups(const piece_t *a, const piece_t *b)
{
	int order = hob_compare_numbers(a->anchor, b->anchor);
	/* All nodes below an anchor are in the anchor's scenes. */
	if (order == 0 && a->anchor == HOB_NONE)
		order = hob_compare_numbers(a->scenes, b->scenes);
	return order != 0 ? order : hob_compare_numbers(a->kind, b->kind);
}

static int compare_pieces(const void *a, const void *b)
{
	const piece_t *x = a, *y = b;
	int order = compare_groups(x, y);
	if (order == 0)
		order = hob_compare_numbers(x->node, y->node);
	return order != 0 ? order : hob_compare_numbers(x->place, y->place);
}

/* Identifies the kind of a mesh by the first mesh that it can be joined with. */
static uint32_t kind_of(const hob_model *model, uint32_t mesh, uint32_t *kinds, uint32_t *kind_count)
{
	for (uint32_t k = 0; k < *kind_count; k++)
		if (hob_mesh_joinable(&model->meshes[kinds[k]], &model->meshes[mesh]))
			return kinds[k];
	kinds[(*kind_count)++] = mesh;
	return mesh;
}

static void find_pieces(merge_t *w, uint32_t material)
{
	const hob_model *m = &w->model;
	uint64_t total = 0;
	w->first_ref = HOB_NEW(w->scratch, uint32_t, m->node_count);
	for (uint32_t n = 0; n < m->node_count; n++) {
		w->first_ref[n] = (uint32_t)total;
		total += m->nodes[n].mesh_count;
	}
	if (total > UINT32_MAX / 2)
		hob_leave(LIMIT, "%llu mesh references", (unsigned long long)total);
	w->taken = HOB_NEW(w->scratch, bool, total);
	w->pieces = HOB_NEW(w->scratch, piece_t, total);
	uint32_t *kinds = HOB_NEW(w->scratch, uint32_t, m->mesh_count),
			 *kind = HOB_NEW(w->scratch, uint32_t, m->mesh_count);
	uint32_t kind_count = 0;
	for (uint32_t i = 0; i < m->mesh_count; i++)
		kind[i] = m->meshes[i].material == material && m->meshes[i].target_count == 0
					  ? kind_of(m, i, kinds, &kind_count)
					  : HOB_NONE;
	for (uint32_t n = 0; n < m->node_count; n++)
		for (uint32_t i = 0; hob_node_is_rigid(&m->nodes[n]) && i < m->nodes[n].mesh_count; i++) {
			uint32_t mesh = m->mesh_refs[m->nodes[n].mesh_first + i];
			if (kind[mesh] != HOB_NONE)
				w->pieces[w->piece_count++] =
					(piece_t){n, i, mesh, w->nodes.anchor[n], kind[mesh], w->nodes.scenes[n]};
		}
	qsort(w->pieces, w->piece_count, sizeof *w->pieces, compare_pieces);
}

static uint32_t group_end(const merge_t *w, uint32_t begin)
{
	uint32_t end = begin + 1;
	while (end < w->piece_count && compare_groups(&w->pieces[begin], &w->pieces[end]) == 0)
		end++;
	return end;
}

static void count_groups(merge_t *w)
{
	for (uint32_t i = 0, end; i < w->piece_count; i = end) {
		end = group_end(w, i);
		w->group_count += end - i > 1;
	}
}

static void copy_for_editing(merge_t *w)
{
	hob_model *m = &w->model;
	size_t groups = w->group_count, node_room = m->node_count + groups, mesh_room = m->mesh_count + groups;
	hob_node *nodes = HOB_NEW(w->arena, hob_node, node_room);
	hob_mesh *meshes = HOB_NEW(w->arena, hob_mesh, mesh_room);
	w->added = HOB_NEW(w->scratch, uint32_t, node_room);
	w->more = HOB_NEW(w->scratch, uint32_t, mesh_room);
	memcpy(nodes, m->nodes, m->node_count * sizeof *nodes);
	memcpy(meshes, m->meshes, m->mesh_count * sizeof *meshes);
	memset(w->added, 0xFF, node_room * sizeof *w->added);
	memset(w->more, 0xFF, mesh_room * sizeof *w->more);
	m->nodes = nodes, m->meshes = meshes;
}

static uint32_t add_root(merge_t *w, hob_str name)
{
	hob_model *m = &w->model;
	m->nodes[m->node_count] = (hob_node){.name = name,
										 .parent = HOB_NONE,
										 .source = HOB_NONE,
										 .rotation = {0, 0, 0, 1},
										 .scale = {1, 1, 1},
										 .skin = HOB_NONE,
										 .camera = HOB_NONE,
										 .light = HOB_NONE};
	return m->node_count++;
}

static void join_group(merge_t *w, const piece_t *group, uint32_t size, hob_str name)
{
	hob_model *m = &w->model;
	hob_placed_mesh *parts = HOB_NEW(w->scratch, hob_placed_mesh, size);
	for (uint32_t i = 0; i < size; i++) {
		parts[i] = (hob_placed_mesh){&m->meshes[group[i].mesh], w->nodes.place[group[i].node]};
		w->taken[w->first_ref[group[i].node] + group[i].place] = true;
	}
	uint32_t mesh = m->mesh_count++;
	m->meshes[mesh] = hob_meshes_join(parts, size, w->arena);
	m->meshes[mesh].name = name;
	uint32_t node = group->anchor == HOB_NONE ? add_root(w, name) : group->anchor;
	w->more[mesh] = w->added[node];
	w->added[node] = mesh;
}

/* New roots join the scenes that list the root above the group's first piece. */
static void extend_scenes(merge_t *w, const hob_model *source, const uint32_t *like)
{
	hob_model *m = &w->model;
	uint32_t new_count = m->node_count - source->node_count, at = 0;
	hob_scene *scenes = HOB_NEW(w->arena, hob_scene, m->scene_count);
	uint32_t *roots =
		HOB_NEW(w->arena, uint32_t, source->scene_root_count + (size_t)new_count * source->scene_count);
	bool *listed = HOB_NEW(w->scratch, bool, source->node_count);
	for (uint32_t s = 0; s < source->scene_count; s++) {
		const hob_scene *scene = &source->scenes[s];
		const uint32_t *from = source->scene_roots + scene->root_first;
		uint32_t first = at;
		for (uint32_t r = 0; r < scene->root_count; r++)
			listed[roots[at++] = from[r]] = true;
		for (uint32_t i = 0; i < new_count; i++)
			if (listed[like[i]])
				roots[at++] = source->node_count + i;
		for (uint32_t r = 0; r < scene->root_count; r++)
			listed[from[r]] = false;
		scenes[s] = (hob_scene){scene->name, first, at - first, scene->extras};
	}
	m->scenes = scenes;
	m->scene_roots = roots;
	m->scene_root_count = at;
}

static uint32_t root_of(const hob_model *model, uint32_t node)
{
	while (model->nodes[node].parent != HOB_NONE)
		node = model->nodes[node].parent;
	return node;
}

static void join_groups(merge_t *w, const hob_model *source, hob_str name)
{
	uint32_t *like = HOB_NEW(w->scratch, uint32_t, w->group_count);
	for (uint32_t i = 0, end; i < w->piece_count; i = end) {
		end = group_end(w, i);
		if (end - i < 2)
			continue;
		if (w->pieces[i].anchor == HOB_NONE)
			like[w->model.node_count - source->node_count] = root_of(source, w->pieces[i].node);
		join_group(w, &w->pieces[i], end - i, name);
	}
	extend_scenes(w, source, like);
}

static void rewrite_refs(merge_t *w, const hob_model *source, bool *emptied)
{
	hob_model *m = &w->model;
	uint64_t total = m->mesh_count;
	for (uint32_t n = 0; n < m->node_count; n++)
		total += m->nodes[n].mesh_count;
	uint32_t *refs = HOB_NEW(w->arena, uint32_t, total);
	uint32_t at = 0;
	for (uint32_t n = 0; n < m->node_count; n++) {
		hob_node *node = &m->nodes[n];
		uint32_t first = at, before = node->mesh_count;
		for (uint32_t i = 0; i < before; i++)
			if (!w->taken[w->first_ref[n] + i])
				refs[at++] = source->mesh_refs[node->mesh_first + i];
		for (uint32_t mesh = w->added[n]; mesh != HOB_NONE; mesh = w->more[mesh])
			refs[at++] = mesh;
		node->mesh_first = first;
		node->mesh_count = at - first;
		emptied[n] = before > 0 && node->mesh_count == 0;
	}
	m->mesh_refs = refs;
	m->mesh_ref_count = at;
}

/* Children come after their parents: going backwards, a node whose children are all deleted can be deleted
 * itself. Only nodes that held a joined mesh, or are above such a node, may be deleted. */
static void doom_empty(const merge_t *w, uint32_t source_count, const bool *emptied, bool *doomed,
					   bool *needed, bool *above)
{
	const hob_model *m = &w->model;
	for (uint32_t n = source_count; n-- > 0;) {
		const hob_node *node = &m->nodes[n];
		bool moved = w->nodes.anchor[n] == n;
		doomed[n] = (emptied[n] || above[n]) && !needed[n] && !moved && node->mesh_count == 0 &&
					node->camera == HOB_NONE && node->light == HOB_NONE && node->skin == HOB_NONE;
		if (node->parent != HOB_NONE)
			(doomed[n] ? above : needed)[node->parent] = true;
	}
}

static void merge(merge_t *w, const hob_model *source, uint32_t material)
{
	w->nodes = hob_static_nodes_of(source, w->scratch);
	find_pieces(w, material);
	count_groups(w);
	if (w->group_count == 0)
		return;
	copy_for_editing(w);
	join_groups(w, source, source->materials[material].name);
	hob_model *m = &w->model;
	bool *emptied = HOB_NEW(w->scratch, bool, m->node_count),
		 *doomed = HOB_NEW(w->scratch, bool, m->node_count);
	bool *needed = HOB_NEW(w->scratch, bool, m->node_count),
		 *above = HOB_NEW(w->scratch, bool, m->node_count);
	bool *old = HOB_NEW(w->scratch, bool, m->mesh_count);
	rewrite_refs(w, source, emptied);
	doom_empty(w, source->node_count, emptied, doomed, needed, above);
	for (uint32_t i = 0; i < w->piece_count; i++)
		old[w->pieces[i].mesh] = true;
	hob_model_delete_nodes(m, doomed, w->arena, w->scratch);
	hob_model_delete_meshes(m, old, w->arena, w->scratch);
}

void hob_model_merge_material(hob_model *model, uint32_t material, hob_arena *arena, hob_arena *scratch)
{
	if (material >= model->material_count)
		hob_leave(CONFIG, "no material %u: the model has %u", material, model->material_count);
	merge_t w = {.model = *model, .arena = arena, .scratch = scratch};
	hob_arena_mark mark = hob_arena_save(scratch);
	merge(&w, model, material);
	hob_arena_restore(scratch, mark);
	*model = w.model;
}

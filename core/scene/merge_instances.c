#include "model_edit.h"
#include "mesh_join.h"
#include "static_nodes.h"

#include <stdlib.h>

typedef struct candidate {
	const uint32_t *refs;
	uint32_t ref_count, anchor, node;
	uint64_t scenes;
} candidate_t;

static int compare_groups(const candidate_t *a, const candidate_t *b)
{
	int order = hob_compare_numbers(a->anchor, b->anchor);
	if (order == 0)
		order = hob_compare_numbers(a->scenes, b->scenes);
	if (order == 0)
		order = hob_compare_numbers(a->ref_count, b->ref_count);
	for (uint32_t i = 0; order == 0 && i < a->ref_count; i++)
		order = hob_compare_numbers(a->refs[i], b->refs[i]);
	return order;
}

static int compare_candidates(const void *a, const void *b)
{
	const candidate_t *x = a, *y = b;
	int order = compare_groups(x, y);
	return order != 0 ? order : hob_compare_numbers(x->node, y->node);
}

static bool may_fold(const hob_model *model, const hob_static_nodes *nodes, uint32_t n)
{
	const hob_node *node = &model->nodes[n];
	if (node->mesh_count == 0 || nodes->has_children[n] || nodes->anchor[n] == n ||
		!hob_node_is_rigid(node) || node->camera != HOB_NONE || node->light != HOB_NONE)
		return false;
	for (uint32_t i = 0; i < node->mesh_count; i++)
		if (model->meshes[model->mesh_refs[node->mesh_first + i]].target_count > 0)
			return false;
	return true;
}

typedef struct fold {
	hob_model model; /* the edited copy, put in place at the end */
	hob_static_nodes nodes;
	bool *doomed_nodes, *doomed_meshes;
	hob_arena *arena, *scratch;
	hob_notes *notes;
} fold_t;

static uint64_t joined_vertices(const hob_model *model, const candidate_t *group, uint32_t size)
{
	uint64_t largest = 0;
	for (uint32_t i = 0; i < group->ref_count; i++) {
		uint64_t vertices = (uint64_t)model->meshes[group->refs[i]].vertex_count * size;
		largest = vertices > largest ? vertices : largest;
	}
	return largest;
}

static void fold_group(fold_t *f, const candidate_t *group, uint32_t size)
{
	hob_model *m = &f->model;
	hob_node *holder = &m->nodes[group->node];
	hob_affine inverse;
	if (joined_vertices(m, group, size) > HOB_MERGE_INSTANCES_VERTICES ||
		!hob_affine_invert(&f->nodes.place[group->node], &inverse)) {
		hob_info(
			f->notes, "scene.instances-kept",
			"%u instances of '%.*s' were not merged: more than %u vertices, or a transform without inverse",
			size, HOB_FMT(holder->name), (unsigned)HOB_MERGE_INSTANCES_VERTICES);
		return;
	}
	hob_placed_mesh *parts = HOB_NEW(f->scratch, hob_placed_mesh, size);
	uint32_t first_ref = m->mesh_ref_count;
	for (uint32_t r = 0; r < group->ref_count; r++) {
		for (uint32_t i = 0; i < size; i++) {
			hob_affine place = hob_affine_identity();
			if (i > 0)
				place = hob_affine_multiply(&inverse, &f->nodes.place[group[i].node]);
			parts[i] = (hob_placed_mesh){&m->meshes[group->refs[r]], place};
		}
		m->meshes[m->mesh_count] = hob_meshes_join(parts, size, f->arena);
		f->doomed_meshes[group->refs[r]] = true;
		m->mesh_refs[m->mesh_ref_count++] = m->mesh_count++;
	}
	holder->mesh_first = first_ref;
	for (uint32_t i = 1; i < size; i++)
		f->doomed_nodes[group[i].node] = true;
}

/* Folds each run of two or more equal candidates, unless f is NULL; returns how many references they have. */
static uint32_t each_group(fold_t *f, const candidate_t *candidates, uint32_t count)
{
	uint32_t ref_count = 0;
	for (uint32_t i = 0, end; i < count; i = end) {
		for (end = i + 1; end < count && compare_groups(&candidates[i], &candidates[end]) == 0; end++)
			;
		if (end - i < 2)
			continue;
		ref_count += candidates[i].ref_count;
		if (f)
			fold_group(f, &candidates[i], end - i);
	}
	return ref_count;
}

/* Gives every remaining node its own range of references, so that none names a mesh that is no longer
 * shown. */
static void compact_refs(fold_t *f)
{
	hob_model *m = &f->model;
	uint64_t total = 0;
	for (uint32_t n = 0; n < m->node_count; n++)
		total += f->doomed_nodes[n] ? 0 : m->nodes[n].mesh_count;
	/* References are counted in 32 bits; more of them fit no arena. */
	uint32_t *refs = HOB_NEW(f->arena, uint32_t, total <= UINT32_MAX ? total : SIZE_MAX);
	uint32_t at = 0;
	for (uint32_t n = 0; n < m->node_count; n++) {
		hob_node *node = &m->nodes[n];
		uint32_t count = f->doomed_nodes[n] ? 0 : node->mesh_count;
		if (count > 0)
			memcpy(refs + at, m->mesh_refs + node->mesh_first, count * sizeof *refs);
		node->mesh_first = at;
		node->mesh_count = count;
		at += count;
	}
	m->mesh_refs = refs;
	m->mesh_ref_count = at;
}

static void copy_for_editing(fold_t *f, uint32_t new_refs)
{
	hob_model *m = &f->model;
	hob_node *nodes = HOB_NEW(f->arena, hob_node, m->node_count);
	hob_mesh *meshes = HOB_NEW(f->arena, hob_mesh, (size_t)m->mesh_count + new_refs);
	uint32_t *refs = HOB_NEW(f->scratch, uint32_t, (size_t)m->mesh_ref_count + new_refs);
	f->doomed_nodes = HOB_NEW(f->scratch, bool, m->node_count);
	f->doomed_meshes = HOB_NEW(f->scratch, bool, (size_t)m->mesh_count + new_refs);
	memcpy(nodes, m->nodes, m->node_count * sizeof *nodes);
	memcpy(meshes, m->meshes, m->mesh_count * sizeof *meshes);
	memcpy(refs, m->mesh_refs, m->mesh_ref_count * sizeof *refs);
	m->nodes = nodes, m->meshes = meshes, m->mesh_refs = refs;
}

static void fold(fold_t *f, const hob_model *source)
{
	f->nodes = hob_static_nodes_of(source, f->scratch);
	candidate_t *candidates = HOB_NEW(f->scratch, candidate_t, source->node_count);
	uint32_t count = 0;
	for (uint32_t n = 0; n < source->node_count; n++)
		if (may_fold(source, &f->nodes, n))
			candidates[count++] =
				(candidate_t){source->mesh_refs + source->nodes[n].mesh_first, source->nodes[n].mesh_count,
							  f->nodes.anchor[n], n, f->nodes.scenes[n]};
	qsort(candidates, count, sizeof *candidates, compare_candidates);
	uint32_t new_refs = each_group(NULL, candidates, count);
	if (new_refs == 0)
		return;
	copy_for_editing(f, new_refs);
	each_group(f, candidates, count);
	compact_refs(f);
	hob_model_delete_nodes(&f->model, f->doomed_nodes, f->arena, f->scratch);
	hob_model_delete_meshes(&f->model, f->doomed_meshes, f->arena, f->scratch);
}

void hob_model_merge_instances(hob_model *model, hob_arena *arena, hob_arena *scratch, hob_notes *notes)
{
	fold_t f = {.model = *model, .arena = arena, .scratch = scratch, .notes = notes};
	hob_arena_mark mark = hob_arena_save(scratch);
	fold(&f, model);
	hob_arena_restore(scratch, mark);
	*model = f.model;
}

#include "siblings.h"
#include "vec3.h"
#include "vertex_arrays.h"
#include "weld.h"

/* Larger families are sampled evenly: the tip of a cone with hard edges has one member for each triangle. */
enum { MOST_TRIED = 256 };

static bool without_directions(const hob_mesh *mesh, hob_arena *arena, hob_mesh *out)
{
	*out = *mesh;
	out->normal = out->tangent = NULL;
	out->targets = HOB_NEW(arena, hob_morph_target, mesh->target_count);
	for (uint32_t t = 0; out->targets && t < mesh->target_count; t++)
		out->targets[t] = (hob_morph_target){.position = mesh->targets[t].position};
	return out->targets != NULL;
}

bool hob_siblings_find(const hob_mesh *mesh, hob_arena *arena, hob_siblings *out, hob_error *err)
{
	uint32_t vertices = mesh->vertex_count;
	hob_arena_mark before = hob_arena_save(arena);
	hob_siblings s = {.family = HOB_NEW(arena, uint32_t, vertices),
					  .members = HOB_NEW(arena, uint32_t, vertices),
					  .first = HOB_NEW(arena, uint32_t, (size_t)vertices + 1)};
	hob_arena_mark mark = hob_arena_save(arena);
	uint32_t *from = HOB_NEW(arena, uint32_t, vertices);
	void *memory = hob_arena_alloc(arena, hob_weld_scratch_size(vertices), 8);
	hob_mesh bare;
	if (!s.family || !s.members || !s.first || !from || !memory || !without_directions(mesh, arena, &bare))
		return hob_fail_memory(err, arena, "vertex families");
	uint32_t array_count = hob_vertex_arrays_count(&bare);
	hob_vertex_array *arrays = HOB_NEW(arena, hob_vertex_array, array_count);
	if (!arrays)
		return hob_fail_memory(err, arena, "vertex families");
	hob_vertex_arrays_list(&bare, arrays);
	s.count = hob_weld(arrays, array_count, vertices, NULL, 0, s.family, from, memory);
	if (s.count == vertices) {
		hob_arena_restore(arena, before);
		*out = (hob_siblings){.count = vertices};
		return true;
	}
	for (uint32_t v = 0; v < vertices; v++)
		s.first[s.family[v] + 1]++;
	for (uint32_t f = 0; f < s.count; f++)
		s.first[f + 1] += s.first[f];
	uint32_t *next = from;
	memcpy(next, s.first, s.count * sizeof *next);
	for (uint32_t v = 0; v < vertices; v++)
		s.members[next[s.family[v]]++] = v;
	hob_arena_restore(arena, mark);
	*out = s;
	return true;
}

/* +1, -1: what tangent.w must be for this triangle; 0 when nothing says. */
static int handedness(const hob_mesh *mesh, const uint32_t vertices[3])
{
	if (!mesh->tangent || !mesh->uv[0])
		return 0;
	const float *a = mesh->uv[0] + 2 * (size_t)vertices[0], *b = mesh->uv[0] + 2 * (size_t)vertices[1];
	const float *c = mesh->uv[0] + 2 * (size_t)vertices[2];
	double area = ((double)b[0] - (double)a[0]) * ((double)c[1] - (double)a[1]) -
				  ((double)b[1] - (double)a[1]) * ((double)c[0] - (double)a[0]);
	return area > 0 ? -1 : area < 0 ? 1 : 0;
}

static uint32_t best_member(const hob_siblings *s, const hob_mesh *mesh, uint32_t family, hob_vec3 normal,
							int hand, uint64_t *tried)
{
	uint32_t first = s->first[family], end = s->first[family + 1], best = s->members[first];
	double best_score = -HUGE_VAL;
	for (uint32_t i = first; i < end; i += (end - first) / MOST_TRIED + 1) {
		uint32_t v = s->members[i];
		++*tried;
		double score = mesh->normal ? hob_vec3_dot(normal, hob_vec3_load(mesh->normal + 3 * (size_t)v)) : 0;
		if (hand != 0 && (mesh->tangent[4 * (size_t)v + 3] < 0) != (hand < 0))
			score -= 4;
		if (score > best_score)
			best = v, best_score = score;
	}
	return best;
}

void hob_siblings_unite(const hob_siblings *siblings, uint32_t *indices, uint32_t index_count)
{
	for (uint32_t i = 0; i < index_count; i++)
		indices[i] = siblings->members[siblings->first[siblings->family[indices[i]]]];
}

uint64_t hob_siblings_choose(const hob_siblings *siblings, const hob_mesh *mesh, uint32_t *indices,
							 uint32_t index_count)
{
	uint64_t tried = 0;
	for (uint32_t i = 0; i < index_count; i += 3) {
		uint32_t *corner = indices + i, families[3];
		bool alone = true;
		for (uint32_t k = 0; k < 3; k++) {
			families[k] = siblings->family[corner[k]];
			alone = alone && siblings->first[families[k] + 1] - siblings->first[families[k]] == 1;
		}
		if (alone)
			continue;
		hob_vec3 p = hob_vec3_load(mesh->position + 3 * (size_t)corner[0]);
		hob_vec3 e = hob_vec3_sub(hob_vec3_load(mesh->position + 3 * (size_t)corner[1]), p);
		hob_vec3 f = hob_vec3_sub(hob_vec3_load(mesh->position + 3 * (size_t)corner[2]), p);
		hob_vec3 normal = hob_vec3_unit(hob_vec3_cross(e, f));
		int hand = handedness(mesh, corner);
		for (uint32_t k = 0; k < 3; k++)
			corner[k] = best_member(siblings, mesh, families[k], normal, hand, &tried);
	}
	return tried;
}

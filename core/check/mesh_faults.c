#include "mesh_faults.h"

/* Hash set of keys of three words; keys keep their order of insertion. */
typedef struct set {
	uint32_t (*keys)[3], *next, *heads;
	uint32_t count, mask;
} set;

static bool set_new(set *s, size_t room, hob_arena *arena)
{
	size_t heads = 64;
	while (heads < room)
		heads *= 2;
	*s = (set){.keys = hob_arena_array(arena, room + 1, sizeof *s->keys, 4),
			   .next = HOB_NEW(arena, uint32_t, room + 1),
			   .heads = HOB_NEW(arena, uint32_t, heads),
			   .mask = (uint32_t)heads - 1};
	return room < HOB_NONE / 4 && s->keys && s->next && s->heads;
}

static uint32_t set_put(set *s, uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t h = (a * 0x9E3779B1u ^ b) * 0x85EBCA77u;
	h = ((h ^ h >> 15) + c) * 0xC2B2AE3Du;
	uint32_t *head = &s->heads[(h ^ h >> 16) & s->mask]; /* index + 1; 0: empty */
	for (uint32_t at = *head; at > 0; at = s->next[at - 1])
		if (s->keys[at - 1][0] == a && s->keys[at - 1][1] == b && s->keys[at - 1][2] == c)
			return at - 1;
	s->keys[s->count][0] = a, s->keys[s->count][1] = b, s->keys[s->count][2] = c;
	s->next[s->count] = *head;
	return (*head = ++s->count) - 1;
}

void hob_fault_add(hob_fault *fault, const float place[3])
{
	fault->count++;
	if (fault->place_count < HOB_FAULT_PLACES)
		memcpy(fault->places[fault->place_count++], place, 3 * sizeof *place);
}

static bool has_area(const float *a, const float *b, const float *c)
{
	double u[3], v[3], longest = 0, cross = 0, sides[3] = {0};
	for (int i = 0; i < 3; i++) {
		u[i] = (double)b[i] - (double)a[i];
		v[i] = (double)c[i] - (double)a[i];
		sides[0] += u[i] * u[i];
		sides[1] += v[i] * v[i];
		sides[2] += (u[i] - v[i]) * (u[i] - v[i]);
	}
	for (int i = 0; i < 3; i++) {
		double w = u[i] * v[(i + 1) % 3] - u[(i + 1) % 3] * v[i];
		cross += w * w;
		longest = sides[i] > longest ? sides[i] : longest;
	}
	return cross > 1e-12 * longest * longest;
}

static uint32_t place_of(set *places, const float *p)
{
	float plain[3] = {p[0] + 0.0f, p[1] + 0.0f, p[2] + 0.0f}; /* turns -0 into 0 */
	return set_put(places, hob_load_u32(&plain[0]), hob_load_u32(&plain[1]), hob_load_u32(&plain[2]));
}

static void sort3(uint32_t v[3])
{
	for (int pass = 0; pass < 3; pass++) {
		int i = pass & 1;
		if (v[i] > v[i + 1]) {
			uint32_t t = v[i];
			v[i] = v[i + 1];
			v[i + 1] = t;
		}
	}
}

typedef struct faces {
	set places, faces, edges;
	uint32_t *uses; /* number of triangles at each edge */
	hob_mesh_faults *out;
} faces;

static void add_triangle(faces *f, const hob_mesh *mesh, const uint32_t *index)
{
	const float *p[3];
	uint32_t at[3];
	float middle[3] = {0};
	for (int i = 0; i < 3; i++) {
		p[i] = mesh->position + 3 * (size_t)index[i];
		at[i] = place_of(&f->places, p[i]);
		for (int k = 0; k < 3; k++)
			middle[k] += p[i][k] / 3;
	}
	if (!has_area(p[0], p[1], p[2])) {
		hob_fault_add(&f->out->degenerate, middle);
		return;
	}
	sort3(at);
	uint32_t before = f->faces.count;
	set_put(&f->faces, at[0], at[1], at[2]);
	if (f->faces.count == before) {
		hob_fault_add(&f->out->duplicate, middle);
		return;
	}
	static const int ends[3][2] = {{0, 1}, {1, 2}, {0, 2}};
	for (int i = 0; f->out->has_edges && i < 3; i++)
		f->uses[set_put(&f->edges, at[ends[i][0]], at[ends[i][1]], 0)]++;
}

bool hob_find_mesh_faults(const hob_mesh *meshes, uint32_t count, uint32_t edge_triangles, hob_arena *scratch,
						  hob_mesh_faults *out)
{
	faces f = {.out = out};
	size_t corners = 0;
	*out = (hob_mesh_faults){0};
	for (uint32_t i = 0; i < count; i++)
		corners += meshes[i].topology == HOB_TRIANGLES ? meshes[i].index_count : 0;
	out->has_edges = corners / 3 <= edge_triangles;
	f.uses = HOB_NEW(scratch, uint32_t, out->has_edges ? corners : 0);
	if (!f.uses || !set_new(&f.places, corners, scratch) || !set_new(&f.faces, corners / 3, scratch) ||
		!set_new(&f.edges, out->has_edges ? corners : 0, scratch))
		return false;
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t k = 0; meshes[i].topology == HOB_TRIANGLES && k + 2 < meshes[i].index_count; k += 3)
			add_triangle(&f, &meshes[i], meshes[i].indices + k);
	for (uint32_t e = 0; e < f.edges.count; e++) {
		float a[3], b[3], middle[3];
		memcpy(a, f.places.keys[f.edges.keys[e][0]], sizeof a);
		memcpy(b, f.places.keys[f.edges.keys[e][1]], sizeof b);
		for (int k = 0; k < 3; k++)
			middle[k] = (a[k] + b[k]) / 2;
		if (f.uses[e] != 2)
			hob_fault_add(f.uses[e] < 2 ? &out->open : &out->non_manifold, middle);
	}
	return true;
}

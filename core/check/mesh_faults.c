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
	hob_vec3 p = hob_vec3_load(a), u = hob_vec3_sub(hob_vec3_load(b), p),
			 v = hob_vec3_sub(hob_vec3_load(c), p);
	double longest = fmax(hob_vec3_between(b, c), fmax(hob_vec3_length(u), hob_vec3_length(v)));
	return hob_vec3_length(hob_vec3_cross(u, v)) > 1e-6 * longest * longest;
}

double hob_volume(const float *a, const float *b, const float *c, const float *d)
{
	hob_vec3 p = hob_vec3_load(a), u = hob_vec3_sub(hob_vec3_load(b), p),
			 v = hob_vec3_sub(hob_vec3_load(c), p);
	return hob_vec3_dot(hob_vec3_cross(u, v), hob_vec3_sub(hob_vec3_load(d), p));
}

/* The singular values of the map from the picture to the surface (Sander et al., Texture Mapping Progressive
 * Meshes, 2001). */
double hob_find_stretch(const hob_mesh *mesh, const uint32_t corners[3])
{
	hob_vec3 q[3], s, t;
	double uv[3][2], area;
	for (int i = 0; i < 3; i++) {
		q[i] = hob_vec3_load(mesh->position + 3 * (size_t)corners[i]);
		for (int k = 0; k < 2; k++)
			uv[i][k] = (double)mesh->uv[0][2 * (size_t)corners[i] + (size_t)k];
	}
	area = (uv[1][0] - uv[0][0]) * (uv[2][1] - uv[0][1]) - (uv[2][0] - uv[0][0]) * (uv[1][1] - uv[0][1]);
	if (!(fabs(area) > 1e-12))
		return 0;
	q[1] = hob_vec3_sub(q[1], q[0]);
	q[2] = hob_vec3_sub(q[2], q[0]);
	s = hob_vec3_sub(hob_vec3_scale(q[1], uv[2][1] - uv[0][1]), hob_vec3_scale(q[2], uv[1][1] - uv[0][1]));
	t = hob_vec3_sub(hob_vec3_scale(q[2], uv[1][0] - uv[0][0]), hob_vec3_scale(q[1], uv[2][0] - uv[0][0]));
	double a = hob_vec3_dot(s, s), b = hob_vec3_dot(s, t), c = hob_vec3_dot(t, t);
	double root = sqrt((a - c) * (a - c) + 4 * b * b);
	return a + c > 0 ? sqrt((a + c + root) / fmax(a + c - root, 1e-12 * (a + c))) : 0;
}

static uint32_t place_of(set *places, const float *p)
{
	float plain[3] = {p[0] + 0.0f, p[1] + 0.0f, p[2] + 0.0f}; /* turns -0 into 0 */
	return set_put(places, hob_load_u32(&plain[0]), hob_load_u32(&plain[1]), hob_load_u32(&plain[2]));
}

uint32_t *hob_find_corners(const hob_mesh *mesh, hob_arena *scratch)
{
	set places, corners;
	uint32_t *found = HOB_NEW(scratch, uint32_t, mesh->vertex_count);
	if (!found || !set_new(&places, mesh->vertex_count, scratch) ||
		!set_new(&corners, mesh->vertex_count, scratch))
		return NULL;
	for (uint32_t i = 0; i < mesh->vertex_count; i++) {
		const float *uv = mesh->uv[0] ? mesh->uv[0] + 2 * (size_t)i : NULL;
		found[i] = set_put(&corners, place_of(&places, mesh->position + 3 * (size_t)i),
						   uv ? hob_load_u32(&uv[0]) : 0, uv ? hob_load_u32(&uv[1]) : 0);
	}
	return found;
}

double hob_find_split_normals(const hob_mesh *mesh, double limit, hob_arena *scratch, hob_fault *faults)
{
	enum { COMPARED = 64 }; /* normals of one corner */
	static const double one_degree = 0.99984769515639123916;
	/* vertex + 1, 0: none: the next with another normal, by vertex; the first, by corner */
	uint32_t *next = HOB_NEW(scratch, uint32_t, mesh->vertex_count),
			 *heads = HOB_NEW(scratch, uint32_t, mesh->vertex_count), kept = 0;
	bool *used = HOB_NEW(scratch, bool, mesh->vertex_count);
	const uint32_t *corners = hob_find_corners(mesh, scratch);
	if (!next || !heads || !used || !corners)
		return -1;
	for (uint32_t i = 0; i < mesh->index_count; i++) {
		uint32_t vertex = mesh->indices[i], *head = &heads[corners[vertex]], at = *head, seen = 0;
		hob_vec3 normal = hob_vec3_load(mesh->normal + 3 * (size_t)vertex);
		while (!used[vertex] && at > 0 && seen++ < COMPARED &&
			   hob_vec3_dot(normal, hob_vec3_load(mesh->normal + 3 * (size_t)(at - 1))) < one_degree)
			at = next[at - 1];
		if (!used[vertex] && at == 0) {
			if (*head > 0)
				hob_fault_add(faults, mesh->position + 3 * (size_t)vertex);
			kept++;
			next[vertex] = *head;
			*head = vertex + 1;
		}
		used[vertex] = true;
	}
	double share = kept > 0 ? (double)faults->count / kept : 0;
	faults->count = share > limit ? faults->count : 0;
	return share;
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
	uint32_t *uses;		 /* number of triangles at each edge */
	int32_t *turns;		 /* of them, those along it minus those against it */
	const float *origin; /* first corner */
	double volume;		 /* six times */
	hob_mesh_faults *out;
} faces;

static void add_triangle(faces *f, const hob_mesh *mesh, const uint32_t *index)
{
	const float *p[3];
	uint32_t at[3], sorted[3];
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
	memcpy(sorted, at, sizeof at);
	sort3(sorted);
	uint32_t before = f->faces.count;
	set_put(&f->faces, sorted[0], sorted[1], sorted[2]);
	if (f->faces.count == before) {
		hob_fault_add(&f->out->duplicate, middle);
		return;
	}
	f->origin = f->origin ? f->origin : p[0];
	f->volume += hob_volume(f->origin, p[0], p[1], p[2]);
	for (int i = 0; f->out->has_edges && i < 3; i++) {
		uint32_t from = at[i], to = at[(i + 1) % 3];
		uint32_t edge = set_put(&f->edges, from < to ? from : to, from < to ? to : from, 0);
		f->uses[edge]++;
		f->turns[edge] += from < to ? 1 : -1;
	}
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
	f.turns = HOB_NEW(scratch, int32_t, out->has_edges ? corners : 0);
	if (!f.uses || !f.turns || !set_new(&f.places, corners, scratch) ||
		!set_new(&f.faces, corners / 3, scratch) || !set_new(&f.edges, out->has_edges ? corners : 0, scratch))
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
		else if (f.turns[e] != 0)
			hob_fault_add(&out->inside_out, middle);
	}
	if (f.edges.count == 0 || out->open.count + out->non_manifold.count > 0)
		out->inside_out = (hob_fault){0};
	else if (out->inside_out.count == 0 && f.volume < 0)
		hob_fault_add(&out->inside_out, f.origin);
	return true;
}

#include "tangents.h"
#include "vec3.h"
#include "weld.h"

#include <assert.h>
#include <float.h>

enum { ORIENTED = 1, ANY_GROUP = 2, DEGENERATE = 4 };

typedef struct work {
	const float *position, *normal, *uv;
	const uint32_t *indices, *group;
	uint32_t index_count;
	float (*direction)[3]; /* [triangle] unit direction in which u grows */
	uint8_t *flags;		   /* [triangle] */
	uint32_t *neighbour;   /* [corner] triangle across the edge that starts there, or HOB_NONE */
	uint32_t *owner;	   /* [corner] first corner of the group it belongs to, or HOB_NONE */
	uint32_t *stack;	   /* [2 * triangle + 2] */
	uint32_t *members;	   /* [triangle] corners of the group under construction */
	float *tangent;
} work_t;

static uint32_t group_at(const work_t *w, uint32_t corner)
{
	return w->group[w->indices[corner]];
}

static hob_vec3 position_at(const work_t *w, uint32_t corner)
{
	return hob_vec3_load(w->position + 3 * (size_t)w->indices[corner]);
}

static bool same_position(const work_t *w, uint32_t a, uint32_t b)
{
	const float *p = w->position + 3 * (size_t)w->indices[a], *q = w->position + 3 * (size_t)w->indices[b];
	return p[0] == q[0] && p[1] == q[1] && p[2] == q[2];
}

static void map_triangle(work_t *w, uint32_t triangle)
{
	uint32_t c = 3 * triangle;
	w->flags[triangle] = ANY_GROUP;
	if (same_position(w, c, c + 1) || same_position(w, c + 1, c + 2) || same_position(w, c + 2, c)) {
		w->flags[triangle] = DEGENERATE;
		return;
	}
	const float *t1 = w->uv + 2 * (size_t)w->indices[c];
	const float *t2 = w->uv + 2 * (size_t)w->indices[c + 1];
	const float *t3 = w->uv + 2 * (size_t)w->indices[c + 2];
	hob_vec3 p = position_at(w, c);
	hob_vec3 d2 = hob_vec3_sub(position_at(w, c + 1), p), d3 = hob_vec3_sub(position_at(w, c + 2), p);
	double u2 = (double)t2[0] - (double)t1[0], v2 = (double)t2[1] - (double)t1[1];
	double u3 = (double)t3[0] - (double)t1[0], v3 = (double)t3[1] - (double)t1[1];
	double area = u2 * v3 - v2 * u3;
	hob_vec3 along_u = hob_vec3_sub(hob_vec3_scale(d2, v3), hob_vec3_scale(d3, v2));
	hob_vec3 along_v = hob_vec3_sub(hob_vec3_scale(d3, u2), hob_vec3_scale(d2, u3));
	if (area > 0)
		w->flags[triangle] |= ORIENTED;
	/* The reference treats areas below the smallest normal float as empty. */
	if (fabs(area) <= (double)FLT_MIN)
		return;
	double length_u = hob_vec3_length(along_u), length_v = hob_vec3_length(along_v);
	if (length_u > (double)FLT_MIN)
		hob_vec3_store(w->direction[triangle], hob_vec3_scale(along_u, (area > 0 ? 1 : -1) / length_u));
	if (length_u / fabs(area) > (double)FLT_MIN && length_v / fabs(area) > (double)FLT_MIN)
		w->flags[triangle] &= (uint8_t)~ANY_GROUP;
}

/* The group at one end of the edge that starts at a corner. */
static uint32_t end_of(const work_t *w, uint32_t corner, bool low)
{
	uint32_t a = group_at(w, corner), b = group_at(w, hob_next_corner(corner));
	return (a < b) == low ? a : b;
}

static bool runs_up(const work_t *w, uint32_t edge)
{
	return group_at(w, edge) == end_of(w, edge, true);
}

/* Pairs the edges of one run, which all join the same two groups: each, in order, with the first later one
 * that runs the other way and is still free. One pointer per direction makes this linear even where thousands
 * meet. */
static void pair_run(work_t *w, const uint32_t *run, uint32_t count)
{
	uint32_t pointer[2] = {0, 0};
	for (uint32_t i = 0; i < count; i++) {
		if (w->neighbour[run[i]] != HOB_NONE)
			continue;
		bool wanted = !runs_up(w, run[i]);
		uint32_t *j = &pointer[wanted];
		while (*j < count && (runs_up(w, run[*j]) != wanted || w->neighbour[run[*j]] != HOB_NONE))
			++*j;
		if (*j == count)
			continue;
		w->neighbour[run[i]] = run[*j] / 3;
		w->neighbour[run[*j]] = run[i] / 3;
	}
}

/* Sorts edges by one end, stably. */
static void sort_edges(const work_t *w, uint32_t *edges, uint32_t count, bool low, uint32_t vertex_count,
					   hob_arena *scratch)
{
	hob_arena_mark mark = hob_arena_save(scratch);
	uint32_t *keys = HOB_NEW(scratch, uint32_t, count), *items = HOB_NEW(scratch, uint32_t, count);
	uint32_t *first = HOB_NEW(scratch, uint32_t, (size_t)vertex_count + 1);
	for (uint32_t i = 0; i < count; i++)
		keys[i] = end_of(w, edges[i], low);
	hob_list_by_key(keys, count, vertex_count, first, items);
	for (uint32_t i = 0; i < count; i++)
		keys[i] = edges[items[i]];
	memcpy(edges, keys, count * sizeof *edges);
	hob_arena_restore(scratch, mark);
}

static void find_neighbours(work_t *w, uint32_t vertex_count, hob_arena *scratch)
{
	uint32_t count = 0, *edges = HOB_NEW(scratch, uint32_t, w->index_count);
	for (uint32_t c = 0; c < w->index_count; c++) {
		w->neighbour[c] = HOB_NONE;
		if (!(w->flags[c / 3] & DEGENERATE))
			edges[count++] = c;
	}
	sort_edges(w, edges, count, false, vertex_count, scratch);
	sort_edges(w, edges, count, true, vertex_count, scratch);
	for (uint32_t i = 0, end; i < count; i = end) {
		uint32_t low = end_of(w, edges[i], true), high = end_of(w, edges[i], false);
		for (end = i + 1;
			 end < count && end_of(w, edges[end], true) == low && end_of(w, edges[end], false) == high; end++)
			;
		pair_run(w, edges + i, end - i);
	}
}

static uint32_t corner_of_group(const work_t *w, uint32_t triangle, uint32_t group)
{
	for (uint32_t c = 3 * triangle; c < 3 * triangle + 2; c++)
		if (group_at(w, c) == group)
			return c;
	return 3 * triangle + 2;
}

/* Adds the triangle's corner to the group that `seed` began, if allowed, and pushes its two neighbours around
 * the vertex on the stack. */
static bool join(work_t *w, uint32_t corner, uint32_t seed, bool oriented)
{
	uint32_t triangle = corner / 3, first = 3 * triangle;
	uint8_t *flags = &w->flags[triangle];
	if (w->owner[corner] != HOB_NONE)
		return false;
	/* An unmapped triangle takes the orientation of the first group that reaches it. */
	if (*flags & ANY_GROUP && w->owner[first] == HOB_NONE && w->owner[first + 1] == HOB_NONE &&
		w->owner[first + 2] == HOB_NONE)
		*flags = (uint8_t)((*flags & ~ORIENTED) | (oriented ? ORIENTED : 0));
	if (((*flags & ORIENTED) != 0) != oriented)
		return false;
	w->owner[corner] = seed;
	return true;
}

static uint32_t gather_group(work_t *w, uint32_t seed)
{
	bool oriented = w->flags[seed / 3] & ORIENTED;
	uint32_t group = group_at(w, seed), member_count = 0, depth = 0;
	w->stack[depth++] = seed / 3;
	while (depth > 0) {
		uint32_t corner = corner_of_group(w, w->stack[--depth], group);
		if (!join(w, corner, seed, oriented))
			continue;
		w->members[member_count++] = corner;
		uint32_t left = w->neighbour[corner], right = w->neighbour[hob_previous_corner(corner)];
		if (right != HOB_NONE)
			w->stack[depth++] = right;
		if (left != HOB_NONE)
			w->stack[depth++] = left;
	}
	return member_count;
}

static hob_vec3 average_direction(const work_t *w, uint32_t count, hob_vec3 n)
{
	hob_vec3 sum = {0, 0, 0};
	for (uint32_t m = 0; m < count; m++) {
		uint32_t corner = w->members[m];
		if (w->flags[corner / 3] & ANY_GROUP)
			continue;
		hob_vec3 direction = hob_vec3_unit(hob_vec3_reject(hob_vec3_load(w->direction[corner / 3]), n));
		double angle = hob_corner_angle(position_at(w, hob_previous_corner(corner)), position_at(w, corner),
										position_at(w, hob_next_corner(corner)), n);
		sum = hob_vec3_add(sum, hob_vec3_scale(direction, angle));
	}
	sum = hob_vec3_unit(sum);
	return hob_vec3_dot(sum, sum) > 0 ? sum : hob_vec3_perpendicular(n);
}

static void store_tangent(work_t *w, uint32_t corner, hob_vec3 direction, bool oriented)
{
	float *out = w->tangent + 4 * (size_t)corner;
	hob_vec3_store(out, direction);
	out[3] = oriented ? -1.0f : 1.0f;
}

static hob_vec3 normal_at(const work_t *w, uint32_t corner)
{
	return hob_vec3_unit(hob_vec3_load(w->normal + 3 * (size_t)w->indices[corner]));
}

static void fill_rest(work_t *w, uint32_t vertex_count, hob_arena *scratch)
{
	uint32_t *lender = HOB_NEW(scratch, uint32_t, vertex_count);
	memset(lender, 0xFF, (size_t)vertex_count * sizeof *lender);
	for (uint32_t c = w->index_count; c-- > 0;)
		if (!(w->flags[c / 3] & DEGENERATE))
			lender[group_at(w, c)] = c;
	for (uint32_t c = 0; c < w->index_count; c++) {
		if (w->owner[c] != HOB_NONE)
			continue;
		uint32_t from = w->flags[c / 3] & DEGENERATE ? lender[group_at(w, c)] : HOB_NONE;
		if (from != HOB_NONE && w->owner[from] != HOB_NONE)
			memcpy(w->tangent + 4 * (size_t)c, w->tangent + 4 * (size_t)from, 4 * sizeof(float));
		else
			store_tangent(w, c, hob_vec3_perpendicular(normal_at(w, c)), false);
	}
}

void hob_tangents(const float *position, const float *normal, const float *uv, uint32_t vertex_count,
				  const uint32_t *indices, uint32_t index_count, const uint32_t *group, float *tangent,
				  hob_arena *scratch)
{
	assert(index_count % 3 == 0);
	hob_arena_mark mark = hob_arena_save(scratch);
	uint32_t triangles = index_count / 3;
	work_t w = {.position = position,
				.normal = normal,
				.uv = uv,
				.indices = indices,
				.group = group,
				.index_count = index_count,
				.direction = hob_arena_array(scratch, triangles, sizeof *w.direction, 4),
				.neighbour = HOB_NEW(scratch, uint32_t, index_count),
				.owner = HOB_NEW(scratch, uint32_t, index_count),
				.stack = HOB_NEW(scratch, uint32_t, 2 * (size_t)triangles + 2),
				.members = HOB_NEW(scratch, uint32_t, (size_t)triangles + 1),
				.flags = HOB_NEW(scratch, uint8_t, triangles),
				.tangent = tangent};
	memset(w.owner, 0xFF, index_count * sizeof *w.owner);
	for (uint32_t t = 0; t < index_count / 3; t++)
		map_triangle(&w, t);
	find_neighbours(&w, vertex_count, scratch);
	for (uint32_t c = 0; c < index_count; c++) {
		if (w.owner[c] != HOB_NONE || w.flags[c / 3] & (ANY_GROUP | DEGENERATE))
			continue;
		uint32_t count = gather_group(&w, c);
		hob_vec3 direction = average_direction(&w, count, normal_at(&w, c));
		for (uint32_t m = 0; m < count; m++)
			store_tangent(&w, w.members[m], direction, w.flags[c / 3] & ORIENTED);
	}
	fill_rest(&w, vertex_count, scratch);
	hob_arena_restore(scratch, mark);
}

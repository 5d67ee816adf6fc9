#include "surface.h"
#include "lanes.h"
#include "weld.h"

#include <assert.h>
#include <float.h>

enum { STACK = 4 * HOB_SURFACE_LEVELS, MAX_STEPS = 16, MAX_FAN = 24, LEAST_ROOM = 1 << 18, STEPS = 128 };
/* To test whether boxes are loose: number of sample points, least number of triangles, steps per point, and
 * mean number of boxes around a point at which they are. */
enum { LOOSE_SAMPLES = 64, LOOSE_LEAST = 1024, LOOSE_STEPS = 1024, LOOSE_BOXES = 32 };
/* The part of a triangle nearest to a point: side k, from corner k to the next; corner k; inside. */
enum { SIDE = 0, CORNER = 3, INSIDE = 6 };

/* ---- building */

static void box_of(const float *positions, const uint32_t *corners, uint32_t count, float low[3],
				   float high[3])
{
	for (int k = 0; k < 3; k++)
		low[k] = FLT_MAX, high[k] = -FLT_MAX;
	for (uint32_t i = 0; i < count; i++)
		for (int k = 0; k < 3; k++) {
			float x = positions[3 * (size_t)corners[i] + (size_t)k];
			low[k] = x < low[k] ? x : low[k];
			high[k] = x > high[k] ? x : high[k];
		}
}

static uint32_t divide_up(uint32_t count, uint32_t by)
{
	return count / by + (count % by != 0);
}

static void box_of_node(const hob_surface_node *node, float low[3], float high[3])
{
	for (int k = 0; k < 3; k++) {
		low[k] = FLT_MAX, high[k] = -FLT_MAX;
		for (int c = 0; c < 4; c++) {
			low[k] = node->low[k][c] < low[k] ? node->low[k][c] : low[k];
			high[k] = node->high[k][c] > high[k] ? node->high[k][c] : high[k];
		}
	}
}

static void fill_nodes(hob_surface *s)
{
	uint32_t below = s->triangle_count;
	for (uint32_t level = 0; level < s->level_count; level++) {
		uint32_t count = divide_up(below, 4);
		for (uint32_t i = 0; i < 4 * count; i++) {
			hob_surface_node *node = &s->nodes[s->level_first[level] + i / 4];
			float low[3], high[3];
			if (level > 0 && i < below)
				box_of_node(&s->nodes[s->level_first[level - 1] + i], low, high);
			else
				box_of(s->positions, s->corners + (i < below ? 3 * (size_t)i : 0), i < below ? 3 : 0, low,
					   high);
			for (int k = 0; k < 3; k++)
				node->low[k][i % 4] = low[k], node->high[k][i % 4] = high[k];
		}
		below = count;
	}
}

/* ---- queries */

static double square(hob_vec3 v)
{
	return hob_vec3_dot(v, v);
}

/* The share of the segment 0..edge at its point nearest to `p`. */
static double along_segment(hob_vec3 p, hob_vec3 edge)
{
	double along = hob_vec3_dot(p, edge), length = square(edge);
	return along <= 0 || length <= 0 ? 0 : along < length ? along / length : 1;
}

/* Squared distance of a point from the segment 0..edge. */
static double to_segment(hob_vec3 p, hob_vec3 edge)
{
	return square(hob_vec3_sub(p, hob_vec3_scale(edge, along_segment(p, edge))));
}

/* Squared distance from a sliver: that from its nearest side. */
static double to_line(hob_vec3 ap, hob_vec3 bp, hob_vec3 ab, hob_vec3 ac, int *where)
{
	double to_ab = to_segment(ap, ab), to_ac = to_segment(ap, ac),
		   to_bc = to_segment(bp, hob_vec3_sub(ac, ab));
	double least = to_ab < to_ac ? to_ab : to_ac;
	*where = to_bc < least ? SIDE + 1 : to_ab < to_ac ? SIDE : SIDE + 2;
	return to_bc < least ? to_bc : least;
}

static double at_corner(int corner, hob_vec3 from, int *where)
{
	*where = CORNER + corner;
	return square(from);
}

static double at_side(int side, hob_vec3 from, hob_vec3 edge, int *where)
{
	*where = SIDE + side;
	return to_segment(from, edge);
}

static double to_triangle(const hob_surface *s, uint32_t triangle, hob_vec3 p, int *where)
{
	const uint32_t *corner = s->corners + 3 * (size_t)triangle;
	hob_vec3 a = hob_vec3_load(s->positions + 3 * (size_t)corner[0]);
	hob_vec3 ab = hob_vec3_sub(hob_vec3_load(s->positions + 3 * (size_t)corner[1]), a);
	hob_vec3 ac = hob_vec3_sub(hob_vec3_load(s->positions + 3 * (size_t)corner[2]), a);
	hob_vec3 ap = hob_vec3_sub(p, a), bp = hob_vec3_sub(ap, ab), cp = hob_vec3_sub(ap, ac);
	hob_vec3 normal = hob_vec3_cross(ab, ac);
	double area = square(normal);
	if (area <= 1e-24 * square(ab) * square(ac))
		return to_line(ap, bp, ab, ac, where);
	double d1 = hob_vec3_dot(ab, ap), d2 = hob_vec3_dot(ac, ap);
	if (d1 <= 0 && d2 <= 0)
		return at_corner(0, ap, where);
	double d3 = hob_vec3_dot(ab, bp), d4 = hob_vec3_dot(ac, bp);
	if (d3 >= 0 && d4 <= d3)
		return at_corner(1, bp, where);
	double vc = d1 * d4 - d3 * d2;
	if (vc <= 0 && d1 >= 0 && d3 <= 0)
		return at_side(0, ap, ab, where);
	double d5 = hob_vec3_dot(ab, cp), d6 = hob_vec3_dot(ac, cp);
	if (d6 >= 0 && d5 <= d6)
		return at_corner(2, cp, where);
	double vb = d5 * d2 - d1 * d6;
	if (vb <= 0 && d2 >= 0 && d6 <= 0)
		return at_side(2, ap, ac, where);
	double va = d3 * d6 - d5 * d4;
	if (va <= 0 && d4 >= d3 && d5 >= d6)
		return at_side(1, bp, hob_vec3_sub(ac, ab), where);
	double height = hob_vec3_dot(normal, ap);
	*where = INSIDE;
	return height * height / area;
}

typedef struct visit {
	uint32_t level, index; /* level 0: a triangle */
	float square;
} visit_t;

typedef struct search {
	const hob_surface *surface;
	hob_vec3 point;
	float at[3];
	double best, stop; /* squared */
	uint32_t nearest;
	int where; /* part of the nearest triangle */
	visit_t stack[STACK];
	uint32_t depth;
	uint64_t steps; /* steps taken */
} search_t;

/* Lower bounds of the squared distances from the point to the children's capsules. */
static hob_lanes squares_to_capsules(const search_t *q, const hob_surface_capsules *c)
{
	hob_lanes from[3], way[3], along = {0}, apart = {0}, one = {1, 1, 1, 1};
	for (int k = 0; k < 3; k++) {
		from[k] = q->at[k] - hob_lanes_load(c->from[k]), way[k] = hob_lanes_load(c->way[k]);
		along += from[k] * way[k];
	}
	along = hob_lanes_above_zero(along * hob_lanes_load(c->share));
	along = one - hob_lanes_above_zero(one - along);
	for (int k = 0; k < 3; k++) {
		hob_lanes d = from[k] - along * way[k];
		apart += d * d;
	}
	apart = hob_lanes_above_zero(hob_lanes_root(apart) - hob_lanes_load(c->radius));
	return apart * apart;
}

/* Pushes the children of a node that are nearer than the best so far, the nearest one last. */
static void push_children(search_t *q, uint32_t level, uint32_t index)
{
	uint32_t first = q->surface->level_first[level] + index;
	const hob_surface_node *node = &q->surface->nodes[first];
	hob_lanes near = {0};
	for (int k = 0; k < 3; k++) {
		hob_lanes low = hob_lanes_load(node->low[k]), high = hob_lanes_load(node->high[k]);
		hob_lanes d = hob_lanes_above_zero(low - q->at[k]) + hob_lanes_above_zero(q->at[k] - high);
		near += d * d;
	}
	if (q->surface->capsules)
		near = hob_lanes_greater(near, squares_to_capsules(q, &q->surface->capsules[first]));
	uint32_t bottom = q->depth;
	q->steps++;
	for (uint32_t c = 0; c < 4; c++) {
		if ((double)near[c] >= q->best)
			continue;
		uint32_t at = q->depth++;
		for (; at > bottom && q->stack[at - 1].square < near[c]; at--)
			q->stack[at] = q->stack[at - 1];
		q->stack[at] = (visit_t){level, 4 * index + c, near[c]};
	}
}

static void try_triangle(search_t *q, uint32_t triangle)
{
	int where;
	q->steps++;
	double d = to_triangle(q->surface, triangle, q->point, &where);
	if (d < q->best)
		q->best = d, q->nearest = triangle, q->where = where;
}

static void empty_stack(search_t *q, uint64_t most)
{
	while (q->depth > 0 && q->best > q->stop && q->steps < most) {
		visit_t visit = q->stack[--q->depth];
		if ((double)visit.square >= q->best)
			continue;
		if (visit.level > 0)
			push_children(q, visit.level - 1, visit.index);
		else
			try_triangle(q, visit.index);
	}
}

/* ---- capsules */

typedef struct capsule {
	hob_vec3 from, to;
	double radius;
} capsule_t;

static capsule_t capsule_of_triangle(const float *positions, const uint32_t corner[3])
{
	hob_vec3 p[3];
	capsule_t out = {0};
	double longest = -1;
	for (uint32_t k = 0; k < 3; k++)
		p[k] = hob_vec3_load(positions + 3 * (size_t)corner[k]);
	for (uint32_t k = 0; k < 3; k++) {
		hob_vec3 from = p[k], way = hob_vec3_sub(p[(k + 1) % 3], from);
		if (square(way) <= longest)
			continue;
		longest = square(way);
		out = (capsule_t){from, p[(k + 1) % 3], sqrt(to_segment(hob_vec3_sub(p[(k + 2) % 3], from), way))};
	}
	return out;
}

/* A capsule around others, between the two of their ends that are farthest apart. */
static capsule_t capsule_of_capsules(const capsule_t *child, uint32_t count)
{
	hob_vec3 end[8];
	capsule_t out = {child[0].from, child[0].to, 0};
	double longest = -1;
	for (uint32_t i = 0; i < count; i++)
		end[2 * i] = child[i].from, end[2 * i + 1] = child[i].to;
	for (uint32_t i = 0; i < 2 * count; i++)
		for (uint32_t k = 0; k < i; k++)
			if (square(hob_vec3_sub(end[i], end[k])) > longest) {
				longest = square(hob_vec3_sub(end[i], end[k]));
				out.from = end[k], out.to = end[i];
			}
	for (uint32_t i = 0; i < 2 * count; i++) {
		double apart = sqrt(to_segment(hob_vec3_sub(end[i], out.from), hob_vec3_sub(out.to, out.from))) +
					   child[i / 2].radius;
		out.radius = apart > out.radius ? apart : out.radius;
	}
	return out;
}

static double size_of(hob_vec3 v)
{
	return fabs(v.x) + fabs(v.y) + fabs(v.z);
}

/* Stores a capsule in single precision, its radius enlarged by the rounding errors here and in a search. */
static void store_capsule(const capsule_t *c, hob_surface_capsules *out, uint32_t child)
{
	hob_vec3 way = hob_vec3_sub(c->to, c->from);
	const double from[3] = {c->from.x, c->from.y, c->from.z}, to[3] = {way.x, way.y, way.z};
	for (int k = 0; k < 3; k++)
		out->from[k][child] = (float)from[k], out->way[k][child] = (float)to[k];
	double share = square(way) > 0 ? 1 / square(way) : 0;
	out->share[child] = share < (double)FLT_MAX ? (float)share : 0;
	out->radius[child] = (float)(c->radius * 1.000001 + (share < (double)FLT_MAX ? 0 : hob_vec3_length(way)) +
								 1e-6 * (size_of(c->from) + size_of(c->to)));
}

/* Makes the capsules of all nodes from the lowest level up. `capsules`: [triangle_count] scratch */
static void fill_capsules(hob_surface *s, capsule_t *capsules)
{
	uint32_t below = s->triangle_count;
	for (uint32_t i = 0; i < below; i++)
		capsules[i] = capsule_of_triangle(s->positions, s->corners + 3 * (size_t)i);
	for (uint32_t level = 0; level < s->level_count; level++) {
		uint32_t count = divide_up(below, 4);
		for (uint32_t i = 0; i < count; i++) {
			uint32_t children = below - 4 * i < 4 ? below - 4 * i : 4;
			hob_surface_capsules *out = &s->capsules[s->level_first[level] + i];
			for (uint32_t c = 0; c < children; c++)
				store_capsule(&capsules[4 * (size_t)i + c], out, c);
			capsules[i] = capsule_of_capsules(capsules + 4 * (size_t)i, children);
		}
		below = count;
	}
}

/* Number of triangles whose boxes contain the point, counted in at most `most` nodes. */
static uint32_t boxes_around(const hob_surface *s, hob_vec3 p, uint32_t most)
{
	search_t q;
	uint32_t count = 0;
	q.surface = s, q.point = p, q.depth = 0, q.steps = 0, q.best = FLT_MIN;
	hob_vec3_store(q.at, p);
	for (push_children(&q, s->level_count - 1, 0); q.depth > 0 && q.steps < most;) {
		visit_t visit = q.stack[--q.depth];
		if (visit.level > 0)
			push_children(&q, visit.level - 1, visit.index);
		else
			count++;
	}
	return count;
}

/* Whether boxes overlap so much that they are of little use. */
static bool boxes_are_loose(const hob_surface *s)
{
	uint64_t sum = 0;
	if (s->triangle_count < LOOSE_LEAST)
		return false;
	for (uint32_t i = 0; i < LOOSE_SAMPLES; i++) {
		const uint32_t *corner = s->corners + 3 * (size_t)((uint64_t)s->triangle_count * i / LOOSE_SAMPLES);
		hob_vec3 p = {0, 0, 0};
		for (int k = 0; k < 3; k++)
			p = hob_vec3_add(p, hob_vec3_scale(hob_vec3_load(s->positions + 3 * (size_t)corner[k]), 1.0 / 3));
		sum += boxes_around(s, p, LOOSE_STEPS);
	}
	return sum > LOOSE_SAMPLES * LOOSE_BOXES;
}

static void build_fans(hob_surface *s, hob_arena *arena)
{
	s->fan_first = HOB_NEW(arena, uint32_t, (size_t)s->vertex_count + 1);
	s->fan = HOB_NEW(arena, uint32_t, 3 * (size_t)s->triangle_count);
	s->ring = HOB_NEW(arena, uint32_t, 3 * (size_t)s->triangle_count);
	hob_list_by_key(s->corners, 3 * s->triangle_count, s->vertex_count, s->fan_first, s->fan);
	for (size_t f = 0; f < 3 * (size_t)s->triangle_count; f++)
		s->ring[f] = s->corners[hob_next_corner(s->fan[f])];
}

void hob_surface_add_capsules(hob_surface *s, hob_arena *arena)
{
	uint32_t nodes = s->level_first[s->level_count - 1] + 1;
	if (s->capsules)
		return;
	s->capsules = HOB_NEW(arena, hob_surface_capsules, nodes);
	hob_arena_mark mark = hob_arena_save(arena);
	capsule_t *capsules = HOB_NEW(arena, capsule_t, s->triangle_count);
	fill_capsules(s, capsules);
	hob_arena_restore(arena, mark);
}

hob_surface hob_surface_build(const float *positions, uint32_t vertex_count, const uint32_t *indices,
							  uint32_t index_count, hob_arena *arena)
{
	assert(index_count >= 3 && index_count % 3 == 0);
	hob_surface s = {.positions = positions,
					 .vertex_count = vertex_count,
					 .corners = indices,
					 .triangle_count = index_count / 3};
	uint32_t node_count = 0, below = s.triangle_count;
	do {
		below = divide_up(below, 4);
		s.level_first[s.level_count++] = node_count;
		node_count += below;
	} while (below > 1);
	s.nodes = HOB_NEW(arena, hob_surface_node, node_count);
	build_fans(&s, arena);
	fill_nodes(&s);
	if (boxes_are_loose(&s))
		hob_surface_add_capsules(&s, arena);
	return s;
}

/* ---- from triangle to triangle */

/* The triangle across a side; HOB_NONE: there is none, or finding it would take too long. */
static uint32_t across(const hob_surface *s, uint32_t triangle, int side)
{
	const uint32_t *corner = s->corners + 3 * (size_t)triangle;
	uint32_t from = corner[side], to = corner[side == 2 ? 0 : side + 1];
	if (hob_surface_is_crowded(s, to) && s->fan_first[from + 1] - s->fan_first[from] <= MAX_FAN) {
		for (uint32_t f = s->fan_first[from]; f < s->fan_first[from + 1]; f++) {
			if (s->corners[hob_previous_corner(s->fan[f])] == to)
				return s->fan[f] / 3;
		}
		return HOB_NONE;
	}
	if (s->fan_first[to + 1] - s->fan_first[to] > MAX_FAN)
		return HOB_NONE;
	for (uint32_t f = s->fan_first[to]; f < s->fan_first[to + 1]; f++)
		if (s->ring[f] == from)
			return s->fan[f] / 3;
	return HOB_NONE;
}

static float to_vertex(const search_t *q, uint32_t vertex)
{
	const float *p = q->surface->positions + 3 * (size_t)vertex;
	float x = p[0] - q->at[0], y = p[1] - q->at[1], z = p[2] - q->at[2];
	return x * x + y * y + z * z;
}

/* Tries the triangle beside the nearest neighbour of a vertex; if it is not nearer, all triangles around the
 * vertex. */
static void try_around(search_t *q, uint32_t vertex)
{
	const hob_surface *s = q->surface;
	uint32_t first = s->fan_first[vertex], end = s->fan_first[vertex + 1], at = first;
	float least = FLT_MAX;
	double before = q->best;
	if (end - first > MAX_FAN)
		return;
	for (uint32_t f = first; f < end; f++) {
		float d = to_vertex(q, s->ring[f]);
		if (d < least)
			least = d, at = f;
	}
	try_triangle(q, s->fan[at] / 3);
	for (uint32_t f = first; f < end && q->best >= before && q->best > q->stop; f++)
		try_triangle(q, s->fan[f] / 3);
}

/* Walks from triangle to triangle, as long as they get nearer. */
static void walk(search_t *q)
{
	uint32_t from = HOB_NONE;
	for (uint32_t step = 0; q->best > q->stop && q->nearest != from && step < MAX_STEPS; step++) {
		from = q->nearest;
		if (q->where >= CORNER && q->where < INSIDE) {
			try_around(q, q->surface->corners[3 * (size_t)from + (size_t)(q->where - CORNER)]);
		} else if (q->where < CORNER) {
			uint32_t next = across(q->surface, from, q->where - SIDE);
			if (next != HOB_NONE)
				try_triangle(q, next);
		}
	}
}

hob_surface_seeker hob_surface_seek(const hob_surface *a, const hob_surface *b)
{
	uint64_t half = LEAST_ROOM + (uint64_t)STEPS * ((uint64_t)a->triangle_count + b->triangle_count);
	return (hob_surface_seeker){.room = 2 * half, .spare = half, .worth = HUGE_VAL};
}

/* Searches the tree within the budget. */
static void search_tree(search_t *q, hob_surface_seeker *seeker)
{
	uint64_t most = seeker->room > seeker->spare ? seeker->room - seeker->spare : 0;
	q->steps = 0;
	push_children(q, q->surface->level_count - 1, 0);
	empty_stack(q, most > HOB_SURFACE_FEW ? most : HOB_SURFACE_FEW);
	if (q->best > seeker->worth * seeker->worth)
		empty_stack(q, seeker->room);
	seeker->room -= q->steps < seeker->room ? q->steps : seeker->room;
}

double hob_surface_distance(const hob_surface *s, hob_vec3 p, double enough, double limit,
							hob_surface_seeker *seeker)
{
	search_t q;
	uint32_t first = seeker->hint / 3;
	q.surface = s, q.point = p, q.stop = enough * enough, q.depth = 0, q.steps = 0;
	hob_vec3_store(q.at, p);
	q.best = HUGE_VAL, q.nearest = 0;
	try_triangle(&q, first < s->triangle_count ? first : 0);
	walk(&q);
	q.stop = limit * limit;
	if (q.best > q.stop)
		search_tree(&q, seeker);
	seeker->hint = 3 * q.nearest;
	return sqrt(q.best);
}

double hob_surface_nearest(const hob_surface *s, uint32_t triangle, hob_vec3 p, double share[3])
{
	const uint32_t *corner = s->corners + 3 * (size_t)triangle;
	hob_vec3 at[3];
	int where;
	double square_to = to_triangle(s, triangle, p, &where);
	for (int i = 0; i < 3; i++) {
		at[i] = hob_vec3_load(s->positions + 3 * (size_t)corner[i]);
		share[i] = where == CORNER + i;
	}
	if (where == INSIDE) {
		hob_vec3 ab = hob_vec3_sub(at[1], at[0]), ac = hob_vec3_sub(at[2], at[0]),
				 ap = hob_vec3_sub(p, at[0]);
		hob_vec3 normal = hob_vec3_cross(ab, ac);
		share[1] = hob_vec3_dot(hob_vec3_cross(ap, ac), normal) / square(normal);
		share[2] = hob_vec3_dot(hob_vec3_cross(ab, ap), normal) / square(normal);
		share[0] = 1 - share[1] - share[2];
	} else if (where < CORNER) {
		int next = where == SIDE + 2 ? 0 : where + 1;
		share[next] = along_segment(hob_vec3_sub(p, at[where]), hob_vec3_sub(at[next], at[where]));
		share[where] = 1 - share[next];
	}
	return square_to;
}

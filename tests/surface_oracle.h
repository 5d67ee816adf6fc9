/* surface_oracle.h - sampled distance between two surfaces: an oracle without code of core/mesh.
 *
 * Takes random points on either surface and searches for the nearest triangle in boxes halved at the median;
 * in double precision throughout. */
#ifndef HOB_TEST_SURFACE_ORACLE_H
#define HOB_TEST_SURFACE_ORACLE_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct vec {
	double x[3];
} vec;

typedef struct box {
	double low[3], high[3];
	uint32_t first, count, right; /* count > 0: a leaf */
} box;

typedef struct soup {
	vec (*corner)[3];
	uint32_t count, *order, box_count;
	box *boxes;
	uint32_t axis; /* during the sort */
} soup;

static inline vec minus(vec a, vec b)
{
	return (vec){{a.x[0] - b.x[0], a.x[1] - b.x[1], a.x[2] - b.x[2]}};
}
static inline vec plus(vec a, vec b, double s)
{
	return (vec){{a.x[0] + s * b.x[0], a.x[1] + s * b.x[1], a.x[2] + s * b.x[2]}};
}
static inline double dot(vec a, vec b)
{
	return a.x[0] * b.x[0] + a.x[1] * b.x[1] + a.x[2] * b.x[2];
}
static inline vec cross(vec a, vec b)
{
	return (vec){{a.x[1] * b.x[2] - a.x[2] * b.x[1], a.x[2] * b.x[0] - a.x[0] * b.x[2],
				  a.x[0] * b.x[1] - a.x[1] * b.x[0]}};
}

static inline double soup_to_segment(vec p, vec a, vec b)
{
	vec ab = minus(b, a), ap = minus(p, a);
	double t = dot(ab, ab) > 0 ? dot(ap, ab) / dot(ab, ab) : 0;
	vec d = plus(ap, ab, -(t < 0 ? 0 : t > 1 ? 1 : t));
	return dot(d, d);
}

/* The projection onto the plane, if it passes the three half-plane tests; else the nearest of three
 * segments. */
static inline double soup_to_triangle(vec p, const vec t[3])
{
	double best = soup_to_segment(p, t[0], t[1]), d = soup_to_segment(p, t[1], t[2]);
	best = d < best ? d : best;
	d = soup_to_segment(p, t[2], t[0]);
	best = d < best ? d : best;
	vec n = cross(minus(t[1], t[0]), minus(t[2], t[0]));
	double length = sqrt(dot(n, n));
	if (!(length > 0))
		return best;
	n = (vec){{n.x[0] / length, n.x[1] / length, n.x[2] / length}};
	for (int k = 0; k < 3; k++)
		if (dot(cross(n, minus(t[(k + 1) % 3], t[k])), minus(p, t[k])) < 0)
			return best;
	double height = dot(n, minus(p, t[0]));
	return height * height < best ? height * height : best;
}

static soup *soup_sorting;
static inline int soup_by_centre(const void *a, const void *b)
{
	const vec *s = soup_sorting->corner[*(const uint32_t *)a],
			  *t = soup_sorting->corner[*(const uint32_t *)b];
	uint32_t k = soup_sorting->axis;
	double x = s[0].x[k] + s[1].x[k] + s[2].x[k], y = t[0].x[k] + t[1].x[k] + t[2].x[k];
	return x < y ? -1 : x > y;
}

static inline uint32_t soup_halve(soup *s, uint32_t first, uint32_t count)
{
	uint32_t id = s->box_count++;
	box b = {{1e300, 1e300, 1e300}, {-1e300, -1e300, -1e300}, first, count, 0};
	for (uint32_t i = first; i < first + count; i++)
		for (int c = 0; c < 3; c++)
			for (int k = 0; k < 3; k++) {
				double x = s->corner[s->order[i]][c].x[k];
				b.low[k] = x < b.low[k] ? x : b.low[k], b.high[k] = x > b.high[k] ? x : b.high[k];
			}
	if (count > 4) {
		uint32_t axis = 0;
		for (uint32_t k = 1; k < 3; k++)
			axis = b.high[k] - b.low[k] > b.high[axis] - b.low[axis] ? k : axis;
		s->axis = axis, soup_sorting = s;
		qsort(s->order + first, count, sizeof *s->order, soup_by_centre);
		b.count = 0;
		soup_halve(s, first, count / 2);
		b.right = soup_halve(s, first + count / 2, count - count / 2);
	}
	s->boxes[id] = b;
	return id;
}

static inline soup *soup_new(const float *position, const uint32_t *indices, uint32_t index_count)
{
	soup *s = calloc(1, sizeof *s);
	s->count = index_count / 3;
	s->corner = malloc((size_t)s->count * sizeof *s->corner);
	s->order = malloc((size_t)s->count * sizeof *s->order);
	s->boxes = malloc(2 * (size_t)s->count * sizeof *s->boxes);
	for (uint32_t i = 0; i < index_count; i++)
		for (int k = 0; k < 3; k++)
			s->corner[i / 3][i % 3].x[k] = (double)position[3 * (size_t)indices[i] + (size_t)k];
	for (uint32_t i = 0; i < s->count; i++)
		s->order[i] = i;
	soup_halve(s, 0, s->count);
	return s;
}

static inline void soup_free(soup *s)
{
	free(s->corner), free(s->order), free(s->boxes), free(s);
}

static inline double soup_to_box(vec p, const box *b)
{
	double sum = 0;
	for (int k = 0; k < 3; k++) {
		double d = p.x[k] < b->low[k] ? b->low[k] - p.x[k] : p.x[k] > b->high[k] ? p.x[k] - b->high[k] : 0;
		sum += d * d;
	}
	return sum;
}

/* Stops early below `enough`: only the largest distance matters. */
static inline double soup_search(const soup *s, uint32_t id, vec p, double best, double enough)
{
	const box *b = &s->boxes[id];
	for (uint32_t i = b->first; b->count > 0 && i < b->first + b->count; i++) {
		double d = soup_to_triangle(p, s->corner[s->order[i]]);
		best = d < best ? d : best;
	}
	if (b->count > 0)
		return best;
	uint32_t near = id + 1, far = b->right;
	double dn = soup_to_box(p, &s->boxes[near]), df = soup_to_box(p, &s->boxes[far]);
	if (df < dn) {
		uint32_t swap = near;
		near = far, far = swap;
		double d = dn;
		dn = df, df = d;
	}
	if (dn < best && best > enough)
		best = soup_search(s, near, p, best, enough);
	if (df < best && best > enough)
		best = soup_search(s, far, p, best, enough);
	return best;
}

static inline double soup_random(uint64_t *state)
{
	*state ^= *state >> 12, *state ^= *state << 25, *state ^= *state >> 27;
	return (double)(*state * 0x2545F4914F6CDD1Dull >> 11) / 9007199254740992.0;
}

/* The largest squared distance of `points` points per triangle, at most `most` in total, to the other
 * surface. */
static inline double soup_one_way(const soup *from, const soup *to, double points, double most,
								  double farthest)
{
	uint64_t state = 88172645463325252ull;
	if (points * from->count > most)
		points = most / from->count;
	for (uint32_t t = 0; t < from->count; t++) {
		const vec *c = from->corner[from->order[t]];
		double due = points + soup_random(&state);
		for (uint32_t i = 0; i + 1 <= due; i++) {
			double v = soup_random(&state), w = soup_random(&state);
			if (v + w > 1)
				v = 1 - v, w = 1 - w;
			/* A third of the points lies on edges, where ridges end. */
			int side = (int)(soup_random(&state) * 9);
			if (side < 3)
				v = side == 0 ? 0 : side == 1 ? v : 1 - w, w = side == 1 ? 0 : w;
			vec p = plus(plus(c[0], minus(c[1], c[0]), v), minus(c[2], c[0]), w);
			double d = soup_search(to, 0, p, 1e300, farthest);
			farthest = d > farthest ? d : farthest;
		}
	}
	return farthest;
}

/* The two-sided distance between two triangle lists over one list of positions, sampled with `points` points
 * per triangle, at most `most` on either side. */
static inline double surface_distance(const soup *a, const soup *b, double points, double most)
{
	return sqrt(soup_one_way(b, a, points, most, soup_one_way(a, b, points, most, 0)));
}

/* The mean distance of points of either surface to the other one, by area. */
static inline double surface_mean(const soup *a, const soup *b, double points)
{
	double sum = 0, area = 0, sides[2] = {0, 0};
	for (int side = 0; side < 2; side++)
		for (uint32_t t = 0; t < (side ? b : a)->count; t++) {
			const vec *c = (side ? b : a)->corner[t];
			vec n = cross(minus(c[1], c[0]), minus(c[2], c[0]));
			sides[side] += sqrt(dot(n, n)) / 2;
		}
	uint64_t state = 88172645463325252ull;
	for (int side = 0; side < 2; side++) {
		const soup *from = side ? b : a, *to = side ? a : b;
		for (uint32_t t = 0; t < from->count; t++) {
			const vec *c = from->corner[from->order[t]];
			vec n = cross(minus(c[1], c[0]), minus(c[2], c[0]));
			double own = sqrt(dot(n, n)) / 2, due = points * own / (sides[0] + sides[1]);
			due += soup_random(&state);
			for (uint32_t i = 0; i + 1 <= due; i++) {
				double v = soup_random(&state), w = soup_random(&state);
				if (v + w > 1)
					v = 1 - v, w = 1 - w;
				vec p = plus(plus(c[0], minus(c[1], c[0]), v), minus(c[2], c[0]), w);
				sum += sqrt(soup_search(to, 0, p, 1e300, 0)), area++;
			}
		}
	}
	return area > 0 ? sum / area : 0;
}

#endif

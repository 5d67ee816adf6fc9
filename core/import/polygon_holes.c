#include "polygon.h"

#include <math.h>
#include <stdlib.h>

typedef struct flat {
	double x, y;
} flat;

typedef struct hole {
	uint32_t first, count, rightmost;
	double reach;
} hole;

static double turn(flat a, flat b, flat c)
{
	return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

static double area(const flat *p, uint32_t first, uint32_t count)
{
	double sum = 0;
	for (uint32_t i = 0; i < count; i++) {
		flat a = p[first + i], b = p[first + (i + 1 < count ? i + 1 : 0)];
		sum += a.x * b.y - b.x * a.y;
	}
	return sum;
}

static int by_reach(const void *a, const void *b)
{
	const hole *x = a, *y = b;
	if (x->reach < y->reach || x->reach > y->reach)
		return x->reach < y->reach ? 1 : -1;
	return (x->first > y->first) - (x->first < y->first);
}

static bool inside(flat a, flat b, flat c, flat p)
{
	double u = turn(a, b, p), v = turn(b, c, p), w = turn(c, a, p);
	return (u >= 0 && v >= 0 && w >= 0) || (u <= 0 && v <= 0 && w <= 0);
}

/* The ring corner visible from the hole's rightmost corner; HOB_NONE when there is none. */
static uint32_t visible(const flat *p, const uint32_t *ring, uint32_t count, flat from)
{
	double nearest = INFINITY;
	uint32_t best = HOB_NONE;
	for (uint32_t i = 0; i < count; i++) {
		flat a = p[ring[i]], b = p[ring[i + 1 < count ? i + 1 : 0]];
		/* Skips all edges except those that face the hole, with the interior on their left. */
		if (!(a.y <= from.y && b.y >= from.y) || !(b.y > a.y))
			continue;
		double x = a.x + (from.y - a.y) / (b.y - a.y) * (b.x - a.x);
		if (x < from.x || x >= nearest)
			continue;
		nearest = x;
		best = a.x > b.x ? i : i + 1 < count ? i + 1 : 0;
	}
	if (best == HOB_NONE)
		return best;
	flat hit = {nearest, from.y}, end = p[ring[best]];
	double flattest = INFINITY, closest = INFINITY;
	uint32_t chosen = best;
	for (uint32_t i = 0; i < count; i++) {
		flat q = p[ring[i]];
		bool same = !(q.x < end.x) && !(q.x > end.x) && !(q.y < end.y) && !(q.y > end.y);
		flat before = p[ring[i > 0 ? i - 1 : count - 1]], after = p[ring[i + 1 < count ? i + 1 : 0]];
		if (same || q.x < from.x || turn(before, q, after) > 0 || !inside(from, hit, end, q))
			continue;
		double steep = q.x > from.x ? fabs(q.y - from.y) / (q.x - from.x) : INFINITY;
		double distance = hypot(q.x - from.x, q.y - from.y);
		if (steep < flattest || (!(steep > flattest) && distance < closest)) {
			flattest = steep;
			closest = distance;
			chosen = i;
		}
	}
	return chosen;
}

/* Inserts after ring[at]: the hole, from its rightmost corner around and back to it, then ring[at] again. */
static uint32_t splice(const flat *p, const hole *h, uint32_t *ring, uint32_t count, uint32_t at)
{
	uint32_t added = h->count + 2;
	bool turns = area(p, h->first, h->count) > 0;
	memmove(ring + at + 1 + added, ring + at + 1, (count - at - 1) * sizeof *ring);
	uint32_t *to = ring + at + 1;
	for (uint32_t i = 0; i <= h->count; i++) {
		uint32_t step = turns ? h->count - i % h->count : i;
		*to++ = h->first + (h->rightmost + step) % h->count;
	}
	*to = ring[at];
	return count + added;
}

static void find_rightmost(const flat *p, hole *h)
{
	for (uint32_t i = 0; i < h->count; i++)
		if (i == 0 || p[h->first + i].x > h->reach) {
			h->reach = p[h->first + i].x;
			h->rightmost = i;
		}
}

uint32_t hob_polygon_join_holes(hob_polygon *polygon, const float *position, const uint32_t *corners,
								const uint32_t *rings, uint32_t ring_count, uint32_t *joined)
{
	uint32_t total = 0, count = rings[0];
	for (uint32_t r = 0; r < ring_count; r++)
		total += rings[r];
	hob_buf_clear(&polygon->memory);
	size_t points = (size_t)total * sizeof(flat);
	uint8_t *memory = hob_buf_grow(&polygon->memory, points + (size_t)ring_count * sizeof(hole));
	flat *p = (flat *)(void *)memory;
	hole *holes = (hole *)(void *)(memory + points);
	int axes[2];
	hob_polygon_axes(position, corners, rings[0], axes);
	const float *origin = position + (size_t)corners[0] * 3;
	for (uint32_t i = 0; i < total; i++) {
		const float *q = position + (size_t)corners[i] * 3;
		p[i] = (flat){(double)q[axes[0]] - origin[axes[0]], (double)q[axes[1]] - origin[axes[1]]};
	}
	uint32_t first = rings[0];
	for (uint32_t r = 1; r < ring_count; r++) {
		holes[r - 1] = (hole){.first = first, .count = rings[r]};
		find_rightmost(p, &holes[r - 1]);
		first += rings[r];
	}
	qsort(holes, ring_count - 1, sizeof *holes, by_reach);
	for (uint32_t i = 0; i < rings[0]; i++)
		joined[i] = i;
	for (uint32_t r = 0; r + 1 < ring_count; r++) {
		polygon->tests += count;
		uint32_t at = polygon->tests >= HOB_POLYGON_BUDGET
						  ? HOB_NONE
						  : visible(p, joined, count, p[holes[r].first + holes[r].rightmost]);
		if (at == HOB_NONE)
			polygon->careless++;
		else
			count = splice(p, &holes[r], joined, count, at);
	}
	return count;
}

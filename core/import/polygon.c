#include "polygon.h"

#include <math.h>

enum { SMALL = 64 }; /* corners; larger polygons use a grid */

typedef struct corner2 {
	double x, y;
	uint32_t previous, next;
} corner2;

void hob_polygon_release(hob_polygon *polygon)
{
	hob_buf_release(&polygon->memory);
}

static void newell_normal(const float *position, const uint32_t *corners, uint32_t count, double normal[3])
{
	normal[0] = normal[1] = normal[2] = 0;
	/* Relative to one corner: keeps precision far from the origin. */
	const float *origin = position + (size_t)corners[0] * 3;
	for (uint32_t i = 0; i < count; i++) {
		const float *p = position + (size_t)corners[i] * 3;
		const float *q = position + (size_t)corners[i + 1 < count ? i + 1 : 0] * 3;
		double a[3], b[3];
		for (int k = 0; k < 3; k++)
			a[k] = (double)p[k] - origin[k], b[k] = (double)q[k] - origin[k];
		normal[0] += (a[1] - b[1]) * (a[2] + b[2]);
		normal[1] += (a[2] - b[2]) * (a[0] + b[0]);
		normal[2] += (a[0] - b[0]) * (a[1] + b[1]);
	}
}

void hob_polygon_axes(const float *position, const uint32_t *corners, uint32_t count, int axes[2])
{
	double normal[3];
	newell_normal(position, corners, count, normal);
	int drop = fabs(normal[0]) > fabs(normal[1]) ? 0 : 1;
	if (fabs(normal[2]) >= fabs(normal[drop]))
		drop = 2;
	bool front = !(normal[drop] < 0);
	axes[!front] = (drop + 1) % 3, axes[front] = (drop + 2) % 3;
}

static void project(const float *position, const uint32_t *corners, uint32_t count, corner2 *out)
{
	int axes[2];
	hob_polygon_axes(position, corners, count, axes);
	int x = axes[0], y = axes[1];
	const float *origin = position + (size_t)corners[0] * 3;
	for (uint32_t i = 0; i < count; i++) {
		const float *p = position + (size_t)corners[i] * 3;
		out[i] = (corner2){(double)p[x] - origin[x], (double)p[y] - origin[y], i > 0 ? i - 1 : count - 1,
						   i + 1 < count ? i + 1 : 0};
	}
}

/* Twice the area of a b c, positive when counter-clockwise. */
static double turn(const corner2 *a, const corner2 *b, const corner2 *c)
{
	return (b->x - a->x) * (c->y - a->y) - (b->y - a->y) * (c->x - a->x);
}

static bool is_convex(const corner2 *p, uint32_t count)
{
	/* Convex: no right turn, and only one revolution (a star also turns left everywhere). */
	uint32_t rising = 0;
	bool was_up = p[0].y > p[count - 1].y;
	for (uint32_t i = 0; i < count; i++) {
		const corner2 *next = &p[p[i].next];
		if (turn(&p[p[i].previous], &p[i], next) < 0)
			return false;
		if (next->y < p[i].y || next->y > p[i].y) {
			bool up = next->y > p[i].y;
			rising += up != was_up;
			was_up = up;
		}
	}
	return rising <= 2;
}

static void fan(uint32_t count, uint32_t first, uint32_t *triangles)
{
	for (uint32_t i = 1; i + 1 < count; i++) {
		*triangles++ = first;
		*triangles++ = (first + i) % count;
		*triangles++ = (first + i + 1) % count;
	}
}

static void cut_quad(const float *position, const uint32_t *corners, const corner2 *p, uint32_t *triangles)
{
	bool by_02 = turn(&p[0], &p[1], &p[2]) > 0 && turn(&p[0], &p[2], &p[3]) > 0;
	bool by_13 = turn(&p[1], &p[2], &p[3]) > 0 && turn(&p[1], &p[3], &p[0]) > 0;
	if (by_02 == by_13) {
		double squares[2] = {0, 0};
		for (int k = 0; k < 3; k++)
			for (size_t d = 0; d < 2; d++) {
				double side = (double)position[(size_t)corners[d] * 3 + (size_t)k] -
							  position[(size_t)corners[d + 2] * 3 + (size_t)k];
				squares[d] += side * side;
			}
		/* On a tie the diagonal starts at the first corner, as in most tools. */
		by_02 = squares[0] <= squares[1];
	}
	fan(4, by_02 ? 0 : 1, triangles);
}

/* Corner q lies at the same place as the tip b, as at a bridge to a hole. Whether an edge at q runs into the
 * angle a b c. */
static bool enters(const corner2 *p, const corner2 *q, const corner2 *a, const corner2 *b, const corner2 *c)
{
	const corner2 *beside[2] = {&p[q->previous], &p[q->next]};
	for (int k = 0; k < 2; k++)
		if (turn(a, b, beside[k]) > 0 && turn(b, c, beside[k]) > 0)
			return true;
	return false;
}

static bool at_same_place(const corner2 *a, const corner2 *b)
{
	return !(a->x < b->x || a->x > b->x || a->y < b->y || a->y > b->y);
}

/* Grid over a large polygon: the corners of each cell. */
typedef struct grid {
	uint32_t side; /* 0: no grid */
	double low[2], cells[2];
	const uint32_t *first, *items; /* [side * side + 1], [corners] */
} grid_t;

static bool blocks(const corner2 *p, const corner2 *q, const corner2 *a, const corner2 *b, const corner2 *c)
{
	if (at_same_place(q, a) || at_same_place(q, c))
		return false;
	return at_same_place(q, b) ? enters(p, q, a, b, c)
							   : turn(a, b, q) >= 0 && turn(b, c, q) >= 0 && turn(c, a, q) >= 0;
}

static uint32_t cell_of(const grid_t *g, int axis, double at)
{
	double cell = (at - g->low[axis]) * g->cells[axis];
	return cell > 0 ? cell < g->side - 1 ? (uint32_t)cell : g->side - 1 : 0;
}

static bool blocked_in_grid(const corner2 *p, const grid_t *g, const corner2 *const t[3], uint64_t *tests)
{
	double low[2] = {fmin(t[0]->x, fmin(t[1]->x, t[2]->x)), fmin(t[0]->y, fmin(t[1]->y, t[2]->y))};
	double high[2] = {fmax(t[0]->x, fmax(t[1]->x, t[2]->x)), fmax(t[0]->y, fmax(t[1]->y, t[2]->y))};
	uint32_t left = cell_of(g, 0, low[0]), right = cell_of(g, 0, high[0]), top = cell_of(g, 1, high[1]);
	for (uint32_t row = cell_of(g, 1, low[1]); row <= top; row++)
		for (uint32_t cell = row * g->side + left; cell <= row * g->side + right; cell++) {
			++*tests;
			for (uint32_t i = g->first[cell]; i < g->first[cell + 1]; i++) {
				const corner2 *q = &p[g->items[i]];
				++*tests;
				if (q->next != HOB_NONE && q != t[0] && q != t[1] && q != t[2] &&
					blocks(p, q, t[0], t[1], t[2]))
					return true;
			}
		}
	return false;
}

/* Whether the corner is convex, and no other lies inside its triangle or on the triangle's new edge. */
static bool is_ear(const corner2 *p, const grid_t *g, uint32_t ear, uint64_t *tests)
{
	const corner2 *t[3] = {&p[p[ear].previous], &p[ear], &p[p[ear].next]};
	if (!(turn(t[0], t[1], t[2]) > 0))
		return false;
	if (g->side > 0)
		return !blocked_in_grid(p, g, t, tests);
	for (uint32_t i = t[2]->next; i != t[1]->previous; i = p[i].next) {
		++*tests;
		if (blocks(p, &p[i], t[0], t[1], t[2]))
			return false;
	}
	return true;
}

/* About two corners per cell. `room` [side * side + 1 + count]. */
static void make_grid(const corner2 *p, uint32_t count, uint32_t side, uint32_t *room, grid_t *g)
{
	double high[2] = {p[0].x, p[0].y};
	uint32_t *first = room, *items = room + (size_t)side * side + 1;
	*g = (grid_t){side, {p[0].x, p[0].y}, {0, 0}, first, items};
	for (uint32_t i = 1; i < count; i++) {
		g->low[0] = fmin(g->low[0], p[i].x), high[0] = fmax(high[0], p[i].x);
		g->low[1] = fmin(g->low[1], p[i].y), high[1] = fmax(high[1], p[i].y);
	}
	for (int axis = 0; axis < 2; axis++)
		g->cells[axis] = high[axis] > g->low[axis] ? side / (high[axis] - g->low[axis]) : 0;
	memset(first, 0, ((size_t)side * side + 1) * sizeof *first);
	for (uint32_t i = 0; i < count; i++)
		first[cell_of(g, 1, p[i].y) * side + cell_of(g, 0, p[i].x)]++;
	for (uint32_t cell = 0, sum = 0; cell <= side * side; cell++) {
		sum += first[cell];
		first[cell] = sum;
	}
	for (uint32_t i = count; i-- > 0;)
		items[--first[cell_of(g, 1, p[i].y) * side + cell_of(g, 0, p[i].x)]] = i;
}

static void clip_ears(hob_polygon *polygon, corner2 *p, const grid_t *g, uint32_t count, uint32_t *triangles)
{
	uint32_t at = 0, left = count, tried = 0;
	while (left > 3) {
		/* A polygon without any ear intersects itself or has no area: any corner will do. */
		if (tried < left && polygon->tests < HOB_POLYGON_BUDGET && !is_ear(p, g, at, &polygon->tests)) {
			at = p[at].next;
			tried++;
			continue;
		}
		*triangles++ = p[at].previous;
		*triangles++ = at;
		*triangles++ = p[at].next;
		p[p[at].previous].next = p[at].next;
		p[p[at].next].previous = p[at].previous;
		/* Advancing by two corners produces strips rather than long fans. */
		uint32_t gone = at;
		at = p[p[at].next].next;
		p[gone].next = HOB_NONE;
		left--;
		tried = 0;
	}
	*triangles++ = p[at].previous;
	*triangles++ = at;
	*triangles = p[at].next;
}

void hob_polygon_triangulate(hob_polygon *polygon, const float *position, const uint32_t *corners,
							 uint32_t count, uint32_t *triangles)
{
	if (count == 3) {
		fan(3, 0, triangles);
		return;
	}
	hob_buf_clear(&polygon->memory);
	uint32_t side = 0;
	while (count > SMALL && (uint64_t)(side + 1) * (side + 1) * 2 <= count && side < 4096)
		side++;
	size_t cells = side > 0 ? (size_t)side * side + 1 + count : 0;
	corner2 *p = (corner2 *)(void *)hob_buf_grow(&polygon->memory,
												 (size_t)count * sizeof *p + cells * sizeof(uint32_t));
	grid_t grid = {0};
	project(position, corners, count, p);
	if (count == 4) {
		cut_quad(position, corners, p, triangles);
	} else if (is_convex(p, count)) {
		fan(count, 0, triangles);
	} else {
		if (side > 0)
			make_grid(p, count, side, (uint32_t *)(void *)(p + count), &grid);
		clip_ears(polygon, p, &grid, count, triangles);
		polygon->careless += polygon->tests >= HOB_POLYGON_BUDGET;
	}
}

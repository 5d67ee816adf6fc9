#include "deep_faults.h"

#include <math.h>
#include <stdlib.h>

/* ---- texture coordinates on a grid of texels */

typedef struct grid {
	double least[2], most[2], scale;
	uint32_t wide, high;
	uint32_t *owner;  /* of each texel: a triangle + 1; 0: none */
	bool *twice;	  /* overlap: whether another triangle covers the texel, too */
	uint32_t *island; /* margin: of each triangle, one of the same island; itself: the first */
	uint32_t triangle;
	bool hit; /* this triangle covers a texel of another */
	uint64_t work;
} grid;

static bool is_finite(const float *uv)
{
	return fabsf(uv[0]) < 1e6f && fabsf(uv[1]) < 1e6f;
}

static void find_bounds(grid *g, const hob_mesh *mesh)
{
	*g = (grid){.least = {INFINITY, INFINITY}, .most = {-INFINITY, -INFINITY}};
	for (uint32_t i = 0; i < mesh->index_count; i++) {
		const float *uv = mesh->uv[0] + 2 * (size_t)mesh->indices[i];
		for (int k = 0; k < 2 && is_finite(uv); k++) {
			g->least[k] = fmin(g->least[k], (double)uv[k]);
			g->most[k] = fmax(g->most[k], (double)uv[k]);
		}
	}
}

static bool make_texels(grid *g, double scale, hob_arena *scratch)
{
	g->scale = scale;
	g->wide = (uint32_t)((g->most[0] - g->least[0]) * scale) + 1;
	g->high = (uint32_t)((g->most[1] - g->least[1]) * scale) + 1;
	g->owner = HOB_NEW(scratch, uint32_t, (size_t)g->wide * g->high);
	return g->owner != NULL;
}

/* Calls `visit` for the texels whose centres are inside the triangle by a small margin, or with `touching`
 * for all that it touches. */
static void cover(grid *g, const float *const uv[3], bool touching, void (*visit)(grid *g, size_t texel))
{
	static const double hair = 1e-3;
	double p[3][2], area, from[2] = {INFINITY, INFINITY}, to[2] = {-INFINITY, -INFINITY};
	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 2; k++) {
			p[i][k] = ((double)uv[i][k] - g->least[k]) * g->scale;
			from[k] = fmin(from[k], p[i][k]);
			to[k] = fmax(to[k], p[i][k]);
		}
	area = (p[1][0] - p[0][0]) * (p[2][1] - p[0][1]) - (p[2][0] - p[0][0]) * (p[1][1] - p[0][1]);
	if (fabs(area) < hair)
		return;
	for (uint32_t y = (uint32_t)from[1]; y <= (uint32_t)to[1] && y < g->high; y++)
		for (uint32_t x = (uint32_t)from[0]; x <= (uint32_t)to[0] && x < g->wide; x++) {
			bool inside = true;
			for (int i = 0; i < 3 && inside; i++) {
				const double *a = p[i], *b = p[(i + 1) % 3];
				double u = b[0] - a[0], v = b[1] - a[1];
				double side = u * (y + 0.5 - a[1]) - v * (x + 0.5 - a[0]);
				inside = (area > 0 ? side : -side) >
						 (touching ? -0.5 * (fabs(u) + fabs(v)) : hair * sqrt(u * u + v * v));
			}
			g->work++;
			if (inside)
				visit(g, (size_t)y * g->wide + x);
		}
}

/* Covers the grid with all triangles; those that hit another are faults. */
static void cover_all(grid *g, const hob_mesh *mesh, bool touching, void (*visit)(grid *g, size_t texel),
					  hob_fault *faults)
{
	for (uint32_t i = 0; i + 2 < mesh->index_count && g->work <= HOB_OVERLAP_WORK; i += 3) {
		const float *corners[3];
		bool finite = true;
		for (uint32_t k = 0; k < 3; k++) {
			corners[k] = mesh->uv[0] + 2 * (size_t)mesh->indices[i + k];
			finite = finite && is_finite(corners[k]);
		}
		g->triangle = i / 3 + 1;
		g->hit = false;
		if (finite)
			cover(g, corners, touching, visit);
		if (g->hit && faults)
			hob_fault_add(faults, mesh->position + 3 * (size_t)mesh->indices[i]);
	}
}

static void count_use(grid *g, size_t texel)
{
	g->hit = g->hit || g->owner[texel] > 0;
	g->twice[texel] = g->owner[texel] > 0;
	g->owner[texel] = g->triangle;
}

double hob_find_uv_overlap(const hob_mesh *mesh, double limit, hob_arena *scratch, hob_fault *faults)
{
	grid g;
	uint64_t used = 0, over = 0;
	find_bounds(&g, mesh);
	double width = g.most[0] - g.least[0], height = g.most[1] - g.least[1];
	if (!(width > 0 && height > 0))
		return 0;
	if (!make_texels(&g, HOB_OVERLAP_TEXELS / fmax(width, height), scratch) ||
		!(g.twice = HOB_NEW(scratch, bool, (size_t)g.wide *g.high)))
		return -1;
	cover_all(&g, mesh, false, count_use, faults);
	if (g.work > HOB_OVERLAP_WORK)
		return -1;
	for (size_t i = 0; i < (size_t)g.wide * g.high; i++) {
		used += g.owner[i] > 0;
		over += g.twice[i];
	}
	double share = used > 0 ? (double)over / (double)used : 0;
	faults->count = share > limit ? faults->count : 0;
	return share;
}

static uint32_t island_of(grid *g, uint32_t triangle)
{
	while (g->island[triangle] != triangle)
		triangle = g->island[triangle] = g->island[g->island[triangle]];
	return triangle;
}

static void join(grid *g, uint32_t a, uint32_t b)
{
	g->island[island_of(g, a)] = island_of(g, b);
}

static void join_overlap(grid *g, size_t texel)
{
	if (g->owner[texel] > 0)
		join(g, g->owner[texel], g->triangle);
	g->owner[texel] = g->triangle;
}

static void own(grid *g, size_t texel)
{
	if (g->owner[texel] == 0)
		g->owner[texel] = g->triangle;
	else
		g->hit = g->hit || island_of(g, g->owner[texel]) != island_of(g, g->triangle);
}

/* Free texels between this texel and one of another island, at most `reach`. */
static uint32_t free_around(grid *g, uint32_t x, uint32_t y, uint32_t reach)
{
	uint32_t own_island = island_of(g, g->owner[(size_t)y * g->wide + x]), gap = reach;
	for (uint32_t v = y; v <= y + gap && v < g->high; v++)
		for (uint32_t u = x > gap ? x - gap : 0; u <= x + gap && u < g->wide; u++) {
			uint32_t other = g->owner[(size_t)v * g->wide + u], dx = u > x ? u - x : x - u, dy = v - y;
			g->work++;
			if (other > 0 && other != g->owner[(size_t)y * g->wide + x] && (dx > 0 || dy > 0) &&
				island_of(g, other) != own_island) {
				uint32_t far = (dx > dy ? dx : dy) - 1;
				gap = far < gap ? far : gap;
			}
		}
	return gap;
}

double hob_find_uv_margin(const hob_mesh *mesh, double limit, hob_arena *scratch, hob_fault *faults)
{
	grid g;
	uint32_t triangles = mesh->index_count / 3, least = (uint32_t)fmin(ceil(limit), HOB_MARGIN_MOST), gap;
	find_bounds(&g, mesh);
	if (!(g.least[0] <= g.most[0]))
		return INFINITY;
	if (g.most[0] - g.least[0] > HOB_MARGIN_PICTURES || g.most[1] - g.least[1] > HOB_MARGIN_PICTURES)
		return -1;
	for (int k = 0; k < 2; k++)
		g.least[k] = floor(g.least[k] * HOB_OVERLAP_TEXELS) / HOB_OVERLAP_TEXELS;
	g.island = HOB_NEW(scratch, uint32_t, (size_t)triangles + 1);
	uint32_t *first = HOB_NEW(scratch, uint32_t, mesh->vertex_count); /* by corner: a triangle + 1 */
	const uint32_t *corners = hob_find_corners(mesh, scratch);
	if (!g.island || !first || !corners || !make_texels(&g, HOB_OVERLAP_TEXELS, scratch))
		return -1;
	for (uint32_t i = 0; i <= triangles; i++)
		g.island[i] = i;
	for (uint32_t i = 0; i < 3 * triangles; i++) {
		uint32_t *joined = &first[corners[mesh->indices[i]]];
		if (*joined > 0)
			join(&g, *joined, i / 3 + 1);
		*joined = i / 3 + 1;
	}
	cover_all(&g, mesh, false, join_overlap, NULL);
	memset(g.owner, 0, (size_t)g.wide * g.high * sizeof *g.owner);
	cover_all(&g, mesh, true, own, faults);
	gap = faults->count > 0 ? 0 : least;
	for (uint32_t y = 0; y < g.high && g.work <= HOB_OVERLAP_WORK; y++)
		for (uint32_t x = 0; x < g.wide; x++) {
			uint32_t triangle = g.owner[(size_t)y * g.wide + x];
			uint32_t here = triangle > 0 ? free_around(&g, x, y, least) : least;
			if (here < least)
				hob_fault_add(faults, mesh->position + 3 * (size_t)mesh->indices[3 * (triangle - 1)]);
			gap = here < gap ? here : gap;
		}
	return g.work > HOB_OVERLAP_WORK ? -1 : faults->count > 0 ? (double)gap : INFINITY;
}

/* ---- triangles that cross */

typedef struct box {
	float least[3], most[3];
	const float *corners[3];
	uint32_t index;
	bool crosses;
} box;

static int by_least(const void *a, const void *b)
{
	const box *x = a, *y = b;
	int order = (x->least[0] > y->least[0]) - (x->least[0] < y->least[0]);
	return order != 0 ? order : (x->index > y->index) - (x->index < y->index);
}

/* hob_volume, 0 if it may be only a rounding error. */
static double volume(const float *a, const float *b, const float *c, const float *d)
{
	double sum = hob_volume(a, b, c, d), size = 1e-30;
	for (int k = 0; k < 3; k++)
		size = fmax(size, fmax(fabs((double)b[k] - (double)a[k]),
							   fmax(fabs((double)c[k] - (double)a[k]), fabs((double)d[k] - (double)a[k]))));
	return fabs(sum) > 1e-6 * size * size * size ? sum : 0;
}

/* Whether an edge of one goes through the inside of the other. */
static bool pierces(const box *one, const box *other)
{
	const float *const *t = other->corners;
	for (int i = 0; i < 3; i++) {
		const float *a = one->corners[i], *b = one->corners[(i + 1) % 3];
		double x = volume(a, b, t[0], t[1]), y = volume(a, b, t[1], t[2]), z = volume(a, b, t[2], t[0]);
		if (((x > 0 && y > 0 && z > 0) || (x < 0 && y < 0 && z < 0)) &&
			volume(t[0], t[1], t[2], a) * volume(t[0], t[1], t[2], b) < 0)
			return true;
	}
	return false;
}

static bool cross(const box *a, const box *b)
{
	for (int k = 1; k < 3; k++)
		if (a->least[k] > b->most[k] || b->least[k] > a->most[k])
			return false;
	for (int i = 0; i < 9; i++)
		if (memcmp(a->corners[i / 3], b->corners[i % 3], 3 * sizeof(float)) == 0)
			return false;
	return pierces(a, b) || pierces(b, a);
}

bool hob_find_crossings(const hob_mesh *meshes, uint32_t count, hob_arena *scratch, hob_fault *faults)
{
	size_t corners = 0, found = 0;
	uint64_t work = 0;
	for (uint32_t i = 0; i < count; i++)
		corners += meshes[i].topology == HOB_TRIANGLES ? meshes[i].index_count : 0;
	box *boxes = HOB_NEW(scratch, box, corners / 3 + 1);
	for (uint32_t i = 0; boxes && i < count; i++)
		for (uint32_t t = 0; meshes[i].topology == HOB_TRIANGLES && t + 2 < meshes[i].index_count; t += 3) {
			box *b = &boxes[found];
			b->index = (uint32_t)found++;
			for (int c = 0; c < 3; c++) {
				b->corners[c] = meshes[i].position + 3 * (size_t)meshes[i].indices[t + (uint32_t)c];
				for (int k = 0; k < 3; k++) {
					b->least[k] = c > 0 ? fminf(b->least[k], b->corners[c][k]) : b->corners[c][k];
					b->most[k] = c > 0 ? fmaxf(b->most[k], b->corners[c][k]) : b->corners[c][k];
				}
			}
		}
	if (found > 1)
		qsort(boxes, found, sizeof *boxes, by_least);
	for (size_t i = 0; i < found && work <= HOB_CROSSING_WORK; i++)
		for (size_t k = i + 1; k < found && boxes[k].least[0] <= boxes[i].most[0]; k++) {
			work++;
			if (!(boxes[i].crosses && boxes[k].crosses) && cross(&boxes[i], &boxes[k]))
				boxes[i].crosses = boxes[k].crosses = true;
		}
	for (size_t i = 0; i < found; i++)
		if (boxes[i].crosses)
			hob_fault_add(faults, boxes[i].corners[0]);
	return boxes && work <= HOB_CROSSING_WORK;
}

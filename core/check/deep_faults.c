#include "deep_faults.h"

#include <math.h>
#include <stdlib.h>

/* ---- overlap of texture coordinates */

typedef struct grid {
	double least[2], most[2], scale;
	uint32_t wide, high;
	uint8_t *uses; /* of each texel: 0, 1, 2 or more */
	uint64_t work;
} grid;

static bool is_finite(const float *uv)
{
	return fabsf(uv[0]) < 1e6f && fabsf(uv[1]) < 1e6f;
}

/* Counts the texels whose centres are inside by a small margin; true if another triangle also covers one. */
static bool fill(grid *g, const float *const uv[3])
{
	static const double hair = 1e-3;
	double p[3][2], area, from[2] = {INFINITY, INFINITY}, to[2] = {-INFINITY, -INFINITY};
	bool twice = false;
	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 2; k++) {
			p[i][k] = ((double)uv[i][k] - g->least[k]) * g->scale;
			from[k] = fmin(from[k], p[i][k]);
			to[k] = fmax(to[k], p[i][k]);
		}
	area = (p[1][0] - p[0][0]) * (p[2][1] - p[0][1]) - (p[2][0] - p[0][0]) * (p[1][1] - p[0][1]);
	if (fabs(area) < hair)
		return false;
	for (uint32_t y = (uint32_t)from[1]; y <= (uint32_t)to[1] && y < g->high; y++)
		for (uint32_t x = (uint32_t)from[0]; x <= (uint32_t)to[0] && x < g->wide; x++) {
			bool inside = true;
			for (int i = 0; i < 3 && inside; i++) {
				const double *a = p[i], *b = p[(i + 1) % 3];
				double u = b[0] - a[0], v = b[1] - a[1];
				double side = u * (y + 0.5 - a[1]) - v * (x + 0.5 - a[0]);
				inside = (area > 0 ? side : -side) > hair * sqrt(u * u + v * v);
			}
			uint8_t *texel = &g->uses[(size_t)y * g->wide + x];
			g->work++;
			twice = twice || (inside && *texel > 0);
			*texel = (uint8_t)(*texel + (inside && *texel < 2));
		}
	return twice;
}

double hob_find_uv_overlap(const hob_mesh *mesh, hob_arena *scratch, hob_fault *faults)
{
	grid g = {.least = {INFINITY, INFINITY}, .most = {-INFINITY, -INFINITY}};
	const float *uv = mesh->uv[0];
	uint64_t used = 0, over = 0;
	for (uint32_t i = 0; i < mesh->index_count; i++)
		for (int k = 0; k < 2 && is_finite(uv + 2 * (size_t)mesh->indices[i]); k++) {
			g.least[k] = fmin(g.least[k], (double)uv[2 * (size_t)mesh->indices[i] + (size_t)k]);
			g.most[k] = fmax(g.most[k], (double)uv[2 * (size_t)mesh->indices[i] + (size_t)k]);
		}
	double width = g.most[0] - g.least[0], height = g.most[1] - g.least[1];
	if (!(width > 0 && height > 0))
		return 0;
	g.scale = HOB_OVERLAP_TEXELS / fmax(width, height);
	g.wide = (uint32_t)(width * g.scale) + 1;
	g.high = (uint32_t)(height * g.scale) + 1;
	g.uses = HOB_NEW(scratch, uint8_t, (size_t)g.wide * g.high);
	for (uint32_t i = 0; g.uses && i + 2 < mesh->index_count && g.work <= HOB_OVERLAP_WORK; i += 3) {
		const uint32_t *at = mesh->indices + i;
		const float *corners[3] = {uv + 2 * (size_t)at[0], uv + 2 * (size_t)at[1], uv + 2 * (size_t)at[2]};
		if (is_finite(corners[0]) && is_finite(corners[1]) && is_finite(corners[2]) && fill(&g, corners))
			hob_fault_add(faults, mesh->position + 3 * (size_t)at[0]);
	}
	if (!g.uses || g.work > HOB_OVERLAP_WORK)
		return -1;
	for (size_t i = 0; i < (size_t)g.wide * g.high; i++) {
		used += g.uses[i] > 0;
		over += g.uses[i] > 1;
	}
	return used > 0 ? (double)over / (double)used : 0;
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

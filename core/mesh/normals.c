#include "normals.h"
#include "vec3.h"
#include "weld.h"

#include <stdlib.h>

static const hob_vec3 up = {0, 1, 0};

static hob_vec3 face_normal(const float *position, const uint32_t *triangle)
{
	hob_vec3 a = hob_vec3_load(position + 3 * (size_t)triangle[0]);
	hob_vec3 b = hob_vec3_load(position + 3 * (size_t)triangle[1]);
	hob_vec3 c = hob_vec3_load(position + 3 * (size_t)triangle[2]);
	return hob_vec3_unit(hob_vec3_cross(hob_vec3_sub(b, a), hob_vec3_sub(c, a)));
}

static void store_or_up(float *out, hob_vec3 n)
{
	hob_vec3_store(out, hob_vec3_dot(n, n) > 0 ? n : up);
}

void hob_normals_flat(const float *position, const uint32_t *indices, uint32_t triangle_count, float *normal)
{
	for (size_t t = 0; t < triangle_count; t++)
		store_or_up(normal + 3 * t, face_normal(position, indices + 3 * t));
}

void hob_normals_smooth(const float *position, uint32_t vertex_count, const uint32_t *indices,
						uint32_t index_count, const uint32_t *group, float *normal, double *scratch)
{
	memset(scratch, 0, (size_t)vertex_count * 3 * sizeof *scratch);
	for (size_t i = 0; i + 2 < index_count; i += 3) {
		hob_vec3 n = face_normal(position, indices + i);
		if (hob_vec3_dot(n, n) == 0)
			continue;
		hob_vec3 p[3];
		for (int k = 0; k < 3; k++)
			p[k] = hob_vec3_load(position + 3 * (size_t)indices[i + (size_t)k]);
		for (int k = 0; k < 3; k++) {
			double angle = hob_corner_angle(p[(k + 2) % 3], p[k], p[(k + 1) % 3], n);
			double *sum = scratch + 3 * (size_t)group[indices[i + (size_t)k]];
			sum[0] += angle * n.x, sum[1] += angle * n.y, sum[2] += angle * n.z;
		}
	}
	for (size_t v = 0; v < vertex_count; v++) {
		if (group[v] == HOB_NONE) {
			store_or_up(normal + 3 * v, up);
			continue;
		}
		const double *at = scratch + 3 * (size_t)group[v];
		hob_vec3 sum = {at[0], at[1], at[2]};
		/* Faces back to back cancel out except for rounding, which has no meaningful direction. */
		store_or_up(normal + 3 * v, hob_vec3_length(sum) > 1e-9 ? hob_vec3_unit(sum) : up);
	}
}

/* ---- with hard edges */

/* An edge from the current position to another one, as a side of one triangle: an edge between two triangles
 * is two spokes, each with the corner of its triangle at the current position. */
typedef struct spoke {
	uint32_t other, corner; /* number of the other position, and the corner */
} spoke_t;

typedef struct crease {
	hob_vec3 *face; /* [triangles] */
	double *angle;	/* [index_count] */
	hob_vec3 *sum;	/* [index_count] sum of normals, at the root of each set of joined corners */
	spoke_t *spokes;
	uint32_t *first, *corners, *parent;
} crease_t;

static int by_other_end(const void *a, const void *b)
{
	const spoke_t *x = a, *y = b;
	if (x->other != y->other)
		return x->other < y->other ? -1 : 1;
	return x->corner < y->corner ? -1 : x->corner > y->corner;
}

/* Joins corners around one position across edges that are soft enough. */
static void join_corners(crease_t *c, const uint32_t *indices, const uint32_t *group, uint32_t first,
						 uint32_t count, double cosine)
{
	uint32_t spokes = 0;
	for (uint32_t i = first; i < first + count; i++) {
		uint32_t corner = c->corners[i], triangle = corner / 3, base = 3 * triangle;
		if (hob_vec3_dot(c->face[triangle], c->face[triangle]) == 0)
			continue;
		for (uint32_t k = 1; k < 3; k++)
			c->spokes[spokes++] = (spoke_t){group[indices[base + (corner - base + k) % 3]], corner};
	}
	if (spokes > 1)
		qsort(c->spokes, spokes, sizeof *c->spokes, by_other_end);
	for (uint32_t i = 1; i < spokes; i++) {
		const spoke_t *a = &c->spokes[i - 1], *b = &c->spokes[i];
		if (a->other == b->other && hob_vec3_dot(c->face[a->corner / 3], c->face[b->corner / 3]) >= cosine)
			c->parent[hob_root_of(c->parent, a->corner)] = hob_root_of(c->parent, b->corner);
	}
}

void hob_normals_creased(const float *position, uint32_t vertex_count, const uint32_t *indices,
						 uint32_t index_count, const uint32_t *group, double cosine, float *normal,
						 hob_arena *scratch)
{
	hob_arena_mark mark = hob_arena_save(scratch);
	crease_t c = {.face = HOB_NEW(scratch, hob_vec3, index_count / 3),
				  .angle = HOB_NEW(scratch, double, index_count),
				  .sum = HOB_NEW(scratch, hob_vec3, index_count),
				  .spokes = HOB_NEW(scratch, spoke_t, 2 * (size_t)index_count),
				  .first = HOB_NEW(scratch, uint32_t, (size_t)vertex_count + 1),
				  .corners = HOB_NEW(scratch, uint32_t, index_count),
				  .parent = HOB_NEW(scratch, uint32_t, index_count)};
	uint32_t *corner_group = HOB_NEW(scratch, uint32_t, index_count);
	for (uint32_t i = 0; i < index_count; i++) {
		if (i % 3 == 0)
			c.face[i / 3] = face_normal(position, indices + i);
		c.parent[i] = i;
		corner_group[i] = group[indices[i]];
	}
	hob_list_by_key(corner_group, index_count, vertex_count, c.first, c.corners);
	for (uint32_t i = index_count; i-- > 0;) {
		uint32_t base = i / 3 * 3;
		hob_vec3 p[3];
		for (uint32_t k = 0; k < 3; k++)
			p[k] = hob_vec3_load(position + 3 * (size_t)indices[base + (i - base + k) % 3]);
		c.angle[i] = hob_corner_angle(p[2], p[0], p[1], c.face[i / 3]);
	}
	for (uint32_t g = 0; g < vertex_count; g++)
		join_corners(&c, indices, group, c.first[g], c.first[g + 1] - c.first[g], cosine);
	for (uint32_t i = 0; i < index_count; i++) {
		hob_vec3 *sum = &c.sum[hob_root_of(c.parent, i)];
		*sum = hob_vec3_add(*sum, hob_vec3_scale(c.face[i / 3], c.angle[i]));
	}
	for (uint32_t i = 0; i < index_count; i++) {
		hob_vec3 sum = c.sum[hob_root_of(c.parent, i)], face = c.face[i / 3];
		store_or_up(normal + 3 * (size_t)i, hob_vec3_length(sum) > 1e-9 ? hob_vec3_unit(sum) : face);
	}
	hob_arena_restore(scratch, mark);
}

bool hob_normal_usable(const float *normal)
{
	double length = hob_vec3_length(hob_vec3_load(normal));
	return length >= 0.5 && length <= 2;
}

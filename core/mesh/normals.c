#include "normals.h"
#include "vec3.h"

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
		/* Faces back to back cancel out up to rounding; what is left has no direction. */
		store_or_up(normal + 3 * v, hob_vec3_length(sum) > 1e-9 ? hob_vec3_unit(sum) : up);
	}
}

bool hob_normal_usable(const float *normal)
{
	double length = hob_vec3_length(hob_vec3_load(normal));
	return length >= 0.5 && length <= 2;
}

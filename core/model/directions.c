#include "model.h"

#include <math.h>

static float length_squared(const float v[3])
{
	return v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
}

static const float tiny_squared = 1e-12f;

/* Normalises vectors that do not have unit length; (near) zero vectors become exactly zero and are counted.
 * False if one is not finite. */
static bool normalise_all(float *vectors, uint32_t count, uint32_t stride, uint32_t *zeros, uint32_t *changed)
{
	for (uint32_t i = 0; i < count; i++) {
		float *v = vectors + (size_t)i * stride;
		float squared = length_squared(v);
		if (fabsf(squared - 1) <= 1e-3f)
			continue;
		if (!isfinite(v[0]) || !isfinite(v[1]) || !isfinite(v[2]))
			return false;
		float largest = fmaxf(fabsf(v[0]), fmaxf(fabsf(v[1]), fabsf(v[2])));
		if (!isfinite(squared))
			for (int k = 0; k < 3; k++)
				v[k] /= largest;
		squared = length_squared(v);
		float scale = squared > tiny_squared ? 1 / sqrtf(squared) : 0;
		for (int k = 0; k < 3; k++)
			v[k] *= scale;
		*(scale > 0 ? changed : zeros) += 1;
	}
	return true;
}

static bool face_normal(const hob_mesh *mesh, const uint32_t corner[3], float out[3])
{
	const float *p[3];
	for (int i = 0; i < 3; i++)
		p[i] = mesh->position + (size_t)corner[i] * 3;
	float a[3], b[3];
	for (int k = 0; k < 3; k++)
		a[k] = p[1][k] - p[0][k], b[k] = p[2][k] - p[0][k];
	out[0] = a[1] * b[2] - a[2] * b[1];
	out[1] = a[2] * b[0] - a[0] * b[2];
	out[2] = a[0] * b[1] - a[1] * b[0];
	float length = sqrtf(length_squared(out));
	if (!(length > 0) || !isfinite(length))
		return false;
	for (int k = 0; k < 3; k++)
		out[k] /= length;
	return true;
}

static bool is_zero(const float v[3])
{
	return v[0] == 0 && v[1] == 0 && v[2] == 0;
}

static void fill_zero_normals(hob_mesh *mesh)
{
	for (uint32_t i = 0; mesh->topology == HOB_TRIANGLES && i + 2 < mesh->index_count; i += 3) {
		const uint32_t *corner = mesh->indices + i;
		float *n[3], face[3];
		for (int k = 0; k < 3; k++)
			n[k] = mesh->normal + (size_t)corner[k] * 3;
		if (!(is_zero(n[0]) || is_zero(n[1]) || is_zero(n[2])) || !face_normal(mesh, corner, face))
			continue;
		for (int k = 0; k < 3; k++)
			if (is_zero(n[k]))
				memcpy(n[k], face, sizeof face);
	}
	for (uint32_t i = 0; i < mesh->vertex_count; i++)
		if (is_zero(mesh->normal + (size_t)i * 3))
			mesh->normal[(size_t)i * 3 + 2] = 1;
}

static void perpendicular(const float n[3], float out[3])
{
	int axis = fabsf(n[0]) <= fabsf(n[1]) && fabsf(n[0]) <= fabsf(n[2]) ? 0
			   : fabsf(n[1]) <= fabsf(n[2])								? 1
																		: 2;
	float unit[3] = {0};
	unit[axis] = 1;
	for (int k = 0; k < 3; k++)
		out[k] = unit[k] - n[axis] * n[k];
	float length = sqrtf(length_squared(out));
	for (int k = 0; k < 3; k++)
		out[k] /= length;
}

static void fill_zero_tangents(hob_mesh *mesh)
{
	static const float up[3] = {0, 0, 1};
	for (uint32_t i = 0; i < mesh->vertex_count; i++) {
		float *t = mesh->tangent + (size_t)i * 4;
		if (is_zero(t))
			perpendicular(mesh->normal ? mesh->normal + (size_t)i * 3 : up, t);
	}
}

hob_direction_repair hob_mesh_repair_directions(hob_mesh *mesh)
{
	hob_direction_repair repair = {0};
	uint32_t count = mesh->vertex_count, zeros = 0;
	if (mesh->normal) {
		if (!normalise_all(mesh->normal, count, 3, &zeros, &repair.normals_scaled) || zeros == count) {
			repair.normals_dropped = true;
			mesh->normal = NULL;
		} else if (zeros > 0) {
			fill_zero_normals(mesh);
		}
		repair.normals_filled = mesh->normal ? zeros : 0;
	}
	if (mesh->tangent) {
		zeros = 0;
		bool finite = normalise_all(mesh->tangent, count, 4, &zeros, &repair.tangents_scaled);
		for (uint32_t i = 0; finite && i < count; i++) {
			float *w = &mesh->tangent[(size_t)i * 4 + 3];
			finite = isfinite(*w);
			*w = *w < 0 ? -1.0f : 1.0f;
		}
		if (!finite || zeros == count) {
			repair.tangents_dropped = true;
			mesh->tangent = NULL;
		} else if (zeros > 0) {
			fill_zero_tangents(mesh);
		}
		repair.tangents_filled = mesh->tangent ? zeros : 0;
	}
	return repair;
}

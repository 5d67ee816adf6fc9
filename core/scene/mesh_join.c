#include "mesh_join.h"
#include "../base/guard.h"
#include "../base/limits.h"

#include <assert.h>
#include <math.h>

static bool same_mappings(const hob_mesh *a, const hob_mesh *b)
{
	if (a->mapping_count != b->mapping_count)
		return false;
	for (uint32_t i = 0; i < a->mapping_count; i++)
		if (a->mappings[i].variant != b->mappings[i].variant ||
			a->mappings[i].material != b->mappings[i].material)
			return false;
	return true;
}

bool hob_mesh_joinable(const hob_mesh *a, const hob_mesh *b)
{
	if (a->topology != b->topology || a->material != b->material || !a->normal != !b->normal ||
		(!a->normal && a->flat != b->flat) || !a->tangent != !b->tangent ||
		a->influence_count != b->influence_count || a->target_count > 0 || b->target_count > 0)
		return false;
	for (int s = 0; s < HOB_UV_SETS; s++)
		if (!a->uv[s] != !b->uv[s])
			return false;
	for (int s = 0; s < HOB_COLOR_SETS; s++)
		if (!a->color[s] != !b->color[s])
			return false;
	return same_mappings(a, b);
}

static hob_mesh allocate(const hob_mesh *like, uint64_t vertices, uint64_t indices, hob_arena *arena)
{
	hob_mesh out = *like;
	out.vertex_count = (uint32_t)vertices;
	out.index_count = (uint32_t)indices;
	out.indices = HOB_NEW(arena, uint32_t, indices);
	out.position = HOB_NEW(arena, float, 3 * vertices);
	out.normal = like->normal ? HOB_NEW(arena, float, 3 * vertices) : NULL;
	out.tangent = like->tangent ? HOB_NEW(arena, float, 4 * vertices) : NULL;
	for (int s = 0; s < HOB_UV_SETS; s++)
		out.uv[s] = like->uv[s] ? HOB_NEW(arena, float, 2 * vertices) : NULL;
	for (int s = 0; s < HOB_COLOR_SETS; s++)
		out.color[s] = like->color[s] ? HOB_NEW(arena, float, 4 * vertices) : NULL;
	if (like->influence_count > 0) {
		out.joints = HOB_NEW(arena, uint16_t, like->influence_count * vertices);
		out.weights = HOB_NEW(arena, float, like->influence_count *vertices);
	}
	return out;
}

static void store_unit(float *out, const double v[3], const float *otherwise)
{
	double length = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
	for (int k = 0; k < 3; k++)
		out[k] = length > 0 && length < HUGE_VAL ? (float)(v[k] / length) : otherwise[k];
}

static bool put_positions(const hob_placed_mesh *part, float *out)
{
	bool finite = true;
	for (size_t v = 0; v < part->mesh->vertex_count; v++) {
		double p[3];
		hob_affine_apply(part->place.m, 1, part->mesh->position + 3 * v, p);
		for (size_t k = 0; k < 3; k++) {
			out[3 * v + k] = (float)p[k];
			finite = finite && isfinite(out[3 * v + k]);
		}
	}
	return finite;
}

static void put_directions(const hob_placed_mesh *part, bool mirrored, float *normal, float *tangent)
{
	double cofactors[9], v[3];
	hob_affine_cofactors(&part->place, cofactors);
	if (mirrored)
		for (int i = 0; i < 9; i++)
			cofactors[i] = -cofactors[i];
	for (size_t i = 0; normal && i < part->mesh->vertex_count; i++) {
		hob_affine_apply(cofactors, 0, part->mesh->normal + 3 * i, v);
		store_unit(normal + 3 * i, v, part->mesh->normal + 3 * i);
	}
	for (size_t i = 0; tangent && i < part->mesh->vertex_count; i++) {
		const float *from = part->mesh->tangent + 4 * i;
		hob_affine_apply(part->place.m, 0, from, v);
		store_unit(tangent + 4 * i, v, from);
		tangent[4 * i + 3] = mirrored ? -from[3] : from[3];
	}
}

static void put_indices(const hob_mesh *mesh, bool mirrored, uint32_t base, uint32_t *out)
{
	for (uint32_t i = 0; i < mesh->index_count; i++)
		out[i] = mesh->indices[i] + base;
	if (!mirrored || mesh->topology != HOB_TRIANGLES)
		return;
	for (uint32_t i = 0; i + 2 < mesh->index_count; i += 3) {
		uint32_t second = out[i + 1];
		out[i + 1] = out[i + 2];
		out[i + 2] = second;
	}
}

static void copy(void *to, size_t at, const void *from, size_t count, size_t size)
{
	if (to && count > 0)
		memcpy((uint8_t *)to + at * size, from, count * size);
}

static bool put_part(const hob_placed_mesh *part, uint32_t vertex, uint32_t index, hob_mesh *out)
{
	const hob_mesh *mesh = part->mesh;
	bool mirrored = hob_affine_determinant(&part->place) < 0;
	size_t count = mesh->vertex_count;
	for (int s = 0; s < HOB_UV_SETS; s++)
		copy(out->uv[s], vertex, mesh->uv[s], count, 8);
	for (int s = 0; s < HOB_COLOR_SETS; s++)
		copy(out->color[s], vertex, mesh->color[s], count, 16);
	copy(out->joints, vertex, mesh->joints, count, 2 * mesh->influence_count);
	copy(out->weights, vertex, mesh->weights, count, 4 * mesh->influence_count);
	put_directions(part, mirrored, out->normal ? out->normal + 3 * (size_t)vertex : NULL,
				   out->tangent ? out->tangent + 4 * (size_t)vertex : NULL);
	put_indices(mesh, mirrored, vertex, out->indices + index);
	return put_positions(part, out->position + 3 * (size_t)vertex);
}

hob_mesh hob_meshes_join(const hob_placed_mesh *parts, uint32_t part_count, hob_arena *arena)
{
	uint64_t vertices = 0, indices = 0;
	for (uint32_t i = 0; i < part_count; i++) {
		assert(hob_mesh_joinable(parts[0].mesh, parts[i].mesh));
		vertices += parts[i].mesh->vertex_count;
		indices += parts[i].mesh->index_count;
	}
	if (vertices > HOB_LIMIT_VERTICES || indices > HOB_LIMIT_INDICES)
		hob_leave(LIMIT, "%u meshes like '%.*s' would join to %llu vertices and %llu indices", part_count,
				  HOB_FMT(parts[0].mesh->name), (unsigned long long)vertices, (unsigned long long)indices);
	hob_mesh mesh = allocate(parts[0].mesh, vertices, indices, arena);
	uint32_t vertex = 0, index = 0;
	for (uint32_t i = 0; i < part_count; i++) {
		if (!put_part(&parts[i], vertex, index, &mesh))
			hob_leave(CORRUPT, "mesh '%.*s' is placed beyond the range of float",
					  HOB_FMT(parts[i].mesh->name));
		vertex += parts[i].mesh->vertex_count;
		index += parts[i].mesh->index_count;
	}
	return mesh;
}

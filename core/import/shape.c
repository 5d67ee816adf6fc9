#include "shape.h"

#include "../base/limits.h"

#include <math.h>

static const uint32_t corners_of[] = {[HOB_TRIANGLES] = 3, [HOB_LINES] = 2, [HOB_POINTS] = 1};

void hob_shape_allocate(hob_mesh *mesh, size_t count, bool normals, bool colors, bool uvs, hob_arena *arena)
{
	mesh->vertex_count = (uint32_t)count;
	mesh->position = HOB_NEW(arena, float, count * 3);
	mesh->normal = normals ? HOB_NEW(arena, float, count * 3) : NULL;
	mesh->color[0] = colors ? HOB_NEW(arena, float, count * 4) : NULL;
	mesh->uv[0] = uvs ? HOB_NEW(arena, float, count * 2) : NULL;
}

/* Tests the exponent's bits, so that the compiler can vectorise. */
bool hob_shape_finite(const float *values, size_t count)
{
	uint32_t bad = 0;
	for (size_t i = 0; i < count; i++) {
		uint32_t bits;
		memcpy(&bits, &values[i], sizeof bits);
		bad |= (bits & 0x7F800000u) == 0x7F800000u;
	}
	return !bad;
}

bool hob_shape_in_reach(const float *values, size_t count)
{
	const float reach = (float)HOB_LIMIT_REACH;
	uint32_t most, bad = 0;
	memcpy(&most, &reach, sizeof most);
	for (size_t i = 0; i < count; i++) {
		uint32_t bits;
		memcpy(&bits, &values[i], sizeof bits);
		bad |= (bits & 0x7FFFFFFFu) > most;
	}
	return !bad;
}

static bool all_below(const uint32_t *indices, size_t count, uint32_t limit)
{
	uint32_t largest = 0;
	for (size_t i = 0; i < count; i++)
		largest = indices[i] > largest ? indices[i] : largest;
	return count == 0 || largest < limit;
}

void hob_shape_fix_positions(hob_mesh *mesh, hob_notes *notes)
{
	if (hob_shape_in_reach(mesh->position, (size_t)mesh->vertex_count * 3) &&
		all_below(mesh->indices, mesh->index_count, mesh->vertex_count))
		return;
	uint32_t corners = corners_of[mesh->topology], kept = 0;
	for (uint32_t i = 0; i + corners <= mesh->index_count; i += corners) {
		bool good = true;
		for (uint32_t k = 0; k < corners; k++) {
			uint32_t index = mesh->indices[i + k];
			good = good && index < mesh->vertex_count &&
				   hob_shape_in_reach(mesh->position + (size_t)index * 3, 3);
		}
		for (uint32_t k = 0; good && k < corners; k++)
			mesh->indices[kept++] = mesh->indices[i + k];
	}
	uint32_t dropped = (mesh->index_count - kept) / corners;
	mesh->index_count = kept;
	for (uint32_t v = 0; v < mesh->vertex_count; v++)
		if (!hob_shape_in_reach(mesh->position + (size_t)v * 3, 3))
			memset(mesh->position + (size_t)v * 3, 0, 3 * sizeof(float));
	if (dropped > 0)
		hob_warn(notes, "mesh.bad-faces",
				 "mesh '%.*s': %u faces use a vertex that does not exist or lies "
				 "nowhere; they are left out",
				 HOB_FMT(mesh->name), dropped);
}

void hob_shape_face_normal(const float *a, const float *b, const float *c, float out[3])
{
	float u[3] = {b[0] - a[0], b[1] - a[1], b[2] - a[2]};
	float v[3] = {c[0] - a[0], c[1] - a[1], c[2] - a[2]};
	out[0] = u[1] * v[2] - u[2] * v[1];
	out[1] = u[2] * v[0] - u[0] * v[2];
	out[2] = u[0] * v[1] - u[1] * v[0];
}

size_t hob_shape_fix_floats(float *values, size_t count, float value)
{
	size_t bad = 0;
	if (!values || hob_shape_finite(values, count))
		return 0;
	for (size_t i = 0; i < count; i++)
		if (values[i] - values[i] != 0) {
			values[i] = value;
			bad++;
		}
	return bad;
}

void hob_shape_plain_material(hob_material *material, hob_str name)
{
	hob_material_init(material);
	material->name = name;
	material->metallic = 0;
}

hob_node hob_shape_plain_node(hob_str name)
{
	return (hob_node){.name = name,
					  .parent = HOB_NONE,
					  .rotation = {0, 0, 0, 1},
					  .scale = {1, 1, 1},
					  .skin = HOB_NONE,
					  .camera = HOB_NONE,
					  .light = HOB_NONE};
}

float hob_shape_clamp01(double value)
{
	return value > 0 ? value < 1 ? (float)value : 1 : 0;
}

float hob_shape_linear(float srgb)
{
	if (!(srgb > 0))
		return 0;
	if (srgb <= 0.04045f)
		return srgb / 12.92f;
	/* In double: differences in the last bit between libms' pow vanish in the float. */
	return (float)pow(((double)srgb + 0.055) / 1.055, 2.4);
}

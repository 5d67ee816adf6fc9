#include "visible.h"
#include "mesh_bounds.h"
#include "vec3.h"

enum { MOST = 24 };

typedef struct source {
	const float *data;
	uint32_t width;
	float scale;
} source_t;

/* Length on the surface of one unit of texture coordinates. */
static double length_of_uv(const hob_mesh *m, const float *uv, const uint32_t *indices, uint32_t index_count)
{
	double surface = 0, texture = 0;
	for (uint32_t i = 0; i < index_count; i += 3) {
		double mapped;
		surface += hob_twice_area(m->position, uv, indices + i, &mapped);
		texture += mapped;
	}
	return texture > 0 ? sqrt(surface / texture) : 0;
}

static uint32_t list(const hob_mesh *m, const uint32_t *indices, uint32_t index_count, double size,
					 source_t sources[])
{
	uint32_t count = 0, width = 0;
	if (m->normal)
		sources[count++] = (source_t){m->normal, 3, (float)(HOB_VISIBLE_NORMAL * size)};
	for (uint32_t set = 0; set < HOB_COUNT_OF(m->uv); set++)
		if (m->uv[set])
			sources[count++] =
				(source_t){m->uv[set], 2, (float)length_of_uv(m, m->uv[set], indices, index_count)};
	for (uint32_t set = 0; set < HOB_COUNT_OF(m->color); set++)
		if (m->color[set])
			sources[count++] = (source_t){m->color[set], 4, (float)(HOB_VISIBLE_COLOR * size)};
	for (uint32_t i = 0; i < count; i++) {
		width += sources[i].width;
		if (width > MOST)
			return i;
	}
	return count;
}

bool hob_visible_attributes(const hob_mesh *mesh, const uint32_t *indices, uint32_t index_count, double size,
							hob_arena *arena, float **out, uint32_t *count, hob_error *err)
{
	source_t sources[1 + HOB_COUNT_OF(mesh->uv) + HOB_COUNT_OF(mesh->color)];
	uint32_t source_count = list(mesh, indices, index_count, size, sources), at = 0;
	*count = 0, *out = NULL;
	for (uint32_t i = 0; i < source_count; i++)
		*count += sources[i].width;
	if (*count == 0)
		return true;
	float *all = *out = hob_arena_array(arena, mesh->vertex_count, *count * sizeof *all, 4);
	if (!all)
		return hob_fail_memory(err, arena, "the attributes of levels of detail");
	for (uint32_t i = 0; i < source_count; at += sources[i++].width)
		for (uint32_t v = 0; v < mesh->vertex_count; v++)
			for (uint32_t k = 0; k < sources[i].width; k++)
				all[(size_t)v * *count + at + k] =
					sources[i].data[(size_t)v * sources[i].width + k] * sources[i].scale;
	return true;
}

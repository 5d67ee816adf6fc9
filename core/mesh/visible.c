#include "visible.h"
#include "vec3.h"

enum { MOST = 24 };

typedef struct source {
	const float *data;
	uint32_t width;
	float scale;
} source_t;

/* Length on the surface of one unit of texture coordinates, from the mean square of their gradients: by
 * areas, a palette, whose triangles are lines and points in the texture, would be infinitely long. */
static double length_of_uv(const hob_mesh *m, const float *uv, const uint32_t *indices, uint32_t index_count)
{
	double surface = 0, slope = 0;
	for (const uint32_t *i = indices; i < indices + index_count; i += 3) {
		hob_vec3 p = hob_vec3_load(m->position + 3 * (size_t)i[0]);
		hob_vec3 e = hob_vec3_sub(hob_vec3_load(m->position + 3 * (size_t)i[1]), p);
		hob_vec3 f = hob_vec3_sub(hob_vec3_load(m->position + 3 * (size_t)i[2]), p);
		double area = hob_vec3_length(hob_vec3_cross(e, f));
		if (!(area > 0))
			continue;
		surface += area;
		for (size_t k = 0; k < 2; k++) {
			double from = (double)uv[2 * (size_t)i[0] + k];
			hob_vec3 along = hob_vec3_scale(f, (double)uv[2 * (size_t)i[1] + k] - from);
			along = hob_vec3_sub(along, hob_vec3_scale(e, (double)uv[2 * (size_t)i[2] + k] - from));
			slope += hob_vec3_dot(along, along) / area / 2;
		}
	}
	return slope > 0 ? sqrt(surface / slope) : 0;
}

static uint32_t list(const hob_mesh *m, const uint32_t *indices, uint32_t index_count, double size,
					 source_t sources[])
{
	uint32_t count = 0, width = 0;
	if (m->normal)
		sources[count++] = (source_t){m->normal, 3, (float)(HOB_VISIBLE_NORMAL * size)};
	for (uint32_t set = 0; set < HOB_COUNT_OF(m->uv); set++)
		if (m->uv[set])
			sources[count++] = (source_t){
				m->uv[set], 2, (float)fmin(length_of_uv(m, m->uv[set], indices, index_count), size)};
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

float *hob_visible_attributes(const hob_mesh *mesh, const uint32_t *indices, uint32_t index_count,
							  double size, hob_arena *arena, uint32_t *count)
{
	source_t sources[1 + HOB_COUNT_OF(mesh->uv) + HOB_COUNT_OF(mesh->color)];
	uint32_t source_count = list(mesh, indices, index_count, size, sources), at = 0;
	*count = 0;
	for (uint32_t i = 0; i < source_count; i++)
		*count += sources[i].width;
	if (*count == 0)
		return NULL;
	float *all = hob_arena_array(arena, mesh->vertex_count, *count * sizeof *all, 4);
	for (uint32_t i = 0; i < source_count; at += sources[i++].width)
		for (uint32_t v = 0; v < mesh->vertex_count; v++)
			for (uint32_t k = 0; k < sources[i].width; k++)
				all[(size_t)v * *count + at + k] =
					sources[i].data[(size_t)v * sources[i].width + k] * sources[i].scale;
	return all;
}

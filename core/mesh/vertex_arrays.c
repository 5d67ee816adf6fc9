#include "vertex_arrays.h"

#include <assert.h>

static uint32_t collect(const hob_mesh *mesh, hob_vertex_array *out)
{
	uint32_t count = 0, kind = 0;
#define PUT(pointer, bytes, floats)                                                                          \
	do {                                                                                                     \
		if (pointer && out)                                                                                  \
			out[count] = (hob_vertex_array){pointer, bytes, floats, kind};                                   \
		count += pointer != NULL;                                                                            \
		kind++;                                                                                              \
	} while (0)
	PUT(mesh->position, 12, true);
	PUT(mesh->normal, 12, true);
	PUT(mesh->tangent, 16, true);
	for (uint32_t s = 0; s < HOB_UV_SETS; s++)
		PUT(mesh->uv[s], 8, true);
	for (uint32_t s = 0; s < HOB_COLOR_SETS; s++)
		PUT(mesh->color[s], 16, true);
	if (mesh->influence_count > 0) {
		assert(mesh->influence_count % 2 == 0);
		PUT(mesh->joints, 2 * mesh->influence_count, false);
		PUT(mesh->weights, 4 * mesh->influence_count, true);
	}
	for (uint32_t t = 0; t < mesh->target_count; t++) {
		PUT(mesh->targets[t].position, 12, true);
		PUT(mesh->targets[t].normal, 12, true);
		PUT(mesh->targets[t].tangent, 12, true);
	}
#undef PUT
	return count;
}

uint32_t hob_vertex_arrays_count(const hob_mesh *mesh)
{
	return collect(mesh, NULL);
}

void hob_vertex_arrays_list(const hob_mesh *mesh, hob_vertex_array *out)
{
	collect(mesh, out);
}

uint32_t hob_vertex_arrays_place(const hob_mesh *mesh, hob_vertex_array *out)
{
	hob_mesh bare = {.position = mesh->position,
					 .influence_count = mesh->influence_count,
					 .joints = mesh->joints,
					 .weights = mesh->weights};
	uint32_t count = collect(&bare, out);
	for (uint32_t t = 0; t < mesh->target_count; t++)
		if (mesh->targets[t].position)
			out[count++] = (hob_vertex_array){mesh->targets[t].position, 12, true, 0};
	return count;
}

#define COPY_EACH(bytes)                                                                                     \
	for (uint32_t i = 0; i < count; i++)                                                                     \
	memcpy(copy + (size_t)(bytes)*i, (const uint8_t *)source + (size_t)(bytes)*from[i], bytes)

/* Copies the elements from[0..count); NULL of NULL. */
static void *gather(const void *source, size_t size, const uint32_t *from, uint32_t count, hob_arena *arena)
{
	if (!source)
		return NULL;
	uint8_t *copy = hob_arena_array(arena, count, size, 4);
	if (size == 8)
		COPY_EACH(8);
	else if (size == 12)
		COPY_EACH(12);
	else if (size == 16)
		COPY_EACH(16);
	else
		COPY_EACH(size);
	return copy;
}

void hob_mesh_gather(const hob_mesh *in, const uint32_t *from, uint32_t count, hob_arena *arena,
					 hob_mesh *out)
{
	enum { FLOAT = sizeof(float) };
	hob_mesh mesh = *in;
	mesh.vertex_count = count;
	mesh.position = gather(in->position, 3 * FLOAT, from, count, arena);
	mesh.normal = gather(in->normal, 3 * FLOAT, from, count, arena);
	mesh.tangent = gather(in->tangent, 4 * FLOAT, from, count, arena);
	for (uint32_t s = 0; s < HOB_UV_SETS; s++)
		mesh.uv[s] = gather(in->uv[s], 2 * FLOAT, from, count, arena);
	for (uint32_t s = 0; s < HOB_COLOR_SETS; s++)
		mesh.color[s] = gather(in->color[s], 4 * FLOAT, from, count, arena);
	if (in->influence_count > 0) {
		mesh.weights = gather(in->weights, in->influence_count * FLOAT, from, count, arena);
		mesh.joints = gather(in->joints, 2 * in->influence_count, from, count, arena);
	}
	if (in->target_count > 0)
		mesh.targets = HOB_NEW(arena, hob_morph_target, in->target_count);
	for (uint32_t t = 0; t < in->target_count; t++) {
		const hob_morph_target *source = &in->targets[t];
		hob_morph_target *target = &mesh.targets[t];
		*target = *source;
		target->position = gather(source->position, 3 * FLOAT, from, count, arena);
		target->normal = gather(source->normal, 3 * FLOAT, from, count, arena);
		target->tangent = gather(source->tangent, 3 * FLOAT, from, count, arena);
	}
	*out = mesh;
}

#include "vertex_arrays.h"

#include <assert.h>

static uint32_t collect(const hob_mesh *mesh, hob_vertex_array *out)
{
	uint32_t count = 0;
#define PUT(pointer, bytes, floats)                                                                          \
	do {                                                                                                     \
		if (pointer) {                                                                                       \
			if (out)                                                                                         \
				out[count] = (hob_vertex_array){pointer, bytes, floats};                                     \
			count++;                                                                                         \
		}                                                                                                    \
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
			out[count++] = (hob_vertex_array){mesh->targets[t].position, 12, true};
	return count;
}

/* Copies the elements from[0..count); a NULL source gives NULL and succeeds. */
static bool gather(const void *source, size_t size, const uint32_t *from, uint32_t count, hob_arena *arena,
				   void **out)
{
	*out = NULL;
	if (!source)
		return true;
	uint8_t *copy = hob_arena_array(arena, count, size, 4);
	if (!copy)
		return false;
	const uint8_t *bytes = source;
	switch (size) {
	case 8:
		for (uint32_t i = 0; i < count; i++)
			memcpy(copy + (size_t)i * 8, bytes + (size_t)from[i] * 8, 8);
		break;
	case 12:
		for (uint32_t i = 0; i < count; i++)
			memcpy(copy + (size_t)i * 12, bytes + (size_t)from[i] * 12, 12);
		break;
	case 16:
		for (uint32_t i = 0; i < count; i++)
			memcpy(copy + (size_t)i * 16, bytes + (size_t)from[i] * 16, 16);
		break;
	default:
		for (uint32_t i = 0; i < count; i++)
			memcpy(copy + i * size, bytes + from[i] * size, size);
		break;
	}
	*out = copy;
	return true;
}

static bool gather_floats(float **array, size_t width, const uint32_t *from, uint32_t count, hob_arena *arena)
{
	void *copy;
	if (!gather(*array, width * sizeof(float), from, count, arena, &copy))
		return false;
	*array = copy;
	return true;
}

bool hob_mesh_gather(const hob_mesh *in, const uint32_t *from, uint32_t count, hob_arena *arena,
					 hob_mesh *out, hob_error *err)
{
	hob_mesh mesh = *in;
	mesh.vertex_count = count;
	bool ok = gather_floats(&mesh.position, 3, from, count, arena) &&
			  gather_floats(&mesh.normal, 3, from, count, arena) &&
			  gather_floats(&mesh.tangent, 4, from, count, arena);
	for (uint32_t s = 0; ok && s < HOB_UV_SETS; s++)
		ok = gather_floats(&mesh.uv[s], 2, from, count, arena);
	for (uint32_t s = 0; ok && s < HOB_COLOR_SETS; s++)
		ok = gather_floats(&mesh.color[s], 4, from, count, arena);
	if (ok && mesh.influence_count > 0) {
		void *joints;
		ok = gather_floats(&mesh.weights, mesh.influence_count, from, count, arena) &&
			 gather(mesh.joints, 2 * mesh.influence_count, from, count, arena, &joints);
		if (ok)
			mesh.joints = joints;
	}
	if (ok && mesh.target_count > 0) {
		mesh.targets = HOB_NEW(arena, hob_morph_target, mesh.target_count);
		ok = mesh.targets != NULL;
	}
	for (uint32_t t = 0; ok && t < mesh.target_count; t++) {
		hob_morph_target *target = &mesh.targets[t];
		*target = in->targets[t];
		ok = gather_floats(&target->position, 3, from, count, arena) &&
			 gather_floats(&target->normal, 3, from, count, arena) &&
			 gather_floats(&target->tangent, 3, from, count, arena);
	}
	if (!ok)
		return hob_fail_memory(err, arena, "vertices");
	*out = mesh;
	return true;
}

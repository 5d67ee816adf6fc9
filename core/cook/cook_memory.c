#include "cook_memory.h"

#include "../base/limits.h"

#include <stdlib.h>

enum { LARGE = 2 << 20 }; /* triangles */

size_t hob_cook_memory_limit(const hob_cook_request *request)
{
	return request->memory_limit ? request->memory_limit : (size_t)HOB_LIMIT_COOK_ARENA_BYTES;
}

void hob_cook_memory_free(hob_cook_memory *memory)
{
	if (!memory)
		return;
	for (uint32_t i = 0; i < memory->thread_count; i++) {
		if (memory->mesh_result)
			hob_arena_release(&memory->mesh_result[i]);
		if (memory->mesh_scratch)
			hob_arena_release(&memory->mesh_scratch[i]);
	}
	for (size_t i = 0; i < HOB_COUNT_OF(memory->packed); i++)
		hob_buf_release(&memory->packed[i]);
	hob_buf_release(&memory->report);
	free(memory->mesh_result);
	free(memory->mesh_scratch);
	hob_arena_release(&memory->scratch);
	hob_arena_release(&memory->result);
	free(memory);
}

hob_cook_memory *hob_cook_memory_new(const hob_cook_request *request)
{
	hob_cook_memory *memory = calloc(1, sizeof *memory);
	if (!memory)
		return NULL;
	size_t limit = hob_cook_memory_limit(request);
	memory->thread_count =
		request->parallel && request->parallel->threads > 1 ? request->parallel->threads : 1;
	memory->mesh_result = calloc(memory->thread_count, sizeof(hob_arena));
	memory->mesh_scratch = calloc(memory->thread_count, sizeof(hob_arena));
	hob_arena_init(&memory->result, limit);
	hob_arena_init(&memory->scratch, limit);
	for (uint32_t i = 0; memory->mesh_result && memory->mesh_scratch && i < memory->thread_count; i++) {
		hob_arena_init(&memory->mesh_result[i], limit);
		hob_arena_init(&memory->mesh_scratch[i], limit);
	}
	if (!memory->mesh_result || !memory->mesh_scratch) {
		hob_cook_memory_free(memory);
		return NULL;
	}
	return memory;
}

bool hob_cook_memory_has(size_t limit, uint64_t bytes)
{
	hob_own_arena trial;
	hob_arena_init(&trial, limit);
	return bytes == 0 || (bytes <= SIZE_MAX && hob_arena_alloc(&trial, (size_t)bytes, 1));
}

/* Bytes for the indices of all levels and the vertices of all meshes; 0 for a model that is not large. */
uint64_t hob_cook_memory_of_levels(const hob_model *model, uint32_t lod_max, float ratio)
{
	uint64_t triangles = 0, bytes = 0;
	double share = 0, level = 1;
	for (uint32_t l = 0; l < lod_max; l++, level *= (double)ratio)
		share += level;
	for (uint32_t i = 0; i < model->mesh_count; i++) {
		const hob_mesh *mesh = &model->meshes[i];
		bytes += 12ull * mesh->vertex_count;
		if (mesh->topology != HOB_TRIANGLES)
			continue;
		triangles += mesh->index_count / 3;
		bytes += (uint64_t)(share * 4 * mesh->index_count);
	}
	return triangles > LARGE ? bytes : 0;
}

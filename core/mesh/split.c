#include "split.h"
#include "weld.h"

#include <assert.h>

static uint32_t hash(uint32_t vertex, const float *value, uint32_t width)
{
	uint64_t h = vertex * 0x9E3779B97F4A7C15ull;
	for (uint32_t i = 0; i < width; i++)
		h = hob_mix(h, hob_load_u32((const uint8_t *)&value[i]));
	return (uint32_t)(h >> 16);
}

uint32_t hob_split(uint32_t *indices, uint32_t index_count, uint32_t vertex_count, uint32_t corners_per_value,
				   const float *values, uint32_t width, uint32_t *from, float *vertex_values,
				   hob_arena *scratch)
{
	uint32_t size = hob_table_size(index_count), mask = size - 1;
	hob_arena_mark mark = hob_arena_save(scratch);
	uint8_t *seen = HOB_NEW(scratch, uint8_t, vertex_count);
	uint32_t *table = HOB_NEW(scratch, uint32_t, size);
	size_t bytes = width * sizeof(float);
	memset(table, 0xFF, (size_t)size * sizeof *table);
	memset(vertex_values, 0, vertex_count * bytes);
	for (uint32_t v = 0; v < vertex_count; v++)
		from[v] = v;

	uint32_t count = vertex_count;
	for (uint32_t i = 0; i < index_count; i++) {
		uint32_t v = indices[i];
		assert(v < vertex_count);
		const float *value = values + (size_t)(i / corners_per_value) * width;
		if (!seen[v]) {
			seen[v] = 1;
			memcpy(vertex_values + (size_t)v * width, value, bytes);
		}
		if (memcmp(vertex_values + (size_t)v * width, value, bytes) == 0)
			continue;
		uint32_t slot = hash(v, value, width) & mask;
		for (; table[slot] != HOB_NONE; slot = (slot + 1) & mask) {
			uint32_t other = table[slot];
			if (from[other] == v && memcmp(vertex_values + (size_t)other * width, value, bytes) == 0)
				break;
		}
		if (table[slot] == HOB_NONE) {
			table[slot] = count;
			from[count] = v;
			memcpy(vertex_values + (size_t)count * width, value, bytes);
			count++;
		}
		indices[i] = table[slot];
	}
	hob_arena_restore(scratch, mark);
	return count;
}

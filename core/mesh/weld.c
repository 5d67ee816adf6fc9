#include "weld.h"

#include <assert.h>

enum { AHEAD = 16 };

static uint32_t table_size(uint32_t vertex_count)
{
	uint64_t size = 16;
	while (size < (uint64_t)vertex_count + vertex_count / 2)
		size *= 2;
	assert(size <= UINT32_MAX);
	return (uint32_t)size;
}

size_t hob_weld_scratch_size(uint32_t vertex_count)
{
	return (size_t)vertex_count * sizeof(uint64_t) + (size_t)table_size(vertex_count) * sizeof(uint32_t);
}

static uint32_t word(const hob_vertex_array *array, size_t index)
{
	uint32_t bits = ((const uint32_t *)array->data)[index];
	return array->is_float && bits == 0x80000000u ? 0 : bits;
}

static bool equal(const hob_vertex_array *arrays, uint32_t array_count, size_t a, size_t b)
{
	for (uint32_t i = 0; i < array_count; i++) {
		size_t words = arrays[i].size / 4;
		for (size_t w = 0; w < words; w++)
			if (word(&arrays[i], a * words + w) != word(&arrays[i], b * words + w))
				return false;
	}
	return true;
}

static uint64_t mix(uint64_t hash, uint64_t words)
{
	hash = (hash ^ words) * 0x9FB21C651E98DF25ull;
	return hash ^ hash >> 32;
}

static void hash_array(const hob_vertex_array *array, uint32_t vertex_count, uint64_t *hashes)
{
	size_t words = array->size / 4, at = 0;
	for (uint32_t v = 0; v < vertex_count; v++) {
		uint64_t hash = hashes[v];
		for (size_t w = words; w >= 2; w -= 2, at += 2)
			hash = mix(hash, word(array, at) | (uint64_t)word(array, at + 1) << 32);
		if (words % 2)
			hash = mix(hash, word(array, at++));
		hashes[v] = hash;
	}
}

uint32_t hob_weld(const hob_vertex_array *arrays, uint32_t array_count, uint32_t vertex_count,
				  const uint32_t *indices, uint32_t index_count, uint32_t *remap, uint32_t *from,
				  void *scratch)
{
	uint64_t *hashes = scratch;
	uint32_t *table = (uint32_t *)(void *)(hashes + vertex_count);
	uint32_t mask = table_size(vertex_count) - 1;
	memset(table, 0xFF, ((size_t)mask + 1) * sizeof *table);
	for (uint32_t v = 0; v < vertex_count; v++) {
		hashes[v] = 0x9E3779B97F4A7C15ull;
		remap[v] = indices ? HOB_NONE : 0;
	}
	for (uint32_t i = 0; i < index_count; i++) {
		assert(indices[i] < vertex_count);
		remap[indices[i]] = 0;
	}
	for (uint32_t a = 0; a < array_count; a++)
		hash_array(&arrays[a], vertex_count, hashes);

	uint32_t kept = 0;
	for (uint32_t v = 0; v < vertex_count; v++) {
		if (v + AHEAD < vertex_count)
			__builtin_prefetch(&table[(uint32_t)(hashes[v + AHEAD] >> 16) & mask]);
		if (remap[v] == HOB_NONE)
			continue;
		uint32_t slot = (uint32_t)(hashes[v] >> 16) & mask;
		while (table[slot] != HOB_NONE) {
			uint32_t other = from[table[slot]];
			if (hashes[other] == hashes[v] && equal(arrays, array_count, other, v))
				break;
			slot = (slot + 1) & mask;
		}
		if (table[slot] == HOB_NONE) {
			table[slot] = kept;
			from[kept++] = v;
		}
		remap[v] = table[slot];
	}
	return kept;
}

bool hob_weld_places(const float *positions, uint32_t vertex_count, hob_arena *scratch, uint32_t *first)
{
	const hob_vertex_array place = {positions, 12, true};
	hob_arena_mark mark = hob_arena_save(scratch);
	uint32_t *from = HOB_NEW(scratch, uint32_t, vertex_count);
	void *memory = hob_arena_alloc(scratch, hob_weld_scratch_size(vertex_count), 8);
	if (from && memory)
		hob_weld(&place, 1, vertex_count, NULL, 0, first, from, memory);
	for (uint32_t v = 0; from && memory && v < vertex_count; v++)
		first[v] = from[first[v]];
	hob_arena_restore(scratch, mark);
	return from && memory;
}

uint32_t hob_weld_triangles(const uint32_t *indices, uint32_t index_count, const uint32_t *remap,
							uint32_t *out)
{
	assert(index_count % 3 == 0);
	uint32_t count = 0;
	for (uint32_t i = 0; i < index_count; i += 3) {
		uint32_t a = indices[i], b = indices[i + 1], c = indices[i + 2];
		if (remap)
			a = remap[a], b = remap[b], c = remap[c];
		if (a == b || b == c || c == a)
			continue;
		out[count] = a, out[count + 1] = b, out[count + 2] = c;
		count += 3;
	}
	return count;
}

bool hob_weld_is_collapsed(const hob_vertex_array *arrays, uint32_t array_count, const uint32_t corner[3])
{
	return equal(arrays, array_count, corner[0], corner[1]) ||
		   equal(arrays, array_count, corner[1], corner[2]) ||
		   equal(arrays, array_count, corner[2], corner[0]);
}

uint32_t hob_weld_drop_collapsed(const hob_vertex_array *arrays, uint32_t array_count, uint32_t *indices,
								 uint32_t index_count)
{
	assert(index_count % 3 == 0);
	uint32_t count = 0;
	for (uint32_t i = 0; i < index_count; i += 3) {
		if (hob_weld_is_collapsed(arrays, array_count, indices + i))
			continue;
		memmove(indices + count, indices + i, 3 * sizeof *indices);
		count += 3;
	}
	return count;
}

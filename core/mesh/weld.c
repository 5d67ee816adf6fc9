#include "weld.h"

#include <assert.h>

enum { AHEAD = 16 };

uint32_t hob_table_size(uint32_t count)
{
	uint64_t size = 16;
	while (size < (uint64_t)count + count / 2)
		size *= 2;
	assert(size <= UINT32_MAX);
	return (uint32_t)size;
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

static void hash_array(const hob_vertex_array *array, uint32_t vertex_count, uint64_t *hashes)
{
	size_t words = array->size / 4, at = 0;
	for (uint32_t v = 0; v < vertex_count; v++) {
		uint64_t hash = hashes[v];
		for (size_t w = words; w >= 2; w -= 2, at += 2)
			hash = hob_mix(hash, word(array, at) | (uint64_t)word(array, at + 1) << 32);
		if (words % 2)
			hash = hob_mix(hash, word(array, at++));
		hashes[v] = hash;
	}
}

uint32_t hob_weld(const hob_vertex_array *arrays, uint32_t array_count, uint32_t vertex_count,
				  const uint32_t *indices, uint32_t index_count, uint32_t *remap, uint32_t *from,
				  hob_arena *scratch)
{
	hob_arena_mark mark = hob_arena_save(scratch);
	uint32_t size = hob_table_size(vertex_count), mask = size - 1, *table = HOB_NEW(scratch, uint32_t, size);
	uint64_t *hashes = HOB_NEW(scratch, uint64_t, vertex_count);
	memset(table, 0xFF, size * sizeof *table);
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
	hob_arena_restore(scratch, mark);
	return kept;
}

void hob_list_by_key(const uint32_t *keys, uint32_t count, uint32_t key_count, uint32_t *first,
					 uint32_t *items)
{
	for (uint32_t i = 0; i < count; i++)
		first[keys[i]]++;
	for (uint32_t k = 0; k < key_count; k++)
		first[k + 1] += first[k];
	for (uint32_t i = count; i-- > 0;)
		items[--first[keys[i]]] = i;
}

void hob_weld_places(const float *positions, uint32_t vertex_count, hob_arena *scratch, uint32_t *first)
{
	const hob_vertex_array place = {positions, 12, true, 0};
	hob_arena_mark mark = hob_arena_save(scratch);
	uint32_t *from = HOB_NEW(scratch, uint32_t, vertex_count);
	hob_weld(&place, 1, vertex_count, NULL, 0, first, from, scratch);
	for (uint32_t v = 0; v < vertex_count; v++)
		first[v] = from[first[v]];
	hob_arena_restore(scratch, mark);
}

uint32_t hob_weld_triangles(const uint32_t *indices, uint32_t index_count, const uint32_t *remap,
							uint32_t *out, uint32_t *corners)
{
	assert(index_count % 3 == 0);
	uint32_t count = 0;
	for (uint32_t i = 0; i < index_count; i += 3) {
		uint32_t a = indices[i], b = indices[i + 1], c = indices[i + 2];
		if (remap)
			a = remap[a], b = remap[b], c = remap[c];
		if (a == b || b == c || c == a)
			continue;
		if (corners)
			memcpy(corners + count, indices + i, 3 * sizeof *corners);
		if (out)
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

void hob_weld_drop_collapsed(const hob_mesh *mesh, uint32_t *indices, uint32_t *index_count,
							 hob_arena *scratch)
{
	assert(*index_count % 3 == 0);
	hob_arena_mark mark = hob_arena_save(scratch);
	hob_vertex_array *place = HOB_NEW(scratch, hob_vertex_array, hob_vertex_arrays_count(mesh));
	uint32_t count = 0, arrays = hob_vertex_arrays_place(mesh, place);
	for (uint32_t i = 0; i < *index_count; i += 3) {
		if (hob_weld_is_collapsed(place, arrays, indices + i))
			continue;
		memmove(indices + count, indices + i, 3 * sizeof *indices);
		count += 3;
	}
	*index_count = count;
	hob_arena_restore(scratch, mark);
}

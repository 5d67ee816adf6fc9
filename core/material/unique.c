#include "unique.h"

#include <assert.h>

uint64_t hob_unique_hash(uint64_t hash, const void *data, size_t size)
{
	const uint8_t *bytes = data;
	hash = (hash ^ size) * 0x9E3779B97F4A7C15ull;
	size_t i = 0;
	for (; i + 8 <= size; i += 8) {
		hash = (hash ^ hob_load_u64(bytes + i)) * 0x9FB21C651E98DF25ull;
		hash ^= hash >> 32;
	}
	for (; i < size; i++)
		hash = (hash ^ bytes[i]) * 0x9FB21C651E98DF25ull;
	return hash ^ hash >> 32;
}

uint32_t hob_unique_table_size(uint32_t count)
{
	uint32_t size = 16;
	assert(count < 1u << 30);
	while (size < count + count / 2)
		size *= 2;
	return size;
}

void hob_unique(uint32_t count, const uint64_t *hashes,
				bool (*equal)(const void *context, uint32_t a, uint32_t b), const void *context,
				uint32_t *first, uint32_t *table)
{
	uint32_t mask = hob_unique_table_size(count) - 1;
	memset(table, 0xFF, ((size_t)mask + 1) * sizeof *table);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t slot = (uint32_t)(hashes[i] >> 16) & mask;
		for (; table[slot] != HOB_NONE; slot = (slot + 1) & mask)
			if (hashes[table[slot]] == hashes[i] && equal(context, table[slot], i))
				break;
		if (table[slot] == HOB_NONE)
			table[slot] = i;
		first[i] = table[slot];
	}
}

#include "digest_map.h"

#include "../../core/base/array.h"

#include <assert.h>

enum { CAPACITY_MIN = 64 };

void srv_digest_map_init(digest_map *map, size_t value_size)
{
	size_t stride = (sizeof(hob_sha256) + value_size + 7) & ~(size_t)7;
	*map = (digest_map){.value_size = value_size, .stride = stride};
}

void srv_digest_map_release(digest_map *map)
{
	free(map->entries);
	free(map->table);
	map->entries = NULL;
	map->table = NULL;
	map->capacity = map->count = map->room = 0;
}

void srv_digest_map_clear(digest_map *map)
{
	if (map->capacity > 0)
		memset(map->table, 0, map->capacity * sizeof *map->table);
	map->count = 0;
}

static uint8_t *entry(const digest_map *map, size_t number)
{
	return map->entries + (number - 1) * map->stride;
}

static size_t home(const digest_map *map, const void *digest)
{
	return (size_t)hob_load_u64(digest) & (map->capacity - 1);
}

static size_t after(const digest_map *map, size_t slot)
{
	return (slot + 1) & (map->capacity - 1);
}

/* The slot of `digest`, or the free slot where it would go. */
static size_t seek(const digest_map *map, const hob_sha256 *digest)
{
	size_t slot = home(map, digest);
	while (map->table[slot] && memcmp(entry(map, map->table[slot]), digest, sizeof *digest) != 0)
		slot = after(map, slot);
	return slot;
}

static size_t seek_number(const digest_map *map, size_t number)
{
	size_t slot = home(map, entry(map, number));
	while (map->table[slot] != number)
		slot = after(map, slot);
	return slot;
}

void srv_digest_map_prefetch(const digest_map *map, const uint8_t *digest)
{
	__builtin_prefetch(&map->table[home(map, digest)], 1);
}

void *srv_digest_map_find(const digest_map *map, const hob_sha256 *digest)
{
	if (map->count == 0)
		return NULL;
	uint32_t number = map->table[seek(map, digest)];
	return number ? entry(map, number) + sizeof *digest : NULL;
}

static void grow_table(digest_map *map, size_t capacity)
{
	uint32_t *table = hob_must(calloc(capacity, sizeof *table));
	free(map->table);
	map->table = table;
	map->capacity = capacity;
	for (size_t number = 1; number <= map->count; number++) {
		size_t slot = home(map, entry(map, number));
		while (table[slot])
			slot = after(map, slot);
		table[slot] = (uint32_t)number;
	}
}

void srv_digest_map_reserve(digest_map *map, size_t capacity)
{
	size_t size = CAPACITY_MIN;
	while (size < capacity)
		size *= 2;
	size_t room = size / 4 * 3;
	if (map->capacity < size)
		grow_table(map, size);
	if (map->room < room) {
		map->entries = hob_must(room < UINT32_MAX ? realloc(map->entries, room * map->stride) : NULL);
		map->room = room;
	}
}

void *srv_digest_map_put(digest_map *map, const hob_sha256 *digest, bool *fresh)
{
	assert(map->stride > 0);
	if (map->count * 4 >= map->capacity * 3)
		srv_digest_map_reserve(map, map->capacity * 2);
	size_t slot = seek(map, digest);
	*fresh = !map->table[slot];
	if (*fresh) {
		map->table[slot] = (uint32_t)++map->count;
		memset(entry(map, map->count), 0, map->stride);
		memcpy(entry(map, map->count), digest, sizeof *digest);
	}
	return entry(map, map->table[slot]) + sizeof *digest;
}

bool srv_digest_map_remove(digest_map *map, const hob_sha256 *digest)
{
	if (map->count == 0)
		return false;
	size_t mask = map->capacity - 1, hole = seek(map, digest), number = map->table[hole];
	if (!number)
		return false;
	/* Move later slots of the run up, unless their home lies between the hole and them. */
	for (size_t slot = after(map, hole); map->table[slot]; slot = after(map, slot)) {
		size_t from_home = (slot - home(map, entry(map, map->table[slot]))) & mask;
		if (from_home >= ((slot - hole) & mask)) {
			map->table[hole] = map->table[slot];
			hole = slot;
		}
	}
	map->table[hole] = 0;
	/* The last entry moves into the hole. */
	if (number != map->count) {
		map->table[seek_number(map, map->count)] = (uint32_t)number;
		memcpy(entry(map, number), entry(map, map->count), map->stride);
	}
	map->count--;
	return true;
}

void *srv_digest_map_next(const digest_map *map, size_t *at, hob_sha256 *digest)
{
	if (*at >= map->count)
		return NULL;
	uint8_t *found = entry(map, ++*at);
	if (digest)
		memcpy(digest, found, sizeof *digest);
	return found + sizeof *digest;
}

#include "digest_map.h"

#include <assert.h>
#include <stdlib.h>

enum { CAPACITY_MIN = 64 };

void srv_digest_map_init(digest_map *map, size_t value_size)
{
	size_t stride = (sizeof(hob_sha256) + value_size + 7) & ~(size_t)7;
	*map = (digest_map){.value_size = value_size, .stride = stride};
}

void srv_digest_map_release(digest_map *map)
{
	free(map->slots);
	free(map->taken);
	map->slots = map->taken = NULL;
	map->capacity = map->count = 0;
}

void srv_digest_map_clear(digest_map *map)
{
	if (map->capacity > 0)
		memset(map->taken, 0, map->capacity);
	map->count = 0;
}

static uint8_t *slot(const digest_map *map, size_t i)
{
	return map->slots + i * map->stride;
}

static size_t home(const digest_map *map, const void *digest)
{
	return (size_t)hob_load_u64(digest) & (map->capacity - 1);
}

/* The slot of `digest`, or the free slot where it would go. */
static size_t seek(const digest_map *map, const hob_sha256 *digest)
{
	size_t i = home(map, digest);
	while (map->taken[i] && memcmp(slot(map, i), digest, sizeof *digest) != 0)
		i = (i + 1) & (map->capacity - 1);
	return i;
}

void srv_digest_map_prefetch(const digest_map *map, const uint8_t *digest)
{
	size_t i = home(map, digest);
	__builtin_prefetch(&map->taken[i], 1);
	__builtin_prefetch(slot(map, i), 1);
	__builtin_prefetch(slot(map, i) + 63, 1);
}

void *srv_digest_map_find(const digest_map *map, const hob_sha256 *digest)
{
	if (map->count == 0)
		return NULL;
	size_t i = seek(map, digest);
	return map->taken[i] ? slot(map, i) + sizeof *digest : NULL;
}

static bool grow(digest_map *map, size_t capacity)
{
	digest_map bigger = *map;
	bigger.capacity = capacity;
	bigger.slots = calloc(bigger.capacity, bigger.stride);
	bigger.taken = calloc(bigger.capacity, 1);
	if (!bigger.slots || !bigger.taken) {
		free(bigger.slots);
		free(bigger.taken);
		return false;
	}
	for (size_t i = 0; i < map->capacity; i++) {
		if (!map->taken[i])
			continue;
		hob_sha256 digest;
		memcpy(&digest, slot(map, i), sizeof digest);
		size_t to = seek(&bigger, &digest);
		bigger.taken[to] = 1;
		memcpy(slot(&bigger, to), slot(map, i), map->stride);
	}
	free(map->slots);
	free(map->taken);
	*map = bigger;
	return true;
}

bool srv_digest_map_reserve(digest_map *map, size_t capacity)
{
	size_t size = CAPACITY_MIN;
	while (size < capacity)
		size *= 2;
	return map->capacity >= size || grow(map, size);
}

void *srv_digest_map_put(digest_map *map, const hob_sha256 *digest, bool *fresh)
{
	assert(map->stride > 0);
	if (map->count * 4 >= map->capacity * 3 && !grow(map, map->capacity ? map->capacity * 2 : CAPACITY_MIN))
		return NULL;
	size_t i = seek(map, digest);
	*fresh = !map->taken[i];
	if (*fresh) {
		map->taken[i] = 1;
		map->count++;
		memset(slot(map, i), 0, map->stride);
		memcpy(slot(map, i), digest, sizeof *digest);
	}
	return slot(map, i) + sizeof *digest;
}

bool srv_digest_map_remove(digest_map *map, const hob_sha256 *digest)
{
	if (map->count == 0)
		return false;
	size_t mask = map->capacity - 1, hole = seek(map, digest);
	if (!map->taken[hole])
		return false;
	/* Move later entries of the run up, unless their home slot lies between the hole and them. */
	for (size_t i = (hole + 1) & mask; map->taken[i]; i = (i + 1) & mask) {
		size_t from_home = (i - home(map, slot(map, i))) & mask;
		if (from_home >= ((i - hole) & mask)) {
			memcpy(slot(map, hole), slot(map, i), map->stride);
			hole = i;
		}
	}
	map->taken[hole] = 0;
	map->count--;
	return true;
}

void *srv_digest_map_next(const digest_map *map, size_t *at, hob_sha256 *digest)
{
	for (; *at < map->capacity; (*at)++) {
		if (!map->taken[*at])
			continue;
		uint8_t *found = slot(map, (*at)++);
		if (digest)
			memcpy(digest, found, sizeof *digest);
		return found + sizeof *digest;
	}
	return NULL;
}

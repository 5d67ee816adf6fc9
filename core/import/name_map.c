#include "name_map.h"

#include <assert.h>

typedef struct hob_name_entry {
	hob_str name;
	uint32_t hash, value;
} entry_t;

enum { CAPACITY_MIN = 64 };

/* FNV-1a with a final mix; names are short and the map is private to one import. */
static uint32_t hash_name(hob_str name)
{
	uint64_t hash = 0xCBF29CE484222325ull;
	for (size_t i = 0; i < name.len; i++)
		hash = (hash ^ (uint8_t)name.data[i]) * 0x100000001B3ull;
	hash ^= hash >> 29;
	return (uint32_t)(hash ^ hash >> 32);
}

void hob_name_map_init(hob_name_map *map, hob_arena *arena)
{
	*map = (hob_name_map){.arena = arena};
}

/* The entry that holds `name`, or the free one where it belongs. */
static entry_t *locate(entry_t *entries, uint32_t capacity, hob_str name, uint32_t hash)
{
	uint32_t at = hash & (capacity - 1);
	while (entries[at].name.data && !(entries[at].hash == hash && hob_str_equal(entries[at].name, name)))
		at = (at + 1) & (capacity - 1);
	return &entries[at];
}

uint32_t hob_name_map_get(const hob_name_map *map, hob_str name)
{
	if (map->count == 0)
		return HOB_NONE;
	const entry_t *entry = locate(map->entries, map->capacity, name, hash_name(name));
	return entry->name.data ? entry->value : HOB_NONE;
}

static void grow(hob_name_map *map)
{
	uint32_t capacity = map->capacity ? map->capacity * 2 : CAPACITY_MIN;
	assert(capacity > map->capacity);
	entry_t *entries = HOB_NEW(map->arena, entry_t, capacity);
	for (uint32_t i = 0; i < map->capacity; i++)
		if (map->entries[i].name.data)
			*locate(entries, capacity, map->entries[i].name, map->entries[i].hash) = map->entries[i];
	map->entries = entries;
	map->capacity = capacity;
}

uint32_t hob_name_map_add(hob_name_map *map, hob_str name, uint32_t value)
{
	if (map->count >= map->capacity / 2)
		grow(map);
	if (!name.data)
		name = HOB_STR("");
	uint32_t hash = hash_name(name);
	entry_t *entry = locate(map->entries, map->capacity, name, hash);
	if (!entry->name.data) {
		*entry = (entry_t){name, hash, value};
		map->count++;
	}
	return entry->value;
}

hob_str hob_name_map_add_unique(hob_name_map *map, hob_arena *keep, hob_str wanted, uint32_t value)
{
	hob_str name = hob_arena_str(keep, wanted);
	/* Starts at the count of names, so that thousands of equal names do not cost quadratic time. */
	for (uint32_t n = map->count; hob_name_map_get(map, name) != HOB_NONE; n++)
		name = hob_arena_printf(keep, "%.*s.%u", HOB_FMT(wanted), n);
	hob_name_map_add(map, name, value);
	return name;
}

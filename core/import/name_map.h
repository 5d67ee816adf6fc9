/* name_map.h - text -> u32, for names of nodes, materials and groups: open addressing over an arena.
 *
 * Keys are borrowed: their bytes must outlive the map. Growth abandons the old table in the arena, so a map
 * costs at most twice its final table. Results do not depend on the order of insertion. */
#ifndef HOB_NAME_MAP_H
#define HOB_NAME_MAP_H

#include "../base/base.h"

typedef struct hob_name_map {
	hob_arena *arena;
	struct hob_name_entry *entries;
	uint32_t capacity, count;
} hob_name_map;

void hob_name_map_init(hob_name_map *map, hob_arena *arena);
/* The value stored for `name`, or HOB_NONE. */
uint32_t hob_name_map_get(const hob_name_map *map, hob_str name);
/* Stores `value` unless the name is present. Returns the stored value: `value` if it was added. */
uint32_t hob_name_map_add(hob_name_map *map, hob_str name, uint32_t value);

/* Stores `value` under a new name: `wanted` itself, else "wanted.N" with N >= the count of names. The text
 * lives in `keep`. */
hob_str hob_name_map_add_unique(hob_name_map *map, hob_arena *keep, hob_str wanted, uint32_t value);

#endif

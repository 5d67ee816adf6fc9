#include "path_set.h"

#include "../../core/base/array.h"

#include <stdlib.h>

enum { SLOTS_MIN = 16, DEAD_MAX = 1024 };

void srv_path_set_release(path_set *set)
{
	hob_arena_release(&set->arena);
	free(set->items);
	free(set->slots);
	*set = (path_set){0};
}

static size_t hash(hob_str path)
{
	uint64_t h = 1469598103934665603u;
	for (size_t i = 0; i < path.len; i++)
		h = (h ^ (uint8_t)path.data[i]) * 1099511628211u;
	return (size_t)(h ^ h >> 29);
}

/* The slot of `path`, or its free slot. Slots of removed items stay in use. */
static size_t seek(const path_set *set, hob_str path)
{
	size_t i = hash(path) & (set->slot_count - 1);
	while (set->slots[i] && !hob_str_equal(set->items[set->slots[i] - 1].path, path))
		i = (i + 1) & (set->slot_count - 1);
	return i;
}

path_item *srv_path_set_find(const path_set *set, hob_str path)
{
	if (set->live == 0)
		return NULL;
	uint32_t at = set->slots[seek(set, path)];
	return at ? &set->items[at - 1] : NULL;
}

static void append(path_set *set, const path_item *item)
{
	path_item *to = &set->items[set->used++];
	*to = *item;
	to->path = hob_arena_str(&set->arena, item->path);
	if (!to->path.data)
		abort();
	set->slots[seek(set, item->path)] = (uint32_t)set->used;
	set->live++;
}

/* Copies to new memory with room for twice the live items, without the removed ones. */
static void rebuild(path_set *set)
{
	path_set next = {.room = set->live < SLOTS_MIN / 2 ? SLOTS_MIN : set->live * 2};
	next.slot_count = SLOTS_MIN;
	while (next.slot_count < next.room * 2)
		next.slot_count *= 2;
	hob_arena_init(&next.arena, SIZE_MAX);
	next.items = hob_must(calloc(next.room, sizeof *next.items));
	next.slots = hob_must(calloc(next.slot_count, sizeof *next.slots));
	for (size_t i = 0; i < set->used; i++)
		if (set->items[i].path.data)
			append(&next, &set->items[i]);
	srv_path_set_release(set);
	*set = next;
}

path_item *srv_path_set_put(path_set *set, hob_str path)
{
	path_item *known = srv_path_set_find(set, path);
	if (known)
		return known;
	if (set->used == set->room || set->used - set->live > set->live + DEAD_MAX)
		rebuild(set);
	append(set, &(path_item){.path = path});
	return &set->items[set->used - 1];
}

void srv_path_set_remove(path_set *set, path_item *item)
{
	item->path = (hob_str){0};
	if (--set->live == 0)
		srv_path_set_release(set);
}

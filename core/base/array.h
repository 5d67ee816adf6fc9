/* array.h - malloc'ed arrays that grow by one item.
 *
 *     if (!HOB_ROOM(list->items, list->capacity, list->count))
 *         return hob_fail(err, MEMORY, ...);
 *     list->items[list->count++] = item; */
#ifndef HOB_ARRAY_H
#define HOB_ARRAY_H

#include "base.h"

#include <stdlib.h>

/* Makes room for one more. If `count` items fill the array, its capacity doubles; it starts with 4. Without
 * memory it returns false and changes nothing.
 *
 * items     T *, NULL at first; for free()
 * capacity  uint32_t, 0 at first
 * count     at most capacity */
#define HOB_ROOM(items, capacity, count) hob_array_room(&(items), &(capacity), (count), sizeof *(items))

/* `items` is the address of the array's pointer. Called through HOB_ROOM. */
bool hob_array_room(void *items, uint32_t *capacity, uint32_t count, size_t size) HOB_MUST_CHECK;

/* Aborts if `memory` is NULL; for allocations that the program cannot do without. */
static inline void *hob_must(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

#endif

#include "array.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST = 4 };

bool hob_array_room(void *items, uint32_t *capacity, uint32_t count, size_t size)
{
	void *old;
	assert(count <= *capacity && size > 0);
	if (count < *capacity)
		return true;
	uint32_t room = *capacity > 0 ? *capacity * 2 : FIRST;
	if (room < count || room > SIZE_MAX / size)
		return false;
	memcpy(&old, items, sizeof old);
	void *bigger = realloc(old, room * size);
	if (!bigger)
		return false;
	memcpy(items, &bigger, sizeof bigger);
	*capacity = room;
	return true;
}

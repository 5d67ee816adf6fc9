#include "cook_parts.h"

#include "../../core/base/array.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { PARTS_MAX = 512, BYTES_MAX = 1 << 30 };

typedef struct cook_part {
	uint8_t key[32];
	int fd;
} cook_part;

int srv_cook_parts_get(const cook_parts *parts, const uint8_t key[32])
{
	for (uint32_t i = 0; i < parts->count; i++)
		if (memcmp(parts->items[i].key, key, 32) == 0)
			return fcntl(parts->items[i].fd, F_DUPFD_CLOEXEC, 3);
	return -1;
}

void srv_cook_parts_put(cook_parts *parts, const uint8_t key[32], uint64_t size, int fd)
{
	if (parts->count == PARTS_MAX || parts->bytes + size > BYTES_MAX)
		return;
	if (!HOB_ROOM(parts->items, parts->capacity, parts->count))
		return;
	cook_part part = {.fd = fcntl(fd, F_DUPFD_CLOEXEC, 3)};
	memcpy(part.key, key, sizeof part.key);
	if (part.fd < 0)
		return;
	parts->items[parts->count++] = part;
	parts->bytes += size;
}

void srv_cook_parts_release(cook_parts *parts)
{
	for (uint32_t i = 0; i < parts->count; i++)
		close(parts->items[i].fd);
	free(parts->items);
	*parts = (cook_parts){0};
}

/* cook_parts.h - parts (textures) that this run of `hob cook` has made, kept in sealed memory files until the
 * run ends. */
#ifndef CLI_COOK_PARTS_H
#define CLI_COOK_PARTS_H

#include "../../core/base/base.h"

typedef struct cook_parts {
	struct cook_part *items;
	uint32_t count, capacity;
	uint64_t bytes;
} cook_parts;

/* Returns a duplicate of the part's descriptor, or -1. */
int srv_cook_parts_get(const cook_parts *parts, const uint8_t key[32]);
/* Keeps a duplicate of fd, up to 512 parts and 1 GiB; parts beyond that are made again when needed. */
void srv_cook_parts_put(cook_parts *parts, const uint8_t key[32], uint64_t size, int fd);
void srv_cook_parts_release(cook_parts *parts);

#endif

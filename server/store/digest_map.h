/* digest_map.h - a hash table from SHA-256 digests to values of one fixed size.
 *
 * Entries are contiguous; a table of entry numbers, with open addressing and linear probing, indexes them. A
 * digest is its own hash. Values move when the map grows or an entry is removed: a pointer is valid until the
 * next put or remove. */
#ifndef SRV_DIGEST_MAP_H
#define SRV_DIGEST_MAP_H

#include "../../core/hash/hash.h"

typedef struct digest_map {
	uint8_t *entries; /* stride bytes each: digest, value */
	uint32_t *table;  /* [capacity] number of an entry from 1; 0: free */
	size_t value_size, stride, capacity, count, room;
} digest_map;

void srv_digest_map_init(digest_map *map, size_t value_size);
void srv_digest_map_release(digest_map *map); /* {0} is allowed */
void *srv_digest_map_find(const digest_map *map, const hob_sha256 *digest);
/* The value of `digest`, zeroed if it is new. Aborts without memory. */
void *srv_digest_map_put(digest_map *map, const hob_sha256 *digest, bool *fresh);
/* Reserves room for `capacity` table slots; the map does not grow before they are used up. */
void srv_digest_map_reserve(digest_map *map, size_t capacity);
/* Prefetches the memory that putting this digest will touch. */
void srv_digest_map_prefetch(const digest_map *map, const uint8_t *digest);
bool srv_digest_map_remove(digest_map *map, const hob_sha256 *digest);
void srv_digest_map_clear(digest_map *map);
/* Iterates over all entries in no particular order. *at starts as 0. NULL at the end. */
void *srv_digest_map_next(const digest_map *map, size_t *at, hob_sha256 *digest);

#endif

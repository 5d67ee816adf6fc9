/* unique.h - finds equal items among many. */
#ifndef HOB_UNIQUE_H
#define HOB_UNIQUE_H

#include "../base/base.h"

/* Running hash for the items of hob_unique; begin with 0. Not for storing. */
uint64_t hob_unique_hash(uint64_t hash, const void *data, size_t size);

/* first[i] = the smallest j with equal(context, j, i), for i < count.
 *
 * hashes    [count]; equal items have equal hashes
 * table     [hob_unique_table_size(count)] scratch
 * Cost      O(count) expected. */
void hob_unique(uint32_t count, const uint64_t *hashes,
				bool (*equal)(const void *context, uint32_t a, uint32_t b), const void *context,
				uint32_t *first, uint32_t *table);
uint32_t hob_unique_table_size(uint32_t count);

#endif

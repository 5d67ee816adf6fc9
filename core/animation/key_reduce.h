/* key_reduce.h - fewer keys for the same curve. */
#ifndef HOB_KEY_REDUCE_H
#define HOB_KEY_REDUCE_H

#include "../model/model.h"

/* Longest run of keys that one key pair may replace: bounds the quadratic search. */
enum { HOB_REDUCE_SPAN = 256 };

/* Kind of numbers in a track, and how far a LINEAR track may move: radians for rotations, the track's own
 * unit (Euclidean distance for 3 components, largest component otherwise) for the rest. */
typedef struct hob_reduce_rule {
	bool rotation;
	float error; /* 0: only keys that change nothing go */
} hob_reduce_rule;

/* Marks the keys to keep.
 *
 * First the keys that change nothing: a key between two flat stretches (equal values; for CUBICSPLINE also
 * zero tangents), or flat against the open end where the value is held. Then, for LINEAR and error > 0,
 * greedily as many keys as the bound allows: each dropped key, and for rotations each middle between source
 * keys too, lies within `error` of the new curve; straight segments cannot be farther apart than at a key.
 *
 * keep      [key_count] out, 1 or 0
 * Returns   number of keys kept, at least 1
 * Cost      O(key_count), with error > 0 O(key_count * HOB_REDUCE_SPAN) at worst */
uint32_t hob_keys_reduce(const hob_track *track, hob_reduce_rule rule, uint8_t *keep);

#endif

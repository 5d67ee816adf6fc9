/* key_reduce.h - reduces the keys of a curve. */
#ifndef HOB_KEY_REDUCE_H
#define HOB_KEY_REDUCE_H

#include "../model/model.h"

/* Longest run of keys that one key pair may replace: bounds the quadratic search. */
enum { HOB_REDUCE_SPAN = 256 };

/* Kind of numbers in a track, and the allowed error of a LINEAR track: radians for rotations, otherwise the
 * track's own unit (Euclidean distance for 3 components, else the largest component). */
typedef struct hob_reduce_rule {
	bool rotation;
	float error; /* 0: removes only keys that change nothing */
} hob_reduce_rule;

/* Marks the keys to keep.
 *
 * First drops the keys that change nothing: a key between two flat stretches (equal values; for CUBICSPLINE
 * also zero tangents), or next to one at an end, where the value is held. Then, for LINEAR and error > 0,
 * greedily as many keys as the bound allows: each dropped key, and for rotations each midpoint between source
 * keys too, lies within `error` of the new curve; straight segments deviate most at a key.
 *
 * keep      [key_count] out, 1 or 0
 * Returns   number of keys kept, at least 1
 * Cost      O(key_count), with error > 0 O(key_count * HOB_REDUCE_SPAN) at worst */
uint32_t hob_keys_reduce(const hob_track *track, hob_reduce_rule rule, uint8_t *keep);

#endif

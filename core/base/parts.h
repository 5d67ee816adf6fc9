/* parts.h - reusable parts of cooks. */
#ifndef HOB_PARTS_H
#define HOB_PARTS_H

#include "base.h"

typedef enum hob_part_state {
	HOB_PART_UNKNOWN, /* the caller makes and puts it */
	HOB_PART_KNOWN,	  /* *out holds its bytes */
	/* Another cook is making it: make and put the other parts, then ask again with `wait`. */
	HOB_PART_ELSEWHERE
} hob_part_state;

/* Reusable parts of cooks (a texture, a mesh with its LODs). `key` is the SHA-256 of everything that the part
 * depends on. Either function may be NULL; every thread of the cook may call both. */
typedef struct hob_parts {
	void *user;
	/* The bytes of a known part are valid until the cook ends. With `wait` the call blocks until the other
	 * cook has put the part or ended, and never returns ELSEWHERE. A caller that waits must first have put
	 * all parts that it has to make, except failed ones. */
	hob_part_state (*get)(void *user, const uint8_t key[32], bool wait, hob_bytes *out);
	void (*put)(void *user, const uint8_t key[32], hob_bytes bytes);
} hob_parts;

#endif

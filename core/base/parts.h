/* parts.h - parts of a cook that are kept and used again. */
#ifndef HOB_PARTS_H
#define HOB_PARTS_H

#include "base.h"

typedef enum hob_part_state {
	HOB_PART_UNKNOWN,  /* make it and put it */
	HOB_PART_KNOWN,	   /* here it is */
	HOB_PART_ELSEWHERE /* another cook is making it: make and put the other parts, then ask again and wait */
} hob_part_state;

/* Kept parts of a cook (a texture, a mesh with its LODs), which the caller keeps across cooks. `key` is the
 * SHA-256 of everything that the part depends on. Either function may be NULL; every thread of the cook may
 * call both. */
typedef struct hob_parts {
	void *user;
	/* If the part is known, its bytes are valid until the cook ends. With `wait` the answer comes when the
	 * other cook has put the part or ended, and is never ELSEWHERE. A caller that waits must have put all
	 * parts that it had to make, except failed ones. */
	hob_part_state (*get)(void *user, const uint8_t key[32], bool wait, hob_bytes *out);
	void (*put)(void *user, const uint8_t key[32], hob_bytes bytes);
} hob_parts;

#endif

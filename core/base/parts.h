/* parts.h - pieces of a cook that are kept and used again. */
#ifndef HOB_PARTS_H
#define HOB_PARTS_H

#include "base.h"

typedef enum hob_part_state {
	HOB_PART_UNKNOWN,  /* make it and put it */
	HOB_PART_KNOWN,	   /* here it is */
	HOB_PART_ELSEWHERE /* another cook is making it: make and put the others, then ask again and wait */
} hob_part_state;

/* Memoised parts of a cook (a texture, a mesh with its LODs), kept by the caller across cooks. `key` is the
 * SHA-256 of all that the part depends on. Either function may be NULL; both may be called from any thread of
 * the cook. */
typedef struct hob_parts {
	void *user;
	/* The bytes, when the part is known, are valid until the cook ends. With `wait` the answer comes when the other
	 * cook has put the part or ended, and is never ELSEWHERE; a waiting caller has put all parts that it had to make, but
	 * for what failed. */
	hob_part_state (*get)(void *user, const uint8_t key[32], bool wait, hob_bytes *out);
	void (*put)(void *user, const uint8_t key[32], hob_bytes bytes);
} hob_parts;

#endif

/* arena_drop.h - frees one large allocation of an arena before the rest of the arena. */
#ifndef HOB_ARENA_DROP_H
#define HOB_ARENA_DROP_H

#include "base.h"

/* Size of an ordinary block. A larger allocation gets a block of its own. */
enum { HOB_ARENA_BLOCK = 8 << 20 };

/* Frees what hob_arena_alloc returned, if it is larger than HOB_ARENA_BLOCK; else does nothing. Returns the
 * number of bytes freed. No mark that was saved after the allocation may be restored afterwards. */
size_t hob_arena_drop(hob_arena *arena, const void *memory);

#endif

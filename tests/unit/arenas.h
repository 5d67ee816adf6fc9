/* arenas.h - two arenas that live from `begin` to `end` of a test. */
#ifndef HOB_TEST_ARENAS_H
#define HOB_TEST_ARENAS_H

#include "core/base/base.h"

static hob_arena arena, scratch;

static int begin(void **state)
{
	(void)state;
	hob_arena_init(&arena, (size_t)1 << 30);
	hob_arena_init(&scratch, (size_t)1 << 30);
	return 0;
}

static int end(void **state)
{
	(void)state;
	hob_arena_release(&arena);
	hob_arena_release(&scratch);
	return 0;
}

#endif

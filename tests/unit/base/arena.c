#include "tests/unit/support.h"

#include "core/base/arena_drop.h"

static void large_allocations_are_given_back_alone(void **state)
{
	(void)state;
	hob_arena arena;
	hob_arena_init(&arena, 64 << 20);
	char *first = hob_arena_alloc(&arena, 10, 1), *large = hob_arena_alloc(&arena, HOB_ARENA_BLOCK + 1, 16),
		 *behind = hob_arena_alloc(&arena, 10, 1), *other = hob_arena_alloc(&arena, 2 * HOB_ARENA_BLOCK, 16);
	assert_true(first && large && behind && other);
	memset(first, 1, 10);
	memset(behind, 2, 10);
	size_t used = arena.used;
	assert_true(hob_arena_drop(&arena, large) == HOB_ARENA_BLOCK + 1);
	assert_true(arena.used == used - HOB_ARENA_BLOCK - 1);
	assert_true(hob_arena_drop(&arena, large) == 0 && hob_arena_drop(&arena, NULL) == 0);
	assert_true(hob_arena_drop(&arena, first) == 0 && hob_arena_drop(&arena, behind) == 0);
	assert_true(hob_arena_drop(&arena, other) == 2 * HOB_ARENA_BLOCK);
	for (int i = 0; i < 10; i++)
		assert_true(first[i] == 1 && behind[i] == 2);
	char *again = hob_arena_alloc(&arena, 60 << 20, 1);
	assert_true(again && again[0] == 0);
	hob_arena_release(&arena);
}

static void a_mark_saved_before_may_be_restored(void **state)
{
	(void)state;
	hob_arena arena;
	hob_arena_init(&arena, 64 << 20);
	assert_non_null(hob_arena_alloc(&arena, 10, 1));
	hob_arena_mark mark = hob_arena_save(&arena);
	void *large = hob_arena_alloc(&arena, HOB_ARENA_BLOCK + 1, 16);
	assert_non_null(hob_arena_alloc(&arena, 10, 1));
	hob_arena_drop(&arena, large);
	hob_arena_restore(&arena, mark);
	assert_true(arena.used == mark.used);
	hob_arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(large_allocations_are_given_back_alone),
									   cmocka_unit_test(a_mark_saved_before_may_be_restored)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

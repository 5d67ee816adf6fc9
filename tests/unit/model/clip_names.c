#include "tests/unit/support.h"

#include "core/model/model.h"

static void short_names_are_cut_and_stay_apart(void **state)
{
	(void)state;
	static const char *const names[] = {"rig|Walk", "Run", "other|rig|Walk", "rig|", "Walk_2", "b|Walk"};
	static const char *const wanted[] = {"Walk", "Run", "Walk_2", "rig|", "Walk_2_2", "Walk_3"};
	hob_clip clips[HOB_COUNT_OF(names)];
	memset(clips, 0, sizeof clips);
	hob_model model = {.clip_count = HOB_COUNT_OF(names), .clips = clips};
	hob_arena arena;
	hob_error err = {0};
	hob_arena_init(&arena, 1 << 16);
	for (size_t i = 0; i < HOB_COUNT_OF(names); i++)
		clips[i].name = hob_str_of(names[i]);
	assert_true(hob_model_short_clip_names(&model, &arena, &err));
	for (size_t i = 0; i < HOB_COUNT_OF(names); i++)
		assert_true(hob_str_equal(clips[i].name, hob_str_of(wanted[i])));
	hob_arena_release(&arena);
}

static void short_memory_is_an_error(void **state)
{
	(void)state;
	hob_clip clips[2] = {{.name = HOB_STR("a|Walk")}, {.name = HOB_STR("b|Walk")}};
	hob_model model = {.clip_count = 2, .clips = clips};
	hob_arena arena;
	hob_error err = {0};
	hob_arena_init(&arena, 1);
	assert_false(hob_model_short_clip_names(&model, &arena, &err));
	assert_int_equal(err.code, HOB_ERR_MEMORY);
	hob_arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_names_are_cut_and_stay_apart),
		cmocka_unit_test(short_memory_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

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
	hob_arena_init(&arena, 1 << 16);
	for (size_t i = 0; i < HOB_COUNT_OF(names); i++)
		clips[i].name = hob_str_of(names[i]);
	hob_model_short_clip_names(&model, &arena);
	for (size_t i = 0; i < HOB_COUNT_OF(names); i++)
		assert_true(hob_str_equal(clips[i].name, hob_str_of(wanted[i])));
	hob_arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_names_are_cut_and_stay_apart),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

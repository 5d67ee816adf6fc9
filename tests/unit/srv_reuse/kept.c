/* Whether a stored result is valid: the table of allowed differences. */
#include "../../../server/reuse/kept.h"
#include "../support.h"

static hob_sha256 digest_of(const char *text)
{
	return hob_sha256_of((hob_bytes){(const uint8_t *)text, strlen(text)});
}

typedef struct disk {
	srv_input_state state;
	const char *text;
	uint32_t asked;
} disk;

static srv_input_state look(void *user, hob_str path, hob_sha256 *digest)
{
	disk *d = user;
	assert_true(hob_str_equal(path, HOB_STR("../tex/a.png")));
	d->asked++;
	if (d->state == SRV_INPUT_PRESENT)
		*digest = digest_of(d->text);
	return d->state;
}

static void a_result_holds_only_for_the_inputs_that_it_was_made_of(void **state)
{
	(void)state;
	static const struct {
		bool was_missing;
		srv_input_state now;
		const char *text;
		bool holds;
	} rows[] = {
		{false, SRV_INPUT_PRESENT, "same", true},  {false, SRV_INPUT_PRESENT, "other", false},
		{false, SRV_INPUT_MISSING, NULL, false},   {false, SRV_INPUT_UNKNOWN, NULL, false},
		{true, SRV_INPUT_MISSING, NULL, true},	   {true, SRV_INPUT_PRESENT, "same", false},
		{true, SRV_INPUT_PRESENT, "other", false}, {true, SRV_INPUT_UNKNOWN, NULL, false},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(rows); i++) {
		srv_record_dep dep = {.path = HOB_STR("../tex/a.png"), .missing = rows[i].was_missing};
		if (!dep.missing)
			dep.digest = digest_of("same");
		srv_record record = {.deps = &dep, .dep_count = 1};
		disk d = {rows[i].now, rows[i].text, 0};
		assert_int_equal(srv_kept_holds(&record, HOB_STR("props/duck.obj"), look, &d), rows[i].holds);
		assert_int_equal(d.asked, 1);
	}
}

static srv_input_state never(void *user, hob_str path, hob_sha256 *digest)
{
	(void)path, (void)digest;
	++*(uint32_t *)user;
	return SRV_INPUT_MISSING;
}

static void what_is_above_the_root_is_missing_without_a_look(void **state)
{
	(void)state;
	static const struct {
		const char *path, *model;
		uint32_t looks;
		bool holds;
	} rows[] = {{"..", "duck.obj", 0, true},
				{"../..", "props/duck.obj", 0, true},
				{"../..", "a/props/duck.obj", 0, false},
				{"..", "a/b/c/duck.obj", 0, false},
				{"../a.png", "duck.obj", 0, true},
				{"../a.png", "props/duck.obj", 1, true},
				{"..a.png", "duck.obj", 1, true},
				{"a.png", "duck.obj", 1, true},
				{"../../../x", "a/b/duck.obj", 0, true}};
	for (size_t i = 0; i < HOB_COUNT_OF(rows); i++) {
		uint32_t looks = 0;
		srv_record_dep dep = {.path = hob_str_of(rows[i].path), .missing = true};
		srv_record record = {.deps = &dep, .dep_count = 1};
		assert_int_equal(srv_kept_holds(&record, hob_str_of(rows[i].model), never, &looks), rows[i].holds);
		assert_int_equal(looks, rows[i].looks);
		dep.missing = false;
		assert_false(srv_kept_holds(&record, hob_str_of(rows[i].model), never, &looks));
	}
}

static void a_name_counts_only_where_the_cook_used_it(void **state)
{
	(void)state;
	srv_record named = {.file_name = HOB_STR("duck.obj")}, any = {0};
	assert_true(srv_kept_holds(&named, HOB_STR("props/duck.obj"), look, NULL));
	assert_true(srv_kept_holds(&named, HOB_STR("duck.obj"), look, NULL));
	assert_false(srv_kept_holds(&named, HOB_STR("props/goose.obj"), look, NULL));
	assert_true(srv_kept_holds(&any, HOB_STR("props/goose.obj"), look, NULL));
}

static void dependencies_are_kept_relative_to_the_model_without_it(void **state)
{
	(void)state;
	hob_arena arena;
	hob_arena_init(&arena, 1 << 20);
	srv_dep deps[] = {{.path = HOB_STR("props/duck.obj")},
					  {.path = HOB_STR("props/duck.mtl"), .digest = digest_of("m")},
					  {.path = HOB_STR("tex/a.png"), .missing = true}};
	srv_result result = {.deps = deps, .dep_count = 3};
	uint32_t count;
	srv_record_dep *kept = srv_kept_deps(&arena, HOB_STR("props/duck.obj"), &result, &count);
	assert_int_equal(count, 2);
	assert_true(hob_str_equal(kept[0].path, HOB_STR("duck.mtl")) && !kept[0].missing);
	assert_true(hob_str_equal(kept[1].path, HOB_STR("../tex/a.png")) && kept[1].missing);
	/* The order of the cook's reads is not part of the key; everything else is. */
	srv_record one = {.lookup = digest_of("l"), .deps = kept, .dep_count = 2}, other = one;
	srv_record_dep turned[] = {kept[1], kept[0]};
	hob_sha256 a, b;
	hob_error error;
	other.deps = turned;
	assert_true(srv_kept_key(&arena, &one, &a, &error) && srv_kept_key(&arena, &other, &b, &error));
	assert_true(hob_sha256_equal(&a, &b));
	turned[0].missing = false;
	assert_true(srv_kept_key(&arena, &other, &b, &error));
	assert_false(hob_sha256_equal(&a, &b));
	other = one;
	other.file_name = HOB_STR("duck.obj");
	assert_true(srv_kept_key(&arena, &other, &b, &error));
	assert_false(hob_sha256_equal(&a, &b));
	hob_arena_release(&arena);
}

static void exceeded_budgets_are_told_by_name(void **state)
{
	(void)state;
	hob_buf out = {0};
	hob_note notes[] = {{.code = HOB_STR("texture.missing")},
						{.code = HOB_STR("budget.triangles")},
						{.code = HOB_STR("budget.bytes")}};
	srv_result result = {.notes = notes, .note_count = 3, .stats = {.triangles = 7}};
	srv_kept_stats(&result, &out);
	assert_true(hob_str_find(hob_buf_str(&out), HOB_STR("\"triangles\":7,"), 0) != SIZE_MAX);
	assert_true(hob_str_find(hob_buf_str(&out), HOB_STR("\"over_budget\":[\"triangles\",\"bytes\"]}"), 0) !=
				SIZE_MAX);
	hob_buf_release(&out);
}

static void levels_that_were_left_out_are_remembered(void **state)
{
	(void)state;
	static const uint32_t limits[] = {0, 1, 4096, UINT32_MAX};
	for (size_t i = 0; i < HOB_COUNT_OF(limits); i++) {
		srv_result result = {.stats = {.meshes = 3, .short_mib = limits[i]}};
		hob_buf stats = {0};
		srv_kept_stats(&result, &stats);
		srv_record record = {.stats = hob_buf_str(&stats)};
		assert_int_equal(srv_kept_short_mib(&record), limits[i]);
		assert_int_equal(hob_str_find(record.stats, HOB_STR("short_mib"), 0) == SIZE_MAX, limits[i] == 0);
		hob_buf_release(&stats);
	}
	assert_int_equal(srv_kept_short_mib(&(srv_record){0}), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(levels_that_were_left_out_are_remembered),
		cmocka_unit_test(a_result_holds_only_for_the_inputs_that_it_was_made_of),
		cmocka_unit_test(what_is_above_the_root_is_missing_without_a_look),
		cmocka_unit_test(a_name_counts_only_where_the_cook_used_it),
		cmocka_unit_test(dependencies_are_kept_relative_to_the_model_without_it),
		cmocka_unit_test(exceeded_budgets_are_told_by_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

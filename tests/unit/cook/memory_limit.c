/* When memory runs out during levels of detail, a cook gives the same result as without levels, with a
 * note. */
#include "tests/unit/support.h"

#include "core/cook/cook.h"

#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 64, LEAST = 256 << 10, MOST = 64 << 20 };

static void put_grid(hob_buf *out)
{
	hob_buf_printf(out, "OFF\n%d %d 0\n", (SIDE + 1) * (SIDE + 1), 2 * SIDE * SIDE + 1);
	for (int v = 0; v < (SIDE + 1) * (SIDE + 1); v++) {
		int x = v % (SIDE + 1), y = v / (SIDE + 1), height = x * (SIDE - x) + y * (SIDE - y) + v * 7919 % 13;
		hob_buf_printf(out, "%d %d %d.%02d\n", x, y, height / 100, height % 100);
	}
	for (int v = 0; v < (SIDE + 1) * SIDE; v++)
		if (v % (SIDE + 1) < SIDE)
			hob_buf_printf(out, "3 %d %d %d\n3 %d %d %d\n", v, v + 1, v + SIDE + 1, v + 1, v + SIDE + 2,
						   v + SIDE + 1);
	hob_buf_printf(out, "3 0 0 1\n"); /* degenerate: gives a note */
}

static bool cook_file(const char *name, hob_buf *source, size_t limit, uint32_t levels, hob_profile profile,
					  uint32_t encode, hob_cook_result *out, hob_error *err)
{
	memory_file file = {name, hob_buf_bytes(source)};
	memory_io memory;
	memory_io_init(&memory, &file, 1);
	hob_cook_request request = {
		.io = &memory.io, .path = hob_str_of(name), .memory_limit = limit, .profile = profile};
	hob_settings_init(&request.settings);
	request.settings.lod_max = levels;
	request.settings.encode = encode;
	return hob_cook(&request, out, err);
}

static bool cook(hob_buf *source, size_t limit, uint32_t levels, hob_profile profile, hob_cook_result *out,
				 hob_error *err)
{
	return cook_file("grid.off", source, limit, levels, profile, HOB_ENCODE_RAW, out, err);
}

static uint32_t count_notes(const hob_cook_result *result)
{
	uint32_t count = 0, dropped = 0;
	for (uint32_t i = 0; i < result->notes.count; i++)
		if (hob_str_equal(result->notes.items[i].code, HOB_STR("cook.no-levels"))) {
			assert_int_equal(result->notes.items[i].level, HOB_NOTE_WARNING);
			assert_true(hob_str_find(result->notes.items[i].text, HOB_STR("--memory"), 0) != SIZE_MAX);
			count++;
		} else if (hob_str_equal(result->notes.items[i].code, HOB_STR("mesh.degenerate-triangles"))) {
			dropped += result->notes.items[i].count;
		}
	assert_int_equal(dropped, 1);
	return count;
}

static void assert_same(const hob_cook_result *a, const hob_cook_result *b)
{
	assert_int_equal(a->output_count, b->output_count);
	for (uint32_t i = 0; i < a->output_count; i++)
		if (!hob_str_equal(a->outputs[i].name, HOB_STR("report"))) {
			assert_int_equal(a->outputs[i].bytes.size, b->outputs[i].bytes.size);
			assert_memory_equal(a->outputs[i].bytes.data, b->outputs[i].bytes.data, a->outputs[i].bytes.size);
		}
}

/* As the limit rises, the cook first fails, then makes only the full level, then all levels. */
static void fewer_levels_where_memory_ends(void **state)
{
	(void)state;
	hob_buf source = {0};
	hob_cook_result one, all;
	hob_error err;
	put_grid(&source);
	assert_true(cook(&source, MOST, 1, HOB_PROFILE_FINAL, &one, &err));
	assert_true(cook(&source, MOST, 7, HOB_PROFILE_FINAL, &all, &err));
	assert_true(all.stats.lods > 3 && all.stats.short_mib == 0 && one.stats.short_mib == 0);
	enum { FAILED, SHORT, WHOLE };
	uint32_t seen[3] = {0}, last = FAILED;
	for (size_t limit = LEAST; limit < MOST; limit += limit / 16) {
		hob_cook_result made = {0};
		uint32_t now = FAILED;
		err = (hob_error){0};
		if (!cook(&source, limit, 7, HOB_PROFILE_FINAL, &made, &err)) {
			assert_int_equal(err.code, HOB_ERR_MEMORY);
		} else if (made.stats.lods == 1) {
			now = SHORT;
			assert_int_equal(made.stats.short_mib, limit >> 20);
			assert_int_equal(count_notes(&made), 1);
			assert_int_equal(made.stats.warnings, one.stats.warnings + 1);
			assert_same(&made, &one);
		} else {
			now = WHOLE;
			assert_int_equal(made.stats.short_mib, 0);
			assert_int_equal(count_notes(&made), 0);
			assert_same(&made, &all);
		}
		assert_true(now >= last);
		last = now;
		seen[now]++;
		hob_cook_result_release(&made);
		if (seen[WHOLE] == 3)
			break;
	}
	print_message("failed %u, one level %u, all levels %u\n", seen[FAILED], seen[SHORT], seen[WHOLE]);
	assert_true(seen[FAILED] > 0 && seen[SHORT] > 0 && seen[WHOLE] == 3);
	hob_cook_result_release(&one);
	hob_cook_result_release(&all);
	hob_buf_release(&source);
}

/* A cook that has no levels to leave out fails when memory runs out. */
static void nothing_else_is_left_out(void **state)
{
	(void)state;
	hob_buf source = {0};
	put_grid(&source);
	for (size_t limit = LEAST; limit < (size_t)MOST; limit += limit / 4) {
		hob_cook_result made = {0};
		hob_error err = {0};
		for (int preview = 0; preview < 2; preview++)
			if (cook(&source, limit, preview ? 7 : 1, preview ? HOB_PROFILE_PREVIEW : HOB_PROFILE_FINAL,
					 &made, &err)) {
				assert_int_equal(made.stats.short_mib, 0);
				assert_int_equal(count_notes(&made), 0);
				hob_cook_result_release(&made);
			}
	}
	hob_buf_release(&source);
}

/* The import of a large model is freed before its file is written; with less memory the file is the same. */
static void large_models_need_less_than_everything(void **state)
{
	(void)state;
	enum { LARGE = 1000 };
	hob_buf source = {0};
	hob_cook_result made;
	hob_error err;
	hob_buf_printf(&source, "OFF\n%d %d 0\n", (LARGE + 1) * (LARGE + 1), 2 * LARGE * LARGE);
	for (int v = 0; v < (LARGE + 1) * (LARGE + 1); v++)
		hob_buf_printf(&source, "%d %d 0\n", v % (LARGE + 1), v / (LARGE + 1));
	for (int v = 0; v < (LARGE + 1) * LARGE; v++)
		if (v % (LARGE + 1) < LARGE)
			hob_buf_printf(&source, "3 %d %d %d\n3 %d %d %d\n", v, v + 1, v + LARGE + 1, v + 1, v + LARGE + 2,
						   v + LARGE + 1);
	assert_true(cook(&source, 1u << 30, 1, HOB_PROFILE_FINAL, &made, &err));
	assert_int_equal(made.stats.triangles, 2 * LARGE * LARGE);
	assert_int_equal(made.stats.vertices, (LARGE + 1) * (LARGE + 1));
	assert_true(made.arena->used < 12u * (LARGE + 1) * (LARGE + 1));
	hob_cook_result_release(&made);
	hob_buf_release(&source);
}

/* ---- memory runs out during packing: encoding a small mesh needs more than baking it */

/* Wavy grids of quads, each a separate mesh, with a degenerate triangle that gives a note. */
static void put_parts(hob_buf *out, int parts, int side)
{
	for (int p = 0, first = 1; p < parts; p++, first += (side + 1) * (side + 1)) {
		hob_buf_printf(out, "o part%d\n", p);
		for (int v = 0; v < (side + 1) * (side + 1); v++)
			hob_buf_printf(out, "v %d %d %d.%03d\n", v % (side + 1), v / (side + 1), p, v * 7919 % 130 + p);
		for (int v = first; v < first + (side + 1) * side; v++)
			if ((v - first) % (side + 1) < side)
				hob_buf_printf(out, "f %d %d %d %d\n", v, v + 1, v + side + 2, v + side + 1);
		hob_buf_printf(out, "f %d %d %d\n", first, first, first + 1);
	}
}

/* Cooks at limits from `least` upwards in steps of `step`, until all levels fit. Once one level fits, no cook
 * fails, and its notes do not depend on when memory ran out. */
static void fall_back(hob_buf *source, size_t least, size_t step, uint32_t levels)
{
	uint32_t fell = 0;
	bool whole = false;
	for (size_t limit = least; !whole; limit += step) {
		hob_cook_result one, made;
		hob_error err = {0};
		if (!cook_file("parts.obj", source, limit, 1, HOB_PROFILE_FINAL, HOB_ENCODE_MESHOPT, &one, &err))
			continue;
		if (!cook_file("parts.obj", source, limit, levels, HOB_PROFILE_FINAL, HOB_ENCODE_MESHOPT, &made,
					   &err))
			fail_msg("%zu KiB hold one level, but: %s", limit >> 10, err.context);
		if (made.stats.short_mib > 0) {
			fell++;
			assert_same(&made, &one);
			assert_int_equal(made.stats.warnings, one.stats.warnings + 1);
			assert_int_equal(made.notes.count + made.notes.dropped, one.notes.count + one.notes.dropped + 1);
		}
		whole = made.stats.short_mib == 0;
		print_message("%zu KiB: %u levels\n", limit >> 10, made.stats.lods);
		hob_cook_result_release(&one);
		hob_cook_result_release(&made);
	}
	assert_true(fell > 0);
}

static void what_is_said_does_not_depend_on_when_memory_ended(void **state)
{
	(void)state;
	hob_buf source = {0};
	put_parts(&source, 260, 20);
	fall_back(&source, 8 << 20, 2 << 20, 2);
	hob_buf_release(&source);
}

/* If a model's arrays are freed before its file is written, levels can no longer be left out. */
static void large_models_fall_back_before_they_are_packed(void **state)
{
	(void)state;
	hob_buf source = {0};
	put_parts(&source, 12, 180);
	fall_back(&source, 48 << 20, 32 << 20, 2);
	hob_buf_release(&source);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(fewer_levels_where_memory_ends),
									   cmocka_unit_test(what_is_said_does_not_depend_on_when_memory_ended),
									   cmocka_unit_test(large_models_fall_back_before_they_are_packed),
									   cmocka_unit_test(nothing_else_is_left_out),
									   cmocka_unit_test(large_models_need_less_than_everything)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

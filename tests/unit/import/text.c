/* Lines, words, names, byte order marks; the name map; lookup of textures. */
#include "tests/unit/support.h"

#include "core/import/name_map.h"
#include "core/import/text.h"
#include "core/import/texture_path.h"

#include <stdio.h>

static hob_arena arena;

static int setup(void **state)
{
	(void)state;
	hob_arena_init(&arena, 64 << 20);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	hob_arena_release(&arena);
	return 0;
}

static void assert_str(hob_str s, const char *expected)
{
	if (!hob_str_equal(s, hob_str_of(expected)))
		fail_msg("'%.*s' is not '%s'", HOB_FMT(s), expected);
}

static void lines_end_in_three_ways(void **state)
{
	(void)state;
	hob_str rest = HOB_STR("a\nb\r\nc\rd\n\ne"), line;
	static const char *const expected[] = {"a", "b", "c", "d", "", "e"};
	for (size_t i = 0; i < HOB_COUNT_OF(expected); i++) {
		assert_true(hob_text_line(&rest, &line));
		assert_str(line, expected[i]);
	}
	assert_false(hob_text_line(&rest, &line));
}

static void words_are_taken_off(void **state)
{
	(void)state;
	hob_str line = HOB_STR("\t one  two\v");
	assert_str(hob_text_word(&line), "one");
	assert_str(hob_text_word(&line), "two");
	assert_str(hob_text_word(&line), "");
	assert_str(hob_text_word(&line), "");
}

static void names_become_valid_utf8(void **state)
{
	(void)state;
	assert_str(hob_text_name(&arena, HOB_STR("  T\xC3\xBCr \t")), "T\xC3\xBCr");
	assert_str(hob_text_name(&arena, HOB_STR("T\xFCr")), "T\xC3\xBCr");
	assert_str(hob_text_name(&arena, HOB_STR("a\nb")), "a b");
	assert_str(hob_text_name(&arena, HOB_STR("")), "");
	char longer[3000];
	memset(longer, 'x', sizeof longer);
	memcpy(longer + 1023, "\xC3\xBC", 2);
	hob_str cut = hob_text_name(&arena, (hob_str){longer, sizeof longer});
	assert_int_equal(cut.len, 1023);
	assert_true(hob_utf8_valid(cut));
	memset(longer, 0xE9, sizeof longer);
	cut = hob_text_name(&arena, (hob_str){longer, sizeof longer});
	assert_true(cut.len == 1024 && hob_utf8_valid(cut));
}

static void byte_order_marks_are_understood(void **state)
{
	(void)state;
	static const uint8_t utf8[] = {0xEF, 0xBB, 0xBF, 'a'};
	static const uint8_t little[] = {0xFF, 0xFE, 'a', 0, 0xFC, 0, 0x3D, 0xD8, 0x00, 0xDE, 0x00, 0xD8, 'z'};
	static const uint8_t big[] = {0xFE, 0xFF, 0, 'a', 0x20, 0xAC};
	assert_str(hob_text_decode(&arena, (hob_bytes){utf8, sizeof utf8}), "a");
	assert_str(hob_text_decode(&arena, (hob_bytes){little, sizeof little}),
			   "a\xC3\xBC\xF0\x9F\x98\x80\xEF\xBF\xBD");
	assert_str(hob_text_decode(&arena, (hob_bytes){big, sizeof big}), "a\xE2\x82\xAC");
	assert_str(hob_text_decode(&arena, (hob_bytes){big + 3, 1}), "a");
	assert_non_null(hob_text_decode(&arena, (hob_bytes){NULL, 0}).data);
}

static void the_map_keeps_first_values_through_growth(void **state)
{
	(void)state;
	hob_name_map map;
	hob_name_map_init(&map, &arena);
	assert_int_equal(hob_name_map_get(&map, HOB_STR("x")), HOB_NONE);
	for (uint32_t i = 0; i < 5000; i++) {
		hob_str name = hob_arena_printf(&arena, "name %u", i % 2500);
		assert_int_equal(hob_name_map_add(&map, name, i), i % 2500);
	}
	for (uint32_t i = 0; i < 2500; i++)
		assert_int_equal(hob_name_map_get(&map, hob_arena_printf(&arena, "name %u", i)), i);
	assert_int_equal(hob_name_map_add(&map, (hob_str){0}, 9), 9);
	assert_int_equal(hob_name_map_add(&map, HOB_STR(""), 10), 9);
}

static void unique_names_differ(void **state)
{
	(void)state;
	hob_name_map map, seen;
	hob_name_map_init(&map, &arena);
	hob_name_map_init(&seen, &arena);
	for (uint32_t i = 0; i < 3000; i++) {
		hob_str wanted = i % 3 ? HOB_STR("walk") : HOB_STR("walk.2");
		hob_str name = hob_name_map_add_unique(&map, &arena, wanted, i);
		assert_non_null(name.data);
		assert_true(hob_str_starts(name, HOB_STR("walk")));
		assert_int_equal(hob_name_map_add(&seen, name, i), i);
	}
	assert_int_equal(hob_name_map_get(&seen, HOB_STR("walk")), 1);
}

/* ---- textures */

static const memory_file disk[] = {
	{"props/wood.png", {(const uint8_t *)"w", 1}},
	{"props/maps/Stone.PNG", {(const uint8_t *)"s", 1}},
	{"props/textures/leaf.tga", {(const uint8_t *)"l", 1}},
	{"shared/iron.png", {(const uint8_t *)"i", 1}},
};

static const char *look(const char *reference, memory_io *io, hob_notes *notes)
{
	memory_io_init(io, disk, HOB_COUNT_OF(disk));
	*notes = (hob_notes){.arena = &arena};
	hob_import_request request = {.io = &io->io,
								  .path = HOB_STR("props/crate.obj"),
								  .result = &arena,
								  .scratch = &arena,
								  .notes = notes};
	hob_str path = hob_import_texture_path(&request, HOB_STR("props"), hob_str_of(reference));
	return path.data ? path.data : "";
}

static void textures_are_found_as_written(void **state)
{
	(void)state;
	memory_io io;
	static hob_notes notes;
	assert_string_equal(look("wood.png", &io, &notes), "props/wood.png");
	assert_int_equal(io.logged, 1);
	assert_string_equal(look("../shared/iron.png", &io, &notes), "shared/iron.png");
	assert_string_equal(look(".\\\\maps\\\\Stone.PNG", &io, &notes), "props/maps/Stone.PNG");
	assert_int_equal(notes.count, 0);
}

static void textures_are_found_in_another_case_or_place(void **state)
{
	(void)state;
	memory_io io;
	static hob_notes notes;
	static const struct {
		const char *reference, *path;
	} cases[] = {
		{"maps/stone.png", "props/maps/Stone.PNG"},
		{"C:\\Users\\ann\\art\\wood.png", "props/wood.png"},
		{"/home/ann/WOOD.PNG", "props/wood.png"},
		{"file:///C:/art/wood.png", "props/wood.png"},
		{"../../../outside/leaf.tga", "props/textures/leaf.tga"},
		{"old/folder/leaf.tga", "props/textures/leaf.tga"},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		assert_string_equal(look(cases[i].reference, &io, &notes), cases[i].path);
		assert_int_equal(notes.count, 1);
		assert_str(notes.items[0].code, "texture.path-guessed");
	}
}

static void missing_textures_keep_their_path_and_are_recorded(void **state)
{
	(void)state;
	memory_io io;
	static hob_notes notes;
	assert_string_equal(look("none/gone.png", &io, &notes), "props/none/gone.png");
	assert_true(memory_io_logged(&io, "?props/none/gone.png"));
	assert_true(memory_io_logged(&io, "?props/gone.png"));
	assert_true(memory_io_logged(&io, "?props/textures/gone.png"));
	assert_string_equal(look("C:\\gone.png", &io, &notes), "");
	assert_string_equal(look("../../gone.png", &io, &notes), "");
	assert_string_equal(look("folder/", &io, &notes), "props/folder");
	assert_int_equal(notes.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_end_in_three_ways),
		cmocka_unit_test(words_are_taken_off),
		cmocka_unit_test(names_become_valid_utf8),
		cmocka_unit_test(byte_order_marks_are_understood),
		cmocka_unit_test(the_map_keeps_first_values_through_growth),
		cmocka_unit_test(unique_names_differ),
		cmocka_unit_test(textures_are_found_as_written),
		cmocka_unit_test(textures_are_found_in_another_case_or_place),
		cmocka_unit_test(missing_textures_keep_their_path_and_are_recorded),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}

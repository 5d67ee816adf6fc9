/* The JSON reader of the glTF importer against cJSON_Parse, which is slower but longer proven: on random
 * documents both must give the same tree. The differences, where cJSON is lax or gives up, are stated. */
#include "tests/unit/import/gltf_fixture.h"

#include "core/import/gltf/gltf_private.h"

static uint32_t seed = 12345;

static uint32_t random_below(uint32_t bound)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % bound;
}

static void put_space(hob_buf *out)
{
	static const char *const spaces[] = {"", "", "", " ", "\n\t", "\r\n  "};
	hob_buf_put_str(out, hob_str_of(spaces[random_below(HOB_COUNT_OF(spaces))]));
}

static void put_string(hob_buf *out)
{
	static const char *const pieces[] = {"a",		 "key",
										 "\xC3\xA4", "\xF0\x9F\x9A\x97",
										 "\\n",		 "\\\"",
										 "\\\\",	 "\\/",
										 "\\u00e4",	 "\\ud83d\\ude00",
										 "\\u20AC",	 "\x7F",
										 "12345",	 "\\b\\f\\r\\t",
										 "/",		 "a longer piece of text without anything special in it",
										 "'",		 "{[,:]}"};
	hob_buf_put_str(out, HOB_STR("\""));
	for (uint32_t n = random_below(6); n > 0; n--)
		hob_buf_put_str(out, hob_str_of(pieces[random_below(HOB_COUNT_OF(pieces))]));
	hob_buf_put_str(out, HOB_STR("\""));
}

static void put_number(hob_buf *out)
{
	static const char *const signs[] = {"", "-"}, *const exponents[] = {"",	   "",	  "",	"e5",
																		"E+3", "e-7", "e20"};
	hob_buf_put_str(out, hob_str_of(signs[random_below(2)]));
	hob_buf_printf(out, "%u", random_below(4) ? random_below(1u << random_below(24)) : random_below(10));
	if (random_below(2))
		hob_buf_printf(out, ".%u", random_below(1u << 24));
	hob_buf_put_str(out, hob_str_of(exponents[random_below(HOB_COUNT_OF(exponents))]));
}

static void put_value(hob_buf *out, uint32_t depth)
{
	static const char *const words[] = {"true", "false", "null"};
	uint32_t kind = random_below(depth > 6 ? 3 : 6), count = random_below(5);
	put_space(out);
	if (kind == 0)
		put_number(out);
	else if (kind == 1)
		put_string(out);
	else if (kind == 2)
		hob_buf_put_str(out, hob_str_of(words[random_below(3)]));
	else
		hob_buf_put_str(out, kind == 3 ? HOB_STR("[") : HOB_STR("{"));
	for (uint32_t i = 0; kind >= 3 && i < count; i++) {
		if (i > 0)
			hob_buf_put_str(out, HOB_STR(","));
		if (kind > 3) {
			put_space(out);
			put_string(out);
			put_space(out);
			hob_buf_put_str(out, HOB_STR(":"));
		}
		put_value(out, depth + 1);
	}
	put_space(out);
	if (kind >= 3)
		hob_buf_put_str(out, kind == 3 ? HOB_STR("]") : HOB_STR("}"));
	put_space(out);
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_tree(const cJSON *ours, const cJSON *theirs)
{
	for (; ours && theirs; ours = ours->next, theirs = theirs->next) {
		if (ours->type != theirs->type || !same_text(ours->string, theirs->string) ||
			!same_text(ours->valuestring, theirs->valuestring))
			return false;
		/* cJSON rounds once, Hob at most twice: differs in the last bit of a double, not in a float. */
		double difference = fabs(ours->valuedouble - theirs->valuedouble);
		if (difference > 2.3e-16 * fabs(theirs->valuedouble))
			return false;
		if (!same_tree(ours->child, theirs->child))
			return false;
	}
	return ours == theirs;
}

static void random_documents_give_the_tree_of_cjson(void **state)
{
	(void)state;
	hob_buf text = {0};
	for (int round = 0; round < 3000; round++) {
		hob_buf_clear(&text);
		put_value(&text, 0);
		/* An exact copy on the heap, so that a read past the end is detected. */
		char *exact = malloc(text.size);
		memcpy(exact, text.data, text.size);
		cJSON *theirs = cJSON_ParseWithLength(exact, text.size);
		hob_arena arena;
		hob_arena_init(&arena, 64 << 20);
		const cJSON *ours = NULL;
		bool repaired = false;
		hob_error err = {0};
		if (!hob_json_parse(&arena, (hob_str){exact, text.size}, &ours, &repaired, &err))
			fail_msg("refused: %s: %.*s", err.context, (int)text.size, exact);
		if (!theirs || !same_tree(ours, theirs))
			fail_msg("another tree: %.*s", (int)text.size, exact);
		assert_false(repaired);
		cJSON_Delete(theirs);
		hob_arena_release(&arena);
		free(exact);
	}
	hob_buf_release(&text);
}

/* cJSON accepts any damaged text that we accept; it is laxer. */
static void damaged_documents_are_accepted_only_where_cjson_does(void **state)
{
	(void)state;
	hob_buf text = {0};
	uint32_t accepted = 0;
	for (int round = 0; round < 20000; round++) {
		hob_buf_clear(&text);
		put_value(&text, 3);
		if (text.size == 0)
			continue;
		for (uint32_t n = random_below(3); n < 3; n++)
			text.data[random_below((uint32_t)text.size)] =
				(uint8_t)("\"\\{}[]:,0 -.eu\x01\x80n"[random_below(18)]);
		hob_arena arena;
		hob_arena_init(&arena, 64 << 20);
		const cJSON *ours = NULL;
		bool repaired = false;
		bool ok = hob_json_parse(&arena, hob_buf_str(&text), &ours, &repaired, NULL);
		cJSON *theirs = cJSON_ParseWithLength((const char *)text.data, text.size);
		if (ok && !repaired && (!theirs || !same_tree(ours, theirs)))
			fail_msg("only Hob accepts: %.*s", (int)text.size, (const char *)text.data);
		accepted += ok;
		cJSON_Delete(theirs);
		hob_arena_release(&arena);
	}
	assert_true(accepted > 1000);
	hob_buf_release(&text);
}

static const cJSON *parse(hob_arena *arena, const char *text, bool *repaired)
{
	const cJSON *tree = NULL;
	hob_error err = {0};
	hob_arena_init(arena, 1 << 20);
	if (!hob_json_parse(arena, hob_str_of(text), &tree, repaired, &err))
		fail_msg("%s: %s", text, err.context);
	return tree;
}

static void what_would_end_a_string_early_is_replaced(void **state)
{
	(void)state;
	static const struct {
		const char *text, *wanted;
		bool repaired;
	} cases[] = {
		{"\"a\\u0000b\"",
		 "a\xEF\xBF\xBD"
		 "b",
		 true},
		{"\"\\ud800\"", "\xEF\xBF\xBD", true},
		{"\"\\udc00\\ud800x\"", "\xEF\xBF\xBD\xEF\xBF\xBDx", true},
		{"\"\\ud800\\u0041\"",
		 "\xEF\xBF\xBD"
		 "A",
		 true},
		{"\"\\ud83D\\uDe00\"", "\xF0\x9F\x98\x80", false},
		{"\"\\u0001\\u07ff\\uffff\"", "\x01\xDF\xBF\xEF\xBF\xBF", false},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		hob_arena arena;
		bool repaired = false;
		assert_string_equal(parse(&arena, cases[i].text, &repaired)->valuestring, cases[i].wanted);
		assert_int_equal(repaired, cases[i].repaired);
		hob_arena_release(&arena);
	}
}

static void numbers_of_any_length_are_read(void **state)
{
	(void)state;
	hob_arena arena;
	bool repaired;
	const cJSON *tree =
		parse(&arena,
			  "[0.33333333333333333333333333333333333333333333333333333333333333333333333333333,1e999,-0,"
			  "9007199254740993,12345678901234567890123,1e-400,123456789.25e-3]",
			  &repaired);
	static const double wanted[] = {
		1 / 3.0, (double)INFINITY, 0, 9007199254740992.0, 12345678901234567890123.0, 0, 123456.78925};
	const cJSON *item = tree->child;
	for (size_t i = 0; i < HOB_COUNT_OF(wanted); i++, item = item->next)
		assert_true(item->valuedouble == wanted[i] || fabs(item->valuedouble / wanted[i] - 1) < 3e-16);
	hob_arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_documents_give_the_tree_of_cjson),
		cmocka_unit_test(damaged_documents_are_accepted_only_where_cjson_does),
		cmocka_unit_test(what_would_end_a_string_early_is_replaced),
		cmocka_unit_test(numbers_of_any_length_are_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Compact row values: round trips, and rejection of anything else. */
#include "server/store/row.h"
#include "store_support.h"

static hob_buf shorten(hob_str text)
{
	hob_buf out = {0};
	srv_row_put_short(text, &out);
	assert_false(out.failed);
	return out;
}

static bool lengthen(hob_str bytes, hob_str expected)
{
	hob_arena arena;
	hob_str text;
	hob_arena_init(&arena, 1 << 24);
	bool same = srv_row_take_short(bytes, &arena, &text) && hob_str_equal(text, expected);
	hob_arena_release(&arena);
	return same;
}

static hob_str event_text(void)
{
	return HOB_STR("{\"rev\":7,\"kind\":\"cooked\",\"asset\":\"art/a/"
				   "b.obj\",\"profile\":\"default\",\"quality\":\"final\",\"state\":\"fresh\","
				   "\"key\":\"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\",\"outputs\":"
				   "[{\"name\":\"meshes\","
				   "\"hash\":\"ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\",\"size\":"
				   "12}],\"cook_ms\":1.250,"
				   "\"cached\":false,\"cause\":[{\"kind\":\"source\",\"path\":\"art/a/b.obj\"}]}");
}

static void every_text_comes_back(void **state)
{
	hob_str texts[] = {
		HOB_STR(""),
		HOB_STR("{}"),
		HOB_STR("\0"),
		HOB_STR("\1ab"),
		HOB_STR("\2ab"),
		HOB_STR("a text of more than thirty-two bytes that nothing is like: \2 \1 \0."),
		event_text(),
		HOB_STR("\"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"),
		HOB_STR("\"00112233445566778899aabbccddeeff00112233445566778899aabbccddeefF\""),
		HOB_STR("\"00112233445566778899aabbccddeeff00112233445566778899aabbccddeef"),
		HOB_STR("\0\"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\""),
	};
	(void)state;
	for (size_t i = 0; i < HOB_COUNT_OF(texts); i++) {
		hob_buf bytes = shorten(texts[i]);
		if (!lengthen(hob_buf_str(&bytes), texts[i]))
			fail_msg("text %zu", i);
		hob_buf_release(&bytes);
	}
}

static void an_event_takes_little_more_than_its_digests(void **state)
{
	(void)state;
	hob_buf bytes = shorten(event_text());
	assert_in_range(bytes.size, 1, 64 + 64);
	hob_buf_release(&bytes);
}

static void no_damaged_text_is_taken_for_another_without_being_noticed(void **state)
{
	(void)state;
	hob_buf bytes = shorten(event_text());
	for (size_t size = 1; size < bytes.size; size++)
		assert_false(lengthen((hob_str){(const char *)bytes.data, size}, event_text()));
	for (size_t i = 0; i < bytes.size; i++) { /* may decode to another text; must not read out of bounds */
		bytes.data[i] ^= 0x55;
		(void)lengthen(hob_buf_str(&bytes), event_text());
		bytes.data[i] ^= 0x55;
	}
	hob_buf_release(&bytes);
}

/* Lines of about 250 bytes, each different. */
static hob_buf many_events(uint32_t count)
{
	hob_buf all = {0};
	for (uint32_t i = 0; i < count; i++) {
		char digest[HOB_SHA256_TEXT + 1];
		hob_sha256 of = hob_sha256_of((hob_bytes){(const uint8_t *)&i, sizeof i});
		hob_sha256_text(&of, digest);
		hob_buf_printf(&all, "{\"rev\":7,\"asset\":\"art/%u.obj\",\"key\":\"%s\",\"state\":\"fresh\"}\n", i,
					   digest);
	}
	assert_false(all.failed);
	return all;
}

static void a_text_in_parts_comes_back_whole(void **state)
{
	(void)state;
	for (size_t step = 1 << 10; step <= 1 << 20; step *= 8) {
		hob_buf text = many_events(2000), bytes = {0};
		srv_row_packer *packer = srv_row_packer_new();
		assert_non_null(packer);
		for (size_t at = 0; at < text.size; at += step)
			srv_row_packer_put(
				packer, hob_str_sub(hob_buf_str(&text), at, at + step < text.size ? at + step : text.size));
		assert_true(srv_row_packer_end(packer, &bytes));
		srv_row_packer_free(packer);
		assert_in_range(bytes.size, 1, text.size / 2);
		assert_true(lengthen(hob_buf_str(&bytes), hob_buf_str(&text)));
		for (size_t size = 1; size < bytes.size; size += 97)
			assert_false(lengthen((hob_str){(const char *)bytes.data, size}, hob_buf_str(&text)));
		hob_buf_put(&bytes, "", 1);
		assert_false(lengthen(hob_buf_str(&bytes), hob_buf_str(&text)));
		hob_buf_release(&bytes);
		hob_buf_release(&text);
	}
	srv_row_packer *packer = srv_row_packer_new();
	hob_buf bytes = {0};
	srv_row_packer_put(packer, HOB_STR("\2"));
	assert_false(srv_row_packer_end(packer, &bytes));
	srv_row_packer_free(packer);
	hob_buf_release(&bytes);
}

static hob_sha256 number(uint8_t value)
{
	return (hob_sha256){{value, 1}};
}

static bool take(hob_str bytes, srv_record *out, hob_arena *arena)
{
	*out = (srv_record){0};
	return srv_row_take_lists(bytes, arena, out);
}

static void lists_come_back(void **state)
{
	char longest[301];
	memset(longest, 'n', 300);
	longest[300] = 0;
	srv_record_dep deps[] = {{HOB_STR("b.png"), true, {{0}}},
							 {HOB_STR(""), false, number(1)},
							 {HOB_STR("../\xff\0x"), false, number(2)}};
	srv_record_output outputs[] = {{HOB_STR("meshes"), number(3), 0},
								   {HOB_STR("animations"), number(4), UINT64_MAX},
								   {HOB_STR(""), number(5), 127},
								   {hob_str_of(longest), number(6), 128}};
	(void)state;
	for (uint32_t i = 0; i <= HOB_COUNT_OF(deps); i++) {
		for (uint32_t j = 0; j <= HOB_COUNT_OF(outputs); j++) {
			srv_record in = {.deps = deps, .dep_count = i, .outputs = outputs, .output_count = j}, out;
			hob_buf bytes = {0};
			hob_arena arena;
			hob_arena_init(&arena, 1 << 20);
			srv_row_put_lists(&in, &bytes);
			assert_true(take(hob_buf_str(&bytes), &out, &arena));
			assert_int_equal(out.dep_count, i);
			assert_int_equal(out.output_count, j);
			for (uint32_t k = 0; k < i; k++)
				assert_true(hob_str_equal(out.deps[k].path, deps[k].path) &&
							out.deps[k].missing == deps[k].missing &&
							hob_sha256_equal(&out.deps[k].digest, &deps[k].digest));
			for (uint32_t k = 0; k < j; k++)
				assert_true(hob_str_equal(out.outputs[k].name, outputs[k].name) &&
							out.outputs[k].size == outputs[k].size &&
							hob_sha256_equal(&out.outputs[k].digest, &outputs[k].digest));
			for (size_t size = 0; size < bytes.size; size++)
				assert_false(take((hob_str){(const char *)bytes.data, size}, &out, &arena));
			hob_buf_put(&bytes, "", 1);
			assert_false(take(hob_buf_str(&bytes), &out, &arena));
			hob_arena_release(&arena);
			hob_buf_release(&bytes);
		}
	}
}

static void counts_beyond_the_bytes_are_refused(void **state)
{
	static const char *const wrong[] = {"\xff\xff\x3f", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
										"\x80", "\x01\xff\xff\xff\x0f"};
	(void)state;
	for (size_t i = 0; i < HOB_COUNT_OF(wrong); i++) {
		hob_arena arena;
		srv_record out;
		hob_arena_init(&arena, 1 << 16);
		assert_false(take(hob_str_of(wrong[i]), &out, &arena));
		hob_arena_release(&arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_text_comes_back),
		cmocka_unit_test(an_event_takes_little_more_than_its_digests),
		cmocka_unit_test(a_text_in_parts_comes_back_whole),
		cmocka_unit_test(no_damaged_text_is_taken_for_another_without_being_noticed),
		cmocka_unit_test(lists_come_back),
		cmocka_unit_test(counts_beyond_the_bytes_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

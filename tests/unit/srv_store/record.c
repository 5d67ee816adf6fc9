/* The record of a cook as text: one text per result, and no other text is accepted. */
#include "server/store/record.h"
#include "store_support.h"

static hob_sha256 number(uint8_t value)
{
	hob_sha256 digest = {{0}};
	digest.bytes[31] = value;
	return digest;
}

typedef struct sample {
	srv_record record;
	srv_record_dep deps[2];
	srv_record_output outputs[3];
} sample;

static void make(sample *s)
{
	*s = (sample){
		.record = {.key = number(1),
				   .lookup = number(2),
				   .source = number(3),
				   .ingredients =
					   HOB_STR("{\"importer\":\"obj\",\"list\":[1,-2.5e+3,true,null,\"\\u00e9\"]}"),
				   .stats = HOB_STR("{\"meshes\":1}"),
				   .warnings = 4,
				   .cook_ns = 5,
				   .peak_bytes = 6,
				   .cooked_at_ms = 7,
				   .dep_count = 2,
				   .output_count = 3},
		.deps = {{HOB_STR("b.png"), true, {{0}}}, {HOB_STR("a \"1\".mtl"), false, number(8)}},
		.outputs = {{HOB_STR("scene"), number(9), 10},
					{HOB_STR("report"), number(11), 12},
					{HOB_STR("meshes"), number(13), 14}},
	};
	s->record.deps = s->deps;
	s->record.outputs = s->outputs;
}

static hob_buf print(const srv_record *record)
{
	hob_buf out = {0};
	srv_record_print(record, &out);
	assert_false(out.failed);
	return out;
}

static bool parses(hob_str text)
{
	hob_arena arena;
	hob_error err;
	srv_record record;
	hob_arena_init(&arena, 1 << 20);
	bool ok = srv_record_parse(text, &arena, &record, &err);
	assert_true(ok || err.code == HOB_ERR_CORRUPT);
	hob_arena_release(&arena);
	return ok;
}

#define H(two) "00000000000000000000000000000000000000000000000000000000000000" two

/* Written by hand from the header; the two hashes by sha256sum. */
static void the_text_is_the_one_of_the_header(void **state)
{
	(void)state;
	static const char result[] =
		"{\"hob_result\":1,\"key\":\"" H("01") "\",\"lookup\":\"" H("02") "\",\"source\":\"" H(
			"03") "\",\"file_name\":null,\"inputs\":{\"importer\":\"obj\",\"list\":[1,-2.5e+3,true,null,"
				  "\"\\u00e9\"]},"
				  "\"deps\":[{\"path\":\"a \\\"1\\\".mtl\",\"sha256\":\"" H(
					  "08") "\"},{\"path\":\"b.png\",\"sha256\":null}],"
							"\"outputs\":[{\"name\":\"meshes\",\"sha256\":\"" H(
								"0d") "\",\"size\":14},"
									  "{\"name\":\"scene\",\"sha256\":\"" H(
										  "09") "\",\"size\":10}],"
												"\"stats\":{\"meshes\":1},\"warnings\":4,\"error\":null";
	static const char run[] = ",\"run\":{\"cooked_at_ms\":7,\"cook_ns\":5,\"peak_bytes\":6,"
							  "\"outputs\":[{\"name\":\"report\",\"sha256\":\"" H("0b") "\",\"size\":12}]}";
	sample s;
	make(&s);
	hob_buf text = print(&s.record);
	hob_str all = hob_buf_str(&text);
	assert_true(hob_str_starts(all, hob_str_of(result)));
	size_t at = sizeof result - 1;
	assert_true(hob_str_starts(hob_str_sub(all, at, all.len), HOB_STR(",\"result\":\"")));
	hob_sha256 said, is = hob_sha256_of((hob_bytes){(const uint8_t *)result, at});
	at += sizeof ",\"result\":\"" - 1;
	assert_true(hob_sha256_parse(hob_str_sub(all, at, at + HOB_SHA256_TEXT), &said));
	assert_true(hob_sha256_equal(&said, &is));
	at += HOB_SHA256_TEXT + 1;
	assert_true(hob_str_starts(hob_str_sub(all, at, all.len), hob_str_of(run)));
	at += sizeof run - 1;
	is = hob_sha256_of((hob_bytes){text.data, at});
	at += sizeof ",\"check\":\"" - 1;
	assert_true(hob_sha256_parse(hob_str_sub(all, at, at + HOB_SHA256_TEXT), &said));
	assert_true(hob_sha256_equal(&said, &is));
	assert_true(hob_str_equal(hob_str_sub(all, at + HOB_SHA256_TEXT, all.len), HOB_STR("\"}\n")));
	hob_buf_release(&text);
}

static void order_does_not_matter_and_every_text_comes_back(void **state)
{
	(void)state;
	sample s, other;
	hob_arena arena;
	hob_error err;
	srv_record back;
	hob_arena_init(&arena, 1 << 20);
	make(&s);
	make(&other);
	other.outputs[0] = s.outputs[2];
	other.outputs[2] = s.outputs[0];
	other.deps[0] = s.deps[1];
	other.deps[1] = s.deps[0];
	hob_buf text = print(&s.record), same = print(&other.record);
	assert_true(hob_str_equal(hob_buf_str(&text), hob_buf_str(&same)));
	assert_ok(srv_record_parse(hob_buf_str(&text), &arena, &back, &err), &err);
	hob_buf again = print(&back);
	assert_true(hob_str_equal(hob_buf_str(&text), hob_buf_str(&again)));
	hob_buf_release(&text);
	hob_buf_release(&same);
	hob_buf_release(&again);
	/* Names are bytes. */
	for (int byte = 0; byte < 256; byte++) {
		char name[4] = {'a', (char)byte, 'b', 0};
		s.deps[0].path = (hob_str){name, 3};
		s.record.file_name = (hob_str){name, 3};
		text = print(&s.record);
		assert_ok(srv_record_parse(hob_buf_str(&text), &arena, &back, &err), &err);
		assert_true(hob_str_equal(back.file_name, s.record.file_name));
		assert_int_equal(back.dep_count, 2);
		assert_true(hob_str_equal(back.deps[0].path, s.deps[0].path) ||
					hob_str_equal(back.deps[1].path, s.deps[0].path));
		hob_buf_release(&text);
	}
	hob_arena_release(&arena);
}

static void only_the_result_makes_a_conflict(void **state)
{
	(void)state;
	sample a, b;
	make(&a);
	make(&b);
	b.record.cook_ns = b.record.peak_bytes = 99;
	b.record.cooked_at_ms = 99;
	b.outputs[1].digest = number(99); /* the report */
	assert_true(srv_record_same(&a.record, &b.record));
	b.outputs[1] = (srv_record_output){HOB_STR("classic.scene"), number(98), 1};
	assert_true(srv_record_same(&a.record, &b.record));
	b.outputs[2].digest = number(99); /* the meshes */
	assert_false(srv_record_same(&a.record, &b.record));
	make(&b);
	b.record.error = HOB_STR("{\"code\":\"import.corrupt\",\"died\":\"signal\"}");
	assert_false(srv_record_same(&a.record, &b.record));
}

static void no_damaged_text_is_read(void **state)
{
	(void)state;
	sample s;
	make(&s);
	hob_buf text = print(&s.record);
	hob_str all = hob_buf_str(&text);
	assert_true(parses(all));
	for (size_t cut = 0; cut < all.len; cut++)
		assert_false(parses(hob_str_sub(all, 0, cut)));
	for (size_t at = 0; at < all.len; at++)
		for (int change = 1; change < 256; change += 2) {
			text.data[at] = (uint8_t)(text.data[at] ^ change);
			assert_false(parses(all));
			text.data[at] = (uint8_t)(text.data[at] ^ change);
		}
	hob_buf_release(&text);
}

/* With matching hashes, so that only the rule is violated. */
static bool reads_with(const char *was, const char *now)
{
	sample s;
	make(&s);
	hob_buf text = print(&s.record), body = {0};
	hob_str all = hob_buf_str(&text);
	size_t at = hob_str_find(all, hob_str_of(was), 0), end = hob_str_find(all, HOB_STR(",\"check\":"), 0);
	size_t result = hob_str_find(all, HOB_STR(",\"result\":"), 0);
	assert_true(at < result);
	char digits[HOB_SHA256_TEXT + 1];
	hob_buf_put_str(&body, hob_str_sub(all, 0, at));
	hob_buf_put_str(&body, hob_str_of(now));
	hob_buf_put_str(&body, hob_str_sub(all, at + strlen(was), result));
	hob_sha256 digest = hob_sha256_of(hob_buf_bytes(&body));
	hob_sha256_text(&digest, digits);
	hob_buf_printf(&body, ",\"result\":\"%s\"", digits);
	hob_buf_put_str(&body, hob_str_sub(all, result + 11 + HOB_SHA256_TEXT + 1, end));
	digest = hob_sha256_of(hob_buf_bytes(&body));
	hob_sha256_text(&digest, digits);
	hob_buf_printf(&body, ",\"check\":\"%s\"}\n", digits);
	bool ok = parses(hob_buf_str(&body));
	hob_buf_release(&text);
	hob_buf_release(&body);
	return ok;
}

static void each_rule_is_kept(void **state)
{
	(void)state;
	static const struct {
		const char *was, *now;
		bool reads;
	} rows[] = {
		{"\"warnings\":4", "\"warnings\":4", true},
		{"\"warnings\":4", "\"warnings\":5", true},
		{"\"warnings\":4", "\"warnings\":04", false},
		{"\"warnings\":4", "\"warnings\":-4", false},
		{"\"warnings\":4", "\"warnings\":4294967296", false},
		{"\"warnings\":4", "\"warnings\": 4", false},
		{"\"size\":14", "\"size\":18446744073709551615", true},
		{"\"size\":14", "\"size\":18446744073709551616", false},
		{"\"size\":14", "\"size\":1e3", false},
		{"{\"meshes\":1}", "null", true},
		{"{\"meshes\":1}", "{}", true},
		{"{\"meshes\":1}", "[]", false},
		{"{\"meshes\":1}", "{\"meshes\":1,}", false},
		{"{\"meshes\":1}", "{\"meshes\":01}", false},
		{"{\"meshes\":1}", "{\"meshes\":\"\\x\"}", false},
		{"{\"meshes\":1}", "{\"meshes\":\"\xFF\"}", false},
		{"{\"meshes\":1}", "{meshes:1}", false},
		{"{\"meshes\":1}",
		 "{\"a\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}", false},
		{"a \\\"1\\\".mtl", "c.mtl", false}, /* not sorted */
		{"a \\\"1\\\".mtl", "", false},
		{"a \\\"1\\\".mtl", "a\\u0041", false},
		{"a \\\"1\\\".mtl", "a\\/b", false},
		{"\"a \\\"1\\\".mtl\"", "{\"hex\":\"61ff\"}", true},
		{"\"a \\\"1\\\".mtl\"", "{\"hex\":\"6161\"}", false},	   /* could be written as text */
		{"\"meshes\",\"sha256\"", "\"report\",\"sha256\"", false}, /* not part of the result */
		{"\"meshes\",\"sha256\"", "\"zz\",\"sha256\"", false},
		{"\"hob_result\":1", "\"hob_result\":2", false},
		{"\"file_name\":null", "\"file_name\":\"a.obj\"", true},
		{"\"file_name\":null", "\"file_name\":\"\"", false},
		{"\"error\":null", "\"error\":{\"code\":\"x\",\"died\":\"signal\"}", true},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(rows); i++)
		if (reads_with(rows[i].was, rows[i].now) != rows[i].reads)
			fail_msg("%s -> %s", rows[i].was, rows[i].now);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_text_is_the_one_of_the_header),
		cmocka_unit_test(order_does_not_matter_and_every_text_comes_back),
		cmocka_unit_test(only_the_result_makes_a_conflict),
		cmocka_unit_test(no_damaged_text_is_read),
		cmocka_unit_test(each_rule_is_kept),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

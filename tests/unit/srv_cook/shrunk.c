#include "tests/unit/support.h"

#include "server/cook/shrunk.h"

static void losses_are_listed(void **state)
{
	(void)state;
	static const struct {
		srv_version_facts before, now;
		const char *said;
	} cases[] = {
		{{HOB_STR("{\"triangles\":100,\"materials\":3,\"animations\":2}"), 1000, 0},
		 {HOB_STR("{\"triangles\":100,\"materials\":3,\"animations\":2}"), 1000, 0},
		 ""},
		{{HOB_STR("{\"triangles\":100}"), 1000, 0}, {HOB_STR("{\"triangles\":50}"), 500, 0}, ""},
		{{HOB_STR("{\"triangles\":100}"), 1000, 0},
		 {HOB_STR("{\"triangles\":49}"), 499, 0},
		 "triangles 100 -> 49, bytes 1000 -> 499"},
		{{HOB_STR("{\"triangles\":100}"), 1000, 0},
		 {HOB_STR("{\"triangles\":0}"), 0, 0},
		 "triangles 100 -> 0"},
		{{HOB_STR("{\"animations\":2}"), 0, 0}, {HOB_STR("{\"animations\":1}"), 9, 0}, ""},
		{{HOB_STR("{\"animations\":2}"), 0, 0}, {HOB_STR("{\"animations\":0}"), 9, 0}, "clips 2 -> 0"},
		{{HOB_STR("{\"materials\":2}"), 0, 0}, {HOB_STR("{\"materials\":1}"), 9, 0}, "materials 2 -> 1"},
		{{HOB_STR("{}"), 0, 0}, {HOB_STR("{\"materials\":1}"), 9, 0}, ""},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		hob_buf out = {0};
		assert_int_equal(srv_shrunk(&cases[i].before, &cases[i].now, &out), cases[i].said[0] != 0);
		assert_int_equal(out.size, strlen(cases[i].said));
		assert_memory_equal(out.data ? (const char *)out.data : "", cases[i].said, out.size);
		hob_buf_release(&out);
	}
}

static void differing_numbers_are_listed(void **state)
{
	(void)state;
	static const struct {
		srv_version_facts before, now;
		const char *said;
	} cases[] = {
		{{HOB_STR("{\"triangles\":100}"), 9, 1}, {HOB_STR("{\"triangles\":100}"), 9, 1}, "{}"},
		{{HOB_STR("{\"triangles\":100}"), 9, 0},
		 {HOB_STR("{\"triangles\":7}"), 8, 0},
		 "{\"triangles\":[100,7],\"bytes\":[9,8]}"},
		{{HOB_STR("{}"), 9, 0}, {HOB_STR("{}"), 9, 2}, "{\"warnings\":[0,2]}"},
		{{HOB_STR("{\"vertices\":3,\"lods\":1,\"animations\":2,\"materials\":1}"), 9, 0},
		 {HOB_STR("{\"vertices\":4,\"lods\":2,\"materials\":2,\"textures\":1,\"nodes\":1}"), 9, 0},
		 "{\"vertices\":[3,4],\"lods\":[1,2],\"clips\":[2,0],\"materials\":[1,2],"
		 "\"textures\":[0,1],\"nodes\":[0,1]}"},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		hob_buf out = {0};
		srv_numbers_that_differ(&cases[i].before, &cases[i].now, &out);
		assert_int_equal(out.size, strlen(cases[i].said));
		assert_memory_equal(out.data, cases[i].said, out.size);
		hob_buf_release(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(losses_are_listed),
									   cmocka_unit_test(differing_numbers_are_listed)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "tests/unit/support.h"

#include "server/cook/error_json.h"

#include <string.h>

static char *text_of(hob_buf *buf)
{
	hob_buf_put(buf, "", 1);
	return (char *)buf->data;
}

static void place_of(const char *message, const char *path, const char *expected)
{
	hob_error error;
	hob_buf json = {0}, named = {0};
	(void)hob_fail(&error, CORRUPT, "%s", message);
	srv_error_json(&error, "cook", &json);
	srv_error_of_asset(hob_buf_str(&json), hob_str_of(path), &named);
	const char *place = strstr(text_of(&named), "\"location\":");
	assert_non_null(place);
	assert_memory_equal(place, expected, strlen(expected));
	hob_buf_release(&json);
	hob_buf_release(&named);
}

static void lines_and_columns_become_a_location(void **state)
{
	(void)state;
	place_of("bad face", "a.obj", "\"location\":{\"file\":\"a.obj\"},\"root_cause\":null}");
	place_of("line 71: bad face", "a.obj", "\"location\":{\"file\":\"a.obj\",\"line\":71},");
	place_of("line 71, column 12: x", "b/a.obj",
			 "\"location\":{\"file\":\"b/a.obj\",\"line\":71,\"column\":12},");
}

static void the_hint_of_the_code_is_given(void **state)
{
	(void)state;
	hob_error error;
	hob_buf json = {0};
	(void)hob_fail(&error, EMPTY, "no mesh");
	srv_error_json(&error, "prepare", &json);
	text_of(&json);
	assert_non_null(strstr((char *)json.data, srv_error_hint(HOB_ERR_EMPTY)));
	assert_non_null(strstr((char *)json.data, "\"stage\":\"prepare\""));
	assert_true(strlen(srv_error_hint(HOB_ERR_EMPTY)) > 0);
	assert_string_equal(srv_error_hint(HOB_ERR_OK), "");
	hob_buf_release(&json);
}

static void a_settings_file_is_the_place_itself(void **state)
{
	(void)state;
	hob_str json =
		HOB_STR("{\"code\":\"config.invalid\",\"message\":\"props/cook.json: 'scale' is no number\","
				"\"hint\":\"\",\"stage\":\"prepare\",\"root_cause\":null}");
	hob_buf named = {0};
	srv_error_of_asset(json, HOB_STR("props/a.glb"), &named);
	assert_non_null(strstr(text_of(&named), "\"location\":{\"file\":\"props/cook.json\"}"));
	hob_buf_release(&named);
}

static void a_merge_names_its_part(void **state)
{
	(void)state;
	place_of("image 3 is cut short; in 'inside/a.gltf', scenes[1]", "rooms/all.merge",
			 "\"location\":{\"file\":\"rooms/inside/a.gltf\"}");
	place_of("no list", "rooms/all.merge", "\"location\":{\"file\":\"rooms/all.merge\"}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_and_columns_become_a_location),
		cmocka_unit_test(the_hint_of_the_code_is_given),
		cmocka_unit_test(a_settings_file_is_the_place_itself),
		cmocka_unit_test(a_merge_names_its_part),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "tests/unit/support.h"

#include "server/worker/check.h"

/* Message for empty outputs with these names. */
static const char *why(const char *const *names, uint32_t count)
{
	static hob_error error;
	hob_cook_output outputs[8] = {0};
	for (uint32_t i = 0; i < count; i++)
		outputs[i].name = hob_str_of(names[i]);
	error = (hob_error){0};
	(void)!srv_check_outputs(&(srv_result){.output_count = count, .outputs = outputs}, &error);
	return error.context;
}

static void each_name_comes_once(void **state)
{
	(void)state;
	static const char *const twice[][2] = {
		{"meshes", "meshes"}, {"scene", "scene"}, {"report", "report"}, {"textures/7", "textures/7"}};
	for (size_t i = 0; i < HOB_COUNT_OF(twice); i++)
		assert_non_null(strstr(why(twice[i], 2), "comes twice"));
	static const char *const others[] = {"textures/0", "textures/10", "textures/1", "report"};
	assert_null(strstr(why(others, 4), "twice"));
	assert_null(strstr(why(others, 4), "name"));
}

static void only_names_of_a_cook_pass(void **state)
{
	(void)state;
	static const char *const strange[] = {"",
										  "mesh",
										  "../meshes",
										  "classic.meshes",
										  "textures/",
										  "textures/01",
										  "textures/-1",
										  "textures/1/../../x",
										  "textures/1\n",
										  "textures/65536",
										  "textures/4294967297",
										  "textures/A"};
	for (size_t i = 0; i < HOB_COUNT_OF(strange); i++)
		assert_non_null(strstr(why(&strange[i], 1), "name"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_name_comes_once),
		cmocka_unit_test(only_names_of_a_cook_pass),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

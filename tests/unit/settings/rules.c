/* The setting `rules`: accepted values, printed form, and its part of the cook key. */
#include "core/settings/cook_key.h"
#include "core/settings/pattern.h"
#include "core/settings/rules.h"
#include "tests/unit/support.h"

#include <stdio.h>

static hob_error error;

static hob_settings with(const char *json)
{
	hob_settings settings;
	hob_settings_init(&settings);
	if (!hob_settings_overlay(&settings, hob_str_of(json), HOB_STR("here"), &error))
		fail_msg("%s: %s", json, error.context);
	return settings;
}

static hob_sha256 key(const char *json)
{
	hob_sha256 source = {{1}};
	hob_ingredients of = {HOB_STR("obj"), 1, HOB_STR(""), HOB_STR("obj"), with(json), HOB_PROFILE_FINAL};
	return hob_cook_lookup(&source, &of);
}

static bool same_key(const char *a, const char *b)
{
	hob_sha256 x = key(a), y = key(b);
	return hob_sha256_equal(&x, &y);
}

static void the_key_holds_what_changes_a_result(void **state)
{
	(void)state;
	assert_true(same_key("{}", "{\"rules\":{}}"));
	assert_true(same_key("{}", "{\"rules\":{\"mesh.open\":\"off\",\"texture.missing\":\"warning\"}}"));
	assert_true(same_key("{}", "{\"rules\":{\"texture.missing\":\"error\"}}"));
	assert_true(same_key("{\"rules\":{\"mesh.open\":\"error\"}}", "{\"rules\":{\"mesh.open\":\"warning\"}}"));
	assert_true(same_key("{\"rules\":{\"profile\":\"game\",\"mesh.draws\":{\"max\":5}}}",
						 "{\"rules\":{\"mesh.draws\":{\"max\":5},\"profile\":\"game\"}}"));
	assert_false(same_key("{}", "{\"rules\":{\"mesh.open\":\"warning\"}}"));
	assert_false(same_key("{\"rules\":{\"mesh.open\":\"info\"}}", "{\"rules\":{\"mesh.open\":\"warning\"}}"));
	assert_false(
		same_key("{\"rules\":{\"mesh.draws\":{\"max\":5}}}", "{\"rules\":{\"mesh.draws\":{\"max\":6}}}"));
	assert_false(same_key("{\"rules\":{\"name.node\":{\"match\":\"a\"}}}",
						  "{\"rules\":{\"name.node\":{\"match\":\"b\"}}}"));
	assert_false(same_key("{}", "{\"rules\":{\"file.portability\":\"error\"}}"));
}

static void a_printed_object_reads_back(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"{}",
		"{\"rules\":{\"profile\":\"film\",\"name.clip\":{\"match\":\"^a+$\"},\"scene.size\":{\"min\":2}}}",
		"{\"rules\":{\"texture.missing\":\"off\",\"texture.size\":{\"power_of_two\":true}}}"};
	for (size_t i = 0; i < HOB_COUNT_OF(texts); i++) {
		hob_settings settings = with(texts[i]), again;
		hob_buf printed = {0};
		hob_settings_print(&settings, &printed);
		assert_int_equal(hob_str_find(hob_buf_str(&printed), HOB_STR("\"rules\""), 0) == SIZE_MAX, i == 0);
		hob_settings_init(&again);
		assert_true(hob_settings_overlay(&again, hob_buf_str(&printed), HOB_STR("printed"), &error));
		assert_memory_equal(&settings, &again, sizeof again);
		hob_buf_release(&printed);
	}
}

static void wrong_rules_are_named(void **state)
{
	(void)state;
	static const char *const cases[][2] = {
		{"{\"mesh.opan\":\"error\"}", "here: unknown rule 'mesh.opan'; did you mean 'mesh.open'?"},
		{"{\"zzzzzzzz\":\"error\"}", "'hob check --explain all' lists the rules"},
		{"{\"profile\":\"mobile\"}", "'profile' must be one of game, web, print, film, not 'mobile'"},
		{"{\"profil\":\"game\"}", "did you mean 'profile'?"},
		{"{\"texture.size\":{\"power_of_two\":2}}", "must be true or false"},
		{"{\"profile\":5}", "'profile' must be one of"},
		{"{\"*\":\"error\"}", "unknown rule '*'; 'hob check"},
		{"{\"mesh.open\":\"fatal\"}", "must be off, info, warning, error, or an object with level"},
		{"{\"mesh.open\":{\"max\":1}}", "the rule 'mesh.open' has no parameter 'max'; it has level"},
		{"{\"scene.size\":{\"mx\":1}}", "has no parameter 'mx'; it has level, min, max"},
		{"{\"scene.size\":{\"max\":-1}}", "must be a number from 0 to 1e12"},
		{"{\"scene.size\":{\"level\":\"loud\"}}", "'level' of the rule 'scene.size' must be"},
		{"{\"name.node\":{\"match\":\"(a|b)\"}}", "must be a pattern"},
		{"{\"name.node\":{\"match\":\"[a\"}}", "must be a pattern"},
		{"{\"name.node\":{\"match\":7}}", "must be a pattern"},
		{"[]", "'rules' must be an object"},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		hob_settings settings, before;
		char text[128];
		snprintf(text, sizeof text, "{\"rules\":%s}", cases[i][0]);
		hob_settings_init(&settings);
		before = settings;
		assert_false(hob_settings_overlay(&settings, hob_str_of(text), HOB_STR("here"), &error));
		assert_int_equal(error.code, HOB_ERR_CONFIG);
		if (!strstr(error.context, cases[i][1]))
			fail_msg("%s: %s", cases[i][0], error.context);
		assert_memory_equal(&settings, &before, sizeof before);
	}
}

static void patterns_match_names(void **state)
{
	(void)state;
	static const struct {
		const char *pattern, *yes, *no;
	} cases[] = {
		{"^[a-z0-9_]+$", "arm_01", "Arm"},
		{"^[a-z0-9_]+$", "a", ""},
		{"^SM_\\w+$", "SM_x1", "SM_"},
		{"^SM_\\w*$", "SM_", "xSM_"},
		{"col", "my_collider", "cool"},
		{"_\\d\\d$", "leg_07", "leg_7"},
		{"^[^ ]*$", "nospace", "a space"},
		{"^a.?b$", "axb", "axxb"},
		{"^a.?b$", "ab", "a"},
		{"^a\\.b$", "a.b", "axb"},
		{"^[a-]+$", "a-a", "b"},
		{"^a*a*a*b$", "aaaaab", "aaaaa"},
		{"x$", "yx", "xy"},
		{"^\\$$", "$", "a"},
		{"^[\xC3][\xA4]$", "\xC3\xA4", "\xC3"},
		{"_GEO$|_GRP$|^root$", "body_GRP", "a_root"},
		{"^a[|]b$|c\\|d", "a|b", "cd"},
		{"^a[|]b$|c\\|d", "xc|dx", "a"},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		hob_str pattern = hob_str_of(cases[i].pattern);
		assert_true(hob_pattern_valid(pattern));
		if (!hob_pattern_match(pattern, hob_str_of(cases[i].yes)))
			fail_msg("%s does not match %s", cases[i].pattern, cases[i].yes);
		if (hob_pattern_match(pattern, hob_str_of(cases[i].no)))
			fail_msg("%s matches %s", cases[i].pattern, cases[i].no);
	}
	assert_true(hob_pattern_match((hob_str){0}, HOB_STR("anything")));
	static const char *const wrong[] = {"*a",  "a**",  "(a)", "a|",	 "|a", "a||b",
										"a|*", "a{2}", "[ab", "a\\", "^^", "$$"};
	for (size_t i = 0; i < HOB_COUNT_OF(wrong); i++)
		if (hob_pattern_valid(hob_str_of(wrong[i])))
			fail_msg("%s is valid", wrong[i]);
}

static void levels_decide_what_is_refused(void **state)
{
	(void)state;
	static const struct {
		const char *settings;
		hob_note note;
		hob_err_code code;
		const char *why;
	} cases[] = {
		{"{}", {HOB_NOTE_WARNING, HOB_STR("mesh.open"), HOB_STR("t"), 1}, HOB_ERR_OK, ""},
		{"{\"strict\":true}",
		 {HOB_NOTE_WARNING, HOB_STR("any.thing"), HOB_STR("t"), 1},
		 HOB_ERR_RULE,
		 "(strict: true)"},
		{"{\"strict\":true}", {HOB_NOTE_INFO, HOB_STR("any.thing"), HOB_STR("t"), 1}, HOB_ERR_OK, ""},
		{"{\"rules\":{\"mesh.open\":\"error\"}}",
		 {HOB_NOTE_INFO, HOB_STR("mesh.open"), HOB_STR("t"), 1},
		 HOB_ERR_RULE,
		 "(mesh.open: error)"},
		{"{\"rules\":{\"mesh.open\":\"warning\"}}",
		 {HOB_NOTE_WARNING, HOB_STR("mesh.open"), HOB_STR("t"), 1},
		 HOB_ERR_OK,
		 ""},
		{"{\"rules\":{\"texture.missing\":\"error\"}}",
		 {HOB_NOTE_WARNING, HOB_STR("texture.unreadable"), HOB_STR("t"), 1},
		 HOB_ERR_RULE,
		 "(texture.missing: error)"},
		{"{\"portability\":\"fail\"}",
		 {HOB_NOTE_INFO, HOB_STR("file.twin"), HOB_STR("t"), 1},
		 HOB_ERR_RULE,
		 "(portability: fail)"},
		{"{\"budget\":{\"fail\":true}}",
		 {HOB_NOTE_WARNING, HOB_STR("budget.draws"), HOB_STR("t"), 1},
		 HOB_ERR_BUDGET,
		 "t"},
	};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++) {
		hob_settings settings = with(cases[i].settings);
		error = (hob_error){0};
		assert_int_equal(hob_rules_check(&settings, &cases[i].note, 1, &error), cases[i].code == HOB_ERR_OK);
		assert_int_equal(error.code, cases[i].code);
		assert_non_null(strstr(error.context, cases[i].why));
		assert_true(cases[i].code == HOB_ERR_OK || hob_rules_may_refuse(&settings));
	}
	hob_settings none = with("{}");
	assert_false(hob_rules_may_refuse(&none));
}

static void formats_that_cannot_know_are_listed(void **state)
{
	(void)state;
	assert_true(hob_rule_is_blind(HOB_RULE_clip_count, HOB_STR("OBJ")));
	assert_true(hob_rule_is_blind(HOB_RULE_clip_count, HOB_STR("amf")));
	assert_false(hob_rule_is_blind(HOB_RULE_clip_count, HOB_STR("glb")));
	assert_false(hob_rule_is_blind(HOB_RULE_clip_count, HOB_STR("")));
	assert_false(hob_rule_is_blind(HOB_RULE_mesh_open, HOB_STR("obj")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_key_holds_what_changes_a_result),
		cmocka_unit_test(a_printed_object_reads_back),
		cmocka_unit_test(wrong_rules_are_named),
		cmocka_unit_test(patterns_match_names),
		cmocka_unit_test(levels_decide_what_is_refused),
		cmocka_unit_test(formats_that_cannot_know_are_listed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

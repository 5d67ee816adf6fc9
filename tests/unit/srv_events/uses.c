#include "tests/unit/support.h"

#include "server/events/uses.h"

#include <stdio.h>

static uint64_t client(const char *address, const char *agent)
{
	return srv_uses_client((hob_bytes){(const uint8_t *)address, strlen(address)}, hob_str_of(agent));
}

static void only_what_connected_clients_asked_for_is_used(void **state)
{
	(void)state;
	srv_uses *uses = srv_uses_new();
	uint64_t game = client("10.0.0.1", "game/1"), tool = client("10.0.0.1", "tool/1");
	assert_int_not_equal(game, tool);
	assert_int_not_equal(game, client("10.0.0.2", "game/1"));
	srv_uses_note(uses, game, HOB_STR("art/duck.glb"));
	assert_false(srv_uses_has(uses, HOB_STR("art/duck.glb")));
	uint64_t before = srv_uses_changes(uses);
	srv_uses_join(uses, game, NULL, 0);
	assert_true(srv_uses_changes(uses) > before);
	assert_true(srv_uses_has(uses, HOB_STR("art/duck.glb")));
	assert_false(srv_uses_has(uses, HOB_STR("art/duck.glb2")));
	assert_false(srv_uses_has(uses, HOB_STR("art/duck")));
	srv_uses_note(uses, tool, HOB_STR("art/boat.glb"));
	assert_false(srv_uses_has(uses, HOB_STR("art/boat.glb")));
	before = srv_uses_changes(uses);
	srv_uses_note(uses, game, HOB_STR("art/duck.glb"));
	assert_int_equal(srv_uses_changes(uses), before);
	assert_int_equal(srv_uses_count(uses, game), 1);
	srv_uses_join(uses, game, NULL, 0);
	srv_uses_leave(uses, game, NULL, 0);
	assert_true(srv_uses_has(uses, HOB_STR("art/duck.glb")));
	srv_uses_leave(uses, game, NULL, 0);
	assert_false(srv_uses_has(uses, HOB_STR("art/duck.glb")));
	srv_uses_free(uses);
}

static void folders_and_patterns_cover_what_lies_below(void **state)
{
	(void)state;
	srv_uses *uses = srv_uses_new();
	uint64_t game = client("::1", "");
	const char *const globs[] = {"props/*.glb", "art/hero.fbx", "**"};
	srv_uses_note(uses, game, HOB_STR("art/level1"));
	srv_uses_join(uses, game, globs, HOB_COUNT_OF(globs));
	static const struct {
		const char *name;
		bool used;
	} cases[] = {{"art/level1/a/b.glb", true}, {"art/level12/a.glb", false}, {"art/props/duck.glb", true},
				 {"art/hero.fbx", true},	   {"art/other.fbx", false},	 {"art", false}};
	for (size_t i = 0; i < HOB_COUNT_OF(cases); i++)
		assert_int_equal(srv_uses_has(uses, hob_str_of(cases[i].name)), cases[i].used);
	srv_uses_join(uses, game, globs, 1);
	srv_uses_leave(uses, game, globs, HOB_COUNT_OF(globs));
	assert_true(srv_uses_has(uses, HOB_STR("art/props/duck.glb")));
	assert_false(srv_uses_has(uses, HOB_STR("art/hero.fbx")));
	srv_uses_leave(uses, game, globs, 1);
	srv_uses_free(uses);
}

static void memory_is_bounded_and_the_connected_stay(void **state)
{
	(void)state;
	srv_uses *uses = srv_uses_new();
	uint64_t stays = client("stays", "");
	srv_uses_join(uses, stays, NULL, 0);
	srv_uses_note(uses, stays, HOB_STR("art/kept.glb"));
	char name[64];
	for (int i = 0; i < SRV_USES_CLIENTS * 2; i++) {
		snprintf(name, sizeof name, "guest %d", i);
		srv_uses_note(uses, client(name, ""), HOB_STR("art/a.glb"));
	}
	assert_int_equal(srv_uses_count(uses, client("guest 0", "")), 0);
	snprintf(name, sizeof name, "guest %d", SRV_USES_CLIENTS * 2 - 1);
	assert_int_equal(srv_uses_count(uses, client(name, "")), 1);
	assert_true(srv_uses_has(uses, HOB_STR("art/kept.glb")));
	for (int i = 0; i < SRV_USES_NAMES; i++) {
		snprintf(name, sizeof name, "art/%d.glb", i);
		srv_uses_note(uses, stays, hob_str_of(name));
		assert_true(srv_uses_has(uses, hob_str_of(name)));
		assert_true(srv_uses_count(uses, stays) <= SRV_USES_NAMES);
	}
	srv_uses_free(uses);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_connected_clients_asked_for_is_used),
		cmocka_unit_test(folders_and_patterns_cover_what_lies_below),
		cmocka_unit_test(memory_is_bounded_and_the_connected_stay),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

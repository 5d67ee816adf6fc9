#include "tests/unit/support.h"

#include "server/cook/facts.h"

#include <string.h>

static char heard[64];
static srv_facts facts;

static void hear(void *user, const srv_fact *fact)
{
	(void)fact;
	strcat(heard, user);
}

static void causes_another(void *user, const srv_fact *fact)
{
	strcat(heard, "(");
	srv_facts_tell(&facts, &(srv_fact){.kind = SRV_FACT_ASSET_GONE, .asset = fact->asset + 1});
	strcat(heard, user);
}

static void hear_number(void *user, const srv_fact *fact)
{
	*(uint32_t *)user = fact->asset;
}

static int begin(void **state)
{
	(void)state;
	facts = (srv_facts){0};
	heard[0] = 0;
	return 0;
}

static void those_of_its_kind_hear_it_in_order(void **state)
{
	(void)state;
	srv_facts_on(&facts, SRV_FACT_SECOND, hear, "a");
	srv_facts_on(&facts, SRV_FACT_SOURCE_READ, hear, "other");
	srv_facts_on(&facts, SRV_FACT_SECOND, hear, "b");
	srv_facts_tell(&facts, &(srv_fact){.kind = SRV_FACT_SECOND});
	srv_facts_tell(&facts, &(srv_fact){.kind = SRV_FACT_ASSET_GONE});
	assert_string_equal(heard, "ab");
}

static void a_listener_may_cause_another_fact(void **state)
{
	(void)state;
	uint32_t gone = 0;
	srv_facts_on(&facts, SRV_FACT_ASSET_FAILED, causes_another, ")");
	srv_facts_on(&facts, SRV_FACT_ASSET_GONE, hear_number, &gone);
	srv_facts_tell(&facts, &(srv_fact){.kind = SRV_FACT_ASSET_FAILED, .asset = 6});
	assert_string_equal(heard, "()");
	assert_int_equal(gone, 7);
	assert_int_equal(facts.depth, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(those_of_its_kind_hear_it_in_order, begin),
		cmocka_unit_test_setup(a_listener_may_cause_another_fact, begin),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "facts.h"

#include <assert.h>

enum { DEPTH_MAX = 4 };

void srv_facts_on(srv_facts *facts, srv_fact_kind kind, srv_fact_hear *hear, void *user)
{
	assert(kind < SRV_FACT_KINDS && hear && facts->depth == 0);
	assert(facts->counts[kind] < SRV_FACT_LISTENERS);
	facts->listeners[kind][facts->counts[kind]].hear = hear;
	facts->listeners[kind][facts->counts[kind]++].user = user;
}

void srv_facts_tell(srv_facts *facts, const srv_fact *fact)
{
	assert(fact->kind < SRV_FACT_KINDS && facts->depth < DEPTH_MAX && "listeners cause each other");
	facts->depth++;
	for (uint32_t i = 0; i < facts->counts[fact->kind]; i++)
		facts->listeners[fact->kind][i].hear(facts->listeners[fact->kind][i].user, fact);
	facts->depth--;
}

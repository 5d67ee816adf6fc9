#include "compare_parts.h"

#include "../settings/rules.h"

#include <stdio.h>

static void say_rule(comparison *c, const char *rule, const uint32_t counts[2])
{
	char text[160], was[32] = "";
	bool worse = counts[1] > counts[0];
	c->tally.broken += worse;
	if (counts[0] > 0)
		snprintf(was, sizeof was, ", was %u", counts[0]);
	if (counts[1] > 0)
		snprintf(text, sizeof text, "the rule %s is broken by %u object%s%s", rule, counts[1],
				 counts[1] == 1 ? "" : "s", was);
	else
		snprintf(text, sizeof text, "the rule %s is kept again, was broken by %u object%s", rule, counts[0],
				 counts[0] == 1 ? "" : "s");
	hob_compare_say_rule(c, worse ? TONE_WARN : TONE_GOOD,
						 counts[0] == 0	  ? "broken"
						 : counts[1] == 0 ? "kept"
										  : "changed",
						 rule, counts, text);
}

void hob_compare_rules(comparison *c, hob_str was, hob_str now)
{
	const hob_str sides[2] = {was, now};
	uint32_t found[HOB_RULE_COUNT][2] = {{0}};
	for (int side = 0; side < 2; side++) {
		hob_rule_count counts[HOB_RULE_COUNT];
		uint32_t count = hob_rules_read_counts(NULL, sides[side], counts);
		for (uint32_t i = 0; i < count; i++) {
			found[counts[i].rule][side] = counts[i].count;
			c->tally.findings[side] += counts[i].count;
		}
	}
	for (uint32_t rule = 0; rule < HOB_RULE_COUNT; rule++)
		if (found[rule][0] != found[rule][1] && strcmp(hob_rule_table[rule].id, "texture.missing") != 0)
			say_rule(c, hob_rule_table[rule].id, found[rule]);
}

/* rules.h - checks the notes of a cook against the rules of its settings. Settings that are older than rules
 * (budget.fail, portability, shrunk, strict) act here as levels of rules. */
#ifndef HOB_RULES_H
#define HOB_RULES_H

#include "settings.h"

/* The rule's level in `rules`, or ERROR if an older setting demands it. */
hob_rule_level hob_rules_level(const hob_settings *settings, hob_rule rule);
/* The rule that judges notes of this code; HOB_RULE_COUNT: none. */
hob_rule hob_rules_of_note(hob_str code);
/* Sets the level of each note to that of the rule that judges it; notes without a rule keep theirs. */
void hob_rules_apply(const hob_settings *settings, hob_notes *notes);
/* Whether any note could be refused. If not, the notes of a kept result need not be read. */
bool hob_rules_may_refuse(const hob_settings *settings);
/* Fails with BUDGET or RULE if a rule refuses one of the notes; the message quotes as many of them as there
 * is room for. `strict` refuses warnings; a rule of level ERROR also refuses notes of the level INFO. */
bool hob_rules_check(const hob_settings *settings, const hob_note *notes, uint32_t count,
					 hob_error *err) HOB_MUST_CHECK;

/* How often a rule is broken, and its level. */
typedef struct hob_rule_count {
	uint16_t rule, level;
	uint32_t count;
} hob_rule_count;

/* Appends ,"findings":{"mesh.open":3}, the number of objects that break each rule; may append nothing. */
void hob_rules_print_counts(const hob_note *notes, uint32_t count, hob_buf *out);
/* Reads such counts out of `text`, in the order of the table; leaves out rules that `settings` turn off, if
 * not NULL. */
uint32_t hob_rules_read_counts(const hob_settings *settings, hob_str text,
							   hob_rule_count out[HOB_RULE_COUNT]);
/* Appends {"errors":0,"warnings":3,"infos":0}. */
void hob_rules_print_levels(const hob_rule_count *counts, uint32_t count, hob_buf *out);

#endif

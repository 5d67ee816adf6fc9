/* rules.h - holds the notes of a cook against the rules of its settings. Settings that are older than rules
 * (budget.fail, portability, shrunk, strict) are levels of rules here. */
#ifndef HOB_RULES_H
#define HOB_RULES_H

#include "settings.h"

/* The level of a rule: that of `rules`, or ERROR by an older setting. */
hob_rule_level hob_rules_level(const hob_settings *settings, hob_rule rule);
/* The rule that judges notes of this code; HOB_RULE_COUNT: none. */
hob_rule hob_rules_of_note(hob_str code);
/* Gives notes that a rule judges the level that was set for it; notes of other rules keep theirs. */
void hob_rules_apply(const hob_settings *settings, hob_notes *notes);
/* Whether any note could be refused: without, nobody needs to read the notes of a kept result. */
bool hob_rules_may_refuse(const hob_settings *settings);
/* Fails with BUDGET or RULE if a rule refuses one of the notes; the text gives the notes, as many as there is
 * room for. `strict` refuses warnings, an ERROR also notes of the level INFO. */
bool hob_rules_check(const hob_settings *settings, const hob_note *notes, uint32_t count,
					 hob_error *err) HOB_MUST_CHECK;

/* How often a rule is broken, and its level. */
typedef struct hob_rule_count {
	uint16_t rule, level;
	uint32_t count;
} hob_rule_count;

/* Appends ,"findings":{"mesh.open":3}: the objects that break each rule; nothing if there is none. */
void hob_rules_print_counts(const hob_note *notes, uint32_t count, hob_buf *out);
/* Reads them from the text around them, without rules that are off; in the order of the table. */
uint32_t hob_rules_read_counts(const hob_settings *settings, hob_str text,
							   hob_rule_count out[HOB_RULE_COUNT]);
/* Appends {"errors":0,"warnings":3,"infos":0}. */
void hob_rules_print_levels(const hob_rule_count *counts, uint32_t count, hob_buf *out);

#endif

/* rules.h - what a cook may not do according to its settings: the rules of schema/rules.def. */
#ifndef HOB_RULES_H
#define HOB_RULES_H

#include "../settings/settings.h"

/* Fails with BUDGET or RULE if a rule in `settings` refuses one of the notes; the text gives the notes, as
 * many as there is room for. `strict` refuses warnings only, other rules also notes of the level INFO. */
bool hob_rules_check(const hob_settings *settings, const hob_notes *notes, hob_error *err) HOB_MUST_CHECK;

#endif

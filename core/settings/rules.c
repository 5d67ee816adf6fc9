#include "rules.h"

#include <stdio.h>

static const struct {
	const char *code;
	hob_rule rule;
} judged[] = {
#define RULE_NOTE(name, code) {code, HOB_RULE_##name},
#include "../../schema/rules.def"
};

static const struct {
	hob_rule rule;
	size_t setting;
	const char *text;
} older[] = {
#define RULE_OLD(name, field, value) {HOB_RULE_##name, offsetof(hob_settings, field), value},
#include "../../schema/rules.def"
};

/* The older setting that makes the rule an error, NULL: none. */
static const char *older_error(const hob_settings *settings, hob_rule rule)
{
	for (size_t i = 0; i < HOB_COUNT_OF(older); i++)
		if (older[i].rule == rule && hob_load_u32((const uint8_t *)settings + older[i].setting) != 0)
			return older[i].text;
	return NULL;
}

hob_rule_level hob_rules_level(const hob_settings *settings, hob_rule rule)
{
	return older_error(settings, rule) ? HOB_LEVEL_ERROR : (hob_rule_level)settings->rules.level[rule];
}

hob_rule hob_rules_of_note(hob_str code)
{
	for (size_t i = 0; i < HOB_COUNT_OF(judged); i++)
		if (hob_str_starts(code, hob_str_of(judged[i].code)))
			return judged[i].rule;
	return hob_rule_find(code);
}

void hob_rules_apply(const hob_settings *settings, hob_notes *notes)
{
	for (uint32_t i = 0; i < notes->count; i++) {
		hob_rule rule = hob_rules_of_note(notes->items[i].code);
		if (rule < HOB_RULE_COUNT && settings->rules.level[rule] != (uint32_t)hob_rule_table[rule].level)
			notes->items[i].level =
				settings->rules.level[rule] >= HOB_LEVEL_WARNING ? HOB_NOTE_WARNING : HOB_NOTE_INFO;
	}
}

bool hob_rules_may_refuse(const hob_settings *settings)
{
	bool may = settings->strict != 0;
	for (uint32_t i = 0; i < HOB_RULE_COUNT; i++)
		may = may || hob_rules_level(settings, (hob_rule)i) == HOB_LEVEL_ERROR;
	return may;
}

bool hob_rules_check(const hob_settings *settings, const hob_note *notes, uint32_t count, hob_error *err)
{
	enum { ROOM = 190 };
	char text[ROOM + 1] = "", why[64] = "strict: true", more[24] = "";
	size_t len = 0;
	uint32_t refused = 0, shown = 0;
	bool budget = false;
	for (uint32_t i = 0; i < count; i++) {
		hob_rule rule = hob_rules_of_note(notes[i].code);
		bool error = rule < HOB_RULE_COUNT && hob_rules_level(settings, rule) == HOB_LEVEL_ERROR;
		if (!error && !(settings->strict && notes[i].level == HOB_NOTE_WARNING))
			continue;
		const char *old = error ? older_error(settings, rule) : NULL;
		if (error && refused == 0 && old)
			snprintf(why, sizeof why, "%s", old);
		else if (error && refused == 0)
			snprintf(why, sizeof why, "%s: error", hob_rule_table[rule].id);
		budget = budget || (error && old && hob_str_starts(notes[i].code, HOB_STR("budget.")));
		if (refused++ == 0 || notes[i].text.len + 2 <= ROOM - len) {
			int wrote = snprintf(text + len, sizeof text - len, "%s%.*s", shown++ > 0 ? "; " : "",
								 HOB_FMT(notes[i].text));
			len = len + (size_t)wrote < ROOM ? len + (size_t)wrote : ROOM;
		}
	}
	if (refused > shown)
		snprintf(more, sizeof more, "; %u more", refused - shown);
	return refused == 0 ||
		   (budget ? hob_fail(err, BUDGET, "%s", text) : hob_fail(err, RULE, "%s%s (%s)", text, more, why));
}

#include "rules.h"

#include <stddef.h>
#include <stdio.h>

#define SETTING_CHOICE(field, index, name)
#define RULE_NOTE(field, code)
#define SETTING(field, type, path, value, min, max, doc) RULE_##field,
enum {
	RULE_FIRST = -1,
#include "../../schema/rules.def"
};
#undef SETTING
#define SETTING(field, type, path, value, min, max, doc)                                                     \
	{path ": " VALUE_##type, offsetof(hob_settings, field)},
#define VALUE_flag	 "true"
#define VALUE_choice "fail"
static const struct {
	const char *text;
	size_t setting;
} rules[] = {
#include "../../schema/rules.def"
};
#undef SETTING
#undef RULE_NOTE
#define SETTING(field, type, path, value, min, max, doc)
#define RULE_NOTE(field, code) {code, RULE_##field},
static const struct {
	const char *code;
	int rule;
} refusals[] = {
#include "../../schema/rules.def"
};

/* The rule that refuses the note; -1: none. */
static int refused_by(const hob_settings *settings, const hob_note *note)
{
	for (size_t i = 0; i < HOB_COUNT_OF(refusals); i++)
		if (hob_load_u32((const uint8_t *)settings + rules[refusals[i].rule].setting) != 0 &&
			hob_str_starts(note->code, hob_str_of(refusals[i].code)) &&
			(refusals[i].code[0] || note->level == HOB_NOTE_WARNING))
			return refusals[i].rule;
	return -1;
}

bool hob_rules_check(const hob_settings *settings, const hob_notes *notes, hob_error *err)
{
	enum { ROOM = 190 };
	char text[ROOM + 1] = "", more[24] = "";
	size_t len = 0;
	uint32_t refused = 0, shown = 0;
	int rule = -1;
	for (uint32_t i = 0; i < notes->count; i++) {
		hob_str note = notes->items[i].text;
		int by = refused_by(settings, &notes->items[i]);
		if (by < 0)
			continue;
		rule = rule < 0 || rule == RULE_budget_fail ? by : rule;
		if (refused++ == 0 || note.len + 2 <= ROOM - len) {
			int wrote =
				snprintf(text + len, sizeof text - len, "%s%.*s", shown++ > 0 ? "; " : "", HOB_FMT(note));
			len = len + (size_t)wrote < ROOM ? len + (size_t)wrote : ROOM;
		}
	}
	if (refused > shown)
		snprintf(more, sizeof more, "; %u more", refused - shown);
	return refused == 0 ||
		   (rule == RULE_budget_fail ? hob_fail(err, BUDGET, "%s", text)
									 : hob_fail(err, RULE, "%s%s (%s)", text, more, rules[rule].text));
}

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

/* The older setting that turns the rule into an error; NULL: none. */
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

void hob_rules_print_counts(const hob_note *notes, uint32_t count, hob_buf *out)
{
	uint64_t found[HOB_RULE_COUNT + 1] = {0};
	const char *before = ",\"findings\":{";
	for (uint32_t i = 0; i < count; i++)
		found[hob_rules_of_note(notes[i].code)] += notes[i].count;
	for (uint32_t i = 0; i < HOB_RULE_COUNT; i++)
		if (found[i] > 0) {
			hob_buf_printf(out, "%s\"%s\":%llu", before, hob_rule_table[i].id, (unsigned long long)found[i]);
			before = ",";
		}
	hob_buf_put_str(out, before[1] ? (hob_str){0} : HOB_STR("}"));
}

uint32_t hob_rules_read_counts(const hob_settings *settings, hob_str text, hob_rule_count out[HOB_RULE_COUNT])
{
	hob_str name = HOB_STR("\"findings\":{");
	size_t at = hob_str_find(text, name, 0);
	uint32_t count = 0;
	for (at = at == SIZE_MAX ? text.len : at + name.len; at < text.len && text.data[at] == '"'; at++) {
		size_t end = hob_str_find(text, HOB_STR("\":"), at);
		if (end == SIZE_MAX || count == HOB_RULE_COUNT)
			break;
		hob_rule rule = hob_rule_find(hob_str_sub(text, at + 1, end));
		uint64_t found = 0;
		for (at = end + 2; at < text.len && text.data[at] >= '0' && text.data[at] <= '9'; at++)
			found = found < UINT32_MAX / 16 ? found * 10 + (uint64_t)(text.data[at] - '0') : found;
		hob_rule_level level = rule == HOB_RULE_COUNT ? HOB_LEVEL_OFF
							   : settings			  ? hob_rules_level(settings, rule)
													  : HOB_LEVEL_INFO;
		if (level != HOB_LEVEL_OFF)
			out[count++] = (hob_rule_count){(uint16_t)rule, (uint16_t)level, (uint32_t)found};
	}
	return count;
}

void hob_rules_print_levels(const hob_rule_count *counts, uint32_t count, hob_buf *out)
{
	uint64_t sums[4] = {0};
	for (uint32_t i = 0; i < count; i++)
		sums[counts[i].level] += counts[i].count;
	for (uint32_t level = HOB_LEVEL_ERROR; level > HOB_LEVEL_OFF; level--)
		hob_buf_printf(out, "%c\"%ss\":%llu", level == HOB_LEVEL_ERROR ? '{' : ',', hob_rule_levels[level],
					   (unsigned long long)sums[level]);
	hob_buf_put(out, "}", 1);
}

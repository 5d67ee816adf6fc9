#include "rule_settings.h"
#include "pattern.h"
#include "settings.h"

#include "../formats/number_text.h"

#include <cjson/cJSON.h>
#include <stdio.h>

const char *const hob_rule_levels[4] = {"off", "info", "warning", "error"};

const hob_rule_info hob_rule_table[HOB_RULE_COUNT] = {
#define RULE(name, id, level, first, a, second, b, blind, fault, meaning, mend)                              \
	{id, HOB_LEVEL_##level, {first, second}, {(float)(a), (float)(b)}, blind, fault, meaning, mend},
#include "../../schema/rules.def"
};

static const struct {
	const char *profile;
	hob_rule rule;
	hob_rule_level level;
	float values[2];
} profiles[] = {
#define RULE_PROFILE(profile, name, level, a, b)                                                             \
	{#profile, HOB_RULE_##name, HOB_LEVEL_##level, {(float)(a), (float)(b)}},
#include "../../schema/rules.def"
};

/* Whether `deep` makes a difference: a rule that depends on it is on. */
static bool is_deep(const hob_setting_rules *rules)
{
	static const hob_rule deep[] = {
#define RULE_DEEP(name) HOB_RULE_##name,
#include "../../schema/rules.def"
	};
	bool any = false;
	for (size_t i = 0; i < HOB_COUNT_OF(deep); i++)
		any = any || rules->level[deep[i]] != HOB_LEVEL_OFF;
	return rules->deep && any;
}

void hob_rules_init(hob_setting_rules *rules)
{
	memset(rules, 0, sizeof *rules);
	for (uint32_t i = 0; i < HOB_RULE_COUNT; i++) {
		rules->level[i] = hob_rule_table[i].level;
		memcpy(rules->value[i], hob_rule_table[i].values, sizeof rules->value[i]);
	}
}

hob_rule hob_rule_find(hob_str id)
{
	uint32_t rule = 0;
	while (rule < HOB_RULE_COUNT && !hob_str_equal(id, hob_str_of(hob_rule_table[rule].id)))
		rule++;
	return (hob_rule)rule;
}

hob_str hob_rule_near(hob_str id)
{
	hob_str best = {0};
	size_t best_distance = HOB_NEAR_EDITS + 1, distance;
	for (uint32_t i = 0; i < HOB_RULE_COUNT; i++) {
		hob_str near = hob_key_near(id, hob_str_of(hob_rule_table[i].id), &distance);
		if (distance < best_distance && distance < id.len) {
			best_distance = distance;
			best = near;
		}
	}
	return best;
}

int hob_rule_side(const hob_setting_rules *rules, hob_rule rule, double value)
{
	const char *first = hob_rule_table[rule].parameters[0];
	if (strcmp(first, "min") == 0 && value < (double)rules->value[rule][0])
		return -1;
	return strcmp(first, "min") == 0 || strcmp(first, "max") == 0;
}

double hob_rule_together(int side, double a, double b)
{
	return side == 0 ? a + b : (a < b) == (side > 0) ? b : a;
}

bool hob_rule_is_blind(hob_rule rule, hob_str extension)
{
	hob_str list = hob_str_of(hob_rule_table[rule].blind);
	for (size_t at = 0, end; at < list.len; at = end + 1) {
		end = hob_str_find(list, HOB_STR(" "), at);
		end = end == SIZE_MAX ? list.len : end;
		if (hob_str_equal_nocase(extension, hob_str_sub(list, at, end)))
			return true;
	}
	return false;
}

/* ---- reading */

static bool read_level(const cJSON *item, uint32_t *level)
{
	for (uint32_t i = 0; cJSON_IsString(item) && i < HOB_COUNT_OF(hob_rule_levels); i++)
		if (strcmp(item->valuestring, hob_rule_levels[i]) == 0) {
			*level = i;
			return true;
		}
	return false;
}

static bool fail_near(hob_str origin, const char *name, hob_str near, hob_error *err)
{
	if (near.len > 0)
		return hob_fail(err, CONFIG, "%.*s: unknown rule '%.60s'; did you mean '%.*s'?", HOB_FMT(origin),
						name, HOB_FMT(near));
	return hob_fail(err, CONFIG, "%.*s: unknown rule '%.60s'; 'hob check --explain all' lists the rules",
					HOB_FMT(origin), name);
}

static bool read_profile(hob_setting_rules *rules, const cJSON *item, hob_str origin, hob_error *err)
{
	const char *name = cJSON_IsString(item) ? item->valuestring : "", *last = "";
	char names[64] = "";
	bool found = false;
	for (size_t i = 0; i < HOB_COUNT_OF(profiles); i++) {
		if (strcmp(last, profiles[i].profile) != 0)
			snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", last[0] ? ", " : "",
					 profiles[i].profile);
		last = profiles[i].profile;
		if (strcmp(name, last) != 0)
			continue;
		if (!found)
			hob_rules_init(rules);
		found = true;
		rules->level[profiles[i].rule] = profiles[i].level;
		memcpy(rules->value[profiles[i].rule], profiles[i].values, sizeof profiles[i].values);
	}
	return found || hob_fail(err, CONFIG, "%.*s: 'profile' must be one of %s, not '%.60s'", HOB_FMT(origin),
							 names, name);
}

static bool read_parameter(hob_setting_rules *rules, uint32_t rule, const cJSON *item, hob_str origin,
						   hob_error *err)
{
	const hob_rule_info *info = &hob_rule_table[rule];
	const char *id = info->id, *name = item->string;
	if (strcmp(name, "level") == 0)
		return read_level(item, &rules->level[rule]) ||
			   hob_fail(err, CONFIG, "%.*s: 'level' of the rule '%s' must be off, info, warning or error",
						HOB_FMT(origin), id);
	uint32_t which = strcmp(name, info->parameters[0]) == 0 ? 0 : strcmp(name, info->parameters[1]) == 0;
	if (!name[0] || strcmp(name, info->parameters[which]) != 0)
		return hob_fail(err, CONFIG, "%.*s: the rule '%s' has no parameter '%.40s'; it has level%s%s%s%s",
						HOB_FMT(origin), id, name, info->parameters[0][0] ? ", " : "", info->parameters[0],
						info->parameters[1][0] ? ", " : "", info->parameters[1]);
	if (rule < HOB_RULE_PATTERNS && strcmp(name, "match") == 0) {
		hob_str text = hob_str_of(cJSON_GetStringValue(item));
		if (!cJSON_IsString(item) || text.len >= HOB_RULE_PATTERN_BYTES || !hob_pattern_valid(text))
			return hob_fail(
				err, CONFIG,
				"%.*s: 'match' of the rule '%s' must be a pattern of at most %d bytes of letters, "
				"., [a-z], \\d, \\w, *, +, ?, |, ^ and $, without groups: A$|B$",
				HOB_FMT(origin), id, HOB_RULE_PATTERN_BYTES - 1);
		memset(rules->match[rule], 0, HOB_RULE_PATTERN_BYTES);
		memcpy(rules->match[rule], text.data, text.len);
		return true;
	}
	bool flag = strcmp(name, "power_of_two") == 0;
	double value = flag && cJSON_IsBool(item) ? cJSON_IsTrue(item) : cJSON_GetNumberValue(item);
	if (!(value >= 0 && value <= (flag ? 1 : 1e12)))
		return hob_fail(err, CONFIG, "%.*s: '%s' of the rule '%s' must be %s", HOB_FMT(origin), name, id,
						flag ? "true or false" : "a number from 0 to 1e12");
	rules->value[rule][which] = (float)value;
	return true;
}

static bool read_rule(hob_setting_rules *rules, const cJSON *item, hob_str origin, hob_error *err)
{
	static const char *const others[] = {"profile", "deep"};
	hob_str key = hob_str_of(item->string);
	hob_rule rule = hob_rule_find(key);
	for (size_t i = 0; i < HOB_COUNT_OF(others) && rule == HOB_RULE_COUNT; i++)
		if (hob_str_distance(key, hob_str_of(others[i])) <= HOB_NEAR_EDITS)
			return fail_near(origin, item->string, hob_str_of(others[i]), err);
	if (rule == HOB_RULE_COUNT)
		return fail_near(origin, item->string, hob_rule_near(key), err);
	if (!cJSON_IsObject(item))
		return read_level(item, &rules->level[rule]) ||
			   hob_fail(err, CONFIG,
						"%.*s: the rule '%s' must be off, info, warning, error, or an object with level%s%s",
						HOB_FMT(origin), item->string, hob_rule_table[rule].parameters[0][0] ? " and " : "",
						hob_rule_table[rule].parameters[0]);
	if (rules->level[rule] == HOB_LEVEL_OFF)
		rules->level[rule] = HOB_LEVEL_WARNING;
	for (const cJSON *part = item->child; part; part = part->next)
		if (strncmp(part->string, "//", 2) != 0 && !(hob_settings_first_of_name(item, part, origin, err) &&
													 read_parameter(rules, rule, part, origin, err)))
			return false;
	return true;
}

bool hob_rules_overlay(hob_setting_rules *rules, const cJSON *item, hob_str origin, hob_error *err)
{
	if (!cJSON_IsObject(item))
		return hob_fail(err, CONFIG,
						"%.*s: 'rules' must be an object of rules, as {\"mesh.open\": \"error\"}",
						HOB_FMT(origin));
	const cJSON *profile = cJSON_GetObjectItemCaseSensitive(item, "profile");
	const cJSON *deep = cJSON_GetObjectItemCaseSensitive(item, "deep");
	if (profile && !read_profile(rules, profile, origin, err))
		return false;
	if (deep && !cJSON_IsBool(deep))
		return hob_fail(err, CONFIG, "%.*s: 'deep' of the rules must be true or false", HOB_FMT(origin));
	for (const cJSON *rule = item->child; rule; rule = rule->next)
		if (rule != profile && rule != deep && strncmp(rule->string, "//", 2) != 0 &&
			!(hob_settings_first_of_name(item, rule, origin, err) && read_rule(rules, rule, origin, err)))
			return false;
	rules->deep = deep ? cJSON_IsTrue(deep) != 0 : rules->deep;
	return true;
}

/* ---- writing */

static bool is_default(const hob_setting_rules *rules, uint32_t rule, uint32_t level)
{
	return level == hob_rule_table[rule].level && (rule >= HOB_RULE_PATTERNS || !rules->match[rule][0]) &&
		   memcmp(rules->value[rule], hob_rule_table[rule].values, sizeof rules->value[rule]) == 0;
}

bool hob_rules_are_default(const hob_setting_rules *rules)
{
	bool same = !rules->deep;
	for (uint32_t i = 0; i < HOB_RULE_COUNT; i++)
		same = same && is_default(rules, i, rules->level[i]);
	return same;
}

void hob_rules_print(const hob_setting_rules *rules, hob_buf *out)
{
	size_t begin = out->size;
	for (uint32_t i = 0; i < HOB_RULE_COUNT; i++) {
		const hob_rule_info *info = &hob_rule_table[i];
		if (is_default(rules, i, rules->level[i]))
			continue;
		hob_buf_printf(out, "%s\"%s\":{\"level\":\"%s\"", out->size > begin ? "," : "{", info->id,
					   hob_rule_levels[rules->level[i]]);
		if (i < HOB_RULE_PATTERNS) {
			hob_buf_put_str(out, HOB_STR(",\"match\":"));
			hob_buf_put_json(out, hob_str_of(rules->match[i]));
		}
		for (uint32_t p = 0; i >= HOB_RULE_PATTERNS && p < 2 && info->parameters[p][0]; p++) {
			hob_buf_printf(out, ",\"%s\":", info->parameters[p]);
			hob_put_f32(out, rules->value[i][p]);
		}
		hob_buf_put(out, "}", 1);
	}
	if (rules->deep)
		hob_buf_printf(out, "%s\"deep\":true", out->size > begin ? "," : "{");
	hob_buf_put_str(out, out->size > begin ? HOB_STR("}") : HOB_STR("{}"));
}

void hob_rules_schema(hob_buf *out)
{
	static const char level[] = "{\"enum\":[\"off\",\"info\",\"warning\",\"error\"]}";
	hob_buf_put_str(out, HOB_STR("{\"type\":\"object\",\"additionalProperties\":false,\"patternProperties\":{"
								 "\"^//\":{}},\"properties\":{\"profile\":{\"enum\":["));
	for (size_t i = 0; i < HOB_COUNT_OF(profiles); i++)
		if (i == 0 || strcmp(profiles[i].profile, profiles[i - 1].profile) != 0)
			hob_buf_printf(out, "%s\"%s\"", i > 0 ? "," : "", profiles[i].profile);
	hob_buf_put_str(out, HOB_STR("]},\"deep\":{\"type\":\"boolean\"}"));
	for (uint32_t i = 0; i < HOB_RULE_COUNT; i++) {
		const hob_rule_info *info = &hob_rule_table[i];
		hob_buf_printf(out, ",\"%s\":{\"description\":", info->id);
		hob_buf_put_json(out, hob_str_of(info->meaning));
		hob_buf_printf(out,
					   ",\"anyOf\":[%s,{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{"
					   "\"level\":%s",
					   level, level);
		for (uint32_t p = 0; p < 2 && info->parameters[p][0]; p++)
			hob_buf_printf(out, ",\"%s\":{\"type\":%s}", info->parameters[p],
						   i < HOB_RULE_PATTERNS							  ? "\"string\""
						   : strcmp(info->parameters[p], "power_of_two") == 0 ? "[\"boolean\",\"number\"]"
																			  : "\"number\"");
		hob_buf_put_str(out, HOB_STR("}}]}"));
	}
	hob_buf_put_str(out, HOB_STR("}}"));
}

void hob_rules_hash(const hob_setting_rules *rules, hob_keyer *keyer)
{
	for (uint32_t i = 0; i < HOB_RULE_COUNT; i++) {
		uint32_t level = rules->level[i];
		if (level == HOB_LEVEL_ERROR && i != HOB_RULE_file_portability)
			level = HOB_LEVEL_WARNING;
		if (is_default(rules, i, level))
			continue;
		hob_key_u64(keyer, hob_rule_table[i].id, level | HOB_RULES_VERSION << 4);
		hob_key_f32(keyer, "first", rules->value[i][0]);
		hob_key_f32(keyer, "second", rules->value[i][1]);
		if (i < HOB_RULE_PATTERNS)
			hob_key_str(keyer, "match", hob_str_of(rules->match[i]));
	}
	if (is_deep(rules))
		hob_key_u64(keyer, "deep", 1);
}

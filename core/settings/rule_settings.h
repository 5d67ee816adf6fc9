/* rule_settings.h - the rules of schema/rules.def: their table, and the setting `rules` as a struct with
 * parser, printer and hash.
 *
 *   { "mesh.open": "error", "mesh.triangles": { "max": 20000, "level": "warning" }, "profile": "game" }
 *
 * "deep": true adds the expensive checks; `hob check --deep` sets it. A profile resets all rules to its
 * values, wherever it is in the object; the other members change single rules. An object without "level"
 * turns its rule on. */
#ifndef HOB_RULE_SETTINGS_H
#define HOB_RULE_SETTINGS_H

#include "../base/base.h"
#include "../hash/hash.h"

typedef enum hob_rule {
#define RULE(name, id, level, first, a, second, b, blind, fault, meaning, mend) HOB_RULE_##name,
#include "../../schema/rules.def"
	HOB_RULE_COUNT
} hob_rule;

typedef enum hob_rule_level {
	HOB_LEVEL_OFF,
	HOB_LEVEL_INFO,
	HOB_LEVEL_WARNING,
	HOB_LEVEL_ERROR
} hob_rule_level;
extern const char *const hob_rule_levels[4];

/* Raise it when core/check finds other things in an unchanged model: models with rules are cooked again. */
enum { HOB_RULES_VERSION = 5, HOB_RULE_OBJECTS = 64 }; /* objects: listed for a model, see core/check */
enum { HOB_RULE_PATTERNS = HOB_RULE_name_clip + 1, HOB_RULE_PATTERN_BYTES = 64 };

typedef struct hob_rule_info {
	const char *id;
	hob_rule_level level;	   /* default */
	const char *parameters[2]; /* "": no parameter */
	float values[2];		   /* defaults */
	const char *blind, *fault, *meaning, *mend;
} hob_rule_info;
extern const hob_rule_info hob_rule_table[HOB_RULE_COUNT];

typedef struct hob_setting_rules {
	uint32_t level[HOB_RULE_COUNT];
	float value[HOB_RULE_COUNT][2];
	char match[HOB_RULE_PATTERNS]
			  [HOB_RULE_PATTERN_BYTES]; /* of the first HOB_RULE_PATTERNS rules; unused bytes are 0 */
	uint32_t deep;
} hob_setting_rules;

void hob_rules_init(hob_setting_rules *rules);
/* item: the value of "rules". A CONFIG error names the rule or parameter, `origin` and the nearest known
 * name; *rules may then be partly changed. */
struct cJSON;
bool hob_rules_overlay(hob_setting_rules *rules, const struct cJSON *item, hob_str origin,
					   hob_error *err) HOB_MUST_CHECK;
bool hob_rules_are_default(const hob_setting_rules *rules);
/* Appends the rules that differ from the default as an object. */
void hob_rules_print(const hob_setting_rules *rules, hob_buf *out);
/* Appends the JSON Schema of the object. */
void hob_rules_schema(hob_buf *out);
/* Hashes the rules that differ from the default, so that a cook without `rules` keeps its key. ERROR is
 * hashed as WARNING, because the result is the same and is judged afterwards; the exception is
 * file.portability, which searches for more if it is an error. */
void hob_rules_hash(const hob_setting_rules *rules, hob_keyer *keyer);

/* The rule with this id; HOB_RULE_COUNT: none. */
hob_rule hob_rule_find(hob_str id);
/* The id closest to `id`, empty if none is close. */
hob_str hob_rule_near(hob_str id);
/* Whether the value is a measure below (-1) or above (1) a bound of the rule; 0: it is a number of faults. */
int hob_rule_side(const hob_setting_rules *rules, hob_rule rule, double value);
/* The value of two faulty objects together: the worse measure, or all faults. */
double hob_rule_together(int side, double a, double b);
/* Whether files with this extension lack the data that the rule needs. */
bool hob_rule_is_blind(hob_rule rule, hob_str extension);

#endif

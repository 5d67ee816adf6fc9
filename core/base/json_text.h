/* json_text.h - parses the JSON text of a source file into a tree of cJSON items. */
#ifndef HOB_JSON_TEXT_H
#define HOB_JSON_TEXT_H

#include "base.h"

#include <cjson/cJSON.h>

/* Strict RFC 8259 in one pass without recursion. Two to four times as fast as cJSON_Parse (the tests compare
 * both), because nodes come from `arena` and strings are unescaped in one copy of the text. The tree is
 * read-only: type, next, child, string, valuestring and valuedouble are set; nothing in it was malloc'ed, so
 * no cJSON function that changes or frees may see it. Of equal keys, hob_json_get finds the first.
 * repaired    set when \u0000 or half of a surrogate pair became U+FFFD
 * Errors      CORRUPT with line and column, LIMIT when nested deeper than HOB_LIMIT_JSON_DEPTH, MEMORY */
bool hob_json_parse(hob_arena *arena, hob_str text, const cJSON **out, bool *repaired,
					hob_error *err) HOB_MUST_CHECK;

/* The member `key` of an object; NULL when it is absent or null, or `object` is no object. */
const cJSON *hob_json_get(const cJSON *object, const char *key);

#endif

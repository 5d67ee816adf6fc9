/* agent_json.h - reads JSON without building a tree: a value is the slice of its text.
 *
 * Only for texts that hob_json_valid has accepted. */
#ifndef AGENT_JSON_H
#define AGENT_JSON_H

#include "../../core/base/base.h"

/* The value of a member of an object; empty if there is none or it is no object. */
hob_str agent_json_member(hob_str object, const char *name);
/* Takes the next item off an array (initially the whole array); false at its end. */
bool agent_json_next(hob_str *array, hob_str *item);
/* Replaces *out by the text of a string; false if it is none. */
bool agent_json_text(hob_str value, hob_buf *out);
int64_t agent_json_number(hob_str value); /* the whole part; 0 if it is none */
bool agent_json_true(hob_str value);

#endif

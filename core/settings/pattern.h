/* pattern.h - patterns for names: regular expressions without groups and counts.
 *
 * An atom is a character, ".", "[a-z_]", "[^a-z]", "\d" (a digit), "\w" (a letter, digit or "_") or "\"
 * before a character that stands for itself; "*", "+" or "?" may follow it. "|" separates alternatives; "^"
 * and "$" are allowed at the ends of each, and without them it may match anywhere. Matching is by byte, not
 * by character. */
#ifndef HOB_PATTERN_H
#define HOB_PATTERN_H

#include "../base/base.h"

bool hob_pattern_valid(hob_str pattern);
/* `pattern`: valid, at most 63 bytes; an empty one matches everything. O(bytes of text). */
bool hob_pattern_match(hob_str pattern, hob_str text);

#endif

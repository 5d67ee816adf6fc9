/* usd_lex.h - words, numbers, strings and values of USD's text format (usd_lex.c, usd_text_value.c), for
 * usd_text.c. */
#ifndef HOB_USD_LEX_H
#define HOB_USD_LEX_H

#include "usd_private.h"

typedef struct hob_usd_lex {
	hob_usd *u;
	const char *start, *at, *end;
	hob_str prim; /* path of the current prim, base of relative paths */
	hob_error *err;
} hob_usd_lex;

/* CORRUPT with line and column; `expected` completes "expected ...". */
bool hob_usd_lex_fail(hob_usd_lex *l, const char *expected);
/* Skips blanks, line ends and comments. */
void hob_usd_lex_skip(hob_usd_lex *l);
/* Consumes `c` if it is next. */
bool hob_usd_lex_take(hob_usd_lex *l, char c);
bool hob_usd_lex_need(hob_usd_lex *l, char c) HOB_MUST_CHECK;
char hob_usd_lex_peek(hob_usd_lex *l); /* the next significant character; 0 at the end */
/* Letters, digits, "_", ":" and bytes above 127; empty when there are none. */
hob_str hob_usd_lex_word(hob_usd_lex *l);
/* Consumes `word` if it is the next whole word. */
bool hob_usd_lex_take_word(hob_usd_lex *l, const char *word);
/* A text between one or three single or double quotes; escapes are resolved. */
bool hob_usd_lex_string(hob_usd_lex *l, hob_str *out) HOB_MUST_CHECK;
bool hob_usd_lex_asset(hob_usd_lex *l, hob_str *out) HOB_MUST_CHECK; /* @...@ @@@...@@@ */
bool hob_usd_lex_path(hob_usd_lex *l, hob_str *out) HOB_MUST_CHECK;	 /* <...>, made absolute; empty for <> */

/* A value of type `type`; without one (metadata) its first character decides. Unknown types are skipped. */
bool hob_usd_lex_value(hob_usd_lex *l, hob_str type, hob_usd_value *out) HOB_MUST_CHECK;
bool hob_usd_lex_samples(hob_usd_lex *l, hob_str type, hob_usd_value *out) HOB_MUST_CHECK;
bool hob_usd_lex_dictionary(hob_usd_lex *l, hob_usd_value *out) HOB_MUST_CHECK;
/* { <from>: <to>, ... } as one array of texts, alternating from and to. */
bool hob_usd_lex_relocates(hob_usd_lex *l, hob_usd_value *out) HOB_MUST_CHECK;
/* References, paths, names or sublayers: one, several in brackets, or None; added to `list` under `op`. Items
 * of `arcs` may be followed by an offset, those of a property by the property's metadata. */
bool hob_usd_lex_list(hob_usd_lex *l, hob_usd_op op, bool arcs, hob_usd_list *list) HOB_MUST_CHECK;

#endif

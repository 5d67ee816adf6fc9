/* text.h - helpers shared by the text readers of this folder. */
#ifndef HOB_IMPORT_TEXT_H
#define HOB_IMPORT_TEXT_H

#include "../base/base.h"

/* A name fit for a model, copied into `arena`: trimmed, bytes that are not UTF-8 read as Latin-1, control
 * characters replaced by a space, cut at HOB_LIMIT_NAME_BYTES between characters. */
hob_str hob_text_name(hob_arena *arena, hob_str raw);

/* Removes the next line from *rest; LF, CR and CRLF end a line. False when *rest is empty. */
bool hob_text_line(hob_str *rest, hob_str *line);
/* Removes the next word from *line; blanks are spaces and control characters. Empty when there is none. */
hob_str hob_text_word(hob_str *line);
uint32_t hob_text_count_words(hob_str text);
/* A file's own name: the part after the last slash or backslash, or after a drive's colon. */
hob_str hob_text_last_part(hob_str path);
hob_str hob_text_trim(hob_str s);
/* A list of words for hob_text_index and its like. */
#define HOB_WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})
/* The index of a word in a list that NULL ends; the list's length when it is not there. */
size_t hob_text_index(hob_str word, const char *const *words);
bool hob_text_is_one_of(hob_str word, const char *const *words);
int hob_text_hex(char digit); /* 0..15; -1: no hexadecimal digit */
/* Skips a UTF-8 byte order mark. UTF-16 text (recognised by its byte order mark) is converted into `arena`;
 * otherwise the result borrows `file`. */
hob_str hob_text_decode(hob_arena *arena, hob_bytes file);

#endif

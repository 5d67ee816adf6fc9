/* text.h - small helpers that every text reader of this folder shares. */
#ifndef HOB_IMPORT_TEXT_H
#define HOB_IMPORT_TEXT_H

#include "../base/base.h"

/* A name fit for a model: blanks at both ends dropped, bytes that are not UTF-8 read as Latin-1, control
 * characters replaced by a space, cut at HOB_LIMIT_NAME_BYTES between characters. Copied into `arena`; data
 * == NULL only when memory is short. */
hob_str hob_text_name(hob_arena *arena, hob_str raw);

/* Takes the next line off *rest; LF, CR and CRLF end one. False when *rest is empty. */
bool hob_text_line(hob_str *rest, hob_str *line);
/* Takes the next word off *line; blanks are spaces and control characters. Empty when there is none. */
hob_str hob_text_word(hob_str *line);
uint32_t hob_text_count_words(hob_str text);
/* The part behind the last slash or backslash, or behind the colon of a drive: a file's own name. */
hob_str hob_text_last_part(hob_str path);
/* Without blanks at both ends. */
hob_str hob_text_trim(hob_str s);
/* Skips a UTF-8 byte order mark. Text in UTF-16 (recognised by its byte order mark) is converted; the result
 * lives in `arena` then, else it borrows. data == NULL only when memory is short. */
hob_str hob_text_decode(hob_arena *arena, hob_bytes file);

#endif

/* wrap.h - text for people in the width of their terminal. */
#ifndef CLI_WRAP_H
#define CLI_WRAP_H

#include "../../core/base/base.h"

/* Columns of `fd`'s terminal, at most 120; 80 when it is not a terminal. COLUMNS wins, however large. */
uint32_t srv_cli_width(int fd);
/* Appends text. Paragraphs are filled to `width`; every line after the first begins with `indent` spaces; the
 * first one starts at column `at`. Lines that begin with a space stay as they are, but are broken if they are
 * too long. */
void srv_cli_wrap(hob_buf *out, hob_str text, uint32_t at, uint32_t indent, uint32_t width);
/* Prints lines that hold foreign names (srv_plain_lines). In a terminal a line that is too long goes on in
 * the next one, indented; words are never broken. */
void srv_cli_print_lines(hob_str text);

#endif

/* wrap.h - wraps text to the width of the terminal. */
#ifndef CLI_WRAP_H
#define CLI_WRAP_H

#include "../../core/base/base.h"

/* Columns of `fd`'s terminal, at most 120; 80 if it is not a terminal. COLUMNS overrides both. */
uint32_t srv_cli_width(int fd);
/* Appends text. Paragraphs are filled to `width`; every line after the first begins with `indent` spaces; the
 * first starts at column `at`. Lines that begin with a space are kept, but broken if they are too long. */
void srv_cli_wrap(hob_buf *out, hob_str text, uint32_t at, uint32_t indent, uint32_t width);
/* Prints lines that contain foreign names (srv_plain_lines). On a terminal, long lines continue on the next
 * one, indented; words are not broken. */
void srv_cli_print_lines(hob_str text);

#endif

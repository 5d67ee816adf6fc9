#include "cli.h"

#include "../../core/base/json_write.h"
#include "../../core/base/pieces.h"
#include "../log/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { WIDTH_DEFAULT = 80, WIDTH_MAX = 120, WIDTH_MIN = 40 };

uint32_t srv_cli_width(int fd)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size = {0};
	unsigned long asked = columns ? strtoul(columns, NULL, 10) : 0;
	if (asked >= WIDTH_MIN && asked < 10000)
		return (uint32_t)asked;
	if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col < WIDTH_MIN)
		return WIDTH_DEFAULT;
	return size.ws_col < WIDTH_MAX ? size.ws_col : WIDTH_MAX;
}

/* Counts columns, not bytes: continuation bytes of UTF-8 and colours (ESC [ ... m) take none. */
static uint32_t columns_of(hob_str word)
{
	uint32_t count = 0;
	bool color = false;
	for (size_t i = 0; i < word.len; i++) {
		color = color || word.data[i] == '\033';
		count += !color && ((unsigned char)word.data[i] & 0xC0) != 0x80;
		color = color && word.data[i] != 'm';
	}
	return count;
}

static void new_line(hob_buf *out, uint32_t indent, uint32_t *at)
{
	hob_buf_put(out, "\n", 1);
	for (uint32_t i = 0; i < indent; i++)
		hob_buf_put(out, " ", 1);
	*at = indent;
}

static void put_line(hob_buf *out, hob_str line, uint32_t *at, uint32_t indent, uint32_t width)
{
	bool first = true; /* first word of this line: leading spaces are kept */
	for (size_t i = 0; i < line.len;) {
		size_t begin = i;
		while (i < line.len && line.data[i] == ' ')
			i++;
		size_t word_at = i;
		while (i < line.len && line.data[i] != ' ')
			i++;
		hob_str gap = hob_str_sub(line, begin, word_at), word = hob_str_sub(line, word_at, i);
		uint32_t size = columns_of(word);
		if (!first && *at > indent && *at + gap.len + size > width) {
			new_line(out, indent, at);
		} else {
			hob_buf_put_str(out, gap);
			*at += (uint32_t)gap.len;
		}
		hob_buf_put_str(out, word);
		*at += size;
		first = false;
	}
}

void srv_cli_wrap(hob_buf *out, hob_str text, uint32_t at, uint32_t indent, uint32_t width)
{
	bool filled = false; /* the previous line may be continued */
	for (size_t i = 0; i < text.len;) {
		size_t end = hob_str_find(text, HOB_STR("\n"), i);
		end = end == SIZE_MAX ? text.len : end;
		hob_str line = hob_str_sub(text, i, end);
		bool kept = line.len == 0 || line.data[0] == ' ' || line.data[line.len - 1] == ':';
		uint32_t deeper = 0;
		while (deeper < line.len && line.data[deeper] == ' ')
			deeper++;
		if (i > 0 && filled && line.len > 0 && line.data[0] != ' ') {
			hob_buf_put(out, " ", 1);
			hob_str word = hob_str_sub(line, 0, hob_str_find(line, HOB_STR(" "), 0));
			if (at + 1 + columns_of(word) > width) {
				out->size--;
				new_line(out, indent, &at);
			} else {
				at++;
			}
		} else if (i > 0) {
			new_line(out, line.len > 0 ? indent : 0, &at);
		}
		put_line(out, line, &at, indent + (deeper > 0 ? deeper + 2 : 0), width);
		filled = !kept;
		i = end + 1;
	}
}

void srv_cli_print_field(uint32_t column, const char *text, const char *fmt, ...)
{
	char left[128];
	hob_own_buf out = {0};
	va_list args;
	va_start(args, fmt);
	vsnprintf(left, sizeof left, fmt, args);
	va_end(args);
	srv_cli_wrap(&out, hob_str_of(text), columns_of(hob_str_of(left)), column, srv_cli_width(1));
	printf("%s%.*s\n", left, HOB_FMT(hob_buf_str(&out)));
}

void srv_cli_print_verdict(const char *name, bool holds, hob_str text)
{
	hob_buf out = {0};
	hob_json_put(&out, HOB_JSON_OPEN(NULL, '{'), HOB_JSON_BOOL(name, holds), HOB_JSON_OPEN("lines", '['));
	while (text.len > 0)
		hob_json_str(&out, hob_str_next(&text, '\n'));
	hob_json_put(&out, HOB_JSON_CLOSE(']'), HOB_JSON_CLOSE('}'));
	printf("%.*s\n", HOB_FMT(hob_buf_str(&out)));
	hob_buf_release(&out);
}

void srv_cli_print_lines(hob_str text)
{
	enum { DEEPER = 4 };
	hob_own_buf plain = {0}, out = {0};
	hob_buf_put_str(&plain, text);
	hob_buf_put(&plain, "", 1);
	if (plain.failed)
		return;
	srv_plain_lines((char *)plain.data);
	text = (hob_str){(const char *)plain.data, plain.size - 1};
	if (!isatty(1)) {
		fwrite(text.data, 1, text.len, stdout);
		return;
	}
	uint32_t width = srv_cli_width(1);
	for (size_t i = 0, end; i < text.len; i = end + 1) {
		uint32_t at = 0, indent = 0;
		end = hob_str_find(text, HOB_STR("\n"), i);
		end = end == SIZE_MAX ? text.len : end;
		hob_str line = hob_str_sub(text, i, end);
		while (indent < line.len && line.data[indent] == ' ')
			indent++;
		put_line(&out, line, &at, indent + DEEPER, width);
		hob_buf_put(&out, "\n", end < text.len);
	}
	fwrite(out.data, 1, out.size, stdout);
}

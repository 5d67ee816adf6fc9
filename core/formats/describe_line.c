#include "describe_text.h"

void hob_text_heading(text_writer *t, const char *fmt, ...)
{
	va_list args;
	char line[256];
	va_start(args, fmt);
	vsnprintf(line, sizeof line, fmt, args);
	va_end(args);
	hob_buf_printf(t->out, "%s%s%s\n", t->color ? "\x1b[1m" : "", line, t->color ? "\x1b[0m" : "");
}

uint32_t hob_text_rows(const text_writer *t, uint32_t count)
{
	return count < t->max_rows ? count : t->max_rows;
}

void hob_text_more(text_writer *t, uint32_t count, const char *indent)
{
	if (count > t->max_rows)
		hob_buf_printf(t->out, "%s... and %u more\n", indent, count - t->max_rows);
}

void hob_text_floats(text_writer *t, const float *values, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		hob_buf_printf(t->out, i ? " " : "");
		hob_put_f32(t->out, values[i]);
	}
}

/* Writes foreign text without control characters, which must not reach a terminal. */
static void put_harmless(text_writer *t, hob_str text)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.data[i];
		hob_buf_put(t->out, (uint8_t)c < ' ' || c == 127 ? "?" : &text.data[i], 1);
	}
}

void hob_text_name(text_writer *t, hob_str name)
{
	hob_buf_put(t->out, "'", 1);
	put_harmless(t, name);
	hob_buf_put(t->out, "'", 1);
}

void hob_text_json(text_writer *t, const char *what, hob_str json)
{
	enum { LONGEST = 300 };
	size_t end = json.len > LONGEST ? LONGEST : json.len;
	while (end > 0 && end < json.len && ((uint8_t)json.data[end] & 0xC0) == 0x80)
		end--;
	hob_buf_printf(t->out, "%s ", what);
	put_harmless(t, hob_str_sub(json, 0, end));
	if (end < json.len)
		hob_buf_printf(t->out, "... (%zu bytes, --json shows all)", json.len);
}

void hob_text_id(text_writer *t, const char *what, uint32_t id)
{
	if (id == HOB_PK_NONE)
		hob_buf_printf(t->out, ", no %s", what);
	else
		hob_buf_printf(t->out, ", %s %u", what, id);
}

void hob_text_bits(text_writer *t, const char *group, uint32_t bits)
{
	for (uint32_t bit = 0; bit < 32; bit++) {
		const char *name = bits >> bit & 1 ? hob_format_name_of(group, 1u << bit) : NULL;
		for (const char *at = name ? ", " : ""; *at; at++)
			hob_buf_put(t->out, at, 1);
		if (name)
			hob_text_word(t, name);
	}
}

/* Writes MESH_HAS_TANGENTS as "has tangents": without the first word, in lower case. */
void hob_text_word(text_writer *t, const char *name)
{
	const char *from = strchr(name, '_') ? strchr(name, '_') + 1 : name;
	for (const char *at = from; *at; at++) {
		char c = *at == '_' ? ' ' : *at >= 'A' && *at <= 'Z' ? (char)(*at - 'A' + 'a') : *at;
		hob_buf_put(t->out, &c, 1);
	}
}

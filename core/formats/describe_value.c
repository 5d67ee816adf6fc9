#include "describe_value.h"

#include "number_text.h"

#include <math.h>

void hob_describe_hex(hob_buf *out, const uint8_t *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		hob_buf_printf(out, "%02x", bytes[i]);
}

static void put_number(hob_buf *out, format_type type, const uint8_t *at)
{
	if (type != FORMAT_f32) {
		hob_buf_printf(out, "%lld", (long long)hob_format_integer(type, at));
		return;
	}
	float value = hob_load_f32(at);
	if (isfinite(value)) {
		hob_put_f32(out, value);
		return;
	}
	hob_buf_put(out, "\"", 1);
	hob_put_f32(out, value);
	hob_buf_put(out, "\"", 1);
}

void hob_describe_field(hob_buf *out, const format_field *field, const uint8_t *record,
						const hob_pack *strings)
{
	const uint8_t *at = record + field->offset;
	if (strings && hob_format_is_string(field)) {
		hob_buf_put_json(out, hob_pack_string(strings, hob_load_u32(at)));
		return;
	}
	if (field->type == FORMAT_u8 && field->count) {
		hob_buf_put(out, "\"", 1);
		hob_describe_hex(out, at, field->count);
		hob_buf_put(out, "\"", 1);
		return;
	}
	if (!field->count) {
		put_number(out, field->type, at);
		return;
	}
	for (uint32_t i = 0; i < field->count; i++) {
		hob_buf_put(out, i ? "," : "[", 1);
		put_number(out, field->type, at + (size_t)i * hob_format_type_bytes(field->type));
	}
	hob_buf_put(out, "]", 1);
}

void hob_describe_record(hob_buf *out, const char *name, const uint8_t *record, const hob_pack *strings)
{
	uint32_t count;
	const format_field *fields = hob_format_record(name, &count);
	for (uint32_t i = 0; i < count; i++) {
		hob_buf_printf(out, "%c\"%s\":", i ? ',' : '{', fields[i].name);
		hob_describe_field(out, &fields[i], record, strings);
	}
	hob_buf_put(out, "}", 1);
}

void hob_describe_element(hob_buf *out, const format_section *section, const uint8_t *at,
						  const hob_pack *strings)
{
	if (section->type == HOB_PK_NAMS || section->type == HOB_PK_VARI) {
		hob_buf_put_json(out, hob_pack_string(strings, hob_load_u32(at)));
		return;
	}
	uint32_t count;
	const format_field *fields = hob_format_record(section->record, &count);
	if (!fields)
		put_number(out, strcmp(section->record, "f32") == 0 ? FORMAT_f32 : FORMAT_u32, at);
	else if (count == 1)
		hob_describe_field(out, fields, at, strings);
	else
		hob_describe_record(out, section->record, at, strings);
}

bool hob_describe_open(hob_bytes file, hob_buf *copy, hob_pack *out, hob_error *err)
{
	if ((uintptr_t)file.data & 7) {
		hob_buf_put(copy, file.data, file.size);
		if (copy->failed)
			return hob_fail(err, MEMORY, "no memory for a copy of %zu bytes", file.size);
		file = hob_buf_bytes(copy);
	}
	return hob_pack_open(file, out, err);
}

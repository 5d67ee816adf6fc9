#include "describe_value.h"

#include "../base/limits.h"
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

bool hob_describe_guarded(hob_body body, void *context, hob_buf *out, hob_error *err)
{
	size_t start = out->size;
	/* Filled before the guard, which would free what is first filled within it. */
	bool ok = hob_buf_grow(out, 0) ? hob_guarded(body, context, err)
								   : hob_fail(err, MEMORY, "no memory for the description");
	out->size = ok ? out->size : start;
	return ok;
}

static bool describe(void *context, hob_error *err)
{
	const hob_describer *d = context;
	hob_arena arena;
	hob_pack pack;
	if (!hob_pack_is(d->file)) {
		hob_classic_kind kind = hob_classic_sniff(d->file);
		if (kind == HOB_CLASSIC_NOTHING)
			return hob_fail(err, CORRUPT, "neither a packed nor a classic Hob file");
		d->classic(d, d->out, kind);
		return true;
	}
	hob_arena_init(&arena, (size_t)HOB_LIMIT_COOK_ARENA_BYTES);
	bool ok = hob_pack_open_anywhere(d->file, &arena, &pack, err);
	if (ok)
		d->packed(d, d->out, &pack);
	hob_arena_release(&arena);
	return ok;
}

bool hob_describe_by(hob_describer *describer, hob_error *err)
{
	return hob_describe_guarded(describe, describer, describer->out, err);
}

#include "fbx_private.h"

#include <math.h>

static bool is_kind(hob_str type, const char *const *names)
{
	for (; *names; names++)
		if (hob_str_equal_nocase(type, hob_str_of(*names)))
			return true;
	return false;
}

static void put_number(hob_buf *out, const hob_fbx_value *value)
{
	if (value->type == HOB_FBX_INTEGER)
		hob_buf_printf(out, "%lld", (long long)value->integer);
	else
		hob_buf_put_double(out, isfinite(value->real) ? value->real : 0);
}

/* Strings stay strings, switches become true or false; of a number with a range only the number is kept. */
static bool put_values(const hob_fbx *f, hob_buf *out, hob_str type, hob_fbx_cursor cursor)
{
	static const char *const switches[] = {"bool", "Bool", NULL};
	static const char *const several[] = {
		"Vector",		 "Vector3D", "Vector3", "Vector2", "Vector4",		  "Color", "ColorRGB",
		"ColorAndAlpha", "Double2",	 "Double3", "Double4", "Lcl Translation", NULL};
	hob_fbx_value value;
	if (!hob_fbx_next(f, &cursor, &value))
		return false;
	if (value.type == HOB_FBX_TEXT) {
		hob_buf_put_json(out, hob_fbx_plain(f, value.text));
	} else if (value.type != HOB_FBX_INTEGER && value.type != HOB_FBX_REAL) {
		return false;
	} else if (is_kind(type, switches)) {
		hob_buf_put_str(out, value.integer != 0 ? HOB_STR("true") : HOB_STR("false"));
	} else if (!is_kind(type, several)) {
		put_number(out, &value);
	} else {
		hob_buf_put_str(out, HOB_STR("["));
		put_number(out, &value);
		while (hob_fbx_next(f, &cursor, &value) &&
			   (value.type == HOB_FBX_INTEGER || value.type == HOB_FBX_REAL)) {
			hob_buf_put_str(out, HOB_STR(","));
			put_number(out, &value);
		}
		hob_buf_put_str(out, HOB_STR("]"));
	}
	return true;
}

static void put_property(const hob_fbx *f, hob_buf *out, uint32_t record)
{
	hob_fbx_cursor cursor = hob_fbx_values(f, record);
	hob_fbx_value name, type, flags, label;
	if (!hob_fbx_next(f, &cursor, &name) || !hob_fbx_next(f, &cursor, &type))
		return;
	if (hob_fbx_record_is(f, record, HOB_STR("P")) && !hob_fbx_next(f, &cursor, &label))
		return;
	if (!hob_fbx_next(f, &cursor, &flags) || flags.text.len == 0 ||
		!memchr(flags.text.data, 'U', flags.text.len) || name.text.len == 0)
		return;
	size_t before = out->size;
	hob_buf_put(out, before > 0 ? "," : "{", 1);
	hob_buf_put_json(out, hob_fbx_plain(f, name.text));
	hob_buf_put(out, ":", 1);
	if (!put_values(f, out, type.text, cursor))
		out->size = before;
}

void hob_fbx_extras(hob_fbx *f, uint32_t object, hob_extras *out)
{
	hob_own_buf text = {0};
	uint32_t props = f->objects[object].props;
	uint32_t record = props == HOB_NONE ? HOB_NONE : f->records[props].child;
	for (; record != HOB_NONE; record = f->records[record].next)
		put_property(f, &text, record);
	if (text.size > 0)
		hob_buf_put(&text, "}", 1);
	if (text.size > HOB_LIMIT_EXTRAS_BYTES - f->extras_bytes) {
		if (!f->extras_full)
			hob_fbx_note(f, "extras-dropped",
						 "custom properties of the file take more than %llu bytes; the rest is left out",
						 HOB_LIMIT_EXTRAS_BYTES);
		f->extras_full = true;
	} else if (text.size > 0) {
		f->extras_bytes += text.size;
		out->values = hob_arena_str(f->result, hob_buf_str(&text));
	}
}

#include "fbx_private.h"

#include <math.h>

/* The last property of that name: some exporters write the defaults of all nodes before the object's own. */
static bool find(const hob_fbx *f, uint32_t props, hob_str name, hob_fbx_cursor *out)
{
	if (props == HOB_NONE)
		return false;
	uint32_t record = f->records[props].child, mark = hob_fbx_mark(name), found = HOB_NONE;
	hob_fbx_value value;
	for (; record != HOB_NONE; record = f->records[record].next) {
		if (f->records[record].mark != mark && f->records[record].mark != 0)
			continue;
		hob_fbx_cursor cursor = hob_fbx_values(f, record);
		if (!hob_fbx_next(f, &cursor, &value) || !hob_str_equal(value.text, name))
			continue;
		*out = cursor;
		found = record;
	}
	if (found == HOB_NONE)
		return false;
	/* Type, label and flags; 6.x has no label. */
	int skip = hob_fbx_record_is(f, found, HOB_STR("P")) ? 3 : 2;
	while (skip-- > 0 && hob_fbx_next(f, out, &value))
		;
	return true;
}

/* Before 6000 a property is a record of its own below the object. */
static bool find_record(const hob_fbx *f, uint32_t object, hob_str name, hob_fbx_cursor *out)
{
	uint32_t record = hob_fbx_child(f, f->objects[object].record, name);
	if (f->version >= 6000 || f->version == 0 || record == HOB_NONE)
		return false;
	*out = hob_fbx_values(f, record);
	return true;
}

bool hob_fbx_own_prop(const hob_fbx *f, uint32_t object, hob_str name, hob_fbx_cursor *out)
{
	if (object == HOB_NONE)
		return false;
	return f->objects[object].props == HOB_NONE ? find_record(f, object, name, out)
												: find(f, f->objects[object].props, name, out);
}

bool hob_fbx_prop(const hob_fbx *f, uint32_t object, hob_str name, hob_fbx_cursor *out)
{
	return hob_fbx_own_prop(f, object, name, out) ||
		   (object != HOB_NONE && find(f, f->objects[object].template_props, name, out));
}

double hob_fbx_prop_real(const hob_fbx *f, uint32_t object, hob_str name, double otherwise)
{
	hob_fbx_cursor cursor;
	hob_fbx_value value;
	if (!hob_fbx_prop(f, object, name, &cursor) || !hob_fbx_next(f, &cursor, &value) ||
		(value.type != HOB_FBX_INTEGER && value.type != HOB_FBX_REAL) || !isfinite(value.real))
		return otherwise;
	return value.real;
}

int64_t hob_fbx_prop_integer(const hob_fbx *f, uint32_t object, hob_str name, int64_t otherwise)
{
	hob_fbx_cursor cursor;
	hob_fbx_value value;
	if (!hob_fbx_prop(f, object, name, &cursor) || !hob_fbx_next(f, &cursor, &value) ||
		(value.type != HOB_FBX_INTEGER && value.type != HOB_FBX_REAL))
		return otherwise;
	return value.integer;
}

hob_str hob_fbx_prop_text(const hob_fbx *f, uint32_t object, hob_str name)
{
	hob_fbx_cursor cursor;
	hob_fbx_value value = {0};
	if (hob_fbx_prop(f, object, name, &cursor) && hob_fbx_next(f, &cursor, &value) &&
		value.type == HOB_FBX_TEXT)
		return value.text;
	return (hob_str){0};
}

bool hob_fbx_prop_vector(const hob_fbx *f, uint32_t object, hob_str name, double out[3])
{
	hob_fbx_cursor cursor;
	hob_fbx_value value;
	double read[3];
	if (!hob_fbx_prop(f, object, name, &cursor))
		return false;
	for (int i = 0; i < 3; i++) {
		if (!hob_fbx_next(f, &cursor, &value) || !isfinite(value.real) ||
			(value.type != HOB_FBX_INTEGER && value.type != HOB_FBX_REAL))
			return false;
		read[i] = value.real;
	}
	memcpy(out, read, sizeof read);
	return true;
}

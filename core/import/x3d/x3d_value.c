#include "x3d_private.h"

#include "../../base/number.h"

hob_x3d_ptr hob_x3d_child(const hob_x3d *x, hob_x3d_ptr e, const char *const *types)
{
	for (hob_x3d_ptr c = e ? e->first : NULL; c; c = c->next) {
		hob_x3d_ptr real = hob_x3d_real(x, c);
		if (real && hob_text_is_one_of(real->name, types))
			return real;
	}
	return NULL;
}

bool hob_x3d_has(hob_x3d_ptr e, const char *field)
{
	return e && hob_xml_attr(e, hob_str_of(field)).data != NULL;
}

bool hob_x3d_bool(hob_x3d_ptr e, const char *field, bool otherwise)
{
	hob_str text = e ? hob_text_trim(hob_xml_attr(e, hob_str_of(field))) : (hob_str){0};
	if (hob_str_equal_nocase(text, HOB_STR("true")))
		return true;
	return hob_str_equal_nocase(text, HOB_STR("false")) ? false : otherwise;
}

static const char *skip(const char *at, const char *end)
{
	while (at < end && ((uint8_t)*at <= ' ' || *at == ','))
		at++;
	return at;
}

void hob_x3d_vector(hob_x3d_ptr e, const char *field, float *out, uint32_t count)
{
	hob_str text = e ? hob_xml_attr(e, hob_str_of(field)) : (hob_str){0};
	const char *at = text.data, *end = text.len > 0 ? text.data + text.len : text.data;
	float values[4] = {0};
	for (uint32_t i = 0; i < count; i++) {
		at = text.len > 0 ? skip(at, end) : NULL;
		at = at && at < end ? hob_number_float(at, end, &values[i]) : NULL;
		if (!at || !(values[i] > -1e30f && values[i] < 1e30f))
			return;
	}
	memcpy(out, values, count * sizeof *out);
}

float hob_x3d_float(hob_x3d_ptr e, const char *field, float otherwise)
{
	hob_x3d_vector(e, field, &otherwise, 1);
	return otherwise;
}

static void bad_number(hob_x3d *x, hob_x3d_ptr e, const char *field, const char *at, const char *end)
{
	int len = end - at < 20 ? (int)(end - at) : 20;
	hob_warn(x->request->notes, "x3d.bad-number",
			 "line %u: '%.*s' in field %s is not a number; the rest of the field is left out", e->line, len,
			 at, field);
}

/* Returns the end of the number, or NULL. */
typedef const char *read_number(const char *at, const char *end, void *out);

static const char *read_float(const char *at, const char *end, void *out)
{
	return hob_number_float(at, end, out);
}

static const char *read_int(const char *at, const char *end, void *out)
{
	int64_t value;
	const char *behind = hob_number_int(at, end, &value);
	if (behind)
		*(int32_t *)out = value > INT32_MAX || value < INT32_MIN ? INT32_MAX : (int32_t)value;
	return behind;
}

/* The numbers of a field, each of `size` bytes. */
static void *read_all(hob_x3d *x, hob_x3d_ptr e, const char *field, read_number *read, size_t size,
					  uint32_t *count)
{
	hob_str text = e ? hob_xml_attr(e, hob_str_of(field)) : (hob_str){0};
	*count = 0;
	if (text.len == 0)
		return NULL;
	/* A number and its blank take at least two bytes, which bounds the count. */
	uint8_t *out = hob_arena_array(x->request->scratch, text.len / 2 + 1, size, 8);
	const char *end = text.data + text.len;
	for (const char *at = skip(text.data, end); at < end; at = skip(at, end)) {
		const char *behind = *count > text.len / 2 ? NULL : read(at, end, out + *count * size);
		if (!behind) {
			bad_number(x, e, field, at, end);
			break;
		}
		++*count;
		at = behind;
	}
	return out;
}

float *hob_x3d_floats(hob_x3d *x, hob_x3d_ptr e, const char *field, uint32_t *count)
{
	return read_all(x, e, field, read_float, sizeof(float), count);
}

int32_t *hob_x3d_ints(hob_x3d *x, hob_x3d_ptr e, const char *field, uint32_t *count)
{
	return read_all(x, e, field, read_int, sizeof(int32_t), count);
}

bool hob_x3d_word(hob_str *list, hob_str *word)
{
	const char *at = list->data, *end = list->len > 0 ? at + list->len : at;
	at = at ? skip(at, end) : at;
	if (at == end)
		return false;
	bool quoted = *at == '"' || *at == '\'';
	char quote = *at;
	const char *from = at + quoted;
	for (at = from; at < end && (quoted ? *at != quote : (uint8_t)*at > ' ' && *at != ','); at++)
		if (quoted && *at == '\\' && at + 1 < end)
			at++;
	*word = (hob_str){from, (size_t)(at - from)};
	at += at < end && quoted;
	*list = (hob_str){at, (size_t)(end - at)};
	return true;
}

void hob_x3d_unread(const hob_x3d *x, hob_x3d_ptr e)
{
	hob_warn(x->request->notes, "x3d.ignored", "<%.*s> is not read and left out", HOB_FMT(e->name));
}

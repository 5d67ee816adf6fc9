#include "fbx_private.h"
#include "../text.h"

#include <libdeflate.h>
#include <math.h>

uint32_t hob_fbx_mark(hob_str text)
{
	const uint8_t *letters = (const uint8_t *)text.data;
	uint32_t len = (uint32_t)text.len & 0xFF;
	return len == 0 ? 0
					: len | (uint32_t)letters[0] << 8 | (uint32_t)letters[len / 2] << 16 |
						  (uint32_t)letters[len - 1] << 24;
}

/* hob_fbx_mark of the record's first value if it is a short text, else 0. Decodes no other value. */
static uint32_t mark_of(const hob_fbx *f, const hob_fbx_record *record)
{
	const uint8_t *at = f->file.data + record->values;
	hob_fbx_cursor cursor = {record->values, record->values + record->value_size};
	hob_fbx_value value;
	if (record->value_size < 2 || *at != (f->ascii ? '"' : 'S') || !hob_fbx_next(f, &cursor, &value))
		return 0;
	return value.text.len < 256 ? hob_fbx_mark(value.text) : 0;
}

uint32_t hob_fbx_add_record(hob_fbx *f, uint32_t parent, uint32_t before, const hob_fbx_record *record)
{
	uint32_t id = (uint32_t)(f->record_buf.size / sizeof *record);
	if (id >= HOB_LIMIT_FBX_RECORDS)
		hob_leave(LIMIT, "more than %llu records", (unsigned long long)HOB_LIMIT_FBX_RECORDS);
	hob_buf_put(&f->record_buf, record, sizeof *record);
	f->records = (hob_fbx_record *)(void *)f->record_buf.data;
	f->records[id].mark = mark_of(f, record);
	f->record_count = id + 1;
	if (before != HOB_NONE)
		f->records[before].next = id;
	else if (parent != HOB_NONE)
		f->records[parent].child = id;
	return id;
}

hob_str hob_fbx_record_name(const hob_fbx *f, uint32_t record)
{
	return (hob_str){(const char *)f->file.data + f->records[record].name, f->records[record].name_len};
}

bool hob_fbx_record_is(const hob_fbx *f, uint32_t record, hob_str name)
{
	const hob_fbx_record *r = &f->records[record];
	return r->name_len == name.len && memcmp(f->file.data + r->name, name.data, name.len) == 0;
}

static uint32_t find_from(const hob_fbx *f, uint32_t record, hob_str name)
{
	while (record != HOB_NONE && !hob_fbx_record_is(f, record, name))
		record = f->records[record].next;
	return record;
}

uint32_t hob_fbx_child(const hob_fbx *f, uint32_t record, hob_str name)
{
	return record == HOB_NONE ? HOB_NONE : find_from(f, f->records[record].child, name);
}

uint32_t hob_fbx_sibling(const hob_fbx *f, uint32_t record, hob_str name)
{
	return record == HOB_NONE ? HOB_NONE : find_from(f, f->records[record].next, name);
}

hob_fbx_cursor hob_fbx_values(const hob_fbx *f, uint32_t record)
{
	if (record == HOB_NONE)
		return (hob_fbx_cursor){0, 0};
	const hob_fbx_record *r = &f->records[record];
	return (hob_fbx_cursor){r->values, r->values + r->value_size};
}

bool hob_fbx_next(const hob_fbx *f, hob_fbx_cursor *cursor, hob_fbx_value *out)
{
	*out = (hob_fbx_value){0};
	if (cursor->at >= cursor->end)
		return false;
	return f->ascii ? hob_fbx_next_ascii(f, cursor, out) : hob_fbx_next_binary(f, cursor, out);
}

hob_fbx_value hob_fbx_value_at(const hob_fbx *f, uint32_t record, uint32_t index)
{
	hob_fbx_cursor cursor = hob_fbx_values(f, record);
	hob_fbx_value value = {0};
	for (uint32_t i = 0; i <= index; i++)
		if (!hob_fbx_next(f, &cursor, &value))
			break;
	return value;
}

double hob_fbx_child_real(const hob_fbx *f, uint32_t record, hob_str name, double otherwise)
{
	hob_fbx_value value = hob_fbx_value_at(f, hob_fbx_child(f, record, name), 0);
	bool number = value.type == HOB_FBX_INTEGER || value.type == HOB_FBX_REAL;
	return number && isfinite(value.real) ? value.real : otherwise;
}

int64_t hob_fbx_child_integer(const hob_fbx *f, uint32_t record, hob_str name, int64_t otherwise)
{
	hob_fbx_value value = hob_fbx_value_at(f, hob_fbx_child(f, record, name), 0);
	return value.type == HOB_FBX_INTEGER || value.type == HOB_FBX_REAL ? value.integer : otherwise;
}

hob_str hob_fbx_child_text(const hob_fbx *f, uint32_t record, hob_str name)
{
	return hob_fbx_value_at(f, hob_fbx_child(f, record, name), 0).text;
}

/* ---- arrays */

typedef enum target { TO_DOUBLE, TO_FLOAT, TO_INT, TO_LONG } target;
static const size_t target_size[] = {sizeof(double), sizeof(float), sizeof(int32_t), sizeof(int64_t)};

static size_t element_size(char element)
{
	return element == 'd' || element == 'l'	  ? 8
		   : element == 'f' || element == 'i' ? 4
		   : element == 'y'					  ? 2
											  : 1;
}

static int64_t to_integer(double value)
{
	return value >= 9.2e18		? INT64_MAX
		   : value <= -9.2e18	? INT64_MIN
		   : value - value == 0 ? (int64_t)value
								: 0;
}

static void put(target to, void *out, size_t i, double real, int64_t integer)
{
	switch (to) {
	case TO_DOUBLE:
		((double *)out)[i] = real;
		break;
	case TO_FLOAT:
		((float *)out)[i] = fabs(real) < 3.4e38 ? (float)real
							: real > 0			? INFINITY
							: real < 0			? -INFINITY
												: NAN;
		break;
	case TO_INT:
		((int32_t *)out)[i] = integer > INT32_MAX	? INT32_MAX
							  : integer < INT32_MIN ? INT32_MIN
													: (int32_t)integer;
		break;
	case TO_LONG:
		((int64_t *)out)[i] = integer;
		break;
	}
}

uint64_t hob_fbx_load(const uint8_t *p, size_t size, bool big)
{
	uint64_t value = 0;
	for (size_t i = 0; i < size; i++)
		value |= (uint64_t)p[big ? size - 1 - i : i] << (8 * i);
	return value;
}

static bool same_layout(target to, char element)
{
	return (to == TO_DOUBLE && element == 'd') || (to == TO_FLOAT && element == 'f') ||
		   (to == TO_INT && element == 'i') || (to == TO_LONG && element == 'l');
}

static void convert(const hob_fbx *f, target to, void *out, const hob_fbx_value *array, const uint8_t *bytes)
{
	size_t size = element_size(array->element);
	if (!f->big_endian && same_layout(to, array->element)) {
		if (array->count > 0)
			memcpy(out, bytes, size * array->count);
		return;
	}
	for (size_t i = 0; i < array->count; i++) {
		uint64_t bits = hob_fbx_load(bytes + i * size, size, f->big_endian);
		double real;
		int64_t integer;
		if (array->element == 'd') {
			memcpy(&real, &bits, sizeof real);
			integer = to_integer(real);
		} else if (array->element == 'f') {
			uint32_t low = (uint32_t)bits;
			float single;
			memcpy(&single, &low, sizeof single);
			real = (double)single;
			integer = to_integer(real);
		} else {
			integer = size == 4 ? (int32_t)(uint32_t)bits : (int64_t)bits;
			real = (double)integer;
		}
		put(to, out, i, real, integer);
	}
}

static void unpack(hob_fbx *f, const hob_fbx_value *array, size_t size)
{
	hob_buf_clear(&f->unpacked);
	uint8_t *room = hob_buf_grow(&f->unpacked, size);
	struct libdeflate_decompressor *inflate = libdeflate_alloc_decompressor();
	if (!inflate)
		hob_leave(MEMORY, "no memory left to unpack an array");
	size_t got = 0;
	enum libdeflate_result result =
		libdeflate_zlib_decompress(inflate, array->stored.data, array->stored.size, room, size, &got);
	libdeflate_free_decompressor(inflate);
	if (result != LIBDEFLATE_SUCCESS || got != size)
		hob_leave(CORRUPT, "a packed array of %zu bytes is damaged", size);
}

static void *read_packed(hob_fbx *f, target to, const hob_fbx_value *array)
{
	size_t size = element_size(array->element) * (size_t)array->count;
	/* DEFLATE expands at most 1032 times. */
	if (array->encoding == 1 ? size / 1032 > array->stored.size : size > array->stored.size)
		hob_leave(CORRUPT, "an array of %u elements in %zu bytes", array->count, array->stored.size);
	if (array->encoding > 1)
		hob_leave(UNSUPPORTED, "array encoding %u", array->encoding);
	void *out = hob_arena_array(f->scratch, array->count, target_size[to], 8);
	const uint8_t *bytes = array->stored.data;
	if (array->encoding == 1 && size > 0) {
		unpack(f, array, size);
		bytes = f->unpacked.data;
	}
	convert(f, to, out, array, bytes);
	return out;
}

static void *read_array(hob_fbx *f, uint32_t record, target to, uint32_t *count)
{
	void *out = NULL;
	*count = 0;
	if (record == HOB_NONE)
		return NULL;
	uint32_t list = f->ascii ? hob_fbx_child(f, record, HOB_STR("a")) : HOB_NONE;
	hob_fbx_cursor cursor = hob_fbx_values(f, list != HOB_NONE ? list : record);
	hob_fbx_value value;
	uint32_t most = f->records[list != HOB_NONE ? list : record].value_count, filled = 0;
	/* An empty array of an ASCII file, "*0", has no list. */
	if (f->ascii && list == HOB_NONE && most == 1 && f->file.data[f->records[record].values] == '*')
		return NULL;
	while (hob_fbx_next(f, &cursor, &value)) {
		if (value.type == HOB_FBX_ARRAY && !out) {
			*count = value.count;
			return read_packed(f, to, &value);
		}
		if (!out)
			out = hob_arena_array(f->scratch, most, target_size[to], 8);
		if ((value.type == HOB_FBX_INTEGER || value.type == HOB_FBX_REAL) && filled < most)
			put(to, out, filled++, value.real, value.integer);
	}
	*count = filled;
	return out;
}

double *hob_fbx_doubles(hob_fbx *f, uint32_t record, uint32_t *count)
{
	return read_array(f, record, TO_DOUBLE, count);
}

float *hob_fbx_floats(hob_fbx *f, uint32_t record, uint32_t *count)
{
	return read_array(f, record, TO_FLOAT, count);
}

int32_t *hob_fbx_ints(hob_fbx *f, uint32_t record, uint32_t *count)
{
	return read_array(f, record, TO_INT, count);
}

int64_t *hob_fbx_longs(hob_fbx *f, uint32_t record, uint32_t *count)
{
	return read_array(f, record, TO_LONG, count);
}

/* ---- text */

hob_str hob_fbx_plain(const hob_fbx *f, hob_str raw)
{
	static const struct {
		hob_str word;
		char letter;
	} escapes[] = {{{"&quot;", 6}, '"'}, {{"&cr;", 4}, '\r'}, {{"&lf;", 4}, '\n'}};
	if (!f->ascii || raw.len == 0 || !memchr(raw.data, '&', raw.len))
		return raw;
	char *out = HOB_NEW(f->scratch, char, raw.len);
	size_t len = 0;
	for (size_t i = 0; i < raw.len;) {
		const char *mark = memchr(raw.data + i, '&', raw.len - i);
		size_t k = 0, clean = (mark ? (size_t)(mark - raw.data) : raw.len) - i;
		memcpy(out + len, raw.data + i, clean);
		len += clean;
		i += clean;
		if (i == raw.len)
			break;
		while (k < HOB_COUNT_OF(escapes) && !hob_str_starts(hob_str_sub(raw, i, raw.len), escapes[k].word))
			k++;
		out[len++] = k < HOB_COUNT_OF(escapes) ? escapes[k].letter : raw.data[i];
		i += k < HOB_COUNT_OF(escapes) ? escapes[k].word.len : 1;
	}
	return (hob_str){out, len};
}

hob_str hob_fbx_name(const hob_fbx *f, hob_str raw)
{
	return hob_text_name(f->result, hob_fbx_plain(f, raw));
}

#include "usd_lex.h"

#include "../../base/number.h"

#include <math.h>

enum { VALUE_DEPTH = 64, MAX_DISORDER = 1 << 24 };

/* ---- types */

typedef struct type {
	const char *name;
	hob_usd_kind kind;
	uint8_t width;
	bool is_quaternion;
} type_t;

static const type_t types[] = {
	{"bool", HOB_USD_I32, 1, false},
	{"uchar", HOB_USD_I32, 1, false},
	{"int", HOB_USD_I32, 1, false},
	{"uint", HOB_USD_I32, 1, false},
	{"int64", HOB_USD_F64, 1, false},
	{"uint64", HOB_USD_F64, 1, false},
	{"half", HOB_USD_F32, 1, false},
	{"float", HOB_USD_F32, 1, false},
	{"double", HOB_USD_F64, 1, false},
	{"timecode", HOB_USD_F64, 1, false},
	{"int2", HOB_USD_I32, 2, false},
	{"int3", HOB_USD_I32, 3, false},
	{"int4", HOB_USD_I32, 4, false},
	{"half2", HOB_USD_F32, 2, false},
	{"half3", HOB_USD_F32, 3, false},
	{"half4", HOB_USD_F32, 4, false},
	{"float2", HOB_USD_F32, 2, false},
	{"float3", HOB_USD_F32, 3, false},
	{"float4", HOB_USD_F32, 4, false},
	{"double2", HOB_USD_F64, 2, false},
	{"double3", HOB_USD_F64, 3, false},
	{"double4", HOB_USD_F64, 4, false},
	{"point3h", HOB_USD_F32, 3, false},
	{"point3f", HOB_USD_F32, 3, false},
	{"point3d", HOB_USD_F64, 3, false},
	{"vector3h", HOB_USD_F32, 3, false},
	{"vector3f", HOB_USD_F32, 3, false},
	{"vector3d", HOB_USD_F64, 3, false},
	{"normal3h", HOB_USD_F32, 3, false},
	{"normal3f", HOB_USD_F32, 3, false},
	{"normal3d", HOB_USD_F64, 3, false},
	{"color3h", HOB_USD_F32, 3, false},
	{"color3f", HOB_USD_F32, 3, false},
	{"color3d", HOB_USD_F64, 3, false},
	{"color4h", HOB_USD_F32, 4, false},
	{"color4f", HOB_USD_F32, 4, false},
	{"color4d", HOB_USD_F64, 4, false},
	{"texCoord2h", HOB_USD_F32, 2, false},
	{"texCoord2f", HOB_USD_F32, 2, false},
	{"texCoord2d", HOB_USD_F64, 2, false},
	{"texCoord3h", HOB_USD_F32, 3, false},
	{"texCoord3f", HOB_USD_F32, 3, false},
	{"texCoord3d", HOB_USD_F64, 3, false},
	{"quath", HOB_USD_F32, 4, true},
	{"quatf", HOB_USD_F32, 4, true},
	{"quatd", HOB_USD_F64, 4, true},
	{"matrix2d", HOB_USD_F64, 4, false},
	{"matrix3d", HOB_USD_F64, 9, false},
	{"matrix4d", HOB_USD_F64, 16, false},
	{"frame4d", HOB_USD_F64, 16, false},
	{"string", HOB_USD_TEXT, 1, false},
	{"token", HOB_USD_TEXT, 1, false},
	{"asset", HOB_USD_TEXT, 1, false},
	{"path", HOB_USD_TEXT, 1, false},
	{"pathExpression", HOB_USD_TEXT, 1, false},
	/* Older type names, which OpenUSD still reads. Source: pxr/usd/sdf/schema.cpp. */
	{"PointIndex", HOB_USD_I32, 1, false},
	{"EdgeIndex", HOB_USD_I32, 1, false},
	{"FaceIndex", HOB_USD_I32, 1, false},
	{"Vec2i", HOB_USD_I32, 2, false},
	{"Vec3i", HOB_USD_I32, 3, false},
	{"Vec4i", HOB_USD_I32, 4, false},
	{"Vec2h", HOB_USD_F32, 2, false},
	{"Vec3h", HOB_USD_F32, 3, false},
	{"Vec4h", HOB_USD_F32, 4, false},
	{"Vec2f", HOB_USD_F32, 2, false},
	{"Vec3f", HOB_USD_F32, 3, false},
	{"Vec4f", HOB_USD_F32, 4, false},
	{"Vec2d", HOB_USD_F64, 2, false},
	{"Vec3d", HOB_USD_F64, 3, false},
	{"Vec4d", HOB_USD_F64, 4, false},
	{"Point", HOB_USD_F64, 3, false},
	{"PointFloat", HOB_USD_F32, 3, false},
	{"Normal", HOB_USD_F64, 3, false},
	{"NormalFloat", HOB_USD_F32, 3, false},
	{"Vector", HOB_USD_F64, 3, false},
	{"VectorFloat", HOB_USD_F32, 3, false},
	{"Color", HOB_USD_F64, 3, false},
	{"ColorFloat", HOB_USD_F32, 3, false},
	{"Quath", HOB_USD_F32, 4, true},
	{"Quatf", HOB_USD_F32, 4, true},
	{"Quatd", HOB_USD_F64, 4, true},
	{"Matrix2d", HOB_USD_F64, 4, false},
	{"Matrix3d", HOB_USD_F64, 9, false},
	{"Matrix4d", HOB_USD_F64, 16, false},
	{"Frame", HOB_USD_F64, 16, false},
	{"Transform", HOB_USD_F64, 16, false},
};

static const type_t *type_of(hob_str name)
{
	for (size_t i = 0; i < HOB_COUNT_OF(types); i++)
		if (hob_str_equal(name, hob_str_of(types[i].name)))
			return &types[i];
	return NULL;
}

/* ---- numbers */

typedef struct numbers {
	void *items;
	uint32_t count, capacity;
} numbers_t;

/* Reads inf, -inf or nan as a whole word; NULL for anything else. */
static const char *word_number(hob_usd_lex *l, double *out)
{
	const char *from = l->at;
	bool minus = l->at < l->end && *l->at == '-';
	l->at += minus;
	bool is_inf = hob_usd_lex_take_word(l, "inf"), is_nan = !is_inf && hob_usd_lex_take_word(l, "nan");
	const char *after = l->at;
	l->at = from;
	*out = is_nan ? (double)NAN : minus ? -(double)INFINITY : (double)INFINITY;
	return is_inf || is_nan ? after : NULL;
}

static const char *plain_number(hob_usd_lex *l, hob_usd_kind kind, void *out)
{
	size_t left = (size_t)(l->end - l->at), sign = left > 0 && *l->at == '-';
	double word;
	if (left > sign && (l->at[sign] == 'i' || l->at[sign] == 'n')) {
		const char *after = word_number(l, &word);
		if (kind == HOB_USD_F32)
			*(float *)out = (float)word;
		else
			*(double *)out = word;
		return after;
	}
	return kind == HOB_USD_F32 ? hob_number_float(l->at, l->end, (float *)out)
							   : hob_number_double(l->at, l->end, (double *)out);
}

static bool put_number(hob_usd_lex *l, hob_usd_kind kind, numbers_t *to)
{
	void *items =
		hob_usd_more(l->u->scratch, to->items, to->count, &to->capacity, kind == HOB_USD_F64 ? 8 : 4);
	const char *after = NULL;
	if (!items)
		return hob_fail_memory(l->err, l->u->scratch, "numbers");
	to->items = items;
	if (kind == HOB_USD_I32) {
		int64_t value = 0;
		if (hob_usd_lex_take_word(l, "true") || hob_usd_lex_take_word(l, "True"))
			after = l->at, value = 1;
		else if (hob_usd_lex_take_word(l, "false") || hob_usd_lex_take_word(l, "False"))
			after = l->at;
		else
			after = hob_number_int(l->at, l->end, &value);
		((int32_t *)items)[to->count++] = (int32_t)(uint32_t)(uint64_t)value;
	} else {
		after = plain_number(l, kind, (char *)items + (size_t)to->count++ * (kind == HOB_USD_F64 ? 8 : 4));
	}
	if (!after)
		return hob_usd_lex_fail(l, "a number");
	l->at = after;
	return true;
}

static inline void skip_blanks(hob_usd_lex *l)
{
	while (l->at < l->end && (*l->at == ' ' || *l->at == ',' || *l->at == '\n'))
		l->at++;
	hob_usd_lex_skip(l);
}

/* Reads numbers up to the value's closing bracket. *width: how many of them the first outermost pair of
 * parentheses encloses. */
static bool read_numbers(hob_usd_lex *l, hob_usd_kind kind, bool is_array, numbers_t *to, uint32_t *width)
{
	uint32_t depth = 0, tuples = 0;
	*width = 1;
	if (is_array && !hob_usd_lex_need(l, '['))
		return false;
	for (;;) {
		skip_blanks(l);
		char c = l->at < l->end ? *l->at : 0;
		if (is_array && c == ']' && depth == 0) {
			l->at++;
			return true;
		}
		if (c == '(') {
			if (++depth > VALUE_DEPTH)
				return hob_usd_lex_fail(l, "fewer brackets");
			l->at++;
			continue;
		}
		if (c == ')' && depth > 0) {
			l->at++;
			if (--depth == 0 && tuples++ == 0)
				*width = to->count;
		} else if (!put_number(l, kind, to)) {
			return false;
		}
		if (!is_array && depth == 0)
			return true;
	}
}

static void turn_quaternions(hob_usd_kind kind, void *items, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (kind == HOB_USD_F32) {
			float *q = (float *)items + i * 4, w = q[0];
			q[0] = q[1], q[1] = q[2], q[2] = q[3], q[3] = w;
		} else {
			double *q = (double *)items + i * 4, w = q[0];
			q[0] = q[1], q[1] = q[2], q[2] = q[3], q[3] = w;
		}
	}
}

static bool numeric_value(hob_usd_lex *l, const type_t *type, bool is_array, hob_usd_value *out)
{
	numbers_t numbers = {0};
	uint32_t written;
	if (!read_numbers(l, type->kind, is_array, &numbers, &written))
		return false;
	uint32_t width = type->width > 0 ? type->width : written > 0 ? written : 1;
	if (numbers.count % width != 0 || (!is_array && numbers.count != width))
		return hob_usd_lex_fail(l, "as many numbers as the type has");
	if (type->is_quaternion)
		turn_quaternions(type->kind, numbers.items, numbers.count / width);
	*out = (hob_usd_value){type->kind, is_array, width, numbers.count / width, numbers.items};
	return true;
}

/* ---- texts */

static bool one_text(hob_usd_lex *l, hob_str *out)
{
	char c = hob_usd_lex_peek(l);
	if (c == '"' || c == '\'')
		return hob_usd_lex_string(l, out);
	if (c == '@')
		return hob_usd_lex_asset(l, out);
	if (c == '<')
		return hob_usd_lex_path(l, out);
	*out = hob_usd_lex_word(l);
	return out->len > 0 || hob_usd_lex_fail(l, "a value");
}

static bool text_value(hob_usd_lex *l, bool is_array, hob_usd_value *out)
{
	hob_str *items = NULL;
	uint32_t count = 0, capacity = 0;
	if (is_array && !hob_usd_lex_need(l, '['))
		return false;
	while (!is_array || !hob_usd_lex_take(l, ']')) {
		items = (hob_str *)hob_usd_more(l->u->scratch, items, count, &capacity, sizeof *items);
		if (!items)
			return hob_fail_memory(l->err, l->u->scratch, "strings");
		if (!one_text(l, &items[count++]))
			return false;
		if (!is_array)
			break;
		if (!hob_usd_lex_take(l, ',') && hob_usd_lex_peek(l) != ']')
			return hob_usd_lex_fail(l, "',' or ']'");
	}
	*out = (hob_usd_value){HOB_USD_TEXT, is_array, 1, count, items};
	return true;
}

/* ---- unknown values */

/* Skips one value of any form: whole brackets, strings, words. */
static bool skip_value(hob_usd_lex *l)
{
	uint32_t depth = 0;
	hob_str text;
	do {
		char c = hob_usd_lex_peek(l);
		if (c == '(' || c == '[' || c == '{') {
			depth++, l->at++;
		} else if (c == ')' || c == ']' || c == '}') {
			if (depth == 0)
				return hob_usd_lex_fail(l, "a value");
			depth--, l->at++;
		} else if (c == '"' || c == '\'') {
			if (!hob_usd_lex_string(l, &text))
				return false;
		} else if (c == '@') {
			if (!hob_usd_lex_asset(l, &text))
				return false;
		} else if (c == '<') {
			if (!hob_usd_lex_path(l, &text))
				return false;
		} else if (c == 0 && l->at == l->end) {
			return hob_usd_lex_fail(l, "a value");
		} else if (hob_usd_lex_word(l).len == 0) {
			l->at++;
		} else if (depth == 0) {
			while (l->at < l->end && (*l->at == '.' || *l->at == '+' || *l->at == '-')) {
				l->at++;
				hob_usd_lex_word(l);
			}
		}
	} while (depth > 0 || (l->at > l->start && (l->at[-1] == '-' || l->at[-1] == '+' || l->at[-1] == '.')));
	return true;
}

/* Finds the kind of a value without a type from its first character. */
static hob_usd_kind kind_by(char c)
{
	if (c == '"' || c == '\'' || c == '@' || c == '<')
		return HOB_USD_TEXT;
	if ((c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.')
		return HOB_USD_F64;
	return c == '{' ? HOB_USD_DICTIONARY : HOB_USD_EMPTY;
}

static bool free_value(hob_usd_lex *l, hob_usd_value *out)
{
	static const type_t any = {"", HOB_USD_F64, 0, false}, truth = {"", HOB_USD_I32, 1, false};
	char c = hob_usd_lex_peek(l);
	bool is_array = c == '[';
	const char *from = l->at;
	while (l->at < l->end && (*l->at == '[' || *l->at == '('))
		l->at++, hob_usd_lex_skip(l);
	hob_usd_kind kind = kind_by(hob_usd_lex_peek(l));
	bool is_truth = hob_usd_lex_take_word(l, "true") || hob_usd_lex_take_word(l, "false");
	bool nested_list = c == '(' && kind != HOB_USD_F64;
	l->at = from;
	if (kind == HOB_USD_DICTIONARY && c == '{')
		return hob_usd_lex_dictionary(l, out);
	if (is_truth && !is_array)
		return numeric_value(l, &truth, false, out);
	if (kind == HOB_USD_F64)
		return numeric_value(l, &any, is_array, out);
	if (kind == HOB_USD_TEXT && !nested_list)
		return text_value(l, is_array, out);
	hob_str word = is_array || c == '(' ? HOB_STR("") : hob_usd_lex_word(l);
	if (word.len == 0)
		return skip_value(l);
	l->at = word.data;
	return text_value(l, false, out);
}

bool hob_usd_lex_value(hob_usd_lex *l, hob_str type, hob_usd_value *out)
{
	*out = (hob_usd_value){0};
	if (hob_usd_lex_take_word(l, "None") || hob_usd_lex_take_word(l, "AnimationBlock")) {
		out->kind = HOB_USD_BLOCK;
		return true;
	}
	if (type.len == 0)
		return free_value(l, out);
	bool is_array = type.len > 2 && hob_str_ends_nocase(type, HOB_STR("[]"));
	const type_t *known = type_of(hob_str_sub(type, 0, type.len - (is_array ? 2 : 0)));
	if (hob_str_equal(type, HOB_STR("dictionary")))
		return hob_usd_lex_dictionary(l, out);
	if (!known)
		return skip_value(l);
	return known->kind == HOB_USD_TEXT ? text_value(l, is_array, out)
									   : numeric_value(l, known, is_array, out);
}

/* Insertion sort: moves sample `at` to its place among the earlier ones, replacing one of equal time. *work:
 * counts moved samples. Returns the new count. */
static uint32_t put_in_order(double *times, hob_usd_value *values, uint32_t at, uint64_t *work)
{
	double time = times[at];
	hob_usd_value value = values[at];
	uint32_t to = at;
	while (to > 0 && times[to - 1] >= time)
		to--;
	bool again = to < at && times[to] == time;
	if (!again) {
		memmove(times + to + 1, times + to, (at - to) * sizeof *times);
		memmove(values + to + 1, values + to, (at - to) * sizeof *values);
	}
	times[to] = time;
	values[to] = value;
	*work += at - to;
	return at + !again;
}

bool hob_usd_lex_samples(hob_usd_lex *l, hob_str type, hob_usd_value *out)
{
	double *times = NULL;
	hob_usd_value *values = NULL;
	uint32_t count = 0, time_room = 0, value_room = 0;
	uint64_t work = 0;
	if (!hob_usd_lex_need(l, '{'))
		return false;
	while (!hob_usd_lex_take(l, '}')) {
		times = (double *)hob_usd_more(l->u->scratch, times, count, &time_room, sizeof *times);
		values = (hob_usd_value *)hob_usd_more(l->u->scratch, values, count, &value_room, sizeof *values);
		if (!times || !values)
			return hob_fail_memory(l->err, l->u->scratch, "time samples");
		hob_usd_lex_skip(l);
		const char *after = hob_number_double(l->at, l->end, &times[count]);
		if (!after)
			return hob_usd_lex_fail(l, "a time");
		l->at = after;
		if (!hob_usd_lex_need(l, ':') || !hob_usd_lex_value(l, type, &values[count]))
			return false;
		if (!(times[count] - times[count] == 0) || work > MAX_DISORDER)
			return hob_usd_lex_fail(l, work > MAX_DISORDER ? "times that rise" : "a time");
		count = put_in_order(times, values, count, &work);
		if (!hob_usd_lex_take(l, ',') && hob_usd_lex_peek(l) != '}')
			return hob_usd_lex_fail(l, "',' or '}'");
	}
	hob_usd_samples *samples = HOB_NEW(l->u->scratch, hob_usd_samples, 1);
	if (!samples)
		return hob_fail_memory(l->err, l->u->scratch, "time samples");
	*samples = (hob_usd_samples){count, times, values};
	*out = (hob_usd_value){HOB_USD_SAMPLES, false, 1, 1, samples};
	return true;
}

/* { string set = "choice" dictionary more = { ... } }. Recursion is bounded by the nesting of brackets. */
static bool read_dictionary(hob_usd_lex *l, uint32_t depth, hob_usd_value *out)
{
	hob_usd_entry *entries = NULL;
	uint32_t count = 0, capacity = 0;
	if (depth > HOB_LIMIT_USD_DICTIONARY_DEPTH)
		return hob_fail(l->err, LIMIT, "dictionaries in dictionaries: more than %llu levels",
						HOB_LIMIT_USD_DICTIONARY_DEPTH);
	if (!hob_usd_lex_need(l, '{'))
		return false;
	while (!hob_usd_lex_take(l, '}')) {
		entries = (hob_usd_entry *)hob_usd_more(l->u->scratch, entries, count, &capacity, sizeof *entries);
		if (!entries)
			return hob_fail_memory(l->err, l->u->scratch, "a dictionary");
		hob_usd_entry *entry = &entries[count++];
		hob_str type = hob_usd_lex_word(l);
		if (type.len == 0)
			return hob_usd_lex_fail(l, "a type");
		if (hob_str_starts((hob_str){l->at, (size_t)(l->end - l->at)}, HOB_STR("[]"))) {
			l->at += 2;
			type.len += 2;
		}
		char c = hob_usd_lex_peek(l);
		entry->key = c == '"' || c == '\'' ? HOB_STR("") : hob_usd_lex_word(l);
		if (entry->key.len == 0 && !hob_usd_lex_string(l, &entry->key))
			return false;
		bool nested = hob_str_equal(type, HOB_STR("dictionary"));
		if (!hob_usd_lex_need(l, '=') || !(nested ? read_dictionary(l, depth + 1, &entry->value)
												  : hob_usd_lex_value(l, type, &entry->value)))
			return false;
		if (!hob_usd_lex_take(l, ';'))
			hob_usd_lex_take(l, ',');
	}
	*out = (hob_usd_value){HOB_USD_DICTIONARY, false, 1, count, entries};
	return true;
}

bool hob_usd_lex_dictionary(hob_usd_lex *l, hob_usd_value *out)
{
	return read_dictionary(l, 1, out);
}

bool hob_usd_lex_relocates(hob_usd_lex *l, hob_usd_value *out)
{
	hob_str *items = NULL;
	uint32_t count = 0, capacity = 0;
	if (!hob_usd_lex_need(l, '{'))
		return false;
	while (!hob_usd_lex_take(l, '}')) {
		for (int side = 0; side < 2; side++) {
			items = (hob_str *)hob_usd_more(l->u->scratch, items, count, &capacity, sizeof *items);
			if (!items)
				return hob_fail_memory(l->err, l->u->scratch, "relocates");
			if (!hob_usd_lex_path(l, &items[count++]) || (side == 0 && !hob_usd_lex_need(l, ':')))
				return false;
		}
		if (!hob_usd_lex_take(l, ',') && hob_usd_lex_peek(l) != '}')
			return hob_usd_lex_fail(l, "',' or '}'");
	}
	*out = (hob_usd_value){HOB_USD_TEXT, true, 1, count, items};
	return true;
}

/* ---- lists */

/* (offset = 1; scale = 2), ignoring other content. */
static bool read_offset(hob_usd_lex *l, hob_usd_item *item)
{
	hob_usd_value value;
	if (!hob_usd_lex_take(l, '('))
		return true;
	while (!hob_usd_lex_take(l, ')')) {
		hob_str key = hob_usd_lex_word(l);
		if (key.len == 0 || !hob_usd_lex_need(l, '=') || !hob_usd_lex_value(l, HOB_STR(""), &value))
			return key.len > 0 ? false : hob_usd_lex_fail(l, "offset or scale");
		if (hob_str_equal(key, HOB_STR("offset")))
			item->offset = hob_usd_number(&value, 0);
		else if (hob_str_equal(key, HOB_STR("scale")))
			item->scale = hob_usd_number(&value, 1);
		if (!hob_usd_lex_take(l, ';'))
			hob_usd_lex_take(l, ',');
	}
	return true;
}

static bool read_item(hob_usd_lex *l, bool arcs, hob_usd_item *item)
{
	*item = (hob_usd_item){.scale = 1};
	char c = hob_usd_lex_peek(l);
	if (c == '@') {
		if (!hob_usd_lex_asset(l, &item->asset))
			return false;
		return (hob_usd_lex_peek(l) != '<' || hob_usd_lex_path(l, &item->path)) && read_offset(l, item);
	}
	if (c == '<')
		return hob_usd_lex_path(l, &item->path) && (!arcs || read_offset(l, item));
	return one_text(l, &item->path);
}

bool hob_usd_lex_list(hob_usd_lex *l, hob_usd_op op, bool arcs, hob_usd_list *list)
{
	hob_usd_item *items = list->items[op];
	uint32_t *count = &list->count[op], capacity = *count;
	list->is_explicit = list->is_explicit || op == HOB_USD_EXPLICIT;
	if (op == HOB_USD_EXPLICIT)
		*count = 0, capacity = 0;
	if (hob_usd_lex_take_word(l, "None"))
		return true;
	bool several = hob_usd_lex_take(l, '[');
	while (!several || !hob_usd_lex_take(l, ']')) {
		items = (hob_usd_item *)hob_usd_more(l->u->scratch, items, *count, &capacity, sizeof *items);
		if (!items)
			return hob_fail_memory(l->err, l->u->scratch, "a list");
		list->items[op] = items;
		if (!read_item(l, arcs, &items[(*count)++]))
			return false;
		if (!several)
			break;
		if (!hob_usd_lex_take(l, ',') && hob_usd_lex_peek(l) != ']')
			return hob_usd_lex_fail(l, "',' or ']'");
	}
	return true;
}

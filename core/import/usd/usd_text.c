#include "usd_private.h"
#include "../../base/number.h"

#include <math.h>

/* A text that is read into a layer. */
typedef struct hob_usd_lex {
	hob_usd *u;
	const char *start, *at, *end;
	hob_str prim; /* path of the current prim, base of relative paths */
	hob_usd_layer *layer;
	uint32_t depth; /* of bodies of prims: they nest by recursion */
} hob_usd_lex;

/* CORRUPT with line and column; `expected` completes "expected ...". */
_Noreturn static void usd_lex_fail(hob_usd_lex *l, const char *expected)
{
	size_t line = 1, column = 1;
	for (const char *c = l->start; c < l->at; c++) {
		column = *c == '\n' ? 1 : column + 1;
		line += *c == '\n';
	}
	if (l->at == l->end)
		hob_leave(TRUNCATED, "line %zu: the file ends where %s is expected", line, expected);
	hob_leave(CORRUPT, "line %zu, column %zu: expected %s", line, column, expected);
}

static void skip_line(hob_usd_lex *l)
{
	const char *end = (const char *)memchr(l->at, '\n', (size_t)(l->end - l->at));
	l->at = end ? end : l->end;
}

/* Skips blanks, line ends and comments. */
static void usd_lex_skip(hob_usd_lex *l)
{
	while (l->at < l->end) {
		char c = *l->at;
		size_t left = (size_t)(l->end - l->at);
		if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
			l->at++;
		} else if (c == '#' || (c == '/' && left > 1 && l->at[1] == '/')) {
			skip_line(l);
		} else if (c == '/' && left > 1 && l->at[1] == '*') {
			size_t close = hob_str_find((hob_str){l->at, left}, HOB_STR("*/"), 2);
			l->at = close == SIZE_MAX ? l->end : l->at + close + 2;
		} else {
			return;
		}
	}
}

/* the next significant character; 0 at the end */
static char usd_lex_peek(hob_usd_lex *l)
{
	usd_lex_skip(l);
	return l->at < l->end ? *l->at : 0;
}

/* Consumes `c` if it is next. */
static bool usd_lex_take(hob_usd_lex *l, char c)
{
	if (usd_lex_peek(l) != c || l->at == l->end)
		return false;
	l->at++;
	return true;
}

static void usd_lex_need(hob_usd_lex *l, char c)
{
	const char text[] = {'\'', c, '\'', 0};
	if (!usd_lex_take(l, c))
		usd_lex_fail(l, text);
}

/* A comma after an item of a list, or the bracket that closes the list, which stays. */
static void usd_lex_comma(hob_usd_lex *l, char close)
{
	if (!usd_lex_take(l, ',') && usd_lex_peek(l) != close)
		usd_lex_fail(l, close == ']' ? "',' or ']'" : "',' or '}'");
}

static void usd_lex_separator(hob_usd_lex *l)
{
	if (!usd_lex_take(l, ';'))
		usd_lex_take(l, ',');
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
		   c == ':' || (unsigned char)c >= 0x80;
}

/* Letters, digits, "_", ":" and bytes above 127; empty when there are none. */
static hob_str usd_lex_word(hob_usd_lex *l)
{
	usd_lex_skip(l);
	const char *from = l->at;
	while (l->at < l->end && is_word(*l->at))
		l->at++;
	return (hob_str){from, (size_t)(l->at - from)};
}

/* Consumes `word` if it is the next whole word. */
static bool usd_lex_take_word(hob_usd_lex *l, const char *word)
{
	usd_lex_skip(l);
	size_t size = strlen(word), left = (size_t)(l->end - l->at);
	if (left < size || memcmp(l->at, word, size) != 0 || (left > size && is_word(l->at[size])))
		return false;
	l->at += size;
	return true;
}

/* ---- strings */

static int digit_of(char c, int base)
{
	int value = c >= '0' && c <= '9'   ? c - '0'
				: c >= 'a' && c <= 'f' ? c - 'a' + 10
				: c >= 'A' && c <= 'F' ? c - 'A' + 10
									   : 99;
	return value < base ? value : -1;
}

static const char *escape(const char *at, const char *end, char *out)
{
	static const char names[] = "nrtabfv", values[] = "\n\r\t\a\b\f\v";
	const char *name = *at ? strchr(names, *at) : NULL;
	int base = *at == 'x' ? 16 : 8, most = base == 16 ? 2 : 3, value = 0, digits = 0;
	*out = *at;
	if (name) {
		*out = values[name - names];
		return at + 1;
	}
	const char *digit = at + (base == 16);
	while (digits < most && digit < end && digit_of(*digit, base) >= 0) {
		value = value * base + digit_of(*digit++, base);
		digits++;
	}
	if (digits == 0)
		return at + 1;
	*out = (char)value;
	return digit;
}

static hob_str unescape(hob_usd_lex *l, hob_str raw)
{
	if (raw.len == 0 || !memchr(raw.data, '\\', raw.len))
		return raw;
	char *text = HOB_NEW(l->u->scratch, char, raw.len), *to = text;
	for (const char *at = raw.data, *end = raw.data + raw.len; at < end;) {
		if (*at == '\\' && at + 1 < end)
			at = escape(at + 1, end, to++);
		else
			*to++ = *at++;
	}
	return (hob_str){text, (size_t)(to - text)};
}

/* A text between one or three single or double quotes; escapes are resolved. */
static hob_str usd_lex_string(hob_usd_lex *l)
{
	char quote = usd_lex_peek(l);
	if (quote != '"' && quote != '\'')
		usd_lex_fail(l, "a string in quotes");
	bool triple = l->end - l->at >= 3 && l->at[1] == quote && l->at[2] == quote;
	const char *from = l->at + (triple ? 3 : 1), *at = from;
	for (; at < l->end; at++) {
		if (*at == '\\' && at + 1 < l->end)
			at++;
		else if (*at == quote && (!triple || (l->end - at >= 3 && at[1] == quote && at[2] == quote)))
			break;
	}
	if (at == l->end)
		usd_lex_fail(l, "a string that ends");
	l->at = at + (triple ? 3 : 1);
	return unescape(l, (hob_str){from, (size_t)(at - from)});
}

/* @...@ @@@...@@@ */
static hob_str usd_lex_asset(hob_usd_lex *l)
{
	if (usd_lex_peek(l) != '@')
		usd_lex_fail(l, "an @asset@");
	hob_str left = {l->at, (size_t)(l->end - l->at)},
			mark = hob_str_starts(left, HOB_STR("@@@")) ? HOB_STR("@@@") : HOB_STR("@");
	size_t close = hob_str_find(left, mark, mark.len);
	if (close == SIZE_MAX)
		usd_lex_fail(l, "an @asset@ that ends");
	hob_str name = {left.data + mark.len, close - mark.len}; /* has an address even if it is empty */
	l->at += close + mark.len;
	/* Within @@@ a single @ is literal; a fourth and later ones belong to the name. */
	for (; mark.len == 3 && l->at < l->end && *l->at == '@'; l->at++)
		name.len++;
	return name;
}

/* <...>, made absolute; empty for <> */
static hob_str usd_lex_path(hob_usd_lex *l)
{
	usd_lex_need(l, '<');
	const char *close = (const char *)memchr(l->at, '>', (size_t)(l->end - l->at));
	if (!close)
		usd_lex_fail(l, "a <path> that ends");
	hob_str path = {l->at, (size_t)(close - l->at)};
	l->at = close + 1;
	return path.len > 0 ? hob_usd_path_absolute(l->u, l->prim, path) : path;
}

enum { VALUE_DEPTH = 64, MAX_DISORDER = 1 << 24 };

/* ---- types */

typedef struct type {
	hob_usd_kind kind;
	uint32_t width; /* 0: any */
	bool is_quaternion;
} type_t;

/* Families of types: a stem, for some a digit of `digits` (" ": or none), for some a letter of the kind. */
static const struct {
	const char *stem, *digits, *letters;
	type_t type; /* of the stem alone */
} types[] = {
	{"bool", "", "", {HOB_USD_I32, 1, false}},
	{"uchar", "", "", {HOB_USD_I32, 1, false}},
	{"int", " 234", "", {HOB_USD_I32, 1, false}},
	{"uint", "", "", {HOB_USD_I32, 1, false}},
	{"int64", "", "", {HOB_USD_F64, 1, false}},
	{"uint64", "", "", {HOB_USD_F64, 1, false}},
	{"half", " 234", "", {HOB_USD_F32, 1, false}},
	{"float", " 234", "", {HOB_USD_F32, 1, false}},
	{"double", " 234", "", {HOB_USD_F64, 1, false}},
	{"timecode", "", "", {HOB_USD_F64, 1, false}},
	{"point", "3", "hfd", {HOB_USD_F32, 1, false}},
	{"vector", "3", "hfd", {HOB_USD_F32, 1, false}},
	{"normal", "3", "hfd", {HOB_USD_F32, 1, false}},
	{"color", "34", "hfd", {HOB_USD_F32, 1, false}},
	{"texCoord", "23", "hfd", {HOB_USD_F32, 1, false}},
	{"quat", "", "hfd", {HOB_USD_F32, 4, true}},
	{"matrix2d", "", "", {HOB_USD_F64, 4, false}},
	{"matrix3d", "", "", {HOB_USD_F64, 9, false}},
	{"matrix4d", "", "", {HOB_USD_F64, 16, false}},
	{"frame4d", "", "", {HOB_USD_F64, 16, false}},
	{"string", "", "", {HOB_USD_TEXT, 1, false}},
	{"token", "", "", {HOB_USD_TEXT, 1, false}},
	{"asset", "", "", {HOB_USD_TEXT, 1, false}},
	{"path", "", "", {HOB_USD_TEXT, 1, false}},
	{"pathExpression", "", "", {HOB_USD_TEXT, 1, false}},
	/* Older type names, which OpenUSD still reads. Source: pxr/usd/sdf/schema.cpp. */
	{"PointIndex", "", "", {HOB_USD_I32, 1, false}},
	{"EdgeIndex", "", "", {HOB_USD_I32, 1, false}},
	{"FaceIndex", "", "", {HOB_USD_I32, 1, false}},
	{"Vec", "234", "ihfd", {HOB_USD_F32, 1, false}},
	{"Point", "", "", {HOB_USD_F64, 3, false}},
	{"PointFloat", "", "", {HOB_USD_F32, 3, false}},
	{"Normal", "", "", {HOB_USD_F64, 3, false}},
	{"NormalFloat", "", "", {HOB_USD_F32, 3, false}},
	{"Vector", "", "", {HOB_USD_F64, 3, false}},
	{"VectorFloat", "", "", {HOB_USD_F32, 3, false}},
	{"Color", "", "", {HOB_USD_F64, 3, false}},
	{"ColorFloat", "", "", {HOB_USD_F32, 3, false}},
	{"Quat", "", "hfd", {HOB_USD_F32, 4, true}},
	{"Matrix2d", "", "", {HOB_USD_F64, 4, false}},
	{"Matrix3d", "", "", {HOB_USD_F64, 9, false}},
	{"Matrix4d", "", "", {HOB_USD_F64, 16, false}},
	{"Frame", "", "", {HOB_USD_F64, 16, false}},
	{"Transform", "", "", {HOB_USD_F64, 16, false}},
};

static bool type_of(hob_str name, type_t *out)
{
	for (size_t i = 0; i < HOB_COUNT_OF(types); i++) {
		hob_str stem = hob_str_of(types[i].stem), rest = hob_str_sub(name, stem.len, name.len);
		const char *digits = types[i].digits;
		if (!hob_str_starts(name, stem))
			continue;
		*out = types[i].type;
		if (rest.len > 0 && memchr(digits, rest.data[0], strlen(digits))) {
			out->width = (uint32_t)(rest.data[0] - '0');
			rest = hob_str_sub(rest, 1, rest.len);
		} else if (digits[0] && digits[0] != ' ') {
			continue;
		}
		if (types[i].letters[0]) {
			if (rest.len != 1 || !memchr(types[i].letters, rest.data[0], strlen(types[i].letters)))
				continue;
			out->kind = rest.data[0] == 'i' ? HOB_USD_I32 : rest.data[0] == 'd' ? HOB_USD_F64 : HOB_USD_F32;
			return true;
		}
		if (rest.len == 0)
			return true;
	}
	return false;
}

/* ---- numbers */

typedef struct numbers {
	void *items;
	uint32_t count;
} numbers_t;

/* Reads inf, -inf or nan as a whole word; NULL for anything else. */
static const char *word_number(hob_usd_lex *l, double *out)
{
	const char *from = l->at;
	bool minus = l->at < l->end && *l->at == '-';
	l->at += minus;
	bool is_inf = usd_lex_take_word(l, "inf"), is_nan = !is_inf && usd_lex_take_word(l, "nan");
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

static void put_number(hob_usd_lex *l, hob_usd_kind kind, numbers_t *to)
{
	to->items = hob_usd_more(l->u->scratch, to->items, to->count, kind == HOB_USD_F64 ? 8 : 4);
	void *items = to->items;
	const char *after = NULL;
	if (kind == HOB_USD_I32) {
		int64_t value = 0;
		if (usd_lex_take_word(l, "true") || usd_lex_take_word(l, "True"))
			after = l->at, value = 1;
		else if (usd_lex_take_word(l, "false") || usd_lex_take_word(l, "False"))
			after = l->at;
		else
			after = hob_number_int(l->at, l->end, &value);
		((int32_t *)items)[to->count++] = (int32_t)(uint32_t)(uint64_t)value;
	} else {
		after = plain_number(l, kind, (char *)items + (size_t)to->count++ * (kind == HOB_USD_F64 ? 8 : 4));
	}
	if (!after)
		usd_lex_fail(l, "a number");
	l->at = after;
}

static inline void skip_blanks(hob_usd_lex *l)
{
	while (l->at < l->end && (*l->at == ' ' || *l->at == ',' || *l->at == '\n'))
		l->at++;
	usd_lex_skip(l);
}

/* Reads numbers up to the value's closing bracket. Returns how many of them the first outermost pair of
 * parentheses encloses. */
static uint32_t read_numbers(hob_usd_lex *l, hob_usd_kind kind, bool is_array, numbers_t *to)
{
	uint32_t depth = 0, tuples = 0, width = 1;
	if (is_array)
		usd_lex_need(l, '[');
	for (;;) {
		skip_blanks(l);
		char c = l->at < l->end ? *l->at : 0;
		if (is_array && c == ']' && depth == 0) {
			l->at++;
			return width;
		}
		if (c == '(') {
			if (++depth > VALUE_DEPTH)
				usd_lex_fail(l, "fewer brackets");
			l->at++;
			continue;
		}
		if (c == ')' && depth > 0) {
			l->at++;
			if (--depth == 0 && tuples++ == 0)
				width = to->count;
		} else {
			put_number(l, kind, to);
		}
		if (!is_array && depth == 0)
			return width;
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

static hob_usd_value numeric_value(hob_usd_lex *l, const type_t *type, bool is_array)
{
	numbers_t numbers = {0};
	uint32_t written = read_numbers(l, type->kind, is_array, &numbers);
	uint32_t width = type->width > 0 ? type->width : written > 0 ? written : 1;
	if (numbers.count % width != 0 || (!is_array && numbers.count != width))
		usd_lex_fail(l, "as many numbers as the type has");
	if (type->is_quaternion)
		turn_quaternions(type->kind, numbers.items, numbers.count / width);
	return (hob_usd_value){type->kind, is_array, width, numbers.count / width, numbers.items};
}

/* ---- texts */

static hob_str one_text(hob_usd_lex *l)
{
	char c = usd_lex_peek(l);
	if (c == '"' || c == '\'')
		return usd_lex_string(l);
	if (c == '@')
		return usd_lex_asset(l);
	if (c == '<')
		return usd_lex_path(l);
	hob_str word = usd_lex_word(l);
	if (word.len == 0)
		usd_lex_fail(l, "a value");
	return word;
}

static hob_usd_value text_value(hob_usd_lex *l, bool is_array)
{
	hob_str *items = NULL;
	uint32_t count = 0;
	if (is_array)
		usd_lex_need(l, '[');
	while (!is_array || !usd_lex_take(l, ']')) {
		HOB_USD_PUT(l->u->scratch, items, count, one_text(l));
		if (!is_array)
			break;
		usd_lex_comma(l, ']');
	}
	return (hob_usd_value){HOB_USD_TEXT, is_array, 1, count, items};
}

/* ---- unknown values */

/* Skips one value of any form: whole brackets, strings, words; its value is empty. */
static hob_usd_value skip_value(hob_usd_lex *l)
{
	uint32_t depth = 0;
	do {
		char c = usd_lex_peek(l);
		if (c == '(' || c == '[' || c == '{') {
			depth++, l->at++;
		} else if (c == ')' || c == ']' || c == '}') {
			if (depth == 0)
				usd_lex_fail(l, "a value");
			depth--, l->at++;
		} else if (c == '"' || c == '\'') {
			usd_lex_string(l);
		} else if (c == '@') {
			usd_lex_asset(l);
		} else if (c == '<') {
			usd_lex_path(l);
		} else if (c == 0 && l->at == l->end) {
			usd_lex_fail(l, "a value");
		} else if (usd_lex_word(l).len == 0) {
			l->at++;
		} else if (depth == 0) {
			while (l->at < l->end && (*l->at == '.' || *l->at == '+' || *l->at == '-')) {
				l->at++;
				usd_lex_word(l);
			}
		}
	} while (depth > 0 || (l->at > l->start && (l->at[-1] == '-' || l->at[-1] == '+' || l->at[-1] == '.')));
	return (hob_usd_value){0};
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

static hob_usd_value read_dictionary(hob_usd_lex *l, uint32_t depth);

static hob_usd_value free_value(hob_usd_lex *l)
{
	static const type_t any = {HOB_USD_F64, 0, false}, truth = {HOB_USD_I32, 1, false};
	char c = usd_lex_peek(l);
	bool is_array = c == '[';
	const char *from = l->at;
	while (l->at < l->end && (*l->at == '[' || *l->at == '('))
		l->at++, usd_lex_skip(l);
	hob_usd_kind kind = kind_by(usd_lex_peek(l));
	bool is_truth = usd_lex_take_word(l, "true") || usd_lex_take_word(l, "false");
	bool nested_list = c == '(' && kind != HOB_USD_F64;
	l->at = from;
	if (kind == HOB_USD_DICTIONARY && c == '{')
		return read_dictionary(l, 1);
	if (is_truth && !is_array)
		return numeric_value(l, &truth, false);
	if (kind == HOB_USD_F64)
		return numeric_value(l, &any, is_array);
	if (kind == HOB_USD_TEXT && !nested_list)
		return text_value(l, is_array);
	hob_str word = is_array || c == '(' ? HOB_STR("") : usd_lex_word(l);
	if (word.len == 0)
		return skip_value(l);
	l->at = word.data;
	return text_value(l, false);
}

/* A value of type `type`; without one (metadata) its first character decides. Unknown types are skipped. */
static hob_usd_value usd_lex_value(hob_usd_lex *l, hob_str type)
{
	if (usd_lex_take_word(l, "None") || usd_lex_take_word(l, "AnimationBlock"))
		return (hob_usd_value){.kind = HOB_USD_BLOCK};
	if (type.len == 0)
		return free_value(l);
	bool is_array = type.len > 2 && hob_str_ends_nocase(type, HOB_STR("[]"));
	if (hob_str_equal(type, HOB_STR("dictionary")))
		return read_dictionary(l, 1);
	type_t known;
	if (!type_of(hob_str_sub(type, 0, type.len - (is_array ? 2 : 0)), &known))
		return skip_value(l);
	return known.kind == HOB_USD_TEXT ? text_value(l, is_array) : numeric_value(l, &known, is_array);
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

static hob_usd_value usd_lex_samples(hob_usd_lex *l, hob_str type)
{
	double *times = NULL;
	hob_usd_value *values = NULL;
	uint32_t count = 0;
	uint64_t work = 0;
	usd_lex_need(l, '{');
	while (!usd_lex_take(l, '}')) {
		HOB_USD_ROOM(l->u->scratch, times, count);
		HOB_USD_ROOM(l->u->scratch, values, count);
		usd_lex_skip(l);
		const char *after = hob_number_double(l->at, l->end, &times[count]);
		if (!after)
			usd_lex_fail(l, "a time");
		l->at = after;
		usd_lex_need(l, ':');
		values[count] = usd_lex_value(l, type);
		if (!(times[count] - times[count] == 0) || work > MAX_DISORDER)
			usd_lex_fail(l, work > MAX_DISORDER ? "times that rise" : "a time");
		count = put_in_order(times, values, count, &work);
		usd_lex_comma(l, '}');
	}
	hob_usd_samples *samples = HOB_NEW(l->u->scratch, hob_usd_samples, 1);
	*samples = (hob_usd_samples){count, times, values};
	return (hob_usd_value){HOB_USD_SAMPLES, false, 1, 1, samples};
}

/* { string set = "choice" dictionary more = { ... } }. Recursion is bounded by the nesting of brackets. */
static hob_usd_value read_dictionary(hob_usd_lex *l, uint32_t depth)
{
	hob_usd_entry *entries = NULL;
	uint32_t count = 0;
	if (depth > HOB_LIMIT_USD_DICTIONARY_DEPTH)
		hob_leave(LIMIT, "dictionaries in dictionaries: more than %llu levels",
				  HOB_LIMIT_USD_DICTIONARY_DEPTH);
	usd_lex_need(l, '{');
	while (!usd_lex_take(l, '}')) {
		HOB_USD_ROOM(l->u->scratch, entries, count);
		hob_usd_entry *entry = &entries[count++];
		hob_str type = usd_lex_word(l);
		if (type.len == 0)
			usd_lex_fail(l, "a type");
		if (hob_str_starts((hob_str){l->at, (size_t)(l->end - l->at)}, HOB_STR("[]"))) {
			l->at += 2;
			type.len += 2;
		}
		char c = usd_lex_peek(l);
		entry->key = c == '"' || c == '\'' ? HOB_STR("") : usd_lex_word(l);
		if (entry->key.len == 0)
			entry->key = usd_lex_string(l);
		bool nested = hob_str_equal(type, HOB_STR("dictionary"));
		usd_lex_need(l, '=');
		entry->value = nested ? read_dictionary(l, depth + 1) : usd_lex_value(l, type);
		usd_lex_separator(l);
	}
	return (hob_usd_value){HOB_USD_DICTIONARY, false, 1, count, entries};
}

/* { <from>: <to>, ... } as one array of texts, alternating from and to. */
static hob_usd_value usd_lex_relocates(hob_usd_lex *l)
{
	hob_str *items = NULL;
	uint32_t count = 0;
	usd_lex_need(l, '{');
	while (!usd_lex_take(l, '}')) {
		for (int side = 0; side < 2; side++) {
			HOB_USD_PUT(l->u->scratch, items, count, usd_lex_path(l));
			if (side == 0)
				usd_lex_need(l, ':');
		}
		usd_lex_comma(l, '}');
	}
	return (hob_usd_value){HOB_USD_TEXT, true, 1, count, items};
}

/* ---- lists */

/* (offset = 1; scale = 2), ignoring other content. */
static void read_offset(hob_usd_lex *l, hob_usd_item *item)
{
	if (!usd_lex_take(l, '('))
		return;
	while (!usd_lex_take(l, ')')) {
		hob_str key = usd_lex_word(l);
		if (key.len == 0)
			usd_lex_fail(l, "offset or scale");
		usd_lex_need(l, '=');
		hob_usd_value value = usd_lex_value(l, HOB_STR(""));
		if (hob_str_equal(key, HOB_STR("offset")))
			item->offset = hob_usd_number(&value, 0);
		else if (hob_str_equal(key, HOB_STR("scale")))
			item->scale = hob_usd_number(&value, 1);
		usd_lex_separator(l);
	}
}

static hob_usd_item read_item(hob_usd_lex *l, bool arcs)
{
	hob_usd_item item = {.scale = 1};
	char c = usd_lex_peek(l);
	if (c == '@')
		item.asset = usd_lex_asset(l);
	if (c == '<' || (c == '@' && usd_lex_peek(l) == '<'))
		item.path = usd_lex_path(l);
	else if (c != '@')
		item.path = one_text(l);
	if (c == '@' || (c == '<' && arcs))
		read_offset(l, &item);
	return item;
}

static void usd_lex_list(hob_usd_lex *l, hob_usd_op op, bool arcs, hob_usd_list *list)
{
	list->is_explicit = list->is_explicit || op == HOB_USD_EXPLICIT;
	if (op == HOB_USD_EXPLICIT)
		list->count[op] = 0;
	if (usd_lex_take_word(l, "None"))
		return;
	bool several = usd_lex_take(l, '[');
	while (!several || !usd_lex_take(l, ']')) {
		HOB_USD_PUT(l->u->scratch, list->items[op], list->count[op], read_item(l, arcs));
		if (!several)
			break;
		usd_lex_comma(l, ']');
	}
}

static void set_field(hob_usd_lex *l, uint32_t spec, uint32_t name, hob_usd_value value)
{
	hob_usd_field_set(l->u, l->layer, spec, name, value);
}

static void text_field(hob_usd_lex *l, uint32_t spec, uint32_t name, hob_str text)
{
	hob_str *kept = HOB_NEW(l->u->scratch, hob_str, 1);
	*kept = text;
	set_field(l, spec, name, (hob_usd_value){HOB_USD_TEXT, false, 1, 1, kept});
}

static void list_field(hob_usd_lex *l, uint32_t spec, uint32_t name, hob_usd_op op)
{
	const hob_usd_value *old = hob_usd_field_get(l->layer, spec, name);
	hob_usd_list *list = HOB_NEW(l->u->scratch, hob_usd_list, 1);
	if (old && old->kind == HOB_USD_LIST)
		*list = *(const hob_usd_list *)old->data;
	bool arcs = name != HOB_USD_T_targetPaths && name != HOB_USD_T_connectionPaths;
	usd_lex_list(l, op, arcs, list);
	set_field(l, spec, name, (hob_usd_value){HOB_USD_LIST, false, 1, 1, list});
}

static hob_usd_op take_op(hob_usd_lex *l)
{
	static const struct {
		const char *word;
		hob_usd_op op;
	} ops[] = {{"add", HOB_USD_ADD},
			   {"delete", HOB_USD_DELETE},
			   {"prepend", HOB_USD_PREPEND},
			   {"append", HOB_USD_APPEND},
			   {"reorder", HOB_USD_ORDER}};
	for (size_t i = 0; i < HOB_COUNT_OF(ops); i++)
		if (usd_lex_take_word(l, ops[i].word))
			return ops[i].op;
	return HOB_USD_EXPLICIT;
}

/* ---- metadata */

/* Names with another spelling in the text format, and fields that are lists. */
static const struct {
	const char *word;
	uint32_t name;
	bool is_list;
} keys[] = {
	{"references", HOB_USD_T_references, true}, {"payload", HOB_USD_T_payload, true},
	{"inherits", HOB_USD_T_inheritPaths, true}, {"specializes", HOB_USD_T_specializes, true},
	{"apiSchemas", HOB_USD_T_apiSchemas, true}, {"variantSets", HOB_USD_T_variantSetNames, true},
	{"subLayers", HOB_USD_T_subLayers, true},	{"variants", HOB_USD_T_variantSelection, false},
};

static void read_meta(hob_usd_lex *l, uint32_t spec)
{
	hob_usd_op op = take_op(l);
	char c = usd_lex_peek(l);
	if (c == '"' || c == '\'') {
		usd_lex_string(l);
		return;
	}
	hob_str word = usd_lex_word(l);
	if (word.len == 0)
		usd_lex_fail(l, "the name of a field");
	usd_lex_need(l, '=');
	bool relocates = hob_str_equal(word, HOB_STR("relocates"));
	uint32_t name = relocates ? HOB_USD_T_layerRelocates : HOB_NONE;
	for (size_t i = 0; i < HOB_COUNT_OF(keys); i++)
		if (hob_str_equal(word, hob_str_of(keys[i].word))) {
			if (keys[i].is_list) {
				list_field(l, spec, keys[i].name, op);
				return;
			}
			name = keys[i].name;
		}
	hob_usd_value value = relocates ? usd_lex_relocates(l) : usd_lex_value(l, HOB_STR(""));
	set_field(l, spec, name == HOB_NONE ? hob_usd_token(l->u, word) : name, value);
}

static void read_metadata(hob_usd_lex *l, uint32_t spec)
{
	if (!usd_lex_take(l, '('))
		return;
	while (!usd_lex_take(l, ')')) {
		read_meta(l, spec);
		usd_lex_separator(l);
	}
}

/* ---- properties */

static uint32_t add_property(hob_usd_lex *l, uint32_t prim, hob_str name)
{
	if (name.len == 0)
		usd_lex_fail(l, "the name of a property");
	return hob_usd_spec_add(l->u, l->layer, prim, HOB_USD_PROPERTY, hob_usd_token(l->u, name));
}

static void read_relationship(hob_usd_lex *l, uint32_t prim, hob_usd_op op)
{
	uint32_t spec = add_property(l, prim, usd_lex_word(l));
	if (usd_lex_take(l, '.'))
		usd_lex_word(l);
	if (usd_lex_take(l, '='))
		list_field(l, spec, HOB_USD_T_targetPaths, op);
	read_metadata(l, spec);
}

static void read_attribute(hob_usd_lex *l, uint32_t prim, hob_usd_op op)
{
	hob_str type = usd_lex_word(l);
	if (type.len == 0)
		usd_lex_fail(l, "a prim, a property or '}'");
	if (usd_lex_take(l, '[')) {
		type.len = (size_t)(l->at - type.data) + 1;
		usd_lex_need(l, ']');
		hob_str pure = hob_str_sub(type, 0, type.len - 2);
		type = hob_arena_printf(l->u->scratch, "%.*s[]", HOB_FMT(pure));
	}
	uint32_t spec = add_property(l, prim, usd_lex_word(l));
	text_field(l, spec, HOB_USD_T_typeName, type);
	hob_str part = usd_lex_take(l, '.') ? usd_lex_word(l) : HOB_STR("");
	if (usd_lex_take(l, '=')) {
		if (hob_str_equal(part, HOB_STR("connect"))) {
			list_field(l, spec, HOB_USD_T_connectionPaths, op);
		} else if (hob_str_equal(part, HOB_STR("timeSamples"))) {
			set_field(l, spec, HOB_USD_T_timeSamples, usd_lex_samples(l, type));
		} else {
			hob_usd_value value = usd_lex_value(l, part.len > 0 ? HOB_STR("?") : type);
			if (part.len == 0)
				set_field(l, spec, HOB_USD_T_default_value, value);
		}
	}
	read_metadata(l, spec);
}

static void read_property(hob_usd_lex *l, uint32_t prim)
{
	hob_usd_op op = take_op(l);
	while (usd_lex_take_word(l, "custom") || usd_lex_take_word(l, "uniform") ||
		   usd_lex_take_word(l, "varying") || usd_lex_take_word(l, "config"))
		op = op == HOB_USD_EXPLICIT ? take_op(l) : op;
	if (usd_lex_take_word(l, "rel"))
		read_relationship(l, prim, op);
	else
		read_attribute(l, prim, op);
}

/* ---- prims */

static void read_body(hob_usd_lex *l, uint32_t spec);

static void read_prim(hob_usd_lex *l, uint32_t parent, hob_usd_specifier specifier)
{
	hob_str outer = l->prim, type = usd_lex_word(l), name = usd_lex_string(l);
	if (name.len == 0 || memchr(name.data, '/', name.len))
		usd_lex_fail(l, "the name of a prim before this place");
	uint32_t spec = hob_usd_spec_add(l->u, l->layer, parent, HOB_USD_PRIM, hob_usd_token(l->u, name));
	l->layer->specs[spec].specifier = specifier;
	l->prim = hob_usd_path_child(l->u, outer, name);
	if (type.len > 0)
		text_field(l, spec, HOB_USD_T_typeName, type);
	read_metadata(l, spec);
	read_body(l, spec);
	l->prim = outer;
}

static void read_variant_set(hob_usd_lex *l, uint32_t prim)
{
	hob_str set = usd_lex_string(l);
	usd_lex_need(l, '=');
	usd_lex_need(l, '{');
	while (!usd_lex_take(l, '}')) {
		hob_str choice = usd_lex_string(l);
		hob_str name = hob_arena_printf(l->u->scratch, "{%.*s=%.*s}", HOB_FMT(set), HOB_FMT(choice));
		uint32_t spec = hob_usd_spec_add(l->u, l->layer, prim, HOB_USD_VARIANT, hob_usd_token(l->u, name));
		read_metadata(l, spec);
		read_body(l, spec);
	}
}

static void read_order(hob_usd_lex *l, uint32_t spec)
{
	hob_str what = usd_lex_word(l);
	bool prims = hob_str_equal(what, HOB_STR("nameChildren")) || hob_str_equal(what, HOB_STR("rootPrims"));
	usd_lex_need(l, '=');
	hob_usd_value value = usd_lex_value(l, HOB_STR("token[]"));
	if (prims)
		set_field(l, spec, HOB_USD_T_primOrder, value);
}

/* Reads a prim, a variant set or an order; false if none is next. */
static bool read_structure(hob_usd_lex *l, uint32_t spec)
{
	static const char *const specifiers[] = {"def", "over", "class"};
	for (size_t i = 0; i < HOB_COUNT_OF(specifiers); i++)
		if (usd_lex_take_word(l, specifiers[i])) {
			read_prim(l, spec, (hob_usd_specifier)i);
			return true;
		}
	if (usd_lex_take_word(l, "variantSet")) {
		read_variant_set(l, spec);
		return true;
	}
	const char *from = l->at;
	if (usd_lex_take_word(l, "reorder")) {
		hob_str what = usd_lex_word(l);
		l->at = from;
		if (hob_text_is_one_of(what, HOB_WORDS("nameChildren", "rootPrims", "properties"))) {
			usd_lex_take_word(l, "reorder");
			read_order(l, spec);
			return true;
		}
	}
	return false;
}

static void read_body(hob_usd_lex *l, uint32_t spec)
{
	usd_lex_need(l, '{');
	if (++l->depth > HOB_LIMIT_USD_DEPTH)
		hob_leave(LIMIT, "prims in prims: more than %llu levels", HOB_LIMIT_USD_DEPTH);
	while (!usd_lex_take(l, '}'))
		if (!usd_lex_take(l, ';') && !read_structure(l, spec))
			read_property(l, spec);
	l->depth--;
}

void hob_usd_text_read(hob_usd *u, hob_str text, hob_usd_layer *layer)
{
	hob_usd_lex l = {u, text.data, text.data, text.data + text.len, HOB_STR("/"), layer, 0};
	if (!hob_str_starts(text, HOB_STR("#usda ")) && !hob_str_starts(text, HOB_STR("#sdf ")))
		hob_leave(CORRUPT, "the text does not begin with '#usda 1.0'");
	hob_usd_layer_init(u, layer);
	read_metadata(&l, 0);
	while (usd_lex_peek(&l) != 0 || l.at < l.end)
		if (!read_structure(&l, 0))
			usd_lex_fail(&l, "def, over or class");
}

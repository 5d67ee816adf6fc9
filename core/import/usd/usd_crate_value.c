#include "usd_crate.h"

#include "../../base/half.h"

/* Type numbers of the format. */
enum {
	BOOL = 1,
	UCHAR = 2,
	INT = 3,
	UINT = 4,
	INT64 = 5,
	UINT64 = 6,
	HALF = 7,
	FLOAT = 8,
	DOUBLE = 9,
	STRING = 10,
	TOKEN = 11,
	ASSET = 12,
	MATRIX4D = 15,
	QUATD = 16,
	QUATH = 18,
	VEC4I = 30,
	DICTIONARY = 31,
	TOKEN_LIST = 32,
	STRING_LIST = 33,
	PATH_LIST = 34,
	REFERENCE_LIST = 35,
	INT64_LIST = 37,
	PATH_VECTOR = 40,
	TOKEN_VECTOR = 41,
	SPECIFIER = 42,
	SELECTION = 45,
	SAMPLES = 46,
	PAYLOAD = 47,
	DOUBLE_VECTOR = 48,
	OFFSET_VECTOR = 49,
	STRING_VECTOR = 50,
	BLOCK = 51,
	VALUE = 52,
	PAYLOAD_LIST = 55,
	TIME_CODE = 56,
	RELOCATES = 58,
	COMPRESSED_LEAST = 16
};

/* Storage of each numeric type: the kind of its components, and how many there are. */
static const struct {
	char letter; /* b: byte, i: 32-bit integer, l: 64-bit integer, h: half, f: float, d: double */
	uint8_t width;
} numeric[] = {
	[BOOL] = {'b', 1},	 [UCHAR] = {'b', 1},  [INT] = {'i', 1},	  [UINT] = {'i', 1},
	[INT64] = {'l', 1},	 [UINT64] = {'l', 1}, [HALF] = {'h', 1},  [FLOAT] = {'f', 1},
	[DOUBLE] = {'d', 1}, [13] = {'d', 4},	  [14] = {'d', 9},	  [MATRIX4D] = {'d', 16},
	[QUATD] = {'d', 4},	 [17] = {'f', 4},	  [QUATH] = {'h', 4}, [19] = {'d', 2},
	[20] = {'f', 2},	 [21] = {'h', 2},	  [22] = {'i', 2},	  [23] = {'d', 3},
	[24] = {'f', 3},	 [25] = {'h', 3},	  [26] = {'i', 3},	  [27] = {'d', 4},
	[28] = {'f', 4},	 [29] = {'h', 4},	  [VEC4I] = {'i', 4}, [TIME_CODE] = {'d', 1},
};

static uint32_t type_of(uint64_t rep)
{
	return (uint32_t)(rep >> 48) & 0xFF;
}

static bool is_array(uint64_t rep)
{
	return rep >> 63 & 1;
}

static bool is_inlined(uint64_t rep)
{
	return rep >> 62 & 1;
}

static uint64_t payload_of(uint64_t rep)
{
	return rep & 0xFFFFFFFFFFFFu;
}

hob_usd_specifier hob_usd_crate_specifier(uint64_t rep)
{
	uint64_t value = payload_of(rep);
	return type_of(rep) == SPECIFIER && value <= HOB_USD_CLASS ? (hob_usd_specifier)value : HOB_USD_OVER;
}

_Noreturn static void cut_off(void)
{
	hob_leave(TRUNCATED, "the file ends within a value");
}

static hob_usd_cursor cursor_at(const hob_usd_crate *c, uint64_t rep)
{
	return (hob_usd_cursor){c->file, (size_t)payload_of(rep), false, .in_value = true};
}

static size_t letter_size(char letter)
{
	return letter == 'b' ? 1 : letter == 'h' ? 2 : letter == 'd' || letter == 'l' ? 8 : 4;
}

static hob_usd_kind letter_kind(char letter)
{
	return letter == 'd' || letter == 'l'	? HOB_USD_F64
		   : letter == 'f' || letter == 'h' ? HOB_USD_F32
											: HOB_USD_I32;
}

/* The number of elements of an array; nothing is stored for an empty one. */
static uint64_t array_count(const hob_usd_crate *c, uint64_t rep, hob_usd_cursor *at)
{
	if (payload_of(rep) == 0)
		return 0;
	if (c->version < 500)
		hob_usd_take_u32(at);
	return c->version < 700 ? hob_usd_take_u32(at) : hob_usd_take_u64(at);
}

/* ---- numbers */

static void convert(char letter, const uint8_t *from, size_t count, void *to)
{
	for (size_t i = 0; i < count; i++) {
		switch (letter) {
		case 'b':
			((int32_t *)to)[i] = from[i];
			break;
		case 'h':
			((float *)to)[i] = hob_half_to_float(hob_load_u16(from + i * 2));
			break;
		case 'l':
			((double *)to)[i] = (double)(int64_t)hob_load_u64(from + i * 8);
			break;
		case 'd':
			memcpy((double *)to + i, from + i * 8, 8);
			break;
		default:
			memcpy((uint8_t *)to + i * 4, from + i * 4, 4);
		}
	}
}

static void *allocate(hob_usd_crate *c, uint32_t type, uint64_t count)
{
	size_t size = letter_kind(numeric[type].letter) == HOB_USD_F64 ? 8 : 4;
	uint64_t numbers;
	if (__builtin_mul_overflow(count, (uint64_t)numeric[type].width, &numbers) || numbers > SIZE_MAX / 8)
		cut_off();
	return hob_arena_array(c->u->scratch, (size_t)numbers, size, 8);
}

static void *raw_numbers(hob_usd_crate *c, hob_usd_cursor *at, uint32_t type, uint64_t count)
{
	char letter = numeric[type].letter;
	uint64_t size;
	if (__builtin_mul_overflow(count, (uint64_t)numeric[type].width * letter_size(letter), &size))
		cut_off();
	hob_bytes bytes = hob_usd_take_bytes(at, size);
	void *data = allocate(c, type, count);
	convert(letter, bytes.data, (size_t)count * numeric[type].width, data);
	return data;
}

static void *packed_ints(hob_usd_crate *c, hob_usd_cursor *at, uint32_t type, uint64_t count)
{
	bool wide = type == INT64 || type == UINT64;
	void *ints = hob_usd_unpack_ints(c, at, count, wide ? 8 : 4);
	if (!wide)
		return ints;
	double *data = (double *)allocate(c, type, count);
	for (uint64_t i = 0; i < count; i++)
		data[i] = (double)((const int64_t *)ints)[i];
	return data;
}

/* Reads compressed floats: 'i': as integers; 't': as a table and an index for each number. */
static void *packed_floats(hob_usd_crate *c, hob_usd_cursor *at, uint32_t type, uint64_t count)
{
	uint8_t code = hob_usd_take_u8(at);
	uint32_t table_size = code == 't' ? hob_usd_take_u32(at) : 0;
	void *table = NULL, *ints;
	bool wide = type == DOUBLE;
	if (code != 'i' && code != 't')
		hob_leave(CORRUPT, "packed numbers of an unknown kind, %u", code);
	if (code == 't')
		table = raw_numbers(c, at, type, table_size);
	ints = hob_usd_unpack_ints(c, at, count, 4);
	void *data = allocate(c, type, count);
	for (uint64_t i = 0; i < count; i++) {
		uint32_t value = ((const uint32_t *)ints)[i];
		if (code == 't' && value >= table_size)
			hob_leave(CORRUPT, "entry %u of a table of %u", value, table_size);
		if (wide)
			((double *)data)[i] = code == 'i' ? (int32_t)value : ((const double *)table)[value];
		else
			((float *)data)[i] = code == 'i' ? (float)(int32_t)value : ((const float *)table)[value];
	}
	return data;
}

static hob_usd_value numbers_of(uint32_t type, bool is_array, uint64_t count, const void *data)
{
	return (hob_usd_value){letter_kind(numeric[type].letter), is_array, numeric[type].width, (size_t)count,
						   data};
}

static hob_usd_value number_array(hob_usd_crate *c, uint64_t rep)
{
	uint32_t type = type_of(rep);
	hob_usd_cursor at = cursor_at(c, rep);
	uint64_t count = array_count(c, rep, &at);
	bool packed = rep >> 61 & 1 && count >= COMPRESSED_LEAST;
	void *data = packed && type >= INT && type <= UINT64	? packed_ints(c, &at, type, count)
				 : packed && type >= HALF && type <= DOUBLE ? packed_floats(c, &at, type, count)
															: raw_numbers(c, &at, type, count);
	return numbers_of(type, true, count, data);
}

/* Reads a value from the 48 bits of the rep itself, stored there in a narrower type. */
static hob_usd_value inlined_number(hob_usd_crate *c, uint64_t rep)
{
	uint32_t type = type_of(rep), width = numeric[type].width, bits = (uint32_t)payload_of(rep);
	hob_usd_kind kind = letter_kind(numeric[type].letter);
	uint32_t side = type == 13 ? 2 : type == 14 ? 3 : type == MATRIX4D ? 4 : 0;
	void *data = allocate(c, type, 1);
	for (uint32_t i = 0; i < width; i++) {
		double value = (int8_t)(bits >> (i % 4 * 8));
		float single;
		memcpy(&single, &bits, sizeof single);
		if (side > 0)
			value = i % (side + 1) == 0 ? (double)(int8_t)(bits >> (i / (side + 1) * 8)) : 0;
		else if (width == 1 && (type == FLOAT || type == DOUBLE || type == TIME_CODE))
			value = (double)single;
		else if (type == HALF)
			value = (double)hob_half_to_float((uint16_t)bits);
		else if (width == 1)
			value = type == UINT || type == UINT64 ? (double)bits
					: type <= UCHAR				   ? (double)(bits & 0xFF)
												   : (double)(int32_t)bits;
		if (kind == HOB_USD_F64)
			((double *)data)[i] = value;
		else if (kind == HOB_USD_F32)
			((float *)data)[i] = (float)value;
		else
			((int32_t *)data)[i] = (int32_t)(uint32_t)(int64_t)value;
	}
	return numbers_of(type, false, 1, data);
}

static hob_usd_value number(hob_usd_crate *c, uint64_t rep)
{
	hob_usd_cursor at = cursor_at(c, rep);
	if (is_array(rep))
		return number_array(c, rep);
	if (is_inlined(rep))
		return inlined_number(c, rep);
	return numbers_of(type_of(rep), false, 1, raw_numbers(c, &at, type_of(rep), 1));
}

/* ---- texts */

static hob_str token_at(hob_usd_crate *c, uint32_t index)
{
	if (index >= c->token_count)
		hob_leave(CORRUPT, "token %u of %llu", index, (unsigned long long)c->token_count);
	return c->tokens[index];
}

static hob_str string_at(hob_usd_crate *c, uint32_t index)
{
	if (index >= c->string_count)
		hob_leave(CORRUPT, "string %u of %llu", index, (unsigned long long)c->string_count);
	return token_at(c, c->strings[index]);
}

/* Text of a path without variant selections. */
static hob_str path_at(hob_usd_crate *c, uint32_t path)
{
	if (path >= c->path_count)
		hob_leave(CORRUPT, "path %u of %llu", path, (unsigned long long)c->path_count);
	if (!c->path_text[path].data) {
		hob_arena *arena = c->u->scratch;
		uint32_t depth = 0;
		size_t size = 1;
		for (uint32_t p = path; c->path_parent[p] != HOB_NONE; p = c->path_parent[p], depth++)
			size += c->tokens[c->path_token[p]].len + 1;
		if (depth > HOB_LIMIT_USD_NESTING)
			hob_leave(LIMIT, "a path of more than %llu levels", HOB_LIMIT_USD_NESTING);
		char *text = HOB_NEW(arena, char, size + 1);
		size_t at = size;
		for (uint32_t p = path; c->path_parent[p] != HOB_NONE; p = c->path_parent[p]) {
			hob_str token = c->tokens[c->path_token[p]];
			bool variant = token.len > 0 && token.data[0] == '{';
			if (variant)
				continue;
			at -= token.len;
			memcpy(text + at, token.data, token.len);
			text[--at] = c->path_is_property[p] ? '.' : '/';
		}
		if (at == size)
			text[--at] = '/';
		c->path_text[path] = (hob_str){text + at, size - at};
	}
	return c->path_text[path];
}

typedef hob_str (*text_reader)(hob_usd_crate *c, uint32_t index);

static hob_usd_value texts(hob_usd_crate *c, hob_usd_cursor *at, uint64_t count, text_reader read)
{
	if (count > (at->file.size - at->at) / 4)
		cut_off();
	hob_str *items = HOB_NEW(c->u->scratch, hob_str, count);
	for (uint64_t i = 0; i < count; i++)
		items[i] = read(c, hob_usd_take_u32(at));
	return (hob_usd_value){HOB_USD_TEXT, true, 1, (size_t)count, items};
}

static hob_usd_value text(hob_usd_crate *c, uint64_t rep, text_reader read)
{
	hob_usd_cursor at = cursor_at(c, rep);
	if (is_array(rep))
		return texts(c, &at, array_count(c, rep, &at), read);
	hob_str *one = HOB_NEW(c->u->scratch, hob_str, 1);
	*one = read(c, is_inlined(rep) ? (uint32_t)payload_of(rep) : hob_usd_take_u32(&at));
	return (hob_usd_value){HOB_USD_TEXT, false, 1, 1, one};
}

/* ---- values in values */

/* Reads a value by the offset from here to its rep, with its data between; continues after the rep. */
static hob_usd_value value_elsewhere(hob_usd_crate *c, hob_usd_cursor *at, uint32_t depth)
{
	hob_usd_cursor there = *at;
	uint64_t distance = hob_usd_take_u64(at);
	there.at = (size_t)((uint64_t)there.at + distance);
	uint64_t rep = hob_usd_take_u64(&there);
	*at = there;
	return hob_usd_crate_value(c, rep, depth + 1);
}

static hob_usd_value dictionary(hob_usd_crate *c, hob_usd_cursor *at, uint32_t depth)
{
	uint64_t count = hob_usd_take_u64(at);
	if (count > (at->file.size - at->at) / 12)
		cut_off();
	hob_usd_entry *entries = HOB_NEW(c->u->scratch, hob_usd_entry, count);
	for (uint64_t i = 0; i < count; i++) {
		entries[i].key = string_at(c, hob_usd_take_u32(at));
		entries[i].value = value_elsewhere(c, at, depth);
	}
	return (hob_usd_value){HOB_USD_DICTIONARY, false, 1, (size_t)count, entries};
}

static hob_usd_value selection(hob_usd_crate *c, hob_usd_cursor *at)
{
	uint64_t count = hob_usd_take_u64(at);
	if (count > (at->file.size - at->at) / 8)
		cut_off();
	hob_usd_entry *entries = HOB_NEW(c->u->scratch, hob_usd_entry, count);
	hob_str *choices = HOB_NEW(c->u->scratch, hob_str, count);
	for (uint64_t i = 0; i < count; i++) {
		entries[i].value = (hob_usd_value){HOB_USD_TEXT, false, 1, 1, &choices[i]};
		entries[i].key = string_at(c, hob_usd_take_u32(at));
		choices[i] = string_at(c, hob_usd_take_u32(at));
	}
	return (hob_usd_value){HOB_USD_DICTIONARY, false, 1, (size_t)count, entries};
}

static hob_usd_value samples(hob_usd_crate *c, hob_usd_cursor *at, uint32_t depth)
{
	hob_usd_value times = value_elsewhere(c, at, depth);
	hob_usd_cursor there = *at;
	there.at = (size_t)((uint64_t)there.at + hob_usd_take_u64(at));
	uint64_t count = hob_usd_take_u64(&there);
	if (count > (there.file.size - there.at) / 8)
		cut_off();
	if (times.kind != HOB_USD_F64 || times.width != 1 || times.count != count)
		hob_leave(CORRUPT, "%llu time samples have %zu times", (unsigned long long)count, times.count);
	hob_usd_value *values = HOB_NEW(c->u->scratch, hob_usd_value, count);
	hob_usd_samples *all = HOB_NEW(c->u->scratch, hob_usd_samples, 1);
	const double *time = (const double *)times.data;
	for (uint64_t i = 0; i < count; i++) {
		if (!(time[i] - time[i] == 0) || (i > 0 && time[i] <= time[i - 1]))
			hob_leave(CORRUPT, "times of samples do not rise");
		values[i] = hob_usd_crate_value(c, hob_usd_take_u64(&there), depth + 1);
	}
	*all = (hob_usd_samples){(size_t)count, time, values};
	return (hob_usd_value){HOB_USD_SAMPLES, false, 1, 1, all};
}

/* ---- lists */

static hob_usd_item read_item(hob_usd_crate *c, hob_usd_cursor *at, uint32_t type)
{
	uint32_t first = hob_usd_take_u32(at);
	hob_usd_item item = {.scale = 1};
	if (type == TOKEN_LIST || type == STRING_LIST || type == PATH_LIST) {
		item.path = type == TOKEN_LIST	  ? token_at(c, first)
					: type == STRING_LIST ? string_at(c, first)
										  : path_at(c, first);
		return item;
	}
	item.asset = string_at(c, first);
	item.path = path_at(c, hob_usd_take_u32(at));
	/* The empty path has the root's number. */
	if (item.path.len == 1)
		item.path.len = 0;
	if (type == REFERENCE_LIST || c->version >= 800) {
		item.offset = hob_usd_take_f64(at);
		item.scale = hob_usd_take_f64(at);
	}
	if (!(item.offset - item.offset == 0) || !(item.scale - item.scale == 0))
		item.offset = 0, item.scale = 1;
	if (type == REFERENCE_LIST)
		dictionary(c, at, 1);
	return item;
}

static void read_items(hob_usd_crate *c, hob_usd_cursor *at, uint32_t type, hob_usd_list *list, hob_usd_op op)
{
	uint64_t count = hob_usd_take_u64(at);
	if (count > (at->file.size - at->at) / 4)
		cut_off();
	list->items[op] = HOB_NEW(c->u->scratch, hob_usd_item, count);
	for (uint64_t i = 0; i < count; i++)
		list->items[op][i] = read_item(c, at, type);
	list->count[op] = (uint32_t)count;
}

static hob_usd_value list_of(hob_usd_crate *c, hob_usd_cursor *at, uint32_t type)
{
	static const struct {
		uint8_t bit;
		hob_usd_op op;
	} parts[] = {{2, HOB_USD_EXPLICIT}, {4, HOB_USD_ADD},	 {32, HOB_USD_PREPEND},
				 {64, HOB_USD_APPEND},	{8, HOB_USD_DELETE}, {16, HOB_USD_ORDER}};
	hob_usd_list *list = HOB_NEW(c->u->scratch, hob_usd_list, 1);
	if (type == PAYLOAD) {
		list->items[HOB_USD_EXPLICIT] = HOB_NEW(c->u->scratch, hob_usd_item, 1);
		list->is_explicit = true;
		list->count[HOB_USD_EXPLICIT] = 1;
		*list->items[HOB_USD_EXPLICIT] = read_item(c, at, PAYLOAD_LIST);
	} else {
		uint8_t bits = hob_usd_take_u8(at);
		list->is_explicit = bits & 1;
		for (size_t i = 0; i < HOB_COUNT_OF(parts); i++)
			if (bits & parts[i].bit)
				read_items(c, at, type, list, parts[i].op);
	}
	return (hob_usd_value){HOB_USD_LIST, false, 1, 1, list};
}

/* Numbers of a list in any stored form. */
static hob_usd_value number_list(hob_usd_crate *c, hob_usd_cursor *at)
{
	enum { IS_THERE = 2 | 4 | 32 | 64 };
	uint8_t bits = hob_usd_take_u8(at);
	double *found = NULL;
	uint32_t count = 0;
	for (uint8_t bit = 2; bit >= 2 && bit <= 64; bit = (uint8_t)(bit * 2)) {
		uint64_t left = bits & bit ? hob_usd_take_u64(at) : 0;
		if (left > (at->file.size - at->at) / 8)
			cut_off();
		for (; left > 0; left--) {
			int64_t number = (int64_t)hob_usd_take_u64(at);
			if (bit & IS_THERE)
				HOB_USD_PUT(c->u->scratch, found, count, (double)number);
		}
	}
	return (hob_usd_value){HOB_USD_F64, true, 1, count, found};
}

static hob_usd_value doubles(hob_usd_crate *c, hob_usd_cursor *at, uint32_t width)
{
	uint64_t count = hob_usd_take_u64(at), all;
	if (__builtin_mul_overflow(count, (uint64_t)width, &all))
		cut_off();
	const void *data = raw_numbers(c, at, DOUBLE, all);
	return (hob_usd_value){HOB_USD_F64, true, width, (size_t)count, data};
}

/* ---- one value */

static hob_usd_value read_value(hob_usd_crate *c, uint64_t rep, uint32_t depth)
{
	uint32_t type = type_of(rep);
	bool is_empty = is_inlined(rep) || payload_of(rep) == 0;
	hob_usd_cursor at = cursor_at(c, rep);
	if (type < HOB_COUNT_OF(numeric) && numeric[type].letter)
		return number(c, rep);
	switch (type) {
	case STRING:
		return text(c, rep, string_at);
	case TOKEN:
	case ASSET:
		return text(c, rep, token_at);
	case DICTIONARY:
		return is_empty ? (hob_usd_value){0} : dictionary(c, &at, depth);
	case TOKEN_LIST:
	case STRING_LIST:
	case PATH_LIST:
	case REFERENCE_LIST:
	case PAYLOAD:
	case PAYLOAD_LIST:
		return list_of(c, &at, type);
	case INT64_LIST:
		return number_list(c, &at);
	case PATH_VECTOR:
		return texts(c, &at, hob_usd_take_u64(&at), path_at);
	case TOKEN_VECTOR:
		return texts(c, &at, hob_usd_take_u64(&at), token_at);
	case STRING_VECTOR:
		return texts(c, &at, hob_usd_take_u64(&at), string_at);
	case SELECTION:
		return is_empty ? (hob_usd_value){0} : selection(c, &at);
	case SAMPLES:
		return samples(c, &at, depth);
	case DOUBLE_VECTOR:
		return doubles(c, &at, 1);
	case OFFSET_VECTOR:
		return doubles(c, &at, 2);
	case RELOCATES: {
		uint64_t pairs = hob_usd_take_u64(&at);
		return texts(c, &at, pairs < UINT64_MAX / 2 ? pairs * 2 : pairs, path_at);
	}
	case BLOCK:
		return (hob_usd_value){.kind = HOB_USD_BLOCK};
	case VALUE:
		return value_elsewhere(c, &at, depth);
	default:
		return (hob_usd_value){0};
	}
}

hob_usd_value hob_usd_crate_value(hob_usd_crate *c, uint64_t rep, uint32_t depth)
{
	if (depth > HOB_LIMIT_USD_DICTIONARY_DEPTH)
		hob_leave(LIMIT, "values in values: more than %llu levels", HOB_LIMIT_USD_DICTIONARY_DEPTH);
	if (rep >= UINT64_MAX - 1)
		hob_leave(CORRUPT, "a value without a type");
	uint32_t known = hob_usd_map_get(&c->known, rep);
	if (known != HOB_NONE)
		return c->values[known];
	hob_usd_value value = read_value(c, rep, depth);
	hob_usd_map_put(c->u->scratch, &c->known, rep, c->value_count);
	HOB_USD_PUT(c->u->scratch, c->values, c->value_count, value);
	return value;
}

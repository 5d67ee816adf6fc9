#include "fbx_private.h"

static const char magic[] = "Kaydara FBX Binary  ";
enum { MAGIC = 20, HEADER = 27 };

bool hob_fbx_is_binary(hob_bytes file)
{
	return file.size >= HEADER && memcmp(file.data, magic, MAGIC) == 0;
}

static uint64_t load(const hob_fbx *f, size_t at, size_t size)
{
	return hob_fbx_load(f->file.data + at, size, f->big_endian);
}

/* Size of a value of that type after its letter; 0 unless it is a scalar. */
static size_t plain_size(char type)
{
	switch (type) {
	case 'C':
	case 'B':
	case 'Z':
		return 1;
	case 'Y':
		return 2;
	case 'I':
	case 'F':
		return 4;
	case 'L':
	case 'D':
		return 8;
	default:
		return 0;
	}
}

static bool is_array(char type)
{
	return type == 'b' || type == 'c' || type == 'i' || type == 'l' || type == 'f' || type == 'd';
}

bool hob_fbx_next_binary(const hob_fbx *f, hob_fbx_cursor *cursor, hob_fbx_value *out)
{
	size_t room = cursor->end - cursor->at, at = cursor->at + (size_t)1;
	if (room < 1)
		return false;
	char type = (char)f->file.data[cursor->at];
	room--;
	size_t size = plain_size(type);
	if (size > 0) {
		if (room < size)
			return false;
		uint64_t bits = load(f, at, size);
		out->type = HOB_FBX_INTEGER;
		if (type == 'D') {
			memcpy(&out->real, &bits, sizeof out->real);
			out->type = HOB_FBX_REAL;
		} else if (type == 'F') {
			uint32_t low = (uint32_t)bits;
			float single;
			memcpy(&single, &low, sizeof single);
			out->real = (double)single;
			out->type = HOB_FBX_REAL;
		}
		if (out->type == HOB_FBX_REAL) {
			bool fits = out->real > -9e18 && out->real < 9e18;
			out->integer = fits ? (int64_t)out->real : 0;
		} else {
			out->integer = size == 2   ? (int16_t)(uint16_t)bits
						   : size == 4 ? (int32_t)(uint32_t)bits
									   : (int64_t)bits;
			out->real = (double)out->integer;
		}
		if (size == 1)
			out->text = (hob_str){(const char *)f->file.data + at, 1};
	} else if (type == 'S' || type == 'R') {
		if (room < 4)
			return false;
		size = (size_t)load(f, at, 4);
		if (room - 4 < size)
			return false;
		out->type = HOB_FBX_TEXT;
		out->text = (hob_str){(const char *)f->file.data + at + 4, size};
		size += 4;
	} else if (is_array(type)) {
		if (room < 12)
			return false;
		out->type = HOB_FBX_ARRAY;
		out->element = type;
		out->count = (uint32_t)load(f, at, 4);
		out->encoding = (uint32_t)load(f, at + 4, 4);
		size = (size_t)load(f, at + 8, 4);
		if (room - 12 < size)
			return false;
		out->stored = (hob_bytes){f->file.data + at + 12, size};
		size += 12;
	} else {
		return false;
	}
	cursor->at = (uint32_t)(at + size);
	return true;
}

typedef struct level {
	uint32_t record, last;
	size_t end;
	bool open; /* the end is not stored: a NULL record marks it */
} level;

typedef struct header {
	uint64_t end, count, size;
	uint32_t name_len;
} header;

static void check_values(const hob_fbx *f, const hob_fbx_record *record)
{
	hob_fbx_cursor cursor = {record->values, record->values + record->value_size};
	hob_fbx_value value;
	for (uint32_t i = 0; i < record->value_count; i++) {
		value = (hob_fbx_value){0};
		if (!hob_fbx_next_binary(f, &cursor, &value))
			hob_leave(CORRUPT, "value %u of %u of record '%.*s' at byte %u is damaged", i,
					  record->value_count, (int)record->name_len, (const char *)f->file.data + record->name,
					  cursor.at);
	}
}

static void read_records(hob_fbx *f, size_t at)
{
	bool wide = f->version >= 7500;
	size_t word = wide ? 8 : 4, header_size = wide ? 25 : 13;
	level levels[HOB_FBX_DEPTH + 1] = {{HOB_FBX_ROOT, HOB_NONE, f->file.size, true}};
	uint32_t depth = 0;
	for (;;) {
		level *l = &levels[depth];
		if (at >= l->end && depth > 0) {
			at = l->end;
			depth--;
			continue;
		}
		if (l->end < at || l->end - at < header_size) {
			if (depth == 0)
				hob_leave(TRUNCATED, "the file ends at byte %zu inside of its records; export it again",
						  f->file.size);
			at = l->end;
			depth--;
			continue;
		}
		header h = {load(f, at, word), load(f, at + word, word), load(f, at + 2 * word, word),
					f->file.data[at + 3 * word]};
		if (h.end == 0 && h.name_len == 0) {
			at = l->open ? at + header_size : l->end;
			if (depth == 0)
				return;
			depth--;
			continue;
		}
		size_t begin = at + header_size;
		if (h.name_len > l->end - begin || h.size > l->end - begin - h.name_len)
			hob_leave(TRUNCATED, "record at byte %zu is larger than what holds it", at);
		size_t values_end = begin + h.name_len + (size_t)h.size;
		if (h.end != 0 && (h.end > l->end || h.end < values_end))
			hob_leave(CORRUPT, "record at byte %zu ends at byte %llu, outside of what holds it", at,
					  (unsigned long long)h.end);
		if (h.count > h.size)
			hob_leave(CORRUPT, "record at byte %zu promises %llu values in %llu bytes", at,
					  (unsigned long long)h.count, (unsigned long long)h.size);
		hob_fbx_record record = {.name = (uint32_t)begin,
								 .name_len = h.name_len,
								 .values = (uint32_t)(begin + h.name_len),
								 .value_size = (uint32_t)h.size,
								 .value_count = (uint32_t)h.count,
								 .child = HOB_NONE,
								 .next = HOB_NONE};
		check_values(f, &record);
		uint32_t id = hob_fbx_add_record(f, l->record, l->last, &record);
		l->last = id;
		bool open = h.end == 0;
		size_t end = open ? l->end : (size_t)h.end;
		at = values_end;
		if (end == values_end && !open)
			continue;
		if (depth == HOB_FBX_DEPTH)
			hob_leave(CORRUPT, "records are nested deeper than %d levels at byte %zu", HOB_FBX_DEPTH, at);
		levels[++depth] = (level){id, HOB_NONE, end, open};
	}
}

void hob_fbx_read_binary(hob_fbx *f)
{
	static const hob_fbx_record root = {.child = HOB_NONE, .next = HOB_NONE};
	if (!hob_fbx_is_binary(f->file))
		hob_leave(TRUNCATED, "%zu bytes are too few for an FBX file", f->file.size);
	if (f->file.size >= UINT32_MAX)
		hob_leave(LIMIT, "an FBX file of %zu bytes; at most 4 GiB are read", f->file.size);
	f->big_endian = f->file.data[22] != 0;
	f->version = (uint32_t)load(f, 23, 4);
	if (f->version < 2000 || f->version > 8999)
		hob_leave(UNSUPPORTED, "FBX version %u; versions 2000 to 8000 are read", f->version);
	hob_fbx_add_record(f, HOB_NONE, HOB_NONE, &root);
	read_records(f, HEADER);
}

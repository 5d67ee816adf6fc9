#include "fbx_private.h"
#include "../../base/number.h"

/* A list of values ends at one without a comma behind it, not at a line end: some files break lists. */

typedef struct scanner {
	const char *text;
	uint32_t at, end;
} scanner;

static void skip_blanks(scanner *s)
{
	while (s->at < s->end) {
		char c = s->text[s->at];
		if (c == ';') {
			while (s->at < s->end && s->text[s->at] != '\n' && s->text[s->at] != '\r')
				s->at++;
		} else if ((unsigned char)c <= ' ') {
			s->at++;
		} else {
			break;
		}
	}
}

/* Bytes that end a word: blanks and , { } " ; : */
static const bool no_word[256] = {
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,		  1,		 1,			1,		   1,		  1,		1,
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, ['"'] = 1, [','] = 1, [':'] = 1, [';'] = 1, ['{'] = 1, ['}'] = 1};

static uint32_t word_end(const scanner *s)
{
	uint32_t at = s->at;
	while (at < s->end && !no_word[(uint8_t)s->text[at]])
		at++;
	return at;
}

/* Whether the word is a record's name: a colon follows it on the same line. */
static bool is_name(const scanner *s, uint32_t *end)
{
	uint32_t at = word_end(s);
	*end = at;
	while (at < s->end && (s->text[at] == ' ' || s->text[at] == '\t'))
		at++;
	return *end > s->at && at < s->end && s->text[at] == ':';
}

static unsigned line_of(const scanner *s)
{
	unsigned line = 1;
	for (uint32_t i = 0; i < s->at; i++)
		line += s->text[i] == '\n';
	return line;
}

/* Some exporters do not escape quotes in names: a quote ends the text if a character follows that may follow
 * a value, or if the line has no other quote. */
static uint32_t text_end(const scanner *s, bool *cut)
{
	const char *end = s->text + s->end, *first = NULL;
	const char *at = s->text + s->at + 1;
	for (;; at++) {
		at = memchr(at, '"', (size_t)(end - at));
		if (!at || (first && memchr(first, '\n', (size_t)(at - first))))
			break;
		first = first ? first : at;
		const char *next = at + 1;
		while (next < end && (*next == ' ' || *next == '\t'))
			next++;
		if (next == end || memchr(",\r\n{};", *next, 7))
			return (uint32_t)(at - s->text) + 1;
	}
	*cut = !first;
	return first ? (uint32_t)(first - s->text) + 1 : s->end;
}

/* Skips one value; false when there is none. */
static bool skip_value(scanner *s, bool *cut)
{
	*cut = false;
	if (s->at >= s->end)
		return false;
	if (s->text[s->at] == '"') {
		s->at = text_end(s, cut);
		return true;
	}
	uint32_t end;
	if (is_name(s, &end) || end == s->at)
		return false;
	s->at = end;
	return true;
}

static void skip_values(scanner *s, hob_fbx_record *record)
{
	bool cut;
	skip_blanks(s);
	record->values = s->at;
	uint32_t end = s->at;
	/* A list may start with a comma. */
	for (;;) {
		bool value = skip_value(s, &cut);
		if (cut)
			hob_leave(TRUNCATED, "line %u: a text has no closing quote", line_of(s));
		record->value_count += value;
		if (value)
			end = s->at;
		skip_blanks(s);
		if (s->at >= s->end || s->text[s->at] != ',')
			break;
		s->at++;
		skip_blanks(s);
	}
	record->value_size = end - record->values;
}

static void read_records(hob_fbx *f, scanner *s)
{
	struct {
		uint32_t record, last;
	} levels[HOB_FBX_DEPTH + 1] = {{HOB_FBX_ROOT, HOB_NONE}};
	uint32_t depth = 0, name_end;
	for (;;) {
		skip_blanks(s);
		if (s->at >= s->end)
			break;
		char c = s->text[s->at];
		if (c == '}') {
			if (depth == 0)
				hob_leave(CORRUPT, "line %u: '}' closes nothing", line_of(s));
			depth--;
			s->at++;
			continue;
		}
		if (c == 0 && depth == 0)
			break;
		if (!is_name(s, &name_end))
			hob_leave(CORRUPT, "line %u: a name with a colon is expected", line_of(s));
		hob_fbx_record record = {
			.name = s->at, .name_len = name_end - s->at, .child = HOB_NONE, .next = HOB_NONE};
		while (s->text[name_end] != ':')
			name_end++;
		s->at = name_end + 1;
		skip_values(s, &record);
		uint32_t id = hob_fbx_add_record(f, levels[depth].record, levels[depth].last, &record);
		levels[depth].last = id;
		if (s->at < s->end && s->text[s->at] == '{') {
			s->at++;
			if (depth == HOB_FBX_DEPTH)
				hob_leave(CORRUPT, "line %u: records are nested deeper than %d levels", line_of(s),
						  HOB_FBX_DEPTH);
			levels[++depth].record = id;
			levels[depth].last = HOB_NONE;
		}
	}
	if (depth != 0)
		hob_leave(TRUNCATED, "the file ends inside of '%.*s'; export it again",
				  HOB_FMT(hob_fbx_record_name(f, levels[depth].record)));
}

bool hob_fbx_next_ascii(const hob_fbx *f, hob_fbx_cursor *cursor, hob_fbx_value *out)
{
	scanner s = {(const char *)f->file.data, cursor->at, cursor->end};
	skip_blanks(&s);
	while (s.at < s.end && s.text[s.at] == ',') {
		s.at++;
		skip_blanks(&s);
	}
	uint32_t begin = s.at;
	bool cut;
	if (!skip_value(&s, &cut))
		return false;
	cursor->at = s.at;
	const char *text = s.text + begin, *end = s.text + s.at;
	if (*text == '"') {
		out->type = HOB_FBX_TEXT;
		out->text = (hob_str){text + 1, (size_t)(end - text) - (cut ? 1 : 2)};
		return true;
	}
	if (*text == '*')
		text++;
	const char *behind = hob_number_double(text, end, &out->real);
	int64_t integer = 0;
	if (!behind) {
		out->type = HOB_FBX_TEXT;
		out->text = (hob_str){text, (size_t)(end - text)};
		out->integer = out->text.len == 1 && (*text == 'Y' || *text == 'T');
		return true;
	}
	out->type = HOB_FBX_REAL;
	if (hob_number_int(text, end, &integer) == end)
		out->type = HOB_FBX_INTEGER;
	else if (out->real > -9e18 && out->real < 9e18)
		integer = (int64_t)out->real;
	out->integer = integer;
	return true;
}

/* "FBXVersion" of the header, else the version of the first comment: "; FBX 7.7.0 project file". */
static uint32_t version_of(const hob_fbx *f)
{
	uint32_t header = hob_fbx_child(f, HOB_FBX_ROOT, HOB_STR("FBXHeaderExtension"));
	int64_t version = hob_fbx_child_integer(f, header, HOB_STR("FBXVersion"), 0);
	if (version >= 2000 && version < 9000)
		return (uint32_t)version;
	hob_str text = {(const char *)f->file.data, f->file.size < 256 ? f->file.size : 256};
	size_t at = hob_str_find(text, HOB_STR("; FBX "), 0);
	if (at != SIZE_MAX && at + 11 <= text.len && hob_is_digit(text.data[at + 6]) &&
		text.data[at + 7] == '.' && hob_is_digit(text.data[at + 8]) && text.data[at + 9] == '.' &&
		hob_is_digit(text.data[at + 10]))
		return (uint32_t)(text.data[at + 6] - '0') * 1000 + (uint32_t)(text.data[at + 8] - '0') * 100 +
			   (uint32_t)(text.data[at + 10] - '0') * 10;
	/* Without a stated version: numeric object ids mean 7.x. */
	uint32_t objects = hob_fbx_child(f, HOB_FBX_ROOT, HOB_STR("Objects"));
	if (objects == HOB_NONE)
		return 5800;
	uint32_t first = f->records[objects].child;
	return first != HOB_NONE && hob_fbx_value_at(f, first, 0).type == HOB_FBX_TEXT ? 6100 : 7400;
}

void hob_fbx_read_ascii(hob_fbx *f)
{
	static const hob_fbx_record root = {.child = HOB_NONE, .next = HOB_NONE};
	static const char *const words[] = {"Objects:", "Connections:", "FBXHeaderExtension",
										"Model:", "FBXVersion"};
	if (f->file.size >= UINT32_MAX)
		hob_leave(LIMIT, "an FBX file of %zu bytes; at most 4 GiB are read", f->file.size);
	hob_str text = {(const char *)f->file.data, f->file.size};
	bool known = false;
	for (size_t i = 0; i < HOB_COUNT_OF(words) && !known; i++)
		known = hob_str_find(text, hob_str_of(words[i]), 0) != SIZE_MAX;
	if (!known)
		hob_leave(CORRUPT, "the file is neither a binary nor an ASCII FBX file");
	scanner s = {text.data, 0, (uint32_t)text.len};
	if (text.len >= 3 && memcmp(text.data, "\xEF\xBB\xBF", 3) == 0)
		s.at = 3;
	f->ascii = true;
	hob_fbx_add_record(f, HOB_NONE, HOB_NONE, &root);
	read_records(f, &s);
	f->version = version_of(f);
}

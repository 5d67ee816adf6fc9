#include "xml.h"

#include "../base/guard.h"
#include "../base/limits.h"
#include "../base/number.h"
#include "text.h"

#include <expat.h>

/* Expat 2.8 deprecates the older names. A salt is set because expat would otherwise ask the system for random
 * bytes, which the sandbox may refuse. A process reads one model, so colliding names only slow down that
 * model. */
#if XML_MAJOR_VERSION > 2 || XML_MINOR_VERSION >= 8
#define BYTE_INDEX(parser) XML_GetCurrentByteIndex64(parser)
#define BYTE_COUNT(parser) XML_GetCurrentByteCount64(parser)
#define SET_SALT(parser)   XML_SetHashSalt16Bytes(parser, (const uint8_t[16]){'H', 'o', 'b'})
#else
#define BYTE_INDEX(parser) XML_GetCurrentByteIndex(parser)
#define BYTE_COUNT(parser) XML_GetCurrentByteCount(parser)
#define SET_SALT(parser)   XML_SetHashSalt(parser, 0x486F62)
#endif

/* PIECE is large, as expat copies each piece and counts the lines of all but the last. LONG_TEXT: shorter
 * texts cost more to bypass than to parse. */
enum { PIECE = 256 << 20, NAMES = 1024, LONG_TEXT = 256, MISSES_MAX = 8 };

typedef struct open_element {
	hob_xml_element *element, *last_child;
} open_element;

typedef struct builder {
	hob_arena *arena;
	hob_bytes file;
	const hob_xml_taker *taker;
	XML_Parser parser;
	hob_xml *out;
	hob_str names[NAMES]; /* open addressing; when full, names are copied */
	uint32_t name_count;
	hob_buf open;	  /* open_element */
	uint32_t skipped; /* open elements from one that the taker consumed on, itself included; 0: none */
	uint32_t depth;
	/* Text of the innermost element: a range of the file, or a copy. */
	size_t text_from, text_to;
	bool copied, closed; /* `closed`: a child has begun; further text is ignored */
	hob_buf text;
	size_t counted; /* bytes of the file whose lines `lines` counts */
	uint32_t lines;
	size_t fed, left_out; /* offset up to which the file is parsed; bytes before it that bypassed expat */
	size_t tag_end;		  /* end of the last tag, in the file */
	uint32_t misses;
} builder;

/* File offset of expat's position. */
static size_t place(const builder *b)
{
	int64_t index = BYTE_INDEX(b->parser);
	size_t rest = b->file.size - b->left_out;
	return index >= 0 && (size_t)index < rest ? b->left_out + (size_t)index : b->file.size;
}

static void note_tag_end(builder *b)
{
	b->tag_end = place(b) + (size_t)BYTE_COUNT(b->parser);
}

/* Counts lines with memchr: expat's own count goes byte by byte. */
static uint32_t line_number(builder *b)
{
	size_t at = place(b);
	const uint8_t *end = b->file.data + at, *from = b->file.data + b->counted;
	while (from < end && (from = memchr(from, '\n', (size_t)(end - from))) != NULL) {
		b->lines++;
		from++;
	}
	b->counted = at > b->counted ? at : b->counted;
	return b->lines + 1;
}

static hob_str intern(builder *b, const char *name)
{
	const uint32_t start = 2166136261u;
	bool whole = name[0] == 'x' && strncmp(name, "xmlns", 5) == 0;
	const char *from = name, *at_end = name;
	uint32_t hash = start;
	for (; *at_end; at_end++)
		if (*at_end == ':' && !whole) {
			from = at_end + 1;
			hash = start;
			whole = true;
		} else {
			hash = (hash ^ (uint8_t)*at_end) * 16777619u;
		}
	hob_str wanted = {from, (size_t)(at_end - from)};
	uint32_t at = (hash ^ hash >> 15) & (NAMES - 1);
	while (b->names[at].data && !hob_str_equal(b->names[at], wanted))
		at = (at + 1) & (NAMES - 1);
	if (b->names[at].data)
		return b->names[at];
	hob_str kept = hob_arena_str(b->arena, wanted);
	if (b->name_count < NAMES / 2) {
		b->names[at] = kept;
		b->name_count++;
	}
	return kept;
}

static open_element *innermost(builder *b)
{
	return b->open.size == 0 ? NULL
							 : (open_element *)(void *)(b->open.data + b->open.size - sizeof(open_element));
}

/* ---- text */

static bool is_blank_text(hob_str text)
{
	for (size_t i = 0; i < text.len; i++)
		if ((uint8_t)text.data[i] > ' ')
			return false;
	return true;
}

static void end_text(builder *b)
{
	open_element *top = innermost(b);
	hob_str text = b->copied
					   ? hob_buf_str(&b->text)
					   : (hob_str){(const char *)b->file.data + b->text_from, b->text_to - b->text_from};
	if (top && !b->closed && text.len > 0 && !is_blank_text(text))
		top->element->text = b->copied ? hob_arena_str(b->arena, text) : text;
	b->text_from = b->text_to = 0;
	b->copied = false;
	hob_buf_clear(&b->text);
}

/* Whether the piece is an unchanged part of the file, directly after the previous one. */
static bool follows(builder *b, const char *piece, size_t len)
{
	size_t at = place(b);
	if (len > b->file.size - at || b->copied)
		return false;
	const uint8_t *source = b->file.data + at;
	size_t taken = len;
	if (len == 1 && piece[0] == '\n' && source[0] == '\r')
		taken = at + 1 < b->file.size && source[1] == '\n' ? 2 : 1;
	else if (memcmp(source, piece, len) != 0)
		return false;
	if (b->text_to == 0)
		b->text_from = at;
	else if (b->text_to != at)
		return false;
	b->text_to = at + taken;
	return true;
}

static void XMLCALL on_text(void *user, const XML_Char *piece, int len)
{
	builder *b = user;
	if (b->skipped > 0 || b->closed || b->open.size == 0 || follows(b, piece, (size_t)len))
		return;
	if (!b->copied)
		hob_buf_put(&b->text, b->file.data + b->text_from, b->text_to - b->text_from);
	b->copied = true;
	hob_buf_put(&b->text, piece, (size_t)len);
}

/* ---- elements */

static void copy_attributes(builder *b, hob_xml_element *element, const XML_Char **from)
{
	while (from[element->attribute_count * 2])
		element->attribute_count++;
	if (element->attribute_count == 0)
		return;
	hob_xml_attribute *to = HOB_NEW(b->arena, hob_xml_attribute, element->attribute_count);
	element->attributes = to;
	for (uint32_t i = 0; i < element->attribute_count; i++)
		to[i] =
			(hob_xml_attribute){intern(b, from[i * 2]), hob_arena_str(b->arena, hob_str_of(from[i * 2 + 1]))};
}

/* Attributes passed to `take` are borrowed from expat for the call. */
static bool is_taken(builder *b, const XML_Char *name, const XML_Char **attributes)
{
	enum { MOST = 32 };
	hob_xml_attribute list[MOST];
	hob_xml_element element = {.name = intern(b, name), .attributes = list};
	const open_element *top = innermost(b);
	if (!b->taker || !top)
		return false;
	for (; attributes[element.attribute_count * 2] && element.attribute_count < MOST;
		 element.attribute_count++)
		list[element.attribute_count] =
			(hob_xml_attribute){intern(b, attributes[element.attribute_count * 2]),
								hob_str_of(attributes[element.attribute_count * 2 + 1])};
	element.line = line_number(b);
	return b->taker->take(b->taker->user, top->element, &element);
}

static void begin(builder *b, const XML_Char *name, const XML_Char **attributes)
{
	if (b->out->element_count >= HOB_LIMIT_XML_ELEMENTS)
		hob_leave(LIMIT, "more than %llu XML elements", HOB_LIMIT_XML_ELEMENTS);
	hob_xml_element *element = HOB_NEW(b->arena, hob_xml_element, 1);
	open_element opened = {element, NULL};
	element->name = intern(b, name);
	element->line = line_number(b);
	element->number = b->out->element_count++;
	copy_attributes(b, element, attributes);
	open_element *top = innermost(b);
	if (!top) {
		b->out->root = element;
	} else {
		element->parent = top->element;
		if (top->last_child)
			top->last_child->next = element;
		else
			top->element->first = element;
		top->last_child = element;
	}
	hob_buf_put(&b->open, &opened, sizeof opened);
	b->closed = false;
}

static void XMLCALL on_begin(void *user, const XML_Char *name, const XML_Char **attributes)
{
	builder *b = user;
	note_tag_end(b);
	if (++b->depth > HOB_LIMIT_XML_DEPTH)
		hob_leave(LIMIT, "XML elements are nested deeper than %llu", HOB_LIMIT_XML_DEPTH);
	if (b->skipped > 0 || is_taken(b, name, attributes)) {
		b->skipped++;
		return;
	}
	end_text(b);
	begin(b, name, attributes);
}

static void XMLCALL on_end(void *user, const XML_Char *name)
{
	builder *b = user;
	(void)name;
	note_tag_end(b);
	b->depth--;
	if (b->skipped > 0) {
		b->skipped--;
		return;
	}
	end_text(b);
	b->open.size -= sizeof(open_element);
	b->closed = true;
}

/* ---- what is refused */

static void XMLCALL on_entity(void *user, const XML_Char *name, int is_parameter, const XML_Char *value,
							  int value_length, const XML_Char *base, const XML_Char *system_id,
							  const XML_Char *public_id, const XML_Char *notation)
{
	builder *b = user;
	(void)is_parameter, (void)value, (void)value_length, (void)base, (void)system_id, (void)public_id;
	(void)notation;
	hob_leave(UNSUPPORTED,
			  "line %u declares the XML entity '%.60s', which no model needs; remove the declaration",
			  line_number(b), name);
}

static int XMLCALL on_encoding(void *user, const XML_Char *name, XML_Encoding *encoding)
{
	(void)user, (void)name;
	for (int i = 0; i < 256; i++)
		encoding->map[i] = i;
	return XML_STATUS_OK;
}

/* The encoding for expat; NULL lets the file's declaration decide. */
static const char *encoding_of(hob_bytes file, bool decoded)
{
	hob_str text = {(const char *)file.data, file.size};
	if (decoded)
		return "UTF-8";
	hob_str head = hob_str_sub(text, 0, 200);
	size_t end = hob_str_find(head, HOB_STR("?>"), 0);
	size_t said = hob_str_find(head, HOB_STR("encoding"), 0);
	bool says = end != SIZE_MAX && said < end;
	bool says_utf8 = false;
	for (size_t i = says ? said : end; says && i + 5 <= end; i++)
		says_utf8 = says_utf8 || hob_str_equal_nocase(hob_str_sub(head, i, i + 5), HOB_STR("utf-8"));
	return says && !says_utf8 ? NULL : hob_utf8_valid(text) ? "UTF-8" : "ISO-8859-1";
}

/* ---- all */

/* Fails with line and column. Expat ends lines at LF, CR or both. */
static void fail_syntax(builder *b, enum XML_Error code)
{
	size_t at = place(b), line = 1, column = 1;
	for (size_t i = 0; i < at; i++) {
		uint8_t c = b->file.data[i];
		if (c == '\n' || (c == '\r' && (i + 1 == at || b->file.data[i + 1] != '\n'))) {
			line++;
			column = 1;
		} else if (c != '\r' && (c & 0xC0) != 0x80) {
			column++;
		}
	}
	hob_leave(CORRUPT, "line %zu, column %zu: %s", line, column, XML_ErrorString(code));
}

/* Parses up to offset `end` of the file. */
static void feed(builder *b, size_t end)
{
	while (b->fed < end) {
		size_t piece = end - b->fed < PIECE ? end - b->fed : PIECE;
		bool last = b->fed + piece == b->file.size;
		if (XML_Parse(b->parser, (const char *)b->file.data + b->fed, (int)piece, last) == XML_STATUS_OK) {
			b->fed += piece;
			continue;
		}
		enum XML_Error code = XML_GetErrorCode(b->parser);
		if (code == XML_ERROR_NO_MEMORY)
			hob_leave(MEMORY, "no memory left for XML");
		if (code == XML_ERROR_NO_ELEMENTS && last && b->out->root)
			hob_leave(TRUNCATED, "the XML ends before its last element; copy the file again");
		fail_syntax(b, code);
	}
}

/* Whether these bytes of text are valid and the same in every encoding. */
static bool is_plain(const uint8_t *at, const uint8_t *end)
{
	const uint64_t ones = 0x0101010101010101ull, tops = ones * 0x80;
	for (; at < end; at++) {
		for (; end - at >= 8; at += 8) {
			/* Only whether some top bit is set counts: a borrow spoils only bytes above one that matches. */
			uint64_t word = hob_load_u64(at), amp = word ^ ones * '&', close = word ^ ones * '>';
			uint64_t found = word | (word - ones * ' ') | ((amp - ones) & ~amp) | ((close - ones) & ~close);
			if (found & tops)
				break;
		}
		if (at == end)
			break;
		uint8_t c = *at;
		if (c > 0x7F || c == '&' || c == '>' || (c < ' ' && c != '\n' && c != '\r' && c != '\t'))
			return false;
	}
	return true;
}

/* The first long text at or after `from`. It may lie in a comment: expat decides. */
static bool find_long_text(const builder *b, size_t from, size_t *begin, size_t *end)
{
	const uint8_t *const behind = b->file.data + b->file.size;
	const uint8_t *tag = b->file.data + from, *next;
	for (; (next = memchr(tag, '<', (size_t)(behind - tag))) != NULL; tag = next + 1) {
		if (next - tag < LONG_TEXT)
			continue;
		const uint8_t *close = memchr(tag, '>', (size_t)(next - tag));
		if (close && next - close > LONG_TEXT && is_plain(close + 1, next)) {
			*begin = (size_t)(close + 1 - b->file.data);
			*end = (size_t)(next - b->file.data);
			return true;
		}
	}
	return false;
}

/* Long texts, most of a large file, bypass expat; it parses only the parts between them. */
static void feed_all(builder *b)
{
	size_t begin, end, from = 0;
	while (b->misses < MISSES_MAX && find_long_text(b, from, &begin, &end)) {
		feed(b, begin);
		from = end;
		if (b->tag_end != begin || b->open.size == 0 || b->text_to > 0 || b->copied) {
			b->misses++;
			continue;
		}
		if (b->skipped == 0 && !b->closed) {
			b->text_from = begin;
			b->text_to = end;
		}
		b->left_out += end - begin;
		b->fed = end;
	}
	feed(b, b->file.size);
	if (!b->out->root)
		hob_leave(EMPTY, "the file holds no XML element");
}

static bool parse_all(void *context, hob_error *err)
{
	(void)err;
	builder *b = context;
	XML_SetUserData(b->parser, b);
	SET_SALT(b->parser);
	XML_SetElementHandler(b->parser, on_begin, on_end);
	XML_SetCharacterDataHandler(b->parser, on_text);
	XML_SetEntityDeclHandler(b->parser, on_entity);
	XML_SetUnknownEncodingHandler(b->parser, on_encoding, NULL);
	feed_all(b);
	hob_buf_release(&b->open);
	hob_buf_release(&b->text);
	return true;
}

bool hob_xml_parse(hob_arena *arena, hob_bytes file, const hob_xml_taker *taker, hob_xml *out, hob_error *err)
{
	hob_str text = hob_text_decode(arena, file);
	bool decoded = text.data != (const char *)file.data;
	hob_xml tree = {0};
	builder *b = HOB_NEW(arena, builder, 1);
	hob_error why;
	*b = (builder){
		.arena = arena, .file = {(const uint8_t *)text.data, text.len}, .taker = taker, .out = &tree};
	b->parser = XML_ParserCreate(encoding_of(b->file, decoded));
	bool done =
		b->parser ? hob_guarded(parse_all, b, &why) : hob_fail(&why, MEMORY, "no memory left for XML");
	XML_ParserFree(b->parser);
	if (!done && why.code == HOB_ERR_MEMORY)
		hob_guard_raise(&why);
	if (done)
		*out = tree;
	else if (err)
		*err = why;
	return done;
}

void hob_xml_read(hob_arena *arena, hob_bytes file, const hob_xml_taker *taker, hob_xml *out)
{
	hob_error why;
	if (!hob_xml_parse(arena, file, taker, out, &why))
		hob_leave_with(&why);
}

const char *hob_xml_version(void)
{
	return XML_ExpatVersion();
}

/* ---- questions */

hob_str hob_xml_attr(const hob_xml_element *element, hob_str name)
{
	for (uint32_t i = 0; element && i < element->attribute_count; i++)
		if (hob_str_equal(element->attributes[i].name, name))
			return element->attributes[i].value;
	return (hob_str){0};
}

uint32_t hob_xml_attr_u32(const hob_xml_element *element, hob_str name, uint32_t otherwise)
{
	hob_str value = hob_text_trim(hob_xml_attr(element, name));
	int64_t number;
	if (value.len == 0 || !hob_number_int(value.data, value.data + value.len, &number) || number < 0 ||
		number >= HOB_NONE)
		return otherwise;
	return (uint32_t)number;
}

double hob_xml_attr_double(const hob_xml_element *element, hob_str name, double otherwise)
{
	double number;
	return hob_xml_doubles(hob_xml_attr(element, name), &number, 1) == 1 ? number : otherwise;
}

const hob_xml_element *hob_xml_child(const hob_xml_element *element, hob_str name)
{
	const hob_xml_element *child = element ? element->first : NULL;
	while (child && !hob_xml_is(child, name))
		child = child->next;
	return child;
}

const hob_xml_element *hob_xml_child_of(const hob_xml_element *element, const char *const *names)
{
	const hob_xml_element *child = NULL;
	while (!child && *names)
		child = hob_xml_child(element, hob_str_of(*names++));
	return child;
}

const hob_xml_element *hob_xml_next(const hob_xml_element *element, hob_str name)
{
	do
		element = element->next;
	while (element && !hob_xml_is(element, name));
	return element;
}

const hob_xml_element *hob_xml_after(const hob_xml_element *element, const hob_xml_element *root)
{
	if (element->first)
		return element->first;
	while (element != root && !element->next)
		element = element->parent;
	return element == root ? NULL : element->next;
}

const hob_xml_element *hob_xml_find(const hob_xml_element *element, const char *path)
{
	while (element && *path) {
		const char *slash = strchr(path, '/');
		size_t len = slash ? (size_t)(slash - path) : strlen(path);
		element = hob_xml_child(element, (hob_str){path, len});
		path += path[len] ? len + 1 : len;
	}
	return element;
}

hob_str hob_xml_text(const hob_xml_element *element)
{
	return element ? hob_text_trim(element->text) : (hob_str){0};
}

/* Some exporters write decimal commas: 0,5 is half a unit. */
static const char *read_number(const char *at, const char *end, double *out)
{
	char text[64];
	const char *behind = hob_number_double(at, end, out);
	if (!behind || behind + 1 >= end || *behind != ',' || !hob_is_digit(behind[1]))
		return behind;
	size_t len = 0;
	for (behind = at; behind < end && (uint8_t)*behind > ' '; behind++)
		if (len < sizeof text)
			text[len++] = *behind == ',' ? '.' : *behind;
	return hob_number_double(text, text + len, out) ? behind : NULL;
}

static const char *skip_blanks(const char *at, const char *end)
{
	while (at < end && (uint8_t)*at <= ' ')
		at++;
	return at;
}

uint32_t hob_xml_floats(hob_str text, float *out, uint32_t count)
{
	if (text.len == 0)
		return 0;
	const char *at = text.data, *end = text.data + text.len;
	uint32_t read = 0;
	while (read < count && (at = skip_blanks(at, end)) < end) {
		const char *behind = hob_number_float(at, end, &out[read]);
		if (behind && behind < end && *behind == ',') {
			double value;
			behind = read_number(at, end, &value);
			out[read] = hob_number_to_float(value);
		}
		if (!behind)
			break;
		at = behind;
		read++;
	}
	return read;
}

uint32_t hob_xml_doubles(hob_str text, double *out, uint32_t count)
{
	if (text.len == 0)
		return 0;
	const char *at = text.data, *end = text.data + text.len;
	uint32_t read = 0;
	while (read < count && (at = skip_blanks(at, end)) < end &&
		   (at = read_number(at, end, &out[read])) != NULL)
		read++;
	return read;
}

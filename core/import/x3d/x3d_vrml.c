#include "x3d_private.h"

#include "../../base/limits.h"

enum { FIELDS_MAX = 256 };

typedef struct parser {
	const hob_import_request *request;
	hob_arena *arena;
	const char *at, *end;
	uint32_t line, depth, count, prototypes;
	hob_name_map types; /* name of a DEF -> index in `defined` */
	hob_buf defined;	/* hob_str: type of the node that has the name now */
} parser;

/* ---- words */

static bool is_word(char c)
{
	return (uint8_t)c > ' ' && !strchr("{}[]\",#'", c);
}

static void skip_blanks(parser *p)
{
	for (; p->at < p->end && ((uint8_t)*p->at <= ' ' || *p->at == ','); p->at++)
		p->line += *p->at == '\n';
}

static bool is_next(parser *p, char c)
{
	skip_blanks(p);
	return p->at < p->end && *p->at == c;
}

static bool expect(parser *p, char c, hob_error *err)
{
	if (!is_next(p, c))
		return p->at == p->end ? hob_fail(err, TRUNCATED,
										  "the file ends at line %u, where a '%c' should stand", p->line, c)
							   : hob_fail(err, CORRUPT, "line %u: a '%c' is expected before '%.10s'", p->line,
										  c, (char[12]){*p->at, 0});
	p->at++;
	return true;
}

static hob_str take_word(parser *p)
{
	skip_blanks(p);
	const char *from = p->at;
	while (p->at < p->end && is_word(*p->at))
		p->at++;
	return (hob_str){from, (size_t)(p->at - from)};
}

static hob_str peek_word(parser *p)
{
	skip_blanks(p);
	const char *from = p->at;
	hob_str word = take_word(p);
	p->at = from;
	return word;
}

static bool skip_text(parser *p, hob_error *err)
{
	uint32_t from = p->line;
	for (p->at++; p->at < p->end && *p->at != '"'; p->at++) {
		p->line += *p->at == '\n';
		if (*p->at == '\\' && p->at + 1 < p->end)
			p->at++;
	}
	if (p->at == p->end)
		return hob_fail(err, TRUNCATED, "the text that begins in line %u does not end", from);
	p->at++;
	return true;
}

/* Skips a bracket, its content and the matching bracket. */
static bool skip_block(parser *p, char open, char close, hob_error *err)
{
	uint32_t depth = 0, from = p->line;
	do {
		skip_blanks(p);
		if (p->at == p->end)
			return hob_fail(err, TRUNCATED, "the '%c' of line %u has no partner", open, from);
		if (*p->at == '"') {
			if (!skip_text(p, err))
				return false;
			continue;
		}
		depth += *p->at == open;
		depth -= *p->at == close;
		p->at++;
	} while (depth > 0);
	return true;
}

/* Blanks out comments, so that a list is one piece of text. */
static char *without_comments(hob_arena *arena, hob_str text)
{
	char *copy = HOB_NEW(arena, char, text.len + 1);
	bool quoted = false;
	for (size_t i = 0; i < text.len; i++) {
		copy[i] = text.data[i];
		if (copy[i] == '"')
			quoted = !quoted;
		if (quoted && copy[i] == '\\' && i + 1 < text.len) {
			i++;
			copy[i] = text.data[i];
		}
		if (!quoted && copy[i] == '#')
			for (; i < text.len && text.data[i] != '\n' && text.data[i] != '\r'; i++)
				copy[i] = ' ';
		if (i < text.len)
			copy[i] = !quoted && text.data[i] == '#' ? ' ' : text.data[i];
	}
	return copy;
}

/* ---- nodes */

typedef struct node {
	hob_xml_element *element, *last;
	hob_xml_attribute fields[FIELDS_MAX];
	uint32_t field_count;
} node_t;

static bool add_field(parser *p, node_t *n, hob_str name, hob_str value, hob_error *err)
{
	if (n->field_count >= FIELDS_MAX)
		return hob_fail(err, LIMIT, "line %u: a node of more than %d fields", p->line, FIELDS_MAX);
	n->fields[n->field_count++] = (hob_xml_attribute){name, value};
	return true;
}

static hob_xml_element *new_element(parser *p, hob_str name, const hob_xml_element *parent, hob_error *err)
{
	if (p->count >= HOB_LIMIT_XML_ELEMENTS) {
		hob_fail(err, LIMIT, "more than %llu nodes", HOB_LIMIT_XML_ELEMENTS);
		return NULL;
	}
	hob_xml_element *e = HOB_NEW(p->arena, hob_xml_element, 1);
	*e = (hob_xml_element){.name = name, .parent = parent, .line = p->line, .number = p->count++};
	return e;
}

static void append(node_t *to, hob_xml_element *child)
{
	if (to->last)
		to->last->next = child;
	else
		to->element->first = child;
	to->last = child;
}

static void close_node(parser *p, node_t *n)
{
	hob_xml_attribute *kept = HOB_NEW(p->arena, hob_xml_attribute, n->field_count);
	if (n->field_count > 0)
		memcpy(kept, n->fields, n->field_count * sizeof *kept);
	n->element->attributes = kept;
	n->element->attribute_count = n->field_count;
}

static void define(parser *p, hob_str name, hob_str type)
{
	uint32_t index = (uint32_t)(p->defined.size / sizeof type);
	uint32_t known = hob_name_map_add(&p->types, name, index);
	if (known != index)
		((hob_str *)(void *)p->defined.data)[known] = type;
	else
		hob_buf_put(&p->defined, &type, sizeof type);
}

static bool read_node(parser *p, node_t *into, hob_str field, hob_error *err);

static bool is_declaration(hob_str word)
{
	static const char *const words[] = {"eventIn",	 "eventOut",   "exposedField",	 "field",
										"inputOnly", "outputOnly", "initializeOnly", "inputOutput"};
	for (size_t i = 0; i < HOB_COUNT_OF(words); i++)
		if (hob_str_equal(word, hob_str_of(words[i])))
			return true;
	return false;
}

/* Skips ROUTE, PROTO and the like; *skipped: whether there was one. */
static bool skip_statement(parser *p, bool *skipped, hob_error *err)
{
	hob_str word = peek_word(p);
	*skipped = true;
	if (hob_str_equal(word, HOB_STR("ROUTE"))) {
		for (int i = 0; i < 4; i++)
			(void)take_word(p);
		return true;
	}
	bool external = hob_str_equal(word, HOB_STR("EXTERNPROTO"));
	*skipped = external || hob_str_equal(word, HOB_STR("PROTO"));
	if (!*skipped)
		return true;
	p->prototypes++;
	(void)take_word(p);
	(void)take_word(p);
	if (!is_next(p, '['))
		return expect(p, '[', err);
	if (!skip_block(p, '[', ']', err))
		return false;
	if (is_next(p, '"'))
		return skip_text(p, err);
	if (is_next(p, external ? '[' : '{'))
		return skip_block(p, external ? '[' : '{', external ? ']' : '}', err);
	return expect(p, external ? '[' : '{', err);
}

/* Takes consecutive numbers, quoted words, TRUE and FALSE. */
static bool plain_values(parser *p, hob_str *out, hob_error *err)
{
	skip_blanks(p);
	const char *from = p->at, *to = p->at;
	for (;;) {
		skip_blanks(p);
		if (p->at < p->end && *p->at == '"') {
			if (!skip_text(p, err))
				return false;
		} else if (p->at < p->end && (strchr("+-.0123456789", *p->at))) {
			(void)take_word(p);
		} else {
			break;
		}
		to = p->at;
	}
	*out = (hob_str){from, (size_t)(to - from)};
	return true;
}

static bool is_node(hob_str word)
{
	return word.len > 0 && !hob_str_equal(word, HOB_STR("TRUE")) && !hob_str_equal(word, HOB_STR("FALSE")) &&
		   !hob_str_equal(word, HOB_STR("true")) && !hob_str_equal(word, HOB_STR("false")) &&
		   !hob_str_equal(word, HOB_STR("NULL")) && !strchr("+-.0123456789", word.data[0]);
}

static bool read_list(parser *p, node_t *n, hob_str field, hob_error *err)
{
	hob_str value;
	p->at++;
	if (is_node(peek_word(p))) {
		while (!is_next(p, ']')) {
			bool skipped;
			if (!skip_statement(p, &skipped, err) || (!skipped && !read_node(p, n, field, err)))
				return false;
		}
		return expect(p, ']', err);
	}
	skip_blanks(p);
	const char *from = p->at;
	while (!is_next(p, ']')) {
		hob_str word = peek_word(p);
		const char *before = p->at;
		if (!plain_values(p, &value, err))
			return false;
		if (p->at == before && word.len > 0)
			(void)take_word(p);
		else if (p->at == before)
			return expect(p, ']', err);
	}
	value = (hob_str){from, (size_t)(p->at - from)};
	p->at++;
	return add_field(p, n, field, value, err);
}

static bool read_field(parser *p, node_t *n, hob_error *err)
{
	hob_str name = take_word(p), value;
	if (name.len == 0)
		return hob_fail(err, CORRUPT, "line %u: the name of a field is expected", p->line);
	if (is_next(p, '['))
		return read_list(p, n, name, err);
	hob_str word = peek_word(p);
	if (hob_str_equal(word, HOB_STR("IS"))) {
		(void)take_word(p);
		(void)take_word(p);
		return true;
	}
	if (is_node(word))
		return read_node(p, n, name, err);
	if (word.len > 0 && !strchr("+-.0123456789", word.data[0])) {
		value = take_word(p);
		return hob_str_equal(value, HOB_STR("NULL")) || add_field(p, n, name, value, err);
	}
	return plain_values(p, &value, err) && add_field(p, n, name, value, err);
}

static bool read_body(parser *p, node_t *n, hob_error *err)
{
	/* Scripts and shaders declare fields, and draw nothing. */
	if (hob_str_equal(n->element->name, HOB_STR("Script")) ||
		hob_str_ends_nocase(n->element->name, HOB_STR("Shader")))
		return is_next(p, '{') ? skip_block(p, '{', '}', err) : expect(p, '{', err);
	if (!expect(p, '{', err))
		return false;
	while (!is_next(p, '}')) {
		bool skipped;
		if (p->at == p->end)
			return expect(p, '}', err);
		if (is_declaration(peek_word(p)))
			return hob_fail(err, UNSUPPORTED, "line %u: a %.*s node declares fields of its own", p->line,
							HOB_FMT(n->element->name));
		if (!skip_statement(p, &skipped, err) || (!skipped && !read_field(p, n, err)))
			return false;
	}
	p->at++;
	return true;
}

static bool use_of(parser *p, node_t *into, hob_error *err)
{
	hob_str name = take_word(p);
	uint32_t index = hob_name_map_get(&p->types, name);
	hob_str type = index == HOB_NONE ? HOB_STR("USE") : ((hob_str *)(void *)p->defined.data)[index];
	node_t n;
	n.element = new_element(p, type, into->element, err);
	n.last = NULL;
	n.field_count = 0;
	if (!n.element || !add_field(p, &n, HOB_STR("USE"), name, err))
		return false;
	close_node(p, &n);
	append(into, n.element);
	return true;
}

/* [DEF name] Type { ... } or USE name. */
static bool read_node(parser *p, node_t *into, hob_str field, hob_error *err)
{
	hob_str word = take_word(p), name = {0};
	if (hob_str_equal(word, HOB_STR("USE")))
		return use_of(p, into, err);
	if (hob_str_equal(word, HOB_STR("DEF"))) {
		name = take_word(p);
		word = take_word(p);
	}
	if (word.len == 0)
		return hob_fail(err, CORRUPT, "line %u: a node is expected", p->line);
	if (p->depth >= HOB_LIMIT_XML_DEPTH / 4)
		return hob_fail(err, LIMIT, "line %u: nodes are nested deeper than %llu", p->line,
						HOB_LIMIT_XML_DEPTH / 4);
	node_t *n = HOB_NEW(p->arena, node_t, 1);
	n->element = new_element(p, word, into->element, err);
	if (!n->element || (name.len > 0 && !add_field(p, n, HOB_STR("DEF"), name, err)))
		return false;
	if (name.len > 0)
		define(p, name, word);
	if (field.len > 0 && !add_field(p, n, HOB_STR("containerField"), field, err))
		return false;
	p->depth++;
	if (!read_body(p, n, err))
		return false;
	close_node(p, n);
	p->depth--;
	append(into, n->element);
	return true;
}

/* Takes PROFILE, COMPONENT, META and UNIT of X3D. */
static bool header_statement(parser *p, node_t *scene, bool *taken, hob_error *err)
{
	static const char *const words[] = {"PROFILE", "COMPONENT", "META", "UNIT", "EXPORT", "IMPORT"};
	hob_str word = peek_word(p), value;
	*taken = false;
	for (size_t i = 0; i < HOB_COUNT_OF(words); i++)
		*taken = *taken || hob_str_equal(word, hob_str_of(words[i]));
	if (!*taken)
		return true;
	(void)take_word(p);
	if (is_next(p, '"'))
		return plain_values(p, &value, err);
	hob_str category = take_word(p);
	if (hob_str_equal(word, HOB_STR("UNIT"))) {
		(void)take_word(p);
		return plain_values(p, &value, err) && (!hob_str_equal(category, HOB_STR("length")) ||
												add_field(p, scene, HOB_STR("unit"), value, err));
	}
	/* EXPORT a AS b, IMPORT a.b AS c */
	if (hob_str_equal(peek_word(p), HOB_STR("AS"))) {
		(void)take_word(p);
		(void)take_word(p);
	}
	return true;
}

static bool read_all(parser *p, node_t *scene, hob_error *err)
{
	for (skip_blanks(p); p->at < p->end; skip_blanks(p)) {
		bool skipped, taken = false;
		if (!skip_statement(p, &skipped, err) || (!skipped && !header_statement(p, scene, &taken, err)))
			return false;
		if (!skipped && !taken && !read_node(p, scene, (hob_str){0}, err))
			return false;
	}
	close_node(p, scene);
	return true;
}

bool hob_x3d_read_text(const hob_import_request *request, hob_str text, hob_xml *out, hob_error *err)
{
	hob_arena *arena = request->scratch;
	parser p = {.request = request, .arena = arena, .line = 1};
	p.at = without_comments(arena, text);
	node_t *scene = HOB_NEW(arena, node_t, 1);
	p.end = p.at + text.len;
	hob_name_map_init(&p.types, arena);
	scene->element = new_element(&p, HOB_STR("Scene"), NULL, err);
	bool done = scene->element && read_all(&p, scene, err);
	hob_buf_release(&p.defined);
	if (p.prototypes > 0)
		hob_warn(request->notes, "x3d.prototypes",
				 "%u prototypes are not read, and what is made of them is left out; export the scene "
				 "without them",
				 p.prototypes);
	if (done)
		*out = (hob_xml){scene->element, p.count};
	return done;
}

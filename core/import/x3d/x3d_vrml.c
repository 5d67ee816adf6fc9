#include "x3d_private.h"

#include "../../base/limits.h"

enum { FIELDS_MAX = 256 };

typedef struct parser {
	struct node *scene;
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

static void expect(parser *p, char c)
{
	bool found = is_next(p, c);
	if (p->at == p->end)
		hob_leave(TRUNCATED, "the file ends at line %u, where a '%c' should stand", p->line, c);
	if (!found)
		hob_leave(CORRUPT, "line %u: a '%c' is expected before '%c'", p->line, c, *p->at);
	p->at++;
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

static void skip_text(parser *p)
{
	uint32_t from = p->line;
	for (p->at++; p->at < p->end && *p->at != '"'; p->at++) {
		p->line += *p->at == '\n';
		if (*p->at == '\\' && p->at + 1 < p->end)
			p->at++;
	}
	if (p->at == p->end)
		hob_leave(TRUNCATED, "the text that begins in line %u does not end", from);
	p->at++;
}

/* Skips a bracket, its content and the matching bracket. */
static void skip_block(parser *p, char open, char close)
{
	expect(p, open);
	uint32_t depth = 1, from = p->line;
	while (depth > 0) {
		skip_blanks(p);
		if (p->at == p->end)
			hob_leave(TRUNCATED, "the '%c' of line %u has no partner", open, from);
		if (*p->at == '"') {
			skip_text(p);
			continue;
		}
		depth += *p->at == open;
		depth -= *p->at == close;
		p->at++;
	}
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

static void add_field(parser *p, node_t *n, hob_str name, hob_str value)
{
	if (n->field_count >= FIELDS_MAX)
		hob_leave(LIMIT, "line %u: a node of more than %d fields", p->line, FIELDS_MAX);
	n->fields[n->field_count++] = (hob_xml_attribute){name, value};
}

static hob_xml_element *new_element(parser *p, hob_str name, const hob_xml_element *parent)
{
	if (p->count >= HOB_LIMIT_XML_ELEMENTS)
		hob_leave(LIMIT, "more than %llu nodes", HOB_LIMIT_XML_ELEMENTS);
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

static void read_node(parser *p, node_t *into, hob_str field);

/* Skips ROUTE, PROTO and the like. False if there is none. */
static bool skip_statement(parser *p)
{
	hob_str word = peek_word(p);
	if (hob_str_equal(word, HOB_STR("ROUTE"))) {
		for (int i = 0; i < 4; i++)
			(void)take_word(p);
		return true;
	}
	bool external = hob_str_equal(word, HOB_STR("EXTERNPROTO"));
	if (!external && !hob_str_equal(word, HOB_STR("PROTO")))
		return false;
	p->prototypes++;
	(void)take_word(p);
	(void)take_word(p);
	skip_block(p, '[', ']');
	if (is_next(p, '"'))
		skip_text(p);
	else
		skip_block(p, external ? '[' : '{', external ? ']' : '}');
	return true;
}

/* Takes consecutive numbers, quoted words, TRUE and FALSE. */
static hob_str plain_values(parser *p)
{
	skip_blanks(p);
	const char *from = p->at, *to = p->at;
	for (;;) {
		skip_blanks(p);
		if (p->at < p->end && *p->at == '"') {
			skip_text(p);
		} else if (p->at < p->end && (strchr("+-.0123456789", *p->at))) {
			(void)take_word(p);
		} else {
			break;
		}
		to = p->at;
	}
	return (hob_str){from, (size_t)(to - from)};
}

static bool is_node(hob_str word)
{
	return !hob_text_is_one_of(word, HOB_WORDS("", "TRUE", "FALSE", "true", "false", "NULL")) &&
		   !strchr("+-.0123456789", word.data[0]);
}

static void read_list(parser *p, node_t *n, hob_str field)
{
	p->at++;
	if (is_node(peek_word(p))) {
		while (!is_next(p, ']'))
			if (!skip_statement(p))
				read_node(p, n, field);
		p->at++;
		return;
	}
	skip_blanks(p);
	const char *from = p->at;
	while (!is_next(p, ']')) {
		hob_str word = peek_word(p);
		const char *before = p->at;
		(void)plain_values(p);
		if (p->at == before && word.len > 0)
			(void)take_word(p);
		else if (p->at == before)
			expect(p, ']');
	}
	add_field(p, n, field, (hob_str){from, (size_t)(p->at - from)});
	p->at++;
}

static void read_field(parser *p, node_t *n)
{
	hob_str name = take_word(p);
	if (name.len == 0)
		hob_leave(CORRUPT, "line %u: the name of a field is expected", p->line);
	hob_str word = peek_word(p);
	if (is_next(p, '[')) {
		read_list(p, n, name);
	} else if (hob_str_equal(word, HOB_STR("IS"))) {
		(void)take_word(p);
		(void)take_word(p);
	} else if (is_node(word)) {
		read_node(p, n, name);
	} else if (word.len == 0 || strchr("+-.0123456789", word.data[0])) {
		add_field(p, n, name, plain_values(p));
	} else {
		(void)take_word(p);
		if (!hob_str_equal(word, HOB_STR("NULL")))
			add_field(p, n, name, word);
	}
}

static void read_body(parser *p, node_t *n)
{
	/* Scripts and shaders declare fields, and draw nothing. */
	if (hob_str_equal(n->element->name, HOB_STR("Script")) ||
		hob_str_ends_nocase(n->element->name, HOB_STR("Shader"))) {
		skip_block(p, '{', '}');
		return;
	}
	expect(p, '{');
	while (!is_next(p, '}')) {
		if (p->at == p->end)
			expect(p, '}');
		if (hob_text_is_one_of(peek_word(p),
							   HOB_WORDS("eventIn", "eventOut", "exposedField", "field", "inputOnly",
										 "outputOnly", "initializeOnly", "inputOutput")))
			hob_leave(UNSUPPORTED, "line %u: a %.*s node declares fields of its own", p->line,
					  HOB_FMT(n->element->name));
		if (!skip_statement(p))
			read_field(p, n);
	}
	p->at++;
}

static void use_of(parser *p, node_t *into)
{
	hob_str name = take_word(p);
	uint32_t index = hob_name_map_get(&p->types, name);
	hob_str type = index == HOB_NONE ? HOB_STR("USE") : ((hob_str *)(void *)p->defined.data)[index];
	node_t n;
	n.element = new_element(p, type, into->element);
	n.last = NULL;
	n.field_count = 0;
	add_field(p, &n, HOB_STR("USE"), name);
	close_node(p, &n);
	append(into, n.element);
}

/* [DEF name] Type { ... } or USE name. */
static void read_node(parser *p, node_t *into, hob_str field)
{
	hob_str word = take_word(p), name = {0};
	if (hob_str_equal(word, HOB_STR("USE"))) {
		use_of(p, into);
		return;
	}
	if (hob_str_equal(word, HOB_STR("DEF"))) {
		name = take_word(p);
		word = take_word(p);
	}
	if (word.len == 0)
		hob_leave(CORRUPT, "line %u: a node is expected", p->line);
	if (p->depth >= HOB_LIMIT_XML_DEPTH / 4)
		hob_leave(LIMIT, "line %u: nodes are nested deeper than %llu", p->line, HOB_LIMIT_XML_DEPTH / 4);
	node_t *n = HOB_NEW(p->arena, node_t, 1);
	n->element = new_element(p, word, into->element);
	if (name.len > 0) {
		add_field(p, n, HOB_STR("DEF"), name);
		define(p, name, word);
	}
	if (field.len > 0)
		add_field(p, n, HOB_STR("containerField"), field);
	p->depth++;
	read_body(p, n);
	close_node(p, n);
	p->depth--;
	append(into, n->element);
}

/* Takes PROFILE, COMPONENT, META and UNIT of X3D. False if there is none. */
static bool header_statement(parser *p, node_t *scene)
{
	hob_str word = peek_word(p);
	if (!hob_text_is_one_of(word, HOB_WORDS("PROFILE", "COMPONENT", "META", "UNIT", "EXPORT", "IMPORT")))
		return false;
	(void)take_word(p);
	if (is_next(p, '"')) {
		(void)plain_values(p);
		return true;
	}
	hob_str category = take_word(p);
	if (hob_str_equal(word, HOB_STR("UNIT"))) {
		(void)take_word(p);
		hob_str value = plain_values(p);
		if (hob_str_equal(category, HOB_STR("length")))
			add_field(p, scene, HOB_STR("unit"), value);
		return true;
	}
	/* EXPORT a AS b, IMPORT a.b AS c */
	if (hob_str_equal(peek_word(p), HOB_STR("AS"))) {
		(void)take_word(p);
		(void)take_word(p);
	}
	return true;
}

static bool read_all(void *context, hob_error *err)
{
	(void)err;
	parser *p = context;
	for (skip_blanks(p); p->at < p->end; skip_blanks(p))
		if (!skip_statement(p) && !header_statement(p, p->scene))
			read_node(p, p->scene, (hob_str){0});
	close_node(p, p->scene);
	return true;
}

void hob_x3d_read_text(const hob_import_request *request, hob_str text, hob_xml *out)
{
	hob_arena *arena = request->scratch;
	hob_error why;
	parser p = {.arena = arena, .line = 1, .scene = HOB_NEW(arena, node_t, 1)};
	p.at = without_comments(arena, text);
	p.end = p.at + text.len;
	hob_name_map_init(&p.types, arena);
	p.scene->element = new_element(&p, HOB_STR("Scene"), NULL);
	bool done = hob_guarded(read_all, &p, &why);
	if (p.prototypes > 0)
		hob_warn(request->notes, "x3d.prototypes",
				 "%u prototypes are not read, and what is made of them is left out; export the scene "
				 "without them",
				 p.prototypes);
	hob_need(done, &why);
	*out = (hob_xml){p.scene->element, p.count};
}

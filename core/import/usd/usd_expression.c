#include "usd_private.h"

enum { DEPTH = 32, STEPS = 4096, LENGTH = 4096 };

typedef enum kind { NOTHING, TEXT, NUMBER, LIST } kind_t;

typedef struct value {
	kind_t kind;
	hob_str text;
	double number; /* of a boolean: 0 or 1 */
	struct value *items;
	uint32_t count;
} value_t;

typedef struct reader {
	hob_usd *u;
	uint32_t variables;
	const char *at, *end;
	uint32_t depth, steps;
} reader_t;

/* Leaves the evaluation, with the reason. */
_Noreturn static void wrong(const char *why)
{
	hob_leave(CORRUPT, "%s", why);
}

static char peek(reader_t *r)
{
	while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
		r->at++;
	return r->at < r->end ? *r->at : 0;
}

static bool take(reader_t *r, char c)
{
	if (peek(r) != c || r->at == r->end)
		return false;
	r->at++;
	return true;
}

static hob_str take_name(reader_t *r)
{
	const char *from = r->at;
	while (r->at < r->end && ((*r->at >= 'a' && *r->at <= 'z') || (*r->at >= 'A' && *r->at <= 'Z') ||
							  (*r->at >= '0' && *r->at <= '9') || *r->at == '_'))
		r->at++;
	return (hob_str){from, (size_t)(r->at - from)};
}

static bool is_expression(hob_str text)
{
	return text.len >= 2 && text.data[0] == '`' && text.data[text.len - 1] == '`';
}

/* ---- variables */

/* Finds a variable; the variables of the outer stack are stronger. */
static const hob_usd_value *find_variable(const hob_usd *u, uint32_t set, hob_str name)
{
	const hob_usd_value *found = NULL;
	for (; set != HOB_NONE; set = u->variables[set].outer) {
		const hob_usd_value *all = u->variables[set].dictionary;
		const hob_usd_entry *entries = (const hob_usd_entry *)all->data;
		for (size_t i = 0; i < all->count; i++)
			if (hob_str_equal(entries[i].key, name))
				found = &entries[i].value;
	}
	return found;
}

static value_t expression(reader_t *r);

static value_t text_value(reader_t *r, hob_str text)
{
	if (!is_expression(text))
		return (value_t){.kind = TEXT, .text = text};
	reader_t inner = *r;
	inner.at = text.data + 1;
	inner.end = text.data + text.len - 1;
	value_t value = expression(&inner);
	if (peek(&inner) != 0)
		wrong("a variable holds more than one expression");
	r->steps = inner.steps;
	return value;
}

static void put_item(reader_t *r, value_t *list, value_t item)
{
	HOB_USD_PUT(r->u->scratch, list->items, list->count, item);
}

/* Value of the variable; *known is false when there is no such variable. */
static value_t variable(reader_t *r, hob_str name, bool *known)
{
	const hob_usd_value *value = find_variable(r->u, r->variables, name);
	bool is_text = value && value->kind == HOB_USD_TEXT;
	*known = value != NULL;
	if (!value || value->kind == HOB_USD_EMPTY || value->kind == HOB_USD_BLOCK)
		return (value_t){0};
	if (!value->is_array && is_text)
		return text_value(r, hob_usd_text(value));
	value_t out = {.kind = value->is_array ? LIST : NUMBER, .number = hob_usd_number(value, 0)};
	for (size_t i = 0; value->is_array && i < value->count; i++) {
		value_t item = {.kind = is_text ? TEXT : NUMBER};
		if (is_text)
			item.text = ((const hob_str *)value->data)[i];
		else
			item.number = hob_usd_component(value, i);
		put_item(r, &out, item);
	}
	return out;
}

/* Reads the name and "}" that follow "${". */
static hob_str take_variable(reader_t *r)
{
	hob_str name = take_name(r);
	if (name.len == 0 || r->at == r->end || *r->at != '}')
		wrong("'${' is not followed by a name and '}'");
	r->at++;
	return name;
}

static void put_text(hob_buf *to, hob_str text)
{
	if (to->size + text.len > LENGTH)
		wrong("its text is too long");
	hob_buf_put_str(to, text);
}

/* Substitutes a variable in a text; an unknown one is left as written. */
static void put_variable(reader_t *r, hob_buf *to)
{
	const char *from = r->at - 2;
	bool known;
	value_t value = variable(r, take_variable(r), &known);
	if (known && value.kind != TEXT && value.kind != NOTHING)
		wrong("a variable in a text is no text");
	put_text(to, known ? value.text : (hob_str){from, (size_t)(r->at - from)});
}

static void quoted(reader_t *r, char quote, hob_buf *to)
{
	for (;;) {
		const char *from = r->at;
		while (r->at < r->end && *r->at != quote && *r->at != '\\' && *r->at != '$')
			r->at++;
		put_text(to, (hob_str){from, (size_t)(r->at - from)});
		if (r->at == r->end)
			wrong("a text has no end");
		char c = *r->at++;
		if (c == quote)
			return;
		if (c == '$' && r->at < r->end && *r->at == '{') {
			r->at++;
			put_variable(r, to);
			continue;
		}
		if (c == '\\' && r->at < r->end)
			c = *r->at++;
		put_text(to, (hob_str){&c, 1});
	}
}

static value_t read_text(reader_t *r, char quote)
{
	hob_own_buf text = {0};
	quoted(r, quote, &text);
	value_t value = {.kind = TEXT, .text = hob_arena_str(r->u->scratch, hob_buf_str(&text))};
	return value;
}

/* ---- functions */

static int order_of(const value_t *a, const value_t *b)
{
	if (a->kind == TEXT) {
		size_t shorter = a->text.len < b->text.len ? a->text.len : b->text.len;
		int order = shorter > 0 ? memcmp(a->text.data, b->text.data, shorter) : 0;
		return order != 0 ? order : (a->text.len > b->text.len) - (a->text.len < b->text.len);
	}
	return (a->number > b->number) - (a->number < b->number);
}

static value_t truth(bool is)
{
	return (value_t){.kind = NUMBER, .number = is};
}

static value_t compare(hob_str name, const value_t *v, uint32_t count)
{
	static const struct {
		const char *name;
		bool less, same, more;
	} all[] = {{"eq", 0, 1, 0},	 {"neq", 1, 0, 1}, {"lt", 1, 0, 0},
			   {"leq", 1, 1, 0}, {"gt", 0, 0, 1},  {"geq", 0, 1, 1}};
	for (size_t i = 0; i < HOB_COUNT_OF(all); i++) {
		if (!hob_str_equal(name, hob_str_of(all[i].name)))
			continue;
		if (count != 2 || v[0].kind != v[1].kind || v[0].kind == LIST)
			wrong("what is compared is not two texts or two numbers");
		int order = order_of(&v[0], &v[1]);
		return truth(order < 0 ? all[i].less : order > 0 ? all[i].more : all[i].same);
	}
	wrong("it calls a function that does not exist");
}

static bool contains(const value_t *in, const value_t *what)
{
	if (in->kind == TEXT)
		return what->kind == TEXT && hob_str_find(in->text, what->text, 0) != SIZE_MAX;
	for (uint32_t i = 0; i < in->count; i++)
		if (in->items[i].kind == what->kind && order_of(&in->items[i], what) == 0)
			return true;
	return false;
}

static value_t element(const value_t *in, double at)
{
	double count = in->kind == TEXT ? (double)in->text.len : in->count;
	at += at < 0 ? count : 0;
	if (!(at >= 0 && at < count))
		wrong("at() asks for an element that a list does not have");
	return in->kind == LIST
			   ? in->items[(size_t)at]
			   : (value_t){.kind = TEXT, .text = hob_str_sub(in->text, (size_t)at, (size_t)at + 1)};
}

static value_t call(hob_str name, const value_t *v, uint32_t count)
{
	bool is_and = hob_str_equal(name, HOB_STR("and"));
	if (is_and || hob_str_equal(name, HOB_STR("or"))) {
		bool all = true, any = false;
		for (uint32_t i = 0; i < count; i++) {
			all = all && v[i].number != 0;
			any = any || v[i].number != 0;
		}
		if (count == 0)
			wrong("and() and or() need conditions");
		return truth(is_and ? all : any);
	}
	if (hob_str_equal(name, HOB_STR("not")) && count == 1)
		return truth(v[0].number == 0);
	if (hob_str_equal(name, HOB_STR("if")) && (count == 2 || count == 3)) {
		if (v[0].kind != NUMBER)
			wrong("the condition of if() is neither true nor false");
		return v[0].number != 0 ? v[1] : count == 3 ? v[2] : (value_t){0};
	}
	bool is_many = count > 0 && (v[0].kind == TEXT || v[0].kind == LIST);
	if (hob_str_equal(name, HOB_STR("contains")) && count == 2 && is_many)
		return truth(contains(&v[0], &v[1]));
	if (hob_str_equal(name, HOB_STR("at")) && count == 2 && is_many)
		return element(&v[0], v[1].number);
	if (hob_str_equal(name, HOB_STR("len")) && count == 1 && is_many)
		return (value_t){.kind = NUMBER, .number = v[0].kind == TEXT ? (double)v[0].text.len : v[0].count};
	return compare(name, v, count);
}

/* "defined(A, B)": takes names only. */
static value_t defined(reader_t *r)
{
	bool all = true;
	do {
		peek(r);
		hob_str name = take_name(r);
		if (name.len == 0)
			wrong("defined() needs names of variables");
		all = all && find_variable(r->u, r->variables, name) != NULL;
	} while (take(r, ','));
	if (!take(r, ')'))
		wrong("')' is missing");
	return truth(all);
}

static value_t read_items(reader_t *r, char close)
{
	value_t list = {.kind = LIST};
	if (take(r, close))
		return list;
	do
		put_item(r, &list, expression(r));
	while (take(r, ','));
	if (!take(r, close))
		wrong("a bracket is not closed");
	return list;
}

static value_t read_name(reader_t *r)
{
	static const struct {
		const char *name;
		value_t value;
	} words[] = {{"True", {.kind = NUMBER, .number = 1}},
				 {"true", {.kind = NUMBER, .number = 1}},
				 {"False", {.kind = NUMBER, .number = 0}},
				 {"false", {.kind = NUMBER, .number = 0}},
				 {"None", {.kind = NOTHING}},
				 {"none", {.kind = NOTHING}}};
	hob_str name = take_name(r);
	for (size_t i = 0; i < HOB_COUNT_OF(words); i++)
		if (hob_str_equal(name, hob_str_of(words[i].name)))
			return words[i].value;
	if (name.len == 0 || !take(r, '('))
		wrong("a value is missing or not known");
	if (hob_str_equal(name, HOB_STR("defined")))
		return defined(r);
	value_t list = read_items(r, ')');
	return call(name, list.items, list.count);
}

static value_t read_number(reader_t *r)
{
	bool minus = take(r, '-');
	double number = 0;
	if (r->at == r->end || *r->at < '0' || *r->at > '9')
		wrong("a value is missing or not known");
	for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++)
		number = number * 10 + (*r->at - '0');
	return (value_t){.kind = NUMBER, .number = minus ? -number : number};
}

static value_t read_value(reader_t *r)
{
	char c = peek(r);
	if (c == '"' || c == '\'') {
		r->at++;
		return read_text(r, c);
	}
	if (c == '$' && r->end - r->at > 1 && r->at[1] == '{') {
		r->at += 2;
		bool known;
		value_t value = variable(r, take_variable(r), &known);
		if (!known)
			wrong("it asks for a variable that nobody says");
		return value;
	}
	if (take(r, '['))
		return read_items(r, ']');
	if (c == '-' || (c >= '0' && c <= '9'))
		return read_number(r);
	return read_name(r);
}

static value_t expression(reader_t *r)
{
	if (r->depth >= DEPTH || ++r->steps > STEPS)
		wrong("it goes on and on, or its variables name one another in a circle");
	r->depth++;
	value_t value = read_value(r);
	r->depth--;
	return value;
}

typedef struct evaluation {
	reader_t reader;
	hob_str text; /* of the expression, then its value */
} evaluation_t;

static bool evaluate(void *context, hob_error *err)
{
	(void)err;
	evaluation_t *e = (evaluation_t *)context;
	value_t value = text_value(&e->reader, e->text);
	if (value.kind != TEXT && value.kind != NOTHING)
		wrong("what it says is no text");
	e->text = value.text;
	return true;
}

hob_str hob_usd_expression(hob_usd *u, uint32_t variables, hob_str text)
{
	evaluation_t e = {{.u = u, .variables = variables}, text};
	hob_error why;
	if (!is_expression(text) || hob_guarded(evaluate, &e, &why))
		return e.text;
	if (why.code == HOB_ERR_MEMORY)
		hob_leave_with(&why);
	hob_usd_note(u, "expression", "the expression %.*s names nothing: %s", HOB_FMT(text), why.context);
	return HOB_STR("");
}

uint32_t hob_usd_variables_open(hob_usd *u, uint32_t layer, uint32_t outer)
{
	const hob_usd_value *dictionary = hob_usd_field_get(&u->layers[layer], 0, HOB_USD_T_expressionVariables);
	if (!dictionary || dictionary->kind != HOB_USD_DICTIONARY || dictionary->count == 0)
		return outer;
	for (uint32_t i = outer; i != HOB_NONE; i = u->variables[i].outer)
		if (u->variables[i].dictionary == dictionary)
			return outer;
	for (uint32_t i = 0; i < u->variables_count; i++)
		if (u->variables[i].dictionary == dictionary && u->variables[i].outer == outer)
			return i;
	return HOB_USD_PUT(u->scratch, u->variables, u->variables_count, (hob_usd_variables){dictionary, outer});
}

#include "usd_lex.h"

/* The parser of prims. Bodies nest by recursion, at most HOB_LIMIT_USD_DEPTH deep. */
typedef struct text {
	hob_usd_lex lex;
	hob_usd *u;
	hob_usd_layer *layer;
	uint32_t depth;
} text_t;

static bool set_field(text_t *t, uint32_t spec, uint32_t name, hob_usd_value value)
{
	return hob_usd_field_set(t->u, t->layer, spec, name, value, t->lex.err);
}

static bool text_field(text_t *t, uint32_t spec, uint32_t name, hob_str text)
{
	hob_str *kept = HOB_NEW(t->u->scratch, hob_str, 1);
	if (!kept)
		return hob_fail_memory(t->lex.err, t->u->scratch, "a property");
	*kept = text;
	return set_field(t, spec, name, (hob_usd_value){HOB_USD_TEXT, false, 1, 1, kept});
}

static bool list_field(text_t *t, uint32_t spec, uint32_t name, hob_usd_op op)
{
	const hob_usd_value *old = hob_usd_field_get(t->layer, spec, name);
	hob_usd_list *list = HOB_NEW(t->u->scratch, hob_usd_list, 1);
	if (!list)
		return hob_fail_memory(t->lex.err, t->u->scratch, "a list");
	if (old && old->kind == HOB_USD_LIST)
		*list = *(const hob_usd_list *)old->data;
	bool arcs = name != HOB_USD_T_targetPaths && name != HOB_USD_T_connectionPaths;
	return hob_usd_lex_list(&t->lex, op, arcs, list) &&
		   set_field(t, spec, name, (hob_usd_value){HOB_USD_LIST, false, 1, 1, list});
}

static hob_usd_op take_op(text_t *t)
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
		if (hob_usd_lex_take_word(&t->lex, ops[i].word))
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

static bool read_meta(text_t *t, uint32_t spec)
{
	hob_usd_lex *l = &t->lex;
	hob_usd_op op = take_op(t);
	char c = hob_usd_lex_peek(l);
	hob_str text;
	if (c == '"' || c == '\'')
		return hob_usd_lex_string(l, &text);
	hob_str word = hob_usd_lex_word(l);
	if (word.len == 0)
		return hob_usd_lex_fail(l, "the name of a field");
	if (!hob_usd_lex_need(l, '='))
		return false;
	for (size_t i = 0; i < HOB_COUNT_OF(keys); i++)
		if (hob_str_equal(word, hob_str_of(keys[i].word))) {
			hob_usd_value value;
			if (keys[i].is_list)
				return list_field(t, spec, keys[i].name, op);
			return hob_usd_lex_value(l, HOB_STR(""), &value) && set_field(t, spec, keys[i].name, value);
		}
	hob_usd_value value;
	if (hob_str_equal(word, HOB_STR("relocates")))
		return hob_usd_lex_relocates(l, &value) && set_field(t, spec, HOB_USD_T_layerRelocates, value);
	return hob_usd_lex_value(l, HOB_STR(""), &value) && set_field(t, spec, hob_usd_token(t->u, word), value);
}

static bool read_metadata(text_t *t, uint32_t spec)
{
	if (!hob_usd_lex_take(&t->lex, '('))
		return true;
	while (!hob_usd_lex_take(&t->lex, ')')) {
		if (!read_meta(t, spec))
			return false;
		if (!hob_usd_lex_take(&t->lex, ';'))
			hob_usd_lex_take(&t->lex, ',');
	}
	return true;
}

/* ---- properties */

static bool add_property(text_t *t, uint32_t prim, hob_str name, uint32_t *out)
{
	if (name.len == 0)
		return hob_usd_lex_fail(&t->lex, "the name of a property");
	return hob_usd_spec_add(t->u, t->layer, prim, HOB_USD_PROPERTY, hob_usd_token(t->u, name), out,
							t->lex.err);
}

static bool read_relationship(text_t *t, uint32_t prim, hob_usd_op op)
{
	uint32_t spec;
	if (!add_property(t, prim, hob_usd_lex_word(&t->lex), &spec))
		return false;
	if (hob_usd_lex_take(&t->lex, '.'))
		hob_usd_lex_word(&t->lex);
	if (hob_usd_lex_take(&t->lex, '=') && !list_field(t, spec, HOB_USD_T_targetPaths, op))
		return false;
	return read_metadata(t, spec);
}

static bool read_attribute(text_t *t, uint32_t prim, hob_usd_op op)
{
	hob_usd_lex *l = &t->lex;
	hob_usd_value value;
	hob_str type = hob_usd_lex_word(l);
	if (type.len == 0)
		return hob_usd_lex_fail(l, "a prim, a property or '}'");
	if (hob_usd_lex_take(l, '[')) {
		type.len = (size_t)(l->at - type.data) + 1;
		if (!hob_usd_lex_need(l, ']'))
			return false;
		hob_str pure = hob_str_sub(type, 0, type.len - 2);
		type = hob_arena_printf(t->u->scratch, "%.*s[]", HOB_FMT(pure));
		if (!type.data)
			return hob_fail_memory(l->err, t->u->scratch, "a type");
	}
	uint32_t spec;
	if (!add_property(t, prim, hob_usd_lex_word(l), &spec) || !text_field(t, spec, HOB_USD_T_typeName, type))
		return false;
	hob_str part = hob_usd_lex_take(l, '.') ? hob_usd_lex_word(l) : HOB_STR("");
	if (hob_usd_lex_take(l, '=')) {
		if (hob_str_equal(part, HOB_STR("connect"))) {
			if (!list_field(t, spec, HOB_USD_T_connectionPaths, op))
				return false;
		} else if (hob_str_equal(part, HOB_STR("timeSamples"))) {
			if (!hob_usd_lex_samples(l, type, &value) || !set_field(t, spec, HOB_USD_T_timeSamples, value))
				return false;
		} else if (!hob_usd_lex_value(l, part.len > 0 ? HOB_STR("?") : type, &value) ||
				   (part.len == 0 && !set_field(t, spec, HOB_USD_T_default_value, value))) {
			return false;
		}
	}
	return read_metadata(t, spec);
}

static bool read_property(text_t *t, uint32_t prim)
{
	hob_usd_lex *l = &t->lex;
	hob_usd_op op = take_op(t);
	while (hob_usd_lex_take_word(l, "custom") || hob_usd_lex_take_word(l, "uniform") ||
		   hob_usd_lex_take_word(l, "varying") || hob_usd_lex_take_word(l, "config"))
		op = op == HOB_USD_EXPLICIT ? take_op(t) : op;
	if (hob_usd_lex_take_word(l, "rel"))
		return read_relationship(t, prim, op);
	return read_attribute(t, prim, op);
}

/* ---- prims */

static bool read_body(text_t *t, uint32_t spec);

static bool read_prim(text_t *t, uint32_t parent, hob_usd_specifier specifier)
{
	hob_usd_lex *l = &t->lex;
	hob_str name, outer = l->prim, type = hob_usd_lex_word(l);
	uint32_t spec;
	if (!hob_usd_lex_string(l, &name))
		return false;
	if (name.len == 0 || memchr(name.data, '/', name.len))
		return hob_usd_lex_fail(l, "the name of a prim before this place");
	if (!hob_usd_spec_add(t->u, t->layer, parent, HOB_USD_PRIM, hob_usd_token(t->u, name), &spec, l->err))
		return false;
	t->layer->specs[spec].specifier = specifier;
	l->prim = hob_usd_path_child(t->u, outer, name);
	if (!l->prim.data)
		return hob_fail_memory(l->err, t->u->scratch, "a path");
	if (type.len > 0 && !text_field(t, spec, HOB_USD_T_typeName, type))
		return false;
	bool done = read_metadata(t, spec) && hob_usd_lex_need(l, '{') && read_body(t, spec);
	l->prim = outer;
	return done;
}

static bool read_variant_set(text_t *t, uint32_t prim)
{
	hob_usd_lex *l = &t->lex;
	hob_str set, choice;
	if (!hob_usd_lex_string(l, &set) || !hob_usd_lex_need(l, '=') || !hob_usd_lex_need(l, '{'))
		return false;
	while (!hob_usd_lex_take(l, '}')) {
		uint32_t spec;
		if (!hob_usd_lex_string(l, &choice))
			return false;
		hob_str name = hob_arena_printf(t->u->scratch, "{%.*s=%.*s}", HOB_FMT(set), HOB_FMT(choice));
		if (!name.data)
			return hob_fail_memory(l->err, t->u->scratch, "a variant");
		if (!hob_usd_spec_add(t->u, t->layer, prim, HOB_USD_VARIANT, hob_usd_token(t->u, name), &spec,
							  l->err) ||
			!read_metadata(t, spec) || !hob_usd_lex_need(l, '{') || !read_body(t, spec))
			return false;
	}
	return true;
}

static bool read_order(text_t *t, uint32_t spec)
{
	hob_str what = hob_usd_lex_word(&t->lex);
	bool prims = hob_str_equal(what, HOB_STR("nameChildren")) || hob_str_equal(what, HOB_STR("rootPrims"));
	hob_usd_value value;
	if (!hob_usd_lex_need(&t->lex, '=') || !hob_usd_lex_value(&t->lex, HOB_STR("token[]"), &value))
		return false;
	return !prims || set_field(t, spec, HOB_USD_T_primOrder, value);
}

/* Reads a prim, a variant set or an order; false if none is next. *done: whether reading succeeded. */
static bool read_structure(text_t *t, uint32_t spec, bool *done)
{
	static const char *const specifiers[] = {"def", "over", "class"};
	hob_usd_lex *l = &t->lex;
	for (size_t i = 0; i < HOB_COUNT_OF(specifiers); i++)
		if (hob_usd_lex_take_word(l, specifiers[i])) {
			*done = read_prim(t, spec, (hob_usd_specifier)i);
			return true;
		}
	if (hob_usd_lex_take_word(l, "variantSet")) {
		*done = read_variant_set(t, spec);
		return true;
	}
	const char *from = l->at;
	if (hob_usd_lex_take_word(l, "reorder")) {
		hob_str what = hob_usd_lex_word(l);
		l->at = from;
		if (hob_str_equal(what, HOB_STR("nameChildren")) || hob_str_equal(what, HOB_STR("rootPrims")) ||
			hob_str_equal(what, HOB_STR("properties"))) {
			*done = hob_usd_lex_take_word(l, "reorder") && read_order(t, spec);
			return true;
		}
	}
	return false;
}

static bool read_body(text_t *t, uint32_t spec)
{
	if (++t->depth > HOB_LIMIT_USD_DEPTH)
		return hob_fail(t->lex.err, LIMIT, "prims in prims: more than %llu levels", HOB_LIMIT_USD_DEPTH);
	while (!hob_usd_lex_take(&t->lex, '}')) {
		bool done = false;
		if (hob_usd_lex_take(&t->lex, ';'))
			continue;
		if (read_structure(t, spec, &done) ? !done : !read_property(t, spec))
			return false;
	}
	t->depth--;
	return true;
}

bool hob_usd_text_read(hob_usd *u, hob_str text, hob_usd_layer *layer, hob_error *err)
{
	text_t t = {
		.lex = {u, text.data, text.data, text.data + text.len, HOB_STR("/"), err}, .u = u, .layer = layer};
	if (!hob_str_starts(text, HOB_STR("#usda ")) && !hob_str_starts(text, HOB_STR("#sdf ")))
		return hob_fail(err, CORRUPT, "the text does not begin with '#usda 1.0'");
	if (!hob_usd_layer_init(u, layer, err) || !read_metadata(&t, 0))
		return false;
	while (hob_usd_lex_peek(&t.lex) != 0 || t.lex.at < t.lex.end) {
		bool done = false;
		if (!read_structure(&t, 0, &done))
			return hob_usd_lex_fail(&t.lex, "def, over or class");
		if (!done)
			return false;
	}
	return true;
}

#include "usd_private.h"

#include "../../base/number.h"
#include "../xml.h"

/* Where nodes are looked up (`element`), and the prim below which they are created (`spec`, `path`). */
typedef struct scope {
	const hob_xml_element *element;
	uint32_t spec;
	hob_str path;
} scope_t;

typedef struct document {
	hob_usd *u;
	hob_usd_layer *layer;
	hob_xml xml;
	hob_name_map names; /* "parent's element number/name" -> element number */
	const hob_xml_element **elements;
	uint32_t made, depth;
	hob_error *err;
} document_t;

static hob_str attribute(const hob_xml_element *element, const char *name)
{
	hob_str value = hob_xml_attr(element, hob_str_of(name));
	return value.data ? value : HOB_STR("");
}

static bool no_memory(document_t *d)
{
	return hob_fail_memory(d->err, d->u->scratch, "a MaterialX document");
}

/* ---- names */

static bool list_names(document_t *d, const hob_xml_element *around)
{
	for (const hob_xml_element *e = around->first; e; e = e->next) {
		hob_str name = attribute(e, "name");
		hob_str key = hob_arena_printf(d->u->scratch, "%u/%.*s", around->number, HOB_FMT(name));
		d->elements[e->number] = e;
		if (!key.data || (name.len > 0 && !hob_xml_is(e, HOB_STR("output")) &&
						  hob_name_map_get(&d->names, key) == HOB_NONE &&
						  !hob_name_map_add(&d->names, key, e->number, NULL)))
			return no_memory(d);
		if (around == d->xml.root && hob_xml_is(e, HOB_STR("nodegraph")) && !list_names(d, e))
			return false;
	}
	return true;
}

static bool find_element(document_t *d, const hob_xml_element *around, hob_str name,
						 const hob_xml_element **out)
{
	hob_str key = hob_arena_printf(d->u->scratch, "%u/%.*s", around->number, HOB_FMT(name));
	if (!key.data)
		return no_memory(d);
	uint32_t number = hob_name_map_get(&d->names, key);
	*out = number == HOB_NONE ? NULL : d->elements[number];
	return true;
}

/* A prim's name: characters that paths do not allow become "_". */
static bool prim_name(document_t *d, hob_str name, hob_str *out)
{
	char *text = HOB_NEW(d->u->scratch, char, name.len + 1);
	if (!text)
		return no_memory(d);
	for (size_t i = 0; i < name.len; i++) {
		char c = name.data[i];
		bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || hob_is_digit(c) || (c & 0x80);
		text[i] = fits ? c : '_';
	}
	*out = (hob_str){text, name.len};
	return true;
}

/* ---- specs */

static bool add_prim(document_t *d, uint32_t parent, hob_str name, const char *type, uint32_t *out)
{
	hob_str *text = HOB_NEW(d->u->scratch, hob_str, 1);
	if (!text)
		return no_memory(d);
	*text = hob_str_of(type);
	if (++d->made > HOB_LIMIT_USD_PRIMS)
		return hob_fail(d->err, LIMIT, "more than %llu nodes of materials", HOB_LIMIT_USD_PRIMS);
	return hob_usd_spec_add(d->u, d->layer, parent, HOB_USD_PRIM, hob_usd_token(d->u, name), out, d->err) &&
		   (text->len == 0 || hob_usd_field_set(d->u, d->layer, *out, HOB_USD_T_typeName,
												(hob_usd_value){HOB_USD_TEXT, false, 1, 1, text}, d->err));
}

static bool add_field(document_t *d, uint32_t prim, hob_str property, uint32_t field, hob_usd_value value)
{
	uint32_t spec;
	return hob_usd_spec_add(d->u, d->layer, prim, HOB_USD_PROPERTY, hob_usd_token(d->u, property), &spec,
							d->err) &&
		   hob_usd_field_set(d->u, d->layer, spec, field, value, d->err);
}

static bool add_text(document_t *d, uint32_t prim, hob_str property, hob_str text)
{
	hob_str *kept = HOB_NEW(d->u->scratch, hob_str, 1);
	if (!kept)
		return no_memory(d);
	*kept = text;
	return add_field(d, prim, property, HOB_USD_T_default_value,
					 (hob_usd_value){HOB_USD_TEXT, false, 1, 1, kept});
}

static bool add_connection(document_t *d, uint32_t prim, hob_str property, hob_str path)
{
	hob_usd_list *list = HOB_NEW(d->u->scratch, hob_usd_list, 1);
	hob_usd_item *item = HOB_NEW(d->u->scratch, hob_usd_item, 1);
	if (!list || !item || !path.data)
		return no_memory(d);
	*item = (hob_usd_item){.path = path, .scale = 1};
	list->is_explicit = true;
	list->count[HOB_USD_EXPLICIT] = 1;
	list->items[HOB_USD_EXPLICIT] = item;
	return add_field(d, prim, property, HOB_USD_T_connectionPaths,
					 (hob_usd_value){HOB_USD_LIST, false, 1, 1, list});
}

/* ---- values */

static bool add_file(document_t *d, const hob_xml_element *input, uint32_t prim, hob_str property,
					 hob_str text)
{
	for (const hob_xml_element *e = input; e; e = e->parent) {
		hob_str prefix = attribute(e, "fileprefix");
		if (prefix.len == 0)
			continue;
		text = hob_arena_printf(d->u->scratch, "%.*s%.*s", HOB_FMT(prefix), HOB_FMT(text));
		if (!text.data)
			return no_memory(d);
	}
	return add_text(d, prim, property, text);
}

static bool add_numbers(document_t *d, uint32_t prim, hob_str property, hob_str text)
{
	float found[16];
	uint32_t count = 0;
	const char *at = text.data, *end = text.data + text.len;
	while (at < end && count < HOB_COUNT_OF(found)) {
		const char *next = hob_number_float(at, end, &found[count]);
		count += next != NULL;
		at = next ? next : at + 1;
	}
	if (count == 0)
		return true;
	float *kept = HOB_NEW(d->u->scratch, float, count);
	if (!kept)
		return no_memory(d);
	memcpy(kept, found, count * sizeof *kept);
	return add_field(d, prim, property, HOB_USD_T_default_value,
					 (hob_usd_value){HOB_USD_F32, false, count, 1, kept});
}

static bool add_value(document_t *d, const hob_xml_element *input, uint32_t prim, hob_str property)
{
	hob_str type = attribute(input, "type"), value = attribute(input, "value");
	if (value.len == 0)
		return true;
	if (hob_str_equal(type, HOB_STR("filename")))
		return add_file(d, input, prim, property, value);
	if (hob_str_equal(type, HOB_STR("string")))
		return add_text(d, prim, property, value);
	if (hob_str_equal(type, HOB_STR("boolean")))
		return add_numbers(d, prim, property,
						   hob_str_equal(value, HOB_STR("true")) ? HOB_STR("1") : HOB_STR("0"));
	return add_numbers(d, prim, property, value);
}

/* ---- nodes */

static bool add_node(document_t *d, const hob_xml_element *node, scope_t scope, hob_str *path);

/* Reads an input or output: a value, or a connection to a node, to a graph's output, or to an input of the
 * enclosing graph. `outer`: the material, which contains the graphs. */
static bool add_input(document_t *d, const hob_xml_element *input, scope_t scope, const scope_t *outer,
					  uint32_t prim, hob_str property)
{
	hob_arena *arena = d->u->scratch;
	const hob_xml_element *from = NULL;
	hob_str graph = attribute(input, "nodegraph"), node = attribute(input, "nodename");
	hob_str face = attribute(input, "interfacename"), output = attribute(input, "output"), path;
	if (face.len > 0)
		return add_connection(
			d, prim, property,
			hob_arena_printf(arena, "%.*s.inputs:%.*s", HOB_FMT(scope.path), HOB_FMT(face)));
	if (graph.len > 0)
		scope = *outer;
	if (graph.len + node.len > 0 && !find_element(d, scope.element, graph.len > 0 ? graph : node, &from))
		return false;
	if (!from)
		return add_value(d, input, prim, property);
	if (!add_node(d, from, scope, &path))
		return false;
	const hob_xml_element *first = hob_xml_child(from, HOB_STR("output"));
	if (output.len == 0)
		output = graph.len > 0 && first ? attribute(first, "name") : HOB_STR("out");
	return add_connection(d, prim, property,
						  hob_arena_printf(arena, "%.*s.outputs:%.*s", HOB_FMT(path), HOB_FMT(output)));
}

static bool add_inputs(document_t *d, const hob_xml_element *node, const char *element, const char *kind,
					   scope_t scope, const scope_t *outer, uint32_t prim)
{
	for (const hob_xml_element *e = hob_xml_child(node, hob_str_of(element)); e;
		 e = hob_xml_next(e, hob_str_of(element))) {
		hob_str name = attribute(e, "name");
		hob_str property = hob_arena_printf(d->u->scratch, "%s:%.*s", kind, HOB_FMT(name));
		if (!property.data)
			return no_memory(d);
		if (name.len > 0 && !add_input(d, e, scope, outer, prim, property))
			return false;
	}
	return true;
}

/* Adds the id: "ND_image_color3" for "image" of type "color3"; USD's own nodes have one id for all types. */
static bool add_id(document_t *d, const hob_xml_element *node, uint32_t prim)
{
	hob_str kind = attribute(node, "node"), type = attribute(node, "type"), id = attribute(node, "nodedef");
	if (kind.len == 0)
		kind = node->name;
	else
		type = HOB_STR("surfaceshader");
	if (id.len == 0)
		id = hob_str_equal(kind, HOB_STR("UsdUVTexture"))
				 ? HOB_STR("ND_UsdUVTexture")
				 : hob_arena_printf(d->u->scratch, "ND_%.*s_%.*s", HOB_FMT(kind), HOB_FMT(type));
	return id.data ? add_text(d, prim, HOB_STR("info:id"), id) : no_memory(d);
}

static bool fill_node(document_t *d, const hob_xml_element *node, scope_t scope, scope_t own)
{
	if (hob_xml_is(node, HOB_STR("nodegraph")))
		return add_inputs(d, node, "input", "inputs", own, &scope, own.spec) &&
			   add_inputs(d, node, "output", "outputs", own, &scope, own.spec);
	return add_id(d, node, own.spec) && add_inputs(d, node, "input", "inputs", scope, &scope, own.spec) &&
		   add_inputs(d, node, "parameter", "inputs", scope, &scope, own.spec) &&
		   add_inputs(d, node, "bindinput", "inputs", scope, &scope, own.spec);
}

/* Adds the node and everything it is connected to as children of the scope, once. */
static bool add_node(document_t *d, const hob_xml_element *node, scope_t scope, hob_str *path)
{
	scope_t own = {.element = node};
	hob_str name;
	if (!prim_name(d, attribute(node, "name"), &name))
		return false;
	uint32_t token = hob_usd_token(d->u, name);
	*path = own.path = hob_usd_path_child(d->u, scope.path, name);
	if (token == HOB_NONE || !own.path.data)
		return no_memory(d);
	if (hob_usd_spec_find(d->layer, scope.spec, HOB_USD_PRIM, token) != HOB_NONE)
		return true;
	if (d->depth >= HOB_LIMIT_USD_DEPTH)
		return hob_fail(d->err, LIMIT, "nodes of materials behind one another: more than %llu",
						HOB_LIMIT_USD_DEPTH);
	bool graph = hob_xml_is(node, HOB_STR("nodegraph"));
	if (!add_prim(d, scope.spec, name, graph ? "NodeGraph" : "Shader", &own.spec))
		return false;
	d->depth++;
	bool done = fill_node(d, node, scope, own);
	d->depth--;
	return done;
}

static bool add_material(document_t *d, const hob_xml_element *element, uint32_t parent, hob_str above)
{
	static const hob_str surface = {"outputs:mtlx:surface", 20};
	hob_str name, path;
	if (!prim_name(d, attribute(element, "name"), &name))
		return false;
	scope_t scope = {.element = d->xml.root, .path = hob_usd_path_child(d->u, above, name)};
	if (!scope.path.data)
		return no_memory(d);
	if (name.len == 0)
		return true;
	if (!add_prim(d, parent, name, "Material", &scope.spec))
		return false;
	for (const hob_xml_element *e = element->first; e; e = e->next) {
		if (hob_str_equal(attribute(e, "name"), HOB_STR("surfaceshader")) &&
			!add_input(d, e, scope, &scope, scope.spec, surface))
			return false;
		/* Before 1.38 the material contains the shader. */
		if (hob_xml_is(e, HOB_STR("shaderref")) &&
			(!add_node(d, e, scope, &path) ||
			 !add_connection(d, scope.spec, surface,
							 hob_arena_printf(d->u->scratch, "%.*s.outputs:out", HOB_FMT(path)))))
			return false;
	}
	return true;
}

bool hob_usd_mtlx_read(hob_usd *u, hob_bytes file, hob_usd_layer *layer, hob_error *err)
{
	document_t d = {.u = u, .layer = layer, .err = err};
	uint32_t root, materials;
	hob_str *top = HOB_NEW(u->scratch, hob_str, 1);
	if (!hob_xml_parse(u->scratch, file, NULL, &d.xml, err))
		return false;
	if (!hob_xml_is(d.xml.root, HOB_STR("materialx")))
		return hob_fail(err, UNSUPPORTED, "an XML file that is no MaterialX document");
	hob_name_map_init(&d.names, u->scratch);
	d.elements = (const hob_xml_element **)hob_arena_array(u->scratch, d.xml.element_count,
														   sizeof *d.elements, sizeof(void *));
	if (!top || !d.elements)
		return no_memory(&d);
	*top = HOB_STR("MaterialX");
	if (!list_names(&d, d.xml.root) || !hob_usd_layer_init(u, layer, err) ||
		!hob_usd_field_set(u, layer, 0, HOB_USD_T_defaultPrim,
						   (hob_usd_value){HOB_USD_TEXT, false, 1, 1, top}, err) ||
		!add_prim(&d, 0, *top, "", &root) || !add_prim(&d, root, HOB_STR("Materials"), "Scope", &materials))
		return false;
	for (const hob_xml_element *e = d.xml.root->first; e; e = e->next) {
		if (hob_xml_is(e, HOB_STR("include")))
			hob_usd_note(u, "include", "MaterialX document '%.*s': what '%.*s' holds is left out",
						 HOB_FMT(layer->path), HOB_FMT(attribute(e, "href")));
		if ((hob_xml_is(e, HOB_STR("surfacematerial")) || hob_xml_is(e, HOB_STR("material"))) &&
			!add_material(&d, e, materials, HOB_STR("/MaterialX/Materials")))
			return false;
	}
	return true;
}

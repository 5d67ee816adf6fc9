#include "usd_private.h"
#include "../../base/number.h"
#include "../xml.h"
#include "../text.h"
#include "../texture_path.h"

/* ---- growing arrays, the map */

void *hob_usd_more(hob_arena *arena, void *items, uint32_t count, size_t size)
{
	enum { HEAD = 16 };
	uint32_t room = items ? *(uint32_t *)(void *)((uint8_t *)items - HEAD) : 0;
	if (count < room)
		return items;
	uint32_t wanted = room < 8 ? 8 : room > UINT32_MAX / 2 ? UINT32_MAX : room * 2;
	uint8_t *larger = hob_arena_alloc(arena, wanted > count ? HEAD + wanted * size : SIZE_MAX, HEAD);
	memcpy(larger, &wanted, sizeof wanted);
	if (count > 0)
		memcpy(larger + HEAD, items, count * size);
	return larger + HEAD;
}

static uint32_t place_of(const hob_usd_map *map, uint64_t key)
{
	uint64_t hash = key * 0x9E3779B97F4A7C15u;
	uint32_t at = (uint32_t)(hash >> 32) & (map->capacity - 1);
	while (map->keys[at] != 0 && map->keys[at] != key + 1)
		at = (at + 1) & (map->capacity - 1);
	return at;
}

uint32_t hob_usd_map_get(const hob_usd_map *map, uint64_t key)
{
	if (map->capacity == 0)
		return HOB_NONE;
	uint32_t at = place_of(map, key);
	return map->keys[at] != 0 ? map->values[at] : HOB_NONE;
}

static void grow_map(hob_arena *arena, hob_usd_map *map)
{
	hob_usd_map larger = {.capacity = map->capacity > 0 ? map->capacity * 2 : 16, .count = map->count};
	larger.keys = HOB_NEW(arena, uint64_t, larger.capacity);
	larger.values = HOB_NEW(arena, uint32_t, larger.capacity);
	for (uint32_t i = 0; i < map->capacity; i++)
		if (map->keys[i] != 0) {
			uint32_t at = place_of(&larger, map->keys[i] - 1);
			larger.keys[at] = map->keys[i];
			larger.values[at] = map->values[i];
		}
	*map = larger;
}

void hob_usd_map_put(hob_arena *arena, hob_usd_map *map, uint64_t key, uint32_t value)
{
	if (map->count + 1 > map->capacity / 2)
		grow_map(arena, map);
	uint32_t at = place_of(map, key);
	map->count += map->keys[at] == 0;
	map->keys[at] = key + 1;
	map->values[at] = value;
}

/* ---- tokens */

uint32_t hob_usd_known(const hob_usd *u, hob_str text)
{
	return hob_name_map_get(&u->token_map, text);
}

uint32_t hob_usd_token(hob_usd *u, hob_str text)
{
	uint32_t known = hob_name_map_get(&u->token_map, text);
	if (known != HOB_NONE)
		return known;
	/* A copy, because the text may be freed: a package member may be unpacked only while it is read. */
	hob_str kept = hob_arena_str(u->scratch, text);
	hob_name_map_add(&u->token_map, kept, u->token_count);
	return HOB_USD_PUT(u->scratch, u->tokens, u->token_count, kept);
}

void hob_usd_start(hob_usd *u, const hob_import_request *request)
{
	static const char *const words[] = {
#define USD_TOKEN(name, text) text,
#include "usd_token.def"
#undef USD_TOKEN
	};
	*u = (hob_usd){
		.request = request, .result = request->result, .scratch = request->scratch, .notes = request->notes};
	hob_name_map *const maps[] = {&u->token_map, &u->layer_map, &u->package_map,
								  &u->stack_map, &u->tree_map,	&u->prim_map};
	for (size_t i = 0; i < HOB_COUNT_OF(maps); i++)
		hob_name_map_init(maps[i], u->scratch);
	for (uint32_t i = 0; i < HOB_USD_T_COUNT; i++)
		hob_usd_token(u, hob_str_of(words[i]));
	hob_arena_init(&u->passing, u->scratch->limit);
	/* The arena keeps its first block across resets. */
	hob_arena_alloc(&u->passing, 1, 1);
}

/* ---- the tree of specs */

static uint64_t child_key(uint32_t parent, hob_usd_spec_kind kind, uint32_t name)
{
	return (uint64_t)parent << 32 | (uint64_t)(name * 2 + (kind == HOB_USD_PROPERTY));
}

uint32_t hob_usd_spec_find(const hob_usd_layer *layer, uint32_t parent, hob_usd_spec_kind kind, uint32_t name)
{
	return parent == HOB_NONE || name == HOB_NONE
			   ? HOB_NONE
			   : hob_usd_map_get(&layer->children, child_key(parent, kind, name));
}

static void append_spec(hob_usd *u, hob_usd_layer *layer, hob_usd_spec spec)
{
	for (size_t k = 0; k < HOB_COUNT_OF(spec.first); k++)
		spec.first[k] = spec.last[k] = HOB_NONE;
	spec.next = spec.first_field = HOB_NONE;
	HOB_USD_PUT(u->scratch, layer->specs, layer->spec_count, spec);
}

void hob_usd_layer_init(hob_usd *u, hob_usd_layer *layer)
{
	layer->spec_count = layer->field_count = 0;
	append_spec(u, layer, (hob_usd_spec){.parent = HOB_NONE, .name = HOB_NONE});
}

uint32_t hob_usd_spec_add(hob_usd *u, hob_usd_layer *layer, uint32_t parent, hob_usd_spec_kind kind,
						  uint32_t name)
{
	uint32_t id = hob_usd_spec_find(layer, parent, kind, name);
	if (id != HOB_NONE)
		return id;
	id = layer->spec_count;
	hob_usd_spec spec = {.parent = parent, .name = name, .kind = kind, .specifier = HOB_USD_OVER};
	append_spec(u, layer, spec);
	hob_usd_map_put(u->scratch, &layer->children, child_key(parent, kind, name), id);
	hob_usd_spec *above = &layer->specs[parent];
	if (above->first[kind] == HOB_NONE)
		above->first[kind] = id;
	else
		layer->specs[above->last[kind]].next = id;
	above->last[kind] = id;
	return id;
}

const hob_usd_value *hob_usd_field_get(const hob_usd_layer *layer, uint32_t spec, uint32_t name)
{
	for (uint32_t f = spec == HOB_NONE ? HOB_NONE : layer->specs[spec].first_field; f != HOB_NONE;
		 f = layer->fields[f].next)
		if (layer->fields[f].name == name)
			return &layer->fields[f].value;
	return NULL;
}

void hob_usd_field_set(hob_usd *u, hob_usd_layer *layer, uint32_t spec, uint32_t name, hob_usd_value value)
{
	for (uint32_t f = layer->specs[spec].first_field; f != HOB_NONE; f = layer->fields[f].next)
		if (layer->fields[f].name == name) {
			layer->fields[f].value = value;
			return;
		}
	hob_usd_field field = {name, layer->specs[spec].first_field, value};
	layer->specs[spec].first_field = HOB_USD_PUT(u->scratch, layer->fields, layer->field_count, field);
}

/* ---- paths */

hob_str hob_usd_path_child(hob_usd *u, hob_str parent, hob_str name)
{
	return hob_arena_printf(u->scratch, "%.*s/%.*s", parent.len > 1 ? (int)parent.len : 0, parent.data,
							HOB_FMT(name));
}

bool hob_usd_path_below(hob_str path, hob_str prefix)
{
	if (prefix.len <= 1)
		return true;
	return hob_str_starts(path, prefix) &&
		   (path.len == prefix.len || path.data[prefix.len] == '/' || path.data[prefix.len] == '.');
}

hob_str hob_usd_path_absolute(hob_usd *u, hob_str prim, hob_str path)
{
	if (path.len > 0 && path.data[0] == '/')
		return hob_arena_str(u->scratch, path);
	hob_str base = prim, rest = path;
	while (hob_str_starts(rest, HOB_STR(".."))) {
		while (base.len > 0 && base.data[base.len - 1] != '/')
			base.len--;
		base.len -= base.len > 0;
		rest = hob_str_sub(rest, 2, rest.len);
		if (rest.len > 0 && rest.data[0] == '/')
			rest = hob_str_sub(rest, 1, rest.len);
	}
	if (base.len == 1 && base.data[0] == '/')
		base.len = 0;
	bool is_name = rest.len > 0 && rest.data[0] != '.';
	return hob_arena_printf(u->scratch, "%.*s%s%.*s", HOB_FMT(base),
							is_name || base.len + rest.len == 0 ? "/" : "", HOB_FMT(rest));
}

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
} document_t;

static hob_str attribute(const hob_xml_element *element, const char *name)
{
	hob_str value = hob_xml_attr(element, hob_str_of(name));
	return value.data ? value : HOB_STR("");
}

/* ---- names */

static void list_names(document_t *d, const hob_xml_element *around)
{
	for (const hob_xml_element *e = around->first; e; e = e->next) {
		hob_str name = attribute(e, "name");
		hob_str key = hob_arena_printf(d->u->scratch, "%u/%.*s", around->number, HOB_FMT(name));
		d->elements[e->number] = e;
		if (name.len > 0 && !hob_xml_is(e, HOB_STR("output")))
			hob_name_map_add(&d->names, key, e->number);
		if (around == d->xml.root && hob_xml_is(e, HOB_STR("nodegraph")))
			list_names(d, e);
	}
}

static const hob_xml_element *find_element(document_t *d, const hob_xml_element *around, hob_str name)
{
	hob_str key = hob_arena_printf(d->u->scratch, "%u/%.*s", around->number, HOB_FMT(name));
	uint32_t number = hob_name_map_get(&d->names, key);
	return number == HOB_NONE ? NULL : d->elements[number];
}

/* A prim's name: characters that paths do not allow become "_". */
static hob_str prim_name(document_t *d, hob_str name)
{
	char *text = HOB_NEW(d->u->scratch, char, name.len + 1);
	for (size_t i = 0; i < name.len; i++) {
		char c = name.data[i];
		bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || hob_is_digit(c) || (c & 0x80);
		text[i] = fits ? c : '_';
	}
	return (hob_str){text, name.len};
}

/* ---- specs */

static uint32_t add_prim(document_t *d, uint32_t parent, hob_str name, const char *type)
{
	hob_str *text = HOB_NEW(d->u->scratch, hob_str, 1);
	*text = hob_str_of(type);
	if (++d->made > HOB_LIMIT_USD_PRIMS)
		hob_leave(LIMIT, "more than %llu nodes of materials", HOB_LIMIT_USD_PRIMS);
	uint32_t spec = hob_usd_spec_add(d->u, d->layer, parent, HOB_USD_PRIM, hob_usd_token(d->u, name));
	if (text->len > 0)
		hob_usd_field_set(d->u, d->layer, spec, HOB_USD_T_typeName,
						  (hob_usd_value){HOB_USD_TEXT, false, 1, 1, text});
	return spec;
}

static void add_field(document_t *d, uint32_t prim, hob_str property, uint32_t field, hob_usd_value value)
{
	uint32_t spec = hob_usd_spec_add(d->u, d->layer, prim, HOB_USD_PROPERTY, hob_usd_token(d->u, property));
	hob_usd_field_set(d->u, d->layer, spec, field, value);
}

static void add_text(document_t *d, uint32_t prim, hob_str property, hob_str text)
{
	hob_str *kept = HOB_NEW(d->u->scratch, hob_str, 1);
	*kept = text;
	add_field(d, prim, property, HOB_USD_T_default_value, (hob_usd_value){HOB_USD_TEXT, false, 1, 1, kept});
}

static void add_connection(document_t *d, uint32_t prim, hob_str property, hob_str path)
{
	hob_usd_list *list = HOB_NEW(d->u->scratch, hob_usd_list, 1);
	hob_usd_item *item = HOB_NEW(d->u->scratch, hob_usd_item, 1);
	*item = (hob_usd_item){.path = path, .scale = 1};
	list->is_explicit = true;
	list->count[HOB_USD_EXPLICIT] = 1;
	list->items[HOB_USD_EXPLICIT] = item;
	add_field(d, prim, property, HOB_USD_T_connectionPaths, (hob_usd_value){HOB_USD_LIST, false, 1, 1, list});
}

/* ---- values */

static void add_file(document_t *d, const hob_xml_element *input, uint32_t prim, hob_str property,
					 hob_str text)
{
	for (const hob_xml_element *e = input; e; e = e->parent) {
		hob_str prefix = attribute(e, "fileprefix");
		if (prefix.len == 0)
			continue;
		text = hob_arena_printf(d->u->scratch, "%.*s%.*s", HOB_FMT(prefix), HOB_FMT(text));
	}
	add_text(d, prim, property, text);
}

static void add_numbers(document_t *d, uint32_t prim, hob_str property, hob_str text)
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
		return;
	float *kept = HOB_NEW(d->u->scratch, float, count);
	memcpy(kept, found, count * sizeof *kept);
	add_field(d, prim, property, HOB_USD_T_default_value,
			  (hob_usd_value){HOB_USD_F32, false, count, 1, kept});
}

static void add_value(document_t *d, const hob_xml_element *input, uint32_t prim, hob_str property)
{
	hob_str type = attribute(input, "type"), value = attribute(input, "value");
	if (value.len == 0)
		return;
	if (hob_str_equal(type, HOB_STR("filename")))
		add_file(d, input, prim, property, value);
	else if (hob_str_equal(type, HOB_STR("string")))
		add_text(d, prim, property, value);
	else if (hob_str_equal(type, HOB_STR("boolean")))
		add_numbers(d, prim, property, hob_str_equal(value, HOB_STR("true")) ? HOB_STR("1") : HOB_STR("0"));
	else
		add_numbers(d, prim, property, value);
}

/* ---- nodes */

static hob_str add_node(document_t *d, const hob_xml_element *node, scope_t scope);

/* Reads an input or output: a value, or a connection to a node, to a graph's output, or to an input of the
 * enclosing graph. `outer`: the material, which contains the graphs. */
static void add_input(document_t *d, const hob_xml_element *input, scope_t scope, const scope_t *outer,
					  uint32_t prim, hob_str property)
{
	hob_arena *arena = d->u->scratch;
	const hob_xml_element *from = NULL;
	hob_str graph = attribute(input, "nodegraph"), node = attribute(input, "nodename");
	hob_str face = attribute(input, "interfacename"), output = attribute(input, "output"), path;
	if (face.len > 0) {
		add_connection(d, prim, property,
					   hob_arena_printf(arena, "%.*s.inputs:%.*s", HOB_FMT(scope.path), HOB_FMT(face)));
		return;
	}
	if (graph.len > 0)
		scope = *outer;
	if (graph.len + node.len > 0)
		from = find_element(d, scope.element, graph.len > 0 ? graph : node);
	if (!from) {
		add_value(d, input, prim, property);
		return;
	}
	path = add_node(d, from, scope);
	const hob_xml_element *first = hob_xml_child(from, HOB_STR("output"));
	if (output.len == 0)
		output = graph.len > 0 && first ? attribute(first, "name") : HOB_STR("out");
	add_connection(d, prim, property,
				   hob_arena_printf(arena, "%.*s.outputs:%.*s", HOB_FMT(path), HOB_FMT(output)));
}

static void add_inputs(document_t *d, const hob_xml_element *node, const char *element, const char *kind,
					   scope_t scope, const scope_t *outer, uint32_t prim)
{
	for (const hob_xml_element *e = hob_xml_child(node, hob_str_of(element)); e;
		 e = hob_xml_next(e, hob_str_of(element))) {
		hob_str name = attribute(e, "name");
		hob_str property = hob_arena_printf(d->u->scratch, "%s:%.*s", kind, HOB_FMT(name));
		if (name.len > 0)
			add_input(d, e, scope, outer, prim, property);
	}
}

/* Adds the id: "ND_image_color3" for "image" of type "color3"; USD's own nodes have one id for all types. */
static void add_id(document_t *d, const hob_xml_element *node, uint32_t prim)
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
	add_text(d, prim, HOB_STR("info:id"), id);
}

static void fill_node(document_t *d, const hob_xml_element *node, scope_t scope, scope_t own)
{
	if (hob_xml_is(node, HOB_STR("nodegraph"))) {
		add_inputs(d, node, "input", "inputs", own, &scope, own.spec);
		add_inputs(d, node, "output", "outputs", own, &scope, own.spec);
		return;
	}
	add_id(d, node, own.spec);
	add_inputs(d, node, "input", "inputs", scope, &scope, own.spec);
	add_inputs(d, node, "parameter", "inputs", scope, &scope, own.spec);
	add_inputs(d, node, "bindinput", "inputs", scope, &scope, own.spec);
}

/* Adds the node and everything it is connected to as children of the scope, once. */
static hob_str add_node(document_t *d, const hob_xml_element *node, scope_t scope)
{
	scope_t own = {.element = node};
	hob_str name = prim_name(d, attribute(node, "name"));
	uint32_t token = hob_usd_token(d->u, name);
	own.path = hob_usd_path_child(d->u, scope.path, name);
	if (hob_usd_spec_find(d->layer, scope.spec, HOB_USD_PRIM, token) != HOB_NONE)
		return own.path;
	if (d->depth >= HOB_LIMIT_USD_DEPTH)
		hob_leave(LIMIT, "nodes of materials behind one another: more than %llu", HOB_LIMIT_USD_DEPTH);
	bool graph = hob_xml_is(node, HOB_STR("nodegraph"));
	own.spec = add_prim(d, scope.spec, name, graph ? "NodeGraph" : "Shader");
	d->depth++;
	fill_node(d, node, scope, own);
	d->depth--;
	return own.path;
}

static void add_material(document_t *d, const hob_xml_element *element, uint32_t parent, hob_str above)
{
	static const hob_str surface = {"outputs:mtlx:surface", 20};
	hob_str name = prim_name(d, attribute(element, "name"));
	scope_t scope = {.element = d->xml.root, .path = hob_usd_path_child(d->u, above, name)};
	if (name.len == 0)
		return;
	scope.spec = add_prim(d, parent, name, "Material");
	for (const hob_xml_element *e = element->first; e; e = e->next) {
		if (hob_str_equal(attribute(e, "name"), HOB_STR("surfaceshader")))
			add_input(d, e, scope, &scope, scope.spec, surface);
		/* Before 1.38 the material contains the shader. */
		if (hob_xml_is(e, HOB_STR("shaderref"))) {
			hob_str path = add_node(d, e, scope);
			add_connection(d, scope.spec, surface,
						   hob_arena_printf(d->u->scratch, "%.*s.outputs:out", HOB_FMT(path)));
		}
	}
}

/* A MaterialX document as "/MaterialX/Materials/NAME": each material contains the nodes and graphs that it
 * uses; layer->path is set. Looks, geometry names and included documents are ignored. Source: MaterialX 1.38
 * specification; the paths are OpenUSD's. */
static void usd_mtlx_read(hob_usd *u, hob_bytes file, hob_usd_layer *layer)
{
	document_t d = {.u = u, .layer = layer};
	hob_error why;
	hob_str *top = HOB_NEW(u->scratch, hob_str, 1);
	hob_need(hob_xml_parse(u->scratch, file, NULL, &d.xml, &why), &why);
	if (!hob_xml_is(d.xml.root, HOB_STR("materialx")))
		hob_leave(UNSUPPORTED, "an XML file that is no MaterialX document");
	hob_name_map_init(&d.names, u->scratch);
	d.elements = (const hob_xml_element **)hob_arena_array(u->scratch, d.xml.element_count,
														   sizeof *d.elements, sizeof(void *));
	*top = HOB_STR("MaterialX");
	list_names(&d, d.xml.root);
	hob_usd_layer_init(u, layer);
	hob_usd_field_set(u, layer, 0, HOB_USD_T_defaultPrim, (hob_usd_value){HOB_USD_TEXT, false, 1, 1, top});
	uint32_t root = add_prim(&d, 0, *top, "");
	uint32_t materials = add_prim(&d, root, HOB_STR("Materials"), "Scope");
	for (const hob_xml_element *e = d.xml.root->first; e; e = e->next) {
		if (hob_xml_is(e, HOB_STR("include")))
			hob_usd_note(u, "include", "MaterialX document '%.*s': what '%.*s' holds is left out",
						 HOB_FMT(layer->path), HOB_FMT(attribute(e, "href")));
		if (hob_xml_is(e, HOB_STR("surfacematerial")) || hob_xml_is(e, HOB_STR("material")))
			add_material(&d, e, materials, HOB_STR("/MaterialX/Materials"));
	}
}

enum { FAILED = 0xFFFFFFFE };

/* A file, or a member of a package. */
typedef struct place {
	uint32_t package; /* HOB_NONE: a file */
	hob_str path;
} place_t;

static bool is_final(hob_err_code code)
{
	return code == HOB_ERR_MEMORY || code == HOB_ERR_LIMIT;
}

/* ---- packages */

static bool member_bytes(hob_usd *u, place_t place, hob_arena *arena, hob_bytes *out, hob_error *err)
{
	const hob_usd_package *package = &u->packages[place.package];
	hob_zip_member member;
	if (!hob_zip_find(&package->zip, place.path, &member))
		return hob_fail(err, MISSING_FILE, "'%.*s' is not in '%.*s'", HOB_FMT(place.path),
						HOB_FMT(package->id));
	size_t most = package->zip.bytes.size;
	if (!member.stored) {
		hob_usd_note(u, "deflated",
					 "'%.*s' in '%.*s' is compressed; some viewers cannot open that: store it as it is",
					 HOB_FMT(place.path), HOB_FMT(package->id));
		most = (size_t)HOB_LIMIT_SOURCE_BYTES;
	}
	return hob_zip_unpack(arena, &member, most, out) ||
		   hob_fail(err, CORRUPT, "'%.*s' in '%.*s' is damaged or empty", HOB_FMT(place.path),
					HOB_FMT(package->id));
}

static bool place_bytes(hob_usd *u, place_t place, hob_bytes *out, hob_error *err)
{
	if (place.package != HOB_NONE)
		return member_bytes(u, place, u->scratch, out, err);
	if (hob_str_equal(place.path, u->request->path)) {
		*out = u->request->file;
		return true;
	}
	return u->request->io->read(u->request->io->user, place.path, out, err);
}

static hob_str place_id(hob_usd *u, place_t place)
{
	if (place.package == HOB_NONE)
		return place.path;
	return hob_arena_printf(u->scratch, "%.*s[%.*s]", HOB_FMT(u->packages[place.package].id),
							HOB_FMT(place.path));
}

static bool open_package(hob_usd *u, place_t place, hob_bytes bytes, uint32_t *out, hob_error *err)
{
	hob_str id = place_id(u, place);
	*out = hob_name_map_get(&u->package_map, id);
	if (*out != HOB_NONE)
		return true;
	uint32_t depth = 1;
	for (uint32_t p = place.package; p != HOB_NONE; p = u->packages[p].outer)
		if (++depth > 4)
			return hob_fail(err, LIMIT, "'%.*s': packages in packages, more than 4 levels", HOB_FMT(id));
	hob_usd_package package = {.id = id, .path = place.path, .outer = place.package};
	if (!hob_zip_open(bytes, &package.zip))
		return hob_fail(err, CORRUPT, "'%.*s' begins as a package but has no list of its members",
						HOB_FMT(id));
	hob_name_map_add(&u->package_map, id, u->package_count);
	*out = HOB_USD_PUT(u->scratch, u->packages, u->package_count, package);
	return true;
}

static bool is_layer_name(hob_str name)
{
	hob_str extension = hob_path_extension(name);
	return hob_str_starts(extension, HOB_STR("usd"));
}

/* The root layer of a package: its first member, as the format requires. */
static bool first_layer(hob_usd *u, uint32_t package, hob_str *out, hob_error *err)
{
	const hob_zip *zip = &u->packages[package].zip;
	hob_zip_member member;
	size_t at = 0;
	while (hob_zip_next(zip, &at, &member))
		if (is_layer_name(member.name)) {
			*out = member.name;
			return true;
		}
	return hob_fail(err, EMPTY, "the package '%.*s' holds no USD file", HOB_FMT(u->packages[package].id));
}

/* ---- resolution of asset paths */

static bool starts_with_dot(hob_str asset)
{
	return asset.len > 1 && asset.data[0] == '.' &&
		   (asset.data[1] == '/' || asset.data[1] == '\\' || (asset.data[1] == '.' && asset.len > 2));
}

/* Lists the places of an asset, in order: relative to the layer (for "./x" only this), to the root layer's
 * folder, to the watched root. */
static uint32_t candidates(hob_usd *u, uint32_t from, hob_str asset, place_t out[3])
{
	hob_str dirs[3] = {HOB_STR("")};
	uint32_t package = HOB_NONE, wanted = 1, count = 0;
	if (from == HOB_NONE) {
		out[0] = (place_t){HOB_NONE, u->request->path};
		return 1;
	}
	package = u->layers[from].package;
	dirs[0] = hob_path_dir(u->layers[from].path);
	if (!starts_with_dot(asset)) {
		dirs[1] = package == HOB_NONE ? hob_path_dir(u->layers[0].path) : HOB_STR("");
		wanted = package == HOB_NONE ? 3 : 2;
	}
	for (uint32_t i = 0; i < wanted; i++) {
		place_t place = {.package = package};
		bool skip = package == HOB_NONE
						? !hob_io_join(u->request->io, u->scratch, dirs[i], asset, &place.path, NULL)
						: !hob_path_join(u->scratch, dirs[i], asset, &place.path, NULL);
		for (uint32_t k = 0; k < count && !skip; k++)
			skip = hob_str_equal(out[k].path, place.path);
		if (!skip)
			out[count++] = place;
	}
	return count;
}

/* The first readable candidate. */
static bool find_file(hob_usd *u, uint32_t from, hob_str asset, place_t *place, hob_bytes *bytes,
					  hob_error *err)
{
	place_t places[3];
	uint32_t count = candidates(u, from, asset, places);
	hob_error_set(err, HOB_ERR_OUTSIDE, __FILE__, __LINE__,
				  "it is not a relative path below the watched root; keep the parts of a stage below it");
	for (uint32_t i = 0; i < count; i++) {
		*place = places[i];
		if (place_bytes(u, *place, bytes, err))
			return true;
		if (is_final(err->code))
			return false;
	}
	return false;
}

/* Splits "a.usdz[b.usdz[c.png]]" into "a.usdz" and "b.usdz[c.png]". */
static bool split_package(hob_str asset, hob_str *outer, hob_str *inner)
{
	size_t open = hob_str_find(asset, HOB_STR("["), 0);
	if (open == SIZE_MAX || asset.data[asset.len - 1] != ']')
		return false;
	*outer = hob_str_sub(asset, 0, open);
	*inner = hob_str_sub(asset, open + 1, asset.len - 1);
	return true;
}

static bool locate(hob_usd *u, uint32_t from, hob_str asset, place_t *place, hob_bytes *bytes, hob_error *err)
{
	hob_str outer, inner;
	if (!split_package(asset, &outer, &inner))
		return find_file(u, from, asset, place, bytes, err);
	if (!find_file(u, from, outer, place, bytes, err))
		return false;
	for (;;) {
		hob_str name = inner, deeper = {0};
		bool more = split_package(inner, &name, &deeper);
		uint32_t package;
		if (!open_package(u, *place, *bytes, &package, err) ||
			!hob_path_join(u->scratch, HOB_STR(""), name, &place->path, err) ||
			!place_bytes(u, (place_t){package, place->path}, bytes, err))
			return false;
		place->package = package;
		if (!more)
			return true;
		inner = deeper;
	}
}

/* ---- layers */

typedef struct reading {
	hob_usd *u;
	hob_bytes bytes;
	hob_usd_layer *layer;
} reading_t;

static bool read_layer(void *context, hob_error *err)
{
	const reading_t *r = (const reading_t *)context;
	hob_str text = {(const char *)r->bytes.data, r->bytes.size};
	if (hob_str_starts(text, HOB_STR("PXR-USDC")))
		hob_usd_crate_read(r->u, r->bytes, r->layer);
	else if (hob_str_starts(text, HOB_STR("#usda")) || hob_str_starts(text, HOB_STR("#sdf ")))
		hob_usd_text_read(r->u, text, r->layer);
	else if (hob_str_ends_nocase(r->layer->path, HOB_STR(".mtlx")))
		usd_mtlx_read(r->u, r->bytes, r->layer);
	else
		return hob_fail(err, UNSUPPORTED,
						"'%.*s' is no USD file: it begins neither with '#usda' nor with 'PXR-USDC'",
						HOB_FMT(r->layer->path));
	return true;
}

static uint32_t keep_layer(hob_usd *u, const hob_usd_layer *layer)
{
	if (u->layer_count >= HOB_LIMIT_USD_LAYERS)
		hob_leave(LIMIT, "more than %llu layers", HOB_LIMIT_USD_LAYERS);
	hob_name_map_add(&u->layer_map, layer->id, u->layer_count);
	return HOB_USD_PUT(u->scratch, u->layers, u->layer_count, *layer);
}

static bool add_layer(hob_usd *u, place_t place, hob_bytes bytes, uint32_t *out, hob_error *why)
{
	if (bytes.size >= 4 && memcmp(bytes.data, "PK\003\004", 4) == 0) {
		uint32_t package;
		if (!open_package(u, place, bytes, &package, why))
			return false;
		place.package = package;
		if (!first_layer(u, package, &place.path, why) || !place_bytes(u, place, &bytes, why))
			return false;
	}
	hob_str id = place_id(u, place);
	*out = hob_name_map_get(&u->layer_map, id);
	if (*out != HOB_NONE)
		return true;
	hob_usd_layer layer = {.id = id, .path = place.path, .package = place.package};
	if (!hob_guarded(read_layer, &(reading_t){u, bytes, &layer}, why))
		return why->code != HOB_ERR_MEMORY && hob_fail_in(why, "layer '%.*s'", HOB_FMT(id));
	*out = keep_layer(u, &layer);
	return true;
}

uint32_t hob_usd_layer_new(hob_usd *u, hob_str id, hob_str path, uint32_t package)
{
	hob_usd_layer layer = {.id = id, .path = path, .package = package};
	hob_usd_layer_init(u, &layer);
	return keep_layer(u, &layer);
}

uint32_t hob_usd_layer_open(hob_usd *u, uint32_t from, hob_str asset)
{
	place_t place = {0};
	hob_bytes bytes = {0};
	hob_error why = {0};
	hob_str key = hob_arena_printf(u->scratch, "?%u?%.*s", from, HOB_FMT(asset));
	uint32_t id = hob_name_map_get(&u->layer_map, key);
	if (id == HOB_NONE) {
		if (!locate(u, from, asset, &place, &bytes, &why) || !add_layer(u, place, bytes, &id, &why)) {
			if (from == HOB_NONE || is_final(why.code))
				hob_leave_with(&why);
			id = FAILED;
			hob_usd_note(u, "layer-missing", "'%.*s', which '%.*s' names, is left out: %s", HOB_FMT(asset),
						 HOB_FMT(u->layers[from].id), why.context);
		}
		hob_name_map_add(&u->layer_map, key, id);
	}
	return id == FAILED ? HOB_NONE : id;
}

/* ---- pictures */

/* The asset of a tiled picture's (UDIM) first tile, which is used for all tiles. */
static hob_str first_tile(hob_usd *u, hob_str asset)
{
	static const hob_str mark = {"<UDIM>", 6};
	size_t at = hob_str_find(asset, mark, 0);
	if (at == SIZE_MAX)
		return asset;
	hob_str before = hob_str_sub(asset, 0, at), behind = hob_str_sub(asset, at + mark.len, asset.len);
	hob_usd_note(u, "tiles", "picture '%.*s' is made of tiles; only the first, 1001, is drawn",
				 HOB_FMT(asset));
	return hob_arena_printf(u->scratch, "%.*s1001%.*s", HOB_FMT(before), HOB_FMT(behind));
}

hob_image hob_usd_picture(hob_usd *u, uint32_t from, hob_str asset)
{
	hob_error why = {0};
	place_t place = {0};
	hob_bytes bytes = {0};
	hob_image image = {.uri = hob_text_name(u->result, asset),
					   .name = hob_text_name(u->result, hob_text_last_part(asset))};
	hob_str name = first_tile(u, asset);
	if (u->layers[from].package == HOB_NONE && hob_str_find(name, HOB_STR("["), 0) == SIZE_MAX) {
		image.path = hob_import_texture_path(u->request, hob_path_dir(u->layers[from].path), name);
		return image;
	}
	bool found = locate(u, from, name, &place, &bytes, &why);
	if (!found && is_final(why.code))
		hob_leave_with(&why);
	if (!found || place.package == HOB_NONE)
		hob_usd_note(u, "picture-missing", "picture '%.*s' cannot be had: %s", HOB_FMT(asset), why.context);
	else
		hob_need(member_bytes(u, place, u->result, &image.bytes, &why), &why);
	return image;
}

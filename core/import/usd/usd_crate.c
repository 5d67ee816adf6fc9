#include "usd_crate.h"

enum { HEAD_SIZE = 88, SECTION_SIZE = 32, SECTIONS_MAX = 64 };

/* Versions that changed the layout: 0.1 dropped the padding of four bytes before paths and specs, 0.4 packed
 * the sections. Sections before 0.4 are arrays of structs as the writer's compiler laid them out. */
enum { UNPADDED = 100, PACKED_SECTIONS = 400 };

/* Kinds of specs in the format. */
enum { ATTRIBUTE = 1, PRIM = 6, ROOT = 7, RELATIONSHIP = 8, VARIANT = 10 };

_Noreturn static void cut_off(const char *what)
{
	hob_leave(TRUNCATED, "the file ends within %s", what);
}

/* ---- sections */

static hob_usd_cursor find_section(hob_usd_crate *c, const char *name)
{
	hob_usd_cursor at = {c->file, (size_t)hob_load_u64(c->file.data + 16), false, false};
	uint64_t count = hob_usd_take_u64(&at);
	for (uint64_t i = 0; i < count && i < SECTIONS_MAX; i++) {
		hob_bytes entry = hob_usd_take_bytes(&at, SECTION_SIZE);
		if (at.failed)
			cut_off("the list of sections");
		uint64_t start = hob_load_u64(entry.data + 16), size = hob_load_u64(entry.data + 24);
		if (strncmp((const char *)entry.data, name, 16) != 0)
			continue;
		if (start > c->file.size || size > c->file.size - start)
			cut_off(name);
		return (hob_usd_cursor){{c->file.data, (size_t)(start + size)}, (size_t)start, false, false};
	}
	hob_leave(CORRUPT, "the file has no section %s", name);
}

static void read_tokens(hob_usd_crate *c)
{
	size_t made, from = 0;
	hob_usd_cursor at = find_section(c, "TOKENS");
	c->token_count = hob_usd_take_u64(&at);
	uint64_t raw_size = hob_usd_take_u64(&at);
	bool plain = c->version < PACKED_SECTIONS;
	hob_bytes packed = hob_usd_take_bytes(&at, plain ? raw_size : hob_usd_take_u64(&at));
	if (at.failed)
		cut_off("TOKENS");
	if ((!plain && !hob_usd_may_unpack(packed.size, raw_size)) || c->token_count > raw_size ||
		c->token_count >= HOB_NONE)
		hob_leave(CORRUPT, "%zu bytes cannot hold %llu tokens", packed.size,
				  (unsigned long long)c->token_count);
	uint8_t *raw = HOB_NEW(c->u->scratch, uint8_t, raw_size + 1);
	c->tokens = HOB_NEW(c->u->scratch, hob_str, c->token_count);
	if (plain)
		memcpy(raw, packed.data, made = packed.size);
	else if (!hob_usd_unpack(packed, raw, (size_t)raw_size, &made))
		hob_leave(CORRUPT, "the tokens are damaged");
	for (uint64_t i = 0; i < c->token_count; i++) {
		const uint8_t *end = from < made ? (const uint8_t *)memchr(raw + from, 0, made - from) : NULL;
		if (!end)
			hob_leave(CORRUPT, "%llu of %llu tokens are there", (unsigned long long)i,
					  (unsigned long long)c->token_count);
		c->tokens[i] = (hob_str){(const char *)raw + from, (size_t)(end - raw) - from};
		from = (size_t)(end - raw) + 1;
	}
}

static void read_strings(hob_usd_crate *c)
{
	hob_usd_cursor at = find_section(c, "STRINGS");
	c->string_count = hob_usd_take_u64(&at);
	if (at.failed || c->string_count > (at.file.size - at.at) / 4)
		cut_off("STRINGS");
	c->strings = HOB_NEW(c->u->scratch, uint32_t, c->string_count);
	for (uint64_t i = 0; i < c->string_count; i++)
		c->strings[i] = hob_usd_take_u32(&at);
}

/* `count` numbers of a section, compressed since 0.4. */
static void *section_ints(hob_usd_crate *c, hob_usd_cursor *at, uint64_t count)
{
	if (c->version >= PACKED_SECTIONS)
		return hob_usd_unpack_ints(c, at, count, 4);
	uint64_t size;
	hob_bytes raw = {0};
	if (!__builtin_mul_overflow(count, (uint64_t)4, &size))
		raw = hob_usd_take_bytes(at, size);
	if (!raw.data)
		cut_off("a section");
	uint32_t *ints = HOB_NEW(c->u->scratch, uint32_t, count);
	for (uint64_t i = 0; i < count; i++)
		ints[i] = hob_load_u32(raw.data + i * 4);
	return ints;
}

/* Reads fields before 0.4: padding, token, value. */
static void plain_fields(hob_usd_crate *c, hob_usd_cursor *at)
{
	enum { SIZE = 16 };
	if (at->failed || c->field_count > (at->file.size - at->at) / SIZE)
		cut_off("FIELDS");
	hob_bytes raw = hob_usd_take_bytes(at, c->field_count * SIZE);
	c->field_tokens = HOB_NEW(c->u->scratch, uint32_t, c->field_count);
	c->field_values = HOB_NEW(c->u->scratch, uint64_t, c->field_count);
	for (uint64_t i = 0; i < c->field_count; i++) {
		c->field_tokens[i] = hob_load_u32(raw.data + i * SIZE + 4);
		c->field_values[i] = hob_load_u64(raw.data + i * SIZE + 8);
	}
}

static void packed_fields(hob_usd_crate *c, hob_usd_cursor *at_fields)
{
	size_t made;
	hob_usd_cursor at = *at_fields;
	c->field_tokens = (uint32_t *)hob_usd_unpack_ints(c, &at, c->field_count, 4);
	hob_bytes packed = hob_usd_take_bytes(&at, hob_usd_take_u64(&at));
	if (at.failed || !hob_usd_may_unpack(packed.size, c->field_count * 8))
		cut_off("FIELDS");
	c->field_values = HOB_NEW(c->u->scratch, uint64_t, c->field_count);
	size_t size = (size_t)c->field_count * 8;
	if (size > 0 && (!hob_usd_unpack(packed, (uint8_t *)c->field_values, size, &made) || made != size))
		hob_leave(CORRUPT, "the fields are damaged");
	for (uint64_t i = 0; i < c->field_count; i++)
		c->field_values[i] = hob_load_u64(&c->field_values[i]);
}

static void read_fields(hob_usd_crate *c)
{
	hob_usd_cursor at = find_section(c, "FIELDS");
	c->field_count = hob_usd_take_u64(&at);
	if (c->version < PACKED_SECTIONS)
		plain_fields(c, &at);
	else
		packed_fields(c, &at);
	at = find_section(c, "FIELDSETS");
	c->set_count = hob_usd_take_u64(&at);
	c->field_sets = (uint32_t *)section_ints(c, &at, c->set_count);
}

/* ---- paths */

typedef struct pending {
	uint32_t item, parent;
} pending_t;

typedef struct path_item {
	uint32_t path, token;
	int32_t jump;
	bool is_property;
} path_item_t;

/* Builds the paths from items in depth-first order. Jump > 0: offset of the next sibling, the child follows
 * the item; 0: no child, the sibling follows; -1: a child and no sibling; -2: neither. */
static void walk_paths(hob_usd_crate *c, const path_item_t *items, uint64_t count)
{
	pending_t *stack = NULL;
	uint32_t depth = 0, item = 0, parent = HOB_NONE;
	while (item < count) {
		uint32_t path = items[item].path, token = items[item].token;
		int32_t jump = items[item].jump;
		/* The root of the namespace has no name; ignores the stored one. */
		if (parent == HOB_NONE && item == 0)
			token = 0;
		if (path >= c->path_count || c->path_token[path] != HOB_NONE || token >= c->token_count || jump < -2)
			hob_leave(CORRUPT, "path %u is damaged", item);
		c->path_parent[path] = parent;
		c->path_token[path] = token;
		c->path_is_property[path] = items[item].is_property;
		c->path_order[c->ordered_count++] = path;
		bool has_child = jump > 0 || jump == -1;
		if (has_child && jump > 0)
			HOB_USD_PUT(c->u->scratch, stack, depth, (pending_t){item + (uint32_t)jump, parent});
		if (has_child) {
			parent = path;
			item++;
		} else if (jump == 0) {
			item++;
		} else if (depth > 0) {
			depth--;
			item = stack[depth].item;
			parent = stack[depth].parent;
		} else {
			return;
		}
	}
	if (count != 0)
		hob_leave(CORRUPT, "the paths lead out of their list");
}

_Noreturn static void too_many_paths(hob_usd_crate *c)
{
	hob_leave(CORRUPT, "%llu paths in a file of %zu bytes", (unsigned long long)c->path_count, c->file.size);
}

static path_item_t *packed_paths(hob_usd_crate *c, hob_usd_cursor *at, uint64_t *count)
{
	void *lists[3];
	*count = hob_usd_take_u64(at);
	if (at->failed || *count > c->path_count || !hob_usd_may_unpack(at->file.size, c->path_count / 4))
		too_many_paths(c);
	for (int i = 0; i < 3; i++)
		lists[i] = hob_usd_unpack_ints(c, at, *count, 4);
	path_item_t *items = HOB_NEW(c->u->scratch, path_item_t, *count);
	for (uint64_t i = 0; i < *count; i++) {
		int32_t element = ((const int32_t *)lists[1])[i];
		items[i] = (path_item_t){((const uint32_t *)lists[0])[i],
								 (uint32_t)(element < 0 ? -(int64_t)element : element),
								 ((const int32_t *)lists[2])[i], element < 0};
	}
	return items;
}

/* The item at a file offset, or HOB_NONE. */
static uint32_t item_at(const uint64_t *begins, uint32_t count, uint64_t offset)
{
	uint32_t low = 0;
	while (count > 0) {
		uint32_t half = count / 2;
		if (begins[low + half] < offset) {
			low += half + 1;
			count -= half + 1;
		} else {
			count = half;
		}
	}
	return begins[low] == offset ? low : HOB_NONE;
}

/* Reads paths before 0.4: path, token, flags (four bytes); with a child and a sibling, the sibling's
 * offset. */
static path_item_t *plain_paths(hob_usd_crate *c, hob_usd_cursor *at, uint64_t *count)
{
	enum { HAS_CHILD = 1, HAS_SIBLING = 2, IS_PROPERTY = 4, SIZE = 12 };
	const uint32_t padding = c->version < UNPADDED ? 4 : 0;
	uint64_t most = (at->file.size - at->at) / SIZE;
	if (at->failed || c->path_count > most)
		too_many_paths(c);
	path_item_t *items = HOB_NEW(c->u->scratch, path_item_t, c->path_count);
	/* The last entry is a sentinel, 0. */
	uint64_t *begins = HOB_NEW(c->u->scratch, uint64_t, c->path_count + 1),
			 *siblings = HOB_NEW(c->u->scratch, uint64_t, c->path_count);
	/* The tree's shape tells where it ends; items after its last one are not read. */
	uint32_t made = 0, open = 1;
	for (; made < c->path_count && open > 0; made++) {
		begins[made] = at->at;
		hob_usd_take_bytes(at, padding);
		path_item_t *item = &items[made];
		item->path = hob_usd_take_u32(at);
		item->token = hob_usd_take_u32(at);
		uint8_t flags = hob_usd_take_u8(at);
		hob_usd_take_bytes(at, 3);
		bool child = flags & HAS_CHILD, sibling = flags & HAS_SIBLING;
		item->is_property = flags & IS_PROPERTY;
		item->jump = child && sibling ? 1 : child ? -1 : sibling ? 0 : -2;
		siblings[made] = item->jump == 1 ? hob_usd_take_u64(at) : 0;
		if (at->failed)
			cut_off("PATHS");
		open += (uint32_t)child + (uint32_t)sibling;
		open--;
	}
	for (uint32_t i = 0; i < made; i++) {
		if (items[i].jump != 1)
			continue;
		uint32_t to = item_at(begins, made, siblings[i]);
		if (to == HOB_NONE || to <= i)
			hob_leave(CORRUPT, "path %u is damaged", i);
		items[i].jump = (int32_t)(to - i);
	}
	*count = made;
	return items;
}

static void read_paths(hob_usd_crate *c)
{
	uint64_t count;
	hob_arena *arena = c->u->scratch;
	hob_usd_cursor at = find_section(c, "PATHS");
	c->path_count = hob_usd_take_u64(&at);
	if (at.failed || c->path_count >= HOB_NONE / 2)
		too_many_paths(c);
	const path_item_t *items =
		c->version < PACKED_SECTIONS ? plain_paths(c, &at, &count) : packed_paths(c, &at, &count);
	c->path_parent = HOB_NEW(arena, uint32_t, c->path_count);
	c->path_token = HOB_NEW(arena, uint32_t, c->path_count);
	c->path_is_property = HOB_NEW(arena, bool, c->path_count);
	c->path_text = HOB_NEW(arena, hob_str, c->path_count);
	c->path_order = HOB_NEW(arena, uint32_t, c->path_count);
	memset(c->path_parent, 0xFF, (size_t)c->path_count * sizeof *c->path_parent);
	memset(c->path_token, 0xFF, (size_t)c->path_count * sizeof *c->path_token);
	walk_paths(c, items, count);
}

/* ---- specs */

static void read_spec_fields(hob_usd_crate *c, uint32_t spec, uint32_t first)
{
	for (uint64_t i = first; i < c->set_count && c->field_sets[i] != HOB_NONE; i++) {
		uint32_t field = c->field_sets[i];
		if (field >= c->field_count || c->field_tokens[field] >= c->token_count)
			hob_leave(CORRUPT, "field %u of %llu", field, (unsigned long long)c->field_count);
		uint64_t rep = c->field_values[field];
		uint32_t name = hob_usd_token(c->u, c->tokens[c->field_tokens[field]]);
		if (name == HOB_USD_T_specifier) {
			c->layer->specs[spec].specifier = hob_usd_crate_specifier(rep);
			continue;
		}
		HOB_PLACE("field '@'", 0, c->tokens[c->field_tokens[field]]);
		hob_usd_value value = hob_usd_crate_value(c, rep, 0);
		if (value.kind != HOB_USD_EMPTY)
			hob_usd_field_set(c->u, c->layer, spec, name, value);
	}
}

/* Joins sublayers and their offsets, two fields in a crate, into one list, as in the text format. */
static void join_sublayers(hob_usd_crate *c)
{
	const hob_usd_value *names = hob_usd_field_get(c->layer, 0, HOB_USD_T_subLayers);
	const hob_usd_value *offsets = hob_usd_field_get(c->layer, 0, HOB_USD_T_subLayerOffsets);
	if (!names || names->kind != HOB_USD_TEXT)
		return;
	hob_usd_list *list = HOB_NEW(c->u->scratch, hob_usd_list, 1);
	hob_usd_item *items = HOB_NEW(c->u->scratch, hob_usd_item, names->count);
	for (size_t i = 0; i < names->count; i++) {
		double offset = hob_usd_component(offsets, i * 2), scale = hob_usd_component(offsets, i * 2 + 1);
		bool given = offset - offset == 0 && scale - scale == 0;
		items[i] = (hob_usd_item){((const hob_str *)names->data)[i], HOB_STR(""), given ? offset : 0,
								  given ? scale : 1, 0};
	}
	list->is_explicit = true;
	list->items[HOB_USD_EXPLICIT] = items;
	list->count[HOB_USD_EXPLICIT] = (uint32_t)names->count;
	hob_usd_field_set(c->u, c->layer, 0, HOB_USD_T_subLayers,
					  (hob_usd_value){HOB_USD_LIST, false, 1, 1, list});
}

/* Sorts children, which are in the order of their paths, into the authored order of the prim. */
static void order_children(hob_usd_crate *c, uint32_t spec)
{
	const hob_usd_value *order = hob_usd_field_get(c->layer, spec, HOB_USD_T_primChildren);
	hob_usd_spec *specs = c->layer->specs;
	if (!order || order->kind != HOB_USD_TEXT)
		return;
	uint32_t first = HOB_NONE, last = HOB_NONE;
	for (size_t i = 0; i < order->count; i++) {
		uint32_t name = hob_usd_known(c->u, ((const hob_str *)order->data)[i]);
		uint32_t child = hob_usd_spec_find(c->layer, spec, HOB_USD_PRIM, name);
		/* parent == HOB_NONE marks a child already in the new list: a name may occur twice. */
		if (child == HOB_NONE || specs[child].kind != HOB_USD_PRIM || specs[child].parent != spec)
			continue;
		specs[child].parent = HOB_NONE;
		if (first == HOB_NONE)
			first = child;
		else
			specs[last].next = child;
		last = child;
	}
	if (first == HOB_NONE)
		return;
	specs[last].next = HOB_NONE;
	for (uint32_t s = first; s != HOB_NONE; s = specs[s].next)
		specs[s].parent = spec;
	specs[spec].first[HOB_USD_PRIM] = first;
	specs[spec].last[HOB_USD_PRIM] = last;
}

/* Adds the spec of a path, and its number to `ids`, if it has a parent and is of a known kind. */
static void add_spec(hob_usd_crate *c, uint32_t path, uint32_t type, uint32_t *ids)
{
	uint32_t parent = c->path_parent[path];
	if (type == ROOT)
		ids[path] = 0;
	if (type == ROOT || parent == HOB_NONE || ids[parent] == HOB_NONE ||
		(type != PRIM && type != ATTRIBUTE && type != RELATIONSHIP && type != VARIANT))
		return;
	hob_usd_spec_kind kind = type == PRIM	   ? HOB_USD_PRIM
							 : type == VARIANT ? HOB_USD_VARIANT
											   : HOB_USD_PROPERTY;
	uint32_t token = hob_usd_token(c->u, c->tokens[c->path_token[path]]);
	ids[path] = hob_usd_spec_add(c->u, c->layer, ids[parent], kind, token);
}

/* Reads specs before 0.4: path, set of fields and type in sequence. */
static void plain_specs(hob_usd_crate *c, hob_usd_cursor *at, uint64_t count, void *lists[3])
{
	const uint64_t padding = c->version < UNPADDED ? 4 : 0, size = 12 + padding;
	if (at->failed || count > (at->file.size - at->at) / size)
		cut_off("SPECS");
	hob_bytes raw = hob_usd_take_bytes(at, count * size);
	for (size_t k = 0; k < 3; k++) {
		uint32_t *list = HOB_NEW(c->u->scratch, uint32_t, count);
		for (uint64_t i = 0; i < count; i++)
			list[i] = hob_load_u32(raw.data + i * size + padding + k * 4);
		lists[k] = list;
	}
}

static void read_specs(hob_usd_crate *c)
{
	void *lists[3];
	hob_usd_cursor at = find_section(c, "SPECS");
	uint64_t count = hob_usd_take_u64(&at);
	if (c->version < PACKED_SECTIONS)
		plain_specs(c, &at, count, lists);
	for (int i = 0; i < 3 && c->version >= PACKED_SECTIONS; i++)
		lists[i] = hob_usd_unpack_ints(c, &at, count, 4);
	const uint32_t *paths = (const uint32_t *)lists[0], *sets = (const uint32_t *)lists[1],
				   *types = (const uint32_t *)lists[2];
	uint32_t *ids = HOB_NEW(c->u->scratch, uint32_t, c->path_count),
			 *spec_of = HOB_NEW(c->u->scratch, uint32_t, c->path_count);
	memset(ids, 0xFF, (size_t)c->path_count * sizeof *ids);
	memset(spec_of, 0xFF, (size_t)c->path_count * sizeof *spec_of);
	for (uint32_t i = 0; i < count; i++) {
		if (paths[i] >= c->path_count)
			hob_leave(CORRUPT, "spec %u is at path %u of %llu", i, paths[i],
					  (unsigned long long)c->path_count);
		spec_of[paths[i]] = i;
	}
	for (uint64_t i = 0; i < c->ordered_count; i++) {
		uint32_t path = c->path_order[i], spec = spec_of[path];
		if (spec == HOB_NONE)
			continue;
		add_spec(c, path, types[spec], ids);
		if (ids[path] != HOB_NONE)
			read_spec_fields(c, ids[path], sets[spec]);
	}
	for (uint32_t s = 0; s < c->layer->spec_count; s++)
		if (c->layer->specs[s].kind != HOB_USD_PROPERTY)
			order_children(c, s);
	join_sublayers(c);
}

void hob_usd_crate_read(hob_usd *u, hob_bytes file, hob_usd_layer *layer)
{
	hob_usd_crate c = {.u = u, .layer = layer, .file = file};
	if (file.size < HEAD_SIZE)
		cut_off("its head");
	const uint8_t *v = file.data + 8;
	c.version = v[0] * 10000u + v[1] * 100u + v[2];
	if (c.version < 1 || v[0] > 0)
		hob_leave(
			UNSUPPORTED,
			"a crate of version %u.%u.%u; Hob reads 0.0.1 and later: save it again with a current program",
			v[0], v[1], v[2]);
	hob_usd_layer_init(u, layer);
	read_tokens(&c);
	read_strings(&c);
	read_fields(&c);
	read_paths(&c);
	read_specs(&c);
}

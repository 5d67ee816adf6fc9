#include "usd_private.h"

/* ---- growing arrays, the map */

void *hob_usd_more(hob_arena *arena, void *items, uint32_t count, uint32_t *capacity, size_t size)
{
	if (count < *capacity)
		return items;
	uint32_t wanted = *capacity < 8 ? 8 : *capacity > UINT32_MAX / 2 ? UINT32_MAX : *capacity * 2;
	void *larger = wanted > count ? hob_arena_array(arena, wanted, size, 16) : NULL;
	if (!larger)
		return NULL;
	if (count > 0)
		memcpy(larger, items, count * size);
	*capacity = wanted;
	return larger;
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

static bool grow_map(hob_arena *arena, hob_usd_map *map)
{
	hob_usd_map larger = {.capacity = map->capacity > 0 ? map->capacity * 2 : 16, .count = map->count};
	larger.keys = HOB_NEW(arena, uint64_t, larger.capacity);
	larger.values = HOB_NEW(arena, uint32_t, larger.capacity);
	if (!larger.keys || !larger.values)
		return false;
	for (uint32_t i = 0; i < map->capacity; i++)
		if (map->keys[i] != 0) {
			uint32_t at = place_of(&larger, map->keys[i] - 1);
			larger.keys[at] = map->keys[i];
			larger.values[at] = map->values[i];
		}
	*map = larger;
	return true;
}

bool hob_usd_map_put(hob_arena *arena, hob_usd_map *map, uint64_t key, uint32_t value)
{
	if (map->count + 1 > map->capacity / 2 && !grow_map(arena, map))
		return false;
	uint32_t at = place_of(map, key);
	map->count += map->keys[at] == 0;
	map->keys[at] = key + 1;
	map->values[at] = value;
	return true;
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
	hob_str *tokens =
		(hob_str *)hob_usd_more(u->scratch, u->tokens, u->token_count, &u->token_capacity, sizeof *tokens);
	if (!tokens)
		return HOB_NONE;
	u->tokens = tokens;
	/* A copy, because the text may be freed: a package member may be unpacked only while it is read. */
	hob_str kept = hob_arena_str(u->scratch, text);
	if (!kept.data || !hob_name_map_add(&u->token_map, kept, u->token_count, NULL))
		return HOB_NONE;
	u->tokens[u->token_count] = kept;
	return u->token_count++;
}

bool hob_usd_start(hob_usd *u, const hob_import_request *request, hob_error *err)
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
		if (hob_usd_token(u, hob_str_of(words[i])) != i)
			return hob_fail_memory(err, u->scratch, "names");
	return true;
}

/* ---- the tree of specs */

static uint64_t child_key(uint32_t parent, hob_usd_spec_kind kind, uint32_t name)
{
	return (uint64_t)parent << 32 | (uint64_t)(name * 2 + (kind == HOB_USD_PROPERTY));
}

uint32_t hob_usd_spec_find(const hob_usd_layer *layer, uint32_t parent, hob_usd_spec_kind kind, uint32_t name)
{
	return hob_usd_map_get(&layer->children, child_key(parent, kind, name));
}

static bool append_spec(hob_usd *u, hob_usd_layer *layer, hob_usd_spec spec, hob_error *err)
{
	hob_usd_spec *specs = (hob_usd_spec *)hob_usd_more(u->scratch, layer->specs, layer->spec_count,
													   &layer->spec_capacity, sizeof *specs);
	if (!specs)
		return hob_fail_memory(err, u->scratch, "prims");
	layer->specs = specs;
	for (size_t k = 0; k < HOB_COUNT_OF(spec.first); k++)
		spec.first[k] = spec.last[k] = HOB_NONE;
	spec.next = spec.first_field = HOB_NONE;
	specs[layer->spec_count++] = spec;
	return true;
}

bool hob_usd_layer_init(hob_usd *u, hob_usd_layer *layer, hob_error *err)
{
	layer->spec_count = layer->field_count = 0;
	return append_spec(u, layer, (hob_usd_spec){.parent = HOB_NONE, .name = HOB_NONE}, err);
}

bool hob_usd_spec_add(hob_usd *u, hob_usd_layer *layer, uint32_t parent, hob_usd_spec_kind kind,
					  uint32_t name, uint32_t *out, hob_error *err)
{
	*out = hob_usd_spec_find(layer, parent, kind, name);
	if (*out != HOB_NONE)
		return true;
	*out = layer->spec_count;
	hob_usd_spec spec = {.parent = parent, .name = name, .kind = kind, .specifier = HOB_USD_OVER};
	if (name == HOB_NONE || !append_spec(u, layer, spec, err) ||
		!hob_usd_map_put(u->scratch, &layer->children, child_key(parent, kind, name), *out))
		return hob_fail_memory(err, u->scratch, "prims");
	hob_usd_spec *above = &layer->specs[parent];
	if (above->first[kind] == HOB_NONE)
		above->first[kind] = *out;
	else
		layer->specs[above->last[kind]].next = *out;
	above->last[kind] = *out;
	return true;
}

const hob_usd_value *hob_usd_field_get(const hob_usd_layer *layer, uint32_t spec, uint32_t name)
{
	for (uint32_t f = layer->specs[spec].first_field; f != HOB_NONE; f = layer->fields[f].next)
		if (layer->fields[f].name == name)
			return &layer->fields[f].value;
	return NULL;
}

bool hob_usd_field_set(hob_usd *u, hob_usd_layer *layer, uint32_t spec, uint32_t name, hob_usd_value value,
					   hob_error *err)
{
	for (uint32_t f = layer->specs[spec].first_field; f != HOB_NONE; f = layer->fields[f].next)
		if (layer->fields[f].name == name) {
			layer->fields[f].value = value;
			return true;
		}
	hob_usd_field *fields = (hob_usd_field *)hob_usd_more(u->scratch, layer->fields, layer->field_count,
														  &layer->field_capacity, sizeof *fields);
	if (!fields || name == HOB_NONE)
		return hob_fail_memory(err, u->scratch, "properties");
	layer->fields = fields;
	fields[layer->field_count] = (hob_usd_field){name, layer->specs[spec].first_field, value};
	layer->specs[spec].first_field = layer->field_count++;
	return true;
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

bool hob_usd_path_absolute(hob_usd *u, hob_str prim, hob_str path, hob_str *out, hob_error *err)
{
	if (path.len > 0 && path.data[0] == '/') {
		*out = hob_arena_str(u->scratch, path);
		return out->data || hob_fail_memory(err, u->scratch, "a path");
	}
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
	*out = hob_arena_printf(u->scratch, "%.*s%s%.*s", HOB_FMT(base),
							is_name || base.len + rest.len == 0 ? "/" : "", HOB_FMT(rest));
	return out->data || hob_fail_memory(err, u->scratch, "a path");
}

#include "usd_private.h"

#include "../../base/text_order.h"

#include <math.h>
#include <stdlib.h>

/* ---- values */

double hob_usd_component(const hob_usd_value *value, size_t at)
{
	if (!value || at >= value->count * value->width)
		return NAN;
	switch (value->kind) {
	case HOB_USD_F32:
		return (double)((const float *)value->data)[at];
	case HOB_USD_F64:
		return ((const double *)value->data)[at];
	case HOB_USD_I32:
		return ((const int32_t *)value->data)[at];
	default:
		return NAN;
	}
}

double hob_usd_number(const hob_usd_value *value, double fallback)
{
	double number = hob_usd_component(value, 0);
	return number - number == 0 ? number : fallback;
}

hob_str hob_usd_text(const hob_usd_value *value)
{
	return value && value->kind == HOB_USD_TEXT && value->count > 0 ? *(const hob_str *)value->data
																	: HOB_STR("");
}

const hob_usd_value *hob_usd_entry_of(const hob_usd_value *dictionary, hob_str key)
{
	bool known = dictionary && dictionary->kind == HOB_USD_DICTIONARY;
	const hob_usd_entry *entries = known ? (const hob_usd_entry *)dictionary->data : NULL;
	for (size_t i = 0; known && i < dictionary->count; i++)
		if (hob_str_equal(entries[i].key, key))
			return &entries[i].value;
	return NULL;
}

const float *hob_usd_floats(hob_usd *u, const hob_usd_value *value, uint32_t width, size_t *count)
{
	*count = 0;
	if (!value || value->width != width || value->kind < HOB_USD_F32 || value->kind > HOB_USD_I32 ||
		value->count == 0)
		return NULL;
	*count = value->count;
	if (value->kind == HOB_USD_F32)
		return value->data;
	float *floats = HOB_NEW(u->scratch, float, value->count *width);
	for (size_t i = 0; i < value->count * width; i++)
		floats[i] = (float)hob_usd_component(value, i);
	return floats;
}

size_t hob_usd_time_before(const double *times, size_t stride, size_t count, double time)
{
	size_t low = 0, high = count;
	while (high - low > 1) {
		size_t middle = (low + high) / 2;
		if (times[middle * stride] <= time)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* ---- queries */

uint32_t hob_usd_prim_at(const hob_usd *u, hob_str path)
{
	return path.len > 1 ? hob_name_map_get(&u->prim_map, path) : HOB_NONE;
}

bool hob_usd_get(const hob_usd *u, const hob_usd_prim *prim, hob_str name, hob_usd_attribute *out)
{
	uint32_t token = hob_usd_known(u, name);
	*out = (hob_usd_attribute){.scale = 1};
	if (token == HOB_NONE)
		return false;
	for (uint32_t i = 0; i < prim->order_count; i++) {
		const hob_usd_site *site = &prim->sites[prim->order[i]];
		const hob_usd_stack *stack = &u->stacks[site->stack];
		for (uint32_t k = 0; k < stack->layer_count; k++) {
			const hob_usd_layer *layer = &u->layers[stack->layers[k]];
			uint32_t spec = hob_usd_spec_find(layer, site->specs[k], HOB_USD_PROPERTY, token);
			const hob_usd_value *value = hob_usd_field_get(layer, spec, HOB_USD_T_default_value);
			const hob_usd_value *samples = hob_usd_field_get(layer, spec, HOB_USD_T_timeSamples);
			if (samples && samples->kind == HOB_USD_SAMPLES &&
				((const hob_usd_samples *)samples->data)->count > 0)
				out->samples = out->samples ? out->samples : (const hob_usd_samples *)samples->data;
			if (!value && !out->samples)
				continue;
			if (!out->site) {
				double offset = stack->offset[k], scale = stack->scale[k];
				for (const hob_usd_site *s = site; s->parent != HOB_NONE; s = &prim->sites[s->parent]) {
					offset = s->offset + s->scale * offset;
					scale *= s->scale;
				}
				*out = (hob_usd_attribute){NULL, out->samples, offset, scale, stack->layers[k], site};
			}
			if (!value)
				continue;
			if (value->kind == HOB_USD_BLOCK)
				return out->samples != NULL;
			out->value = value;
			return true;
		}
	}
	return out->samples != NULL;
}

const hob_usd_value *hob_usd_still(const hob_usd *u, const hob_usd_prim *prim, hob_str name)
{
	hob_usd_attribute attribute;
	if (!hob_usd_get(u, prim, name, &attribute))
		return NULL;
	const hob_usd_samples *s = attribute.samples;
	size_t first =
		s && u->has_range && attribute.scale != 0
			? hob_usd_time_before(s->times, 1, s->count, (u->start - attribute.offset) / attribute.scale)
			: 0;
	for (size_t i = first; s && i < s->count; i++)
		if (s->values[i].kind != HOB_USD_BLOCK && (s->values[i].count > 0 || i + 1 == s->count))
			return &s->values[i];
	return attribute.value;
}

const hob_usd_value *hob_usd_meta(const hob_usd *u, const hob_usd_prim *prim, hob_str property,
								  uint32_t field)
{
	uint32_t token = property.len > 0 ? hob_usd_known(u, property) : 0;
	for (uint32_t i = 0; token != HOB_NONE && i < prim->order_count; i++) {
		const hob_usd_site *site = &prim->sites[prim->order[i]];
		const hob_usd_stack *stack = &u->stacks[site->stack];
		for (uint32_t k = 0; k < stack->layer_count; k++) {
			const hob_usd_layer *layer = &u->layers[stack->layers[k]];
			uint32_t spec = property.len > 0
								? hob_usd_spec_find(layer, site->specs[k], HOB_USD_PROPERTY, token)
								: site->specs[k];
			const hob_usd_value *value = hob_usd_field_get(layer, spec, field);
			if (value)
				return value;
		}
	}
	return NULL;
}

static int word_byte(hob_str s, size_t i)
{
	int c = (unsigned char)s.data[i];
	return c >= 'A' && c <= 'Z' ? c + 'a' - 'A' : c;
}

static size_t digits_at(hob_str s, size_t i)
{
	size_t end = i;
	while (end < s.len && s.data[end] >= '0' && s.data[end] <= '9')
		end++;
	return end - i;
}

/* Dictionary order: case-insensitive, numbers by value. Source: TfDictionaryLessThan. */
static int order_of(const void *left, const void *right)
{
	hob_str a = *(const hob_str *)left, b = *(const hob_str *)right;
	size_t i = 0, k = 0;
	while (i < a.len && k < b.len) {
		size_t n = digits_at(a, i), m = digits_at(b, k);
		if (n == 0 || m == 0) {
			int difference = word_byte(a, i++) - word_byte(b, k++);
			if (difference != 0)
				return difference;
			continue;
		}
		for (; n > 1 && a.data[i] == '0'; n--)
			i++;
		for (; m > 1 && b.data[k] == '0'; m--)
			k++;
		int difference = n != m ? (n > m ? 1 : -1) : memcmp(a.data + i, b.data + k, n);
		if (difference != 0)
			return difference;
		i += n;
		k += m;
	}
	if (a.len - i != b.len - k)
		return a.len - i > b.len - k ? 1 : -1;
	return hob_str_compare(a, b);
}

hob_str *hob_usd_properties(hob_usd *u, const hob_usd_prim *prim, hob_str prefix, uint32_t *count)
{
	hob_str *out = NULL;
	*count = 0;
	for (uint32_t i = 0; i < prim->order_count; i++) {
		const hob_usd_site *site = &prim->sites[prim->order[i]];
		const hob_usd_stack *stack = &u->stacks[site->stack];
		for (uint32_t k = 0; k < stack->layer_count; k++) {
			const hob_usd_layer *layer = &u->layers[stack->layers[k]];
			uint32_t spec =
				site->specs[k] == HOB_NONE ? HOB_NONE : layer->specs[site->specs[k]].first[HOB_USD_PROPERTY];
			for (; spec != HOB_NONE; spec = layer->specs[spec].next) {
				hob_str name = u->tokens[layer->specs[spec].name];
				if (hob_str_starts(name, prefix) && hob_usd_index(out, *count, name) == HOB_NONE)
					HOB_USD_PUT(u->scratch, out, *count, name);
			}
		}
	}
	if (*count > 1)
		qsort(out, *count, sizeof *out, order_of);
	return out;
}

/* Notes a target that the arc does not map into the stage, once per path. */
static void note_outside(hob_usd *u, const hob_usd_prim *prim, hob_str property, hob_str path)
{
	hob_str key = hob_arena_printf(u->scratch, "outside %.*s.%.*s %.*s", HOB_FMT(prim->path),
								   HOB_FMT(property), HOB_FMT(path));
	if (hob_usd_known(u, key) != HOB_NONE)
		return;
	hob_usd_note(
		u, "target-outside",
		"'%.*s' of prim '%.*s' leads to '%.*s', which the reference or payload does not bring along; "
		"that target is ignored, as in OpenUSD",
		HOB_FMT(property), HOB_FMT(prim->path), HOB_FMT(path));
	hob_usd_token(u, key);
}

static void map_items(hob_usd *u, const hob_usd_prim *prim, uint32_t site, hob_str property, uint32_t count,
					  hob_usd_item **items)
{
	hob_usd_item *mapped = HOB_NEW(u->scratch, hob_usd_item, count);
	for (uint32_t i = 0; i < count; i++) {
		hob_str path = (*items)[i].path;
		mapped[i].path = hob_usd_path_map(u, prim->sites, site, path);
		if (mapped[i].path.len == 0 && path.len > 0)
			note_outside(u, prim, property, path);
	}
	*items = mapped;
}

/* Merges the list opinions of a field into *items, weakest first; `map`: with paths mapped into the stage. */
static void merge_lists(hob_usd *u, const hob_usd_prim *prim, hob_str property, uint32_t field, bool map,
						hob_usd_item **items, uint32_t *count)
{
	uint32_t token = property.len > 0 ? hob_usd_known(u, property) : 0;
	*items = NULL;
	*count = 0;
	for (uint32_t i = prim->order_count; token != HOB_NONE && i-- > 0;) {
		uint32_t id = prim->order[i];
		const hob_usd_site *site = &prim->sites[id];
		const hob_usd_stack *stack = &u->stacks[site->stack];
		for (uint32_t k = stack->layer_count; k-- > 0;) {
			const hob_usd_layer *layer = &u->layers[stack->layers[k]];
			uint32_t spec = property.len > 0
								? hob_usd_spec_find(layer, site->specs[k], HOB_USD_PROPERTY, token)
								: site->specs[k];
			const hob_usd_value *value = hob_usd_field_get(layer, spec, field);
			if (!value || value->kind != HOB_USD_LIST)
				continue;
			hob_usd_list list = *(const hob_usd_list *)value->data;
			for (uint32_t op = 0; map && op < HOB_USD_OPS; op++)
				map_items(u, prim, id, property, list.count[op], &list.items[op]);
			hob_usd_list_apply(u, &list, 0, items, count);
		}
	}
}

hob_str *hob_usd_targets(hob_usd *u, const hob_usd_prim *prim, hob_str name, uint32_t field, uint32_t *count)
{
	hob_usd_item *items;
	uint32_t all;
	merge_lists(u, prim, name, field, true, &items, &all);
	hob_str *out = HOB_NEW(u->scratch, hob_str, all);
	*count = 0;
	for (uint32_t i = 0; i < all; i++)
		if (items[i].path.len > 0)
			out[(*count)++] = items[i].path;
	return out;
}

/* ---- composing all prims */

typedef struct names {
	hob_arena arena; /* released with the names: a prim may have a million children */
	uint32_t *items, count;
	hob_usd_map seen;
} names_t;

static void put_name(names_t *n, uint32_t name)
{
	if (hob_usd_map_get(&n->seen, name) != HOB_NONE)
		return;
	hob_usd_map_put(&n->arena, &n->seen, name, n->count);
	HOB_USD_PUT(&n->arena, n->items, n->count, name);
}

/* Sorts the listed names into the list's order; each keeps the unlisted names that follow it. */
static void reorder(hob_usd *u, names_t *n, const hob_usd_value *order)
{
	hob_usd_map rank = {0};
	uint32_t *next = HOB_NEW(&n->arena, uint32_t, n->count), made = 0;
	for (uint32_t i = 0; i < order->count; i++) {
		uint32_t token = hob_usd_known(u, ((const hob_str *)order->data)[i]);
		if (token != HOB_NONE && hob_usd_map_get(&n->seen, token) != HOB_NONE &&
			hob_usd_map_get(&rank, token) == HOB_NONE)
			hob_usd_map_put(&n->arena, &rank, token, i);
	}
	for (uint32_t i = 0; i < n->count && hob_usd_map_get(&rank, n->items[i]) == HOB_NONE; i++)
		next[made++] = n->items[i];
	for (uint32_t i = 0; i < order->count; i++) {
		uint32_t token = hob_usd_known(u, ((const hob_str *)order->data)[i]);
		if (token == HOB_NONE || hob_usd_map_get(&rank, token) != i)
			continue;
		uint32_t at = hob_usd_map_get(&n->seen, token);
		do
			next[made++] = n->items[at++];
		while (at < n->count && hob_usd_map_get(&rank, n->items[at]) == HOB_NONE);
	}
	if (n->count > 0)
		memcpy(n->items, next, n->count * sizeof *next);
	n->seen = (hob_usd_map){0};
	for (uint32_t i = 0; i < n->count; i++)
		hob_usd_map_put(&n->arena, &n->seen, next[i], i);
}

/* Whether the child is relocated away by its own stack or an outer one. */
static bool is_moved(hob_usd *u, const hob_usd_prim *prim, const hob_usd_site *site, uint32_t name)
{
	for (const hob_usd_site *s = site;; s = &prim->sites[s->parent]) {
		const hob_usd_stack *stack = &u->stacks[s->stack];
		hob_str path = stack->move_count > 0 ? hob_usd_path_child(u, s->path, u->tokens[name]) : HOB_STR("");
		if (path.len > 0 && hob_usd_index(stack->move_from, stack->move_count, path) != HOB_NONE)
			return true;
		if (s->parent == HOB_NONE)
			return false;
	}
}

static void moved_names(hob_usd *u, const hob_usd_site *site, names_t *out)
{
	const hob_usd_stack *stack = &u->stacks[site->stack];
	for (uint32_t i = 0; i < stack->move_count; i++) {
		hob_str to = stack->move_to[i], above = hob_path_dir(to);
		if (to.len == 0 || !hob_str_equal(above.len > 0 ? above : HOB_STR("/"), site->path))
			continue;
		put_name(out, hob_usd_token(u, hob_path_name(to)));
	}
}

static void child_names(hob_usd *u, const hob_usd_prim *prim, names_t *out)
{
	for (uint32_t i = prim->order_count; i-- > 0;) {
		const hob_usd_site *site = &prim->sites[prim->order[i]];
		const hob_usd_stack *stack = &u->stacks[site->stack];
		if (prim->instance && !hob_usd_is_direct(prim->sites, prim->order[i]))
			continue;
		moved_names(u, site, out);
		for (uint32_t k = stack->layer_count; k-- > 0;) {
			const hob_usd_layer *layer = &u->layers[stack->layers[k]];
			if (site->specs[k] == HOB_NONE)
				continue;
			for (uint32_t s = layer->specs[site->specs[k]].first[HOB_USD_PRIM]; s != HOB_NONE;
				 s = layer->specs[s].next)
				if (!is_moved(u, prim, site, layer->specs[s].name))
					put_name(out, layer->specs[s].name);
			const hob_usd_value *order = hob_usd_field_get(layer, site->specs[k], HOB_USD_T_primOrder);
			if (order && order->kind == HOB_USD_TEXT)
				reorder(u, out, order);
		}
	}
}

/* Sets the specifier: the strongest `def` or `class`. A class that the prim inherits counts only without any
 * other, so that inheriting does not make a prim abstract. */
static void find_specifier(const hob_usd *u, hob_usd_prim *prim)
{
	hob_usd_specifier found = HOB_USD_OVER;
	for (uint32_t i = 0; i < prim->order_count; i++) {
		const hob_usd_site *site = &prim->sites[prim->order[i]];
		bool is_inherited = false;
		for (const hob_usd_site *s = site; s->parent != HOB_NONE; s = &prim->sites[s->parent])
			is_inherited =
				is_inherited || (s->arc == HOB_USD_INHERIT && s->from_depth == prim->sites[s->parent].depth);
		for (uint32_t k = 0; k < u->stacks[site->stack].layer_count; k++) {
			if (site->specs[k] == HOB_NONE)
				continue;
			hob_usd_specifier specifier =
				u->layers[u->stacks[site->stack].layers[k]].specs[site->specs[k]].specifier;
			bool is_weak = specifier == HOB_USD_CLASS && is_inherited;
			if (specifier == HOB_USD_OVER || (is_weak && found != HOB_USD_OVER))
				continue;
			found = specifier;
			if (!is_weak) {
				prim->defined = true;
				prim->abstract = found == HOB_USD_CLASS;
				return;
			}
		}
	}
	prim->defined = prim->abstract = found == HOB_USD_CLASS;
}

/* Types of OpenUSD's own schemas; others belong to applications. */
static bool is_known_type(hob_str type)
{
	return hob_text_is_one_of(
		type,
		HOB_WORDS("Xform", "Scope", "Mesh", "Cube", "Sphere", "Cylinder", "Cylinder_1", "Capsule",
				  "Capsule_1", "Cone", "Plane", "Points", "BasisCurves", "NurbsCurves", "NurbsPatch",
				  "HermiteCurves", "TetMesh", "Volume", "PointInstancer", "GeomSubset", "Camera", "Material",
				  "Shader", "NodeGraph", "Skeleton", "SkelRoot", "SkelAnimation", "BlendShape", "DomeLight",
				  "DomeLight_1", "DistantLight", "SphereLight", "RectLight", "DiskLight", "CylinderLight",
				  "GeometryLight", "PortalLight", "LightFilter", "PluginLight", "RenderSettings",
				  "RenderProduct", "RenderVar", "PhysicsScene", "OpenVDBAsset", "Field3DAsset", ""));
}

/* Replaces an application's own type by the first known type of its entry in the root layer's
 * fallbackPrimTypes; other types, and those without an entry, stay. */
static hob_str usual_type(const hob_usd *u, hob_str type)
{
	if (is_known_type(type))
		return type;
	const hob_usd_value *all = hob_usd_field_get(&u->layers[0], 0, HOB_USD_T_fallbackPrimTypes),
						*names = hob_usd_entry_of(all, type);
	for (size_t k = 0; names && names->kind == HOB_USD_TEXT && k < names->count; k++)
		if (is_known_type(((const hob_str *)names->data)[k]))
			return ((const hob_str *)names->data)[k];
	return type;
}

static bool has_arcs(const hob_usd_prim *prim)
{
	for (uint32_t i = 0; i < prim->order_count; i++)
		if (hob_usd_is_direct(prim->sites, prim->order[i]))
			return true;
	return false;
}

static void order_sites(hob_usd *u, const hob_usd_tree *tree, hob_usd_prim *prim)
{
	hob_arena_mark mark = hob_arena_save(&u->passing);
	const uint32_t *order = hob_usd_tree_order(u, tree, &u->passing, &prim->order_count);
	prim->order = HOB_NEW(u->scratch, uint32_t, prim->order_count);
	memcpy(prim->order, order, prim->order_count * sizeof *order);
	hob_arena_restore(&u->passing, mark);
}

static uint32_t add_prim(hob_usd *u, uint32_t parent, uint32_t name, hob_usd_tree tree)
{
	if (u->prim_count >= HOB_LIMIT_USD_PRIMS)
		hob_leave(LIMIT, "the stage has more than %llu prims, with those of all references",
				  HOB_LIMIT_USD_PRIMS);
	HOB_USD_ROOM(u->scratch, u->prims, u->prim_count);
	hob_usd_prim *prims = u->prims, prim = {.name = name, .parent = parent, .node = HOB_NONE};
	prim.first_child = prim.last_child = prim.next = HOB_NONE;
	prim.site_count = tree.count;
	prim.sites = tree.sites;
	prim.path =
		parent == HOB_NONE ? HOB_STR("/") : hob_usd_path_child(u, prims[parent].path, u->tokens[name]);
	order_sites(u, &tree, &prim);
	find_specifier(u, &prim);
	prim.type = usual_type(u, hob_usd_text(hob_usd_meta(u, &prim, HOB_STR(""), HOB_USD_T_typeName)));
	if (parent != HOB_NONE) {
		if (hob_usd_number(hob_usd_meta(u, &prim, HOB_STR(""), HOB_USD_T_active), 1) == 0)
			return HOB_NONE;
		prim.instance = hob_usd_number(hob_usd_meta(u, &prim, HOB_STR(""), HOB_USD_T_instanceable), 0) != 0 &&
						has_arcs(&prim);
	} else {
		prim.defined = true;
	}
	hob_name_map_add(&u->prim_map, prim.path, u->prim_count);
	uint32_t id = u->prim_count++;
	prims[id] = prim;
	if (parent != HOB_NONE) {
		hob_usd_prim *above = &prims[parent];
		if (above->first_child == HOB_NONE)
			above->first_child = id;
		else
			prims[above->last_child].next = id;
		above->last_child = id;
	}
	return id;
}

static void compose_children(hob_usd *u, uint32_t id, uint32_t depth);

static void compose_named(hob_usd *u, uint32_t id, const names_t *names, uint32_t depth)
{
	const hob_usd_prim parent = u->prims[id];
	hob_usd_tree above = {.sites = parent.sites, .count = parent.site_count};
	for (uint32_t i = 0; i < names->count; i++) {
		hob_usd_tree tree = hob_usd_tree_child(u, &above, names->items[i], !parent.instance);
		uint32_t child = add_prim(u, id, names->items[i], tree);
		if (child != HOB_NONE)
			compose_children(u, child, depth + 1);
	}
}

static void compose_children(hob_usd *u, uint32_t id, uint32_t depth)
{
	if (depth > HOB_LIMIT_USD_NESTING)
		hob_leave(LIMIT, "the stage nests prims more than %llu levels deep", HOB_LIMIT_USD_NESTING);
	hob_usd_prim parent = u->prims[id];
	names_t names = {0};
	hob_arena_init(&names.arena, u->scratch->limit);
	child_names(u, &parent, &names);
	compose_named(u, id, &names, depth);
	hob_arena_release(&names.arena);
}

static double stage_number(const hob_usd *u, uint32_t layer, uint32_t field, double fallback)
{
	return hob_usd_number(hob_usd_field_get(&u->layers[layer], 0, field), fallback);
}

static void read_settings(hob_usd *u, uint32_t layer)
{
	hob_str axis = hob_usd_text(hob_usd_field_get(&u->layers[layer], 0, HOB_USD_T_upAxis));
	u->z_up = hob_str_equal(axis, HOB_STR("Z"));
	if (axis.len > 0 && !u->z_up && !hob_str_equal(axis, HOB_STR("Y")))
		hob_usd_note(u, "up-axis", "upAxis is '%.*s'; Y is taken", HOB_FMT(axis));
	u->meters = stage_number(u, layer, HOB_USD_T_metersPerUnit, 0.01);
	if (!(u->meters > 1e-9) || u->meters > 1e9) {
		hob_usd_note(u, "unit", "metersPerUnit is %g; 0.01 is taken", u->meters);
		u->meters = 0.01;
	}
	u->start = stage_number(u, layer, HOB_USD_T_startTimeCode, 0);
	u->end = stage_number(u, layer, HOB_USD_T_endTimeCode, 0);
	u->has_range = hob_usd_field_get(&u->layers[layer], 0, HOB_USD_T_startTimeCode) != NULL;
}

void hob_usd_stage_compose(hob_usd *u, uint32_t layer)
{
	uint32_t stack, root;
	stack = hob_usd_stack_open(u, layer, HOB_NONE);
	hob_usd_tree tree = hob_usd_tree_root(u, stack);
	u->rate = u->stacks[stack].rate;
	read_settings(u, layer);
	root = add_prim(u, HOB_NONE, HOB_NONE, tree);
	compose_children(u, root, 1);
}

#include "usd_private.h"

typedef struct gather {
	hob_usd *u;
	hob_usd_stack stack;
	uint32_t capacity[3];
	uint32_t open[64];
	uint32_t depth;
	hob_error *err;
} gather_t;

static double field_number(const hob_usd *u, uint32_t layer, uint32_t field, double fallback)
{
	return hob_usd_number(hob_usd_field_get(&u->layers[layer], 0, field), fallback);
}

double hob_usd_rate(const hob_usd *u, uint32_t layer)
{
	double rate = field_number(u, layer, HOB_USD_T_timeCodesPerSecond, 0);
	if (!(rate > 0))
		rate = field_number(u, layer, HOB_USD_T_framesPerSecond, 24);
	return rate > 0 && rate - rate == 0 ? rate : 24;
}

static bool add_layer(gather_t *g, uint32_t layer, double offset, double scale)
{
	hob_usd_stack *s = &g->stack;
	hob_arena *arena = g->u->scratch;
	s->layers =
		(uint32_t *)hob_usd_more(arena, s->layers, s->layer_count, &g->capacity[0], sizeof *s->layers);
	s->offset = (double *)hob_usd_more(arena, s->offset, s->layer_count, &g->capacity[1], sizeof *s->offset);
	s->scale = (double *)hob_usd_more(arena, s->scale, s->layer_count, &g->capacity[2], sizeof *s->scale);
	if (!s->layers || !s->offset || !s->scale)
		return hob_fail_memory(g->err, arena, "layers");
	if (s->layer_count >= HOB_LIMIT_USD_LAYERS)
		return hob_fail(g->err, LIMIT, "more than %llu sublayers", HOB_LIMIT_USD_LAYERS);
	s->layers[s->layer_count] = layer;
	s->offset[s->layer_count] = offset;
	s->scale[s->layer_count++] = scale;
	return true;
}

static bool gather(gather_t *g, uint32_t layer, double offset, double scale)
{
	hob_usd *u = g->u;
	for (uint32_t i = 0; i < g->depth; i++)
		if (g->open[i] == layer) {
			hob_usd_note(u, "cycle", "layer '%.*s' is a sublayer of itself; the inner one is left out",
						 HOB_FMT(u->layers[layer].id));
			return true;
		}
	if (g->depth >= HOB_LIMIT_USD_STACK)
		return hob_fail(g->err, LIMIT, "sublayers in sublayers: more than %llu levels", HOB_LIMIT_USD_STACK);
	if (!add_layer(g, layer, offset, scale))
		return false;
	g->open[g->depth++] = layer;
	const hob_usd_value *value = hob_usd_field_get(&u->layers[layer], 0, HOB_USD_T_subLayers);
	const hob_usd_list *list =
		value && value->kind == HOB_USD_LIST ? (const hob_usd_list *)value->data : NULL;
	for (uint32_t i = 0; list && i < list->count[HOB_USD_EXPLICIT]; i++) {
		hob_usd_item item = list->items[HOB_USD_EXPLICIT][i];
		uint32_t sub = HOB_NONE;
		hob_str asset = item.asset.len > 0 ? item.asset : item.path;
		if (!hob_usd_expression(u, g->stack.variables, asset, &asset, g->err) ||
			(asset.len > 0 && !hob_usd_layer_open(u, layer, asset, &sub, g->err)))
			return false;
		if (sub == HOB_NONE)
			continue;
		double ratio = hob_usd_rate(u, layer) / hob_usd_rate(u, sub) * item.scale;
		if (!gather(g, sub, offset + scale * item.offset, scale * ratio))
			return false;
	}
	g->depth--;
	return true;
}

/* ---- relocates */

/* Whether a relocation is valid: not of a root prim, and neither path contains the other. */
static bool can_move(hob_str from, hob_str to)
{
	return from.len > 1 && hob_str_find(from, HOB_STR("/"), 1) != SIZE_MAX &&
		   (to.len == 0 || (!hob_usd_path_below(to, from) && !hob_usd_path_below(from, to) && to.len > 1));
}

/* Collects the relocations; the strongest layer decides for each prim. */
static bool gather_moves(gather_t *g)
{
	hob_usd_stack *s = &g->stack;
	uint32_t room[2] = {0};
	for (uint32_t i = 0; i < s->layer_count; i++) {
		const hob_usd_value *value =
			hob_usd_field_get(&g->u->layers[s->layers[i]], 0, HOB_USD_T_layerRelocates);
		const hob_str *paths = value && value->kind == HOB_USD_TEXT ? (const hob_str *)value->data : NULL;
		for (size_t k = 0; paths && k + 1 < value->count; k += 2) {
			/* Crates write the root for an empty path. */
			hob_str from = paths[k], to = paths[k + 1].len > 1 ? paths[k + 1] : HOB_STR("");
			if (!can_move(from, to)) {
				hob_usd_note(g->u, "relocates", "layer '%.*s' cannot move '%.*s' to '%.*s'",
							 HOB_FMT(g->u->layers[s->layers[i]].id), HOB_FMT(from), HOB_FMT(to));
				continue;
			}
			if (hob_usd_move_from(s, from) != HOB_NONE)
				continue;
			if (s->move_count >= HOB_LIMIT_USD_MOVES)
				return hob_fail(g->err, LIMIT, "more than %llu relocates", HOB_LIMIT_USD_MOVES);
			s->move_from = (hob_str *)hob_usd_more(g->u->scratch, s->move_from, s->move_count, &room[0],
												   sizeof *s->move_from);
			s->move_to = (hob_str *)hob_usd_more(g->u->scratch, s->move_to, s->move_count, &room[1],
												 sizeof *s->move_to);
			if (!s->move_from || !s->move_to)
				return hob_fail_memory(g->err, g->u->scratch, "relocates");
			s->move_from[s->move_count] = from;
			s->move_to[s->move_count++] = to;
		}
	}
	return true;
}

bool hob_usd_stack_open(hob_usd *u, uint32_t layer, uint32_t outer, uint32_t *out, hob_error *err)
{
	gather_t g = {.u = u, .err = err, .stack.rate = hob_usd_rate(u, layer)};
	hob_str key = hob_arena_printf(u->scratch, "%u?%u", layer, outer);
	if (!key.data)
		return hob_fail_memory(err, u->scratch, "layers");
	*out = hob_name_map_get(&u->stack_map, key);
	if (*out != HOB_NONE)
		return true;
	if (!hob_usd_variables_open(u, layer, outer, &g.stack.variables, err))
		return false;
	if (!gather(&g, layer, 0, 1) || !gather_moves(&g))
		return false;
	hob_usd_stack *stacks = (hob_usd_stack *)hob_usd_more(u->scratch, u->stacks, u->stack_count,
														  &u->stack_capacity, sizeof *stacks);
	if (!stacks || !hob_name_map_add(&u->stack_map, key, u->stack_count, NULL))
		return hob_fail_memory(err, u->scratch, "layers");
	u->stacks = stacks;
	stacks[u->stack_count] = g.stack;
	*out = u->stack_count++;
	return true;
}

/* ---- lists */

typedef struct chosen {
	hob_usd *u;
	hob_usd_item *items;
	uint32_t *froms, count, item_room, from_room;
	hob_error *err;
} chosen_t;

static bool same_item(const hob_usd_item *a, const hob_usd_item *b)
{
	return hob_str_equal(a->asset, b->asset) && hob_str_equal(a->path, b->path);
}

static uint32_t find_item(const chosen_t *c, const hob_usd_item *item)
{
	for (uint32_t i = 0; i < c->count; i++)
		if (same_item(&c->items[i], item))
			return i;
	return HOB_NONE;
}

static void remove_at(chosen_t *c, uint32_t at)
{
	memmove(c->items + at, c->items + at + 1, (c->count - at - 1) * sizeof *c->items);
	memmove(c->froms + at, c->froms + at + 1, (c->count - at - 1) * sizeof *c->froms);
	c->count--;
}

static bool insert_at(chosen_t *c, uint32_t at, const hob_usd_item *item, uint32_t from)
{
	c->items =
		(hob_usd_item *)hob_usd_more(c->u->scratch, c->items, c->count, &c->item_room, sizeof *c->items);
	c->froms = (uint32_t *)hob_usd_more(c->u->scratch, c->froms, c->count, &c->from_room, sizeof *c->froms);
	if (!c->items || !c->froms)
		return hob_fail_memory(c->err, c->u->scratch, "a list");
	memmove(c->items + at + 1, c->items + at, (c->count - at) * sizeof *c->items);
	memmove(c->froms + at + 1, c->froms + at, (c->count - at) * sizeof *c->froms);
	c->items[at] = *item;
	c->froms[at] = from;
	c->count++;
	return true;
}

static bool apply_op(chosen_t *c, const hob_usd_list *list, hob_usd_op op, uint32_t from)
{
	uint32_t count = list->count[op];
	if ((uint64_t)c->count + count > HOB_LIMIT_USD_LIST)
		return hob_fail(c->err, LIMIT, "a list of %u items; at most %llu are allowed", count,
						HOB_LIMIT_USD_LIST);
	for (uint32_t i = 0; i < count; i++) {
		/* Prepended items are inserted in reverse order. */
		const hob_usd_item *item = &list->items[op][op == HOB_USD_PREPEND ? count - 1 - i : i];
		uint32_t at = find_item(c, item);
		if (op == HOB_USD_ADD || op == HOB_USD_EXPLICIT) {
			if (at == HOB_NONE && !insert_at(c, c->count, item, from))
				return false;
			continue;
		}
		if (at != HOB_NONE)
			remove_at(c, at);
		if (op == HOB_USD_PREPEND && !insert_at(c, 0, item, from))
			return false;
		if (op == HOB_USD_APPEND && !insert_at(c, c->count, item, from))
			return false;
	}
	return true;
}

static bool is_ordered(const hob_usd_list *list, const hob_usd_item *item)
{
	for (uint32_t i = 0; i < list->count[HOB_USD_ORDER]; i++)
		if (same_item(&list->items[HOB_USD_ORDER][i], item))
			return true;
	return false;
}

/* Sorts the listed items into the list's order; each keeps the unlisted items that follow it. */
static bool apply_order(chosen_t *c, const hob_usd_list *list)
{
	uint32_t count = list->count[HOB_USD_ORDER], made = 0, room = c->count;
	hob_usd_item *items = HOB_NEW(c->u->scratch, hob_usd_item, room);
	uint32_t *froms = HOB_NEW(c->u->scratch, uint32_t, room);
	if (!items || !froms)
		return hob_fail_memory(c->err, c->u->scratch, "a list");
	if (count > HOB_LIMIT_USD_LIST)
		return hob_fail(c->err, LIMIT, "a list of %u items; at most %llu are allowed", count,
						HOB_LIMIT_USD_LIST);
	uint32_t ahead = 0;
	while (ahead < c->count && !is_ordered(list, &c->items[ahead]))
		ahead++;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = find_item(c, &list->items[HOB_USD_ORDER][i]), end = at + 1;
		if (at == HOB_NONE || at < ahead)
			continue;
		while (end < c->count && !is_ordered(list, &c->items[end]))
			end++;
		memcpy(items + made, c->items + at, (end - at) * sizeof *items);
		memcpy(froms + made, c->froms + at, (end - at) * sizeof *froms);
		made += end - at;
		memmove(c->items + at, c->items + end, (c->count - end) * sizeof *items);
		memmove(c->froms + at, c->froms + end, (c->count - end) * sizeof *froms);
		c->count -= end - at;
	}
	memcpy(c->items + c->count, items, made * sizeof *items);
	memcpy(c->froms + c->count, froms, made * sizeof *froms);
	c->count += made;
	return true;
}

bool hob_usd_list_apply(hob_usd *u, const hob_usd_list *list, uint32_t from, hob_usd_item **items,
						uint32_t **froms, uint32_t *count, hob_error *err)
{
	static const hob_usd_op order[] = {HOB_USD_DELETE, HOB_USD_ADD, HOB_USD_PREPEND, HOB_USD_APPEND};
	chosen_t c = {u, *items, *froms, *count, *count, *count, err};
	if (list->is_explicit) {
		c = (chosen_t){.u = u, .err = err};
		if (!apply_op(&c, list, HOB_USD_EXPLICIT, from))
			return false;
	}
	for (size_t i = 0; !list->is_explicit && i < HOB_COUNT_OF(order); i++)
		if (!apply_op(&c, list, order[i], from))
			return false;
	if (!list->is_explicit && list->count[HOB_USD_ORDER] > 0 && c.count > 0 && !apply_order(&c, list))
		return false;
	*items = c.items;
	*froms = c.froms;
	*count = c.count;
	return true;
}

bool hob_usd_list_resolve(hob_usd *u, const hob_usd_site *site, uint32_t field, hob_usd_item **items,
						  uint32_t **from, uint32_t *count, hob_error *err)
{
	const hob_usd_stack *stack = &u->stacks[site->stack];
	*items = NULL;
	*from = NULL;
	*count = 0;
	for (uint32_t i = stack->layer_count; i-- > 0;) {
		if (site->specs[i] == HOB_NONE)
			continue;
		const hob_usd_value *value = hob_usd_field_get(&u->layers[stack->layers[i]], site->specs[i], field);
		if (value && value->kind == HOB_USD_LIST &&
			!hob_usd_list_apply(u, (const hob_usd_list *)value->data, i, items, from, count, err))
			return false;
	}
	return true;
}

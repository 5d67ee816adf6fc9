#include "usd_private.h"

#include <math.h>

enum { MAX_WINDOWS = 16384 };

/* In `active`: from stage time `from` on, clip number `to` is active. In `times`: stage time `from` is clip
 * time `to`. */
typedef struct pair {
	double from, to;
} pair_t;

typedef struct clips {
	hob_usd *u;
	const hob_usd_value *dictionary;
	uint32_t layer, variables; /* base and variables of the asset paths */
	hob_str *assets, prim;
	uint32_t asset_count;
	pair_t *active, *times;
	uint32_t active_count, time_count;
	uint32_t manifest;		   /* layer; HOB_NONE: every attribute is declared */
	uint32_t made;			   /* layer that receives the samples */
	struct gathered *gathered; /* [specs of `made`] samples of each attribute */
	uint32_t gathered_count;
	uint64_t work;
} clips_t;

typedef struct gathered {
	double *times;
	hob_usd_value *values;
	uint32_t count;
} gathered_t;

/* ---- the dictionary */

static const hob_usd_value *entry(const clips_t *c, hob_str key)
{
	return hob_usd_entry_of(c->dictionary, key);
}

static uint32_t open_layer(clips_t *c, hob_str asset)
{
	asset = hob_usd_expression(c->u, c->variables, asset);
	return asset.len == 0 ? HOB_NONE : hob_usd_layer_open(c->u, c->layer, asset);
}

static void read_pairs(clips_t *c, hob_str key, pair_t **out, uint32_t *count)
{
	const hob_usd_value *value = entry(c, key);
	size_t found = value && value->width == 2 ? value->count : 0;
	if (found > MAX_WINDOWS)
		hob_leave(LIMIT, "value clips: %zu times, at most %d are allowed", found, MAX_WINDOWS);
	*out = HOB_NEW(c->u->scratch, pair_t, found);
	*count = 0;
	for (size_t i = 0; i < found; i++) {
		pair_t pair = {hob_usd_component(value, i * 2), hob_usd_component(value, i * 2 + 1)};
		uint32_t at = (*count)++;
		if (!isfinite(pair.from) || !isfinite(pair.to)) {
			--*count;
			continue;
		}
		for (; at > 0 && (*out)[at - 1].from > pair.from; at--)
			(*out)[at] = (*out)[at - 1];
		(*out)[at] = pair;
	}
}

/* Reads "clip.##.usd" from start to end: one file per step, each at its own time. */
static void read_template(clips_t *c, hob_str name)
{
	double start = hob_usd_number(entry(c, HOB_STR("templateStartTime")), NAN);
	double end = hob_usd_number(entry(c, HOB_STR("templateEndTime")), NAN);
	double stride = hob_usd_number(entry(c, HOB_STR("templateStride")), NAN);
	size_t first = hob_str_find(name, HOB_STR("#"), 0), digits = 0;
	if (first == SIZE_MAX || !(stride > 0) || !(end >= start))
		return;
	while (first + digits < name.len && name.data[first + digits] == '#')
		digits++;
	double steps = floor((end - start) / stride + 1e-6) + 1;
	if (steps > MAX_WINDOWS)
		hob_leave(LIMIT, "value clips: %.0f files, at most %d are allowed", steps, MAX_WINDOWS);
	c->assets = HOB_NEW(c->u->scratch, hob_str, (size_t)steps);
	c->active = HOB_NEW(c->u->scratch, pair_t, (size_t)steps);
	c->times = HOB_NEW(c->u->scratch, pair_t, (size_t)steps);
	for (; c->asset_count < (uint32_t)steps; c->asset_count++) {
		double time = start + stride * c->asset_count;
		hob_str before = hob_str_sub(name, 0, first), behind = hob_str_sub(name, first + digits, name.len);
		c->active[c->asset_count] = (pair_t){time, c->asset_count};
		c->times[c->asset_count] = (pair_t){time, time};
		c->assets[c->asset_count] = hob_arena_printf(c->u->scratch, "%.*s%0*.0f%.*s", HOB_FMT(before),
													 (int)(digits < 32 ? digits : 32), time, HOB_FMT(behind));
	}
	c->active_count = c->time_count = c->asset_count;
}

static void read_dictionary(clips_t *c)
{
	const hob_usd_value *assets = entry(c, HOB_STR("assetPaths"));
	hob_str manifest = hob_usd_text(entry(c, HOB_STR("manifestAssetPath")));
	hob_str name = hob_usd_text(entry(c, HOB_STR("templateAssetPath")));
	c->prim = hob_usd_text(entry(c, HOB_STR("primPath")));
	c->manifest = open_layer(c, manifest);
	if (!assets || assets->kind != HOB_USD_TEXT) {
		read_template(c, name);
		return;
	}
	c->assets = HOB_NEW(c->u->scratch, hob_str, assets->count);
	for (size_t i = 0; i < assets->count; i++)
		c->assets[c->asset_count++] = ((const hob_str *)assets->data)[i];
	read_pairs(c, HOB_STR("active"), &c->active, &c->active_count);
	read_pairs(c, HOB_STR("times"), &c->times, &c->time_count);
}

/* ---- values at clip times */

static void mix(clips_t *c, const hob_usd_value *a, const hob_usd_value *b, double t, hob_usd_value *out)
{
	size_t count = a->count * a->width;
	*out = *a;
	if ((a->kind != HOB_USD_F32 && a->kind != HOB_USD_F64) || b->kind != a->kind || b->width != a->width ||
		b->count != a->count)
		return;
	double *wide = a->kind == HOB_USD_F64 ? HOB_NEW(c->u->scratch, double, count) : NULL;
	float *narrow = a->kind == HOB_USD_F32 ? HOB_NEW(c->u->scratch, float, count) : NULL;
	for (size_t i = 0; i < count; i++) {
		double from = hob_usd_component(a, i), value = from + (hob_usd_component(b, i) - from) * t;
		if (wide)
			wide[i] = value;
		else
			narrow[i] = (float)value;
	}
	out->data = wide ? (const void *)wide : narrow;
}

static void value_at(clips_t *c, const hob_usd_samples *s, double time, hob_usd_value *out)
{
	size_t low = hob_usd_time_before(s->times, 1, s->count, time);
	*out = s->values[low];
	double span = low + 1 < s->count ? s->times[low + 1] - s->times[low] : 0;
	double t = span > 0 ? (time - s->times[low]) / span : 0;
	if (!(t < 1e-9))
		mix(c, &s->values[low], &s->values[low + 1], t < 1 ? t : 1, out);
}

static double clip_time(const clips_t *c, double stage)
{
	if (c->time_count == 0)
		return stage;
	size_t low = hob_usd_time_before(&c->times[0].from, 2, c->time_count, stage);
	const pair_t *a = &c->times[low], *b = a + 1;
	if (stage <= a->from || low + 1 == c->time_count || !(b->from > a->from))
		return a->to;
	return a->to + (stage - a->from) * (b->to - a->to) / (b->from - a->from);
}

static void put_sample(clips_t *c, gathered_t *g, const hob_usd_samples *s, double stage)
{
	hob_arena *arena = c->u->scratch;
	uint32_t at = g->count;
	if (g->count >= HOB_LIMIT_KEYS)
		hob_leave(LIMIT, "value clips: more than %llu samples", HOB_LIMIT_KEYS);
	while (at > 0 && g->times[at - 1] > stage)
		at--;
	if (at > 0 && g->times[at - 1] == stage)
		return;
	HOB_USD_ROOM(arena, g->times, g->count);
	HOB_USD_ROOM(arena, g->values, g->count);
	memmove(g->times + at + 1, g->times + at, (g->count - at) * sizeof *g->times);
	memmove(g->values + at + 1, g->values + at, (g->count - at) * sizeof *g->values);
	g->count++;
	g->times[at] = stage;
	value_at(c, s, clip_time(c, stage), &g->values[at]);
}

/* Copies the samples of one attribute of one clip between stage times `begin` and `end`: its own, mapped to
 * stage time, and one at each knot of the time mapping. From the last one the value interpolates to the first
 * of the next clip, as in OpenUSD. */
static void put_window(clips_t *c, gathered_t *g, const hob_usd_samples *s, double begin, double end)
{
	if (isfinite(begin))
		put_sample(c, g, s, begin);
	for (size_t i = 0; c->time_count == 0 && i < s->count; i++) {
		if (s->times[i] >= begin && s->times[i] < end)
			put_sample(c, g, s, s->times[i]);
	}
	for (uint32_t k = 0; k < c->time_count; k++) {
		const pair_t *a = &c->times[k], *b = a + 1;
		if (a->from >= begin && a->from < end)
			put_sample(c, g, s, a->from);
		if (k + 1 == c->time_count || !(b->from > a->from) || a->to == b->to || b->from < begin ||
			a->from >= end)
			continue;
		c->work += s->count;
		for (size_t i = 0; i < s->count; i++) {
			double part = (s->times[i] - a->to) / (b->to - a->to), at = a->from + part * (b->from - a->from);
			if (part > 0 && part < 1 && at >= begin && at < end)
				put_sample(c, g, s, at);
		}
	}
}

/* ---- specs */

static bool is_declared(const clips_t *c, uint32_t manifest, uint32_t name)
{
	return c->manifest == HOB_NONE ||
		   hob_usd_spec_find(&c->u->layers[c->manifest], manifest, HOB_USD_PROPERTY, name) != HOB_NONE;
}

static void put_property(clips_t *c, const hob_usd_samples *s, uint32_t to, uint32_t name, double begin,
						 double end)
{
	uint32_t spec = hob_usd_spec_add(c->u, &c->u->layers[c->made], to, HOB_USD_PROPERTY, name);
	while (c->gathered_count <= spec)
		HOB_USD_PUT(c->u->scratch, c->gathered, c->gathered_count, (gathered_t){0});
	put_window(c, &c->gathered[spec], s, begin, end);
}

static void put_spec(clips_t *c, uint32_t clip, uint32_t from, uint32_t manifest, uint32_t to, double begin,
					 double end)
{
	const hob_usd_spec spec = c->u->layers[clip].specs[from];
	const hob_usd_layer *layer = &c->u->layers[clip];
	if (++c->work > HOB_LIMIT_KEYS)
		hob_leave(LIMIT, "value clips: more than %llu steps of work", HOB_LIMIT_KEYS);
	for (uint32_t p = spec.first[HOB_USD_PROPERTY]; p != HOB_NONE; p = layer->specs[p].next) {
		const hob_usd_value *value = hob_usd_field_get(layer, p, HOB_USD_T_timeSamples);
		const hob_usd_samples *s =
			value && value->kind == HOB_USD_SAMPLES ? (const hob_usd_samples *)value->data : NULL;
		if (s && s->count > 0 && is_declared(c, manifest, layer->specs[p].name))
			put_property(c, s, to, layer->specs[p].name, begin, end);
	}
	for (uint32_t p = spec.first[HOB_USD_PRIM]; p != HOB_NONE; p = layer->specs[p].next) {
		uint32_t name = layer->specs[p].name;
		uint32_t declared = manifest == HOB_NONE
								? HOB_NONE
								: hob_usd_spec_find(&c->u->layers[c->manifest], manifest, HOB_USD_PRIM, name);
		uint32_t child = hob_usd_spec_add(c->u, &c->u->layers[c->made], to, HOB_USD_PRIM, name);
		c->u->layers[c->made].specs[child].specifier = HOB_USD_OVER;
		put_spec(c, clip, p, declared, child, begin, end);
	}
}

static uint32_t spec_at(const hob_usd *u, uint32_t layer, hob_str path)
{
	uint32_t spec = 0;
	for (size_t at = 1; layer != HOB_NONE && spec != HOB_NONE && at < path.len;) {
		size_t slash = hob_str_find(path, HOB_STR("/"), at), end = slash == SIZE_MAX ? path.len : slash;
		uint32_t name = hob_usd_known(u, hob_str_sub(path, at, end));
		spec = hob_usd_spec_find(&u->layers[layer], spec, HOB_USD_PRIM, name);
		at = end + 1;
	}
	return layer == HOB_NONE ? HOB_NONE : spec;
}

static void gather(clips_t *c, uint32_t to)
{
	uint32_t manifest = spec_at(c->u, c->manifest, c->prim);
	for (uint32_t w = 0; w < c->active_count; w++) {
		double begin = w == 0 ? -(double)INFINITY : c->active[w].from;
		double end = w + 1 < c->active_count ? c->active[w + 1].from : (double)INFINITY;
		if (!(c->active[w].to >= 0) || c->active[w].to >= c->asset_count)
			continue;
		uint32_t clip = open_layer(c, c->assets[(size_t)c->active[w].to]);
		uint32_t from = spec_at(c->u, clip, c->prim);
		if (from != HOB_NONE)
			put_spec(c, clip, from, manifest, to, begin, end);
	}
	for (uint32_t i = 0; i < c->gathered_count; i++) {
		const gathered_t *g = &c->gathered[i];
		if (g->count == 0)
			continue;
		hob_usd_samples *s = HOB_NEW(c->u->scratch, hob_usd_samples, 1);
		*s = (hob_usd_samples){g->count, g->times, g->values};
		hob_usd_field_set(c->u, &c->u->layers[c->made], i, HOB_USD_T_timeSamples,
						  (hob_usd_value){HOB_USD_SAMPLES, false, 1, 1, s});
	}
}

void hob_usd_value_clips(hob_usd *u, uint32_t layer, uint32_t variables, hob_str path,
						 const hob_usd_entry *set, uint32_t *stack, uint32_t *spec)
{
	clips_t c = {.u = u, .dictionary = &set->value, .layer = layer, .variables = variables};
	hob_str id = hob_arena_printf(u->scratch, "clips '%.*s' of '%.*s' in '%.*s'?%u", HOB_FMT(set->key),
								  HOB_FMT(path), HOB_FMT(u->layers[layer].id), variables);
	*stack = HOB_NONE;
	c.made = hob_name_map_get(&u->layer_map, id);
	if (c.made == HOB_NONE) {
		if (set->value.kind != HOB_USD_DICTIONARY)
			return;
		read_dictionary(&c);
		if (c.prim.len < 2 || c.prim.data[0] != '/')
			return;
		c.made = hob_usd_layer_new(u, id, u->layers[layer].path, u->layers[layer].package);
		*spec = hob_usd_spec_add(u, &u->layers[c.made], 0, HOB_USD_PRIM, HOB_USD_T_clips);
		u->layers[c.made].specs[*spec].specifier = HOB_USD_OVER;
		gather(&c, *spec);
	}
	*spec = hob_usd_spec_find(&u->layers[c.made], 0, HOB_USD_PRIM, HOB_USD_T_clips);
	*stack = hob_usd_stack_open(u, c.made, HOB_NONE);
}

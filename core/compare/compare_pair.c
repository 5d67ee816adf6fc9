#include "compare_parts.h"

#include "../base/text_order.h"

#include <stdlib.h>

enum { REST_MAX = 512 }; /* most unmatched parts that are checked for a new name */

typedef struct named {
	hob_str name;
	uint32_t index;
} named;

static int named_order(const void *one, const void *other)
{
	const named *a = one, *b = other;
	int order = hob_str_compare(a->name, b->name);
	return order ? order : (a->index > b->index) - (a->index < b->index);
}

static named *sorted(comparison *c, const compare_list *list)
{
	named *out = HOB_NEW(&c->arena, named, list->count);
	for (uint32_t i = 0; i < list->count; i++)
		out[i] = (named){list->names[i], i};
	if (list->count > 1)
		qsort(out, list->count, sizeof *out, named_order);
	return out;
}

static void pair_names(const named *a, uint32_t a_count, const named *b, uint32_t b_count, compare_pairs *out)
{
	for (uint32_t i = 0, k = 0; i < a_count && k < b_count;) {
		int order = hob_str_compare(a[i].name, b[k].name);
		if (order == 0) {
			out->b_of[a[i].index] = b[k].index;
			out->a_of[b[k].index] = a[i].index;
		}
		i += order <= 0;
		k += order >= 0;
	}
}

static void pair_rest(const comparison *c, uint32_t a_count, uint32_t b_count, const uint32_t *a_ids,
					  const uint32_t *b_ids, compare_alike alike, compare_pairs *out)
{
	uint32_t looked = 0;
	for (uint32_t i = 0; i < a_count && looked < REST_MAX; i++) {
		if (out->b_of[i] != HOB_NONE)
			continue;
		looked++;
		for (uint32_t k = 0, tried = 0; k < b_count && tried < REST_MAX; k++) {
			if (out->a_of[k] != HOB_NONE)
				continue;
			tried++;
			if (!alike(c, a_ids ? a_ids[i] : i, b_ids ? b_ids[k] : k))
				continue;
			out->b_of[i] = k;
			out->a_of[k] = i;
			break;
		}
	}
}

compare_pairs hob_compare_pair(comparison *c, const compare_list *a, const compare_list *b,
							   const uint32_t *a_ids, const uint32_t *b_ids, compare_alike alike)
{
	compare_pairs out = {HOB_NEW(&c->arena, uint32_t, a->count), HOB_NEW(&c->arena, uint32_t, b->count)};
	memset(out.b_of, 0xFF, a->count * sizeof *out.b_of);
	memset(out.a_of, 0xFF, b->count * sizeof *out.a_of);
	pair_names(sorted(c, a), a->count, sorted(c, b), b->count, &out);
	if (alike)
		pair_rest(c, a->count, b->count, a_ids, b_ids, alike, &out);
	return out;
}

static compare_list list_names(comparison *c, const compare_kind *kind, const compare_files *f)
{
	const hob_pack *strings = (const hob_pack *)(const void *)((const uint8_t *)f + kind->strings);
	const hob_pack_array *array = (const hob_pack_array *)(const void *)((const uint8_t *)f + kind->array);
	compare_list list = {array->count, HOB_NEW(&c->arena, hob_str, array->count)};
	for (uint32_t i = 0; i < list.count; i++)
		list.names[i] =
			hob_pack_string(strings, hob_load_u32(HOB_PACK_AT(uint8_t, *array, i) + kind->name_at));
	return list;
}

void hob_compare_kind(comparison *c, const compare_kind *kind)
{
	compare_list a = list_names(c, kind, &c->a), b = list_names(c, kind, &c->b);
	compare_pairs pairs = hob_compare_pair(c, &a, &b, NULL, NULL, kind->alike);
	uint32_t *differing = (uint32_t *)(void *)((uint8_t *)&c->tally + kind->differing);
	for (uint32_t i = 0; i < a.count; i++) {
		uint32_t k = pairs.b_of[i];
		const char *called = hob_compare_called(c, kind->part, a.names[i], i);
		if (k == HOB_NONE) {
			hob_compare_say(c, kind->gone, kind->part, "gone", a.names[i], (hob_str){0}, "%s is gone",
							called);
			continue;
		}
		if (!hob_str_equal(a.names[i], b.names[k])) {
			const char *now = hob_compare_called(c, kind->part, b.names[k], k);
			hob_compare_say(c, TONE_WARN, kind->part, "renamed", b.names[k], a.names[i],
							"%s is called %s now", called, now);
			c->tally.renamed++;
		}
		if (kind->changed) {
			uint32_t said = hob_compare_said(c);
			kind->changed(c, i, k, hob_compare_called(c, kind->part, b.names[k], k), b.names[k]);
			*differing += hob_compare_said(c) > said;
		}
	}
	for (uint32_t k = 0; k < b.count; k++)
		if (pairs.a_of[k] == HOB_NONE)
			hob_compare_say(c, TONE_NOTE, kind->part, "added", b.names[k], (hob_str){0}, "%s is new",
							hob_compare_called(c, kind->part, b.names[k], k));
}

#include "former.h"

#include "../../core/base/text_order.h"

#include <stdatomic.h>
#include <stdlib.h>

struct srv_former_list {
	atomic_uint references;
	uint32_t count;
	srv_view_former names[]; /* the texts of the names follow the array */
};

static int by_name(const void *a, const void *b)
{
	const srv_view_former *x = *(const srv_view_former *const *)a, *y = *(const srv_view_former *const *)b;
	return hob_str_compare(x->full, y->full);
}

/* Merges two sorted lists of names into `out`; a new name without an id removes the old one. Returns the
 * number of names. */
static uint32_t merge(const srv_former_list *list, const srv_view_former *const *more, uint32_t count,
					  const srv_view_former **out)
{
	uint32_t kept = 0, old = 0, all = list ? list->count : 0;
	for (uint32_t i = 0; i < count; i++) {
		while (old < all && hob_str_compare(list->names[old].full, more[i]->full) < 0)
			out[kept++] = &list->names[old++];
		old += old < all && hob_str_compare(list->names[old].full, more[i]->full) == 0;
		if (more[i]->id[0])
			out[kept++] = more[i];
	}
	while (old < all)
		out[kept++] = &list->names[old++];
	return kept;
}

static srv_former_list *copy(const srv_view_former *const *names, uint32_t count)
{
	size_t texts = 0;
	for (uint32_t i = 0; i < count; i++)
		texts += names[i]->full.len;
	srv_former_list *list = malloc(sizeof *list + count * sizeof **names + texts + 1);
	if (!list)
		return NULL;
	atomic_init(&list->references, 1);
	list->count = count;
	char *at = (char *)(list->names + count);
	for (uint32_t i = 0; i < count; i++) {
		list->names[i] = *names[i];
		list->names[i].full.data = memcpy(at, names[i]->full.data, names[i]->full.len);
		at += names[i]->full.len;
	}
	return list;
}

srv_former_list *srv_former_add(const srv_former_list *list, const srv_view_former *names, uint32_t count)
{
	const srv_view_former **more = malloc((count + 1) * sizeof *more);
	const srv_view_former **all = malloc(((list ? list->count : 0) + count + 1) * sizeof *all);
	srv_former_list *made = NULL;
	if (more && all) {
		for (uint32_t i = 0; i < count; i++)
			more[i] = &names[i];
		qsort(more, count, sizeof *more, by_name);
		made = copy(all, merge(list, more, count, all));
	}
	free(more);
	free(all);
	return made;
}

srv_former_list *srv_former_share(srv_former_list *list)
{
	if (list)
		atomic_fetch_add_explicit(&list->references, 1, memory_order_relaxed);
	return list;
}

void srv_former_drop(srv_former_list *list)
{
	if (list && atomic_fetch_sub_explicit(&list->references, 1, memory_order_acq_rel) == 1)
		free(list);
}

const char *srv_former_find(const srv_former_list *list, hob_str full)
{
	uint32_t low = 0, high = list ? list->count : 0;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		int order = hob_str_compare(list->names[middle].full, full);
		if (order == 0)
			return list->names[middle].id;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

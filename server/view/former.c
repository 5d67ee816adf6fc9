#include "former.h"

#include "../../core/base/text_order.h"

#include <stdatomic.h>
#include <stdlib.h>

struct srv_former_list {
	atomic_uint references;
	uint32_t count;
	srv_view_former names[]; /* their texts follow */
};

static int by_name(const void *a, const void *b)
{
	return hob_str_compare(((const srv_view_former *)a)->full, ((const srv_view_former *)b)->full);
}

srv_former_list *srv_former_new(const srv_view_former *names, uint32_t count)
{
	size_t texts = 0;
	for (uint32_t i = 0; i < count; i++)
		texts += names[i].full.len;
	srv_former_list *list = malloc(sizeof *list + count * sizeof *names + texts + 1);
	if (!list)
		return NULL;
	atomic_init(&list->references, 1);
	list->count = count;
	char *at = (char *)(list->names + count);
	for (uint32_t i = 0; i < count; i++) {
		list->names[i] = names[i];
		list->names[i].full.data = memcpy(at, names[i].full.data, names[i].full.len);
		at += names[i].full.len;
	}
	qsort(list->names, count, sizeof *names, by_name);
	return list;
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

/* path_set.h - paths without duplicates, in the order they came. */
#ifndef SRV_PATH_SET_H
#define SRV_PATH_SET_H

#include "watch.h"

typedef struct path_item {
	hob_str path;  /* NUL-terminated; data == NULL: removed */
	bool gone;	   /* see settle_state */
	bool complete; /* batch: the last record said that writing has ended */
	bool renamed;  /* batch: it was renamed from the item before it */
	/* created: when to look at the file, how long after that once more, what was seen the last time */
	int64_t due_ns;
	uint32_t wait_ms;
	srv_stat seen;
} path_item;

typedef struct path_set {
	hob_arena arena;
	path_item *items;
	uint32_t *slots; /* index + 1 */
	size_t used, live, room, slot_count;
} path_set;

void srv_path_set_release(path_set *set); /* {0} is fine; so is using it again */
/* The item of `path`, a new one if there was none; good until the next put. Aborts when memory is short. */
path_item *srv_path_set_put(path_set *set, hob_str path);
path_item *srv_path_set_find(const path_set *set, hob_str path);
void srv_path_set_remove(path_set *set, path_item *item);

#endif

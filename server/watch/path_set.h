/* path_set.h - paths without duplicates, in order of insertion. */
#ifndef SRV_PATH_SET_H
#define SRV_PATH_SET_H

#include "watch.h"

typedef struct path_item {
	hob_str path;  /* NUL-terminated; data == NULL: removed */
	bool gone;	   /* see settle_state */
	bool complete; /* batch: the last record ended a write */
	bool renamed;  /* batch: it was renamed from the previous item */
	/* created: time of the check, wait before the second check, state in the last check */
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

void srv_path_set_release(path_set *set); /* {0} is allowed; it can be used again after a release */
/* The item of `path`, or a new one; valid until the next put. Aborts without memory. */
path_item *srv_path_set_put(path_set *set, hob_str path);
path_item *srv_path_set_find(const path_set *set, hob_str path);
void srv_path_set_remove(path_set *set, path_item *item);

#endif

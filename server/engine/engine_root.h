/* engine_root.h - the watched folders: existence and identity of each. */
#ifndef ENGINE_ROOT_H
#define ENGINE_ROOT_H

#include "engine_kit.h"

#include "../settings/chain.h"

/* State of a root outside its view. */
typedef struct root_state {
	const char *mode; /* from the watch; static text */
	char *note;
	char *away;				  /* reason why it is missing; NULL: it exists */
	bool known;				  /* known from an earlier run */
	uint64_t device, inode;	  /* of the folder scanned last; 0: none */
	int64_t missing_since_ms; /* as stored in the index */
} root_state;

/* All arrays by root. */
struct engine_roots {
	uint32_t count;
	int *fds;
	hob_settings *settings;
	srv_settings_cache **caches;
	srv_view_root *shown;
	root_state *states;
};

struct engine_roots *srv_engine_roots_new(const srv_engine_options *options); /* NULL without memory */
void srv_engine_roots_free(struct engine_roots *roots);
/* Opens each root. A missing root that an earlier run knew is replaced by an empty folder. */
bool srv_engine_open_roots(srv_engine *engine, hob_error *err);
void srv_engine_replace_settings(srv_engine *engine, const hob_settings *settings); /* by root */
/* Whether the open folder is still the one at the root's path. */
bool srv_engine_root_holds(const srv_engine *engine, uint32_t root);
/* If the root is gone: marks it as away and ends its jobs. */
void srv_engine_doubt_root(srv_engine *engine, uint32_t root);
/* After each scan: checks that the open folder is still the root. */
void srv_engine_check_root(srv_engine *engine, uint32_t root);
/* For a root without files: true if its folder is not the one that its assets came from, but for example an
 * empty mount point. */
bool srv_engine_root_is_doubtful(const srv_engine *engine, uint32_t root);
void srv_engine_lose_empty_root(srv_engine *engine, uint32_t root);
void srv_engine_lose_root(srv_engine *engine, uint32_t root, const char *why);
/* The root was scanned. Call find before the comparison of files; if find returned true (the root was away),
 * call the second function afterwards. */
bool srv_engine_find_root(srv_engine *engine, uint32_t root);
void srv_engine_welcome_root(srv_engine *engine, uint32_t root);
void srv_engine_set_root_mode(srv_engine *engine, uint32_t root, const char *mode, const char *note);
void srv_engine_store_root(srv_engine *engine, uint32_t root);

#endif

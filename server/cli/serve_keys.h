/* serve_keys.h - what the keys of `hob serve` do, and the state that SIGUSR1 asks for. */
#ifndef CLI_SERVE_KEYS_H
#define CLI_SERVE_KEYS_H

#include "keyboard.h"

#include "../engine/engine.h"

typedef struct serve_keys {
	keyboard keyboard;
	uv_loop_t *loop;
	srv_engine *engine;
	srv_views *views;
	const char *url;
	void (*quit)(void *user, const char *why);
	void *user;
	srv_control look; /* the rescan that is under way */
	uint64_t look_began_ns;
	bool looking;
} serve_keys;

/* Loop thread; the arguments must outlive srv_serve_keys_end. False if there are no keys. `quit` is called at
 * most once. */
bool srv_serve_keys_begin(serve_keys *keys, uv_loop_t *loop, srv_engine *engine, srv_views *views,
						  const char *url, void (*quit)(void *user, const char *why), void *user);
void srv_serve_keys_end(serve_keys *keys);
/* Logs what the daemon is doing: folders, queue, running cooks. */
void srv_serve_keys_dump(srv_engine *engine, srv_views *views, const char *url);

#endif

/* engine_requests.h - requests of other threads for changes, or for answers that need the loop. */
#ifndef ENGINE_REQUESTS_H
#define ENGINE_REQUESTS_H

#include "engine_assets.h"

#include "../cook/waiter.h"

struct engine_requests {
	uv_async_t wake;
	uv_mutex_t lock;
	srv_control **posted; /* guarded by `lock` */
	uint32_t count, capacity;
	srv_waiters waiters;
};

struct engine_requests *srv_engine_requests_new(void);
void srv_engine_requests_free(struct engine_requests *requests);
void srv_engine_start_requests(srv_engine *engine);
void srv_engine_close_requests(srv_engine *engine); /* answers everything with 503 */
static inline bool srv_engine_is_waited_for(const srv_engine *engine, uint32_t id)
{
	return srv_waiters_has(&engine->requests->waiters, id);
}
void srv_engine_answer_waiters(srv_engine *engine); /* once a turn */
/* The watch passed its mark: see srv_watch_mark. */
void srv_engine_pass_mark(srv_engine *engine, uint32_t root, uint64_t number, bool seen);
/* After each scan: scans again if a waiter needs it. */
void srv_engine_scan_for_waiters(srv_engine *engine, uint32_t root);

#endif

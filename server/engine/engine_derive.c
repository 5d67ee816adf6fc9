#include "engine_changeset.h"
#include "engine_move.h"
#include "engine_publish.h"
#include "engine_root.h"

#include <assert.h>

/* Answers requests of server/derive. */

static void describe(const srv_engine *engine, const asset *a, srv_derive_asset *out)
{
	*out = (srv_derive_asset){.number = a->id,
							  .full = a->full,
							  .path = a->path,
							  .root_fd = engine->roots->fds[a->root],
							  .good = a->life.has_good ? &a->shown.good : NULL,
							  .served = a->shown.any ? &a->shown.served : NULL};
	srv_engine_asset_id(engine, a, out->id);
}

static bool at(void *user, uint32_t number, srv_derive_asset *out)
{
	const srv_engine *engine = user;
	assert(number < engine->assets->count);
	const asset *a = srv_asset_at(engine, number);
	bool alive = srv_asset_is_alive(&a->life);
	if (alive)
		describe(engine, a, out);
	return alive;
}

static bool find(void *user, hob_str full, bool wanted, srv_derive_asset *out)
{
	srv_engine *engine = user;
	uint32_t id = srv_engine_asset_by_name(engine, full);
	if (id == HOB_NONE || !srv_asset_is_alive(&srv_asset_at(engine, id)->life))
		return false;
	if (wanted)
		srv_engine_leave(engine, id);
	return at(engine, id, out);
}

static bool is_busy(void *user)
{
	const srv_engine *engine = user;
	return engine->jobs->in_stage[SRV_JOB_WAIT] > 0 || srv_queue_count(engine->jobs->queue) > 0;
}

/* Makes the view again, because the served view lacks the outputs just added to the record. */
static void added(void *user, uint32_t number, const hob_sha256 *key)
{
	srv_engine *engine = user;
	assert(number < engine->assets->count && srv_asset_at(engine, number)->id == number);
	asset *a = srv_asset_at(engine, number);
	hob_arena_mark mark = hob_arena_save(&engine->scratch);
	srv_record record;
	hob_error error;
	if (a->changeset.held == 0 && a->life.has_good && hob_sha256_equal(&a->shown.good, key) &&
		srv_store_record(engine->store, key, &engine->scratch, &record, &error))
		srv_publish_view_of(engine, a, &record);
	hob_arena_restore(&engine->scratch, mark);
	srv_engine_show(engine);
}

static uint64_t newest_rev(void *user)
{
	const srv_engine *engine = user;
	return engine->publishing->rev;
}

static const char *sandbox_text(void *user)
{
	return srv_engine_sandbox(user);
}

static void work(void *user, uv_work_t *item, uv_work_cb run, uv_after_work_cb done)
{
	srv_engine_work(user, item, run, done);
}

static void over(void *user)
{
	srv_engine_work_over(user);
}

srv_derive *srv_engine_derive_new(srv_engine *engine)
{
	const srv_engine_options *options = &engine->options;
	return srv_derive_new(&(srv_derive_host){
		.user = engine,
		.store = engine->store,
		.publish = &engine->publish,
		.closing = &engine->closing,
		.most_bytes = options->derived_limit > 0 ? options->derived_limit : UINT64_MAX,
		.sandbox = options->pool.sandbox,
		.timeout_ms = options->pool.timeout_ms,
		.memory_limit = options->pool.memory_limit,
		.sandbox_text = sandbox_text,
		.find = find,
		.at = at,
		.rev = newest_rev,
		.is_busy = is_busy,
		.added = added,
		.work = work,
		.over = over,
	});
}

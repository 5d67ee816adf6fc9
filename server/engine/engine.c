#include "engine_private.h"

#include "../../core/base/limits.h"
#include "../log/log.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* How many jobs of each priority may be under way beyond those on a worker: enough to keep the workers busy, few enough that
 * the order of the queue matters. A priority may also use the places of the lower ones, so it never waits behind them. */
enum { AHEAD = 16, TIMER_MS = 1000, ASKING_MAX = 256 };

int64_t srv_engine_now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- assets */

uint32_t srv_engine_add_asset(srv_engine *engine, uint32_t file)
{
	srv_file *f = srv_graph_at(engine->graph, file);
	if (f->asset != HOB_NONE)
		return f->asset;
	if (!HOB_ROOM(engine->assets, engine->asset_capacity, engine->asset_count))
		return HOB_NONE;
	hob_buf full = {0};
	hob_buf_put_str(&full, engine->roots[f->root].name);
	hob_buf_put(&full, "/", 1);
	size_t path_at = full.size;
	hob_buf_put_str(&full, f->path);
	hob_buf_put(&full, "", 1);
	if (full.failed) {
		hob_buf_release(&full);
		return HOB_NONE;
	}
	uint32_t id = engine->asset_count++;
	asset *a = &engine->assets[id];
	*a = (asset){.file = file, .root = f->root, .full = (char *)full.data};
	a->path = a->full + path_at;
	a->move = srv_engine_move_of(engine, hob_str_of(a->full));
	a->importer = engine->pool_ready ? srv_pool_importer_for(engine->pool, f->path) : NULL;
	f->asset = id;
	return id;
}

uint32_t srv_engine_asset_by_name(srv_engine *engine, hob_str full)
{
	size_t slash = hob_str_find(full, HOB_STR("/"), 0);
	for (uint32_t r = 0; slash != SIZE_MAX && r < engine->options.root_count; r++) {
		if (!hob_str_equal(engine->roots[r].name, hob_str_sub(full, 0, slash)))
			continue;
		uint32_t file = srv_graph_find(engine->graph, r, hob_str_sub(full, slash + 1, full.len));
		if (file != HOB_NONE)
			return srv_graph_at(engine->graph, file)->asset;
	}
	return HOB_NONE;
}

static void detach(srv_engine *engine, engine_job *job)
{
	job->abandoned = true;
	if (job->on_worker)
		srv_pool_cancel(engine->pool, job);
}

srv_asset_todo srv_engine_apply(srv_engine *engine, uint32_t id, srv_asset_event event)
{
	asset *a = &engine->assets[id];
	if (engine->closing)
		return (srv_asset_todo){0};
	event.now_ms = uv_now(engine->loop);
	event.at_ms = srv_engine_now_ms();
	event.last_job = &engine->next_job;
	srv_asset_todo todo = srv_asset_apply(&a->life, &event);
	if (todo.detach)
		detach(engine, todo.detach);
	if (todo.cut)
		srv_pool_cancel(engine->pool, a->life.job);
	if (todo.dequeue)
		srv_queue_remove(engine->queue, id);
	if (todo.queue)
		srv_queue_push(engine->queue, id, srv_engine_priority(engine, a, a->life.next.priority),
					   a->final_cook_ns);
	if (todo.forget_last)
		a->has_last = false;
	if (todo.touch)
		srv_publish_view_later(engine, id);
	engine->publish.view = true;
	return todo;
}

static void dirty(srv_engine *engine, uint32_t id, srv_priority priority, const char *kind, hob_str path)
{
	asset *a = &engine->assets[id];
	if (engine->closing || srv_engine_root_is_away(engine, a->root))
		return;
	if (srv_engine_joins(engine, id, false))
		srv_engine_join(engine, id);
	else if (a->batched && priority != SRV_PRIORITY_BACKGROUND)
		srv_engine_leave(engine, id);
	srv_engine_apply(engine, id,
					 (srv_asset_event){.kind = SRV_ASSET_DIRTY,
									   .reason = kind,
									   .path = path,
									   .priority = priority,
									   .force = strcmp(kind, "forced") == 0});
}

void srv_asset_dirty(srv_engine *engine, uint32_t id, srv_priority priority, const char *kind, hob_str path)
{
	if (srv_asset_is_alive(&engine->assets[id].life))
		dirty(engine, id, priority, kind, path);
}

void srv_asset_found(srv_engine *engine, uint32_t id, srv_priority priority)
{
	const asset *a = &engine->assets[id];
	dirty(engine, id, priority, srv_asset_is_alive(&a->life) ? "changed" : "added", hob_str_of(a->path));
}

void srv_asset_outdated(srv_engine *engine, uint32_t id, hob_str path)
{
	srv_engine_apply(
		engine, id,
		(srv_asset_event){
			.kind = SRV_ASSET_DIRTY, .reason = "changed", .path = path, .priority = SRV_PRIORITY_CHANGED});
}

void srv_asset_remove(srv_engine *engine, uint32_t id)
{
	asset *a = &engine->assets[id];
	if (!srv_asset_is_alive(&a->life))
		return;
	if (srv_engine_joins(engine, id, true))
		srv_engine_join(engine, id);
	else if (a->batched)
		srv_engine_leave(engine, id);
	if (!srv_engine_apply(engine, id, (srv_asset_event){.kind = SRV_ASSET_GONE}).publish)
		return;
	srv_publish_removed(engine, a);
	srv_graph_set_deps(engine->graph, id, NULL, 0);
	free(a->inputs);
	a->inputs = NULL;
	a->input_count = 0;
	a->audited_at_ms = a->audit_turn_ms = 0;
	hob_buf_clear(&a->audit);
	hob_buf_clear(&a->error);
	hob_buf_clear(&a->why);
}

/* ---- pool callbacks */

static void show_extensions(srv_engine *engine)
{
	uint32_t count;
	const srv_pool_importer *importers = srv_pool_importers(engine->pool, &count);
	hob_buf text = {0};
	hob_buf_put(&text, "\n", 1);
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t k = 0; k < importers[i].extension_count; k++)
			hob_buf_printf(&text, "%.*s\n", HOB_FMT(importers[i].extensions[k]));
	srv_views_set_extensions(engine->views, hob_buf_str(&text));
	engine->publish.view = true;
	hob_buf_release(&text);
}

/* The first worker tells which importers exist, and they decide which files are assets. */
static void on_pool_ready(void *user)
{
	srv_engine *engine = user;
	engine->pool_ready = true;
	show_extensions(engine);
	snprintf(engine->sandbox, sizeof engine->sandbox, "%s", srv_pool_sandbox(engine->pool));
	atomic_store(&engine->sandbox_known, true);
	for (uint32_t i = 0; i < engine->asset_count; i++)
		engine->assets[i].importer = srv_pool_importer_for(engine->pool, hob_str_of(engine->assets[i].path));
	srv_watch_deliver(engine->watch);
}

static void on_pool_idle(void *user)
{
	srv_engine *engine = user;
	srv_engine_feed_workers(engine);
	srv_engine_fill(engine);
	if (engine->audit)
		srv_engine_go_on_auditing(engine);
}

static void on_pool_progress(void *user, void *job_, hob_str stage, float fraction)
{
	const srv_engine *engine = user;
	if (engine->audit && srv_engine_is_audit(engine, job_))
		return;
	engine_job *job = job_;
	snprintf(job->stage, sizeof job->stage, "%.*s", HOB_FMT(stage));
	job->progress = fraction;
}

static void on_pool_trouble(void *user, const hob_error *why)
{
	srv_engine *engine = user;
	bool same = why && strcmp(engine->trouble.context, why->context) == 0;
	if (why && !same)
		srv_log(SRV_LOG_ERROR, "workers", "%s; %s", why->context, srv_engine_hint(why->code));
	if (!why)
		srv_log(SRV_LOG_INFO, "workers", "can be started again");
	uv_mutex_lock(&engine->post_lock);
	engine->trouble = why ? *why : (hob_error){0};
	uv_mutex_unlock(&engine->post_lock);
	engine->no_workers = why && srv_pool_alive(engine->pool) == 0;
	srv_engine_feed_workers(engine);
	for (uint32_t i = 0; i < engine->asset_count && !why; i++)
		srv_engine_apply(engine, i,
						 (srv_asset_event){.kind = SRV_ASSET_WORKERS_BACK,
										   .reason = "retry",
										   .priority = SRV_PRIORITY_BACKGROUND});
	srv_engine_fill(engine);
}

void srv_engine_trouble(void *user, hob_buf *out)
{
	srv_engine *engine = user;
	uv_mutex_lock(&engine->post_lock);
	if (engine->trouble.code != HOB_ERR_OK)
		hob_buf_printf(out, "%s; %s", engine->trouble.context, srv_engine_hint(engine->trouble.code));
	uv_mutex_unlock(&engine->post_lock);
}

/* ---- turns of the loop */

void srv_engine_fill(srv_engine *engine)
{
	/* A job that the cache answers ends inside srv_job_begin and asks for the next one. The loop keeps the stack flat. */
	if (engine->filling)
		return;
	engine->filling = true;
	uint32_t left = srv_engine_left_to_others(engine);
	for (uint32_t begun = 0; !engine->closing && engine->pool_ready; begun++) {
		srv_priority priority = srv_queue_most_urgent(engine->queue);
		uint32_t ahead = AHEAD * (uint32_t)(SRV_PRIORITY_COUNT - priority);
		/* Jobs that wait for the upstream use no resources here, and many of them share one question. */
		uint32_t elsewhere = engine->asking + left < ASKING_MAX ? engine->asking + left : ASKING_MAX;
		if (engine->jobs_alive - elsewhere >= srv_pool_size(engine->pool) + ahead)
			break;
		if (!srv_engine_has_time(engine, begun)) {
			srv_engine_go_on(engine);
			break;
		}
		uint32_t id = srv_queue_pop(engine->queue, &priority);
		if (id == HOB_NONE)
			break;
		if (!srv_job_begin(engine, id, priority))
			break;
	}
	engine->filling = false;
	if (engine->unclaimed)
		srv_engine_claim_more(engine);
	srv_engine_count_waiting(engine);
}

static void on_timer(uv_timer_t *timer)
{
	srv_engine *engine = timer->data;
	if (engine->closing) /* assets still point to jobs that are freed */
		return;
	srv_engine_heal_blobs(engine);
	srv_engine_keep_store(engine);
	if (engine->unclaimed)
		srv_engine_claim_more(engine);
	srv_engine_sweep(engine, TIMER_MS);
	srv_engine_keep_moves(engine);
	srv_engine_raise_used(engine);
	srv_engine_fill(engine);
	srv_engine_draw_thumbnails(engine);
	if (engine->audit)
		srv_engine_audit(engine);
}

/* ---- life */

void srv_engine_free(srv_engine *engine)
{
	if (!engine)
		return;
	for (uint32_t i = 0; i < engine->asset_count; i++) {
		asset *a = &engine->assets[i];
		free(a->full);
		free(a->inputs);
		hob_buf_release(&a->error);
		hob_buf_release(&a->why);
		srv_asset_release(&a->life);
		hob_buf_release(&a->audit);
	}
	for (uint32_t i = 0; i < engine->options.root_count; i++) {
		if (engine->root_fds && engine->root_fds[i] >= 0)
			close(engine->root_fds[i]);
		if (engine->root_states) {
			free(engine->root_states[i].note);
			free(engine->root_states[i].away);
		}
		if (engine->listed)
			srv_file_list_drop(engine->listed[i].list);
		if (engine->settings_caches)
			srv_settings_cache_free(engine->settings_caches[i]);
	}
	srv_upstream_free(engine->upstream);
	srv_engine_forget_promises(engine);
	srv_graph_free(engine->graph);
	srv_queue_free(engine->queue);
	srv_activity_free(engine->activity);
	free(engine->thumbnails);
	free(engine->audit);
	srv_engine_batches_free(engine->batches);
	srv_engine_spreads_free(engine->spreads);
	srv_engine_moves_free(engine->moves);
	hob_buf_release(&engine->changeset.all);
	hob_buf_release(&engine->printed.text);
	free(engine->assets);
	free(engine->due);
	srv_publish_release(&engine->publish);
	free(engine->active);
	free(engine->root_fds);
	free(engine->roots);
	free(engine->root_states);
	srv_engine_skipped_free(engine->skipped, engine->options.root_count);
	free(engine->root_settings);
	free(engine->settings_caches);
	free(engine->scanned);
	free(engine->listed);
	free(engine->scan_rounds);
	free(engine->young);
	srv_waiters_release(&engine->waiters);
	free(engine->post_queue);
	uv_mutex_destroy(&engine->post_lock);
	srv_engine_free_tasks(engine);
	hob_arena_release(&engine->scratch);
	free(engine);
}

bool srv_engine_new(uv_loop_t *loop, const srv_engine_options *options, srv_store *store, srv_events *events,
					srv_views *views, const srv_engine_callbacks *callbacks, srv_engine **out, hob_error *err)
{
	srv_engine *engine = calloc(1, sizeof *engine);
	if (!engine)
		return hob_fail(err, MEMORY, "no memory left for the engine");
	engine->loop = loop;
	engine->options = *options;
	if (engine->options.source_limit == 0)
		engine->options.source_limit = HOB_LIMIT_SOURCE_BYTES;
	engine->callbacks = *callbacks;
	engine->store = engine->publish.store = store;
	engine->events = engine->publish.events = events;
	engine->views = views;
	uint32_t roots = options->root_count;
	engine->root_fds = malloc((roots + 1) * sizeof *engine->root_fds);
	engine->roots = calloc(roots + 1, sizeof *engine->roots);
	engine->skipped = srv_engine_skipped_new(roots);
	engine->root_states = calloc(roots + 1, sizeof *engine->root_states);
	engine->root_settings = calloc(roots + 1, sizeof *engine->root_settings);
	engine->settings_caches = calloc(roots + 1, sizeof *engine->settings_caches);
	engine->scanned = calloc(roots + 1, sizeof *engine->scanned);
	engine->listed = calloc(roots + 1, sizeof *engine->listed);
	engine->scan_rounds = calloc(roots + 1, sizeof *engine->scan_rounds);
	engine->graph = srv_graph_new();
	engine->queue = srv_queue_new();
	engine->activity = srv_activity_new();
	engine->thumbnails = srv_engine_thumbnails_new();
	engine->audit = options->audit_s > 0 ? srv_engine_audit_new() : NULL;
	engine->batches = srv_engine_batches_new(options);
	engine->spreads = srv_engine_spreads_new();
	engine->moves = srv_engine_moves_new();
	uv_mutex_init(&engine->post_lock);
	hob_arena_init(&engine->scratch, 64 << 20);
	hob_arena_alloc(&engine->scratch, 1, 1);
	for (uint32_t i = 0; engine->root_fds && i < roots; i++)
		engine->root_fds[i] = -1;
	for (uint32_t i = 0; engine->root_settings && i < roots; i++)
		engine->root_settings[i] = options->roots[i].settings;
	bool caches = engine->settings_caches;
	for (uint32_t i = 0; caches && i < roots; i++)
		caches = (engine->settings_caches[i] = srv_settings_cache_new());
	bool memory = engine->root_fds && caches && engine->roots && engine->root_states && engine->skipped &&
				  engine->root_settings && engine->scanned && engine->listed && engine->scan_rounds &&
				  engine->graph && engine->queue && engine->activity && engine->batches && engine->spreads &&
				  engine->moves;
	if (!memory || !srv_engine_open_roots(engine, err)) {
		if (!memory)
			hob_fail(err, MEMORY, "no memory left for the engine");
		srv_engine_free(engine);
		return false;
	}
	srv_pool_options pool = {.worker_path = options->worker_path,
							 .workers = options->workers,
							 .timeout_ms = options->timeout_ms,
							 .memory_limit = options->memory_limit,
							 .source_limit = options->source_limit,
							 .sandbox = options->sandbox,
							 .blender = options->blender,
							 .root_fds = engine->root_fds,
							 .root_count = roots,
							 .one_first = true};
	srv_pool_callbacks pool_callbacks = {
		engine,			  on_pool_ready,	   on_pool_idle,		srv_engine_pool_done,
		on_pool_progress, srv_engine_part_get, srv_engine_part_put, on_pool_trouble};
	if (!srv_pool_new(loop, &pool, &pool_callbacks, &engine->pool, err)) {
		srv_engine_free(engine);
		return false;
	}
	srv_upstream_options upstream = {.url = options->upstream,
									 .token = options->upstream_token,
									 .cache = options->cache,
									 .farm = options->farm,
									 .give = options->push};
	engine->claim_chance = (uint64_t)srv_engine_now_ms() * 2654435761u + (uint64_t)getpid();
	bool asks = !options->upstream || srv_upstream_new(loop, &upstream, store, &engine->upstream, err);
	uv_loop_configure(loop, UV_METRICS_IDLE_TIME);
	uv_prepare_init(loop, &engine->flush);
	uv_idle_init(loop, &engine->more);
	uv_async_init(loop, &engine->posted, srv_engine_on_posted);
	uv_timer_init(loop, &engine->timer);
	uv_timer_init(loop, srv_engine_batch_timer(engine));
	engine->flush.data = engine->more.data = engine->posted.data = engine->timer.data =
		srv_engine_batch_timer(engine)->data = engine;
	engine->handles = 5;
	uv_prepare_start(&engine->flush, srv_engine_end_turn);
	uv_timer_start(&engine->timer, on_timer, TIMER_MS, TIMER_MS);
	engine->publish.view = true;
	*out = engine;
	/* The watch scans and the first worker starts while this thread reads the index. */
	srv_engine_look_at_machine(engine);
	return asks && srv_engine_start_watching(engine, err) && srv_engine_load(engine, err);
}

static void finish_close(srv_engine *engine)
{
	if (engine->watch || engine->pool || engine->handles > 0 || engine->jobs_alive > 0 ||
		engine->background > 0)
		return;
	engine->closed(engine->closed_user);
}

static void on_handle_closed(uv_handle_t *handle)
{
	srv_engine *engine = handle->data;
	engine->handles--;
	finish_close(engine);
}

static void on_watch_closed(void *user)
{
	srv_engine *engine = user;
	engine->watch = NULL;
	finish_close(engine);
}

/* The engine stays until no pool thread hashes or stores for a job; then the last handles close. */
static void close_when_idle(srv_engine *engine)
{
	if (engine->jobs_alive > 0 || engine->background > 0 || engine->pool)
		return;
	uv_close((uv_handle_t *)&engine->flush, on_handle_closed);
	uv_close((uv_handle_t *)&engine->more, on_handle_closed);
	uv_close((uv_handle_t *)&engine->posted, on_handle_closed);
	uv_close((uv_handle_t *)&engine->timer, on_handle_closed);
	uv_close((uv_handle_t *)srv_engine_batch_timer(engine), on_handle_closed);
}

static void on_pool_closed(void *user)
{
	srv_engine *engine = user;
	engine->pool = NULL;
	close_when_idle(engine);
}

static void on_upstream_closed(void *user)
{
	srv_engine_background_over(user);
}

void srv_engine_close(srv_engine *engine, void (*done)(void *user), void *user)
{
	srv_engine_publish_held(engine);
	srv_engine_flush(engine);
	engine->closing = true;
	atomic_store(&engine->stop_work, true);
	engine->closed = done;
	engine->closed_user = user;
	srv_engine_on_posted(&engine->posted);
	srv_engine_answer_waiters(engine);
	srv_engine_stop_tasks(engine);
	if (engine->audit)
		srv_engine_end_audit(engine);
	srv_engine_step_meetings(engine);
	while (engine->waiting) {
		engine_job *job = engine->waiting;
		engine->waiting = job->list_next;
		srv_job_end(job);
	}
	srv_engine_close_claims(engine);
	if (engine->upstream) {
		engine->background++;
		srv_upstream_close(engine->upstream, on_upstream_closed, engine);
	}
	if (engine->watch)
		srv_watch_close(engine->watch, on_watch_closed, engine);
	srv_pool_close(engine->pool, on_pool_closed, engine);
}

void srv_job_free(engine_job *job)
{
	srv_engine *engine = job->engine;
	assert(engine->closing || engine->assets[job->asset].life.job != job);
	if (job->claim != ENGINE_CLAIM_NONE)
		srv_engine_end_claim(job);
	for (uint32_t i = 0; i < engine->active_count; i++)
		if (engine->active[i] == job) {
			engine->active[i] = engine->active[--engine->active_count];
			break;
		}
	srv_outcome_free(job->outcome);
	hob_buf_release(&job->reasons);
	hob_arena_release(&job->arena);
	hob_arena_release(&job->found);
	engine->jobs_recorded -= job->recorded;
	free(job);
	engine->jobs_alive--;
	if (engine->closing)
		close_when_idle(engine);
}

void srv_engine_background_over(srv_engine *engine)
{
	engine->background--;
	if (engine->closing)
		close_when_idle(engine);
}

void srv_engine_set_settings(srv_engine *engine, const hob_settings *settings)
{
	for (uint32_t i = 0; i < engine->options.root_count; i++) {
		engine->root_settings[i] = engine->roots[i].settings = settings[i];
		srv_settings_forget(engine->settings_caches[i]);
	}
	engine->publish.view = true;
	for (uint32_t i = 0; i < engine->asset_count; i++)
		if (srv_asset_is_alive(&engine->assets[i].life) && !srv_asset_is_current(engine, &engine->assets[i]))
			srv_asset_dirty(engine, i, SRV_PRIORITY_BACKGROUND, "settings", HOB_STR("hob.json"));
	srv_engine_fill(engine);
}

srv_control_port srv_engine_port(srv_engine *engine)
{
	return (srv_control_port){engine, srv_engine_post};
}

srv_engine_counters *srv_engine_count(srv_engine *engine)
{
	return &engine->counters;
}

const char *srv_engine_sandbox(const srv_engine *engine)
{
	return atomic_load(&engine->sandbox_known) ? engine->sandbox : "unknown";
}

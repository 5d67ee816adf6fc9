#include "engine_private.h"

#include "../../core/formats/classic.h"
#include "../log/log.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- answers */

static void answer(srv_control *control, int status, const char *code, const char *detail)
{
	hob_buf body = {0};
	hob_buf_printf(&body, "{\"code\":\"%s\",\"detail\":", code);
	hob_buf_put_json(&body, hob_str_of(detail));
	hob_buf_put(&body, "}", 1);
	control->answer(control, status, hob_buf_str(&body));
	hob_buf_release(&body);
}

asset *engine_asked_asset(srv_engine *engine, srv_control *control)
{
	uint32_t id = engine_asset_by_name(engine, control->asset);
	if (id != HOB_NONE && engine->assets[id].alive)
		return &engine->assets[id];
	answer(control, 404, "http.not-found", "no such asset");
	return NULL;
}

/* ---- waiting */

static void add_waiter(srv_engine *engine, srv_control *control, uint32_t id)
{
	if (engine->waiter_count == engine->waiter_capacity) {
		uint32_t capacity = engine->waiter_capacity ? engine->waiter_capacity * 2 : 64;
		waiter *waiters = realloc(engine->waiters, capacity * sizeof *waiters);
		if (!waiters) {
			answer(control, 503, "internal", "no memory left to wait");
			return;
		}
		engine->waiters = waiters;
		engine->waiter_capacity = capacity;
	}
	uint32_t timeout = control->timeout_ms ? control->timeout_ms : 60000;
	waiter *w = &engine->waiters[engine->waiter_count++];
	*w = (waiter){.control = control,
				  .deadline_ms = uv_now(engine->loop) + timeout,
				  .asset = id,
				  .final = control->force};
	if (id != HOB_NONE)
		return;
	/* A barrier: a scan that began after now sees all that was written before now. One may be under way already, so
	 * it takes two. */
	w->rounds = calloc(engine->options.root_count + 1, sizeof *w->rounds);
	for (uint32_t i = 0; i < engine->options.root_count; i++) {
		if (w->rounds)
			w->rounds[i] = engine->scan_rounds[i] + 2;
		if (engine->watch)
			srv_watch_rescan(engine->watch, i);
	}
}

static bool is_busy(srv_engine *engine, uint32_t id)
{
	return engine->assets[id].job || engine->assets[id].dirty_again || srv_queue_has(engine->queue, id);
}

/* A preview answers whoever does not insist on the final cook. */
static bool has_preview(const srv_engine *engine, uint32_t id)
{
	const asset *a = &engine->assets[id];
	return a->job && a->job->previewed && a->good_is_preview && !a->dirty_again;
}

static bool all_idle(srv_engine *engine)
{
	return engine->jobs_alive == 0 && srv_queue_count(engine->queue) == 0;
}

static bool scans_over(srv_engine *engine, const waiter *w)
{
	for (uint32_t i = 0; i < engine->options.root_count; i++)
		if (w->rounds && engine->scan_rounds[i] < w->rounds[i])
			return false;
	return true;
}

static void answer_sync(srv_engine *engine, srv_control *control)
{
	hob_buf body = {0};
	bool first = true;
	hob_buf_printf(&body, "{\"rev\":%llu,\"failed\":[", (unsigned long long)engine->rev);
	for (uint32_t i = 0; i < engine->asset_count; i++) {
		const asset *a = &engine->assets[i];
		if (!a->alive || a->error.size == 0)
			continue;
		if (!first)
			hob_buf_put(&body, ",", 1);
		first = false;
		hob_buf_put_json(&body, hob_str_of(a->full));
	}
	hob_buf_put_str(&body, HOB_STR("]}"));
	control->answer(control, 200, hob_buf_str(&body));
	hob_buf_release(&body);
}

void engine_scan_for_waiters(srv_engine *engine, uint32_t root)
{
	for (uint32_t i = 0; i < engine->waiter_count; i++) {
		const waiter *w = &engine->waiters[i];
		if (w->rounds && engine->scan_rounds[root] < w->rounds[root]) {
			srv_watch_rescan(engine->watch, root);
			return;
		}
	}
}

void engine_answer_waiters(srv_engine *engine)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < engine->waiter_count; i++) {
		waiter w = engine->waiters[i];
		bool late = uv_now(engine->loop) >= w.deadline_ms;
		bool done = w.asset == HOB_NONE
						? scans_over(engine, &w) && all_idle(engine)
						: !is_busy(engine, w.asset) || (!w.final && has_preview(engine, w.asset));
		/* Whoever is answered sees what the answer speaks of. */
		if (done)
			engine_flush(engine);
		if (engine->closing)
			answer(w.control, 503, "http.draining", "Hob is stopping");
		else if (done && w.asset == HOB_NONE)
			answer_sync(engine, w.control);
		else if (done)
			w.control->answer(w.control, 200, HOB_STR("{}"));
		else if (late && w.asset == HOB_NONE)
			answer(w.control, 504, "sync-timeout", "not everything was cooked in time");
		else if (late)
			w.control->answer(w.control, 200, HOB_STR("{}"));
		else {
			engine->waiters[kept++] = w;
			continue;
		}
		free(w.rounds);
	}
	engine->waiter_count = kept;
}

static void control_wait(srv_engine *engine, srv_control *control)
{
	asset *a = engine_asked_asset(engine, control);
	if (!a)
		return;
	uint32_t id = (uint32_t)(a - engine->assets);
	if (srv_queue_has(engine->queue, id))
		srv_queue_push(engine->queue, id, SRV_PRIORITY_WAITED, 0);
	add_waiter(engine, control, id);
	engine_fill(engine);
	engine_answer_waiters(engine);
}

static void control_cook(srv_engine *engine, srv_control *control)
{
	asset *a = engine_asked_asset(engine, control);
	if (!a)
		return;
	uint32_t id = (uint32_t)(a - engine->assets);
	if (!a->importer) {
		answer(control, 409, "starting", "the cook processes are not ready yet");
		return;
	}
	/* A person asks: the memory of crashes and digests is not trusted. */
	a->crashes = 0;
	a->forced = control->force;
	srv_graph_at(engine->graph, a->file)->has_digest = false;
	asset_dirty(engine, id, SRV_PRIORITY_WAITED, control->force ? "forced" : "asked", (hob_str){0});
	engine_fill(engine);
	hob_buf body = {0};
	hob_buf_printf(&body, "{\"job\":%llu}", (unsigned long long)(a->job ? a->job->id : engine->next_job + 1));
	control->answer(control, 202, hob_buf_str(&body));
	hob_buf_release(&body);
}

/* ---- classic outputs on request */

typedef struct classic_work {
	srv_engine *engine;
	srv_control *control;
	uv_work_t work;
	uint32_t asset;
	hob_sha256 recipe;
	hob_sha256 inputs[3];
	srv_recipe_output outputs[3];
	hob_error error;
} classic_work;

static const char *const packed_names[3] = {"meshes", "materials", "scene"};
static const char *const classic_names[3] = {"classic.meshes", "classic.materials", "classic.scene"};

static hob_bytes map_blob(srv_store *store, const hob_sha256 *digest, hob_error *err)
{
	uint64_t size = 0;
	int fd = srv_blob_open(store, digest, &size);
	void *at = fd >= 0 && size > 0 ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
	if (fd >= 0)
		close(fd);
	if (at == MAP_FAILED) {
		hob_fail(err, IO, "a blob of this asset cannot be read; it is cooked again");
		return (hob_bytes){0};
	}
	return (hob_bytes){at, size};
}

static void classic_run(uv_work_t *work)
{
	classic_work *job = work->data;
	hob_bytes packed[3] = {0};
	hob_classic_files classic = {0};
	hob_arena arena;
	hob_arena_init(&arena, 1 << 20);
	hob_notes notes = {.arena = &arena};
	bool ok = true;
	for (int i = 0; i < 3 && ok; i++) {
		packed[i] = map_blob(job->engine->store, &job->inputs[i], &job->error);
		ok = packed[i].data != NULL;
	}
	hob_pack_set set = {.meshes = packed[0], .materials = packed[1], .scene = packed[2]};
	ok = ok && hob_classic_from_packed(&set, &notes, &classic, &job->error);
	hob_buf *made[3] = {&classic.meshes, &classic.materials, &classic.scene};
	for (int i = 0; i < 3 && ok; i++) {
		job->outputs[i].name = hob_str_of(classic_names[i]);
		job->outputs[i].size = made[i]->size;
		ok = srv_blob_put(job->engine->store, hob_buf_bytes(made[i]), &job->outputs[i].digest, &job->error);
	}
	for (uint32_t i = 0; ok && i < notes.count; i++)
		srv_log(SRV_LOG_INFO, "classic", "%.*s: %.*s", HOB_FMT(job->control->asset),
				HOB_FMT(notes.items[i].text));
	hob_arena_release(&arena);
	hob_classic_files_release(&classic);
	for (int i = 0; i < 3; i++)
		if (packed[i].data)
			munmap((void *)(uintptr_t)packed[i].data, packed[i].size);
}

static void classic_done(uv_work_t *work, int status)
{
	(void)status;
	classic_work *job = work->data;
	srv_engine *engine = job->engine;
	hob_error error = job->error;
	if (error.code == HOB_ERR_OK &&
		srv_store_add_outputs(engine->store, &job->recipe, job->outputs, 3, &error)) {
		engine->store_dirty = true;
		publish_view(engine, &engine->assets[job->asset]);
		srv_views_publish(engine->views, engine->rev, engine->ready);
		job->control->answer(job->control, 200, HOB_STR("{}"));
	} else {
		answer(job->control, hob_err_http(error.code), hob_err_name(error.code), error.context);
	}
	free(job);
	engine_background_over(engine);
}

static void control_classic(srv_engine *engine, srv_control *control)
{
	asset *a = engine_asked_asset(engine, control);
	if (!a)
		return;
	hob_arena arena;
	hob_arena_init(&arena, 16 << 20);
	srv_recipe recipe;
	hob_error error;
	classic_work *job = calloc(1, sizeof *job);
	uint32_t found = 0;
	bool has = job && a->has_good && srv_store_recipe(engine->store, &a->good, &arena, &recipe, &error);
	bool made = false;
	for (uint32_t i = 0; has && i < recipe.output_count; i++) {
		made = made || hob_str_equal(recipe.outputs[i].name, hob_str_of(classic_names[0]));
		for (int n = 0; n < 3; n++)
			if (hob_str_equal(recipe.outputs[i].name, hob_str_of(packed_names[n]))) {
				job->inputs[n] = recipe.outputs[i].digest;
				found++;
			}
	}
	hob_arena_release(&arena);
	if (made) {
		control->answer(control, 200, HOB_STR("{}"));
		free(job);
	} else if (found != 3) {
		answer(control, 404, "http.not-found",
			   "this asset has no cooked outputs to make the classic layout from");
		free(job);
	} else {
		job->engine = engine;
		job->control = control;
		job->asset = (uint32_t)(a - engine->assets);
		job->recipe = a->good;
		job->work.data = job;
		engine->background++;
		uv_queue_work(engine->loop, &job->work, classic_run, classic_done);
	}
}

/* ---- jobs */

static void put_live_job(srv_engine *engine, uint32_t id, hob_buf *out)
{
	const asset *a = &engine->assets[id];
	const engine_job *job = a->job;
	if (out->size > 0)
		hob_buf_put(out, ",", 1);
	hob_buf_printf(out, "{\"id\":%llu,\"asset\":", job ? (unsigned long long)job->id : 0ull);
	hob_buf_put_json(out, hob_str_of(a->full));
	const char *state = !job ? "queued" : job->on_worker ? "cooking" : job->outcome ? "storing" : "checking";
	hob_buf_printf(out, ",\"state\":\"%s\",\"result\":null,\"queued_at_ms\":%lld", state,
				   (long long)(job ? job->queued_at_ms : a->queued_at_ms));
	if (job && job->on_worker) {
		hob_buf_printf(out, ",\"progress\":%.3f,\"stage\":", (double)job->progress);
		hob_buf_put_json(out, hob_str_of(job->stage));
	}
	hob_buf_put_str(out, HOB_STR(",\"reason\":["));
	hob_buf_put_str(out, hob_buf_str(job ? &job->reasons : &a->reasons));
	hob_buf_put_str(out, HOB_STR("]}"));
}

static void put_past_job(const srv_job_row *row, hob_buf *out)
{
	if (out->size > 0)
		hob_buf_put(out, ",", 1);
	hob_buf_printf(out, "{\"id\":%llu,\"asset\":", (unsigned long long)row->id);
	hob_buf_put_json(out, row->asset);
	hob_buf_put_str(out, HOB_STR(",\"state\":\"done\",\"result\":"));
	hob_buf_put_json(out, row->result);
	hob_buf_printf(out,
				   ",\"queued_at_ms\":%lld,\"started_at_ms\":%lld,\"finished_at_ms\":%lld,\"cook_ms\":%.3f,"
				   "\"peak_bytes\":%llu,\"reason\":",
				   (long long)row->queued_at_ms, (long long)row->started_at_ms,
				   (long long)row->finished_at_ms, (double)row->cook_ns / 1e6,
				   (unsigned long long)row->peak_bytes);
	hob_buf_put_str(out, row->reason.len > 0 ? row->reason : HOB_STR("[]"));
	hob_buf_put_str(out, HOB_STR(",\"error\":"));
	hob_buf_put_str(out, row->error.len > 0 ? row->error : HOB_STR("null"));
	hob_buf_put(out, "}", 1);
}

static void control_jobs(srv_engine *engine, srv_control *control)
{
	uint32_t limit = control->number2 > 0 && control->number2 <= 1000 ? (uint32_t)control->number2 : 100;
	hob_arena arena;
	hob_arena_init(&arena, 64 << 20);
	hob_buf items = {0};
	uint32_t given = 0;
	if (control->number == 0) {
		for (uint32_t i = 0; i < engine->asset_count && given < limit; i++) {
			const asset *a = &engine->assets[i];
			bool wanted = control->asset.len == 0 || hob_str_equal(control->asset, hob_str_of(a->full));
			if (wanted && a->job) {
				put_live_job(engine, i, &items);
				given++;
			}
		}
		uint32_t *queued = HOB_NEW(&arena, uint32_t, limit);
		uint32_t count = queued ? srv_queue_peek(engine->queue, queued, limit) : 0;
		for (uint32_t i = 0; i < count && given < limit; i++) {
			if (control->asset.len > 0 &&
				!hob_str_equal(control->asset, hob_str_of(engine->assets[queued[i]].full)))
				continue;
			put_live_job(engine, queued[i], &items);
			given++;
		}
	}
	srv_job_row *rows = NULL;
	uint32_t count = 0;
	hob_error error = {0};
	uint64_t next = 0;
	if (given < limit && srv_store_jobs(engine->store, control->asset, control->number, limit - given, &arena,
										&rows, &count, &error))
		for (uint32_t i = 0; i < count; i++) {
			put_past_job(&rows[i], &items);
			next = rows[i].id;
		}
	hob_buf body = {0};
	hob_buf_put_str(&body, HOB_STR("{\"items\":["));
	hob_buf_put_str(&body, hob_buf_str(&items));
	if (given + count == limit && next > 0)
		hob_buf_printf(&body, "],\"next\":%llu}", (unsigned long long)next);
	else
		hob_buf_put_str(&body, HOB_STR("],\"next\":null}"));
	control->answer(control, 200, hob_buf_str(&body));
	hob_buf_release(&items);
	hob_buf_release(&body);
	hob_arena_release(&arena);
}

/* Job ids are dense and newest first, so one job is a page of one that begins above it. */
static bool find_job(srv_engine *engine, srv_control *control, hob_arena *arena, srv_job_row *out)
{
	srv_job_row *rows;
	uint32_t count;
	hob_error error;
	uint64_t before = control->number > 0 ? control->number + 1 : 0;
	hob_str of = control->number > 0 ? (hob_str){0} : control->asset;
	if (!srv_store_jobs(engine->store, of, before, 1, arena, &rows, &count, &error) || count == 0 ||
		(control->number > 0 && rows[0].id != control->number))
		return false;
	*out = rows[0];
	return true;
}

static void control_job(srv_engine *engine, srv_control *control)
{
	hob_arena arena;
	hob_arena_init(&arena, 16 << 20);
	hob_buf body = {0};
	srv_job_row row;
	for (uint32_t i = 0; i < engine->asset_count && body.size == 0; i++)
		if (engine->assets[i].job && engine->assets[i].job->id == control->number)
			put_live_job(engine, i, &body);
	if (body.size == 0 && find_job(engine, control, &arena, &row))
		put_past_job(&row, &body);
	if (body.size > 0)
		control->answer(control, 200, hob_buf_str(&body));
	else
		answer(control, 404, "http.not-found", "no such job");
	hob_buf_release(&body);
	hob_arena_release(&arena);
}

static void control_log(srv_engine *engine, srv_control *control)
{
	hob_arena arena;
	hob_arena_init(&arena, 16 << 20);
	srv_job_row row;
	if (find_job(engine, control, &arena, &row))
		control->answer(control, 200, row.log);
	else
		answer(control, 404, "http.not-found", "no job of this asset has finished yet");
	hob_arena_release(&arena);
}

/* ---- messages from the HTTP thread */

static void dispatch(srv_engine *engine, srv_control *control)
{
	if (engine->closing) {
		answer(control, 503, "http.draining", "Hob is stopping");
		return;
	}
	switch (control->kind) {
	case SRV_CONTROL_COOK:
		control_cook(engine, control);
		break;
	case SRV_CONTROL_WAIT:
		control_wait(engine, control);
		break;
	case SRV_CONTROL_CLASSIC:
		control_classic(engine, control);
		break;
	case SRV_CONTROL_SYNC:
		add_waiter(engine, control, HOB_NONE);
		break;
	case SRV_CONTROL_JOBS:
		control_jobs(engine, control);
		break;
	case SRV_CONTROL_JOB:
		control_job(engine, control);
		break;
	case SRV_CONTROL_WHY:
		engine_why(engine, control);
		break;
	case SRV_CONTROL_LOG:
		control_log(engine, control);
		break;
	}
}

void engine_post(void *user, srv_control *control)
{
	srv_engine *engine = user;
	bool kept = true;
	uv_mutex_lock(&engine->post_lock);
	if (engine->post_count == engine->post_capacity) {
		uint32_t capacity = engine->post_capacity ? engine->post_capacity * 2 : 64;
		srv_control **queue = realloc(engine->post_queue, capacity * sizeof *queue);
		kept = queue != NULL;
		if (kept) {
			engine->post_queue = queue;
			engine->post_capacity = capacity;
		}
	}
	if (kept)
		engine->post_queue[engine->post_count++] = control;
	uv_mutex_unlock(&engine->post_lock);
	if (kept)
		uv_async_send(&engine->posted);
	else
		answer(control, 503, "internal", "no memory left to ask");
}

void engine_on_posted(uv_async_t *async)
{
	srv_engine *engine = async->data;
	uv_mutex_lock(&engine->post_lock);
	srv_control **queue = engine->post_queue;
	uint32_t count = engine->post_count;
	engine->post_queue = NULL;
	engine->post_count = engine->post_capacity = 0;
	uv_mutex_unlock(&engine->post_lock);
	for (uint32_t i = 0; i < count; i++)
		dispatch(engine, queue[i]);
	free(queue);
}

#include "pool_private.h"

#include "../../core/base/array.h"
#include "../../core/base/limits.h"
#include "process_state.h"
#include "spawn.h"
#include "orphans.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- outcomes */

void srv_outcome_free(srv_outcome *outcome)
{
	if (!outcome)
		return;
	if (outcome->mapping)
		munmap(outcome->mapping, outcome->mapping_size);
	hob_arena_release(&outcome->arena);
	hob_buf_release(&outcome->log_text);
	free(outcome);
}

void srv_outcome_stalled_again(srv_outcome *outcome)
{
	(void)hob_fail_in(&outcome->error,
					  "so it was twice in a row: its reader waits for ever, or this machine was "
					  "stopped or is overloaded");
}

srv_outcome *srv_pool_outcome(worker *w)
{
	srv_outcome *outcome = hob_must(calloc(1, sizeof *outcome));
	hob_arena_init(&outcome->arena, 256 << 20);
	outcome->log_text = w->log;
	outcome->log = hob_buf_str(&outcome->log_text);
	w->log = (hob_buf){0};
	if (w->touched_by != w->answered)
		return outcome;
	outcome->touched = HOB_NEW(&outcome->arena, hob_str, w->touched_count);
	hob_str paths = hob_arena_str(&outcome->arena, hob_buf_str(&w->touched));
	for (size_t at = 0; outcome->touched && paths.data && outcome->touched_count < w->touched_count;) {
		hob_str path = hob_str_of(paths.data + at);
		outcome->touched[outcome->touched_count++] = path;
		at += path.len + 1;
	}
	return outcome;
}

uint32_t srv_pool_running(const worker *w)
{
	uint32_t said = w->gauge ? w->gauge->model : 0, at = w->answered;
	if (said / SRV_BUNDLE == w->bundle && said % SRV_BUNDLE > at && said % SRV_BUNDLE < w->job_count)
		at = said % SRV_BUNDLE;
	while (at < w->job_count && !w->jobs[at])
		at++;
	return at;
}

static void end_job(worker *w, uint32_t at, srv_outcome *outcome)
{
	void *job = w->jobs[at];
	w->jobs[at] = NULL;
	outcome->cancelled = outcome->cancelled || w->left[at];
	w->pool->callbacks.done(w->pool->callbacks.user, job, outcome);
}

void srv_pool_finish(worker *w, srv_outcome *outcome)
{
	uint32_t at = w->answered++;
	assert(at < w->job_count);
	if (w->answered == w->job_count) {
		w->cancelled = false;
		uv_timer_stop(&w->deadline);
		srv_claims_leave(&w->pool->claims, (uint32_t)(w - w->pool->workers));
		srv_pool_wake_waiters(w->pool);
	}
	if (w->jobs[at])
		end_job(w, at, outcome);
	else
		srv_outcome_free(outcome);
}

void srv_pool_give_back(worker *w, uint32_t but)
{
	w->shared = false;
	for (uint32_t i = w->answered; i < w->job_count; i++) {
		if (i == but || !w->jobs[i])
			continue;
		srv_outcome *outcome = hob_must(calloc(1, sizeof *outcome));
		hob_arena_init(&outcome->arena, 1 << 10);
		outcome->cancelled = outcome->unbegun = true;
		end_job(w, i, outcome);
	}
}

/* ---- opening */

static bool find_worker(srv_pool *pool, hob_error *err)
{
	if (pool->options.worker_path) {
		snprintf(pool->worker_path, sizeof pool->worker_path, "%s", pool->options.worker_path);
		return access(pool->worker_path, X_OK) == 0 ||
			   hob_fail(err, IO, "'%s' cannot be run: %s", pool->worker_path, strerror(errno));
	}
	return srv_find_program("hob-worker", pool->worker_path) ||
		   hob_fail(err, NO_WORKER, "hob-worker is not beside hob; put it there, or install Hob again");
}

/* Finds the worker program's path as the kernel reports it, to recognise orphans. */
static bool resolve_worker(srv_pool *pool, hob_error *err)
{
	if (!find_worker(pool, err))
		return false;
	char *path = realpath(pool->worker_path, NULL);
	if (path)
		snprintf(pool->worker_path, sizeof pool->worker_path, "%s", path);
	free(path);
#ifdef HOB_ASSIMP_FILE
	/* Cook keys hold the version of Assimp, which hob-worker-lean knows of this file only. */
	struct stat info;
	snprintf(pool->lean_path, sizeof pool->lean_path, "%s-lean", pool->worker_path);
	if (stat(HOB_ASSIMP_FILE, &info) != 0 || info.st_size != HOB_ASSIMP_BYTES || getenv("LD_PRELOAD") ||
		getenv("LD_LIBRARY_PATH") || access(pool->lean_path, X_OK) != 0)
		pool->lean_path[0] = 0;
#endif
	return true;
}

bool srv_pool_new(uv_loop_t *loop, const srv_pool_options *options, const srv_pool_callbacks *callbacks,
				  srv_pool **out, hob_error *err)
{
	srv_pool *pool = hob_must(calloc(1, sizeof *pool));
	pool->loop = loop;
	pool->options = *options;
	pool->callbacks = *callbacks;
	pool->respawn_ms = RESPAWN_FIRST_MS;
	if (pool->options.timeout_ms == 0)
		pool->options.timeout_ms = 300000;
	if (pool->options.source_limit == 0)
		pool->options.source_limit = HOB_LIMIT_SOURCE_BYTES;
	if (pool->options.memory_limit == 0)
		pool->options.memory_limit = 4ull << 30;
	pool->count = options->workers ? options->workers : (uint32_t)uv_available_parallelism();
	pool->workers = hob_must(calloc(pool->count, sizeof *pool->workers));
	pool->root_fds = hob_must(calloc(options->root_count + 1, sizeof *pool->root_fds));
	hob_arena_init(&pool->arena, 1 << 20);
	snprintf(pool->sandbox, sizeof pool->sandbox, "unknown");
	if (!resolve_worker(pool, err)) {
		free(pool->workers);
		free(pool->root_fds);
		free(pool);
		return false;
	}
	srv_pool_find_blender(pool, options->blender);
	for (uint32_t i = 0; i < options->root_count; i++)
		pool->root_fds[i] = fcntl(options->root_fds[i], F_DUPFD_CLOEXEC, 3);
	uv_signal_init(loop, &pool->child);
	pool->child.data = pool;
	uv_signal_start(&pool->child, srv_pool_on_child, SIGCHLD);
	srv_orphans_adopt();
	setenv("GLIBC_TUNABLES", SRV_WORKER_TUNABLES, 0);
	uv_timer_init(loop, &pool->respawn);
	uv_timer_init(loop, &pool->look);
	pool->respawn.data = pool->look.data = pool;
	pool->open_handles = 3;
	for (uint32_t i = 0; i < pool->count; i++) {
		worker *w = &pool->workers[i];
		w->pool = pool;
		w->socket = w->output = -1;
		uv_timer_init(loop, &w->deadline);
		w->deadline.data = w;
		pool->open_handles++;
	}
	/* The first worker starts asynchronously. If it cannot start, the loop tries again and reports it later,
	 * because the callbacks are not ready yet. */
	if (!srv_pool_spawn(&pool->workers[0], &(hob_error){0}) || !options->one_first)
		srv_pool_fill(pool);
	*out = pool;
	return true;
}

void srv_pool_fill(srv_pool *pool)
{
	if (!pool->closing && !uv_is_active((uv_handle_t *)&pool->respawn))
		uv_timer_start(&pool->respawn, srv_pool_on_respawn, 0, 0);
}

/* ---- jobs */

static void limit_cpu(srv_pool *pool, worker *w, uint32_t threads)
{
	uint64_t used;
	if (!srv_process_cpu_ns(w->pid, &used))
		return;
	w->cpu_before_ns = used;
	uint64_t each =
		pool->options.cpu_seconds ? pool->options.cpu_seconds : pool->options.timeout_ms / 500 + 1;
	rlim_t bound = (rlim_t)(used / 1000000000) + each * threads + 1;
	struct rlimit limit = {bound, RLIM_INFINITY};
	prlimit(w->pid, RLIMIT_CPU, &limit, NULL);
}

static bool start_on(worker *w, uint32_t count, void *const *jobs, const srv_pool_job *what)
{
	srv_pool *pool = w->pool;
	hob_own_buf payload = {0};
	hob_error error;
	assert(count > 0 && count <= SRV_BUNDLE);
	uint32_t threads = what->threads ? what->threads : (uint32_t)uv_available_parallelism();
	for (uint32_t i = 0; i < count; i++) {
		srv_job_head head = {.settings = what[i].settings,
							 .profile = what[i].profile,
							 .threads = threads,
							 .root = what[i].root,
							 .mapped = what[i].mapped,
							 .path_size = (uint32_t)what[i].path.len,
							 .text_size = (uint32_t)what[i].text.len};
		hob_buf_put(&payload, &head, sizeof head);
		hob_buf_put_str(&payload, what[i].path);
		hob_buf_put_str(&payload, what[i].text);
	}
	srv_frame frame = {
		.type = SRV_FRAME_JOB, .number = count, .a = ++w->bundle, .payload_size = (uint32_t)payload.size};
	bool fits = !payload.failed && payload.size <= SRV_FRAME_PAYLOAD;
	if (fits)
		limit_cpu(pool, w, threads);
	bool sent = fits && srv_frame_send(w->socket, &frame, payload.data, -1, &error);
	if (!sent && fits)
		srv_pool_kill(w, HOB_ERR_IO, error.context);
	if (!sent)
		return false;
	hob_buf_clear(&w->log);
	hob_buf_clear(&w->touched);
	w->touched_count = w->touched_by = 0;
	w->part_bytes = 0;
	w->files_before = w->file_bytes;
	w->refused = false;
	w->began_ns = uv_hrtime();
	w->state = BUSY;
	w->job_count = count;
	w->answered = 0;
	w->shared = count > 1;
	memcpy(w->jobs, jobs, count * sizeof *jobs);
	memset(w->left, 0, sizeof w->left);
	w->cancelled = w->has_why = w->stalled = w->looked = w->waits = false;
	w->export.root = what->root;
	uv_timer_start(&w->deadline, srv_pool_on_deadline, count > 1 ? SHARED_MS : pool->options.timeout_ms / 4,
				   0);
	return true;
}

/* Sets the priority of the process group, because each thread has its own. */
static bool set_lowered(worker *w, bool lowered)
{
	int priority = lowered ? 19 : getpriority(PRIO_PROCESS, 0);
	if (w->lowered != lowered && setpriority(PRIO_PGRP, (id_t)w->pid, priority) != 0)
		return false;
	w->lowered = lowered;
	return true;
}

bool srv_pool_start(srv_pool *pool, uint32_t count, void *const *jobs, const srv_pool_job *what)
{
	worker *fit = NULL, *used = NULL;
	for (uint32_t i = 0; i < pool->count; i++) {
		worker *w = &pool->workers[i];
		if (w->state != IDLE)
			continue;
		used = w;
		if (!fit || w->lowered != what->waited)
			fit = w;
	}
	if (fit && (set_lowered(fit, !what->waited) || !what->waited || !what->slow))
		return start_on(fit, count, jobs, what);
	if (used)
		srv_pool_kill(used, HOB_ERR_CHANGED, "a new one takes its place");
	return false;
}

/* The worker that has the job, and the job's number in its bundle. */
static worker *worker_of(srv_pool *pool, const void *job, uint32_t *at)
{
	for (uint32_t i = 0; i < pool->count; i++) {
		worker *w = &pool->workers[i];
		for (*at = w->answered; w->state == BUSY && *at < w->job_count; (*at)++)
			if (w->jobs[*at] == job)
				return w;
	}
	return NULL;
}

void srv_pool_hurry(srv_pool *pool, void *job)
{
	uint32_t at;
	worker *w = worker_of(pool, job, &at);
	if (w)
		(void)set_lowered(w, false);
}

bool srv_pool_cancel(srv_pool *pool, void *job)
{
	uint32_t at;
	worker *w = worker_of(pool, job, &at);
	if (!w)
		return false;
	w->left[at] = true;
	if (at == srv_pool_running(w)) {
		w->cancelled = true;
		srv_pool_kill(w, HOB_ERR_CHANGED, "cancelled");
	}
	return true;
}

bool srv_pool_leave(srv_pool *pool, void *job, uint32_t most_ms)
{
	uint32_t at;
	worker *w = worker_of(pool, job, &at);
	if (!w)
		return false;
	w->left[at] = true;
	if (w->shared || at != srv_pool_running(w)) /* it is over soon, or given back */
		return true;
	w->cancelled = true;
	w->left_ms = most_ms;
	if (!w->waits)
		uv_timer_start(&w->deadline, srv_pool_on_deadline, most_ms, 0);
	return true;
}

void srv_pool_set_root(srv_pool *pool, uint32_t root, int fd)
{
	dup3(fd, pool->root_fds[root], O_CLOEXEC);
	for (uint32_t i = 0; i < pool->count; i++) {
		worker *w = &pool->workers[i];
		w->outdated = w->state != GONE;
		if (w->state == BUSY)
			srv_pool_give_back(w, srv_pool_running(w));
		if (w->state == IDLE)
			srv_pool_kill(w, HOB_ERR_CHANGED, "its folders are others now");
	}
}

uint32_t srv_pool_idle(const srv_pool *pool)
{
	uint32_t idle = 0;
	for (uint32_t i = 0; i < pool->count; i++)
		idle += pool->workers[i].state == IDLE;
	return idle;
}

uint32_t srv_pool_alive(const srv_pool *pool)
{
	uint32_t alive = 0;
	for (uint32_t i = 0; i < pool->count; i++)
		alive += pool->workers[i].state == STARTING || pool->workers[i].state == IDLE ||
				 pool->workers[i].state == BUSY;
	return alive;
}

uint32_t srv_pool_size(const srv_pool *pool)
{
	return pool->count;
}

const srv_pool_importer *srv_pool_importers(const srv_pool *pool, uint32_t *count)
{
	*count = pool->importers.count;
	return pool->importers.items;
}

const srv_pool_importer *srv_pool_importer_for(const srv_pool *pool, hob_str path)
{
	return srv_importer_table_find(&pool->importers, path);
}

const char *srv_pool_sandbox(srv_pool *pool)
{
	static const char mounts[] = ", mounts";
	size_t size = strlen(pool->sandbox);
	if (srv_pool_may_mount(pool) && !strstr(pool->sandbox, mounts))
		snprintf(pool->sandbox + size, sizeof pool->sandbox - size, mounts);
	return pool->sandbox;
}

/* ---- closing */

static void on_handle_closed(uv_handle_t *handle)
{
	srv_pool *pool = handle->data;
	pool->open_handles--;
	srv_pool_maybe_closed(pool);
}

static void on_timer_closed(uv_handle_t *handle)
{
	worker *w = handle->data;
	w->pool->open_handles--;
	srv_pool_maybe_closed(w->pool);
}

static void release_slot(worker *w)
{
	hob_buf_release(&w->log);
	hob_buf_release(&w->touched);
	if (w->gauge)
		munmap(w->gauge, sizeof *w->gauge);
}

/* Two steps: when the last worker is reaped, the pool's own handles are closed; when the last handle is
 * closed, the memory is freed. */
void srv_pool_maybe_closed(srv_pool *pool)
{
	if (!pool->closing || pool->parts_pending > 0)
		return;
	for (uint32_t i = 0; i < pool->count; i++)
		if (pool->workers[i].state != GONE || pool->workers[i].export.pid > 0)
			return;
	if (!uv_is_closing((uv_handle_t *)&pool->child)) {
		uv_close((uv_handle_t *)&pool->child, on_handle_closed);
		uv_close((uv_handle_t *)&pool->respawn, on_handle_closed);
		uv_close((uv_handle_t *)&pool->look, on_handle_closed);
		for (uint32_t i = 0; i < pool->count; i++)
			uv_close((uv_handle_t *)&pool->workers[i].deadline, on_timer_closed);
		return;
	}
	if (pool->open_handles > 0)
		return;
	void (*closed)(void *user) = pool->closed;
	void *user = pool->closed_user;
	for (uint32_t i = 0; i < pool->count; i++)
		release_slot(&pool->workers[i]);
	for (uint32_t i = 0; i < pool->options.root_count; i++)
		close(pool->root_fds[i]);
	for (uint32_t i = 0; i < pool->part_count; i++)
		close(pool->parts[i].fd);
	hob_arena_release(&pool->arena);
	srv_claims_release(&pool->claims);
	free(pool->root_fds);
	free(pool->workers);
	free(pool->parts);
	free(pool);
	closed(user);
}

void srv_pool_close(srv_pool *pool, void (*done)(void *user), void *user)
{
	pool->closing = true;
	pool->closed = done;
	pool->closed_user = user;
	uv_timer_stop(&pool->respawn);
	for (uint32_t i = 0; i < pool->count; i++) {
		pool->workers[i].cancelled = true;
		srv_pool_kill(&pool->workers[i], HOB_ERR_CHANGED, "Hob is stopping");
	}
	srv_pool_maybe_closed(pool);
}

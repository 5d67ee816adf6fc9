#include "machine.h"
#include "orphans.h"
#include "pool_private.h"
#include "process_state.h"
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOG_CAP = 64 << 10, RESPAWN_MAX_MS = 10000, START_DEADLINE_MS = 20000, READS_MAX = 64 };

/* ---- ending */

static void on_poll_closed(uv_handle_t *handle)
{
	srv_pool *pool = handle->data;
	free(handle);
	pool->open_handles--;
	srv_pool_maybe_closed(pool);
}

static void close_poll(uv_poll_t **poll, int *fd)
{
	if (*poll) {
		uv_poll_stop(*poll);
		uv_close((uv_handle_t *)*poll, on_poll_closed);
		*poll = NULL;
	}
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void srv_pool_end(worker *w)
{
	w->state = DYING;
	uv_timer_stop(&w->deadline);
	/* Otherwise the closed socket would wake the loop repeatedly until the process is reaped. */
	if (w->socket_poll)
		uv_poll_stop(w->socket_poll);
	kill(-w->pid, SIGKILL);
	kill(w->pid, SIGKILL);
	srv_pool_export_kill(w);
}

void srv_pool_kill(worker *w, hob_err_code code, const char *text)
{
	if (w->state == GONE || w->state == DYING)
		return;
	if (!w->has_why) {
		w->has_why = true;
		hob_error_set(&w->why, code, "", 0, "%s", text);
	}
	srv_pool_end(w);
}

void srv_pool_drain(worker *w)
{
	char bytes[4096];
	for (int turn = 0; turn < READS_MAX; turn++) {
		ssize_t got = w->output >= 0 ? read(w->output, bytes, sizeof bytes) : -1;
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return;
		size_t room = w->log.size < LOG_CAP ? LOG_CAP - w->log.size : 0;
		hob_buf_put(&w->log, bytes, (size_t)got < room ? (size_t)got : room);
	}
}

static void on_output(uv_poll_t *poll, int status, int events)
{
	(void)events;
	srv_pool *pool = poll->data;
	for (uint32_t i = 0; i < pool->count; i++) {
		worker *w = &pool->workers[i];
		if (w->output_poll != poll)
			continue;
		if (status < 0)
			uv_poll_stop(poll);
		else
			srv_pool_drain(w);
		char byte;
		if (recv(w->output, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
			uv_poll_stop(poll);
		return;
	}
}

void srv_pool_on_deadline(uv_timer_t *timer)
{
	worker *w = timer->data;
	srv_pool *pool = w->pool;
	if (w->state == STARTING) {
		srv_pool_kill(w, HOB_ERR_TIMEOUT, "the cook process did not start in time");
		return;
	}
	if (w->shared) {
		uint64_t cpu = 0, limit = SHARED_MS * 1000000ull;
		/* A worker that got no processor is not slow: what is given back, it cooks in vain. */
		if (srv_process_cpu_ns(w->pid, &cpu) && cpu < w->cpu_before_ns + limit / 2 &&
			uv_hrtime() - w->began_ns < SHARED_MOST * limit) {
			uv_timer_start(timer, srv_pool_on_deadline, SHARED_MS, 0);
			return;
		}
		uint32_t running = srv_pool_running(w);
		srv_pool_give_back(w, running);
		w->cancelled = w->cancelled || (running < w->job_count && w->left[running]);
		uv_timer_start(timer, srv_pool_on_deadline, w->cancelled ? 0 : pool->options.timeout_ms / 4, 0);
		return;
	}
	if (w->cancelled) {
		srv_pool_kill(w, HOB_ERR_CHANGED, "cancelled");
		return;
	}
	srv_process_now now = {0};
	bool there = srv_process_look(w->pid, &now);
	if (!w->looked) {
		w->looked = true;
		w->wait_before_ns = now.wait_ns;
		uv_timer_start(timer, srv_pool_on_deadline, pool->options.timeout_ms - pool->options.timeout_ms / 4,
					   0);
		return;
	}
	char text[200];
	uint64_t limit_ns = (uint64_t)pool->options.timeout_ms * 1000000, used = 0;
	double limit_s = pool->options.timeout_ms / 1000.0;
	bool known = srv_process_cpu_ns(w->pid, &used) && used >= w->cpu_before_ns;
	used = known ? used - w->cpu_before_ns : 0;
	bool stalled = known && w->export.pid == 0 && used < limit_ns / 4;
	/* In the last three quarters of its time, it waited more than half for a processor. */
	bool starved = known && w->export.pid == 0 && used < limit_ns / 2 &&
				   now.wait_ns - w->wait_before_ns > limit_ns * 3 / 8;
	bool kept = there && (now.stopped || starved || (stalled && !now.sleeping));
	w->stalled = stalled || kept;
	if (kept)
		snprintf(
			text, sizeof text,
			"the cook took longer than %g s, though it computed for %.1f s only: it was kept from running%s",
			limit_s, (double)used / 1e9, now.stopped ? " (stopped)" : "; this machine is overloaded");
	else if (stalled)
		snprintf(text, sizeof text,
				 "the cook took longer than %g s, though it computed for %.1f s only, and was ended", limit_s,
				 (double)used / 1e9);
	else if (w->export.pid > 0)
		snprintf(text, sizeof text,
				 "Blender was not done with it after %g s and was ended; raise cook.timeout_seconds if the "
				 "scene is just large",
				 limit_s);
	else
		snprintf(text, sizeof text,
				 "the cook took longer than %g s and was ended; raise cook.timeout_seconds "
				 "if the model is just large",
				 limit_s);
	srv_pool_kill(w, kept ? HOB_ERR_INTERRUPTED : HOB_ERR_TIMEOUT, text);
}

/* ---- starting */

static bool make_socket(int ends[2], bool stream, hob_error *err)
{
	if (socketpair(AF_UNIX, (stream ? SOCK_STREAM : SOCK_SEQPACKET) | SOCK_CLOEXEC, 0, ends) != 0)
		return hob_fail(err, IO, "no socket for a cook process: %s", strerror(errno));
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	return true;
}

static uv_poll_t *start_poll(srv_pool *pool, int fd, uv_poll_cb callback)
{
	uv_poll_t *poll = calloc(1, sizeof *poll);
	if (!poll || uv_poll_init(pool->loop, poll, fd) != 0) {
		free(poll);
		return NULL;
	}
	poll->data = pool;
	pool->open_handles++;
	uv_poll_start(poll, UV_READABLE, callback);
	return poll;
}

static bool greet_worker(srv_pool *pool, worker *w, int gauge, hob_error *err)
{
	for (uint32_t i = 0; i < pool->options.root_count; i++) {
		srv_frame frame = {.type = SRV_FRAME_ROOT, .number = i};
		if (!srv_frame_send(w->socket, &frame, NULL, pool->root_fds[i], err))
			return false;
	}
	srv_start start = {.memory_limit = pool->options.memory_limit,
					   .source_limit = pool->options.source_limit,
					   .threads = (uint32_t)uv_available_parallelism(),
					   .sandbox = pool->options.sandbox,
					   .has_blender = pool->blender[0] != 0};
	snprintf(start.blender, sizeof start.blender, "%s", pool->blender_identity);
	snprintf(start.version, sizeof start.version, "%s", HOB_VERSION);
	srv_frame frame = {.type = SRV_FRAME_START, .payload_size = sizeof start};
	return srv_frame_send(w->socket, &frame, &start, gauge, err);
}

/* Gives the slot a new gauge; its descriptor, or -1. */
static int make_gauge(worker *w)
{
	int fd = srv_pool_new_memory(sizeof *w->gauge);
	if (w->gauge)
		munmap(w->gauge, sizeof *w->gauge);
	w->gauge = fd < 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0
				   ? MAP_FAILED
				   : mmap(NULL, sizeof *w->gauge, PROT_READ, MAP_SHARED, fd, 0);
	if (w->gauge != MAP_FAILED)
		return fd;
	w->gauge = NULL;
	srv_close(fd);
	return -1;
}

bool srv_pool_spawn(worker *w, hob_error *err)
{
	srv_pool *pool = w->pool;
	int talk[2] = {-1, -1}, output[2] = {-1, -1};
	if (!make_socket(talk, false, err) || !make_socket(output, true, err)) {
		if (talk[0] >= 0)
			close(talk[0]), close(talk[1]);
		return false;
	}
	w->lean = pool->lean_path[0] != 0;
	char *const argv[] = {w->lean ? pool->lean_path : pool->worker_path, NULL};
	const int fds[] = {output[1], output[1], talk[1]};
	_Static_assert(SRV_WORKER_SOCKET == HOB_COUNT_OF(fds), "the socket is the last one passed");
	bool spawned = srv_spawn(argv, fds, HOB_COUNT_OF(fds), &w->pid, err);
	close(talk[1]);
	close(output[1]);
	if (!spawned) {
		w->pid = 0;
		close(talk[0]);
		close(output[0]);
		err->code = HOB_ERR_NO_WORKER;
		return false;
	}
	srv_process_goes_first(w->pid);
	w->socket = talk[0];
	w->output = output[0];
	w->jobs_done = 0;
	w->lowered = false;
	w->first_rss = w->file_bytes = 0;
	w->bundle = w->job_count = w->answered = 0;
	w->has_why = w->outdated = false;
	w->state = STARTING;
	w->socket_poll = start_poll(pool, w->socket, srv_pool_on_socket);
	w->output_poll = start_poll(pool, w->output, on_output);
	w->oom_kills = srv_machine_oom_kills("");
	uv_timer_start(&w->deadline, srv_pool_on_deadline, START_DEADLINE_MS, 0);
	srv_own_fd gauge = make_gauge(w);
	if (gauge < 0 || !w->socket_poll || !w->output_poll || !greet_worker(pool, w, gauge, err))
		srv_pool_kill(w, HOB_ERR_IO, "the cook process could not be set up");
	return true;
}

static void report_degraded(srv_pool *pool, const hob_error *why)
{
	pool->degraded = true;
	pool->callbacks.degraded(pool->callbacks.user, why);
}

void srv_pool_on_respawn(uv_timer_t *timer)
{
	srv_pool *pool = timer->data;
	for (uint32_t i = 0; i < pool->count && !pool->closing; i++) {
		hob_error error = {0};
		if (pool->workers[i].state == GONE && !srv_pool_spawn(&pool->workers[i], &error)) {
			report_degraded(pool, &error);
			uv_timer_start(&pool->respawn, srv_pool_on_respawn, pool->respawn_ms, 0);
			pool->respawn_ms = pool->respawn_ms * 2 < RESPAWN_MAX_MS ? pool->respawn_ms * 2 : RESPAWN_MAX_MS;
			return;
		}
	}
}

/* ---- ended */

/* Whether the kernel ended a process for lack of memory while this worker had work. Counted per worker:
 * another one may start, or die in the same way, before this death is reported. */
static bool had_oom_kill(worker *w)
{
	srv_pool *pool = w->pool;
	uint64_t now = srv_machine_oom_kills("");
	bool had = now > w->oom_kills;
	for (uint32_t i = 0; i < pool->count; i++)
		if (pool->workers[i].answered == pool->workers[i].job_count)
			pool->workers[i].oom_kills = now;
	return had;
}

static void worker_ended(worker *w, int status, uint64_t peak_bytes)
{
	srv_pool *pool = w->pool;
	bool started = w->state != STARTING && !(w->state == DYING && w->first_rss == 0);
	w->pid = 0;
	srv_pool_drain(w);
	srv_pool_hear_last(w);
	close_poll(&w->socket_poll, &w->socket);
	close_poll(&w->output_poll, &w->output);
	uv_timer_stop(&w->deadline);
	w->state = GONE;
	bool lacks = w->lean && WIFEXITED(status) && WEXITSTATUS(status) == SRV_WORKER_LACKS;
	uint32_t running = lacks ? w->job_count : srv_pool_running(w);
	srv_pool_give_back(w, running);
	if (lacks) {
		pool->lean_path[0] = 0;
		srv_claims_leave(&pool->claims, (uint32_t)(w - pool->workers));
		srv_pool_wake_waiters(pool);
	}
	w->answered = w->job_count;
	if (running < w->job_count) {
		w->answered = running;
		w->job_count = running + 1;
		srv_outcome *outcome = srv_pool_outcome(w);
		outcome->died = true;
		outcome->cancelled = w->cancelled;
		outcome->stalled = w->stalled;
		outcome->lost_ms = (uint32_t)((uv_hrtime() - w->began_ns) / 1000000);
		outcome->peak_bytes = peak_bytes;
		if (w->has_why)
			outcome->error = w->why;
		else
			srv_describe_death(status, peak_bytes, pool->options.memory_limit, had_oom_kill(w),
							   &outcome->error);
		srv_pool_finish(w, outcome);
	} else if (!started && !pool->closing) {
		hob_error error = {0};
		srv_describe_bad_start(pool->worker_path, status, w->has_why ? w->why.context : NULL,
							   hob_buf_str(&w->log), &error);
		report_degraded(pool, &error);
	}
	hob_buf_clear(&w->log);
	if (!pool->closing && !uv_is_active((uv_handle_t *)&pool->respawn)) {
		uint32_t wait_ms = started ? 0 : pool->respawn_ms;
		if (!started)
			pool->respawn_ms = pool->respawn_ms * 2 < RESPAWN_MAX_MS ? pool->respawn_ms * 2 : RESPAWN_MAX_MS;
		uv_timer_start(&pool->respawn, srv_pool_on_respawn, wait_ms, 0);
	}
	srv_pool_maybe_closed(pool);
}

static bool is_worker(void *user, pid_t pid)
{
	const srv_pool *pool = user;
	for (uint32_t i = 0; i < pool->count; i++)
		if (pool->workers[i].pid == pid || pool->workers[i].export.pid == pid)
			return true;
	return false;
}

void srv_pool_on_child(uv_signal_t *handle, int number)
{
	(void)number;
	srv_pool *pool = handle->data;
	struct rusage used;
	int status;
	bool ended = false;
	for (uint32_t i = 0; i < pool->count; i++)
		srv_pool_export_reap(&pool->workers[i]);
	for (uint32_t i = 0; i < pool->count; i++) {
		worker *w = &pool->workers[i];
		if (w->pid > 0 && wait4(w->pid, &status, WNOHANG, &used) == w->pid) {
			worker_ended(w, status, (uint64_t)used.ru_maxrss * 1024);
			ended = true;
		}
	}
	uint32_t kept = 0;
	for (uint32_t i = 0; i < pool->orphan_count; i++)
		if (waitpid(pool->orphans[i], &status, WNOHANG) == 0)
			pool->orphans[kept++] = pool->orphans[i];
	pool->orphan_count = kept;
	srv_pool_maybe_closed(pool);
	if (ended)
		pool->orphan_count +=
			srv_orphans_end(pool->worker_path, is_worker, pool, pool->orphans + kept, ORPHANS_MAX - kept);
}

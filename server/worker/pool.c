#include "pool.h"
#include "orphans.h"
#include "part_claims.h"
#include "process_state.h"
#include "protocol.h"
#include "spawn.h"

#include "../../core/base/limits.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum {
	LOG_CAP = 64 << 10,
	RESPAWN_FIRST_MS = 100,
	RESPAWN_MAX_MS = 10000,
	START_DEADLINE_MS = 20000,
	RSS_GROWTH_MAX = 512 << 20,
	LEAVE_MS = 200,
	ORPHANS_MAX = 64
};

typedef enum worker_state { GONE, STARTING, IDLE, BUSY, DYING } worker_state;

typedef struct worker {
	srv_pool *pool;
	worker_state state;
	pid_t pid;
	int socket, output;
	uv_poll_t *socket_poll, *output_poll; /* own allocations: closing outlives the slot's next worker */
	uv_timer_t deadline;
	uint64_t left_ms; /* of the deadline, while it waits for a part */
	uint64_t first_rss, jobs;
	/* the running job */
	void *job;
	hob_buf log, touched; /* touched: NUL-separated paths */
	uint32_t touched_count;
	hob_error why;					   /* set by whoever decided to end this worker */
	bool has_why, cancelled, outdated; /* outdated: holds a root that is another folder now */
} worker;

struct srv_pool {
	uv_loop_t *loop;
	srv_pool_options options;
	srv_pool_callbacks callbacks;
	char worker_path[4096];
	int *root_fds;
	worker *workers;
	uint32_t count;
	uv_signal_t child;
	uv_timer_t respawn;
	uint32_t respawn_ms;
	bool closing, announced, in_trouble;
	uint32_t open_handles;
	pid_t orphans[ORPHANS_MAX]; /* killed, not reaped yet */
	uint32_t orphan_count;
	void (*closed)(void *user);
	void *closed_user;
	hob_arena arena;
	srv_pool_importer *importers;
	uint32_t importer_count;
	char sandbox[96];
	srv_pool_counters counters;
	srv_claims claims;
	uint8_t payload[SRV_FRAME_PAYLOAD];
};

static bool spawn_worker(srv_pool *pool, worker *w, hob_error *err);

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

static srv_outcome *new_outcome(worker *w)
{
	srv_outcome *outcome = calloc(1, sizeof *outcome);
	if (!outcome)
		abort(); /* a daemon that cannot report is better restarted */
	hob_arena_init(&outcome->arena, 256 << 20);
	outcome->log_text = w->log;
	outcome->log = hob_buf_str(&outcome->log_text);
	w->log = (hob_buf){0};
	outcome->touched = HOB_NEW(&outcome->arena, hob_str, w->touched_count);
	hob_str paths = hob_arena_str(&outcome->arena, hob_buf_str(&w->touched));
	for (size_t at = 0; outcome->touched && paths.data && outcome->touched_count < w->touched_count;) {
		hob_str path = hob_str_of(paths.data + at);
		outcome->touched[outcome->touched_count++] = path;
		at += path.len + 1;
	}
	return outcome;
}

/* ---- ending workers */

static void maybe_closed(srv_pool *pool);

static void on_poll_closed(uv_handle_t *handle)
{
	srv_pool *pool = handle->data;
	free(handle);
	pool->open_handles--;
	maybe_closed(pool);
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

static void kill_worker(worker *w, hob_err_code code, const char *text)
{
	if (w->state == GONE || w->state == DYING)
		return;
	if (!w->has_why) {
		w->has_why = true;
		hob_error_set(&w->why, code, "", 0, "%s", text);
	}
	w->state = DYING;
	uv_timer_stop(&w->deadline);
	kill(-w->pid, SIGKILL);
	kill(w->pid, SIGKILL);
}

static void drain_output(worker *w)
{
	char bytes[4096];
	for (;;) {
		ssize_t got = w->output >= 0 ? read(w->output, bytes, sizeof bytes) : -1;
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return;
		size_t room = w->log.size < LOG_CAP ? LOG_CAP - w->log.size : 0;
		hob_buf_put(&w->log, bytes, (size_t)got < room ? (size_t)got : room);
	}
}

static void on_deadline(uv_timer_t *timer);

/* number of PART: 0 unknown, the worker makes it; 1 with the part; 2 another worker makes it. */
static void answer_part(worker *w, const uint8_t key[32], bool wait)
{
	srv_pool *pool = w->pool;
	int fd = pool->callbacks.part_get ? pool->callbacks.part_get(pool->callbacks.user, key) : -1;
	srv_frame answer = {.type = SRV_FRAME_PART, .number = fd >= 0};
	if (fd < 0) {
		srv_claim_answer claim = srv_claims_ask(&pool->claims, (uint32_t)(w - pool->workers), key, wait);
		if (claim == SRV_CLAIM_WAIT) {
			w->left_ms = uv_timer_get_due_in(&w->deadline);
			uv_timer_stop(&w->deadline);
			return;
		}
		answer.number = claim == SRV_CLAIM_ELSEWHERE ? 2 : 0;
	}
	hob_error error;
	if (!srv_frame_send(w->socket, &answer, NULL, fd, &error))
		kill_worker(w, HOB_ERR_IO, error.context);
	if (fd >= 0)
		close(fd);
}

static void wake_waiters(srv_pool *pool)
{
	uint32_t index;
	uint8_t key[32];
	while (srv_claims_next(&pool->claims, &index, key)) {
		worker *w = &pool->workers[index];
		if (w->state != BUSY)
			continue;
		uv_timer_start(&w->deadline, on_deadline, w->left_ms, 0);
		answer_part(w, key, true);
	}
}

static void finish_job(worker *w, srv_outcome *outcome)
{
	void *job = w->job;
	w->job = NULL;
	w->cancelled = false;
	uv_timer_stop(&w->deadline);
	srv_claims_leave(&w->pool->claims, (uint32_t)(w - w->pool->workers));
	wake_waiters(w->pool);
	w->pool->callbacks.done(w->pool->callbacks.user, job, outcome);
}

static void report_trouble(srv_pool *pool, const hob_error *why)
{
	pool->in_trouble = true;
	pool->callbacks.trouble(pool->callbacks.user, why);
}

static void on_respawn(uv_timer_t *timer)
{
	srv_pool *pool = timer->data;
	for (uint32_t i = 0; i < pool->count && !pool->closing; i++) {
		hob_error error = {0};
		if (pool->workers[i].state == GONE && !spawn_worker(pool, &pool->workers[i], &error)) {
			report_trouble(pool, &error);
			uv_timer_start(&pool->respawn, on_respawn, pool->respawn_ms, 0);
			pool->respawn_ms = pool->respawn_ms * 2 < RESPAWN_MAX_MS ? pool->respawn_ms * 2 : RESPAWN_MAX_MS;
			return;
		}
	}
}

static void worker_ended(worker *w, int status, uint64_t peak_bytes)
{
	srv_pool *pool = w->pool;
	bool started = w->state != STARTING && !(w->state == DYING && w->first_rss == 0);
	drain_output(w);
	close_poll(&w->socket_poll, &w->socket);
	close_poll(&w->output_poll, &w->output);
	uv_timer_stop(&w->deadline);
	w->state = GONE;
	w->pid = 0;
	if (w->job) {
		srv_outcome *outcome = new_outcome(w);
		outcome->died = true;
		outcome->cancelled = w->cancelled;
		outcome->peak_bytes = peak_bytes;
		if (w->has_why)
			outcome->error = w->why;
		else
			srv_describe_death(status, peak_bytes, pool->options.memory_limit, &outcome->error);
		if (!w->cancelled)
			pool->counters.crashed++;
		finish_job(w, outcome);
	} else if (!started && !pool->closing) {
		hob_error error = {0};
		srv_describe_bad_start(pool->worker_path, status, w->has_why ? w->why.context : NULL,
							   hob_buf_str(&w->log), &error);
		report_trouble(pool, &error);
	}
	hob_buf_clear(&w->log);
	if (!pool->closing && !uv_is_active((uv_handle_t *)&pool->respawn)) {
		uint32_t wait_ms = started ? 0 : pool->respawn_ms;
		if (!started)
			pool->respawn_ms = pool->respawn_ms * 2 < RESPAWN_MAX_MS ? pool->respawn_ms * 2 : RESPAWN_MAX_MS;
		uv_timer_start(&pool->respawn, on_respawn, wait_ms, 0);
	}
	maybe_closed(pool);
}

static bool is_worker(void *user, pid_t pid)
{
	const srv_pool *pool = user;
	for (uint32_t i = 0; i < pool->count; i++)
		if (pool->workers[i].pid == pid)
			return true;
	return false;
}

static void on_child(uv_signal_t *handle, int number)
{
	(void)number;
	srv_pool *pool = handle->data;
	struct rusage used;
	int status;
	bool ended = false;
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
	if (ended)
		pool->orphan_count +=
			srv_orphans_end(pool->worker_path, is_worker, pool, pool->orphans + kept, ORPHANS_MAX - kept);
}

/* ---- frames from a worker */

static void read_importers(srv_pool *pool, hob_str text)
{
	cJSON *root = cJSON_ParseWithLength(text.data, text.len);
	const cJSON *abi = cJSON_GetObjectItemCaseSensitive(root, "landlock");
	const cJSON *seccomp = cJSON_GetObjectItemCaseSensitive(root, "seccomp");
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "importers");
	bool landlock = cJSON_IsNumber(abi) && abi->valueint > 0;
	char layer[32] = "no landlock";
	if (landlock)
		snprintf(layer, sizeof layer, "landlock %d", abi->valueint);
	snprintf(pool->sandbox, sizeof pool->sandbox, "%s, %s, limits", layer,
			 cJSON_IsTrue(seccomp) ? "seccomp" : "no seccomp");
	pool->importers = HOB_NEW(&pool->arena, srv_pool_importer, (size_t)cJSON_GetArraySize(list) + 1);
	const cJSON *item;
	cJSON_ArrayForEach(item, list)
	{
		srv_pool_importer *importer = &pool->importers[pool->importer_count++];
		const cJSON *extensions = cJSON_GetObjectItemCaseSensitive(item, "extensions");
		const cJSON *extension;
		importer->name =
			hob_arena_str(&pool->arena, hob_str_of(cJSON_GetStringValue(cJSON_GetObjectItem(item, "name"))));
		importer->library = hob_arena_str(
			&pool->arena, hob_str_of(cJSON_GetStringValue(cJSON_GetObjectItem(item, "library"))));
		importer->version = (uint32_t)cJSON_GetNumberValue(cJSON_GetObjectItem(item, "version"));
		importer->extensions = HOB_NEW(&pool->arena, hob_str, (size_t)cJSON_GetArraySize(extensions) + 1);
		cJSON_ArrayForEach(extension, extensions) importer->extensions[importer->extension_count++] =
			hob_arena_str(&pool->arena, hob_str_of(cJSON_GetStringValue(extension)));
	}
	cJSON_Delete(root);
}

static void become_idle(worker *w)
{
	srv_pool *pool = w->pool;
	uv_timer_stop(&w->deadline);
	if (w->outdated) {
		kill_worker(w, HOB_ERR_CHANGED, "its folders are others now");
		return;
	}
	w->state = IDLE;
	pool->callbacks.idle(pool->callbacks.user);
}

static void on_ready(worker *w, const srv_frame *frame)
{
	srv_pool *pool = w->pool;
	if (w->state != STARTING) {
		kill_worker(w, HOB_ERR_REJECTED, "the cook process broke its protocol");
		return;
	}
	w->first_rss = srv_resident_bytes(w->pid);
	if (w->first_rss == 0)
		w->first_rss = 1;
	pool->respawn_ms = RESPAWN_FIRST_MS;
	/* Only now: a start is waited for. The group, because a thread's priority is its own. */
	setpriority(PRIO_PGRP, (id_t)w->pid, 19);
	if (!pool->announced) {
		pool->announced = true;
		read_importers(pool, (hob_str){(const char *)pool->payload, frame->payload_size});
		pool->callbacks.ready(pool->callbacks.user);
	}
	become_idle(w);
	if (pool->in_trouble) {
		pool->in_trouble = false;
		pool->callbacks.trouble(pool->callbacks.user, NULL);
	}
}

static bool map_result(int fd, srv_outcome *outcome, hob_error *err)
{
	struct stat info;
	/* Sealed first: after that nobody can change a byte that is checked here. */
	if (fd < 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0 ||
		fstat(fd, &info) != 0 || info.st_size <= 0)
		return hob_fail(err, REJECTED,
						"the cook process handed back no readable result (limit on outputs reached?)");
	void *at = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		return hob_fail(err, MEMORY, "no memory left to map a result of %lld bytes", (long long)info.st_size);
	outcome->mapping = at;
	outcome->mapping_size = (size_t)info.st_size;
	return srv_result_read((hob_bytes){at, outcome->mapping_size}, &outcome->arena, &outcome->result, err);
}

static void on_done(worker *w, const srv_frame *frame, int fd)
{
	srv_pool *pool = w->pool;
	if (w->state != BUSY) {
		kill_worker(w, HOB_ERR_REJECTED, "the cook process broke its protocol");
		return;
	}
	drain_output(w);
	srv_outcome *outcome = new_outcome(w);
	outcome->cook_ns = frame->a;
	outcome->peak_bytes = frame->b;
	outcome->cancelled = w->cancelled;
	outcome->has_result = map_result(fd, outcome, &outcome->error);
	outcome->ok = outcome->has_result && outcome->result.ok;
	if (outcome->has_result && !outcome->result.ok)
		hob_error_set(&outcome->error, outcome->result.code, "", 0, "%.*s", HOB_FMT(outcome->result.message));
	w->jobs++;
	uint32_t jobs_max = pool->options.jobs_per_worker ? pool->options.jobs_per_worker : 256;
	bool grown = srv_resident_bytes(w->pid) > w->first_rss + RSS_GROWTH_MAX;
	bool recycle = !outcome->ok || w->jobs >= jobs_max || grown;
	if (recycle) {
		pool->counters.recycled++;
		w->state = DYING;
		kill(-w->pid, SIGKILL);
		kill(w->pid, SIGKILL);
	}
	finish_job(w, outcome);
	if (!recycle)
		become_idle(w);
}

static void keep_part(worker *w, const srv_frame *frame, int fd)
{
	srv_pool *pool = w->pool;
	struct stat info;
	if (!pool->callbacks.part_put || fd < 0 ||
		fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0 || fstat(fd, &info) != 0 ||
		info.st_size <= 0)
		return;
	void *at = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		return;
	pool->callbacks.part_put(pool->callbacks.user, frame->key, (hob_bytes){at, (size_t)info.st_size}, fd);
	munmap(at, (size_t)info.st_size);
	srv_claims_end(&pool->claims, frame->key);
	wake_waiters(pool);
}

static void on_frame(worker *w, const srv_frame *frame, int fd)
{
	srv_pool *pool = w->pool;
	switch (frame->type) {
	case SRV_FRAME_READY:
		on_ready(w, frame);
		break;
	case SRV_FRAME_PROGRESS:
		if (w->state == BUSY && pool->callbacks.progress)
			pool->callbacks.progress(
				pool->callbacks.user, w->job,
				(hob_str){(const char *)pool->payload, frame->payload_size < 64 ? frame->payload_size : 64},
				(float)(frame->number < 1000 ? frame->number : 1000) / 1000.0f);
		break;
	case SRV_FRAME_DEP:
		if (w->state == BUSY && w->touched_count < HOB_LIMIT_SOURCE_FILES &&
			memchr(pool->payload, 0, frame->payload_size) == NULL) {
			hob_buf_put(&w->touched, pool->payload, frame->payload_size);
			hob_buf_put(&w->touched, "", 1);
			w->touched_count++;
		}
		break;
	case SRV_FRAME_PART_GET:
		answer_part(w, frame->key, frame->number == 1);
		break;
	case SRV_FRAME_PART_PUT:
		keep_part(w, frame, fd);
		break;
	case SRV_FRAME_DONE:
		on_done(w, frame, fd);
		break;
	default:
		kill_worker(w, HOB_ERR_REJECTED, "the cook process broke its protocol");
	}
}

static void on_left(uv_timer_t *timer)
{
	kill_worker(timer->data, HOB_ERR_CRASHED, "the cook process closed its connection without a result");
}

static void on_socket(uv_poll_t *poll, int status, int events)
{
	(void)events;
	srv_pool *pool = poll->data;
	worker *w = NULL;
	for (uint32_t i = 0; i < pool->count; i++)
		if (pool->workers[i].socket_poll == poll)
			w = &pool->workers[i];
	while (w && w->socket_poll == poll && w->state != DYING) {
		srv_frame frame;
		int fd = -1;
		int got = status < 0 ? 0 : srv_frame_receive(w->socket, &frame, pool->payload, &fd);
		if (got == -1)
			return;
		if (got == 1) {
			on_frame(w, &frame, fd);
			if (fd >= 0)
				close(fd);
		} else if (got == 0) {
			/* It is ending, and SIGCHLD brings the reason; or it closed its socket and lives on. */
			uv_poll_stop(poll);
			uv_timer_start(&w->deadline, on_left, LEAVE_MS, 0);
			return;
		} else {
			kill_worker(w, HOB_ERR_REJECTED, "the cook process broke its protocol");
		}
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
			drain_output(w);
		char byte;
		if (recv(w->output, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
			uv_poll_stop(poll);
		return;
	}
}

static void on_deadline(uv_timer_t *timer)
{
	worker *w = timer->data;
	srv_pool *pool = w->pool;
	if (w->state == STARTING) {
		kill_worker(w, HOB_ERR_TIMEOUT, "the cook process did not start in time");
		return;
	}
	char text[160];
	snprintf(
		text, sizeof text,
		"the cook took longer than %u s and was ended; raise cook.timeout_seconds if the model is just large",
		pool->options.timeout_ms / 1000);
	pool->counters.timed_out++;
	kill_worker(w, HOB_ERR_TIMEOUT, text);
}

/* ---- starting workers */

static bool find_worker(srv_pool *pool, hob_error *err)
{
	if (pool->options.worker_path) {
		snprintf(pool->worker_path, sizeof pool->worker_path, "%s", pool->options.worker_path);
		return access(pool->worker_path, X_OK) == 0 ||
			   hob_fail(err, IO, "'%s' cannot be run: %s", pool->worker_path, strerror(errno));
	}
	char self[3072];
	ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
	if (len <= 0)
		return hob_fail(err, IO, "cannot find this program's own folder: %s", strerror(errno));
	self[len] = 0;
	char *slash = strrchr(self, '/');
	*slash = 0;
	static const char *const places[] = {"", "/../libexec/hob", "/../lib/hob"};
	for (size_t i = 0; i < HOB_COUNT_OF(places); i++) {
		snprintf(pool->worker_path, sizeof pool->worker_path, "%s%s/hob-worker", self, places[i]);
		if (access(pool->worker_path, X_OK) == 0)
			return true;
	}
	return hob_fail(err, NO_WORKER,
					"hob-worker is not beside hob in '%s'; put it there, or install Hob again", self);
}

/* As the kernel names it: orphans are known by it. */
static bool resolve_worker(srv_pool *pool, hob_error *err)
{
	if (!find_worker(pool, err))
		return false;
	char *path = realpath(pool->worker_path, NULL);
	if (path)
		snprintf(pool->worker_path, sizeof pool->worker_path, "%s", path);
	free(path);
	return true;
}

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

static bool greet_worker(srv_pool *pool, worker *w, hob_error *err)
{
	for (uint32_t i = 0; i < pool->options.root_count; i++) {
		srv_frame frame = {.type = SRV_FRAME_ROOT, .number = i};
		if (!srv_frame_send(w->socket, &frame, NULL, pool->root_fds[i], err))
			return false;
	}
	srv_start start = {.memory_limit = pool->options.memory_limit,
					   .threads = (uint32_t)uv_available_parallelism(),
					   .sandbox = pool->options.sandbox};
	snprintf(start.version, sizeof start.version, "%s", HOB_VERSION);
	srv_frame frame = {.type = SRV_FRAME_START, .payload_size = sizeof start};
	return srv_frame_send(w->socket, &frame, &start, -1, err);
}

static bool spawn_worker(srv_pool *pool, worker *w, hob_error *err)
{
	int talk[2] = {-1, -1}, output[2] = {-1, -1};
	if (!make_socket(talk, false, err) || !make_socket(output, true, err)) {
		if (talk[0] >= 0)
			close(talk[0]), close(talk[1]);
		return false;
	}
	char *const argv[] = {pool->worker_path, NULL};
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
	w->socket = talk[0];
	w->output = output[0];
	w->jobs = 0;
	w->first_rss = 0;
	w->has_why = w->outdated = false;
	w->state = STARTING;
	w->socket_poll = start_poll(pool, w->socket, on_socket);
	w->output_poll = start_poll(pool, w->output, on_output);
	pool->counters.spawned++;
	uv_timer_start(&w->deadline, on_deadline, START_DEADLINE_MS, 0);
	if (!w->socket_poll || !w->output_poll || !greet_worker(pool, w, err))
		kill_worker(w, HOB_ERR_IO, "the cook process could not be set up");
	return true;
}

bool srv_pool_new(uv_loop_t *loop, const srv_pool_options *options, const srv_pool_callbacks *callbacks,
				  srv_pool **out, hob_error *err)
{
	srv_pool *pool = calloc(1, sizeof *pool);
	if (!pool)
		return hob_fail(err, MEMORY, "no memory left for the worker pool");
	pool->loop = loop;
	pool->options = *options;
	pool->callbacks = *callbacks;
	pool->respawn_ms = RESPAWN_FIRST_MS;
	if (pool->options.timeout_ms == 0)
		pool->options.timeout_ms = 300000;
	if (pool->options.memory_limit == 0)
		pool->options.memory_limit = 4ull << 30;
	pool->count = options->workers ? options->workers : (uint32_t)uv_available_parallelism();
	pool->workers = calloc(pool->count, sizeof *pool->workers);
	pool->root_fds = calloc(options->root_count + 1, sizeof *pool->root_fds);
	hob_arena_init(&pool->arena, 1 << 20);
	snprintf(pool->sandbox, sizeof pool->sandbox, "unknown");
	bool ok = pool->workers && pool->root_fds ? resolve_worker(pool, err)
											  : hob_fail(err, MEMORY, "no memory left for the worker pool");
	if (!ok) {
		free(pool->workers);
		free(pool->root_fds);
		free(pool);
		return false;
	}
	for (uint32_t i = 0; i < options->root_count; i++)
		pool->root_fds[i] = fcntl(options->root_fds[i], F_DUPFD_CLOEXEC, 3);
	uv_signal_init(loop, &pool->child);
	pool->child.data = pool;
	uv_signal_start(&pool->child, on_child, SIGCHLD);
	srv_orphans_adopt();
	setenv("GLIBC_TUNABLES", SRV_WORKER_TUNABLES, 0);
	uv_timer_init(loop, &pool->respawn);
	pool->respawn.data = pool;
	pool->open_handles = 2;
	for (uint32_t i = 0; i < pool->count; i++) {
		worker *w = &pool->workers[i];
		w->pool = pool;
		w->socket = w->output = -1;
		uv_timer_init(loop, &w->deadline);
		w->deadline.data = w;
		pool->open_handles++;
	}
	/* From the loop: what the callbacks need is not there yet. */
	uv_timer_start(&pool->respawn, on_respawn, 0, 0);
	*out = pool;
	return true;
}

/* ---- jobs */

static void limit_cpu(srv_pool *pool, worker *w, uint32_t threads)
{
	clockid_t clock;
	struct timespec used;
	if (clock_getcpuclockid(w->pid, &clock) != 0 || clock_gettime(clock, &used) != 0)
		return;
	uint64_t each =
		pool->options.cpu_seconds ? pool->options.cpu_seconds : pool->options.timeout_ms / 500 + 1;
	rlim_t bound = (rlim_t)used.tv_sec + each * threads + 1;
	struct rlimit limit = {bound, RLIM_INFINITY};
	prlimit(w->pid, RLIMIT_CPU, &limit, NULL);
}

bool srv_pool_start(srv_pool *pool, void *job, uint32_t root, hob_str path, const hob_settings *settings,
					hob_profile profile, uint32_t threads)
{
	worker *w = NULL;
	for (uint32_t i = 0; i < pool->count && !w; i++)
		if (pool->workers[i].state == IDLE)
			w = &pool->workers[i];
	uint8_t payload[SRV_FRAME_PAYLOAD];
	srv_job_head head = {*settings, profile, threads ? threads : (uint32_t)uv_available_parallelism()};
	if (!w || sizeof head + path.len + 1 > sizeof payload)
		return false;
	memcpy(payload, &head, sizeof head);
	memcpy(payload + sizeof head, path.data, path.len);
	srv_frame frame = {
		.type = SRV_FRAME_JOB, .number = root, .payload_size = (uint32_t)(sizeof head + path.len)};
	hob_error error;
	limit_cpu(pool, w, head.threads);
	if (!srv_frame_send(w->socket, &frame, payload, -1, &error)) {
		kill_worker(w, HOB_ERR_IO, error.context);
		return false;
	}
	hob_buf_clear(&w->log);
	hob_buf_clear(&w->touched);
	w->touched_count = 0;
	w->state = BUSY;
	w->job = job;
	w->cancelled = false;
	w->has_why = false;
	uv_timer_start(&w->deadline, on_deadline, pool->options.timeout_ms, 0);
	return true;
}

bool srv_pool_cancel(srv_pool *pool, void *job)
{
	for (uint32_t i = 0; i < pool->count; i++) {
		worker *w = &pool->workers[i];
		if (w->job == job && w->state == BUSY) {
			w->cancelled = true;
			kill_worker(w, HOB_ERR_CHANGED, "cancelled");
			return true;
		}
	}
	return false;
}

void srv_pool_set_root(srv_pool *pool, uint32_t root, int fd)
{
	dup3(fd, pool->root_fds[root], O_CLOEXEC);
	for (uint32_t i = 0; i < pool->count; i++) {
		worker *w = &pool->workers[i];
		w->outdated = w->state != GONE;
		if (w->state == IDLE)
			kill_worker(w, HOB_ERR_CHANGED, "its folders are others now");
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
	*count = pool->importer_count;
	return pool->importers;
}

const srv_pool_importer *srv_pool_importer_for(const srv_pool *pool, hob_str path)
{
	hob_str extension = hob_path_extension(path);
	for (uint32_t i = 0; extension.len > 0 && i < pool->importer_count; i++)
		for (uint32_t j = 0; j < pool->importers[i].extension_count; j++) {
			hob_str known = pool->importers[i].extensions[j];
			/* Asked for every file of a scan; the first letter, of either case, tells most apart. */
			if (known.len == extension.len && ((known.data[0] ^ extension.data[0]) & ~32) == 0 &&
				hob_str_equal_nocase(extension, known))
				return &pool->importers[i];
		}
	return NULL;
}

const char *srv_pool_sandbox(const srv_pool *pool)
{
	return pool->sandbox;
}

void srv_pool_count(const srv_pool *pool, srv_pool_counters *out)
{
	*out = pool->counters;
}

/* ---- closing */

static void on_handle_closed(uv_handle_t *handle)
{
	srv_pool *pool = handle->data;
	pool->open_handles--;
	maybe_closed(pool);
}

static void on_timer_closed(uv_handle_t *handle)
{
	worker *w = handle->data;
	w->pool->open_handles--;
	maybe_closed(w->pool);
}

/* Two steps: when the last worker is reaped the pool's own handles are closed; when the last handle is closed
 * the memory goes. */
static void maybe_closed(srv_pool *pool)
{
	if (!pool->closing)
		return;
	for (uint32_t i = 0; i < pool->count; i++)
		if (pool->workers[i].state != GONE)
			return;
	if (!uv_is_closing((uv_handle_t *)&pool->child)) {
		uv_close((uv_handle_t *)&pool->child, on_handle_closed);
		uv_close((uv_handle_t *)&pool->respawn, on_handle_closed);
		for (uint32_t i = 0; i < pool->count; i++)
			uv_close((uv_handle_t *)&pool->workers[i].deadline, on_timer_closed);
		return;
	}
	if (pool->open_handles > 0)
		return;
	void (*closed)(void *user) = pool->closed;
	void *user = pool->closed_user;
	for (uint32_t i = 0; i < pool->count; i++)
		hob_buf_release(&pool->workers[i].log), hob_buf_release(&pool->workers[i].touched);
	for (uint32_t i = 0; i < pool->options.root_count; i++)
		close(pool->root_fds[i]);
	hob_arena_release(&pool->arena);
	srv_claims_release(&pool->claims);
	free(pool->root_fds);
	free(pool->workers);
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
		kill_worker(&pool->workers[i], HOB_ERR_CHANGED, "Hob is stopping");
	}
	maybe_closed(pool);
}

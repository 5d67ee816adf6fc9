#include "pool_private.h"
#include "process_state.h"

#include "../../core/base/array.h"
#include "../../core/base/limits.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* FRAMES_MAX, FRAMES_NS: a worker that never stops sending must not block the loop. PARTS_PENDING_MAX:
 * maximum number of parts waiting to be stored; further ones are made again when needed. PARTS_MAX,
 * PARTS_BYTES: those that the pool keeps itself. */
enum {
	RSS_GROWTH_MAX = 512 << 20,
	LEAVE_MS = 200,
	FRAMES_MAX = 64,
	FRAMES_NS = 2000000,
	PARTS_PENDING_MAX = 1024,
	PARTS_MAX = 512,
	PARTS_BYTES = 1 << 30
};

/* ---- parts that workers share */

/* The descriptor of a part, for close(), or -1. */
static int find_part(const srv_pool *pool, const uint8_t key[32])
{
	if (pool->callbacks.part_get)
		return pool->callbacks.part_get(pool->callbacks.user, key);
	for (uint32_t i = 0; i < pool->part_count; i++)
		if (memcmp(pool->parts[i].key, key, sizeof pool->parts[i].key) == 0)
			return fcntl(pool->parts[i].fd, F_DUPFD_CLOEXEC, 3);
	return -1;
}

/* Answers a worker's question for a part with PART. Its number: 0: unknown, this worker makes it; 1: with the
 * part; 2: another worker makes it. No answer yet if this worker is to wait for the other one. */
static void answer_part(worker *w, const uint8_t key[32], bool wait)
{
	srv_pool *pool = w->pool;
	srv_own_fd fd = find_part(pool, key);
	srv_frame answer = {.type = SRV_FRAME_PART, .number = fd >= 0};
	if (fd < 0) {
		srv_claim_answer claim = srv_claims_ask(&pool->claims, (uint32_t)(w - pool->workers), key, wait);
		if (claim == SRV_CLAIM_WAIT) {
			w->waits = true;
			w->left_ms = w->shared ? pool->options.timeout_ms / 4 : uv_timer_get_due_in(&w->deadline);
			srv_pool_give_back(w, srv_pool_running(w));
			uv_timer_stop(&w->deadline);
			return;
		}
		answer.number = claim == SRV_CLAIM_ELSEWHERE ? 2 : 0;
	}
	hob_error error;
	if (!srv_frame_send(w->socket, &answer, NULL, fd, &error))
		srv_pool_kill(w, HOB_ERR_IO, error.context);
}

void srv_pool_wake_waiters(srv_pool *pool)
{
	uint32_t index;
	uint8_t key[32];
	while (srv_claims_next(&pool->claims, &index, key)) {
		worker *w = &pool->workers[index];
		if (w->state != BUSY)
			continue;
		w->waits = false;
		uv_timer_start(&w->deadline, srv_pool_on_deadline, w->left_ms, 0);
		answer_part(w, key, true);
	}
}

/* ---- messages of a worker */

static void read_importers(srv_pool *pool, hob_str text)
{
	hob_own_json *root = cJSON_ParseWithLength(text.data, text.len);
	const cJSON *abi = cJSON_GetObjectItemCaseSensitive(root, "landlock");
	const cJSON *seccomp = cJSON_GetObjectItemCaseSensitive(root, "seccomp");
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "importers");
	bool landlock = cJSON_IsNumber(abi) && abi->valueint > 0;
	char layer[32] = "no landlock";
	if (landlock)
		snprintf(layer, sizeof layer, "landlock %d", abi->valueint);
	snprintf(pool->sandbox, sizeof pool->sandbox, "%s, %s, limits", layer,
			 cJSON_IsTrue(seccomp) ? "seccomp" : "no seccomp");
	srv_importer_table_read(&pool->importers, &pool->arena, list);
}

static void become_idle(worker *w)
{
	srv_pool *pool = w->pool;
	uv_timer_stop(&w->deadline);
	if (w->outdated) {
		srv_pool_kill(w, HOB_ERR_CHANGED, "its folders are others now");
		return;
	}
	w->state = IDLE;
	pool->callbacks.idle(pool->callbacks.user);
}

static void on_ready(worker *w, const srv_frame *frame)
{
	srv_pool *pool = w->pool;
	if (w->state != STARTING) {
		srv_pool_kill(w, HOB_ERR_REJECTED, "the cook process broke its protocol");
		return;
	}
	w->first_rss = srv_resident_bytes(w->pid);
	if (w->first_rss == 0)
		w->first_rss = 1;
	pool->respawn_ms = RESPAWN_FIRST_MS;
	if (!pool->announced) {
		pool->announced = true;
		read_importers(pool, (hob_str){(const char *)pool->payload, frame->payload_size});
		pool->callbacks.ready(pool->callbacks.user);
	}
	become_idle(w);
	if (pool->degraded) {
		pool->degraded = false;
		pool->callbacks.degraded(pool->callbacks.user, NULL);
	}
}

int srv_pool_new_memory(uint64_t size)
{
	int fd = memfd_create("cook", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 || ftruncate(fd, (off_t)size) == 0)
		return fd;
	close(fd);
	return -1;
}

/* Gives the worker a memory file of sealed size. The worker makes no such files itself, because they would
 * not be counted. */
static void on_memory(worker *w, const srv_frame *frame)
{
	uint64_t limit = w->pool->options.memory_limit,
			 room = frame->number == SRV_MEMORY_PART ? limit : 2 * limit;
	uint64_t used = w->file_bytes - w->files_before;
	bool fits = frame->a > 0 && frame->a <= HOB_LIMIT_OUTPUT_BYTES && used <= room && frame->a <= room - used;
	int fd = fits ? srv_pool_new_memory(frame->a) : -1;
	if (fits && fd < 0) {
		srv_pool_kill(w, HOB_ERR_IO,
					  errno == EMFILE || errno == ENFILE
						  ? "too many open files to take what the cook process made; raise the "
							"daemon's limit (ulimit -n)"
						  : "the system gives no memory to take what the cook process made");
		return;
	}
	w->file_bytes += fits ? frame->a : 0;
	w->refused = w->refused || (!fits && frame->number == SRV_MEMORY_RESULT);
	srv_frame answer = {.type = SRV_FRAME_MEMORY, .number = fits};
	hob_error error;
	if (fd >= 0)
		(void)fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
	if (!srv_frame_send(w->socket, &answer, NULL, fd, &error))
		srv_pool_kill(w, HOB_ERR_IO, error.context);
	srv_close(fd);
}

static bool map_result(int fd, srv_outcome *outcome, hob_error *err)
{
	struct stat info;
	/* Seals the file first, so that the checked bytes cannot change. */
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

static bool copy_result(const uint8_t *bytes, size_t size, srv_outcome *outcome, hob_error *err)
{
	uint8_t *copy = hob_arena_alloc(&outcome->arena, size + 1, 64);
	if (!copy)
		return hob_fail_memory(err, &outcome->arena, "a cook's result");
	memcpy(copy, bytes, size);
	outcome->mapping_size = size;
	return srv_result_read((hob_bytes){copy, size}, &outcome->arena, &outcome->result, err);
}

/* Ends the next job with its result, which is in memory, or in a file if `bytes` is NULL. False: it
 * failed. */
static bool take_result(worker *w, const srv_done *done, const uint8_t *bytes, int fd)
{
	srv_outcome *outcome = srv_pool_outcome(w);
	/* Limits all three values to what is possible: they are summed, and decide which cooks run at the same
	 * time. */
	uint64_t took_ns = uv_hrtime() - w->began_ns, most = w->pool->options.memory_limit;
	outcome->cook_ns = done->cook_ns < took_ns ? done->cook_ns : took_ns;
	outcome->cpu_ns = done->cpu_ns / uv_available_parallelism() < took_ns ? done->cpu_ns : took_ns;
	outcome->peak_bytes = done->peak_bytes < most ? done->peak_bytes : most;
	outcome->cancelled = w->cancelled;
	outcome->has_result = w->refused
							  ? hob_fail(&outcome->error, MEMORY,
										 "the results are larger than the memory limit of a cook, %llu MB; "
										 "raise cook.memory_limit",
										 (unsigned long long)most >> 20)
						  : bytes ? copy_result(bytes, (size_t)done->size, outcome, &outcome->error)
								  : map_result(fd, outcome, &outcome->error);
	outcome->ok = outcome->has_result && outcome->result.ok;
	if (outcome->has_result && !outcome->result.ok)
		hob_error_set(&outcome->error, outcome->result.code, "", 0, "%.*s", HOB_FMT(outcome->result.message));
	/* A changed source is not the worker's fault. */
	bool good = outcome->ok || outcome->error.code == HOB_ERR_CHANGED;
	w->jobs_done++;
	w->refused = false;
	w->files_before = w->file_bytes;
	w->part_bytes = 0;
	srv_pool_finish(w, outcome);
	return good;
}

static void on_done(worker *w, const srv_frame *frame, int fd)
{
	const srv_pool *pool = w->pool;
	const srv_pool_options *options = &pool->options;
	const uint8_t *at = pool->payload, *end = at + frame->payload_size;
	bool good = true, broken = false;
	srv_pool_drain(w);
	if (fd >= 0 || at == end)
		good = take_result(w, &(srv_done){frame->a, frame->b, frame->number * 1000ull, 0}, NULL, fd);
	while (fd < 0 && at < end && good && !broken) {
		srv_done done = {0};
		broken = w->answered == w->job_count || (size_t)(end - at) < sizeof done;
		if (!broken)
			memcpy(&done, at, sizeof done);
		broken = broken || done.size > (size_t)(end - at) - sizeof done;
		if (!broken)
			good = take_result(w, &done, at + sizeof done, -1);
		at += sizeof done + done.size;
	}
	if (broken) { /* by the answer for this job, whatever runs now */
		srv_pool_give_back(w, w->answered);
		w->job_count = w->answered < w->job_count ? w->answered + 1 : w->job_count;
		srv_pool_kill(w, HOB_ERR_REJECTED, "the cook process broke its protocol");
		return;
	}
	bool whole = w->answered == w->job_count, over = w->pid == 0;
	uint32_t jobs_max = options->jobs_per_worker ? options->jobs_per_worker : 256;
	bool recycle =
		over || !good ||
		(whole && (w->jobs_done >= jobs_max || srv_resident_bytes(w->pid) > w->first_rss + RSS_GROWTH_MAX ||
				   w->file_bytes > options->memory_limit));
	if (recycle && !over)
		srv_pool_end(w);
	if (recycle && !good)
		srv_pool_give_back(w, w->job_count);
	if (whole && !recycle)
		become_idle(w);
}

static void keep_here(srv_pool *pool, const uint8_t key[32], uint64_t size, int fd)
{
	pool_part part = {.fd = -1};
	if (pool->part_count < PARTS_MAX && pool->part_bytes + size <= PARTS_BYTES &&
		HOB_ROOM(pool->parts, pool->part_capacity, pool->part_count))
		part.fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (part.fd >= 0) {
		memcpy(part.key, key, sizeof part.key);
		pool->parts[pool->part_count++] = part;
		pool->part_bytes += size;
	}
}

static void keep_part(worker *w, const srv_frame *frame, int fd)
{
	srv_pool *pool = w->pool;
	struct stat info;
	if (fd < 0 || pool->parts_pending >= PARTS_PENDING_MAX ||
		fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0 || fstat(fd, &info) != 0 ||
		info.st_size <= 0 || (uint64_t)info.st_size > HOB_LIMIT_OUTPUT_BYTES - w->part_bytes)
		return;
	w->part_bytes += (uint64_t)info.st_size;
	if (!pool->callbacks.part_put) {
		keep_here(pool, frame->key, (uint64_t)info.st_size, fd);
		srv_claims_end(&pool->claims, frame->key);
		srv_pool_wake_waiters(pool);
		return;
	}
	void *at = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		return;
	pool->parts_pending++;
	srv_claims_store(&pool->claims, frame->key);
	pool->callbacks.part_put(pool->callbacks.user, frame->key, (hob_bytes){at, (size_t)info.st_size});
}

void srv_pool_part_unmap(hob_bytes bytes)
{
	munmap((void *)(uintptr_t)bytes.data, bytes.size);
}

void srv_pool_part_kept(srv_pool *pool, const uint8_t key[32])
{
	pool->parts_pending--;
	srv_claims_end(&pool->claims, key);
	srv_pool_wake_waiters(pool);
	srv_pool_maybe_closed(pool);
}

/* NULL: the job does not run. */
static const worker *runs_in(const srv_pool *pool, const void *job)
{
	for (uint32_t i = 0; i < pool->count; i++) {
		const worker *w = &pool->workers[i];
		uint32_t at = srv_pool_running(w);
		if (at < w->job_count && w->jobs[at] == job)
			return w;
	}
	return NULL;
}

hob_cook_step srv_pool_step(const srv_pool *pool, const void *job)
{
	const worker *w = runs_in(pool, job);
	return hob_cook_step_at(w && w->gauge ? (hob_cook_stage)w->gauge->stage : HOB_COOK_IMPORT);
}

uint64_t srv_pool_used_ns(const srv_pool *pool, const void *job)
{
	const worker *w = runs_in(pool, job);
	uint64_t used;
	bool known = w && srv_process_cpu_ns(w->pid, &used) && used > w->cpu_before_ns;
	return known ? used - w->cpu_before_ns : 0;
}

static void on_touched(worker *w, const srv_frame *frame)
{
	if (w->touched_by != frame->number) {
		hob_buf_clear(&w->touched);
		w->touched_count = 0;
		w->touched_by = frame->number;
	}
	if (w->touched_count >= HOB_LIMIT_SOURCE_FILES || frame->payload_size == 0 ||
		frame->payload_size > HOB_LIMIT_PATH_BYTES ||
		memchr(w->pool->payload, 0, frame->payload_size) != NULL)
		return;
	hob_buf_put(&w->touched, w->pool->payload, frame->payload_size);
	hob_buf_put(&w->touched, "", 1);
	w->touched_count++;
}

static bool is_question(uint32_t type)
{
	return type == SRV_FRAME_PART_GET || type == SRV_FRAME_MEMORY || type == SRV_FRAME_EXPORT ||
		   type == SRV_FRAME_DONE;
}

/* Except at start, a message without a job is not from hob-worker. Neither is a request before the last one
 * is answered: two workers could wait for each other without a deadline. */
static void on_frame(worker *w, const srv_frame *frame, int fd)
{
	if (frame->type != SRV_FRAME_READY && (w->state != BUSY || (w->waits && is_question(frame->type)))) {
		srv_pool_kill(w, HOB_ERR_REJECTED, "the cook process broke its protocol");
		return;
	}
	switch (frame->type) {
	case SRV_FRAME_READY:
		on_ready(w, frame);
		break;
	case SRV_FRAME_DEP:
		on_touched(w, frame);
		break;
	case SRV_FRAME_PART_GET:
		answer_part(w, frame->key, frame->number == 1);
		break;
	case SRV_FRAME_MEMORY:
		on_memory(w, frame);
		break;
	case SRV_FRAME_PART_PUT:
		keep_part(w, frame, fd);
		break;
	case SRV_FRAME_EXPORT:
		srv_pool_export(w, frame);
		break;
	case SRV_FRAME_DONE:
		on_done(w, frame, fd);
		break;
	default:
		srv_pool_kill(w, HOB_ERR_REJECTED, "the cook process broke its protocol");
	}
}

void srv_pool_hear_last(worker *w)
{
	srv_frame frame;
	int fd;
	while (w->state == BUSY && w->answered < w->job_count &&
		   srv_frame_receive(w->socket, &frame, w->pool->payload, &fd) == 1) {
		if (frame.type == SRV_FRAME_DEP)
			on_touched(w, &frame);
		else if (frame.type == SRV_FRAME_PART_PUT)
			keep_part(w, &frame, fd);
		else if (frame.type == SRV_FRAME_DONE)
			on_done(w, &frame, fd);
		srv_close(fd);
	}
}

static void on_left(uv_timer_t *timer)
{
	worker *w = timer->data;
	srv_process_now now;
	/* A large process needs time to end, and its signal tells the reason. */
	if (srv_process_look(w->pid, &now) && now.ending)
		uv_timer_start(timer, on_left, LEAVE_MS, 0);
	else
		srv_pool_kill(w, HOB_ERR_CRASHED, "the cook process closed its connection without a result");
}

void srv_pool_on_socket(uv_poll_t *poll, int status, int events)
{
	(void)events;
	srv_pool *pool = poll->data;
	worker *w = NULL;
	for (uint32_t i = 0; i < pool->count; i++)
		if (pool->workers[i].socket_poll == poll)
			w = &pool->workers[i];
	uint64_t began = uv_hrtime();
	for (int turn = 0; turn < FRAMES_MAX && w && w->socket_poll == poll && w->state != DYING; turn++) {
		if (uv_hrtime() - began > FRAMES_NS)
			return;
		srv_frame frame;
		int fd = -1;
		int got = status < 0 ? 0 : srv_frame_receive(w->socket, &frame, pool->payload, &fd);
		if (got == -1)
			return;
		if (got == 1) {
			on_frame(w, &frame, fd);
			srv_close(fd);
		} else if (got == 0) {
			/* The worker is ending, and SIGCHLD gives the reason; or it closed its socket and continues. */
			uv_poll_stop(poll);
			uv_timer_start(&w->deadline, on_left, LEAVE_MS, 0);
			return;
		} else if (got == -3) {
			srv_pool_kill(w, HOB_ERR_IO,
						  "too many open files to take what the cook process made; raise the daemon's "
						  "limit (ulimit -n)");
			return;
		} else {
			srv_pool_kill(w, HOB_ERR_REJECTED, "the cook process broke its protocol");
		}
	}
}

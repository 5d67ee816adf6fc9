/* hob-worker: the child process that cooks. It is the only program that links importers and decoders. It
 * reads jobs from its socket, cooks them in a sandbox, and returns one memfd each; it never writes a file. */
#include "editor.h"
#include "protocol.h"
#include "result.h"
#include "root_io.h"
#include "sandbox.h"
#include "threads.h"

#include "../../core/base/array.h"
#include "../../core/cook/cook.h"
#include "../../core/import/importer.h"
#include "../../core/texture/texture.h"
#include "../fs/clock.h"
#include "../fs/lock.h"
#include "../fs/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <meshoptimizer.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ROOTS_MAX = 256, MAPPINGS_MAX = 65536, UNUSED_BYTES = 32 << 20 };

typedef struct worker {
	int roots[ROOTS_MAX];
	uint32_t root_count;
	srv_start start;
	srv_gauge *gauge;
	srv_threads *threads;
	srv_root_hasher *hasher;
	uint8_t payload[SRV_FRAME_PAYLOAD];
	hob_buf results;	 /* small ones that are not sent yet */
	uint64_t results_ns; /* when the first of them was ready */
	hob_bytes *parts;	 /* mapped for the current job */
	uint32_t part_count, part_capacity;
	pthread_mutex_t talk; /* every thread of a cook can ask for parts */
	bool broken;		  /* the daemon is gone or sends invalid frames */
	bool held_up;		  /* broken because the kernel refuses to pass a descriptor */
	int peak_reset;		  /* the kernel's file that resets the peak of this process; -1: there is none */
} worker;

static uint64_t clock_ns(void)
{
	return (uint64_t)srv_clock_ns(CLOCK_MONOTONIC);
}

static void show_stage(void *user, hob_cook_stage stage)
{
	worker *w = user;
	w->gauge->stage = stage;
	/* Returns memory that the allocator keeps from one stage: the next stage needs it elsewhere. */
	if (mallinfo2().fordblks > UNUSED_BYTES)
		malloc_trim(0);
}

static void send_touched(void *user, hob_str path)
{
	worker *w = user;
	srv_frame frame = {
		.type = SRV_FRAME_DEP, .number = w->gauge->model % SRV_BUNDLE, .payload_size = (uint32_t)path.len};
	if (path.len < SRV_FRAME_PAYLOAD && !srv_frame_send(SRV_WORKER_SOCKET, &frame, path.data, -1, NULL))
		w->broken = true;
}

static void pause_ms(uint32_t ms)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t never = PTHREAD_COND_INITIALIZER;
	struct timespec end;
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_nsec += (long)ms * 1000000;
	end.tv_sec += end.tv_nsec / 1000000000;
	end.tv_nsec %= 1000000000;
	SRV_LOCKED(&lock);
	while (pthread_cond_timedwait(&never, &lock, &end) == 0)
		;
}

/* Sends a frame; retries while other programs' descriptors in transit exhaust the limit (srv_frame_send). */
static void hand_over(worker *w, const srv_frame *frame, const void *payload, int fd)
{
	enum { PAUSE_MS = 5, PATIENCE_MS = 5000 };
	bool sent = srv_frame_send(SRV_WORKER_SOCKET, frame, payload, fd, NULL);
	for (uint32_t ms = 0; !sent && errno == ETOOMANYREFS && ms < PATIENCE_MS; ms += PAUSE_MS) {
		pause_ms(PAUSE_MS);
		sent = srv_frame_send(SRV_WORKER_SOCKET, frame, payload, fd, NULL);
	}
	if (!sent) {
		w->held_up = errno == ETOOMANYREFS;
		w->broken = true;
	}
}

/* Asks the daemon; *fd is a descriptor of the answer, or -1. `talk` is locked. */
static bool ask_daemon(worker *w, srv_frame *frame, const void *payload, srv_frame_type answer, int *fd)
{
	*fd = -1;
	w->broken = w->broken || !srv_frame_send(SRV_WORKER_SOCKET, frame, payload, -1, NULL) ||
				srv_frame_receive(SRV_WORKER_SOCKET, frame, w->payload, fd) != 1 || frame->type != answer;
	return !w->broken;
}

/* ---- parts */

/* Maps a file that is not empty until the job ends, and closes it. */
static bool map_part(worker *w, int fd, hob_bytes *out)
{
	struct stat info;
	bool ok = fstat(fd, &info) == 0 && info.st_size > 0 && w->part_count < MAPPINGS_MAX &&
			  HOB_ROOM(w->parts, w->part_capacity, w->part_count);
	void *at = ok ? mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
	close(fd);
	if (at == MAP_FAILED)
		return false;
	*out = w->parts[w->part_count++] = (hob_bytes){at, (size_t)info.st_size};
	return true;
}

static void drop_parts(worker *w)
{
	for (uint32_t i = 0; i < w->part_count; i++)
		munmap((void *)(uintptr_t)w->parts[i].data, w->parts[i].size);
	w->part_count = 0;
}

static hob_part_state ask_part(worker *w, const uint8_t key[32], bool wait, hob_bytes *out)
{
	srv_frame frame = {.type = SRV_FRAME_PART_GET, .number = wait};
	memcpy(frame.key, key, sizeof frame.key);
	int fd;
	if (!ask_daemon(w, &frame, NULL, SRV_FRAME_PART, &fd))
		return HOB_PART_UNKNOWN;
	if (fd >= 0)
		return map_part(w, fd, out) ? HOB_PART_KNOWN : HOB_PART_UNKNOWN;
	return frame.number == 2 ? HOB_PART_ELSEWHERE : HOB_PART_UNKNOWN;
}

static hob_part_state part_get(void *user, const uint8_t key[32], bool wait, hob_bytes *out)
{
	worker *w = user;
	SRV_LOCKED(&w->talk);
	return ask_part(w, key, wait, out);
}

/* Asks the daemon for an export, with `talk` locked: no part is requested or answered meanwhile. */
static bool ask_export(void *user, const srv_exporter_ask *ask, hob_bytes *result, hob_error *err)
{
	worker *w = user;
	srv_frame frame = {.type = SRV_FRAME_EXPORT, .payload_size = sizeof *ask};
	int fd;
	if (!ask_daemon(w, &frame, ask, SRV_FRAME_EXPORTED, &fd))
		return hob_fail(err, INTERNAL, "the daemon did not answer");
	bool told = frame.a == HOB_ERR_IO || frame.a == HOB_ERR_INTERRUPTED || frame.a == HOB_ERR_MEMORY;
	if (fd < 0)
		return hob_error_set(err, told ? (hob_err_code)frame.a : HOB_ERR_UNSUPPORTED, __FILE__, __LINE__,
							 "%.*s", (int)frame.payload_size, (const char *)w->payload);
	return map_part(w, fd, result) || hob_fail(err, MEMORY, "no memory left for what Blender exported");
}

/* A memory file of exactly this size; -1 if the daemon provides none. */
static int ask_memory(worker *w, srv_memory_use use, uint64_t size)
{
	srv_frame frame = {.type = SRV_FRAME_MEMORY, .number = use, .a = size};
	int fd;
	SRV_LOCKED(&w->talk);
	(void)ask_daemon(w, &frame, NULL, SRV_FRAME_MEMORY, &fd);
	return fd;
}

/* Seals early, so that the reader's seal costs nothing. Sealing is fast on the thread that wrote, because its
 * processor still has the pages; on another one the kernel waits until all processors have released them. */
static void seal(int fd)
{
	fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
}

static void part_put(void *user, const uint8_t key[32], hob_bytes bytes)
{
	worker *w = user;
	srv_own_fd fd = ask_memory(w, SRV_MEMORY_PART, bytes.size);
	bool whole = fd >= 0 && srv_write_all(fd, bytes.data, bytes.size);
	srv_frame frame = {.type = SRV_FRAME_PART_PUT, .a = bytes.size};
	memcpy(frame.key, key, sizeof frame.key);
	if (fd >= 0)
		seal(fd);
	if (whole)
		hand_over(w, &frame, NULL, fd);
}

/* ---- one job */

static uint64_t peak_bytes(void)
{
	struct rusage usage;
	return getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_maxrss * 1024 : 0;
}

/* Source text sent with the job, which replaces the file in the folder. */
typedef struct sent_source {
	hob_io below;
	hob_str path;
	hob_bytes text;
} sent_source;

static bool sent_read(void *user, hob_str path, hob_bytes *out, hob_error *err)
{
	sent_source *source = user;
	if (!hob_str_equal(path, source->path))
		return source->below.read(source->below.user, path, out, err);
	*out = source->text;
	return true;
}

static bool sent_find(void *user, hob_str path, hob_str *found)
{
	sent_source *source = user;
	return source->below.find_nocase(source->below.user, path, found);
}

static void sent_refused(void *user, hob_str reference, bool absolute)
{
	sent_source *source = user;
	source->below.refused(source->below.user, reference, absolute);
}

/* Sends the small results that wait. */
static void send_results(worker *w)
{
	srv_frame done = {.type = SRV_FRAME_DONE, .payload_size = (uint32_t)w->results.size};
	if (w->results.size > 0)
		hand_over(w, &done, w->results.data, -1);
	hob_buf_clear(&w->results);
}

/* A small result waits for those of the next models for GATHER_NS; a large one goes in a memory file. */
static void answer(worker *w, const srv_result *result, uint64_t cook_ns, uint64_t cpu_ns)
{
	enum { GATHER_NS = 2000000 };
	hob_error error;
	uint64_t now = clock_ns();
	srv_done head = {cook_ns, peak_bytes(), cpu_ns, srv_result_size(result)};
	if (w->results.size > 0 &&
		(head.size > SRV_FRAME_PAYLOAD || sizeof head + head.size > SRV_FRAME_PAYLOAD - w->results.size))
		send_results(w);
	if (head.size <= SRV_FRAME_PAYLOAD - sizeof head) {
		size_t before = w->results.size;
		w->results_ns = before == 0 ? now : w->results_ns;
		hob_buf_put(&w->results, &head, sizeof head);
		if (srv_result_write(-1, &w->results, result, &error) && !w->results.failed) {
			if (!result->ok || now - w->results_ns > GATHER_NS)
				send_results(w);
			return;
		}
		w->results.size = before;
		w->results.failed = false;
		send_results(w);
	}
	srv_frame done = {
		.type = SRV_FRAME_DONE, .number = (uint32_t)(cpu_ns / 1000), .a = cook_ns, .b = head.peak_bytes};
	int fd = ask_memory(w, SRV_MEMORY_RESULT, head.size);
	if (fd >= 0 && !srv_result_write(fd, NULL, result, &error)) {
		close(fd);
		fd = -1;
	}
	if (fd >= 0)
		seal(fd);
	hand_over(w, &done, NULL, fd);
	srv_close(fd);
}

static void cook_job(worker *w, const srv_job_head *head, hob_str path, hob_bytes text)
{
	uint64_t began = clock_ns(), cpu = (uint64_t)srv_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	/* Resets the peak, which would otherwise span all jobs of this process. */
	(void)!write(w->peak_reset, "5", 1);
	srv_root_io *io =
		srv_root_io_new(w->roots[head->root], w->start.source_limit, w->hasher, send_touched, w);
	if (io && head->mapped)
		srv_root_io_read_open(io);
	hob_parallel parallel = srv_threads_table(w->threads, head->threads);
	hob_parts parts = {w, part_get, part_put};
	hob_cook_result cooked = {0};
	hob_error error = {0};
	srv_result result = {0};
	if (io) {
		sent_source sent = {srv_root_io_table(io), path, text};
		hob_io table = text.size > 0 ? (hob_io){&sent, sent_read, sent_find, sent_refused, NULL} : sent.below;
		srv_editor blender = {w, ask_export, io};
		hob_editor editor = srv_editor_table(&blender);
		hob_cook_request request = {.io = &table,
									.editor = w->start.has_blender ? &editor : NULL,
									.path = path,
									.settings = head->settings,
									.profile = head->profile == HOB_PROFILE_PREVIEW ? HOB_PROFILE_PREVIEW
																					: HOB_PROFILE_FINAL,
									.parallel = &parallel,
									.parts = &parts,
									.memory_limit = (size_t)w->start.memory_limit,
									.progress = show_stage,
									.progress_user = w,
									.clock = clock_ns};
		result.ok = hob_cook(&request, &cooked, &error);
		result.deps = (srv_dep *)(uintptr_t)srv_root_io_deps(io, &result.dep_count);
	} else {
		hob_fail(&error, MEMORY, "no memory left to begin");
	}
	result.uses_name = cooked.uses_name;
	if (result.ok) {
		result.stats = cooked.stats;
		result.outputs = cooked.outputs;
		result.output_count = cooked.output_count;
		result.notes = cooked.notes.items;
		result.note_count = cooked.notes.count;
	} else {
		if (error.code == HOB_ERR_MEMORY)
			hob_fail_in(&error, "raise cook.memory_limit (--memory)");
		result.code = error.code;
		result.message = hob_str_of(error.context);
	}
	answer(w, &result, clock_ns() - began, (uint64_t)srv_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu);
	hob_cook_result_release(&cooked);
	srv_root_io_free(io);
	drop_parts(w);
}

/* Cooks the models of a bundle, one after another. */
static void run_jobs(worker *w, const srv_frame *frame)
{
	static uint8_t bundle[SRV_FRAME_PAYLOAD];
	size_t size = frame->payload_size, at = 0;
	memcpy(bundle, w->payload, size);
	uint32_t model = (uint32_t)frame->a * SRV_BUNDLE;
	for (; at < size && !w->broken; model++) {
		w->gauge->model = model;
		srv_job_head head;
		char path[PATH_MAX + 1];
		if (size - at >= sizeof head)
			memcpy(&head, bundle + at, sizeof head);
		if (size - at < sizeof head || head.root >= w->root_count || head.path_size >= sizeof path ||
			size - at - sizeof head < (size_t)head.path_size + head.text_size) {
			w->broken = true;
			return;
		}
		at += sizeof head;
		memcpy(path, bundle + at, head.path_size);
		path[head.path_size] = 0;
		at += head.path_size;
		cook_job(w, &head, (hob_str){path, head.path_size}, (hob_bytes){bundle + at, head.text_size});
		at += head.text_size;
	}
	send_results(w);
}

/* ---- start */

static bool receive_start(worker *w)
{
	for (;;) {
		srv_frame frame;
		int fd = -1;
		if (srv_frame_receive(SRV_WORKER_SOCKET, &frame, w->payload, &fd) != 1)
			return false;
		if (frame.type == SRV_FRAME_ROOT && fd >= 0 && w->root_count < ROOTS_MAX) {
			w->roots[w->root_count++] = fd;
		} else if (frame.type == SRV_FRAME_START && frame.payload_size == sizeof w->start) {
			memcpy(&w->start, w->payload, sizeof w->start);
			w->gauge = mmap(NULL, sizeof *w->gauge, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
			close(fd);
			return w->gauge != MAP_FAILED &&
				   strncmp(w->start.version, HOB_VERSION, sizeof w->start.version) == 0;
		} else {
			return false;
		}
	}
}

static void put_library(const worker *w, hob_buf *out, const hob_importer *importer)
{
	if (strcmp(importer->name, "blend") == 0)
		hob_buf_printf(out, "%.*s, ", (int)sizeof w->start.blender, w->start.blender);
	if (importer->library_version)
		hob_buf_printf(out, "%s, ", importer->library_version());
}

static void send_ready(const worker *w, const srv_sandbox_layers *layers)
{
	hob_own_buf text = {0};
	hob_buf_printf(&text, "{\"landlock\":%d,\"seccomp\":%s,\"rlimits\":%s,\"importers\":[",
				   layers->landlock ? layers->landlock_abi : 0, layers->seccomp ? "true" : "false",
				   layers->rlimits ? "true" : "false");
	for (uint32_t i = 0; i < hob_importer_count; i++) {
		const hob_importer *importer = hob_importers[i];
		const hob_importer *old = hob_importer_for_old(importer);
		hob_buf_printf(&text, "%s{\"name\":\"%s\",\"version\":%u,\"library\":\"", i ? "," : "",
					   importer->name, importer->version);
		put_library(w, &text, importer);
		if (old) {
			hob_buf_printf(&text, "%s %u ", old->name, old->version);
			put_library(w, &text, old);
		}
		hob_buf_printf(&text, "%s, meshoptimizer %d\",\"extensions\":[", hob_textures_libraries(),
					   MESHOPTIMIZER_VERSION);
		for (const char *const *e = importer->extensions; *e; e++)
			hob_buf_printf(&text, "%s\"%s\"", e == importer->extensions ? "" : ",", *e);
		hob_buf_put_str(&text, HOB_STR("]}"));
	}
	hob_buf_put_str(&text, HOB_STR("]}"));
	srv_frame frame = {.type = SRV_FRAME_READY, .payload_size = (uint32_t)text.size};
	srv_frame_send(SRV_WORKER_SOCKET, &frame, text.data, -1, NULL);
}

static void make_threads(void *user)
{
	worker *w = user;
	w->threads = srv_threads_new(w->start.threads > 1 ? w->start.threads - 1 : 0);
	w->hasher = srv_root_hasher_new();
}

int main(void)
{
	struct stat info;
	if (fstat(SRV_WORKER_SOCKET, &info) != 0 || !S_ISSOCK(info.st_mode)) {
		fprintf(stderr, "hob-worker is started by hob; run 'hob cook' or 'hob serve' instead\n");
		return 2;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGINT, SIG_IGN); /* Ctrl-C is for the daemon, which ends its workers itself */
	static worker w = {.talk = PTHREAD_MUTEX_INITIALIZER};
	if (!receive_start(&w))
		return 2;
	srv_sandbox_layers layers;
	hob_error error = {0};
	w.peak_reset = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
	if (!srv_sandbox_enter((srv_sandbox_policy)w.start.sandbox, w.start.memory_limit, w.roots, w.root_count,
						   SRV_SANDBOX_COOKS, make_threads, &w, &layers, &error)) {
		fprintf(stderr, "%s\n", error.context);
		return 2;
	}
	if (!w.threads || !w.hasher)
		return 2;
	send_ready(&w, &layers);
	while (!w.broken) {
		srv_frame frame;
		int fd = -1;
		int got = srv_frame_receive(SRV_WORKER_SOCKET, &frame, w.payload, &fd);
		srv_close(fd);
		if (got != 1 || frame.type != SRV_FRAME_JOB)
			break;
		run_jobs(&w, &frame);
	}
	_exit(w.held_up ? SRV_WORKER_HELD_UP : w.broken ? SRV_WORKER_CUT_OFF : 0);
}

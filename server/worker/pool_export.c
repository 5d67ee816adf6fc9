#include "exporter.h"
#include "own_mounts.h"
#include "pool_private.h"
#include "process_state.h"
#include "spawn.h"

#include "../../core/base/pieces.h"
#include "../fs/folder.h"
#include "../fs/remove_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	REASON_MAX = 320,
	LOOK_MS = 100,
	ENTRIES_MAX = SRV_OWN_MOUNTS_FILES,
	DEPTH_MAX = 32,
	THREADS_MAX = 2048
};

/* ---- the program */

static bool find_on_path(const char *name, char out[SRV_EXPORTER_PATH])
{
	const char *list = getenv("PATH");
	hob_str rest = hob_str_of(list ? list : "/usr/bin:/bin"), folder;
	while (hob_str_piece(&rest, ':', &folder)) {
		snprintf(out, SRV_EXPORTER_PATH, "%.*s/%s", HOB_FMT(folder), name);
		if (hob_str_starts(folder, HOB_STR("/")) && access(out, X_OK) == 0)
			return true;
	}
	return false;
}

static const char *temporary(void)
{
	const char *base = getenv("TMPDIR");
	return base && base[0] == '/' && strlen(base) < 200 ? base : "/tmp";
}

bool srv_pool_may_mount(srv_pool *pool)
{
	char folder[SRV_EXPORT_FOLDER];
	if (pool->mounts_known || pool->blender[0] == 0)
		return pool->mounts;
	pool->mounts_known = true;
	snprintf(folder, sizeof folder, "%s", temporary());
	char *const argv[] = {pool->exporter_path, "mounts", folder, NULL};
	pid_t pid;
	int status = -1;
	hob_error error;
	pool->mounts = pool->options.sandbox != SRV_SANDBOX_OFF && srv_spawn(argv, NULL, 0, &pid, &error) &&
				   waitpid(pid, &status, 0) == pid && status == 0;
	return pool->mounts;
}

void srv_pool_find_blender(srv_pool *pool, const char *program)
{
	char path[SRV_EXPORTER_PATH];
	struct stat info;
	pool->blender[0] = 0;
	snprintf(pool->blender_identity, sizeof pool->blender_identity, "no blender");
	if (!program)
		program = "blender";
	if (strcmp(program, "none") == 0)
		program = "";
	bool found = strchr(program, '/') ? snprintf(path, sizeof path, "%s", program) < (int)sizeof path
									  : program[0] && find_on_path(program, path);
	snprintf(pool->exporter_path, sizeof pool->exporter_path, "%.*sexporter",
			 (int)(strlen(pool->worker_path) - strlen("worker")), pool->worker_path);
	if (!found || stat(path, &info) != 0 || !S_ISREG(info.st_mode) || access(path, X_OK) != 0)
		return;
	snprintf(pool->blender, sizeof pool->blender, "%s", path);
	snprintf(pool->blender_identity, sizeof pool->blender_identity, "blender %lld-%lld",
			 (long long)info.st_size, (long long)info.st_mtime);
}

/* ---- its private folder */

/* Removes folders that a killed daemon left. */
static void sweep_folders(void)
{
	srv_own_folder *list = opendir(temporary());
	for (struct dirent *entry; list && (entry = readdir(list));) {
		int pid = 0;
		struct stat info;
		char path[SRV_EXPORT_FOLDER];
		if (sscanf(entry->d_name, "hob-export-%d-", &pid) != 1 || pid <= 0 || kill(pid, 0) == 0 ||
			errno != ESRCH ||
			snprintf(path, sizeof path, "%s/%s", temporary(), entry->d_name) >= (int)sizeof path)
			continue;
		if (lstat(path, &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid())
			srv_remove_tree(path);
	}
}

/* ---- resources in use by the program */

typedef struct amount {
	uint64_t bytes;
	uint32_t entries;
	bool hidden; /* some usage is not visible */
} amount;

/* Adds up the sizes in a folder. Files that other processes remove meanwhile do not count. */
static void count_folder(int parent, const char *name, uint32_t depth, amount *sum)
{
	struct stat info;
	srv_own_folder *list = depth > DEPTH_MAX ? NULL : srv_folder_open(parent, name);
	sum->hidden = sum->hidden || depth > DEPTH_MAX || (!list && errno == EACCES);
	for (struct dirent *entry; sum->entries <= ENTRIES_MAX && (entry = srv_folder_next(list));) {
		sum->entries++;
		bool there = fstatat(dirfd(list), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0;
		sum->hidden = sum->hidden || (!there && errno == EACCES);
		sum->bytes += there ? (uint64_t)info.st_blocks * 512 : 0;
		if (there && S_ISDIR(info.st_mode))
			count_folder(dirfd(list), entry->d_name, depth + 1, sum);
	}
}

/* Bytes of the unnamed files that the process has open. */
static uint64_t nameless_bytes(pid_t pid)
{
	char path[64];
	uint64_t sum = 0;
	struct stat info;
	snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
	srv_own_folder *list = opendir(path);
	for (struct dirent *entry; list && (entry = readdir(list));)
		if (fstatat(dirfd(list), entry->d_name, &info, 0) == 0 && S_ISREG(info.st_mode) && info.st_nlink == 0)
			sum += (uint64_t)info.st_blocks * 512;
	return sum;
}

static uint32_t thread_count(pid_t pid)
{
	char path[64];
	struct stat info;
	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	return stat(path, &info) == 0 && info.st_nlink > 2 ? (uint32_t)info.st_nlink - 2 : 0;
}

static void too_much(uint64_t limit, bool bytes, hob_error *why)
{
	if (bytes)
		hob_fail(why, MEMORY,
				 "Blender had more than %llu MiB of temporary files (cook.memory_limit) and was ended",
				 (unsigned long long)limit >> 20);
	else
		hob_fail(why, UNSUPPORTED, "Blender made more than %d temporary files and was ended", ENTRIES_MAX);
}

/* Checks the use of the disk and of threads; `why` stays empty within the limits. The kernel bounds a file
 * system of the program's own. */
static void look_at(worker *w, hob_error *why)
{
	uint64_t limit = w->pool->options.memory_limit;
	amount sum = {0};
	if (!w->pool->mounts) {
		count_folder(AT_FDCWD, w->export.folder, 0, &sum);
		sum.bytes += nameless_bytes(w->export.pid);
	}
	if (sum.bytes > limit || sum.entries > ENTRIES_MAX)
		too_much(limit, sum.bytes > limit, why);
	else if (sum.hidden)
		hob_fail(why, UNSUPPORTED, "Blender hid its temporary files and was ended");
	else if (thread_count(w->export.pid) > THREADS_MAX)
		hob_fail(why, UNSUPPORTED, "Blender started more than %d threads and was ended", THREADS_MAX);
}

static void on_look(uv_timer_t *timer)
{
	srv_pool *pool = timer->data;
	bool any = false;
	for (uint32_t i = 0; i < pool->count; i++) {
		worker *w = &pool->workers[i];
		any = any || w->export.wanted;
		if (!w->export.wanted || w->export.greedy.code != HOB_ERR_OK)
			continue;
		look_at(w, &w->export.greedy);
		if (w->export.greedy.code != HOB_ERR_OK)
			kill(w->export.pid, SIGKILL);
	}
	if (!any)
		uv_timer_stop(timer);
}

/* ---- one export */

static void answer(worker *w, int fd, hob_err_code code, const char *reason)
{
	srv_frame frame = {.type = SRV_FRAME_EXPORTED,
					   .number = fd >= 0,
					   .a = code,
					   .payload_size = fd >= 0 ? 0 : (uint32_t)strlen(reason)};
	hob_error error;
	if (!srv_frame_send(w->socket, &frame, reason, fd, &error))
		srv_pool_kill(w, HOB_ERR_IO, error.context);
}

static bool spawn_exporter(worker *w, const srv_exporter_ask *ask, hob_error *err)
{
	srv_pool *pool = w->pool;
	int folder = open(w->export.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int log = folder < 0 ? -1 : openat(folder, "log", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int ends[2] = {-1, -1};
	bool ok = log >= 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0 &&
			  fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0 && write(ends[0], ask, sizeof *ask) == sizeof *ask;
	if (!ok)
		hob_fail(err, IO, "the folder '%s' cannot be used: %s", w->export.folder, strerror(errno));
	char *const argv[] = {pool->exporter_path, pool->blender, NULL};
	const int fds[] = {log, log, pool->root_fds[w->export.root], folder, ends[1]};
	ok = ok && srv_spawn(argv, fds, HOB_COUNT_OF(fds), &w->export.pid, err);
	w->export.channel = ok ? ends[0] : -1;
	const int ours[] = {log, folder, ends[1], ok ? -1 : ends[0]};
	for (size_t i = 0; i < HOB_COUNT_OF(ours); i++)
		srv_close(ours[i]);
	return ok;
}

void srv_pool_export(worker *w, const srv_frame *frame)
{
	srv_pool *pool = w->pool;
	srv_exporter_ask ask;
	hob_error error = {0};
	if (w->state != BUSY || frame->payload_size != sizeof ask || pool->blender[0] == 0 || w->export.wanted) {
		srv_pool_kill(w, HOB_ERR_REJECTED, "the cook process broke its protocol");
		return;
	}
	if (w->export.pid > 0) { /* the editor of the previous worker, which was killed with it */
		waitpid(w->export.pid, NULL, 0);
		w->export.pid = 0;
		close(w->export.channel);
		srv_remove_tree(w->export.folder);
	}
	memcpy(&ask, pool->payload, sizeof ask);
	ask.actions[sizeof ask.actions - 1] = ask.collection[sizeof ask.collection - 1] = 0;
	ask.path[sizeof ask.path - 1] = 0;
	ask.sandbox = pool->options.sandbox;
	ask.mounts = srv_pool_may_mount(pool);
	ask.memory_limit = pool->options.memory_limit;
	/* memory and time are limited; on a busy machine, nice 19 would never get the processor */
	ask.nice = w->lowered ? 5 : 0;
	ask.cpu_seconds = pool->options.timeout_ms / 1000 + 1;
	sweep_folders();
	snprintf(w->export.folder, sizeof w->export.folder, "%s/hob-export-%d-XXXXXX", temporary(),
			 (int)getpid());
	if (!mkdtemp(w->export.folder)) {
		hob_fail(&error, IO, "no folder can be made in '%s': %s", temporary(), strerror(errno));
		answer(w, -1, error.code, error.context);
	} else if (!spawn_exporter(w, &ask, &error)) {
		w->export.pid = 0;
		srv_remove_tree(w->export.folder);
		answer(w, -1, error.code, error.context);
	} else {
		w->export.wanted = true;
		w->export.greedy = (hob_error){0};
		if (!uv_is_active((uv_handle_t *)&pool->look))
			uv_timer_start(&pool->look, on_look, LOOK_MS, LOOK_MS);
	}
}

void srv_pool_export_kill(worker *w)
{
	w->export.wanted = false;
	if (w->export.pid <= 0)
		return;
	kill(-w->export.pid, SIGKILL);
	kill(w->export.pid, SIGKILL);
}

/* The last line of the program's output. */
static void last_line(int folder, char out[REASON_MAX])
{
	char text[2048];
	int fd = openat(folder, "log", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC); /* it may be a pipe now */
	off_t size = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0;
	off_t from = size > (off_t)sizeof text - 1 ? size - ((off_t)sizeof text - 1) : 0;
	ssize_t got = fd >= 0 ? pread(fd, text, sizeof text - 1, from) : 0;
	srv_close(fd);
	hob_str rest = {text, got > 0 ? (size_t)got : 0}, best = {0};
	while (rest.len > 0) {
		hob_str line = hob_str_next(&rest, '\n');
		if (line.len > 0 && !hob_str_equal(line, HOB_STR("Blender quit")))
			best = line;
	}
	snprintf(out, REASON_MAX, "%.*s", best.len < 200 ? (int)best.len : 200, best.data ? best.data : "");
}

static void explain(int status, int folder, char out[REASON_MAX])
{
	char said[REASON_MAX];
	last_line(folder, said);
	if (WIFSIGNALED(status))
		snprintf(out, REASON_MAX, "Blender was ended by signal %d (%s)%s%.120s", WTERMSIG(status),
				 strsignal(WTERMSIG(status)), said[0] ? "; it said: " : "", said);
	else
		snprintf(out, REASON_MAX, "Blender ended with code %d and no model%s%.180s", WEXITSTATUS(status),
				 said[0] ? "; it said: " : "", said);
}

/* Opens the program's own file system if there is one, else its folder. */
static int open_folder(worker *w, bool *own)
{
	srv_frame frame;
	int fd;
	(void)srv_frame_receive(w->export.channel, &frame, w->pool->payload, &fd);
	close(w->export.channel);
	*own = fd >= 0;
	return *own ? fd : open(w->export.folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static void ended(worker *w, int status)
{
	char reason[REASON_MAX] = "";
	struct stat info;
	struct statvfs space;
	w->export.pid = 0;
	bool own;
	int folder = open_folder(w, &own);
	if (own && status != 0 && fstatvfs(folder, &space) == 0 && (space.f_bfree == 0 || space.f_ffree == 0))
		too_much(w->pool->options.memory_limit, space.f_bfree == 0, &w->export.greedy);
	int fd = folder < 0 ? -1 : openat(folder, "result", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0 && (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || WIFSIGNALED(status) ||
					(own && w->export.greedy.code != HOB_ERR_OK))) {
		close(fd);
		fd = -1;
	}
	if (fd < 0)
		explain(status, folder, reason);
	hob_error death = {0};
	if (WIFSIGNALED(status))
		srv_describe_death(status, 0, UINT64_MAX, false, &death);
	if (w->export.wanted && w->export.greedy.code != HOB_ERR_OK && fd < 0)
		answer(w, fd, w->export.greedy.code, w->export.greedy.context);
	else if (w->export.wanted)
		answer(w, fd, death.code == HOB_ERR_INTERRUPTED ? death.code : HOB_ERR_UNSUPPORTED, reason);
	w->export.wanted = false;
	srv_close(fd);
	srv_close(folder);
	srv_remove_tree(w->export.folder);
}

void srv_pool_export_reap(worker *w)
{
	int status;
	if (w->export.pid > 0 && waitpid(w->export.pid, &status, WNOHANG) == w->export.pid)
		ended(w, status);
}

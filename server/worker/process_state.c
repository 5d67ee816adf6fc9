#include "process_state.h"
#include "protocol.h"

#include "../fs/folder.h"

#include <ctype.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

enum { ENOUGH_FILES = 64 };

static bool is_cut_off(int status)
{
	return WEXITSTATUS(status) == SRV_WORKER_CUT_OFF || WEXITSTATUS(status) == SRV_WORKER_HELD_UP;
}

/* Whether the process ran out of memory: libraries then abort, use the null pointer, or exit. */
static bool was_out_of_memory(int status, uint64_t peak_bytes, uint64_t memory_limit)
{
	bool own =
		WIFEXITED(status) ? !is_cut_off(status) : WTERMSIG(status) == SIGABRT || WTERMSIG(status) == SIGSEGV;
	return own && peak_bytes > memory_limit / 10 * 8;
}

#define TRY_OTHER                                                                                            \
	": the file is damaged or meets a bug of the importing library; try to export it again or in another "   \
	"format"

/* Texts of a death by a signal; the signal's name stands between both. */
static const struct {
	int number;
	hob_err_code code;
	const char *before, *after;
} deaths[] = {
	{SIGXCPU, HOB_ERR_TIMEOUT, "the cook used more CPU time than its limit", ""},
	{SIGXFSZ, HOB_ERR_LIMIT, "the cook made more output than its limit", ""},
	{SIGSYS, HOB_ERR_CRASHED, "the cook process tried a forbidden system call and was ended", ""},
	{SIGABRT, HOB_ERR_CRASHED,
	 "the reader of this format gave up: a check of its own or of its memory failed", TRY_OTHER},
};

static bool is_fault(int number)
{
	return number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL || number == SIGTRAP;
}

static void describe_signal(int number, uint64_t peak_bytes, bool oom, hob_error *error)
{
	char name[64];
	int before = snprintf(name, sizeof name, "signal %d, ", number);
	snprintf(name + before, sizeof name - (size_t)before, "%s", strsignal(number));
	if (name[before + 1] >= 'a') /* "segmentation fault", but still "CPU time limit exceeded" */
		name[before] = (char)tolower((unsigned char)name[before]);
	if (oom && number == SIGKILL) {
		hob_fail(error, INTERRUPTED,
				 "the kernel ended the cook process because memory ran out; it held %llu MiB then",
				 (unsigned long long)peak_bytes >> 20);
		return;
	}
	for (size_t i = 0; i < HOB_COUNT_OF(deaths); i++)
		if (deaths[i].number == number) {
			hob_error_set(error, deaths[i].code, __FILE__, __LINE__, "%s (%s)%s", deaths[i].before, name,
						  deaths[i].after);
			return;
		}
	if (is_fault(number))
		hob_fail(error, CRASHED, "the reader of this format crashed (%s)" TRY_OTHER, name);
	else
		hob_fail(error, INTERRUPTED, "the cook process was ended from outside (%s)", name);
}

void srv_describe_death(int status, uint64_t peak_bytes, uint64_t memory_limit, bool oom, hob_error *error)
{
	if (was_out_of_memory(status, peak_bytes, memory_limit)) {
		hob_fail(error, MEMORY,
				 "the cook ran out of memory: it used %llu MiB of the %llu MiB it may have; "
				 "raise cook.memory_limit (--memory)",
				 (unsigned long long)peak_bytes >> 20, (unsigned long long)memory_limit >> 20);
		return;
	}
	if (WIFSIGNALED(status)) {
		describe_signal(WTERMSIG(status), peak_bytes, oom, error);
		return;
	}
	if (WEXITSTATUS(status) == SRV_WORKER_CUT_OFF)
		hob_fail(error, INTERRUPTED, "the cook process lost its connection to hob");
	else if (WEXITSTATUS(status) == SRV_WORKER_HELD_UP)
		hob_fail(error, INTERRUPTED,
				 "the kernel did not let the cook process hand over its result: programs of this user have "
				 "too many open files on their way between processes");
	else
		hob_fail(error, CRASHED, "the cook process exited with code %d", WEXITSTATUS(status));
}

void srv_process_goes_first(pid_t pid)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/oom_score_adj", (int)pid);
	srv_own_fd fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t wrote = fd >= 0 ? write(fd, "1000", 4) : 0;
	(void)wrote;
}

bool srv_process_cpu_ns(pid_t pid, uint64_t *out)
{
	clockid_t clock;
	struct timespec used;
	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0)
		return false;
	*out = (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
	return true;
}

/* "12 (a name) S 1 2 3 4 5 flags ..." The name may contain anything, so search for the last bracket. */
static char state_of(const char *stat, unsigned long *flags)
{
	const char *end = strrchr(stat, ')');
	char state = 0;
	*flags = 0;
	return end && sscanf(end + 1, " %c %*d %*d %*d %*d %*d %lu", &state, flags) >= 1 ? state : 0;
}

static void look_at_thread(int tasks, const char *id, srv_process_now *out)
{
	char name[NAME_MAX + sizeof "/schedstat"], text[512];
	unsigned long flags;
	snprintf(name, sizeof name, "%s/stat", id);
	if (!srv_read_text(tasks, name, text, sizeof text))
		return;
	char state = state_of(text, &flags);
	out->stopped = out->stopped || state == 'T' || state == 't';
	out->sleeping = out->sleeping && state == 'S';
	snprintf(name, sizeof name, "%s/schedstat", id);
	unsigned long long ran, waited;
	if (srv_read_text(tasks, name, text, sizeof text) && sscanf(text, "%llu %llu", &ran, &waited) == 2)
		out->wait_ns += waited;
}

bool srv_process_look(pid_t pid, srv_process_now *out)
{
	enum { PF_EXITING = 4 }; /* of linux/sched.h; proc(5) shows the flags */
	char path[64], text[512];
	unsigned long flags;
	*out = (srv_process_now){.sleeping = true};
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	if (!srv_read_text(AT_FDCWD, path, text, sizeof text))
		return false;
	char state = state_of(text, &flags);
	out->ending = state == 'Z' || state == 'X' || (flags & PF_EXITING) != 0;
	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	srv_own_folder *tasks = opendir(path);
	for (struct dirent *entry; tasks && (entry = readdir(tasks));)
		if (entry->d_name[0] != '.')
			look_at_thread(dirfd(tasks), entry->d_name, out);
	return true;
}

/* Reads the first numbers of statm: all pages, resident pages, resident file pages. */
static bool read_pages(pid_t pid, uint64_t pages[3])
{
	char path[64], text[128], *at = text;
	snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
	bool known = srv_read_text(AT_FDCWD, path, text, sizeof text);
	for (int i = 0; i < 3; i++)
		pages[i] = strtoull(at, &at, 10);
	return known;
}

uint64_t srv_resident_bytes(pid_t pid)
{
	uint64_t pages[3];
	return read_pages(pid, pages) ? pages[1] * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

uint64_t srv_own_bytes(pid_t pid)
{
	uint64_t pages[3];
	bool known = read_pages(pid, pages) && pages[1] > pages[2];
	return known ? (pages[1] - pages[2]) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

/* Names the limit of open files if it is low: how that shows in a program depends on timing. */
static const char *few_files(char *out, size_t room)
{
	struct rlimit files = {0};
	*out = 0;
	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < ENOUGH_FILES)
		snprintf(out, room, " (the limit is %llu open files)", (unsigned long long)files.rlim_cur);
	return out;
}

void srv_describe_bad_start(const char *program, int status, const char *why, hob_str said, hob_error *out)
{
	char how[64] = "ended", few[64];
	while (said.len > 0 && said.data[said.len - 1] <= ' ')
		said.len--;
	if (WIFSIGNALED(status))
		snprintf(how, sizeof how, "was killed (%s)", strsignal(WTERMSIG(status)));
	else if (WIFEXITED(status))
		snprintf(how, sizeof how, "ended with code %d", WEXITSTATUS(status));
	if (why && said.len == 0)
		(void)hob_fail(out, NO_WORKER, "'%s' could not be started: %s", program, why);
	else
		(void)hob_fail(out, NO_WORKER, "'%.120s' %s instead of starting%s%s%.*s", program, how,
					   few_files(few, sizeof few), said.len > 0 ? ": " : "",
					   (int)(said.len < 80 ? said.len : 80), said.data ? said.data : "");
}

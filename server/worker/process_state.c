#include "process_state.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ENOUGH_FILES = 64 };

/* Libraries answer a refused allocation as they like: with abort(), by using the null pointer, by ending. */
static bool was_out_of_memory(int status, uint64_t peak_bytes, uint64_t memory_limit)
{
	bool own = WIFEXITED(status) || WTERMSIG(status) == SIGABRT || WTERMSIG(status) == SIGSEGV;
	return own && peak_bytes > memory_limit / 10 * 8;
}

void srv_describe_death(int status, uint64_t peak_bytes, uint64_t memory_limit, hob_error *error)
{
	if (was_out_of_memory(status, peak_bytes, memory_limit)) {
		hob_fail(error, MEMORY, "the cook ran out of memory: it used %llu MiB of the %llu MiB it may have",
				 (unsigned long long)peak_bytes >> 20, (unsigned long long)memory_limit >> 20);
		return;
	}
	if (WIFSIGNALED(status)) {
		int number = WTERMSIG(status);
		switch (number) {
		case SIGXCPU:
			hob_fail(error, TIMEOUT, "the cook used more CPU time than its limit");
			return;
		case SIGSYS:
			hob_fail(error, CRASHED, "the cook process tried a forbidden system call and was ended");
			return;
		case SIGKILL:
			hob_fail(error, MEMORY, "the cook process was killed, most likely for want of memory");
			return;
		default:
			hob_fail(error, CRASHED,
					 "the reader of this format crashed (signal %d, %s): the file is damaged or meets a bug "
					 "of the "
					 "importing library; try to export it again or in another format",
					 number,
					 number == SIGSEGV	 ? "segmentation fault"
					 : number == SIGABRT ? "abort"
										 : "fatal");
			return;
		}
	}
	hob_fail(error, CRASHED, "the cook process ended by itself with code %d", WEXITSTATUS(status));
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

uint64_t srv_resident_bytes(pid_t pid)
{
	char path[64], text[128] = "";
	snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	ssize_t got = read(fd, text, sizeof text - 1);
	close(fd);
	char *space = got > 0 ? strchr(text, ' ') : NULL;
	return space ? strtoull(space + 1, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

/* What so few descriptors do to a program and its libraries depends on the moment. */
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

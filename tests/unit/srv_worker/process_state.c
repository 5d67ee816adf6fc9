#include "tests/unit/support.h"

#include "server/worker/process_state.h"
#include "server/worker/protocol.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MIB = 1 << 20, LIMIT = 100 * MIB };

static hob_err_code death(int status, uint64_t peak, bool oom, const char *says)
{
	hob_error error = {0};
	srv_describe_death(status, peak, LIMIT, oom, &error);
	if (!strstr(error.context, says))
		fail_msg("'%s' does not say '%s'", error.context, says);
	return error.code;
}

static void faults_assertions_and_the_filter_are_the_models(void **state)
{
	(void)state;
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
	for (size_t i = 0; i < HOB_COUNT_OF(faults); i++)
		assert_int_equal(death(faults[i], MIB, true, "crashed"), HOB_ERR_CRASHED);
	assert_int_equal(death(SIGABRT, MIB, true, "a check of its own or of its memory failed"),
					 HOB_ERR_CRASHED);
	assert_int_equal(death(SIGSYS, MIB, true, "forbidden"), HOB_ERR_CRASHED);
	assert_int_equal(death(7 << 8, MIB, true, "code 7"), HOB_ERR_CRASHED);
}

static void its_own_limits_are_named(void **state)
{
	(void)state;
	assert_int_equal(death(SIGXCPU, MIB, false, "CPU"), HOB_ERR_TIMEOUT);
	assert_int_equal(death(SIGXFSZ, MIB, false, "output"), HOB_ERR_LIMIT);
	assert_int_equal(death(SIGABRT, 90 * MIB, false, "90 MiB of the 100"), HOB_ERR_MEMORY);
	assert_int_equal(death(SIGSEGV, 90 * MIB, false, "memory"), HOB_ERR_MEMORY);
}

static void every_other_signal_came_from_outside(void **state)
{
	(void)state;
	static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGXCPU, SIGXFSZ};
	for (int number = 1; number < 64; number++) {
		bool its = false;
		for (size_t i = 0; i < HOB_COUNT_OF(own); i++)
			its = its || own[i] == number;
		if (!its)
			assert_int_equal(death(number, 99 * MIB, false, "from outside"), HOB_ERR_INTERRUPTED);
	}
	assert_int_equal(death(SIGKILL, 99 * MIB, true, "the kernel ended"), HOB_ERR_INTERRUPTED);
	assert_int_equal(death(SIGTERM, 99 * MIB, true, "from outside"), HOB_ERR_INTERRUPTED);
}

static void a_result_that_could_not_be_sent_is_not_the_models(void **state)
{
	(void)state;
	assert_int_equal(death(SRV_WORKER_CUT_OFF << 8, MIB, false, "connection"), HOB_ERR_INTERRUPTED);
	assert_int_equal(death(SRV_WORKER_HELD_UP << 8, MIB, false, "too many open files"), HOB_ERR_INTERRUPTED);
	assert_int_equal(death(SRV_WORKER_HELD_UP << 8, 99 * MIB, false, "too many open files"),
					 HOB_ERR_INTERRUPTED);
}

static void pages_of_files_are_not_a_processs_own(void **state)
{
	(void)state;
	enum { SIZE = 32 * MIB };
	int file = memfd_create("pages", MFD_CLOEXEC);
	assert_true(file >= 0 && ftruncate(file, SIZE) == 0);
	uint64_t all = srv_resident_bytes(getpid()), own = srv_own_bytes(getpid());
	char *mapped = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	assert_true(mapped != MAP_FAILED);
	memset(mapped, 1, SIZE);
	assert_true(srv_resident_bytes(getpid()) > all + SIZE / 2);
	assert_true(srv_own_bytes(getpid()) < own + SIZE / 2);
	char *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(memory != MAP_FAILED);
	memset(memory, 1, SIZE);
	assert_true(srv_own_bytes(getpid()) > own + SIZE / 2);
	munmap(memory, SIZE);
	munmap(mapped, SIZE);
	close(file);
}

static void wait_for(pid_t pid, bool (*is)(const srv_process_now *now))
{
	srv_process_now now = {0};
	for (int i = 0; i < 100000; i++) {
		assert_true(srv_process_look(pid, &now));
		if (is(&now))
			return;
		sched_yield();
	}
	fail_msg("stopped %d, sleeping %d, ending %d", now.stopped, now.sleeping, now.ending);
}

static bool sleeps(const srv_process_now *now)
{
	return now->sleeping && !now->stopped && !now->ending;
}

static bool is_stopped(const srv_process_now *now)
{
	return now->stopped && !now->sleeping;
}

static bool ends(const srv_process_now *now)
{
	return now->ending;
}

static void a_process_is_told_by_what_it_does(void **state)
{
	(void)state;
	pid_t pid = fork();
	if (pid == 0)
		for (;;)
			pause();
	wait_for(pid, sleeps);
	kill(pid, SIGSTOP);
	wait_for(pid, is_stopped);
	kill(pid, SIGKILL);
	wait_for(pid, ends);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_false(srv_process_look(pid, &(srv_process_now){0}));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(faults_assertions_and_the_filter_are_the_models),
		cmocka_unit_test(its_own_limits_are_named),
		cmocka_unit_test(every_other_signal_came_from_outside),
		cmocka_unit_test(a_result_that_could_not_be_sent_is_not_the_models),
		cmocka_unit_test(pages_of_files_are_not_a_processs_own),
		cmocka_unit_test(a_process_is_told_by_what_it_does),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

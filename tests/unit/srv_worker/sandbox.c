#include "tests/unit/support.h"

#include "server/worker/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKS, REFUSED, NO_SANDBOX };

typedef enum shell { WORKER, THUMBNAIL, PROGRAM, READER, FETCHER } shell;

static pid_t parent;
static int file, ends[2];

/* ---- a thread started before the filter; it makes one call */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	long (*call)(void);
	long result;
	bool done;
} other = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void *other_main(void *user)
{
	pthread_mutex_lock(&other.lock);
	while (!other.call)
		pthread_cond_wait(&other.changed, &other.lock);
	other.result = other.call();
	other.done = true;
	pthread_cond_signal(&other.changed);
	pthread_mutex_unlock(&other.lock);
	return user;
}

static void start_other(void *user)
{
	(void)user;
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, other_main, NULL), 0);
}

static long by_other(long (*call)(void))
{
	pthread_mutex_lock(&other.lock);
	other.call = call;
	pthread_cond_signal(&other.changed);
	while (!other.done)
		pthread_cond_wait(&other.changed, &other.lock);
	pthread_mutex_unlock(&other.lock);
	return other.result;
}

static bool enter(shell kind)
{
	srv_sandbox_layers layers = {0};
	hob_error error;
	if (kind == PROGRAM)
		return srv_sandbox_enter_program(SRV_SANDBOX_BEST_EFFORT, 0, 100, NULL, 0, &error);
	return srv_sandbox_enter(SRV_SANDBOX_BEST_EFFORT, 0, NULL, 0,
							 kind == THUMBNAIL ? SRV_SANDBOX_DRAWS
							 : kind == READER  ? SRV_SANDBOX_READS
							 : kind == FETCHER ? SRV_SANDBOX_FETCHES
											   : SRV_SANDBOX_COOKS,
							 kind == WORKER ? start_other : NULL, NULL, &layers, &error) &&
		   layers.seccomp;
}

/* Result of a call inside the sandbox. Sanitizer builds refuse with EPERM what otherwise ends the process. */
static int end_of(shell kind, long (*call)(void))
{
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(!enter(kind) ? NO_SANDBOX : call() >= 0 ? WORKS : REFUSED);
	int status = 0;
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFSIGNALED(status)) {
		assert_int_equal(WTERMSIG(status), SIGSYS);
		return REFUSED;
	}
	return WEXITSTATUS(status);
}

static void is_refused(shell kind, long (*call)(void))
{
	int end = end_of(kind, call);
	if (end == NO_SANDBOX)
		skip();
	assert_int_equal(end, REFUSED);
}

static void works(shell kind, long (*call)(void))
{
	int end = end_of(kind, call);
	if (end == NO_SANDBOX)
		skip();
	assert_int_equal(end, WORKS);
}

static long set_owner(void)
{
	return syscall(SYS_fcntl, ends[0], (long)F_SETOWN, parent);
}

/* The kernel ignores the upper 32 bits of fcntl's command, so the filter must ignore them too. */
static long set_owner_by_a_wide_command(void)
{
	return syscall(SYS_fcntl, ends[0], F_SETOWN | 1l << 32, parent);
}

static long set_owner_ex(void)
{
	struct f_owner_ex owner = {F_OWNER_PID, parent};
	return syscall(SYS_fcntl, ends[0], (long)F_SETOWN_EX, &owner);
}

static long set_deadly_signal(void)
{
	return syscall(SYS_fcntl, ends[0], (long)F_SETSIG, (long)SIGKILL);
}

static long set_signal_of_leases(void)
{
	return syscall(SYS_fcntl, file, (long)F_SETSIG, (long)SIGURG);
}

static long lease_for_writing(void)
{
	return syscall(SYS_fcntl, file, (long)F_SETLEASE, (long)F_WRLCK);
}

static long set_pipe_size(void)
{
	int pipe_ends[2];
	return syscall(SYS_pipe2, pipe_ends, 0) != 0
			   ? -1
			   : syscall(SYS_fcntl, pipe_ends[0], (long)F_SETPIPE_SZ, (long)(1 << 20));
}

static long set_asynchronous(void)
{
	return syscall(SYS_fcntl, ends[0], (long)F_SETFL, (long)O_ASYNC);
}

static long map(int protection, int flags)
{
	long at = syscall(SYS_mmap, NULL, 2 << 20, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
	return at == -1 && errno != ENOMEM && errno != EAGAIN ? -1 : 0;
}

static long map_code(void)
{
	return map(PROT_READ | PROT_EXEC, 0);
}

static long map_huge(void)
{
	return map(PROT_READ, MAP_HUGETLB);
}

static long map_locked(void)
{
	return map(PROT_READ, MAP_LOCKED);
}

static long map_memory(void)
{
	return map(PROT_READ | PROT_WRITE, 0);
}

static long make_code(void)
{
	static uint8_t page[8192] __attribute__((aligned(4096)));
	return syscall(SYS_mprotect, page, 4096, PROT_READ | PROT_EXEC);
}

static long make_process(void)
{
	long child = syscall(SYS_clone, (long)SIGCHLD, NULL, NULL, NULL, NULL);
	if (child == 0)
		_exit(0);
	return child;
}

static void *nothing(void *user)
{
	return user;
}

static long make_thread(void)
{
	pthread_t thread;
	int code = pthread_create(&thread, NULL, nothing, NULL);
	errno = code;
	return code == 0 ? pthread_join(thread, NULL) : -1;
}

static long signal_parent(void)
{
	return syscall(SYS_tgkill, parent, parent, 0);
}

static long map_by_other(void)
{
	return by_other(map_memory);
}

static long signal_parent_by_other(void)
{
	return by_other(signal_parent);
}

static long signal_itself(void)
{
	pid_t own = getpid();
	return syscall(SYS_tgkill, own, own, SIGCONT);
}

static long kill_parent(void)
{
	return syscall(SYS_kill, parent, 0);
}

static long kill_group(void)
{
	return syscall(SYS_kill, 0, 0);
}

static long send_with(int flags)
{
	struct iovec part = {"!", 1};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	return sendmsg(ends[0], &message, flags);
}

static long send_urgently(void)
{
	return send_with(MSG_OOB | MSG_NOSIGNAL);
}

static long send_plainly(void)
{
	return send_with(MSG_NOSIGNAL);
}

static long queue_signals(void)
{
	sigset_t kept;
	sigemptyset(&kept);
	sigaddset(&kept, SIGRTMIN + 5);
	sigprocmask(SIG_BLOCK, &kept, NULL);
	long sent = 0;
	while (sent < 16 && syscall(SYS_tgkill, getpid(), (int)syscall(SYS_gettid), SIGRTMIN + 5) == 0)
		sent++;
	return sent > 1 ? 0 : -1;
}

static long limit_parent(void)
{
	struct rlimit now;
	return syscall(SYS_prlimit64, parent, RLIMIT_NOFILE, NULL, &now);
}

static long own_limits(void)
{
	struct rlimit now;
	return syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &now);
}

static long pair(void)
{
	int made[2];
	return syscall(SYS_socketpair, AF_UNIX, SOCK_DGRAM, 0, made);
}

static long watch(void)
{
	return syscall(SYS_inotify_init1, 0);
}

static long own_priority(void)
{
	return syscall(SYS_setpriority, PRIO_PROCESS, 0, 19);
}

static void fcntl_of_a_worker(void **state)
{
	(void)state;
	is_refused(WORKER, set_owner);
	is_refused(WORKER, set_owner_by_a_wide_command);
	is_refused(WORKER, set_owner_ex);
	is_refused(WORKER, set_deadly_signal);
	is_refused(WORKER, lease_for_writing);
	is_refused(WORKER, set_asynchronous);
	works(WORKER, set_signal_of_leases);
}

static void memory_of_a_worker(void **state)
{
	(void)state;
	is_refused(WORKER, map_code);
	is_refused(WORKER, map_huge);
	is_refused(WORKER, map_locked);
	is_refused(WORKER, make_code);
	works(WORKER, map_memory);
}

static void processes_and_signals_of_a_worker(void **state)
{
	(void)state;
	is_refused(WORKER, make_process);
	is_refused(WORKER, signal_parent);
	is_refused(WORKER, kill_parent);
	is_refused(WORKER, queue_signals);
	works(WORKER, signal_itself);
}

static void threads_of_a_worker(void **state)
{
	(void)state;
	is_refused(WORKER, make_thread);
	works(WORKER, map_by_other);
	is_refused(WORKER, signal_parent_by_other);
	works(THUMBNAIL, make_thread);
}

static void messages_of_a_worker(void **state)
{
	(void)state;
	is_refused(WORKER, send_urgently);
	is_refused(WORKER, pair);
	is_refused(WORKER, watch);
	works(WORKER, send_plainly);
}

/* The thumbnail process may map executable memory; otherwise it is limited like a worker. */
static void a_thumbnail_makes_code_only(void **state)
{
	(void)state;
	works(THUMBNAIL, map_code);
	works(THUMBNAIL, make_code);
	is_refused(THUMBNAIL, set_owner);
	is_refused(THUMBNAIL, set_owner_ex);
	is_refused(THUMBNAIL, set_deadly_signal);
	is_refused(THUMBNAIL, lease_for_writing);
	is_refused(THUMBNAIL, map_huge);
	is_refused(THUMBNAIL, make_process);
	is_refused(THUMBNAIL, signal_parent);
}

static void a_program_reaches_no_other_process(void **state)
{
	(void)state;
	is_refused(PROGRAM, limit_parent);
	is_refused(PROGRAM, kill_parent);
	is_refused(PROGRAM, kill_group);
	is_refused(PROGRAM, signal_parent);
	is_refused(PROGRAM, make_process);
	is_refused(PROGRAM, own_priority);
	works(PROGRAM, own_limits);
}

static void descriptors_of_a_program(void **state)
{
	(void)state;
	is_refused(PROGRAM, set_owner);
	is_refused(PROGRAM, set_owner_by_a_wide_command);
	is_refused(PROGRAM, set_owner_ex);
	is_refused(PROGRAM, set_deadly_signal);
	is_refused(PROGRAM, set_pipe_size);
	is_refused(PROGRAM, lease_for_writing);
	is_refused(PROGRAM, pair);
	is_refused(PROGRAM, watch);
	works(PROGRAM, map_code);
}

static long open_with(long flags)
{
	return syscall(SYS_openat, AT_FDCWD, "/dev/null", flags, 0L);
}

static long open_to_read(void)
{
	return open_with(O_RDONLY);
}

static long open_to_write(void)
{
	return open_with(O_WRONLY);
}

static long open_for_both(void)
{
	return open_with(O_RDWR);
}

static long create_file(void)
{
	return open_with(O_RDONLY | O_CREAT);
}

static long truncate_file(void)
{
	return open_with(O_RDONLY | O_TRUNC);
}

static long open_beneath(void)
{
	const struct {
		uint64_t flags, mode, resolve;
	} how = {O_WRONLY, 0, 0};
	return syscall(SYS_openat2, AT_FDCWD, "/dev/null", &how, sizeof how);
}

static long run_program(void)
{
	char *const nothing_more[] = {NULL};
	return syscall(SYS_execve, "/bin/true", nothing_more, nothing_more);
}

/* hob-git: its library opens files by path, and for reading only. */
static void a_reader_opens_to_read_only(void **state)
{
	(void)state;
	works(READER, open_to_read);
	is_refused(READER, open_to_write);
	is_refused(READER, open_for_both);
	is_refused(READER, create_file);
	is_refused(READER, truncate_file);
	is_refused(READER, open_beneath);
	is_refused(READER, run_program);
	is_refused(READER, pair);
	is_refused(READER, map_code);
	is_refused(READER, make_process);
	is_refused(READER, make_thread);
	is_refused(READER, signal_parent);
	is_refused(READER, set_owner);
	works(READER, map_memory);
}

static int family = AF_INET, use;

static long make_socket(void)
{
	return syscall(SYS_socket, family,
				   SOCK_RAW * (family == AF_NETLINK) + SOCK_STREAM * (family != AF_NETLINK), 0);
}

/* Nobody listens at port 1. */
static long use_a_socket(void)
{
	struct sockaddr_in place = {.sin_family = AF_INET, .sin_port = htons(use == SYS_connect)};
	place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	long done = syscall(use, make_socket(), &place, sizeof place);
	return done != 0 && errno == ECONNREFUSED ? 0 : done;
}

/* hob-lfs: as hob-git, and it connects to others by IP. */
static void one_that_fetches_connects_by_ip_only(void **state)
{
	(void)state;
	use = SYS_connect;
	works(FETCHER, use_a_socket);
	is_refused(READER, use_a_socket);
	use = SYS_bind;
	is_refused(FETCHER, use_a_socket);
	family = AF_UNIX;
	is_refused(FETCHER, make_socket);
	family = AF_NETLINK;
	is_refused(FETCHER, make_socket);
	works(FETCHER, open_to_read);
	is_refused(FETCHER, open_to_write);
	is_refused(FETCHER, create_file);
	is_refused(FETCHER, open_beneath);
	is_refused(FETCHER, run_program);
	is_refused(FETCHER, pair);
	is_refused(FETCHER, make_process);
	is_refused(FETCHER, make_thread);
	is_refused(FETCHER, signal_parent);
	is_refused(FETCHER, set_owner);
}

int main(void)
{
	char name[] = "/tmp/hob-sandbox-XXXXXX";
	file = mkstemp(name);
	unlink(name);
	parent = getpid();
	setenv("HOB_LANDLOCK_ABI", "0", 1); /* seccomp only */
	if (file < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
		return 1;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fcntl_of_a_worker),
		cmocka_unit_test(memory_of_a_worker),
		cmocka_unit_test(processes_and_signals_of_a_worker),
		cmocka_unit_test(threads_of_a_worker),
		cmocka_unit_test(messages_of_a_worker),
		cmocka_unit_test(a_reader_opens_to_read_only),
		cmocka_unit_test(one_that_fetches_connects_by_ip_only),
		cmocka_unit_test(a_thumbnail_makes_code_only),
		cmocka_unit_test(a_program_reaches_no_other_process),
		cmocka_unit_test(descriptors_of_a_program),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

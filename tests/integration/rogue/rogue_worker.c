/* A cook process that misbehaves as its model's name says: hang.rogue hangs, fork.rogue forks, and so on. It
 * enters the real sandbox, unless the daemon says otherwise, and uses the real protocol. Built without
 * sanitizers, whose runtimes make calls that the sandbox forbids. */
#include "rogue_lies.h"

#include "../../../server/worker/protocol.h"
#include "../../../server/worker/sandbox.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/openat2.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static uint8_t payload[SRV_FRAME_PAYLOAD];
static int roots[64];
static uint32_t root_count;
static uint64_t memory_limit;
static pid_t daemon_id; /* read before entering the sandbox, which forbids getppid */

static void hang(void)
{
	uint32_t word = 0;
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	/* A futex is one of the few ways to wait that the sandbox allows. */
	for (;;)
		syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL);
}

static void spin(void)
{
	for (volatile unsigned long i = 0;; i++)
		;
}

static void allocate(void)
{
	static char *volatile last; /* keeps the compiler from removing the allocations */
	for (size_t size = 4 << 20;;) {
		char *bytes = malloc(size);
		if (!bytes)
			abort();
		memset(bytes, 1, size);
		last = bytes;
	}
}

static void fork_many(void)
{
	for (int i = 0; i < 8; i++)
		if (fork() == 0) {
			/* Half of them leave the group, as daemons do. */
			if (i % 2)
				setsid();
			for (;;)
				pause();
		}
	for (;;)
		pause();
}

static void flood(void)
{
	char line[4096];
	memset(line, 'x', sizeof line);
	for (int i = 0; i < 16384; i++)
		if (write(i % 2 + 1, line, sizeof line) < 0 && errno != EAGAIN)
			_exit(9);
	raise(SIGSEGV);
	_exit(10);
}

static void connect_to(const char *port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
	inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
		_exit(11);
	_exit(write(fd, "out", 3) == 3 ? 12 : 13);
}

static void write_outside(const char *name)
{
	int fd = openat(roots[0], name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	_exit(fd < 0 ? 14 : write(fd, "out", 3) == 3 ? 15 : 16);
}

/* ---- ways out of the sandbox: exit code 40 if the call was refused, 41 if it succeeded */

static int open_how(int dir, const char *path, uint64_t flags)
{
	struct open_how how = {.flags = flags, .mode = flags & O_CREAT ? 0644 : 0};
	return (int)syscall(SYS_openat2, dir, path, &how, sizeof how);
}

static long read_password(void)
{
	return open_how(AT_FDCWD, "/etc/passwd", O_RDONLY);
}

static long read_above(void)
{
	return open_how(roots[0], "../secret", O_RDONLY);
}

static long read_environment(void)
{
	return open_how(AT_FDCWD, "/proc/self/environ", O_RDONLY);
}

static long list_system(void)
{
	return open_how(AT_FDCWD, "/", O_RDONLY | O_DIRECTORY);
}

static long make_file(void)
{
	return open_how(roots[0], "made", O_WRONLY | O_CREAT);
}

static long change_file(void)
{
	return open_how(roots[0], "victim.txt", O_WRONLY | O_TRUNC);
}

static long remove_file(void)
{
	return unlinkat(roots[0], "victim.txt", 0);
}

static long rename_file(void)
{
	return renameat(roots[0], "victim.txt", roots[0], "renamed.txt");
}

static long run_program(void)
{
	char *const words[] = {"sh", "-c", "exit 41", NULL};
	return execve("/bin/sh", words, NULL);
}

static long local_socket(void)
{
	return socket(AF_UNIX, SOCK_STREAM, 0);
}

static long datagrams(void)
{
	return socket(AF_INET6, SOCK_DGRAM, 0);
}

static long trace_parent(void)
{
	return ptrace(PTRACE_SEIZE, daemon_id, NULL, NULL);
}

static long read_parent(void)
{
	char byte;
	struct iovec mine = {&byte, 1}, theirs = {(void *)(uintptr_t)roots, 1};
	return process_vm_readv(daemon_id, &mine, 1, &theirs, 1, 0);
}

static long signal_parent(void)
{
	return kill(daemon_id, 0);
}

static long run_memory(void)
{
	void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return code == MAP_FAILED ? -1 : 0;
}

static long open_by_handle(void)
{
	struct {
		struct file_handle head;
		char bytes[8];
	} handle = {.head = {.handle_bytes = 8, .handle_type = 1}};
	return open_by_handle_at(roots[0], &handle.head, O_RDONLY) >= 0 || errno == ESTALE ? 0 : -1;
}

static long ring(void)
{
	return syscall(SYS_io_uring_setup, 4, NULL) >= 0 || errno == EFAULT ? 0 : -1;
}

static long become_user(void)
{
	return getuid() == 0 ? setuid(1) : setuid(0);
}

/* The socket's file description is shared with the daemon: its owner receives SIGIO for it. */
static long own_socket(void)
{
	return fcntl(SRV_WORKER_SOCKET, F_SETOWN, daemon_id);
}

static long choose_signal(void)
{
	return fcntl(SRV_WORKER_SOCKET, F_SETSIG, SIGKILL);
}

static long make_asynchronous(void)
{
	return fcntl(SRV_WORKER_SOCKET, F_SETFL, O_ASYNC | O_NONBLOCK);
}

static long make_memory_file(void)
{
	return memfd_create("mine", MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

/* The daemon limits the memory files that a process may keep. */
static long hoard_memory_files(void)
{
	uint64_t got = 0, step = memory_limit / 4;
	while (got <= 3 * memory_limit && rogue_memory(step) >= 0)
		got += step;
	return got <= 3 * memory_limit ? -1 : 0;
}

static long take_huge_pages(void)
{
	return memfd_create("huge", MFD_HUGETLB);
}

static long lock_socket(void)
{
	struct flock lock = {.l_type = F_WRLCK};
	return fcntl(SRV_WORKER_SOCKET, F_OFD_SETLK, &lock) == 0 || errno == EBADF ? 0 : -1;
}

/* A lease would delay other openers of the file for 45 s. */
static long lease_for_writing(void)
{
	int fd = open_how(roots[0], "victim.txt", O_RDONLY);
	if (fd < 0)
		_exit(42);
	return fcntl(fd, F_SETLEASE, F_WRLCK);
}

static long limit_parent(void)
{
	struct rlimit none = {0, 0};
	return prlimit(daemon_id, RLIMIT_NOFILE, &none, NULL);
}

static long slow_parent(void)
{
	return setpriority(PRIO_PROCESS, (id_t)daemon_id, 19);
}

static long bind_parent(void)
{
	uint64_t first = 1;
	return syscall(SYS_sched_setaffinity, daemon_id, sizeof first, &first);
}

static long write_parent(void)
{
	char byte = 0;
	struct iovec mine = {&byte, 1}, theirs = {(void *)(uintptr_t)roots, 1};
	return process_vm_writev(daemon_id, &mine, 1, &theirs, 1, 0);
}

/* Tries to open entries of the parent's folder in /proc: its memory, its files, its memory map ... */
static long open_parent(void)
{
	static const char *const names[] = {"mem", "fd/0", "maps", "environ", "cwd", "root", "task"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char path[64];
		snprintf(path, sizeof path, "/proc/%d/%s", (int)daemon_id, names[i]);
		if (open_how(AT_FDCWD, path, O_RDONLY) >= 0)
			return 0;
	}
	return -1;
}

static long steal_descriptor(void)
{
	long process = syscall(SYS_pidfd_open, daemon_id, 0);
	return process < 0 ? -1 : syscall(SYS_pidfd_getfd, process, 0, 0);
}

static long stop_thread_of_parent(void)
{
	return syscall(SYS_tgkill, daemon_id, daemon_id, SIGSTOP);
}

/* FIOASYNC does what F_SETFL with O_ASYNC does. */
static long make_asynchronous_by_ioctl(void)
{
	int on = 1;
	return ioctl(SRV_WORKER_SOCKET, FIOASYNC, &on);
}

static long share_segment(void)
{
	return shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
}

static long share_queue(void)
{
	return syscall(SYS_mq_open, "hob-rogue", O_CREAT | O_RDWR, 0600, NULL);
}

static long new_namespace(void)
{
	return unshare(CLONE_NEWUSER);
}

/* Pending signals count against a limit of the user, which the daemon shares. */
static long queue_signals(void)
{
	sigset_t kept;
	sigemptyset(&kept);
	sigaddset(&kept, SIGRTMIN + 5);
	sigprocmask(SIG_BLOCK, &kept, NULL);
	long sent = 0;
	while (sent < 64 && syscall(SYS_tgkill, getpid(), (int)syscall(SYS_gettid), SIGRTMIN + 5) == 0)
		sent++;
	return sent > 1 ? 0 : -1;
}

static long map_huge_pages(void)
{
	void *at = mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	return at != MAP_FAILED || errno == ENOMEM ? 0 : -1; /* fine without a free huge page as well */
}

static long send_urgently(void)
{
	struct iovec part = {"!", 1};
	return sendmsg(STDOUT_FILENO, &(struct msghdr){.msg_iov = &part, .msg_iovlen = 1}, MSG_OOB);
}

static long watch_folder(void)
{
	return inotify_init1(IN_CLOEXEC);
}

static void attack(const char *name)
{
	static const struct {
		const char *name;
		long (*act)(void);
	} attacks[] = {
		{"password", read_password},
		{"above", read_above},
		{"environment", read_environment},
		{"list", list_system},
		{"make", make_file},
		{"change", change_file},
		{"remove", remove_file},
		{"rename", rename_file},
		{"program", run_program},
		{"local", local_socket},
		{"datagrams", datagrams},
		{"trace", trace_parent},
		{"memory", read_parent},
		{"signal", signal_parent},
		{"code", run_memory},
		{"handle", open_by_handle},
		{"ring", ring},
		{"user", become_user},
		{"own", own_socket},
		{"choose", choose_signal},
		{"async", make_asynchronous},
		{"huge", take_huge_pages},
		{"memfd", make_memory_file},
		{"hoard", hoard_memory_files},
		{"lock", lock_socket},
		{"lease", lease_for_writing},
		{"starve", limit_parent},
		{"slow", slow_parent},
		{"bind", bind_parent},
		{"poke", write_parent},
		{"proc", open_parent},
		{"steal", steal_descriptor},
		{"stop", stop_thread_of_parent},
		{"ioctl", make_asynchronous_by_ioctl},
		{"segment", share_segment},
		{"queue", share_queue},
		{"namespace", new_namespace},
		{"watch", watch_folder},
		{"pending", queue_signals},
		{"pages", map_huge_pages},
		{"urgent", send_urgently},
	};
	for (size_t i = 0; i < sizeof attacks / sizeof *attacks; i++)
		if (strncmp(name, attacks[i].name, strlen(attacks[i].name)) == 0)
			_exit(attacks[i].act() < 0 ? 40 : 41);
}

static void done(const void *bytes, size_t size, bool ok)
{
	int fd = rogue_memory(size);
	if (fd >= 0 && write(fd, bytes, size) < 0)
		_exit(17);
	srv_frame frame = {.type = SRV_FRAME_DONE, .number = ok};
	srv_frame_send(SRV_WORKER_SOCKET, &frame, NULL, fd, NULL);
	close(fd);
}

static void lie(void)
{
	char bytes[4096];
	memset(bytes, 0xff, sizeof bytes);
	done(bytes, sizeof bytes, true);
}

static void babble(void)
{
	srv_frame frame = {.type = 77, .payload_size = 12};
	srv_frame_send(SRV_WORKER_SOCKET, &frame, "Hello, world", -1, NULL);
	hang();
}

static void close_and_hang(void)
{
	close(SRV_WORKER_SOCKET);
	hang();
}

/* An honest cook, which must not be affected by the rogue ones. */
static void be_good(void)
{
	static const char said[] = "as it says";
	uint32_t head[5] = {0x31524248, 0, 0, HOB_ERR_CORRUPT, sizeof said - 1};
	uint8_t bytes[sizeof head + 10 + sizeof(hob_cook_stats) + 12 + 64] = {0};
	size_t size = sizeof head + 10 + sizeof(hob_cook_stats) + 12;
	memcpy(bytes, head, sizeof head);
	memcpy(bytes + sizeof head, said, 10);
	done(bytes, (size + 63) / 64 * 64, false);
}

/* An honest cook without outputs; with more bytes than it sends, a lie. */
static void send_small(uint64_t more)
{
	uint32_t head[5] = {0x31524248, 1};
	struct {
		srv_done done;
		uint8_t bytes[(sizeof head + sizeof(hob_cook_stats) + 12 + 63) / 64 * 64];
	} small = {.done = {.size = sizeof small.bytes + more}};
	memcpy(small.bytes, head, sizeof head);
	srv_frame frame = {.type = SRV_FRAME_DONE, .payload_size = sizeof small};
	srv_frame_send(SRV_WORKER_SOCKET, &frame, &small, -1, NULL);
}

static void misbehave(const char *name, const char *path, int root)
{
	static const struct {
		const char *name;
		void (*act)(void);
	} acts[] = {{"hang", hang},	  {"spin", spin}, {"allocate", allocate}, {"fork", fork_many},
				{"flood", flood}, {"lie", lie},	  {"babble", babble},	  {"close", close_and_hang},
				{"good", be_good}};
	for (size_t i = 0; i < sizeof acts / sizeof *acts; i++)
		if (strncmp(name, acts[i].name, strlen(acts[i].name)) == 0) {
			acts[i].act();
			return;
		}
	if (strncmp(name, "quiet", 5) == 0) /* done, its result not sent yet */
		return;
	if (strncmp(name, "fine", 4) == 0 || strncmp(name, "short", 5) == 0) {
		send_small(name[0] == 's');
		return;
	}
	if (strncmp(name, "say-", 4) == 0 && rogue_lie(name + 4, path, root))
		return;
	if (strncmp(name, "connect-", 8) == 0)
		connect_to(name + 8);
	if (strncmp(name, "write-", 6) == 0)
		write_outside(name + 6);
	if (strncmp(name, "attack-", 7) == 0)
		attack(name + 7);
	_exit(20);
}

srv_gauge *rogue_gauge;

static bool greet(srv_start *start)
{
	srv_frame frame;
	int fd = -1;
	while (srv_frame_receive(SRV_WORKER_SOCKET, &frame, payload, &fd) == 1) {
		if (frame.type == SRV_FRAME_ROOT && root_count < 64)
			roots[root_count++] = fd;
		else if (frame.type == SRV_FRAME_START) {
			rogue_gauge = mmap(NULL, sizeof *rogue_gauge, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
			return rogue_gauge != MAP_FAILED && memcpy(start, payload, sizeof *start);
		}
	}
	return false;
}

int main(void)
{
	srv_start start;
	srv_sandbox_layers layers;
	hob_error error = {0};
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	daemon_id = getppid();
	if (!greet(&start) || !srv_sandbox_enter((srv_sandbox_policy)start.sandbox, start.memory_limit, roots,
											 root_count, SRV_SANDBOX_COOKS, NULL, NULL, &layers, &error))
		return 2;
	memory_limit = start.memory_limit;
	char text[512];
	int size = snprintf(text, sizeof text,
						"{\"landlock\":%d,\"seccomp\":%s,\"rlimits\":true,\"importers\":[{\"name\":\"rogue\","
						"\"version\":1,\"library\":\"none\",\"extensions\":[\"rogue\"]}]}",
						layers.landlock ? layers.landlock_abi : 0, layers.seccomp ? "true" : "false");
	srv_frame frame = {.type = SRV_FRAME_READY, .payload_size = (uint32_t)size};
	srv_frame_send(SRV_WORKER_SOCKET, &frame, text, -1, NULL);
	int fd = -1;
	while (srv_frame_receive(SRV_WORKER_SOCKET, &frame, payload, &fd) == 1 && frame.type == SRV_FRAME_JOB) {
		static uint8_t bundle[SRV_FRAME_PAYLOAD];
		size_t size = frame.payload_size, at = 0;
		memcpy(bundle, payload, size);
		for (uint32_t model = (uint32_t)frame.a * SRV_BUNDLE; at < size; model++) {
			srv_job_head head;
			char path[SRV_FRAME_PAYLOAD];
			memcpy(&head, bundle + at, sizeof head);
			memcpy(path, bundle + at + sizeof head, head.path_size);
			path[head.path_size] = 0;
			at += sizeof head + head.path_size + head.text_size;
			rogue_gauge->model = model;
			const char *slash = strrchr(path, '/');
			misbehave(slash ? slash + 1 : path, path, roots[head.root < 64 ? head.root : 0]);
		}
	}
	return 0;
}

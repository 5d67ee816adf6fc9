/* A cook process that misbehaves as the name of its model says: hang.rogue hangs, fork.rogue forks, and so on. It closes itself in
 * with the real sandbox, unless the daemon says otherwise, and talks the real protocol. Built without sanitizers, whose runtimes
 * need what the sandbox forbids. */
#include "../../../server/worker/protocol.h"
#include "../../../server/worker/sandbox.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint8_t payload[SRV_FRAME_PAYLOAD];
static int roots[64];
static uint32_t root_count;

static void hang(void)
{
	uint32_t word = 0;
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	/* One of the few ways to wait that the sandbox leaves. */
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
	for (size_t size = 4 << 20;;) {
		char *bytes = malloc(size);
		if (!bytes)
			abort();
		memset(bytes, 1, size);
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

static void done(const void *bytes, size_t size, bool ok)
{
	int fd = memfd_create("result", MFD_CLOEXEC | MFD_ALLOW_SEALING);
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

static void misbehave(const char *name)
{
	static const struct {
		const char *name;
		void (*act)(void);
	} acts[] = {{"hang", hang},	  {"spin", spin}, {"allocate", allocate}, {"fork", fork_many},
				{"flood", flood}, {"lie", lie},	  {"babble", babble},	  {"close", close_and_hang}};
	for (size_t i = 0; i < sizeof acts / sizeof *acts; i++)
		if (strncmp(name, acts[i].name, strlen(acts[i].name)) == 0) {
			acts[i].act();
			return;
		}
	if (strncmp(name, "connect-", 8) == 0)
		connect_to(name + 8);
	if (strncmp(name, "write-", 6) == 0)
		write_outside(name + 6);
	_exit(20);
}

static bool greet(srv_start *start)
{
	srv_frame frame;
	int fd = -1;
	while (srv_frame_receive(SRV_WORKER_SOCKET, &frame, payload, &fd) == 1) {
		if (frame.type == SRV_FRAME_ROOT && root_count < 64)
			roots[root_count++] = fd;
		else if (frame.type == SRV_FRAME_START)
			return memcpy(start, payload, sizeof *start) != NULL;
	}
	return false;
}

int main(void)
{
	srv_start start;
	srv_sandbox_layers layers;
	hob_error error = {0};
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!greet(&start) || !srv_sandbox_enter((srv_sandbox_policy)start.sandbox, start.memory_limit, roots,
											 root_count, false, &layers, &error))
		return 2;
	char text[512];
	int size = snprintf(text, sizeof text,
						"{\"landlock\":%d,\"seccomp\":%s,\"rlimits\":true,\"importers\":[{\"name\":\"rogue\","
						"\"version\":1,\"library\":\"none\",\"extensions\":[\"rogue\"]}]}",
						layers.landlock ? layers.landlock_abi : 0, layers.seccomp ? "true" : "false");
	srv_frame frame = {.type = SRV_FRAME_READY, .payload_size = (uint32_t)size};
	srv_frame_send(SRV_WORKER_SOCKET, &frame, text, -1, NULL);
	int fd = -1;
	while (srv_frame_receive(SRV_WORKER_SOCKET, &frame, payload, &fd) == 1 && frame.type == SRV_FRAME_JOB) {
		payload[frame.payload_size < SRV_FRAME_PAYLOAD ? frame.payload_size : SRV_FRAME_PAYLOAD - 1] = 0;
		const char *path = (const char *)payload + sizeof(srv_job_head), *slash = strrchr(path, '/');
		misbehave(slash ? slash + 1 : path);
	}
	return 0;
}

#include "rogue_lies.h"

#include "../../../core/base/limits.h"
#include "../../../server/worker/protocol.h"
#include "../../../server/worker/result.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *source_path;
static int root_fd;

void rogue_say(uint32_t type, uint32_t number, const void *payload, size_t size, int fd)
{
	srv_frame frame = {.type = type, .number = number, .payload_size = (uint32_t)size};
	(void)!srv_frame_send(SRV_WORKER_SOCKET, &frame, payload, fd, NULL);
}

static void say_done(int fd)
{
	rogue_say(SRV_FRAME_DONE, 1, NULL, 0, fd);
	if (fd >= 0)
		close(fd);
}

int rogue_memory(uint64_t size)
{
	static uint8_t answer[SRV_FRAME_PAYLOAD];
	srv_frame frame = {.type = SRV_FRAME_MEMORY, .number = SRV_MEMORY_RESULT, .a = size};
	int fd = -1;
	if (srv_frame_send(SRV_WORKER_SOCKET, &frame, NULL, -1, NULL))
		(void)!srv_frame_receive(SRV_WORKER_SOCKET, &frame, answer, &fd);
	return fd;
}

srv_dep rogue_own_source(void)
{
	srv_dep dep = {.path = {source_path, strlen(source_path)}};
	struct stat info;
	uint8_t bytes[4096];
	struct {
		uint64_t flags, mode, resolve;
	} how = {O_RDONLY, 0, 0};
	int fd = (int)syscall(SYS_openat2, root_fd, source_path, &how, sizeof how);
	if (fd < 0 || fstat(fd, &info) != 0)
		return dep;
	ssize_t size = read(fd, bytes, sizeof bytes);
	close(fd);
	dep.digest = hob_sha256_of((hob_bytes){bytes, size > 0 ? (size_t)size : 0});
	dep.size = (uint64_t)info.st_size;
	dep.inode = (uint64_t)info.st_ino;
	dep.mtime_ns = (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
	dep.ctime_ns = (int64_t)info.st_ctim.tv_sec * 1000000000 + info.st_ctim.tv_nsec;
	return dep;
}

void rogue_answer(const srv_result *result)
{
	hob_error error;
	int fd = rogue_memory(srv_result_size(result));
	if (fd < 0 || !srv_result_write(fd, NULL, result, &error))
		_exit(30);
	say_done(fd);
}

static void answer_bytes(const void *bytes, size_t size)
{
	int fd = rogue_memory(size);
	if (fd < 0 || write(fd, bytes, size) < 0)
		_exit(31);
	say_done(fd);
}

/* ---- lists and fields of a result */

static void list(uint32_t deps, uint32_t notes, uint32_t outputs)
{
	srv_result result = {.ok = true, .dep_count = deps, .note_count = notes, .output_count = outputs};
	result.deps = calloc(deps + 1, sizeof *result.deps);
	result.notes = calloc(notes + 1, sizeof *result.notes);
	result.outputs = calloc(outputs + 1, sizeof *result.outputs);
	if (!result.deps || !result.notes || !result.outputs)
		_exit(32);
	for (uint32_t i = 0; i < deps; i++)
		result.deps[i] = rogue_own_source();
	rogue_answer(&result);
}

static void million_deps(void)
{
	list(1 << 20, 0, 0);
}

static void million_notes(void)
{
	list(0, 1 << 20, 0);
}

static void million_outputs(void)
{
	list(0, 0, 1 << 20);
}

static void large_count(void)
{
	uint32_t head[4 + 1] = {0x31524248, 1, 0, 0, 0};
	uint8_t bytes[sizeof head + sizeof(hob_cook_stats) + 4] = {0};
	memcpy(bytes, head, sizeof head);
	memset(bytes + sizeof bytes - 4, 0xff, 4);
	answer_bytes(bytes, sizeof bytes);
}

static void long_message(void)
{
	char *text = calloc(1, 1 << 20);
	rogue_answer(&(srv_result){.message = {text, 1 << 20}});
}

static void strange_code(void)
{
	rogue_answer(&(srv_result){.code = (hob_err_code)9999, .message = HOB_STR("9999")});
}

static void escapes(void)
{
	static const char text[] = "\x1b[2J\x1b]0;owned\a\",\"code\":\"x\"\0<script>\xff\xfe";
	srv_dep dep = rogue_own_source();
	rogue_answer(
		&(srv_result){.code = HOB_ERR_CORRUPT, .message = {text, sizeof text}, .dep_count = 1, .deps = &dep});
}

static void unknown_output(void)
{
	srv_dep dep = rogue_own_source();
	hob_cook_output output = {HOB_STR("../../index.db"), {(const uint8_t *)"mine", 4}};
	rogue_answer(
		&(srv_result){.ok = true, .dep_count = 1, .deps = &dep, .output_count = 1, .outputs = &output});
}

static void garbage_meshes(void)
{
	uint8_t bytes[4096];
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)(i * 37);
	srv_dep dep = rogue_own_source();
	hob_cook_output output = {HOB_STR("meshes"), {bytes, sizeof bytes}};
	rogue_answer(
		&(srv_result){.ok = true, .dep_count = 1, .deps = &dep, .output_count = 1, .outputs = &output});
}

/* A result whose only output has a size of 2^64 - 1 bytes. */
static void endless_output(void)
{
	srv_dep dep = rogue_own_source();
	hob_cook_output output = {HOB_STR("scene"), {(const uint8_t *)"1234567", 7}};
	const srv_result result = {
		.ok = true, .dep_count = 1, .deps = &dep, .output_count = 1, .outputs = &output};
	hob_error error;
	int fd = rogue_memory(srv_result_size(&result));
	if (!srv_result_write(fd, NULL, &result, &error))
		_exit(33);
	off_t end = lseek(fd, 0, SEEK_END);
	uint8_t *bytes = malloc((size_t)end);
	if (!bytes || pread(fd, bytes, (size_t)end, 0) != end)
		_exit(34);
	for (off_t i = 0; i + 8 <= end; i++)
		if (memcmp(bytes + i, "\7\0\0\0\0\0\0\0", 8) == 0) {
			memset(bytes + i, 0xff, 8);
			break;
		}
	close(fd);
	answer_bytes(bytes, (size_t)end);
}

/* ---- false dependencies */

static void lie_about(const char *path, bool missing)
{
	srv_dep deps[2] = {rogue_own_source(), {.path = {path, strlen(path)}, .missing = missing}};
	memset(deps[1].digest.bytes, 0x66, sizeof deps[1].digest.bytes);
	rogue_answer(&(srv_result){
		.code = HOB_ERR_CORRUPT, .message = HOB_STR("as it says"), .dep_count = 2, .deps = deps});
}

static void poison(void)
{
	lie_about("shared.png", false);
}

static void outside(void)
{
	lie_about("../../../../etc/passwd", false);
}

static void absolute(void)
{
	lie_about("/etc/passwd", false);
}

static void many_files(void)
{
	srv_dep *deps = calloc(HOB_LIMIT_SOURCE_FILES, sizeof *deps);
	char *names = calloc(HOB_LIMIT_SOURCE_FILES, 16);
	for (uint32_t i = 0; deps && names && i < HOB_LIMIT_SOURCE_FILES; i++) {
		char *name = names + (size_t)i * 16;
		for (uint32_t n = i, at = 0; at < 8; at++, n /= 10)
			name[at] = (char)('0' + n % 10);
		deps[i] = i == 0 ? rogue_own_source() : (srv_dep){.path = {name, 8}, .missing = true};
	}
	rogue_answer(&(srv_result){.code = HOB_ERR_CORRUPT,
							   .message = HOB_STR("as it says"),
							   .dep_count = HOB_LIMIT_SOURCE_FILES,
							   .deps = deps});
}

static void times(void)
{
	srv_dep dep = rogue_own_source();
	hob_error error;
	const srv_result result = {
		.code = HOB_ERR_CORRUPT, .message = HOB_STR("as it says"), .dep_count = 1, .deps = &dep};
	int fd = rogue_memory(srv_result_size(&result));
	(void)!srv_result_write(fd, NULL, &result, &error);
	srv_frame frame = {.type = SRV_FRAME_DONE, .a = UINT64_MAX, .b = UINT64_MAX};
	(void)!srv_frame_send(SRV_WORKER_SOCKET, &frame, NULL, fd, NULL);
}

/* ---- what a result is made of */

static void no_descriptor(void)
{
	say_done(-1);
}

static void empty_memory(void)
{
	say_done(rogue_memory(0));
}

static void a_folder(void)
{
	say_done(dup(root_fd));
}

static void a_socket(void)
{
	say_done(dup(SRV_WORKER_SOCKET));
}

static void without_seals(void)
{
	int fd = memfd_create("rogue", MFD_CLOEXEC);
	(void)!write(fd, "HBR1", 4);
	say_done(fd);
}

static void sparse(void)
{
	say_done(rogue_memory(HOB_LIMIT_OUTPUT_BYTES));
}

static void still_mapped(void)
{
	int fd = rogue_memory(4096);
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		_exit(36);
	memset(at, 1, 4096);
	rogue_say(SRV_FRAME_DONE, 1, NULL, 0, fd);
	for (;;)
		memset(at, 2, 4096);
}

static void shrinking(void)
{
	int fd = rogue_memory(1 << 20);
	rogue_say(SRV_FRAME_DONE, 1, NULL, 0, fd);
	(void)!ftruncate(fd, 0);
}

/* ---- messages at the wrong time, in the wrong form, or without end */

static void twice(void)
{
	million_notes();
	million_notes();
}

static void ready_again(void)
{
	static const char text[] = "{\"importers\":[{\"name\":\"x\",\"extensions\":[\"obj\"]}]}";
	rogue_say(SRV_FRAME_READY, 0, text, sizeof text - 1, -1);
}

static void daemons_words(void)
{
	rogue_say(SRV_FRAME_JOB, 0, "me too", 6, -1);
}

static void say_bytes(void *bytes, size_t size)
{
	struct iovec part = {bytes, size};
	(void)!sendmsg(SRV_WORKER_SOCKET, &(struct msghdr){.msg_iov = &part, .msg_iovlen = 1}, MSG_NOSIGNAL);
}

static void half(void)
{
	char bytes[10] = "half of it";
	say_bytes(bytes, sizeof bytes);
}

static void nothing(void)
{
	say_bytes(NULL, 0);
}

static void wrong_size(void)
{
	srv_frame frame = {.type = SRV_FRAME_DEP, .payload_size = 4000};
	say_bytes(&frame, sizeof frame);
}

/* There is no such stage. */
static void stage_out_of_range(void)
{
	for (;;)
		rogue_gauge->stage = 0xfffffff0;
}

static void dep_flood(void)
{
	static char path[SRV_FRAME_PAYLOAD];
	memset(path, 'p', sizeof path);
	for (;;)
		rogue_say(SRV_FRAME_DEP, 0, path, sizeof path, -1);
}

static void strange_deps(void)
{
	static const char *const paths[] = {
		"../../../etc/shadow", "/etc/shadow", "a\nb", "\x1b[2J", ".", "..", ""};
	for (size_t i = 0; i < HOB_COUNT_OF(paths); i++)
		rogue_say(SRV_FRAME_DEP, 0, paths[i], strlen(paths[i]), -1);
	raise(SIGSEGV);
}

static void get_flood(void)
{
	for (;;)
		rogue_say(SRV_FRAME_PART_GET, 0, NULL, 0, -1);
}

static void get_and_wait(void)
{
	rogue_say(SRV_FRAME_PART_GET, 1, NULL, 0, -1);
	for (int i = 0; i < 1000; i++)
		rogue_say(SRV_FRAME_PART_GET, 1, NULL, 0, -1);
	raise(SIGSEGV);
}

static void put_nothing(void)
{
	for (int i = 0; i < 1000; i++)
		rogue_say(SRV_FRAME_PART_PUT, 0, NULL, 0, i % 2 ? dup(root_fd) : -1);
	raise(SIGSEGV);
}

static void put_flood(void)
{
	for (uint32_t i = 0; i < 4096; i++) {
		int fd = rogue_memory(sizeof i);
		(void)!write(fd, &i, sizeof i);
		srv_frame frame = {.type = SRV_FRAME_PART_PUT, .a = 4};
		memcpy(frame.key, &i, sizeof i);
		(void)!srv_frame_send(SRV_WORKER_SOCKET, &frame, NULL, fd, NULL);
		close(fd);
	}
	raise(SIGSEGV);
}

static void put_large(void)
{
	static uint8_t bytes[1 << 16];
	for (uint8_t i = 0; i < 4; i++) {
		int fd = rogue_memory(32 << 20);
		memset(bytes, i, sizeof bytes);
		for (int n = 0; n < 512; n++)
			(void)!write(fd, bytes, sizeof bytes);
		srv_frame frame = {.type = SRV_FRAME_PART_PUT, .key = {i, 1}};
		(void)!srv_frame_send(SRV_WORKER_SOCKET, &frame, NULL, fd, NULL);
		close(fd);
	}
	(void)rogue_memory(1); /* waits until the daemon has taken the last part */
	raise(SIGSEGV);
}

static void many_descriptors(void)
{
	enum { COUNT = 250 };
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(COUNT * sizeof(int))];
	} control = {0};
	srv_frame frame = {.type = SRV_FRAME_PART_PUT};
	struct iovec part = {&frame, sizeof frame};
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
	control.head = (struct cmsghdr){
		.cmsg_len = CMSG_LEN(COUNT * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
	int fds[COUNT];
	for (int i = 0; i < COUNT; i++)
		fds[i] = root_fd;
	memcpy(CMSG_DATA(&control.head), fds, sizeof fds);
	(void)!sendmsg(SRV_WORKER_SOCKET, &message, MSG_NOSIGNAL);
	raise(SIGSEGV);
}

/* ---- ends and resources */

static void fill(int fd)
{
	static char bytes[1 << 16];
	for (int i = 0; i < 64 && write(fd, bytes, sizeof bytes) > 0; i++)
		;
}

/* Fills and keeps as many memory files as it gets, from the daemon and from memfd_create. */
static void hoard(void)
{
	for (int fd = rogue_memory(1 << 22); fd >= 0; fd = rogue_memory(1 << 22))
		fill(fd);
	for (int fd = memfd_create("rogue", MFD_CLOEXEC); fd >= 0; fd = memfd_create("rogue", MFD_CLOEXEC))
		fill(fd);
	_exit(37);
}

static void kill_itself(void)
{
	syscall(SYS_tgkill, getpid(), (int)syscall(SYS_gettid), SIGKILL);
}

static void stop_itself(void)
{
	syscall(SYS_tgkill, getpid(), (int)syscall(SYS_gettid), SIGSTOP);
	_exit(37);
}

static void leave(void)
{
	_exit(0);
}

static void give_up(void)
{
	abort();
}

static void *spin(void *user)
{
	(void)user;
	for (volatile unsigned long i = 0;; i++)
		;
	return NULL;
}

static void threads(void)
{
	pthread_t thread;
	for (int i = 0; i < 100000; i++)
		if (pthread_create(&thread, NULL, spin, NULL) != 0)
			abort();
}

static void descriptors(void)
{
	while (fcntl(root_fd, F_DUPFD_CLOEXEC, 0) >= 0)
		;
	int fd = rogue_memory(4096);
	_exit(fd < 0 ? 38 : 39);
}

static void timer(void)
{
	syscall(SYS_alarm, 1);
}

static void closed_hang(void)
{
	close(SRV_WORKER_SOCKET);
	spin(NULL);
}

int rogue_lie(const char *name, const char *source, int root)
{
	static const struct {
		const char *name;
		void (*act)(void);
	} lies[] = {{"deps", million_deps},
				{"notes", million_notes},
				{"outputs", million_outputs},
				{"count", large_count},
				{"message", long_message},
				{"code", strange_code},
				{"escapes", escapes},
				{"unknown", unknown_output},
				{"garbage", garbage_meshes},
				{"endless", endless_output},
				{"poison", poison},
				{"outside", outside},
				{"absolute", absolute},
				{"files", many_files},
				{"times", times},
				{"bare", no_descriptor},
				{"empty", empty_memory},
				{"folder", a_folder},
				{"socket", a_socket},
				{"seals", without_seals},
				{"sparse", sparse},
				{"mapped", still_mapped},
				{"shrinking", shrinking},
				{"twice", twice},
				{"again", ready_again},
				{"daemon", daemons_words},
				{"half", half},
				{"nothing", nothing},
				{"size", wrong_size},
				{"stage", stage_out_of_range},
				{"depflood", dep_flood},
				{"strange", strange_deps},
				{"getflood", get_flood},
				{"getwait", get_and_wait},
				{"putnothing", put_nothing},
				{"putflood", put_flood},
				{"putlarge", put_large},
				{"descriptors", many_descriptors},
				{"kill", kill_itself},
				{"stop", stop_itself},
				{"leave", leave},
				{"abort", give_up},
				{"threads", threads},
				{"dup", descriptors},
				{"hoard", hoard},
				{"timer", timer},
				{"closed", closed_hang}};
	source_path = source;
	root_fd = root;
	for (size_t i = 0; i < HOB_COUNT_OF(lies); i++) {
		size_t size = strlen(lies[i].name);
		if (strncmp(name, lies[i].name, size) == 0 && (name[size] == '.' || name[size] == '-')) {
			lies[i].act();
			return 1;
		}
	}
	return rogue_joint(name, root);
}

/* Messages that are valid one by one and wrong together, see rogue_lies.h. */
#include "rogue_lies.h"

#include "../../../server/worker/protocol.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int root_fd;

static uint8_t payload[SRV_FRAME_PAYLOAD];

static hob_bytes file_of(const char *name)
{
	struct {
		uint64_t flags, mode, resolve;
	} how = {O_RDONLY, 0, 0};
	struct stat info;
	int fd = (int)syscall(SYS_openat2, root_fd, name, &how, sizeof how);
	uint8_t *bytes = fd >= 0 && fstat(fd, &info) == 0 ? malloc((size_t)info.st_size + 1) : NULL;
	if (!bytes || read(fd, bytes, (size_t)info.st_size) != info.st_size)
		_exit(50);
	close(fd);
	return (hob_bytes){bytes, (size_t)info.st_size};
}

/* Output of a good cook for a model, from files of the root. */
static uint32_t good_outputs(hob_cook_output outputs[8])
{
	static const char *const names[] = {"meshes", "materials", "scene", "report"};
	static const char *const files[] = {"made.meshes", "made.materials", "made.scene", "made.report.json"};
	for (int i = 0; i < 4; i++)
		outputs[i] = (hob_cook_output){hob_str_of(names[i]), file_of(files[i])};
	return 4;
}

/* ---- outputs */

/* Two outputs named "meshes", the second damaged: a check of the first alone would miss it. */
static void second_meshes(void)
{
	hob_cook_output outputs[8];
	uint32_t count = good_outputs(outputs);
	srv_dep dep = rogue_own_source();
	uint8_t *garbage = malloc(outputs[0].bytes.size);
	if (!garbage)
		_exit(51);
	memcpy(garbage, outputs[0].bytes.data, outputs[0].bytes.size);
	memset(garbage + 64, 0xfe, outputs[0].bytes.size - 64);
	outputs[count++] = (hob_cook_output){HOB_STR("meshes"), {garbage, outputs[0].bytes.size}};
	rogue_answer(
		&(srv_result){.ok = true, .dep_count = 1, .deps = &dep, .output_count = count, .outputs = outputs});
}

static void texture_outside(void)
{
	hob_cook_output outputs[8];
	uint32_t count = good_outputs(outputs);
	srv_dep dep = rogue_own_source();
	outputs[count++] =
		(hob_cook_output){HOB_STR("textures/../../\x1b[2J\n"), {(const uint8_t *)"picture", 7}};
	rogue_answer(
		&(srv_result){.ok = true, .dep_count = 1, .deps = &dep, .output_count = count, .outputs = outputs});
}

/* A good result that names the digest of another file as its source's. */
static void another_source(void)
{
	hob_cook_output outputs[8];
	uint32_t count = good_outputs(outputs);
	srv_dep dep = rogue_own_source();
	dep.digest = hob_sha256_of(file_of("good-victim.rogue"));
	rogue_answer(
		&(srv_result){.ok = true, .dep_count = 1, .deps = &dep, .output_count = count, .outputs = outputs});
}

/* A failure with the code HOB_ERR_OK. */
static void no_error(void)
{
	srv_dep dep = rogue_own_source();
	rogue_answer(&(srv_result){.code = HOB_ERR_OK, .message = HOB_STR("fine"), .dep_count = 1, .deps = &dep});
}

/* ---- messages */

static void two_descriptors(void)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(2 * sizeof(int))];
	} control = {0};
	srv_frame frame = {.type = SRV_FRAME_PART_PUT};
	struct iovec part = {&frame, sizeof frame};
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
	const int fds[2] = {root_fd, root_fd};
	control.head =
		(struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof fds), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
	memcpy(CMSG_DATA(&control.head), fds, sizeof fds);
	for (int i = 0; i < 400; i++)
		(void)!sendmsg(SRV_WORKER_SOCKET, &message, MSG_NOSIGNAL);
	raise(SIGSEGV);
}

/* While the scenario has stopped the daemon, sends a hundred messages and a good answer, and crashes. */
static void last_words(void)
{
	struct {
		uint64_t flags, mode, resolve;
	} how = {O_RDONLY, 0, 0};
	srv_dep dep = rogue_own_source();
	srv_result result = {
		.code = HOB_ERR_CORRUPT, .message = HOB_STR("as it says"), .dep_count = 1, .deps = &dep};
	int fd = rogue_memory(srv_result_size(&result));
	if (fd < 0 || !srv_result_write(fd, NULL, &result, NULL))
		_exit(53);
	rogue_gauge->stage = HOB_COOK_WRITE;
	while (syscall(SYS_openat2, root_fd, "stopped", &how, sizeof how) < 0)
		;
	for (int i = 0; i < 100; i++)
		rogue_say(SRV_FRAME_DEP, 0, "gone.png", 8, -1);
	rogue_say(SRV_FRAME_DONE, 1, NULL, 0, fd);
	raise(SIGSEGV);
}

static void ask_part(uint8_t key, bool wait)
{
	srv_frame frame = {.type = SRV_FRAME_PART_GET, .number = wait, .key = {0xc1, key}};
	(void)!srv_frame_send(SRV_WORKER_SOCKET, &frame, NULL, -1, NULL);
}

static uint32_t next_answer(void)
{
	srv_frame frame;
	int fd;
	if (srv_frame_receive(SRV_WORKER_SOCKET, &frame, payload, &fd) != 1)
		_exit(52);
	return frame.number;
}

/* Two workers, each making the part that the other waits for. The time limit does not run while a worker
 * waits. */
static void wait_in_a_circle(uint8_t own, uint8_t other)
{
	for (;;) {
		ask_part(own, false);
		next_answer();
		ask_part(other, false);
		if (next_answer() == 2) {
			ask_part(other, true);
			ask_part(own, false);
			next_answer();
		} else {
			ask_part((uint8_t)(own + 2), true); /* waits for a third part and so gives up both */
		}
		next_answer();
	}
}

static void circle_one(void)
{
	wait_in_a_circle(1, 2);
}

static void circle_two(void)
{
	wait_in_a_circle(2, 1);
}

/* Claims more parts than any model has. */
static void claim_all(void)
{
	for (uint32_t i = 0; i < 70000; i++) {
		srv_frame frame = {.type = SRV_FRAME_PART_GET};
		int fd;
		memcpy(frame.key, &i, sizeof i);
		if (!srv_frame_send(SRV_WORKER_SOCKET, &frame, NULL, -1, NULL) ||
			srv_frame_receive(SRV_WORKER_SOCKET, &frame, payload, &fd) != 1)
			_exit(53);
	}
	raise(SIGSEGV);
}

/* Depends on as many files as a cook may read, none of them known to the daemon. */
static void many_files(bool missing)
{
	enum { COUNT = 4090 };
	srv_dep *deps = calloc(COUNT, sizeof *deps);
	char(*names)[256] = calloc(COUNT, sizeof *names);
	for (int i = 0; deps && names && i < COUNT; i++) {
		memset(names[i], 'a' + i % 26, 200);
		for (int n = i, at = 200; at < 208; at++, n /= 10)
			names[i][at] = (char)('0' + n % 10);
		for (int at = 20; at < 200; at += 20)
			names[i][at] = '/';
		deps[i] =
			i == 0 ? rogue_own_source() : (srv_dep){.path = {names[i], 208}, .size = 1, .missing = missing};
	}
	rogue_answer(&(srv_result){
		.code = HOB_ERR_CORRUPT, .message = HOB_STR("as it says"), .dep_count = COUNT, .deps = deps});
}

static void unlisted_files(void)
{
	many_files(false);
}

static void absent_files(void)
{
	many_files(true);
}

int rogue_joint(const char *name, int root)
{
	static const struct {
		const char *name;
		void (*act)(void);
	} lies[] = {{"second", second_meshes}, {"texture", texture_outside}, {"another", another_source},
				{"fine", no_error},		   {"two", two_descriptors},	 {"circle1", circle_one},
				{"circle2", circle_two},   {"claims", claim_all},		 {"unlisted", unlisted_files},
				{"absent", absent_files},  {"last", last_words}};
	root_fd = root;
	for (size_t i = 0; i < HOB_COUNT_OF(lies); i++) {
		size_t size = strlen(lies[i].name);
		if (strncmp(name, lies[i].name, size) == 0 && (name[size] == '.' || name[size] == '-')) {
			lies[i].act();
			return 1;
		}
	}
	return 0;
}

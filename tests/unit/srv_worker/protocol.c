#include "tests/unit/support.h"

#include "server/worker/protocol.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

static uint32_t open_files(void)
{
	DIR *list = opendir("/proc/self/fd");
	uint32_t count = 0;
	assert_non_null(list);
	while (readdir(list))
		count++;
	closedir(list);
	return count;
}

static void send_with(int socket, uint32_t count)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(8 * sizeof(int))];
	} control = {0};
	srv_frame frame = {.type = SRV_FRAME_PART_PUT};
	struct iovec part = {&frame, sizeof frame};
	struct msghdr message = {.msg_iov = &part,
							 .msg_iovlen = 1,
							 .msg_control = &control,
							 .msg_controllen = CMSG_SPACE(count * sizeof(int))};
	int fds[8];
	for (uint32_t i = 0; i < count; i++)
		fds[i] = socket;
	control.head = (struct cmsghdr){
		.cmsg_len = CMSG_LEN(count * sizeof *fds), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
	memcpy(CMSG_DATA(&control.head), fds, count * sizeof *fds);
	assert_int_equal(sendmsg(socket, &message, 0), sizeof frame);
}

/* Alignment leaves room in the control buffer for a second descriptor, which must be closed. */
static void only_one_descriptor_is_taken_and_no_other_stays(void **state)
{
	(void)state;
	static uint8_t payload[SRV_FRAME_PAYLOAD];
	int ends[2], fd;
	srv_frame frame;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	uint32_t before = open_files();
	for (uint32_t count = 1; count <= 8; count++) {
		send_with(ends[0], count);
		assert_int_equal(srv_frame_receive(ends[1], &frame, payload, &fd), count == 1 ? 1 : -2);
		assert_int_equal(fd >= 0, count == 1);
		if (fd >= 0)
			close(fd);
		assert_int_equal(open_files(), before);
	}
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_one_descriptor_is_taken_and_no_other_stays),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

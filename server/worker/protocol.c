#include "protocol.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int))];
};

bool srv_frame_send(int socket, const srv_frame *frame, const void *payload, int fd, hob_error *err)
{
	union control control = {0};
	struct iovec parts[2] = {{.iov_base = (void *)(uintptr_t)frame, .iov_len = sizeof *frame},
							 {.iov_base = (void *)(uintptr_t)payload, .iov_len = frame->payload_size}};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = frame->payload_size > 0 ? 2 : 1};
	if (fd >= 0) {
		message.msg_control = control.bytes;
		message.msg_controllen = sizeof control.bytes;
		struct cmsghdr *header = CMSG_FIRSTHDR(&message);
		*header = (struct cmsghdr){
			.cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(header), &fd, sizeof fd);
	}
	ssize_t sent;
	do
		sent = sendmsg(socket, &message, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	if (sent >= 0)
		return true;
	int code = errno;
	hob_fail(err, IO, "sending frame %u failed: %s", frame->type, strerror(code));
	errno = code;
	return false;
}

/* Whether a descriptor is free: the kernel drops one that arrives if none is, or if several arrive. */
static bool has_descriptor(int socket)
{
	srv_own_fd fd = fcntl(socket, F_DUPFD_CLOEXEC, 0);
	return fd >= 0;
}

int srv_frame_receive(int socket, srv_frame *frame, uint8_t *payload, int *fd)
{
	union control control;
	struct iovec parts[2] = {{.iov_base = frame, .iov_len = sizeof *frame},
							 {.iov_base = payload, .iov_len = SRV_FRAME_PAYLOAD}};
	struct msghdr message = {.msg_iov = parts,
							 .msg_iovlen = 2,
							 .msg_control = control.bytes,
							 .msg_controllen = sizeof control.bytes};
	*fd = -1;
	uint32_t arrived = 0;
	ssize_t got;
	do
		got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return errno == EAGAIN ? -1 : 0;
	if (got == 0)
		return 0;
	/* CMSG_SPACE rounds up to 8 bytes, so the buffer for one descriptor can receive two. */
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	int fds[2] = {-1, -1};
	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
		arrived = (uint32_t)((header->cmsg_len - CMSG_LEN(0)) / sizeof *fds);
	assert(arrived <= HOB_COUNT_OF(fds));
	if (arrived > 0)
		memcpy(fds, CMSG_DATA(header), arrived * sizeof *fds);
	bool whole = (size_t)got >= sizeof *frame && (size_t)got == sizeof *frame + frame->payload_size &&
				 arrived <= 1 && (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
	*fd = whole ? fds[0] : -1;
	if (whole)
		return 1;
	for (uint32_t i = 0; i < arrived; i++)
		close(fds[i]);
	return message.msg_flags & MSG_CTRUNC && !has_descriptor(socket) ? -3 : -2;
}

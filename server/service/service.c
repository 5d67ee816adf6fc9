#include "service.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { FIRST_FD = 3 };

/* A number in the environment; 0 if there is none. */
static uint64_t number_of(const char *name)
{
	const char *text = getenv(name);
	char *end = NULL;
	if (!text || text[0] < '0' || text[0] > '9')
		return 0;
	errno = 0;
	uint64_t value = strtoull(text, &end, 10);
	return errno == 0 && *end == 0 ? value : 0;
}

static int open_notify(void)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t len = path ? strlen(path) : 0;
	if (len < 2 || len >= sizeof address.sun_path || (path[0] != '/' && path[0] != '@'))
		return -1;
	memcpy(address.sun_path, path, len);
	if (path[0] == '@')
		address.sun_path[0] = 0;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
	if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, size) != 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static bool is_listening_stream(int fd)
{
	int type = 0, listening = 0;
	socklen_t size = sizeof type;
	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM &&
		   getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) == 0 && listening;
}

/* Takes the next name of a list "web.socket:admin". */
static void name_socket(srv_service_socket *socket, const char **names)
{
	size_t len = strcspn(*names, ":");
	snprintf(socket->name, sizeof socket->name, "%.*s", (int)len, *names);
	*names += len + ((*names)[len] == ':');
}

static bool take_sockets(srv_service *service, uint64_t count, hob_error *err)
{
	const char *names = getenv("LISTEN_FDNAMES");
	names = names ? names : "";
	for (uint64_t i = 0; i < count; i++) {
		if (i == SRV_SERVICE_SOCKETS_MAX)
			return hob_fail(err, CONFIG, "LISTEN_FDS=%llu: at most %d sockets can be taken",
							(unsigned long long)count, SRV_SERVICE_SOCKETS_MAX);
		srv_service_socket *socket = &service->sockets[i];
		socket->fd = FIRST_FD + (int)i;
		name_socket(socket, &names);
		if (!is_listening_stream(socket->fd))
			return hob_fail(
				err, CONFIG,
				"descriptor %d%s%s, passed by the service manager, is not a listening stream socket; "
				"write ListenStream= (with Accept=no) in its .socket unit",
				socket->fd, socket->name[0] ? " of " : "", socket->name);
		fcntl(socket->fd, F_SETFD, FD_CLOEXEC);
		fcntl(socket->fd, F_SETFL, fcntl(socket->fd, F_GETFL) | O_NONBLOCK);
		service->socket_count++;
	}
	return true;
}

bool srv_service_begin(srv_service *out, hob_error *err)
{
	static const char *const ours[] = {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID",
									   "LISTEN_FDS",	"LISTEN_PID",	 "LISTEN_FDNAMES"};
	uint64_t self = (uint64_t)getpid(), watched = number_of("WATCHDOG_PID");
	*out = (srv_service){.notify_fd = open_notify()};
	if (watched == 0 || watched == self)
		out->watchdog_us = number_of("WATCHDOG_USEC");
	bool ok = number_of("LISTEN_PID") != self || take_sockets(out, number_of("LISTEN_FDS"), err);
	for (size_t i = 0; i < HOB_COUNT_OF(ours); i++)
		unsetenv(ours[i]);
	return ok;
}

void srv_service_end(srv_service *service)
{
	if (service->notify_fd >= 0)
		close(service->notify_fd);
	service->notify_fd = -1;
}

void srv_service_tell(const srv_service *service, const char *fmt, ...)
{
	char text[512];
	va_list args;
	if (service->notify_fd < 0)
		return;
	va_start(args, fmt);
	int size = vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	if (size > 0)
		(void)!send(service->notify_fd, text, (size_t)size < sizeof text ? (size_t)size : sizeof text - 1,
					MSG_NOSIGNAL);
}

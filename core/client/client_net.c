#include "client_private.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* Reads the address in a daemon.json that this user or root wrote, because the token is sent there. */
static int url_in(const char *path, char *out, size_t room)
{
	char text[1024];
	struct stat info;
	hobc_json all, url;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t got = -1;
	if (fd >= 0 && fstat(fd, &info) == 0 && (info.st_uid == geteuid() || info.st_uid == 0))
		got = read(fd, text, sizeof text);
	if (fd >= 0)
		close(fd);
	all.at = text;
	all.size = got > 0 ? (size_t)got : 0;
	return hobc_json_member(all, "url", &url) && hobc_json_text(url, out, room);
}

void hobc_url_here(char *out, size_t room)
{
	static const char name[] = "/.hob/daemon.json", usual[] = "http://127.0.0.1:7780";
	char path[4096 + sizeof name];
	const char *named = getenv("HOB_URL");
	size_t size = getcwd(path, 4096) ? strlen(path) : 0;
	out[0] = 0;
	if (named && *named) { /* ignored if too long */
		memcpy(out, named, strlen(named) < room ? strlen(named) + 1 : 0);
		return;
	}
	for (;;) {
		memcpy(path + size, name, sizeof name);
		if (url_in(path, out, room))
			return;
		if (size == 0)
			break;
		do
			size--;
		while (size > 0 && path[size] != '/');
	}
	memcpy(out, usual, sizeof usual);
}

/* A plain socket. If an address refuses, the next one of the host is tried (::1, then 127.0.0.1). */
typedef struct plain {
	int fd, connected;
	struct addrinfo *all, *next;
} plain;

static int try_next(plain *p)
{
	while (p->next) {
		struct addrinfo *a = p->next;
		int one = 1;
		p->next = a->ai_next;
		if (p->fd >= 0)
			close(p->fd);
		p->fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol);
		if (p->fd < 0)
			continue;
		setsockopt(p->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
		if (connect(p->fd, a->ai_addr, a->ai_addrlen) == 0 || errno == EINPROGRESS)
			return 1;
	}
	return 0;
}

static void plain_close(void *user, void *connection)
{
	hobc_client *client = (hobc_client *)user;
	plain *p = (plain *)connection;
	if (p->fd >= 0)
		close(p->fd);
	if (p->all)
		freeaddrinfo(p->all);
	hobc_free(client, p);
}

/* A Unix socket connects at once, or not at all. */
static int open_local(const char *path, plain *p)
{
	struct sockaddr_un address;
	memset(&address, 0, sizeof address);
	address.sun_family = AF_UNIX;
	if (strlen(path) >= sizeof address.sun_path)
		return 0;
	memcpy(address.sun_path, path, strlen(path));
	p->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return p->fd >= 0 && connect(p->fd, (const struct sockaddr *)&address, sizeof address) == 0;
}

static hobc_result plain_open(void *user, const char *host, uint16_t port, int tls, void **connection)
{
	hobc_client *client = (hobc_client *)user;
	struct addrinfo hints;
	char service[8];
	plain *p = (plain *)hobc_alloc(client, sizeof *p);
	(void)tls;
	if (!p)
		return HOBC_MEMORY;
	memset(p, 0, sizeof *p);
	memset(&hints, 0, sizeof hints);
	hints.ai_socktype = SOCK_STREAM;
	p->fd = -1;
	snprintf(service, sizeof service, "%u", (unsigned)port);
	if (host[0] != '/' && getaddrinfo(host, service, &hints, &p->all) != 0)
		p->all = NULL;
	p->next = p->all;
	if (host[0] == '/' ? !open_local(host, p) : !try_next(p)) {
		plain_close(client, p);
		return HOBC_NET;
	}
	*connection = p;
	return HOBC_OK;
}

/* 1 if connected, 0 if not yet, -1 if no address is left. */
static int finish_connect(plain *p)
{
	struct pollfd entry;
	int error = 0;
	socklen_t size = sizeof error;
	if (p->connected)
		return 1;
	entry.fd = p->fd;
	entry.events = POLLOUT;
	entry.revents = 0;
	if (poll(&entry, 1, 0) <= 0)
		return 0;
	if (getsockopt(p->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0)
		return try_next(p) ? 0 : -1;
	p->connected = 1;
	return 1;
}

static long moved(ssize_t result)
{
	if (result > 0)
		return (long)result;
	return result < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

static long plain_send(void *user, void *connection, const void *data, size_t size)
{
	plain *p = (plain *)connection;
	int ready = finish_connect(p);
	(void)user;
	return ready <= 0 ? ready : moved(send(p->fd, data, size, MSG_NOSIGNAL));
}

static long plain_recv(void *user, void *connection, void *data, size_t room)
{
	plain *p = (plain *)connection;
	int ready = finish_connect(p);
	(void)user;
	return ready <= 0 ? ready : moved(recv(p->fd, data, room, 0));
}

static int plain_fd(void *user, void *connection)
{
	(void)user;
	return ((plain *)connection)->fd;
}

static int64_t plain_now(void *user)
{
	struct timespec now;
	(void)user;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void hobc_net_default(hobc_client *client, hobc_transport *net)
{
	if (!net->open) {
		net->user = client;
		net->open = plain_open;
		net->send = plain_send;
		net->recv = plain_recv;
		net->close = plain_close;
		net->fd = plain_fd;
	}
	if (!net->now_ms)
		net->now_ms = plain_now;
}

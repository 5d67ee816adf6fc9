/* http_load.c - a cheap load client: one thread, N keep-alive connections, one request in progress on each.
 *
 *   http_load ADDRESS CONNECTIONS MILLISECONDS TARGET [FIELD...]     ADDRESS: PORT of 127.0.0.1, or
 *                                                                    unix:/path
 *
 * Prints one JSON object: answers, bytes of bodies, statuses other than 200 or 304, seconds, latencies, and
 * the longest time without any answer. Exits 1 when a connection breaks. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { ROOM = 256 << 10, HEAD_MAX = 4096, BATCH = 256, BUCKETS = 64 * 16 };

typedef struct connection {
	int fd;
	bool in_body;
	uint64_t left, began_ns;
	size_t head_size;
	char head[HEAD_MAX];
} connection;

static char request[HEAD_MAX], buffer[ROOM];
static size_t request_size;
static uint64_t answers, body_bytes, others, last_ns, pause_ns, histogram[BUCKETS];

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void die(const char *what)
{
	fprintf(stderr, "http_load: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int dial(const char *address)
{
	bool is_unix = strncmp(address, "unix:", 5) == 0;
	struct sockaddr_in inet = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(address))};
	inet.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	struct sockaddr_un local = {.sun_family = AF_UNIX};
	if (is_unix)
		strncpy(local.sun_path, address + 5, sizeof local.sun_path - 1);
	int fd = socket(is_unix ? AF_UNIX : AF_INET, SOCK_STREAM, 0), on = 1;
	if (connect(fd, is_unix ? (void *)&local : (void *)&inet, is_unix ? sizeof local : sizeof inet) != 0)
		die("connect");
	if (!is_unix)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	return fd;
}

static void ask(connection *c)
{
	c->began_ns = now_ns();
	c->in_body = false;
	c->head_size = 0;
	if (send(c->fd, request, request_size, MSG_NOSIGNAL) != (ssize_t)request_size)
		die("send");
}

/* Bucket of a latency: sixteen per power of two. */
static uint32_t bucket_of(uint64_t ns)
{
	uint32_t log = ns < 16 ? 4 : 63 - (uint32_t)__builtin_clzll(ns);
	uint32_t bucket = (log - 4) * 16 + (uint32_t)(ns >> (log - 4) & 15);
	return bucket < BUCKETS ? bucket : BUCKETS - 1;
}

static double bucket_us(uint32_t bucket)
{
	return (double)((16ull + bucket % 16) << (bucket / 16)) / 1000;
}

static void finish(connection *c)
{
	uint64_t now = now_ns();
	answers++;
	histogram[bucket_of(now - c->began_ns)]++;
	if (now - last_ns > pause_ns)
		pause_ns = now - last_ns;
	last_ns = now;
	ask(c);
}

/* Removes the head from data; returns the bytes of data that belong to it. */
static size_t take_head(connection *c, const char *data, size_t size)
{
	if (c->head_size + size > HEAD_MAX - 1)
		size = HEAD_MAX - 1 - c->head_size;
	size_t before = c->head_size;
	memcpy(c->head + before, data, size);
	c->head_size += size;
	c->head[c->head_size] = 0;
	const char *end = strstr(c->head, "\r\n\r\n");
	if (!end) {
		if (c->head_size == HEAD_MAX - 1)
			die("head too long");
		return size;
	}
	int status = atoi(c->head + 9);
	const char *length = strcasestr(c->head, "\r\nContent-Length:");
	others += status != 200 && status != 304;
	c->left = status == 304 || !length ? 0 : strtoull(length + 17, NULL, 10);
	body_bytes += c->left;
	c->in_body = true;
	return (size_t)(end - c->head) + 4 - before;
}

static void on_readable(connection *c)
{
	ssize_t got = recv(c->fd, buffer, sizeof buffer, MSG_DONTWAIT);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0)
		die("closed by the server");
	const char *at = buffer, *end = buffer + got;
	if (!c->in_body)
		at += take_head(c, at, (size_t)(end - at));
	if (!c->in_body)
		return;
	if ((uint64_t)(end - at) > c->left)
		die("more than was announced");
	c->left -= (uint64_t)(end - at);
	if (c->left == 0)
		finish(c);
}

static double percentile(double part)
{
	uint64_t wanted = (uint64_t)((double)answers * part), seen = 0;
	for (uint32_t i = 0; i < BUCKETS; i++)
		if ((seen += histogram[i]) > wanted)
			return bucket_us(i);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 5)
		return fprintf(stderr, "usage: http_load ADDRESS CONNECTIONS MILLISECONDS TARGET [FIELD...]\n"), 2;
	int count = atoi(argv[2]), poll_fd = epoll_create1(0);
	request_size =
		(size_t)snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: localhost\r\n", argv[4]);
	for (int i = 5; i < argc; i++)
		request_size +=
			(size_t)snprintf(request + request_size, sizeof request - request_size, "%s\r\n", argv[i]);
	request_size += (size_t)snprintf(request + request_size, sizeof request - request_size, "\r\n");
	connection *all = calloc((size_t)count, sizeof *all);
	for (int i = 0; i < count; i++) {
		all[i].fd = dial(argv[1]);
		struct epoll_event event = {.events = EPOLLIN, .data.ptr = &all[i]};
		epoll_ctl(poll_fd, EPOLL_CTL_ADD, all[i].fd, &event);
	}
	uint64_t began = now_ns(), until = began + (uint64_t)atoi(argv[3]) * 1000000u;
	last_ns = began;
	for (int i = 0; i < count; i++)
		ask(&all[i]);
	while (now_ns() < until) {
		struct epoll_event events[BATCH];
		int ready = epoll_wait(poll_fd, events, BATCH, 50);
		for (int i = 0; i < ready; i++)
			on_readable(events[i].data.ptr);
	}
	uint64_t end = now_ns();
	if (end - last_ns > pause_ns)
		pause_ns = end - last_ns;
	/* Bodies were counted whole when they began; subtracts what has not arrived. */
	for (int i = 0; i < count; i++)
		body_bytes -= all[i].in_body ? all[i].left : 0;
	printf(
		"{\"answers\":%llu,\"bytes\":%llu,\"others\":%llu,\"seconds\":%.6f,\"p50_us\":%.1f,\"p99_us\":%.1f,"
		"\"pause_ms\":%.2f}\n",
		(unsigned long long)answers, (unsigned long long)body_bytes, (unsigned long long)others,
		(double)(end - began) / 1e9, percentile(0.5), percentile(0.99), (double)pause_ns / 1e6);
	return 0;
}

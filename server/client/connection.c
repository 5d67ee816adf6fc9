#include "connection.h"
#include "tls_client.h"

#include "../../core/base/pieces.h"
#include "../../core/client/client_parse.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { RECEIVE_BYTES = 16384 };

struct srv_connection {
	const srv_peer *peer;
	int fd;
	srv_tls *tls; /* NULL: no TLS */
	char host[256];
	uint8_t bytes[RECEIVE_BYTES];
	size_t from, to;
	bool asked_head, keep;
	hobc_http http;
};

/* ---- connecting */

static bool fail_to_connect(const srv_peer *peer, const char *why, hob_error *err)
{
	return hob_fail(err, IO, "no %s answers at %s%s%s%s", peer->kind ? peer->kind : "daemon", peer->url,
					why ? ": " : "", why ? why : "", peer->advice ? peer->advice : "");
}

/* Connects within `ms` (0: no limit). False with errno. */
static bool connect_within(int fd, const struct sockaddr *address, socklen_t size, uint32_t ms)
{
	if (ms == 0)
		return connect(fd, address, size) == 0;
	int flags = fcntl(fd, F_GETFL), problem = 0;
	socklen_t length = sizeof problem;
	fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	bool ok = connect(fd, address, size) == 0;
	if (!ok && (errno == EINPROGRESS || errno == EAGAIN)) {
		struct pollfd waits = {.fd = fd, .events = POLLOUT};
		int ready;
		do
			ready = poll(&waits, 1, (int)ms);
		while (ready < 0 && errno == EINTR);
		ok = ready == 1 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &problem, &length) == 0 && problem == 0;
		errno = ok ? 0 : ready == 0 ? ETIMEDOUT : problem;
	}
	fcntl(fd, F_SETFL, flags);
	return ok;
}

static bool connect_unix(srv_connection *c, hob_error *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *path = c->peer->url + 5;
	if (!path[0])
		return hob_fail(err, USAGE, "'unix:' names no socket; write unix:/path");
	if (strlen(path) >= sizeof address.sun_path)
		return hob_fail(err, USAGE, "'%s' is too long for a Unix socket", c->peer->url);
	strcpy(address.sun_path, path);
	strcpy(c->host, "localhost");
	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return (c->fd >= 0 &&
			connect_within(c->fd, (struct sockaddr *)&address, sizeof address, c->peer->connect_ms)) ||
		   fail_to_connect(c->peer, strerror(errno), err);
}

static bool connect_tcp(srv_connection *c, hob_error *err)
{
	const char *url = c->peer->url, *scheme = strstr(url, "://"), *address = scheme ? scheme + 3 : url;
	bool secure = strncmp(url, "https://", 8) == 0;
	char port[16], name[256];
	if (scheme && !secure && strncmp(url, "http://", 7) != 0)
		return hob_fail(err, USAGE,
						"'%s' is not a daemon's address; write HOST:PORT, http://HOST:PORT, "
						"https://HOST:PORT or unix:/path",
						url);
	snprintf(port, sizeof port, "%s", secure ? "443" : scheme ? "80" : "7780");
	snprintf(c->host, sizeof c->host, "%.*s", (int)strcspn(address, "/"), address);
	if (c->host[0] == 0)
		return hob_fail(err, USAGE, "'%s' names no host: HOST:PORT, or unix:/path", url);
	snprintf(name, sizeof name, "%s", c->host);
	char *colon = strrchr(name, ':');
	if (colon && !strchr(colon, ']')) {
		snprintf(port, sizeof port, "%s", colon + 1);
		*colon = 0;
	}
	char *node = name;
	if (name[0] == '[') {
		node = name + 1;
		node[strcspn(node, "]")] = 0;
	}
	if (port[0] == 0 || strspn(port, "0123456789") != strlen(port) || strtoul(port, NULL, 10) - 1 >= 65535)
		return hob_fail(err, USAGE, "'%s': the port is a number from 1 to 65535; write HOST:PORT", url);
	struct addrinfo wish = {.ai_socktype = SOCK_STREAM}, *found = NULL;
	int lookup = getaddrinfo(node, port, &wish, &found);
	if (lookup == 0)
		for (struct addrinfo *a = found; a && c->fd < 0; a = a->ai_next) {
			c->fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
			if (c->fd >= 0 && !connect_within(c->fd, a->ai_addr, a->ai_addrlen, c->peer->connect_ms)) {
				close(c->fd);
				c->fd = -1;
			}
		}
	if (found)
		freeaddrinfo(found);
	if (c->fd < 0)
		return fail_to_connect(c->peer, lookup == 0 ? NULL : gai_strerror(lookup), err);
	/* Head and body are two writes; without NODELAY the second would wait for the first's acknowledgement. */
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
	srv_connection_limit_silence(c, c->peer->silence_ms);
	return !secure || srv_tls_open(c->fd, node, url, &c->tls, err);
}

void srv_connection_limit_silence(srv_connection *c, uint32_t ms)
{
	struct timeval limit = {.tv_sec = ms / 1000, .tv_usec = (suseconds_t)(ms % 1000) * 1000};
	setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
	setsockopt(c->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

bool srv_connect(const srv_peer *peer, srv_connection **out, hob_error *err)
{
	srv_connection *c = calloc(1, sizeof *c);
	if (!c)
		return hob_fail(err, MEMORY, "no memory left for a connection");
	c->peer = peer;
	c->fd = -1;
	bool local = strncmp(peer->url, "unix:", 5) == 0;
	if (!(local ? connect_unix(c, err) : connect_tcp(c, err))) {
		srv_disconnect(c);
		return false;
	}
	if (local)
		srv_connection_limit_silence(c, peer->silence_ms);
	*out = c;
	return true;
}

void srv_disconnect(srv_connection *c)
{
	if (!c)
		return;
	srv_tls_close(c->tls);
	if (c->fd >= 0)
		close(c->fd);
	free(c);
}

void srv_connection_cut(srv_connection *c)
{
	shutdown(c->fd, SHUT_RDWR);
}

/* ---- sending */

static bool send_all(srv_connection *c, const void *data, size_t size)
{
	const char *at = data;
	if (c->tls)
		return srv_tls_send(c->tls, data, size);
	while (size > 0) {
		ssize_t sent = send(c->fd, at, size, MSG_NOSIGNAL);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return false;
		at += sent;
		size -= (size_t)sent;
	}
	return true;
}

bool srv_connection_ask(srv_connection *c, const srv_ask *ask, hob_error *err)
{
	hob_own_buf head = {0};
	const char *token = c->peer->token;
	hob_buf_printf(&head, "%s %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: hob/%s\r\n", ask->method, ask->target,
				   c->host, HOB_VERSION);
	if (!ask->keep)
		hob_buf_put_str(&head, HOB_STR("Connection: close\r\n"));
	if (token && token[0] && !strpbrk(token, "\r\n"))
		hob_buf_printf(&head, "Authorization: Bearer %s\r\n", token);
	if (ask->headers)
		hob_buf_put_str(&head, hob_str_of(ask->headers));
	c->asked_head = strcmp(ask->method, "HEAD") == 0;
	if (strcmp(ask->method, "GET") != 0 && !c->asked_head)
		hob_buf_printf(&head, "Content-Type: %s\r\nContent-Length: %llu\r\n",
					   ask->type ? ask->type : "application/json", (unsigned long long)ask->body_size);
	hob_buf_put_str(&head, HOB_STR("\r\n"));
	c->keep = ask->keep;
	bool sent = !head.failed && send_all(c, head.data, head.size);
	return sent || hob_fail(err, IO, "%s took no request", c->peer->url);
}

bool srv_connection_put(srv_connection *c, const void *data, size_t size, hob_error *err)
{
	return send_all(c, data, size) || hob_fail(err, IO, "%s took only a part of a request", c->peer->url);
}

/* ---- the answer */

static bool fill(srv_connection *c)
{
	ssize_t got;
	do
		got = c->tls ? srv_tls_recv(c->tls, c->bytes, sizeof c->bytes)
					 : recv(c->fd, c->bytes, sizeof c->bytes, 0);
	while (got < 0 && errno == EINTR);
	c->from = 0;
	c->to = got > 0 ? (size_t)got : 0;
	return got > 0;
}

typedef struct sink {
	uint8_t *at;
	size_t size;
} sink;

static int put_body(void *user, const uint8_t *data, size_t size)
{
	sink *to = user;
	memcpy(to->at + to->size, data, size);
	to->size += size;
	return 1;
}

/* The value of a header field, without the characters of `around` at its ends. */
static void take_field(const hobc_http *http, const char *name, const char *around, char *out, size_t room)
{
	hob_str head = {http->head, http->head_size}, line;
	while (hob_str_piece(&head, '\n', &line)) {
		hob_str value = line, key = hob_str_next(&value, ':');
		if (!hob_str_equal_nocase(key, hob_str_of(name)))
			continue;
		while (value.len > 0 && strchr(around, value.data[0]))
			value = hob_str_sub(value, 1, value.len);
		while (value.len > 0 && strchr(around, value.data[value.len - 1]))
			value.len--;
		snprintf(out, room, "%.*s", HOB_FMT(value));
	}
}

bool srv_connection_answer(srv_connection *c, srv_answer *out, hob_error *err)
{
	hobc_http *http = &c->http;
	*out = (srv_answer){0};
	hobc_http_start(http);
	errno = 0;
	/* One byte at a time, as what follows the head stays for srv_connection_read. */
	while (http->state == HOBC_HTTP_HEAD && (c->from < c->to || fill(c)))
		c->from += hobc_http_feed(http, c->bytes + c->from, 1, put_body, NULL);
	if (http->state == HOBC_HTTP_HEAD && errno == EAGAIN)
		return hob_fail(err, IO, "%s does not answer: nothing came for %u ms", c->peer->url,
						c->peer->silence_ms);
	if (http->state == HOBC_HTTP_HEAD && http->head_size > 0)
		return hob_fail(err, IO, "the head of the answer of %s was cut off", c->peer->url);
	if (http->status == 0)
		return hob_fail(err, IO, "%s gave no answer in HTTP/1.1%s", c->peer->url,
						c->tls ? "" : "; a daemon with a certificate is asked as https://HOST:PORT");
	if (http->state == HOBC_HTTP_BAD)
		return hob_fail(
			err, IO,
			"the head of the answer of %s is malformed, or says in two ways, or in none that is a "
			"number, how long it is",
			c->peer->url);
	if (c->asked_head)
		http->state = HOBC_HTTP_DONE;
	out->status = http->status;
	out->has_length = http->has_length;
	out->length = http->length;
	take_field(http, "Content-Type", " \t\r", out->type, sizeof out->type);
	take_field(http, "ETag", " \t\r\"", out->hash, sizeof out->hash);
	take_field(http, "Location", " \t\r", out->location, sizeof out->location);
	take_field(http, "Retry-After", " \t\r", out->retry_after, sizeof out->retry_after);
	take_field(http, "Cook-State", " \t\r", out->standing, sizeof out->standing);
	take_field(http, "Cook-Standing", " \t\r", out->standing, sizeof out->standing);
	return true;
}

size_t srv_connection_read(srv_connection *c, void *out, size_t room)
{
	sink to = {out, 0};
	while (to.size == 0 && c->http.state < HOBC_HTTP_DONE && (c->from < c->to || fill(c))) {
		size_t size = c->to - c->from < room ? c->to - c->from : room;
		c->from += hobc_http_feed(&c->http, c->bytes + c->from, size, put_body, &to);
	}
	return to.size;
}

bool srv_connection_is_whole(const srv_connection *c)
{
	return c->http.state == HOBC_HTTP_DONE;
}

bool srv_connection_is_reusable(const srv_connection *c)
{
	return c->http.state == HOBC_HTTP_DONE && c->http.keep_alive && c->keep && c->from == c->to;
}

#include "connection.h"
#include "tls_client.h"

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

enum { HEAD_MAX = 16384, HEAD_LINES_MAX = 256 };

struct srv_connection {
	const srv_peer *peer;
	int fd;
	srv_tls *tls; /* NULL: no TLS */
	char host[256];
	char bytes[HEAD_MAX];
	size_t from, to;
	bool chunked, ended, has_length, closes, asked_head, unclear;
	uint64_t left; /* remaining bytes of the body or the chunk */
};

/* ---- connecting */

static bool fail_to_connect(const srv_peer *peer, const char *why, hob_error *err)
{
	return hob_fail(err, IO, "no daemon answers at %s%s%s%s", peer->url, why ? ": " : "", why ? why : "",
					peer->advice ? peer->advice : "");
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
	struct addrinfo wish = {.ai_socktype = SOCK_STREAM}, *found = NULL;
	if (getaddrinfo(node, port, &wish, &found) == 0)
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
		return fail_to_connect(c->peer, NULL, err);
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
	hob_buf head = {0};
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
	c->chunked = c->ended = c->has_length = c->unclear = false;
	c->closes = !ask->keep;
	c->left = 0;
	bool sent = !head.failed && send_all(c, head.data, head.size);
	hob_buf_release(&head);
	return sent || hob_fail(err, IO, "%s took no request", c->peer->url);
}

bool srv_connection_put(srv_connection *c, const void *data, size_t size, hob_error *err)
{
	return send_all(c, data, size) || hob_fail(err, IO, "%s took only a part of a request", c->peer->url);
}

/* ---- the answer */

static bool fill(srv_connection *c)
{
	if (c->from > 0) {
		memmove(c->bytes, c->bytes + c->from, c->to - c->from);
		c->to -= c->from;
		c->from = 0;
	}
	ssize_t got;
	size_t room = sizeof c->bytes - c->to;
	do
		got = room == 0 ? -1
			  : c->tls	? srv_tls_recv(c->tls, c->bytes + c->to, room)
						: recv(c->fd, c->bytes + c->to, room, 0);
	while (got < 0 && room > 0 && errno == EINTR);
	if (got <= 0)
		return false;
	c->to += (size_t)got;
	return true;
}

/* Returns one line of the head without CR LF, NUL-terminated in place; NULL: end, or too long. */
static char *head_line(srv_connection *c)
{
	for (;;) {
		char *start = c->bytes + c->from, *end = memchr(start, '\n', c->to - c->from);
		if (end) {
			c->from = (size_t)(end - c->bytes) + 1;
			*end = 0;
			if (end > start && end[-1] == '\r')
				end[-1] = 0;
			return start;
		}
		if (!fill(c))
			return NULL;
	}
}

static bool header_is(const char *line, const char *name, const char **value)
{
	size_t length = strlen(name);
	if (!hob_str_equal_nocase(hob_str_sub(hob_str_of(line), 0, length), hob_str_of(name)) ||
		line[length] != ':')
		return false;
	*value = line + length + 1;
	while (**value == ' ')
		(*value)++;
	return true;
}

/* Accepts digits only; strtoull also accepts signs, spaces, and numbers followed by text. */
static bool parse_length(const char *text, uint64_t *out)
{
	size_t digits = strspn(text, "0123456789");
	*out = strtoull(text, NULL, 10);
	return digits > 0 && digits < 20 && text[digits] == 0;
}

static void read_header(srv_connection *c, const char *line, srv_answer *out)
{
	const char *value;
	if (header_is(line, "Content-Length", &value)) {
		uint64_t length = 0;
		c->unclear = c->unclear || !parse_length(value, &length) || (c->has_length && length != c->left);
		out->has_length = c->has_length = true;
		out->length = c->left = length;
	} else if (header_is(line, "Transfer-Encoding", &value)) {
		c->chunked = strstr(value, "chunked") != NULL;
	} else if (header_is(line, "Connection", &value)) {
		c->closes = c->closes || hob_str_equal_nocase(hob_str_of(value), HOB_STR("close"));
	} else if (header_is(line, "Content-Type", &value)) {
		snprintf(out->type, sizeof out->type, "%s", value);
	} else if (header_is(line, "Cook-Standing", &value) ||
			   (!out->standing[0] && header_is(line, "Cook-State", &value))) {
		snprintf(out->standing, sizeof out->standing, "%s", value);
	} else if (header_is(line, "ETag", &value)) {
		snprintf(out->hash, sizeof out->hash, "%.*s", (int)strcspn(value + (value[0] == '"'), "\""),
				 value + (value[0] == '"'));
	}
}

bool srv_connection_answer(srv_connection *c, srv_answer *out, hob_error *err)
{
	*out = (srv_answer){0};
	errno = 0;
	const char *line = head_line(c);
	if (!line && errno == EAGAIN)
		return hob_fail(err, IO, "%s does not answer: nothing came for %u ms", c->peer->url,
						c->peer->silence_ms);
	if (!line || strncmp(line, "HTTP/1.", 7) != 0 || strlen(line) < 12 || line[8] != ' ' ||
		strspn(line + 9, "0123456789") != 3)
		return hob_fail(err, IO, "%s gave no HTTP answer%s", c->peer->url,
						c->tls ? "" : "; a daemon with a certificate is asked as https://HOST:PORT");
	out->status = atoi(line + 9);
	uint32_t lines = 0;
	while ((line = head_line(c)) && line[0] && lines++ < HEAD_LINES_MAX)
		read_header(c, line, out);
	if (!line || line[0])
		return hob_fail(err, IO, "the head of the answer of %s was cut off", c->peer->url);
	if (c->unclear || (c->chunked && c->has_length))
		return hob_fail(err, IO,
						"the answer of %s says in two ways, or in none that is a number, how long it is",
						c->peer->url);
	if (c->asked_head || out->status == 204 || out->status == 304) {
		c->chunked = false;
		c->has_length = true;
		c->left = 0;
	}
	c->ended = c->has_length && !c->chunked && c->left == 0;
	c->closes = c->closes || (!c->has_length && !c->chunked);
	return true;
}

size_t srv_connection_read(srv_connection *c, void *out, size_t room)
{
	if (c->ended)
		return 0;
	if (c->chunked && c->left == 0) {
		char *line = head_line(c);
		if (line && line[0] == 0)
			line = head_line(c);
		bool last = line && line[0] == '0';
		c->left = line ? strtoull(line, NULL, 16) : 0;
		if (c->left == 0) {
			/* A body without a last chunk is incomplete. */
			c->left = last ? 0 : 1;
			c->ended = true;
			for (uint32_t lines = 0; last && lines < HEAD_LINES_MAX && (line = head_line(c)) && line[0];
				 lines++)
				;
			return 0;
		}
	}
	if (c->from == c->to && !fill(c)) {
		c->ended = true;
		return 0;
	}
	size_t count = c->to - c->from;
	if (count > room)
		count = room;
	if ((c->chunked || c->has_length) && count > c->left)
		count = (size_t)c->left;
	memcpy(out, c->bytes + c->from, count);
	c->from += count;
	c->left -= c->chunked || c->has_length ? count : 0;
	if (c->has_length && !c->chunked && c->left == 0)
		c->ended = true;
	return count;
}

bool srv_connection_is_whole(const srv_connection *c)
{
	return !(c->has_length || c->chunked) || c->left == 0;
}

bool srv_connection_is_reusable(const srv_connection *c)
{
	return c->ended && c->left == 0 && !c->closes && c->from == c->to;
}

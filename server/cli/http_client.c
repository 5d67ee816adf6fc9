#include "http_client.h"
#include "cli.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { HEAD_MAX = 16384, BODY_MAX = 1 << 30 };

/* ---- the connection: a socket with a buffer in front */

typedef struct connection {
	int fd;
	cli_tls *tls; /* NULL: plain */
	char bytes[HEAD_MAX];
	size_t from, to;
	bool chunked, ended;
	uint64_t left; /* of the body or the chunk */
	bool has_length;
} connection;

static bool connect_unix(const char *url, connection *l, hob_error *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	if (strlen(url + 5) >= sizeof address.sun_path)
		return hob_fail(err, USAGE, "'%s' is too long for a Unix socket", url);
	strcpy(address.sun_path, url + 5);
	l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return (l->fd >= 0 && connect(l->fd, (struct sockaddr *)&address, sizeof address) == 0) ||
		   hob_fail(err, IO, "no daemon answers at %s: %s; start one with 'hob serve DIR --listen %s'", url,
					strerror(errno), url);
}

static bool connect_to(const char *url, connection *l, char host[256], hob_error *err)
{
	char port[16];
	if (strncmp(url, "unix:", 5) == 0) {
		strcpy(host, "localhost");
		return connect_unix(url, l, err);
	}
	const char *scheme = strstr(url, "://"), *address = scheme ? scheme + 3 : url;
	bool secure = strncmp(url, "https://", 8) == 0;
	if (scheme && !secure && strncmp(url, "http://", 7) != 0)
		return hob_fail(
			err, USAGE,
			"'%s' cannot be asked: HOST:PORT, http://HOST:PORT, https://HOST:PORT and unix:/path can", url);
	snprintf(port, sizeof port, "%s", secure ? "443" : scheme ? "80" : "7780");
	snprintf(host, 256, "%.*s", (int)strcspn(address, "/"), address);
	if (host[0] == 0)
		return hob_fail(err, USAGE, "'%s' names no host: HOST:PORT, or unix:/path", url);
	char name[256];
	snprintf(name, sizeof name, "%s", host);
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
	l->fd = -1;
	if (getaddrinfo(node, port, &wish, &found) == 0)
		for (struct addrinfo *a = found; a && l->fd < 0; a = a->ai_next) {
			l->fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
			if (l->fd >= 0 && connect(l->fd, a->ai_addr, a->ai_addrlen) != 0) {
				close(l->fd);
				l->fd = -1;
			}
		}
	if (found)
		freeaddrinfo(found);
	if (l->fd < 0)
		return hob_fail(err, IO,
						"no daemon answers at %s; start one with 'hob serve DIR' or name another with "
						"--url",
						url);
	return !secure || cli_tls_open(l->fd, node, url, &l->tls, err);
}

static void disconnect(connection *l)
{
	cli_tls_close(l->tls);
	if (l->fd >= 0)
		close(l->fd);
}

static ssize_t receive(connection *l, void *data, size_t size)
{
	return l->tls ? cli_tls_recv(l->tls, data, size) : recv(l->fd, data, size, 0);
}

static bool fill(connection *l)
{
	if (l->from > 0) {
		memmove(l->bytes, l->bytes + l->from, l->to - l->from);
		l->to -= l->from;
		l->from = 0;
	}
	ssize_t got;
	do
		got = l->to < sizeof l->bytes ? receive(l, l->bytes + l->to, sizeof l->bytes - l->to) : -1;
	while (got < 0 && errno == EINTR);
	if (got <= 0)
		return false;
	l->to += (size_t)got;
	return true;
}

/* One line of the head without its CR LF, NUL-terminated in place; NULL at the end or when it is too long. */
static char *head_line(connection *l)
{
	for (;;) {
		char *start = l->bytes + l->from, *end = memchr(start, '\n', l->to - l->from);
		if (end) {
			l->from = (size_t)(end - l->bytes) + 1;
			*end = 0;
			if (end > start && end[-1] == '\r')
				end[-1] = 0;
			return start;
		}
		if (!fill(l))
			return NULL;
	}
}

/* Some bytes of the body, at most `room`; 0 at its end. */
static size_t read_body(connection *l, char *out, size_t room)
{
	if (l->ended)
		return 0;
	if (l->chunked && l->left == 0) {
		char *line = head_line(l);
		if (line && line[0] == 0)
			line = head_line(l);
		l->left = line ? strtoull(line, NULL, 16) : 0;
		if (l->left == 0) {
			l->ended = true;
			return 0;
		}
	}
	if (l->from == l->to && !fill(l)) {
		l->ended = true;
		return 0;
	}
	size_t count = l->to - l->from;
	if (count > room)
		count = room;
	if ((l->chunked || l->has_length) && count > l->left)
		count = (size_t)l->left;
	memcpy(out, l->bytes + l->from, count);
	l->from += count;
	l->left -= l->chunked || l->has_length ? count : 0;
	if (l->has_length && l->left == 0)
		l->ended = true;
	return count;
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

static bool exchange(const char *url, const char *method, const char *target, const char *header,
					 hob_str body, connection *l, cli_response *out, hob_error *err)
{
	char host[256];
	*l = (connection){.fd = -1};
	if (!connect_to(url, l, host, err))
		return false;
	hob_buf head = {0};
	hob_buf_printf(&head, "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nUser-Agent: hob/%s\r\n", method,
				   target, host, HOB_VERSION);
	const char *token = getenv("HOB_TOKEN");
	if (token && token[0] && !strpbrk(token, "\r\n"))
		hob_buf_printf(&head, "Authorization: Bearer %s\r\n", token);
	if (header)
		hob_buf_printf(&head, "%s\r\n", header);
	if (strcmp(method, "GET") != 0)
		hob_buf_printf(&head, "Content-Type: application/json\r\nContent-Length: %zu\r\n", body.len);
	hob_buf_put_str(&head, HOB_STR("\r\n"));
	hob_buf_put_str(&head, body);
	bool sent =
		!head.failed && (l->tls ? cli_tls_send(l->tls, head.data, head.size)
								: send(l->fd, head.data, head.size, MSG_NOSIGNAL) == (ssize_t)head.size);
	hob_buf_release(&head);
	const char *line = sent ? head_line(l) : NULL;
	if (!line || strncmp(line, "HTTP/1.", 7) != 0)
		return hob_fail(err, IO, "%s gave no HTTP answer%s", url,
						l->tls ? "" : "; a daemon with a certificate is asked as https://HOST:PORT");
	out->status = atoi(line + 9);
	while ((line = head_line(l)) && line[0]) {
		const char *value;
		if (header_is(line, "Content-Length", &value)) {
			l->has_length = true;
			l->left = strtoull(value, NULL, 10);
			l->ended = l->left == 0;
		} else if (header_is(line, "Transfer-Encoding", &value)) {
			l->chunked = strstr(value, "chunked") != NULL;
		} else if (header_is(line, "Content-Type", &value)) {
			snprintf(out->type, sizeof out->type, "%s", value);
		} else if (header_is(line, "Cook-State", &value)) {
			snprintf(out->state, sizeof out->state, "%s", value);
		} else if (header_is(line, "ETag", &value)) {
			snprintf(out->hash, sizeof out->hash, "%.*s", (int)strcspn(value + (value[0] == '"'), "\""),
					 value + (value[0] == '"'));
		}
	}
	return true;
}

static bool fail_large(const char *url, const char *target, hob_error *err)
{
	return hob_fail(
		err, USAGE,
		"the answer has more than 1 GiB, which is more than this command holds; fetch it with curl: %s%s",
		url, target);
}

bool cli_request(const char *url, const char *method, const char *target, const char *header, hob_str body,
				 cli_response *out, hob_error *err)
{
	connection l;
	*out = (cli_response){0};
	bool ok = exchange(url, method, target, header, body, &l, out, err);
	char bytes[HEAD_MAX];
	if (ok && l.has_length && l.left > BODY_MAX)
		ok = fail_large(url, target, err);
	for (size_t got; ok && (got = read_body(&l, bytes, sizeof bytes)) > 0;) {
		hob_buf_put(&out->body, bytes, got);
		if (out->body.failed)
			ok = hob_fail(err, MEMORY, "no memory left for the daemon's answer");
		else if (out->body.size > BODY_MAX)
			ok = fail_large(url, target, err);
	}
	if (ok && (l.has_length || l.chunked) && l.left > 0)
		ok = hob_fail(err, IO, "the daemon's answer was cut off");
	disconnect(&l);
	if (!ok)
		cli_response_release(out);
	return ok;
}

static bool stream_refused(connection *l, int status, hob_error *err)
{
	char body[4096];
	size_t size = 0;
	for (size_t got; size < sizeof body && (got = read_body(l, body + size, sizeof body - size)) > 0;)
		size += got;
	cJSON *problem = cJSON_ParseWithLength(body, size);
	const char *detail = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(problem, "detail"));
	(void)hob_fail(err, USAGE, "the daemon refused (%d): %.180s", status,
				   detail ? detail : "no reason given");
	if (status == 429 || status >= 500)
		err->code = HOB_ERR_IO;
	cJSON_Delete(problem);
	return false;
}

bool cli_stream(const char *url, const char *target, const char *header,
				bool (*line)(void *user, hob_str line), void *user, hob_error *err)
{
	static const struct timeval silence = {.tv_sec = 40};
	connection l;
	cli_response head = {0};
	hob_buf pending = {0};
	bool ok = exchange(url, "GET", target, header, (hob_str){0}, &l, &head, err);
	if (ok)
		setsockopt(l.fd, SOL_SOCKET, SO_RCVTIMEO, &silence, sizeof silence);
	if (ok && head.status != 200)
		ok = stream_refused(&l, head.status, err);
	char bytes[4096];
	bool going = ok;
	for (size_t got; going && (got = read_body(&l, bytes, sizeof bytes)) > 0;)
		for (size_t i = 0; i < got && going; i++) {
			if (bytes[i] != '\n') {
				hob_buf_put(&pending, &bytes[i], 1);
				continue;
			}
			going = line(user, hob_buf_str(&pending));
			hob_buf_clear(&pending);
		}
	hob_buf_release(&pending);
	disconnect(&l);
	return ok;
}

void cli_response_release(cli_response *response)
{
	hob_buf_release(&response->body);
}

void cli_encode(hob_buf *out, hob_str text)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.data[i];
		bool plain =
			(c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("-._~/", c);
		if (plain && c)
			hob_buf_put(out, &c, 1);
		else
			hob_buf_printf(out, "%%%02X", (unsigned char)c);
	}
}

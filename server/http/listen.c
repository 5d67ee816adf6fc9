#include "inside.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 1024 };

static bool bind_and_listen(srv_http *http, int fd, const struct sockaddr *address, socklen_t size,
							hob_str text, hob_error *err)
{
	if (bind(fd, address, size) == 0 && listen(fd, BACKLOG) == 0) {
		http->is_unix[http->listener_count] = address->sa_family == AF_UNIX;
		http->listeners[http->listener_count++] = fd;
		return true;
	}
	int failure = errno;
	close(fd);
	if (failure == EADDRINUSE)
		return hob_fail(err, LOCKED, "'%.*s' is in use by another program; use --listen with another port",
						HOB_FMT(text));
	if (failure == EACCES)
		return hob_fail(err, IO, "'%.*s' may not be bound by this user; use a port above 1023",
						HOB_FMT(text));
	return hob_fail(err, IO, "cannot listen on '%.*s': %s", HOB_FMT(text), strerror(failure));
}

static void name_address(const struct sockaddr_storage *bound, char *out, size_t room)
{
	char host[INET6_ADDRSTRLEN];
	if (bound->ss_family == AF_INET6) {
		const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)bound;
		inet_ntop(AF_INET6, &six->sin6_addr, host, sizeof host);
		snprintf(out, room, "[%s]:%u", host, ntohs(six->sin6_port));
	} else {
		const struct sockaddr_in *four = (const struct sockaddr_in *)bound;
		inet_ntop(AF_INET, &four->sin_addr, host, sizeof host);
		snprintf(out, room, "%s:%u", host, ntohs(four->sin_port));
	}
}

/* Where the address of the last added listener is stored. */
static char *newest_address(srv_http *http)
{
	return http->addresses[http->listener_count - 1];
}

static void remember_address(srv_http *http, int fd)
{
	struct sockaddr_storage bound;
	socklen_t size = sizeof bound;
	if (getsockname(fd, (struct sockaddr *)&bound, &size) == 0)
		name_address(&bound, newest_address(http), sizeof http->addresses[0]);
}

static bool open_inet(srv_http *http, int family, const void *host, uint16_t port, hob_str text,
					  hob_error *err)
{
	int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return hob_fail(err, IO, "cannot listen on '%.*s': %s", HOB_FMT(text), strerror(errno));
	int on = 1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	bool done, loopback = family == AF_INET ? *(const uint8_t *)host == 127
											: IN6_IS_ADDR_LOOPBACK((const struct in6_addr *)host);
	if (!loopback && !http->exposed[0])
		snprintf(http->exposed, sizeof http->exposed, "%.*s", HOB_FMT(text));
	if (family == AF_INET) {
		memcpy(&four.sin_addr, host, sizeof four.sin_addr);
		done = bind_and_listen(http, fd, (struct sockaddr *)&four, sizeof four, text, err);
	} else {
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
		memcpy(&six.sin6_addr, host, sizeof six.sin6_addr);
		done = bind_and_listen(http, fd, (struct sockaddr *)&six, sizeof six, text, err);
	}
	if (done)
		remember_address(http, fd);
	return done;
}

static bool open_unix(srv_http *http, hob_str path, hob_str text, hob_error *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	if (path.len == 0 || path.len >= sizeof address.sun_path)
		return hob_fail(err, CONFIG, "'%.*s': the path of a Unix socket has 1 to %zu bytes", HOB_FMT(text),
						sizeof address.sun_path - 1);
	if (http->unix_path)
		return hob_fail(err, CONFIG, "'%.*s': only one Unix socket can be listened on", HOB_FMT(text));
	memcpy(address.sun_path, path.data, path.len);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return hob_fail(err, IO, "cannot listen on '%.*s': %s", HOB_FMT(text), strerror(errno));
	/* Removes a socket file on which no process listens: a killed daemon left it. */
	if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0 && errno == ECONNREFUSED)
		unlink(address.sun_path);
	if (!bind_and_listen(http, fd, (struct sockaddr *)&address, sizeof address, text, err))
		return false;
	http->unix_path = strdup(address.sun_path);
	snprintf(newest_address(http), sizeof http->addresses[0], "unix:%s", address.sun_path);
	return true;
}

/* A parsed address of the option --listen. */
typedef struct written {
	int family; /* AF_UNIX: `path`; 0: localhost, both families */
	uint16_t port;
	hob_str path;
	struct in_addr four;
	struct in6_addr six;
} written;

static bool read_address(hob_str text, written *out, hob_error *err)
{
	*out = (written){.four = {htonl(INADDR_LOOPBACK)}, .six = IN6ADDR_LOOPBACK_INIT};
	if (hob_str_starts(text, HOB_STR("unix:"))) {
		out->family = AF_UNIX;
		out->path = hob_str_sub(text, 5, text.len);
		return true;
	}
	size_t colon = text.len;
	while (colon > 0 && text.data[colon - 1] != ':')
		colon--;
	uint64_t port = 0;
	hob_str host = hob_str_sub(text, 0, colon > 0 ? colon - 1 : 0);
	bool number = colon > 0 && srv_parse_decimal(hob_str_sub(text, colon, text.len), &port);
	if (number && port > 65535)
		return hob_fail(err, CONFIG, "'%.*s': ports go up to 65535; write 127.0.0.1:7780 or [::1]:7780",
						HOB_FMT(text));
	if (!number)
		return hob_fail(err, CONFIG, "'%.*s' is not HOST:PORT; write 127.0.0.1:7780 or [::1]:7780",
						HOB_FMT(text));
	out->port = (uint16_t)port;
	if (hob_str_equal(host, HOB_STR("localhost")))
		return true;
	char name[INET6_ADDRSTRLEN];
	bool brackets = host.len > 2 && host.data[0] == '[' && host.data[host.len - 1] == ']';
	hob_str bare = brackets ? hob_str_sub(host, 1, host.len - 1) : host;
	out->family = brackets ? AF_INET6 : AF_INET;
	if (bare.len > 0 && bare.len < sizeof name) {
		memcpy(name, bare.data, bare.len);
		name[bare.len] = 0;
		if (inet_pton(out->family, name, brackets ? (void *)&out->six : (void *)&out->four) == 1)
			return true;
	}
	return hob_fail(
		err, CONFIG,
		"'%.*s' is not an address; write 127.0.0.1:7780, [::1]:7780, localhost:7780 or unix:/path",
		HOB_FMT(text));
}

static bool open_one(srv_http *http, hob_str text, hob_error *err)
{
	written w;
	if (http->listener_count + 2 > LISTENERS_MAX)
		return hob_fail(err, CONFIG, "more than %d addresses to listen on", LISTENERS_MAX - 1);
	if (!read_address(text, &w, err))
		return false;
	if (w.family == AF_UNIX)
		return open_unix(http, w.path, text, err);
	if (w.family != 0)
		return open_inet(http, w.family, w.family == AF_INET ? (void *)&w.four : (void *)&w.six, w.port, text,
						 err);
	if (!open_inet(http, AF_INET, &w.four, w.port, text, err))
		return false;
	/* Binds both loopback addresses to one port; on a machine without IPv6 only that of IPv4. */
	unsigned bound = w.port;
	sscanf(newest_address(http), "127.0.0.1:%u", &bound);
	hob_error ignored;
	bool both = open_inet(http, AF_INET6, &w.six, (uint16_t)bound, text, &ignored);
	(void)both;
	return true;
}

bool srv_http_check_address(hob_str text, bool *exposed, hob_error *err)
{
	written w;
	if (!read_address(text, &w, err))
		return false;
	*exposed = (w.family == AF_INET && ntohl(w.four.s_addr) >> 24 != 127) ||
			   (w.family == AF_INET6 && !IN6_IS_ADDR_LOOPBACK(&w.six));
	return true;
}

bool srv_listeners_open(srv_http *http, const char *list, hob_error *err)
{
	bool ok = true;
	for (hob_str rest = hob_str_of(list), address; ok && hob_str_piece(&rest, ',', &address);)
		ok = open_one(http, address, err);
	return ok;
}

static bool is_loopback(const struct sockaddr_storage *address)
{
	const struct sockaddr_in *four = (const struct sockaddr_in *)address;
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
	if (address->ss_family == AF_INET)
		return (ntohl(four->sin_addr.s_addr) >> 24) == 127;
	return IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

static void name_unix(srv_http *http, const struct sockaddr_storage *address, socklen_t size)
{
	const struct sockaddr_un *local = (const struct sockaddr_un *)address;
	size_t len =
		size > offsetof(struct sockaddr_un, sun_path) ? size - offsetof(struct sockaddr_un, sun_path) : 0;
	bool abstract = len > 0 && local->sun_path[0] == 0;
	snprintf(newest_address(http), sizeof http->addresses[0], "unix:%s%.*s", abstract ? "@" : "",
			 (int)(len - abstract), local->sun_path + abstract);
}

bool srv_listeners_take(srv_http *http, const int *fds, uint32_t count, hob_error *err)
{
	http->inherited = true;
	for (uint32_t i = 0; i < count; i++) {
		struct sockaddr_storage bound = {0};
		socklen_t size = sizeof bound;
		if (getsockname(fds[i], (struct sockaddr *)&bound, &size) != 0)
			return hob_fail(err, IO, "descriptor %d is not a socket: %s", fds[i], strerror(errno));
		if (bound.ss_family != AF_INET && bound.ss_family != AF_INET6 && bound.ss_family != AF_UNIX)
			return hob_fail(err, CONFIG, "descriptor %d is neither a TCP nor a Unix socket", fds[i]);
		if (http->listener_count == LISTENERS_MAX)
			return hob_fail(err, CONFIG, "more than %d addresses to listen on", LISTENERS_MAX);
		bool local = bound.ss_family == AF_UNIX;
		http->is_unix[http->listener_count] = local;
		http->listeners[http->listener_count++] = fds[i];
		if (local)
			name_unix(http, &bound, size);
		else
			remember_address(http, fds[i]);
		if (!local && !is_loopback(&bound) && !http->exposed[0])
			name_address(&bound, http->exposed, sizeof http->exposed);
	}
	return true;
}

void srv_listeners_shut(srv_http *http)
{
	/* Drops segments with SYN, the second bit of byte 13: the client sends it again, and finds the port
	 * closed. */
	struct sock_filter code[] = {BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 13),
								 BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 2, 1, 0),
								 BPF_STMT(BPF_RET | BPF_K, UINT32_MAX), BPF_STMT(BPF_RET | BPF_K, 0)};
	struct sock_fprog drop = {HOB_COUNT_OF(code), code};
	for (uint32_t i = 0; !http->inherited && i < http->listener_count; i++)
		if (http->is_unix[i])
			shutdown(http->listeners[i], SHUT_RD);
		else
			setsockopt(http->listeners[i], SOL_SOCKET, SO_ATTACH_FILTER, &drop, sizeof drop);
}

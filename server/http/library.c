#include "inside.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The daemons of libmicrohttpd: one for plain connections, and one for TLS if there is a certificate. */

enum { PEM_BYTES_MAX = 256 << 10 };

static char *read_pem(const char *path, const char *mark, const char *option, hob_error *err)
{
	struct stat info;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool small = fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size <= PEM_BYTES_MAX;
	char *text = small ? calloc(1, (size_t)info.st_size + 1) : NULL;
	ssize_t got = text ? read(fd, text, (size_t)info.st_size) : -1;
	int failure = errno;
	srv_close(fd);
	if (got < 0 || !strstr(text, mark)) {
		bool failed =
			fd < 0
				? hob_fail(err, CONFIG, "cannot open '%s' of %s: %s", path, option, strerror(failure))
				: hob_fail(err, CONFIG, "'%s' of %s is no PEM file with a line '%s...'", path, option, mark);
		(void)failed;
		free(text);
		return NULL;
	}
	return text;
}

static void keep_message(void *user, const char *format, va_list args)
{
	srv_http *http = user;
	vsnprintf(http->library_message, sizeof http->library_message, format, args);
	http->library_message[strcspn(http->library_message, "\n")] = 0;
	/* The library is about to send an answer with two heads; this message is the only call before that. */
	if (strstr(http->library_message, "Content-Length"))
		srv_refuse_length(http);
	unsigned status;
	if (sscanf(http->library_message, "Error processing request (HTTP response code is %u", &status) == 1)
		srv_refuse_unread(http, status);
}

/* Since 1.0 the library unfolds lines in place, invisible to guard.c; level 1 refuses folded lines, and a
 * bare CR, LF or NUL. */
#if MHD_VERSION >= 0x01000000
#define STRICTNESS MHD_OPTION_CLIENT_DISCIPLINE_LVL, 1,
#else
#define STRICTNESS
#endif

static struct MHD_Daemon *start(srv_http *http, const library_callbacks *callbacks, unsigned flags,
								const struct MHD_OptionItem *more)
{
	unsigned idle_s = (http->idle_ms + 999) / 1000;
	return MHD_start_daemon(
		MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG | flags, 0,
		NULL, NULL, callbacks->request, http, STRICTNESS MHD_OPTION_ARRAY, more,
		MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)POOL_BYTES,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned)http->max_connections + ACCEPT_BATCH,
		MHD_OPTION_CONNECTION_TIMEOUT, idle_s, MHD_OPTION_UNESCAPE_CALLBACK, callbacks->unescape, NULL,
		MHD_OPTION_URI_LOG_CALLBACK, callbacks->target, http, MHD_OPTION_NOTIFY_CONNECTION,
		callbacks->connection, http, MHD_OPTION_NOTIFY_COMPLETED, callbacks->completed, http, MHD_OPTION_END);
}

static bool start_tls(srv_http *http, const library_callbacks *callbacks, const char *certificate,
					  const char *key, hob_error *err)
{
	hob_own char *public = read_pem(certificate, "-----BEGIN CERTIFICATE", "--tls-cert", err);
	hob_own char *secret = public ? read_pem(key, "PRIVATE KEY-----", "--tls-key", err) : NULL;
	bool ok = secret != NULL;
	if (ok) {
		const struct MHD_OptionItem more[] = {
			{MHD_OPTION_EXTERNAL_LOGGER, (intptr_t)keep_message, http},
			{MHD_OPTION_HTTPS_MEM_CERT, 0, public},
			{MHD_OPTION_HTTPS_MEM_KEY, 0, secret},
			{MHD_OPTION_HTTPS_PRIORITIES, 0,
			 (void *)(uintptr_t) "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"},
			{MHD_OPTION_END, 0, NULL}};
		http->daemons[LIBRARY_TLS] = start(http, callbacks, MHD_USE_TLS, more);
		ok = http->daemons[LIBRARY_TLS] ||
			 hob_fail(err, CONFIG, "TLS cannot start with '%s' and '%s': %s; do the two belong together?",
					  certificate, key,
					  http->library_message[0] ? http->library_message : "the files are not understood");
	}
	if (secret)
		explicit_bzero(secret, strlen(secret));
	return ok;
}

bool srv_library_start(srv_http *http, const library_callbacks *callbacks, const char *certificate,
					   const char *key, hob_error *err)
{
	if (!certificate != !key)
		return hob_fail(err, CONFIG, "TLS takes both files: --tls-cert FILE and --tls-key FILE");
	const struct MHD_OptionItem more[] = {{MHD_OPTION_EXTERNAL_LOGGER, (intptr_t)keep_message, http},
										  {MHD_OPTION_END, 0, NULL}};
	http->daemons[LIBRARY_PLAIN] = start(http, callbacks, 0, more);
	bool ok = http->daemons[LIBRARY_PLAIN] ||
			  hob_fail(err, IO, "the HTTP library did not start: %s", strerror(errno));
	if (ok && certificate)
		ok = start_tls(http, callbacks, certificate, key, err);
	if (!ok)
		srv_library_stop(http);
	return ok;
}

int srv_library_epoll_fd(const srv_http *http, library_kind kind)
{
	return MHD_get_daemon_info(http->daemons[kind], MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
}

void srv_library_run(srv_http *http)
{
	for (int i = 0; i < LIBRARY_COUNT; i++)
		if (http->daemons[i])
			MHD_run(http->daemons[i]);
}

int64_t srv_library_timeout_ms(const srv_http *http)
{
	int64_t least = -1;
	for (int i = 0; i < LIBRARY_COUNT; i++) {
		MHD_UNSIGNED_LONG_LONG ms;
		if (http->daemons[i] && MHD_get_timeout(http->daemons[i], &ms) == MHD_YES &&
			(least < 0 || (int64_t)ms < least))
			least = (int64_t)ms;
	}
	return least;
}

void srv_library_stop(srv_http *http)
{
	for (int i = 0; i < LIBRARY_COUNT; i++)
		if (http->daemons[i])
			MHD_stop_daemon(http->daemons[i]);
	memset(http->daemons, 0, sizeof http->daemons);
}

/* ---- one connection */

/* The library reads from a connection that is resumed, and closes it at the end of the peer's bytes, without
 * an answer. A client may end its side after a whole request, so its end is hidden until the handler runs. */
static void hide_end(request *r)
{
	r->hidden = fcntl(r->fd, F_DUPFD_CLOEXEC, 0);
	if (r->hidden >= 0 && dup3(r->http->silence, r->fd, O_CLOEXEC) < 0) {
		close(r->hidden);
		r->hidden = -1;
	}
}

void srv_library_show_end(request *r)
{
	if (r->hidden < 0)
		return;
	dup3(r->hidden, r->fd, O_CLOEXEC);
	close(r->hidden);
	r->hidden = -1;
}

void srv_request_park(request *r)
{
	assert(!r->parked);
	r->parked = true;
	MHD_suspend_connection(r->connection);
}

void srv_request_unpark(request *r)
{
	assert(r->parked);
	r->parked = false;
	if (r->whole && !r->stream)
		hide_end(r);
	MHD_resume_connection(r->connection);
}

void srv_request_cork(request *r, int on)
{
	/* The option fails on Unix sockets, which do not need it. */
	r->corked = setsockopt(r->fd, IPPROTO_TCP, TCP_CORK, &on, sizeof on) == 0 && on;
}

#include "inside.h"

#include <netinet/in.h>
#include <linux/tcp.h>
#include <sys/socket.h>

static bool speaks_plainly(const request *r)
{
	const struct MHD_Daemon *plain = r->http->daemons[LIBRARY_PLAIN];
	return MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_DAEMON)->daemon == plain;
}

/* Sends a problem past the library, as the last bytes of the connection; nothing over TLS. Later output of
 * the library is dropped. */
static void refuse_raw(request *r, problem_id id, const char *hint, const char *detail)
{
	hob_own_buf answer = {0}, body = {0};
	const problem_kind *kind = &srv_problem_kinds[id];
	srv_put_problem(&body, id, &(problem_text){.detail = hob_str_of(detail), .hint = hob_str_of(hint)});
	hob_buf_printf(&answer,
				   "HTTP/1.1 %d %s\r\nContent-Type: application/problem+json\r\nCache-Control: no-store\r\n"
				   "X-Content-Type-Options: nosniff\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n",
				   kind->status, kind->title, body.size);
	hob_buf_put_str(&answer, hob_buf_str(&body));
	if (speaks_plainly(r) && !answer.failed && !body.failed) {
		/* Nothing else is being sent, as the library handles one request at a time; one call sends it all. */
		ssize_t sent = send(r->fd, answer.data, answer.size, MSG_DONTWAIT | MSG_NOSIGNAL);
		(void)sent;
	}
	shutdown(r->fd, SHUT_WR);
	srv_count_reply(r, kind->status, body.size);
}

void srv_refuse_head(request *r)
{
	if (strlen(r->target) > POOL_BYTES / 2)
		refuse_raw(r, PROBLEM_TARGET_TOO_LONG, "send long lists in a body where the resource takes one",
				   "the request target leaves no room for an answer");
	else
		refuse_raw(r, PROBLEM_HEAD_TOO_LARGE, "send fewer or shorter fields",
				   "the request's head leaves no room for an answer");
}

void srv_refuse_length(srv_http *http)
{
	for (request *r = http->newest; r; r = r->older) {
		const char *length =
			r->has_head && !r->begun && !r->closing
				? MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH)
				: NULL;
		uint64_t number;
		if (!length || srv_parse_decimal(hob_str_of(length), &number))
			continue;
		r->closing = true;
		r->route = ROUTE_NONE;
		refuse_raw(r, PROBLEM_BAD_REQUEST, "send one Content-Length, a decimal number of bytes",
				   "the field Content-Length is not a number, or too large a one");
		return;
	}
}

static bool sent_much(const request *r)
{
	struct tcp_info info = {0};
	socklen_t size = sizeof info;
	return getsockopt(r->fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
		   info.tcpi_bytes_received > POOL_BYTES / 2;
}

/* Whether the head that the library could not parse may be this connection's. A too long first line shows in
 * the number of bytes; since 1.0 its target may have been read already. */
static bool may_be_meant(const request *r, unsigned status)
{
	if (r->closing)
		return false;
	bool head_only = r->has_head && !r->begun;
	if (status != 414)
		return head_only;
	bool line_only = !r->has_head && !r->served_before;
	return (line_only || (MHD_VERSION >= 0x01000000 && head_only)) && sent_much(r);
}

void srv_refuse_unread(srv_http *http, unsigned status)
{
	request *found = NULL, *large = NULL;
	unsigned meant = 0, meant_large = 0;
	if (status == 505) /* unsupported version: reported before there is a target, on any connection */
		return;
	for (request *r = http->newest; r; r = r->older) {
		if (!may_be_meant(r, status))
			continue;
		meant++;
		found = r;
		if (status == 431 && sent_much(r)) {
			meant_large++;
			large = r;
		}
	}
	if (meant_large == 1)
		found = large;
	else if (meant != 1)
		return;
	found->closing = true;
	found->route = ROUTE_NONE;
	if (status == 414)
		refuse_raw(found, PROBLEM_TARGET_TOO_LONG, "send long lists in a body where the resource takes one",
				   "the request's target is longer than a head may be");
	else if (status == 431)
		refuse_raw(found, PROBLEM_HEAD_TOO_LARGE, "send fewer or shorter fields",
				   "the request's head is larger than 8 KiB");
	else
		refuse_raw(found, PROBLEM_BAD_REQUEST, "write each line after the first as NAME: VALUE",
				   "the request's head cannot be read");
}

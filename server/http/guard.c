#include "inside.h"

#include <arpa/inet.h>

/* Refuses what the library accepts and a careful server must not: field names with spaces (the library
 * appends folded lines to the name), no Host field or several, two lengths, bodies where none are allowed,
 * and requests that another web site made a browser send. */

static bool is_token(hob_str s)
{
	static const char marks[] = "!#$%&'*+-.^_`|~";
	for (size_t i = 0; i < s.len; i++) {
		char c = s.data[i];
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
		if (!letter && (c == 0 || !strchr(marks, c)))
			return false;
	}
	return s.len > 0;
}

typedef struct field {
	hob_str name;
	size_t offset;
} field;

static const field fields[] = {
	{HOB_STR("host"), offsetof(head, host)},
	{HOB_STR("origin"), offsetof(head, origin)},
	{HOB_STR("sec-fetch-site"), offsetof(head, fetch_site)},
	{HOB_STR("authorization"), offsetof(head, authorization)},
	{HOB_STR("access-control-request-method"), offsetof(head, preflight)},
	{HOB_STR("content-type"), offsetof(head, content_type)},
	{HOB_STR("content-length"), offsetof(head, content_length)},
	{HOB_STR("content-encoding"), offsetof(head, content_encoding)},
	{HOB_STR("content-range"), offsetof(head, content_range)},
	{HOB_STR("x-digest-sizebytes"), offsetof(head, digest_size)},
	{HOB_STR("accept"), offsetof(head, accept)},
	{HOB_STR("accept-encoding"), offsetof(head, accept_encoding)},
	{HOB_STR("if-match"), offsetof(head, if_match)},
	{HOB_STR("user-agent"), offsetof(head, user_agent)},
	{HOB_STR("x-forwarded-proto"), offsetof(head, forwarded_proto)},
	{HOB_STR("range"), offsetof(head, range)},
	{HOB_STR("if-range"), offsetof(head, if_range)},
	{HOB_STR("if-none-match"), offsetof(head, if_none_match)},
	{HOB_STR("prefer"), offsetof(head, prefer)},
	{HOB_STR("last-event-id"), offsetof(head, last_event_id)},
};

static bool holds_controls(hob_str value)
{
	const uint64_t each = 0x0101010101010101u;
	size_t i = 0;
	for (; i + 8 <= value.len; i += 8) {
		uint64_t eight, del;
		memcpy(&eight, value.data + i, sizeof eight);
		del = eight ^ 0x7F * each;
		/* Checks eight bytes at a time: none is below 0x20, none is 0x7F. */
		if ((((eight - 0x20 * each) & ~eight) | ((del - each) & ~del)) & 0x80 * each)
			break;
	}
	for (; i < value.len; i++)
		if (((uint8_t)value.data[i] < 0x20 && value.data[i] != '\t') || value.data[i] == 0x7F)
			return true;
	return false;
}

/* The start of the line after a value, if CR LF separates them: the library overwrites both with zeros. Since
 * 1.0 it strips trailing blanks of a value, and puts its zero there. */
static const char *line_behind(hob_str value)
{
	const char *at = value.data + value.len + 1;
#if MHD_VERSION >= 0x01000000
	while (*at == ' ' || *at == '\t')
		at++;
	if (*at == '\r')
		at++;
#endif
	return at + 1;
}

/* The library ends a line at a bare CR or LF, ends a value at a NUL, and joins folded lines, overwriting
 * these characters with zeros. The only evidence left is the position of the pieces: name, colon, spaces,
 * value, CR, LF, next name. */
static void follow_line(head *h, hob_str name, hob_str value)
{
	const char *at = name.data + name.len + 1;
	bool in_place = name.data == h->next_line && value.data >= at && (size_t)(value.data - at) < POOL_BYTES;
	while (in_place && at < value.data && (*at == ' ' || *at == '\t'))
		at++;
	h->bad_line = h->bad_line || !in_place || at != value.data;
	h->next_line = line_behind(value);
}

static enum MHD_Result take_field(void *user, enum MHD_ValueKind kind, const char *key, size_t key_size,
								  const char *value, size_t value_size)
{
	(void)kind;
	request *r = user;
	hob_str name = {key, key_size};
	follow_line(&r->head, name, (hob_str){value, value_size});
	r->head.field_count++;
	r->head.bad_value = r->head.bad_value || holds_controls((hob_str){value, value_size});
	if (!is_token(name))
		r->head.bad_name = true;
	if (hob_str_equal_nocase(name, HOB_STR("transfer-encoding"))) {
		hob_str coding = {value, value_size};
		r->head.bad_coding = r->head.chunked || !hob_str_equal_nocase(coding, HOB_STR("chunked"));
		r->head.chunked = true;
	}
	for (size_t i = 0; i < HOB_COUNT_OF(fields); i++)
		if (key_size == fields[i].name.len && hob_str_equal_nocase(name, fields[i].name)) {
			*(hob_str *)(void *)((char *)&r->head + fields[i].offset) = (hob_str){value, value_size};
			r->head.host_count += fields[i].offset == offsetof(head, host);
			r->head.length_count += fields[i].offset == offsetof(head, content_length);
		}
	return MHD_YES;
}

/* Splits "name:port", "1.2.3.4:port" or "[::1]:port". False if it is none of them. */
static bool split_host(hob_str host, hob_str *name)
{
	size_t end = 0;
	if (host.len > 0 && host.data[0] == '[') {
		while (end < host.len && host.data[end] != ']')
			end++;
		if (end == host.len)
			return false;
		end++;
	} else {
		while (end < host.len && host.data[end] != ':')
			end++;
	}
	*name = hob_str_sub(host, 0, end);
	hob_str port = hob_str_sub(host, end, host.len);
	for (size_t i = 0; i < name->len; i++) {
		char c = name->data[i];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
					 c == '-' || c == '_' ||
					 (end > 0 && host.data[0] == '[' && (c == '[' || c == ']' || c == ':'));
		if (!plain)
			return false;
	}
	uint64_t number;
	return name->len > 0 && (port.len <= 1 || srv_parse_decimal(hob_str_sub(port, 1, port.len), &number));
}

static bool is_address(hob_str name)
{
	char text[INET6_ADDRSTRLEN];
	uint8_t address[16];
	bool brackets = name.data[0] == '[';
	if (brackets)
		name = hob_str_sub(name, 1, name.len - 1);
	if (name.len >= sizeof text)
		return false;
	memcpy(text, name.data, name.len);
	text[name.len] = 0;
	return inet_pton(brackets ? AF_INET6 : AF_INET, text, address) == 1;
}

static bool host_allowed(const srv_http *http, hob_str name)
{
	if (name.len > 1 && name.data[name.len - 1] == '.')
		name.len--;
	if (hob_str_equal_nocase(name, HOB_STR("localhost")) ||
		hob_str_ends_nocase(name, HOB_STR(".localhost")) || is_address(name))
		return true;
	for (char **allowed = http->allowed_hosts; *allowed; allowed++)
		if (hob_str_equal_nocase(name, hob_str_of(*allowed)))
			return true;
	return false;
}

static bool check_host(request *r)
{
	hob_str name;
	if (r->head.host_count != 1 || !split_host(r->head.host, &name))
		return srv_refuse(r, PROBLEM_BAD_REQUEST, "send exactly one Host field: Host: localhost:7780",
						  "the request has %u Host fields or one that is not HOST[:PORT]",
						  r->head.host_count);
	return host_allowed(r->http, name) ||
		   srv_refuse_text(
			   r, PROBLEM_HOST,
			   &(problem_text){
				   .detail = srv_print(r, "Host '%.*s' is not served here", HOB_FMT(name)),
				   .hint = srv_print(r,
									 "if people reach the daemon under this name: hob serve --allowed-host "
									 "%.*s, or server.allowed_hosts in hob.json",
									 HOB_FMT(name))});
}

bool srv_speaks_tls(const request *r)
{
	const struct MHD_Daemon *tls = r->http->daemons[LIBRARY_TLS];
	return tls && MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_DAEMON)->daemon == tls;
}

/* The scheme that the browser uses: the daemon's own, or the one that a proxy in front states. A page of
 * another site cannot set this header without a preflight. */
static hob_str scheme_of(const request *r)
{
	hob_str rest = r->head.forwarded_proto, first = {0};
	bool tls = srv_speaks_tls(r) ||
			   (hob_str_piece(&rest, ',', &first) && hob_str_equal_nocase(srv_trim(first), HOB_STR("https")));
	return tls ? HOB_STR("https://") : HOB_STR("http://");
}

static bool same_origin(const request *r)
{
	hob_str origin = r->head.origin, scheme = scheme_of(r);
	return hob_str_starts(origin, scheme) &&
		   hob_str_equal_nocase(hob_str_sub(origin, scheme.len, origin.len), r->head.host);
}

bool srv_request_is_foreign(const request *r)
{
	if (srv_origin_is_friend(r))
		return false;
	hob_str site = r->head.fetch_site;
	bool own =
		site.len == 0 || hob_str_equal(site, HOB_STR("same-origin")) || hob_str_equal(site, HOB_STR("none"));
	return !own || (r->head.origin.len > 0 && !same_origin(r));
}

static bool check_framing(request *r, uint64_t *length)
{
	bool bad_length = r->head.length_count > 1 ||
					  (r->head.length_count == 1 && !srv_parse_decimal(r->head.content_length, length));
	if (bad_length || r->head.bad_coding || (r->head.chunked && r->head.length_count > 0)) {
		r->distrusted = true;
		return srv_refuse(r, PROBLEM_BAD_REQUEST, "send one Content-Length, or chunks, not both",
						  "the length of the request's body is ambiguous");
	}
	bool takes_body = strcmp(r->method, "GET") != 0 && strcmp(r->method, "HEAD") != 0;
	if ((*length > 0 || r->head.chunked) && !takes_body) {
		r->distrusted = true;
		return srv_refuse(r, PROBLEM_BAD_REQUEST, "send parameters in the query", "a %s request has no body",
						  r->method);
	}
	/* The end of a chunk can be written in ways that a proxy and the library read differently. */
	if (r->head.chunked) {
		r->distrusted = true;
		return srv_refuse(r, PROBLEM_LENGTH_REQUIRED, "send Content-Length instead of Transfer-Encoding",
						  "the body comes in chunks, without its size");
	}
	return true;
}

bool srv_request_check_body(request *r)
{
	uint64_t length = 0;
	if (!srv_parse_decimal(r->head.content_length, &length))
		length = 0;
	if (length == 0 || r->route == ROUTE_blob_put)
		return true;
	if (length > BODY_MAX)
		return srv_refuse(r, PROBLEM_TOO_LARGE, "send less", "the body has %llu bytes, at most %d are taken",
						  (unsigned long long)length, BODY_MAX);
	hob_str type = hob_str_sub(r->head.content_type, 0, hob_str_find(r->head.content_type, HOB_STR(";"), 0));
	while (type.len > 0 && type.data[type.len - 1] == ' ')
		type.len--;
	bool patch = r->route == ROUTE_asset_settings_patch &&
				 hob_str_equal_nocase(type, HOB_STR("application/merge-patch+json"));
	if (!patch && !hob_str_equal_nocase(type, HOB_STR("application/json")))
		return srv_refuse(r, PROBLEM_MEDIA_TYPE, "send Content-Type: application/json", "the body is '%.*s'",
						  HOB_FMT(type));
	return true;
}

static size_t head_size(const request *r)
{
	return MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE)->header_size;
}

/* RFC 9112: a target in absolute form is answered as its path, and its host replaces the Host field (3.2.2);
 * HTTP/1.0 has no Host field (3.2), and no browser uses it. */
static void find_host(request *r, const char *version)
{
	hob_str target = hob_str_of(r->target);
	size_t at = 0;
	if (hob_str_equal_nocase(hob_str_sub(target, 0, 7), HOB_STR("http://")))
		at = 7;
	else if (hob_str_equal_nocase(hob_str_sub(target, 0, 8), HOB_STR("https://")))
		at = 8;
	if (r->head.host_count == 0 && strcmp(version, "HTTP/1.0") == 0) {
		r->head.host = HOB_STR("localhost");
		r->head.host_count = 1;
	}
	if (at == 0)
		return;
	r->head.path_at = at;
	while (r->head.path_at < target.len && target.data[r->head.path_at] != '/')
		r->head.path_at++;
	r->head.host = hob_str_sub(target, at, r->head.path_at);
}

void srv_request_read_head(request *r, const char *version)
{
	r->head.bad_line = r->method + strlen(r->method) + 1 + strlen(r->target) + 1 != version;
	r->head.next_line = version + strlen(version) + 2;
	MHD_get_connection_values_n(r->connection, MHD_HEADER_KIND, take_field, r);
	r->head.bad_line = r->head.bad_line || r->method + head_size(r) != r->head.next_line + 2;
	find_host(r, version);
}

bool srv_request_head_fits(const request *r)
{
	return head_size(r) + r->head.field_count * FIELD_BYTES + ANSWER_HEAD_BYTES <= POOL_BYTES;
}

bool srv_request_has_body(const request *r)
{
	return r->head.chunked || r->head.length_count > 1 ||
		   (r->head.length_count == 1 && !hob_str_equal(r->head.content_length, HOB_STR("0")));
}

bool srv_request_check_head(request *r)
{
	bool bad_name = r->head.bad_name || !is_token(hob_str_of(r->method));
	if (bad_name || r->head.bad_value || r->head.bad_line) {
		r->distrusted = true;
		return srv_refuse(
			r, PROBLEM_BAD_REQUEST, "send one field per line, without folding, and CR LF at the end of each",
			bad_name ? "a header field's name holds characters that no name may hold"
			: r->head.bad_value
				? "a header field's value holds a control character"
				: "a line of the head does not end with CR LF, or holds a CR, an LF or a NUL by itself");
	}
	if (!check_host(r))
		return false;
	bool safe = strcmp(r->method, "GET") == 0 || strcmp(r->method, "HEAD") == 0;
	if (!safe && srv_request_is_foreign(r)) {
		bool other_scheme = hob_str_ends_nocase(r->head.origin, r->head.host) &&
							hob_str_starts(r->head.origin, HOB_STR("http"));
		return srv_refuse(
			r, PROBLEM_FORBIDDEN,
			other_scheme
				? "a proxy that speaks TLS in front of the daemon must send X-Forwarded-Proto: https; or hob "
				  "serve --cors-origin"
				: "only the daemon's own pages, programs and sites of "
				  "server.cors_origins may change something",
			"this %s request comes from '%.*s', and is sent to %.*s%.*s", r->method, HOB_FMT(r->head.origin),
			HOB_FMT(scheme_of(r)), HOB_FMT(r->head.host));
	}
	uint64_t length = 0;
	return check_framing(r, &length);
}

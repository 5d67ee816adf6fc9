#include "inside.h"

#include <arpa/inet.h>
#include <stdio.h>

/* ---- text */

static int hex(char c)
{
	return c >= '0' && c <= '9'	  ? c - '0'
		   : c >= 'a' && c <= 'f' ? c - 'a' + 10
		   : c >= 'A' && c <= 'F' ? c - 'A' + 10
								  : -1;
}

bool srv_decode_percent(hob_str *text, bool plus_is_space, bool raw)
{
	/* Writing is allowed: the text is part of the request's own copy of the target. */
	char *out = (char *)(uintptr_t)text->data;
	size_t size = 0;
	for (size_t i = 0; i < text->len; i++) {
		char c = text->data[i];
		if (c == '%') {
			int high = i + 2 < text->len ? hex(text->data[i + 1]) : -1;
			int low = i + 2 < text->len ? hex(text->data[i + 2]) : -1;
			if (high < 0 || low < 0)
				return false;
			c = (char)(high * 16 + low);
			i += 2;
		} else if (c == '+' && plus_is_space) {
			c = ' ';
		}
		uint8_t byte = (uint8_t)c;
		if (byte == 0 || (!raw && (byte < 0x20 || byte == 0x7F)))
			return false;
		out[size++] = c;
	}
	text->len = size;
	return raw || hob_utf8_valid(*text);
}

bool srv_parse_decimal(hob_str text, uint64_t *out)
{
	uint64_t value = 0;
	if (text.len == 0 || text.len > 19)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		if (text.data[i] < '0' || text.data[i] > '9')
			return false;
		value = value * 10 + (uint64_t)(text.data[i] - '0');
	}
	*out = value;
	return true;
}

hob_str srv_trim(hob_str s)
{
	while (s.len > 0 && (s.data[0] == ' ' || s.data[0] == '\t'))
		s = hob_str_sub(s, 1, s.len);
	while (s.len > 0 && (s.data[s.len - 1] == ' ' || s.data[s.len - 1] == '\t'))
		s.len--;
	return s;
}

/* ---- parameters */

bool srv_request_param(const request *r, const char *name, hob_str *out)
{
	for (uint32_t i = 0; i < r->param_count; i++)
		if (hob_str_equal(r->params[i].name, hob_str_of(name))) {
			*out = r->params[i].value;
			return true;
		}
	return false;
}

bool srv_request_flag(request *r, const char *name, bool fallback, bool *out)
{
	hob_str value;
	*out = fallback;
	if (!srv_request_param(r, name, &value))
		return true;
	*out = value.len == 0 || hob_str_equal(value, HOB_STR("1")) || hob_str_equal(value, HOB_STR("true"));
	if (*out || hob_str_equal(value, HOB_STR("0")) || hob_str_equal(value, HOB_STR("false")))
		return true;
	return srv_refuse(r, PROBLEM_BAD_REQUEST, "write 1 or 0", "'%s=%.*s' is neither true nor false", name,
					  HOB_FMT(value));
}

bool srv_request_number(request *r, const char *name, uint64_t min, uint64_t max, uint64_t fallback,
						uint64_t *out)
{
	hob_str value;
	*out = fallback;
	if (!srv_request_param(r, name, &value))
		return true;
	if (srv_parse_decimal(value, out) && *out >= min && *out <= max)
		return true;
	return srv_refuse(r, PROBLEM_BAD_REQUEST, "give a whole number in that range",
					  "'%s=%.*s' is not a number from %llu to %llu", name, HOB_FMT(value),
					  (unsigned long long)min, (unsigned long long)max);
}

uint32_t srv_request_wait_ms(const request *r)
{
	hob_str rest = r->head.prefer, piece;
	while (hob_str_piece(&rest, ',', &piece)) {
		piece = srv_trim(piece);
		uint64_t seconds;
		if (piece.len > 5 && hob_str_equal_nocase(hob_str_sub(piece, 0, 5), HOB_STR("wait=")) &&
			srv_parse_decimal(hob_str_sub(piece, 5, piece.len), &seconds))
			return seconds * 1000 < WAIT_MAX_MS && seconds < WAIT_MAX_MS ? (uint32_t)seconds * 1000
																		 : WAIT_MAX_MS;
	}
	return 0;
}

bool srv_request_prefers(const request *r, const char *what)
{
	hob_str rest = r->head.prefer, piece;
	while (hob_str_piece(&rest, ',', &piece))
		if (hob_str_equal_nocase(srv_trim(piece), hob_str_of(what)))
			return true;
	return false;
}

/* ---- target */

static bool parse_query(request *r, hob_str query)
{
	hob_str piece;
	while (hob_str_piece(&query, '&', &piece)) {
		if (piece.len == 0)
			continue;
		hob_str value = piece, name = piece;
		hob_str_piece(&value, '=', &name);
		if (r->param_count == PARAMS_MAX)
			return srv_refuse(r, PROBLEM_BAD_REQUEST, "leave some out", "more than %d parameters",
							  PARAMS_MAX);
		/* File names are bytes; all other parameters are text. */
		bool raw = hob_str_equal(name, HOB_STR("path")) || hob_str_equal(name, HOB_STR("file")) ||
				   hob_str_equal(name, HOB_STR("asset"));
		if (!srv_decode_percent(&value, true, raw))
			return srv_refuse(r, PROBLEM_BAD_REQUEST, "percent-encode UTF-8 text without control characters",
							  "the value of parameter '%.*s' is not properly encoded", HOB_FMT(name));
		r->params[r->param_count++] = (param){name, value};
	}
	return true;
}

/* Whether a space-separated list contains the word. */
static bool holds_word(hob_str list, hob_str word)
{
	hob_str piece;
	while (hob_str_piece(&list, ' ', &piece))
		if (piece.len > 0 && hob_str_equal(piece, word))
			return true;
	return false;
}

static bool check_parameters(request *r, hob_str known)
{
	for (uint32_t i = 0; i < r->param_count; i++) {
		hob_str name = r->params[i].name;
		if (holds_word(known, name))
			continue;
		char hint[256] = "this resource takes no parameters";
		if (known.len > 0)
			snprintf(hint, sizeof hint, "this resource takes: %.*s", HOB_FMT(known));
		return srv_refuse(r, PROBLEM_BAD_REQUEST, hint, "there is no parameter '%.*s'", HOB_FMT(name));
	}
	return true;
}

/* Whether `path` matches the pattern; the parts for {name} go to args, still encoded. */
static bool match(const char *pattern, hob_str path, hob_str args[ARGS_MAX], uint32_t *count)
{
	const char *at = path.data, *end = path.data + path.len;
	*count = 0;
	for (; *pattern; pattern++) {
		if (*pattern != '{') {
			if (at == end || *at++ != *pattern)
				return false;
			continue;
		}
		const char *close = strchr(pattern, '}');
		bool rest = close[-1] == '.';
		const char *stop = rest ? end : memchr(at, '/', (size_t)(end - at));
		if (!stop)
			stop = end;
		if (stop == at)
			return false;
		args[(*count)++] = (hob_str){at, (size_t)(stop - at)};
		at = stop;
		pattern = close;
	}
	return at == end;
}

static const struct {
	const char *method, *pattern, *parameters;
} routes[] = {
#define ROUTE(method, pattern, handler, parameters, doc) {#method, pattern, parameters},
#include "../../schema/routes.def"
#undef ROUTE
};

route_handler srv_route_handler_of(route_id route)
{
#define ROUTE(method, pattern, handler, parameters, doc) srv_route_##handler,
	static const route_handler handlers[] = {
#include "../../schema/routes.def"
	};
#undef ROUTE
	return handlers[route];
}

const char *srv_route_pattern(route_id route)
{
	return route < HOB_COUNT_OF(routes) ? routes[route].pattern : "none";
}

static bool method_fits(const char *method, const char *route_method)
{
	return strcmp(method, route_method) == 0 ||
		   (strcmp(method, "HEAD") == 0 && strcmp(route_method, "GET") == 0);
}

static bool find_route(request *r)
{
	char allow[64] = "";
	for (uint32_t i = 0; i < HOB_COUNT_OF(routes); i++) {
		hob_str args[ARGS_MAX];
		uint32_t count;
		if (!match(routes[i].pattern, r->path, args, &count))
			continue;
		if (method_fits(r->method, routes[i].method)) {
			r->route = (route_id)i;
			r->arg_count = count;
			memcpy(r->args, args, sizeof args);
			return true;
		}
		strcat(allow, allow[0] ? ", " : "");
		strcat(allow, strcmp(routes[i].method, "GET") == 0 ? "GET, HEAD" : routes[i].method);
	}
	if (allow[0])
		return srv_refuse_text(
			r, PROBLEM_METHOD,
			&(problem_text){.detail = srv_print(r, "this resource does not support %s", r->method),
							.hint = HOB_STR("use a method that Allow lists"),
							.allow = allow});
	return srv_refuse(r, PROBLEM_NOT_FOUND, "GET /openapi.json lists every resource", "there is no '%.*s'",
					  HOB_FMT(r->path));
}

enum { TARGET_CODED = 1, TARGET_BAD = 2 };

static const uint8_t target_bytes[256] = {
	[0 ... 0x20] = TARGET_BAD, ['#'] = TARGET_BAD,	['%'] = TARGET_CODED,
	['+'] = TARGET_CODED,	   [0x7F] = TARGET_BAD, [0x80 ... 0xFF] = TARGET_CODED};

bool srv_request_route(request *r)
{
	hob_str target = hob_str_of(r->target + r->head.path_at);
	if (r->head.path_at > 0 && target.len == 0)
		target = HOB_STR("/");
	if (target.len == 0 || target.data[0] != '/')
		return srv_refuse(r, PROBLEM_BAD_REQUEST, "ask for a path: GET /api/v1",
						  "the request target '%.*s' does not begin with '/'", HOB_FMT(target));
	/* A quick check first, as most targets have no escape. */
	uint8_t kinds = 0;
	for (size_t i = 0; i < target.len; i++) {
		uint8_t kind = target_bytes[(uint8_t)target.data[i]];
		kinds |= kind;
		if (kind == TARGET_BAD)
			return srv_refuse(r, PROBLEM_BAD_REQUEST, "percent-encode it",
							  "byte %zu of the request target is not allowed", i);
	}
	hob_str query = target;
	hob_str_piece(&query, '?', &r->path);
	if (!find_route(r))
		return false;
	for (uint32_t i = 0; kinds > 0 && i < r->arg_count; i++)
		if (!srv_decode_percent(&r->args[i], false, r->route == ROUTE_asset_data))
			return srv_refuse(r, PROBLEM_BAD_REQUEST, "percent-encode UTF-8 text without control characters",
							  "part %u of the path is not properly encoded", i + 1);
	const char *known = routes[r->route].parameters;
	return parse_query(r, query) && (!known || check_parameters(r, hob_str_of(known)));
}

hob_bytes srv_request_peer(const request *r)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	const struct sockaddr *from = info ? info->client_addr : NULL;
	const struct sockaddr_in *in = (const void *)from;
	const struct sockaddr_in6 *in6 = (const void *)from;
	if (from && from->sa_family == AF_INET)
		return (hob_bytes){(const uint8_t *)&in->sin_addr, sizeof in->sin_addr};
	if (from && from->sa_family == AF_INET6)
		return (hob_bytes){(const uint8_t *)&in6->sin6_addr, sizeof in6->sin6_addr};
	return (hob_bytes){0};
}

uint64_t srv_request_client(const request *r)
{
	return srv_uses_client(srv_request_peer(r), r->head.user_agent);
}

void srv_request_uses(const request *r, hob_str name)
{
	if (r->asked == 0)
		srv_uses_note(srv_events_uses(r->http->sources.events), srv_request_client(r), name);
}

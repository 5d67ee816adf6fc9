#include "client_parse.h"

#include <string.h>

enum { INTERIM_MAX = 4, TRAILER_MAX = 4096 };

void hobc_http_start(hobc_http *http)
{
	memset(http, 0, offsetof(hobc_http, line));
	http->keep_alive = 1;
}

static int same(const char *a, size_t size, const char *lower)
{
	size_t i;
	for (i = 0; i < size; i++) {
		char c = a[i] >= 'A' && a[i] <= 'Z' ? (char)(a[i] + 32) : a[i];
		if (lower[i] == 0 || c != lower[i])
			return 0;
	}
	return lower[size] == 0;
}

/* Reads leading digits; 0 if there are none or the number does not fit. */
static int take_number(const char **at, const char *end, uint64_t *out)
{
	uint64_t value = 0;
	const char *p = *at;
	for (; p < end && *p >= '0' && *p <= '9'; p++) {
		uint64_t digit = (uint64_t)(*p - '0');
		if (value > (UINT64_MAX - digit) / 10)
			return 0;
		value = value * 10 + digit;
	}
	if (p == *at)
		return 0;
	*at = p;
	*out = value;
	return 1;
}

static int whole_number(const char *at, const char *end, uint64_t *out)
{
	return take_number(&at, end, out) && at == end;
}

static int take_range(hobc_http *http, const char *at, const char *end)
{
	if (end - at < 6 || memcmp(at, "bytes ", 6) != 0)
		return 0;
	at += 6;
	if (!take_number(&at, end, &http->range_first) || at == end || *at++ != '-' ||
		!take_number(&at, end, &http->range_last) || at == end || *at++ != '/' ||
		!whole_number(at, end, &http->range_total))
		return 0;
	http->has_range = 1;
	return http->range_first <= http->range_last && http->range_last < http->range_total;
}

static int take_field(hobc_http *http, const char *line, const char *end)
{
	const char *colon = (const char *)memchr(line, ':', (size_t)(end - line)), *at;
	size_t name, size;
	if (!colon || colon == line || colon[-1] == ' ' || *line == ' ' || *line == '\t')
		return 0;
	name = (size_t)(colon - line);
	for (at = colon + 1; at < end && (*at == ' ' || *at == '\t'); at++) {
	}
	while (end > at && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	size = (size_t)(end - at);
	if (same(line, name, "content-length")) {
		uint64_t length;
		if (!whole_number(at, end, &length) || (http->has_length && http->length != length))
			return 0;
		http->length = length;
		http->has_length = 1;
	} else if (same(line, name, "transfer-encoding")) {
		if (http->chunked || !same(at, size, "chunked"))
			return 0;
		http->chunked = 1;
	} else if (same(line, name, "content-encoding")) {
		return same(at, size, "identity");
	} else if (same(line, name, "connection")) {
		if (same(at, size, "close"))
			http->keep_alive = 0;
	} else if (same(line, name, "content-type")) {
		http->is_events = size >= 17 && same(at, 17, "text/event-stream");
	} else if (same(line, name, "content-range")) {
		return http->status != 206 || take_range(http, at, end);
	} else if (same(line, name, "cook-state")) {
		http->stale = !same(at, size, "fresh");
	} else if (same(line, name, "cook-rev")) {
		return whole_number(at, end, &http->rev);
	} else if (same(line, name, "etag") && size == 66 && at[0] == '"' && at[65] == '"' &&
			   hobc_is_hash(at + 1, 64)) {
		memcpy(http->etag, at + 1, 64);
		http->etag[64] = 0;
	}
	return 1;
}

static int read_head(hobc_http *http)
{
	const char *at = http->head, *end = http->head + http->head_size;
	int first = 1;
	while (at < end) {
		const char *stop = (const char *)memchr(at, '\n', (size_t)(end - at)), *next = stop + 1;
		if (stop > at && stop[-1] == '\r')
			stop--;
		if (stop == at)
			break;
		if (memchr(at, 0, (size_t)(stop - at)) || memchr(at, '\r', (size_t)(stop - at)))
			return 0;
		if (first) {
			uint64_t status;
			if (stop - at < 12 || memcmp(at, "HTTP/1.1 ", 9) != 0 ||
				!whole_number(at + 9, at + 12, &status) || status < 100 || (stop - at > 12 && at[12] != ' '))
				return 0;
			http->status = (int)status;
			first = 0;
		} else if (!take_field(http, at, stop)) {
			return 0;
		}
		at = next;
	}
	return !first && !(http->chunked && http->has_length);
}

static void end_head(hobc_http *http)
{
	int interim = http->status >= 100 && http->status < 200;
	uint32_t count = http->interim + 1;
	if (interim && http->status != 101 && count <= INTERIM_MAX) {
		hobc_http_start(http);
		http->interim = count;
	} else if (interim) {
		http->state = HOBC_HTTP_BAD;
	} else if (http->status == 204 || http->status == 304 || (http->has_length && http->length == 0)) {
		http->state = HOBC_HTTP_DONE;
	} else if (http->chunked) {
		http->state = HOBC_HTTP_CHUNK_SIZE;
	} else if (http->has_length) {
		http->left = http->length;
		http->state = HOBC_HTTP_BODY;
	} else {
		http->state = HOBC_HTTP_BAD;
	}
}

static void feed_head(hobc_http *http, char c)
{
	size_t n = http->head_size;
	if (n == HOBC_HEAD_MAX) {
		http->state = HOBC_HTTP_BAD;
		return;
	}
	http->head[http->head_size++] = c;
	if (c != '\n' || n == 0)
		return;
	if (http->head[n - 1] != '\n' && !(n >= 2 && http->head[n - 1] == '\r' && http->head[n - 2] == '\n'))
		return;
	if (read_head(http))
		end_head(http);
	else
		http->state = HOBC_HTTP_BAD;
}

/* Handles a line of chunked framing that is complete in http->line. */
static void end_line(hobc_http *http)
{
	size_t size = http->line_size, digits = 0;
	uint64_t value = 0;
	http->line_size = 0;
	if (size > 0 && http->line[size - 1] == '\r')
		size--;
	if (http->state == HOBC_HTTP_CHUNK_END) {
		http->state = size == 0 ? HOBC_HTTP_CHUNK_SIZE : HOBC_HTTP_BAD;
		return;
	}
	if (http->state == HOBC_HTTP_TRAILER) {
		http->trailer_bytes += (uint32_t)size;
		if (size == 0)
			http->state = HOBC_HTTP_DONE;
		else if (http->trailer_bytes > TRAILER_MAX)
			http->state = HOBC_HTTP_BAD;
		return;
	}
	for (; digits < size; digits++) {
		char c = http->line[digits];
		int digit = c >= '0' && c <= '9'   ? c - '0'
					: c >= 'a' && c <= 'f' ? c - 'a' + 10
					: c >= 'A' && c <= 'F' ? c - 'A' + 10
										   : -1;
		if (digit < 0)
			break;
		value = value << 4 | (uint64_t)digit;
	}
	if (digits == 0 || digits > 15 ||
		(digits < size && http->line[digits] != ';' && http->line[digits] != ' ')) {
		http->state = HOBC_HTTP_BAD;
		return;
	}
	http->left = value;
	http->state = value > 0 ? HOBC_HTTP_CHUNK : HOBC_HTTP_TRAILER;
}

static void feed_line(hobc_http *http, char c)
{
	if (c == '\n')
		end_line(http);
	else if (http->line_size == HOBC_LINE_MAX)
		http->state = HOBC_HTTP_BAD;
	else
		http->line[http->line_size++] = c;
}

size_t hobc_http_feed(hobc_http *http, const uint8_t *data, size_t size, hobc_body_fn body, void *user)
{
	size_t at = 0;
	while (at < size && http->state != HOBC_HTTP_DONE && http->state != HOBC_HTTP_BAD) {
		if (http->state == HOBC_HTTP_HEAD) {
			feed_head(http, (char)data[at++]);
		} else if (http->state == HOBC_HTTP_BODY || http->state == HOBC_HTTP_CHUNK) {
			size_t take = size - at < http->left ? size - at : (size_t)http->left;
			if (!body(user, data + at, take)) {
				http->state = HOBC_HTTP_BAD;
				break;
			}
			at += take;
			http->left -= take;
			if (http->left == 0)
				http->state = http->state == HOBC_HTTP_BODY ? HOBC_HTTP_DONE : HOBC_HTTP_CHUNK_END;
		} else {
			feed_line(http, (char)data[at++]);
		}
	}
	return at;
}

/* client_parse.h - the parts that read foreign bytes: SHA-256, HTTP/1.1 answers, server-sent events, JSON.
 *
 * Nothing here allocates or calls the system. Each parser takes bytes in any pieces, with the same result as
 * for the whole, and limits everything that it keeps. */
#ifndef HOBC_PARSE_H
#define HOBC_PARSE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- SHA-256 (FIPS 180-4) */
typedef struct hobc_sha256 {
	uint32_t state[8];
	uint64_t bytes;
	uint8_t block[64];
} hobc_sha256;
void hobc_sha256_start(hobc_sha256 *hash);
void hobc_sha256_add(hobc_sha256 *hash, const void *data, size_t size);
void hobc_sha256_end(hobc_sha256 *hash, char text[65]); /* as 64 hexadecimal digits */
void hobc_sha256_text(const void *data, size_t size, char text[65]);
int hobc_is_hash(const char *text, size_t size); /* 64 lower-case hexadecimal digits */

/* ---- an HTTP/1.1 answer */
enum { HOBC_HEAD_MAX = 16384, HOBC_LINE_MAX = 256 };
typedef enum hobc_http_state {
	HOBC_HTTP_HEAD,
	HOBC_HTTP_BODY,
	HOBC_HTTP_CHUNK_SIZE,
	HOBC_HTTP_CHUNK,
	HOBC_HTTP_CHUNK_END,
	HOBC_HTTP_TRAILER,
	HOBC_HTTP_DONE,
	HOBC_HTTP_BAD
} hobc_http_state;
typedef struct hobc_http {
	hobc_http_state state;
	int status, keep_alive, chunked, has_length, is_events, stale, has_range;
	uint64_t length, left; /* of the body, or of the chunk */
	uint64_t range_first, range_last, range_total, rev;
	char etag[65]; /* a hash, or empty */
	uint32_t interim, trailer_bytes;
	size_t head_size, line_size;
	char line[HOBC_LINE_MAX];
	char head[HOBC_HEAD_MAX];
} hobc_http;
/* Receives a piece of the body. Returns 0 to stop: the answer is then BAD. */
typedef int (*hobc_body_fn)(void *user, const uint8_t *data, size_t size);
void hobc_http_start(hobc_http *http);
/* Takes bytes until the answer is DONE or BAD; returns how many it took. A body that ends with the connection
 * is BAD. */
size_t hobc_http_feed(hobc_http *http, const uint8_t *data, size_t size, hobc_body_fn body, void *user);

/* ---- server-sent events */
typedef struct hobc_sse {
	char *line, *data; /* buffers of `room` bytes each, given by the caller */
	size_t room, line_size, data_size;
	int after_cr, has_data, bad;
	uint64_t retry_ms;
	char event[32];
	char id[128]; /* the last id: outlives the connection */
} hobc_sse;
typedef void (*hobc_sse_fn)(void *user, const char *event, const char *data, size_t size);
void hobc_sse_start(hobc_sse *sse); /* for a new connection: keeps id and buffers */
/* Returns 0 if a line or an event does not fit. */
int hobc_sse_feed(hobc_sse *sse, const uint8_t *data, size_t size, hobc_sse_fn fn, void *user);

/* ---- JSON, as spans of the text */
typedef struct hobc_json {
	const char *at;
	size_t size;
} hobc_json;
int hobc_json_member(hobc_json object, const char *key, hobc_json *value);
int hobc_json_item(hobc_json array, size_t *position, hobc_json *item); /* position 0 first; 0 at the end */
int hobc_json_text(hobc_json value, char *out, size_t room);			/* unescaped, NUL-terminated */
/* The text of a member; "" if it is not there or does not fit. */
void hobc_json_text_of(hobc_json object, const char *key, char *out, size_t room);
int hobc_json_number(hobc_json value, uint64_t *out);

/* Matches '?', '*' and '**' as the daemon does. */
int hobc_glob(const char *pattern, const char *text);

#ifdef __cplusplus
}
#endif
#endif

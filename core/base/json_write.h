/* json_write.h - writes JSON into a hob_buf, one member after the other.
 *
 * Commas between members and items are added automatically. Numbers are integers, times are RFC 3339 in UTC,
 * text is valid UTF-8: an invalid byte becomes U+FFFD, so add a percent-encoded member where the exact name
 * matters. The only failure is memory, which the buffer remembers. Digests: hob_json_digest in core/hash. */
#ifndef HOB_JSON_WRITE_H
#define HOB_JSON_WRITE_H

#include "base.h"

void hob_json_open(hob_buf *out, char bracket); /* '{' or '[' as an item or after hob_json_key */
void hob_json_close(hob_buf *out, char bracket);
void hob_json_key(hob_buf *out, const char *name);
void hob_json_str(hob_buf *out, hob_str value);
void hob_json_u64(hob_buf *out, uint64_t value);
void hob_json_bool(hob_buf *out, bool value);
void hob_json_null(hob_buf *out);
void hob_json_raw(hob_buf *out, hob_str json);	   /* "null" if empty */
void hob_json_time(hob_buf *out, int64_t unix_ms); /* null for 0 */

/* Several members in one statement, written in their order; a name of NULL makes an item of an array:
 *
 *     hob_json_put(out, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("name", name), HOB_JSON_TIME("at", ms),
 *                  HOB_JSON_CLOSE('}')); */
#define hob_json_put(out, ...) hob_json_members(out, (const hob_json_member[]){__VA_ARGS__, {.kind = 0}})

/* Writes an object with these members as an item. */
#define hob_json_object(out, ...)                                                                            \
	hob_json_put(out, HOB_JSON_OPEN(NULL, '{'), __VA_ARGS__, HOB_JSON_CLOSE('}'))

typedef struct hob_json_member {
	const char *name;
	char kind; /* of the macros below: s q u m r l t b n k o c x; 0: the end */
	hob_str text;
	uint64_t number;
	void (*put)(hob_buf *out, const void *value);
	const void *value;
} hob_json_member;

/* A text (hob_str or char *) or a number. */
#define HOB_JSON(name, value)                                                                                \
	_Generic((value), hob_str                                                                                \
			 : hob_json_of_str, char *                                                                       \
			 : hob_json_of_text, const char *                                                                \
			 : hob_json_of_text, default                                                                     \
			 : hob_json_of_u64)(name, value)
#define HOB_JSON_RAW(name, ...) hob_json_of(name, 'r', 0, __VA_ARGS__)
#define HOB_JSON_LIST(name, ...)                                                                             \
	hob_json_of(name, 'l', 0, __VA_ARGS__) /* of items with commas between them */
#define HOB_JSON_SOME(name, ...)	 hob_json_of(name, 'q', 0, __VA_ARGS__) /* null if empty */
#define HOB_JSON_MS(name, ns)		 hob_json_of(name, 'm', ns, (hob_str){0})
#define HOB_JSON_TIME(name, ms)		 hob_json_of(name, 't', (uint64_t)(ms), (hob_str){0})
#define HOB_JSON_BOOL(name, is)		 hob_json_of(name, 'b', is, (hob_str){0})
#define HOB_JSON_NULL(name)			 hob_json_of(name, 'n', 0, (hob_str){0})
#define HOB_JSON_KEY(name)			 hob_json_of(name, 'k', 0, (hob_str){0})
#define HOB_JSON_OPEN(name, bracket) hob_json_of(name, 'o', bracket, (hob_str){0})
#define HOB_JSON_CLOSE(bracket)		 hob_json_of(NULL, 'c', bracket, (hob_str){0})

static inline hob_json_member hob_json_of(const char *name, char kind, uint64_t number, hob_str text)
{
	return (hob_json_member){name, kind, text, number, NULL, NULL};
}
static inline hob_json_member hob_json_of_str(const char *name, hob_str value)
{
	return hob_json_of(name, 's', 0, value);
}
static inline hob_json_member hob_json_of_text(const char *name, const char *value)
{
	return hob_json_of(name, 's', 0, hob_str_of(value));
}
static inline hob_json_member hob_json_of_u64(const char *name, uint64_t value)
{
	return hob_json_of(name, 'u', value, (hob_str){0});
}
void hob_json_members(hob_buf *out, const hob_json_member *members);

/* A key and its value: hob_json_key, then the value. */
void hob_json_put_str(hob_buf *out, const char *name, hob_str value);
void hob_json_put_u64(hob_buf *out, const char *name, uint64_t value);

/* Appends "2026-11-20T18:31:29.123Z" without quotes; unix_ms: years 1970 to 9999. */
void hob_buf_put_time(hob_buf *out, int64_t unix_ms);

#endif

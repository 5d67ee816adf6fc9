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

/* A key and its value. */
void hob_json_put_str(hob_buf *out, const char *name, hob_str value);
void hob_json_put_u64(hob_buf *out, const char *name, uint64_t value);

/* Appends "2026-11-20T18:31:29.123Z" without quotes; unix_ms: years 1970 to 9999. */
void hob_buf_put_time(hob_buf *out, int64_t unix_ms);

#endif

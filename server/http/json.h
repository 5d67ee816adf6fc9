/* json.h - writing JSON into a hob_buf, one member after the other.
 *
 * Commas come by themselves: a member or item that follows another one gets a comma first. Numbers are
 * written as integers, times as RFC 3339 in UTC, text as valid UTF-8 (a byte that is none becomes U+FFFD; whoever needs a name
 * exactly adds its percent-encoded form). Cannot fail but by memory, which the buffer remembers. */
#ifndef SRV_HTTP_JSON_H
#define SRV_HTTP_JSON_H

#include "../../core/base/base.h"
#include "../../core/hash/hash.h"

void json_open(hob_buf *out, char bracket); /* '{' or '[' as an item or after json_key */
void json_close(hob_buf *out, char bracket);
void json_key(hob_buf *out, const char *name);
void json_str(hob_buf *out, hob_str value);
void json_u64(hob_buf *out, uint64_t value);
void json_bool(hob_buf *out, bool value);
void json_null(hob_buf *out);
void json_raw(hob_buf *out, hob_str json);				  /* "null" when empty */
void json_time(hob_buf *out, int64_t unix_ms);			  /* null for 0 */
void json_digest(hob_buf *out, const hob_sha256 *digest); /* null for zeros */

/* key and value at once */
void json_put_str(hob_buf *out, const char *name, hob_str value);
void json_put_u64(hob_buf *out, const char *name, uint64_t value);

/* "2026-11-20T18:31:29.123Z"; milliseconds since 1970 in years 1970 to 9999 */
void put_time(hob_buf *out, int64_t unix_ms);

#endif

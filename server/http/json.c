#include "json.h"

#include <inttypes.h>
#include <time.h>

static void comma(hob_buf *out)
{
	if (out->failed || out->size == 0)
		return;
	uint8_t last = out->data[out->size - 1];
	if (last != '{' && last != '[' && last != ':' && last != '\n' && last != ' ')
		hob_buf_put(out, ",", 1);
}

void json_open(hob_buf *out, char bracket)
{
	comma(out);
	hob_buf_put(out, &bracket, 1);
}

void json_close(hob_buf *out, char bracket)
{
	hob_buf_put(out, &bracket, 1);
}

void json_key(hob_buf *out, const char *name)
{
	comma(out);
	hob_buf_printf(out, "\"%s\":", name);
}

void json_str(hob_buf *out, hob_str value)
{
	comma(out);
	hob_buf_put_json(out, value);
}

void json_u64(hob_buf *out, uint64_t value)
{
	comma(out);
	hob_buf_printf(out, "%" PRIu64, value);
}

void json_bool(hob_buf *out, bool value)
{
	comma(out);
	hob_buf_put_str(out, value ? HOB_STR("true") : HOB_STR("false"));
}

void json_null(hob_buf *out)
{
	comma(out);
	hob_buf_put_str(out, HOB_STR("null"));
}

void json_raw(hob_buf *out, hob_str json)
{
	comma(out);
	hob_buf_put_str(out, json.len > 0 ? json : HOB_STR("null"));
}

void put_time(hob_buf *out, int64_t unix_ms)
{
	time_t seconds = (time_t)(unix_ms / 1000);
	struct tm t;
	gmtime_r(&seconds, &t);
	hob_buf_printf(out, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday,
				   t.tm_hour, t.tm_min, t.tm_sec, (int)(unix_ms % 1000));
}

void json_time(hob_buf *out, int64_t unix_ms)
{
	if (unix_ms <= 0) {
		json_null(out);
		return;
	}
	comma(out);
	hob_buf_put(out, "\"", 1);
	put_time(out, unix_ms);
	hob_buf_put(out, "\"", 1);
}

void json_digest(hob_buf *out, const hob_sha256 *digest)
{
	static const hob_sha256 zero;
	if (hob_sha256_equal(digest, &zero)) {
		json_null(out);
		return;
	}
	char text[HOB_SHA256_TEXT + 1];
	hob_sha256_text(digest, text);
	json_str(out, hob_str_of(text));
}

void json_put_str(hob_buf *out, const char *name, hob_str value)
{
	json_key(out, name);
	json_str(out, value);
}

void json_put_u64(hob_buf *out, const char *name, uint64_t value)
{
	json_key(out, name);
	json_u64(out, value);
}

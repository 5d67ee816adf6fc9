#include "hash.h"

#include "../base/json_write.h"

bool hob_sha256_equal(const hob_sha256 *a, const hob_sha256 *b)
{
	return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

void hob_sha256_text(const hob_sha256 *digest, char out[HOB_SHA256_TEXT + 1])
{
	static const char digits[] = "0123456789abcdef";
	for (size_t i = 0; i < sizeof digest->bytes; i++) {
		out[2 * i] = digits[digest->bytes[i] >> 4];
		out[2 * i + 1] = digits[digest->bytes[i] & 15];
	}
	out[HOB_SHA256_TEXT] = 0;
}

void hob_json_digest(hob_buf *out, const hob_sha256 *digest)
{
	static const hob_sha256 zero;
	if (hob_sha256_equal(digest, &zero)) {
		hob_json_null(out);
		return;
	}
	char text[HOB_SHA256_TEXT + 1];
	hob_sha256_text(digest, text);
	hob_json_str(out, hob_str_of(text));
}

void hob_json_call_digest(hob_buf *out, const void *digest)
{
	hob_json_digest(out, digest);
}

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool hob_sha256_parse(hob_str text, hob_sha256 *out)
{
	if (text.len != HOB_SHA256_TEXT)
		return false;
	hob_sha256 digest;
	for (size_t i = 0; i < sizeof digest.bytes; i++) {
		int high = digit(text.data[2 * i]), low = digit(text.data[2 * i + 1]);
		if (high < 0 || low < 0)
			return false;
		digest.bytes[i] = (uint8_t)(high * 16 + low);
	}
	*out = digest;
	return true;
}

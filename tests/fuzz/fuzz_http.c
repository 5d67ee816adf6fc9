/* fuzz_http.c - parts of a request that Hob itself parses: ranges, tags, escapes, patterns, numbers.
 *
 * Links: srv_http
 * Run:   fuzz_http tests/fuzz/corpus/http
 *
 * Input: a u64 blob size, then two texts separated by a NUL. */
#include "core/base/percent.h"
#include "server/http/inside.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_range(hob_str field, uint64_t blob_size)
{
	uint64_t first = 0, last = 0;
	range_result result = srv_range_parse(field, blob_size, &first, &last);
	assert(result != RANGE_PART || (first <= last && last < blob_size));
	assert(result == RANGE_WHOLE || field.len > 6);
}

/* Asserts that escaping and decoding a decoded text changes nothing, and that decoding never lengthens a text
 * or leaves a NUL in it. */
static void check_escapes(hob_str text, bool plus, bool raw)
{
	char *copy = malloc(text.len + 1);
	assert(copy);
	if (text.len > 0)
		memcpy(copy, text.data, text.len);
	hob_str decoded = {copy, text.len};
	if (srv_decode_percent(&decoded, plus, raw)) {
		assert(decoded.len <= text.len && !memchr(decoded.data, 0, decoded.len));
		assert(raw || hob_utf8_valid(decoded));
		hob_buf escaped = {0};
		hob_buf_put_percent(&escaped, decoded);
		hob_str again = hob_buf_str(&escaped);
		assert(srv_decode_percent(&again, plus, raw) && hob_str_equal(again, decoded));
		hob_buf_release(&escaped);
	}
	free(copy);
}

/* Reference for pattern matching: plain recursion in exponential time, so only for short texts. */
static bool matches(hob_str p, hob_str t)
{
	if (p.len == 0)
		return t.len == 0;
	hob_str rest = hob_str_sub(p, 1, p.len), tail = hob_str_sub(t, 1, t.len);
	if (p.data[0] == '*') {
		bool any = p.len > 1 && p.data[1] == '*';
		hob_str behind = any ? hob_str_sub(p, 2, p.len) : rest;
		return matches(behind, t) || (t.len > 0 && (any || t.data[0] != '/') && matches(p, tail));
	}
	return t.len > 0 && (p.data[0] == t.data[0] || (p.data[0] == '?' && t.data[0] != '/')) &&
		   matches(rest, tail);
}

static void check_glob(hob_str pattern, hob_str text)
{
	bool result = hob_glob_match(pattern, text);
	bool folders = hob_str_find(pattern, HOB_STR("**/"), 0) != SIZE_MAX;
	if (pattern.len <= 8 && text.len <= 10 && !folders)
		assert(result == matches(pattern, text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 9 || size > 4096)
		return 0;
	uint64_t blob_size = hob_load_u64(data);
	hob_str rest = {(const char *)data + 8, size - 8};
	size_t cut = hob_str_find(rest, (hob_str){"", 1}, 0);
	hob_str one = hob_str_sub(rest, 0, cut);
	hob_str two = cut == SIZE_MAX ? (hob_str){0} : hob_str_sub(rest, cut + 1, rest.len);
	check_range(one, blob_size);
	check_range(one, blob_size % 64);
	srv_etag_in_list(one, two);
	check_escapes(one, false, false);
	check_escapes(one, true, false);
	check_escapes(one, false, true);
	check_glob(one, two);
	uint64_t number;
	if (srv_parse_decimal(one, &number))
		assert(one.len > 0 && one.len < 20);
	return 0;
}

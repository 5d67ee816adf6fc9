/* fuzz_client.c - bytes that a server sends to the client: answers, events, JSON. The result must not depend
 * on how they are split into reads.
 *
 * Links: hob_client
 * Run:   fuzz_client tests/fuzz/corpus/client */
#include "core/client/client_parse.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct sum {
	hobc_sse sse;
	char line[512], data[512];
	hobc_sha256 hash;
	uint64_t bytes, events;
} sum;

static void on_event(void *user, const char *event, const char *data, size_t size)
{
	sum *s = user;
	hobc_json json = {data, size}, value, item;
	char text[64];
	uint64_t number;
	size_t at = 0;
	assert(strlen(event) < sizeof s->sse.event && size < sizeof s->data && data[size] == 0);
	s->events++;
	hobc_sha256_add(&s->hash, data, size);
	if (hobc_json_member(json, "asset", &value) && hobc_json_text(value, text, sizeof text))
		hobc_glob("a/**/b?*.glb", text);
	if (hobc_json_member(json, "rev", &value))
		hobc_json_number(value, &number);
	if (hobc_json_member(json, "outputs", &value))
		while (hobc_json_item(value, &at, &item))
			assert(item.at >= data && item.at + item.size <= data + size);
}

static int on_body(void *user, const uint8_t *data, size_t size)
{
	sum *s = user;
	s->bytes += size;
	hobc_sha256_add(&s->hash, data, size);
	return hobc_sse_feed(&s->sse, data, size, on_event, s);
}

static void begin(sum *s, hobc_http *http)
{
	memset(s, 0, sizeof *s);
	s->sse.line = s->line;
	s->sse.data = s->data;
	s->sse.room = sizeof s->line;
	hobc_sse_start(&s->sse);
	hobc_sha256_start(&s->hash);
	hobc_http_start(http);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static hobc_http whole, single;
	static sum a, b;
	begin(&a, &whole);
	size_t used = hobc_http_feed(&whole, data, size, on_body, &a), pieces = 0;
	assert(used <= size);
	begin(&b, &single);
	while (pieces < size && single.state != HOBC_HTTP_DONE && single.state != HOBC_HTTP_BAD)
		pieces += hobc_http_feed(&single, data + pieces, 1, on_body, &b);
	assert(whole.state == single.state && whole.status == single.status && a.events == b.events);
	assert(whole.state == HOBC_HTTP_BAD || (a.bytes == b.bytes && used == pieces));
	begin(&a, &whole);
	on_body(&a, data, size);
	return 0;
}

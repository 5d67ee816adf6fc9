#include "inside.h"

#include <stdlib.h>
#include <unistd.h>

/* POST /blobs:batch: many blobs in one answer, in the requested order. For each: 32 bytes of digest, its size
 * as 8 bytes little-endian, and its bytes. A missing blob has the size 0xFFFFFFFFFFFFFFFF and no bytes. One
 * blob is open at a time. If a blob disappears meanwhile, the connection is closed, and the client detects
 * that by the announced length. */

enum { BATCH_MAX = 4096, LOOKUPS_MAX = 1000, VIA_MAX = 8, FRAME_BYTES = 40, BLOCK_BYTES = 64 << 10 };

typedef struct part {
	hob_sha256 digest;
	uint64_t size; /* UINT64_MAX: missing */
} part;

typedef struct batch {
	srv_store *store;
	uint32_t count, at;
	uint64_t done; /* bytes sent of part `at`: frame and content */
	int fd;
	part parts[];
} batch;

static uint64_t bytes_of(const part *p)
{
	return FRAME_BYTES + (p->size == UINT64_MAX ? 0 : p->size);
}

static size_t copy_frame(const part *p, uint64_t from, char *out, size_t room)
{
	uint8_t frame[FRAME_BYTES];
	memcpy(frame, p->digest.bytes, sizeof p->digest.bytes);
	hob_store_u64(frame + sizeof p->digest.bytes, p->size);
	size_t left = FRAME_BYTES - (size_t)from, given = left < room ? left : room;
	memcpy(out, frame + from, given);
	return given;
}

static ssize_t copy_bytes(batch *b, const part *p, char *out, size_t room)
{
	uint64_t from = b->done - FRAME_BYTES, left = p->size - from;
	if (b->fd < 0) {
		uint64_t size = 0;
		b->fd = srv_blob_open(b->store, &p->digest, &size);
		if (b->fd < 0 || size != p->size)
			return -1;
	}
	return pread(b->fd, out, left < room ? (size_t)left : room, (off_t)from);
}

static ssize_t on_read(void *user, uint64_t position, char *out, size_t room)
{
	(void)position;
	batch *b = user;
	size_t given = 0;
	while (given < room && b->at < b->count) {
		const part *p = &b->parts[b->at];
		ssize_t step = b->done < FRAME_BYTES ? (ssize_t)copy_frame(p, b->done, out + given, room - given)
											 : copy_bytes(b, p, out + given, room - given);
		if (step <= 0)
			return MHD_CONTENT_READER_END_WITH_ERROR;
		given += (size_t)step;
		b->done += (uint64_t)step;
		if (b->done < bytes_of(p))
			continue;
		srv_close(b->fd);
		b->fd = -1;
		b->at++;
		b->done = 0;
	}
	return given > 0 ? (ssize_t)given : MHD_CONTENT_READER_END_OF_STREAM;
}

static void on_end(void *user)
{
	hob_own batch *b = user;
	srv_close(b->fd);
}

/* Reads the digests in the member `name` of the body into one buffer; false after sending a problem. */
static bool read_digests(request *r, const cJSON *object, const char *name, int most, hob_buf *out)
{
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(object, name), *item;
	hob_sha256 digest;
	int at = 0;
	if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > most)
		return srv_refuse(r, PROBLEM_BAD_REQUEST,
						  "send a JSON object with a list of 64 hexadecimal digits each",
						  "the body is not a JSON object with at most %d '%s'", most, name);
	cJSON_ArrayForEach(item, list)
	{
		if (!hob_sha256_parse(hob_str_of(cJSON_GetStringValue(item)), &digest))
			return srv_refuse(r, PROBLEM_BAD_REQUEST, "send 64 lower-case hexadecimal digits each",
							  "%s[%d] is not a SHA-256", name, at);
		hob_buf_put(out, digest.bytes, sizeof digest.bytes);
		at++;
	}
	r->result = MHD_NO;
	return !out->failed;
}

static batch *read_hashes(request *r)
{
	hob_own_buf digests = {0};
	batch *b = NULL;
	if (read_digests(r, srv_request_json(r), "hashes", BATCH_MAX, &digests)) {
		size_t count = digests.size / sizeof(hob_sha256);
		b = hob_must(calloc(1, sizeof *b + count * sizeof *b->parts));
		for (size_t i = 0; i < count; i++)
			memcpy(b->parts[b->count++].digest.bytes, digests.data + i * sizeof(hob_sha256),
				   sizeof(hob_sha256));
	}
	return b;
}

/* Reads `via`: the epochs of other caches, which are short hexadecimal words. */
static bool read_via(request *r, const cJSON *object, hob_buf *out)
{
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(object, "via"), *item;
	bool ok = !list || (cJSON_IsArray(list) && cJSON_GetArraySize(list) <= VIA_MAX);
	for (item = ok && list ? list->child : NULL; item; item = item->next) {
		const char *word = cJSON_GetStringValue(item);
		ok = ok && word && strlen(word) == strspn(word, "0123456789abcdef") && strlen(word) <= 32;
		hob_buf_printf(out, "%s%s", out->size > 0 ? "," : "", ok ? word : "");
	}
	return ok || srv_refuse(r, PROBLEM_BAD_REQUEST, "send the epochs of GET /api/v1",
							"'via' is not a list of at most %d epochs", VIA_MAX);
}

enum MHD_Result srv_route_record_batch(request *r)
{
	if (r->ask)
		return srv_reply_answer(r, "application/x-ndjson");
	const cJSON *object = srv_request_json(r);
	hob_own_buf lookups = {0}, via = {0};
	if (read_digests(r, object, "lookups", LOOKUPS_MAX, &lookups) && read_via(r, object, &via))
		r->result = srv_ask(r, SRV_CONTROL_RECORDS, (hob_str){0},
							&(srv_control){.text = hob_buf_str(&lookups), .tag = hob_buf_str(&via)});
	return r->result;
}

enum MHD_Result srv_route_blob_batch(request *r)
{
	uint64_t total = 0;
	batch *b = read_hashes(r);
	if (!b)
		return r->result;
	b->store = r->http->sources.store;
	b->fd = -1;
	for (uint32_t i = 0; i < b->count; i++) {
		int fd = srv_blob_open(b->store, &b->parts[i].digest, &b->parts[i].size);
		if (fd >= 0)
			close(fd);
		else
			b->parts[i].size = UINT64_MAX;
		total += bytes_of(&b->parts[i]);
	}
	struct MHD_Response *response = MHD_create_response_from_callback(total, BLOCK_BYTES, on_read, b, on_end);
	if (!response) {
		on_end(b);
		return MHD_NO;
	}
	srv_response_type(response, "application/octet-stream");
	srv_response_add(response, "Cache-Control", "no-store");
	return srv_reply(r, MHD_HTTP_OK, response, total);
}

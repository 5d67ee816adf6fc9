#include "result.h"

#include "../../core/base/limits.h"
#include "../fs/transfer.h"

#include <errno.h>

enum { RESULT_MAGIC = 0x31524248, TEXT_MAX = 4096 };

/* ---- writing */

static void put_u32(hob_buf *buf, uint32_t v)
{
	uint8_t bytes[4];
	hob_store_u32(bytes, v);
	hob_buf_put(buf, bytes, sizeof bytes);
}

static void put_u64(hob_buf *buf, uint64_t v)
{
	uint8_t bytes[8];
	hob_store_u64(bytes, v);
	hob_buf_put(buf, bytes, sizeof bytes);
}

static void put_text(hob_buf *buf, hob_str s)
{
	put_u32(buf, (uint32_t)s.len);
	hob_buf_put_str(buf, s);
}

static bool put_all(int fd, const uint8_t *data, size_t size, hob_error *err)
{
	return srv_write_all(fd, data, size) ||
		   hob_fail(err, IO, "writing the result failed: %s", strerror(errno));
}

static hob_buf head_of(const srv_result *result)
{
	hob_buf head = {0};
	put_u32(&head, RESULT_MAGIC);
	put_u32(&head, result->ok);
	put_u32(&head, result->uses_name);
	put_u32(&head, result->code);
	put_text(&head, result->message);
	hob_buf_put(&head, &result->stats, sizeof result->stats);
	put_u32(&head, result->dep_count);
	for (uint32_t i = 0; i < result->dep_count; i++) {
		const srv_dep *dep = &result->deps[i];
		put_text(&head, dep->path);
		put_u32(&head, dep->missing);
		put_u64(&head, dep->size);
		put_u64(&head, dep->inode);
		put_u64(&head, (uint64_t)dep->mtime_ns);
		put_u64(&head, (uint64_t)dep->ctime_ns);
		hob_buf_put(&head, dep->digest.bytes, sizeof dep->digest.bytes);
	}
	put_u32(&head, result->note_count);
	for (uint32_t i = 0; i < result->note_count; i++) {
		put_u32(&head, result->notes[i].level);
		put_u32(&head, result->notes[i].count);
		put_text(&head, result->notes[i].code);
		put_text(&head, result->notes[i].text);
	}
	put_u32(&head, result->output_count);
	for (uint32_t i = 0; i < result->output_count; i++) {
		put_text(&head, result->outputs[i].name);
		put_u64(&head, result->outputs[i].bytes.size);
	}
	/* Outputs are aligned to 64 bytes, so that the daemon can read them in place. */
	while (!head.failed && head.size % 64 != 0)
		hob_buf_put(&head, "", 1);
	return head;
}

uint64_t srv_result_size(const srv_result *result)
{
	hob_buf head = head_of(result);
	uint64_t size = head.size;
	for (uint32_t i = 0; i < result->output_count; i++)
		size += (result->outputs[i].bytes.size + 63) / 64 * 64;
	hob_buf_release(&head);
	return size;
}

bool srv_result_write(int fd, const srv_result *result, hob_error *err)
{
	hob_buf head = head_of(result);
	bool ok = head.failed ? hob_fail(err, MEMORY, "no memory left for the result's head")
						  : put_all(fd, head.data, head.size, err);
	hob_buf_release(&head);
	static const uint8_t zeros[64];
	for (uint32_t i = 0; ok && i < result->output_count; i++) {
		hob_bytes bytes = result->outputs[i].bytes;
		ok = put_all(fd, bytes.data, bytes.size, err) && put_all(fd, zeros, (64 - bytes.size % 64) % 64, err);
	}
	return ok;
}

/* ---- reading */

typedef struct cursor {
	const uint8_t *at, *end;
	bool failed;
} cursor;

static const uint8_t *take(cursor *c, size_t size)
{
	if (c->failed || (size_t)(c->end - c->at) < size) {
		c->failed = true;
		return NULL;
	}
	const uint8_t *at = c->at;
	c->at += size;
	return at;
}

static uint32_t take_u32(cursor *c)
{
	const uint8_t *p = take(c, 4);
	return p ? hob_load_u32(p) : 0;
}

static uint64_t take_u64(cursor *c)
{
	const uint8_t *p = take(c, 8);
	return p ? hob_load_u64(p) : 0;
}

static hob_str take_text(cursor *c, uint64_t most)
{
	uint32_t len = take_u32(c);
	const uint8_t *p = len <= most ? take(c, len) : NULL;
	c->failed = c->failed || !p;
	return p ? (hob_str){(const char *)p, len} : (hob_str){0};
}

/* Reads a count; fails if not even the smallest records of this number would fit into the rest. */
static uint32_t take_count(cursor *c, uint64_t most, size_t smallest)
{
	uint32_t count = take_u32(c);
	if (count > most || (size_t)(c->end - c->at) / smallest < count)
		c->failed = true;
	return c->failed ? 0 : count;
}

bool srv_result_read(hob_bytes bytes, hob_arena *arena, srv_result *out, hob_error *err)
{
	cursor c = {bytes.data, bytes.data + bytes.size, false};
	srv_result result = {0};
	if (take_u32(&c) != RESULT_MAGIC)
		return hob_fail(err, REJECTED, "the worker's result has no magic");
	result.ok = take_u32(&c) == 1;
	result.uses_name = take_u32(&c) == 1;
	uint32_t code = take_u32(&c);
	bool known = code < HOB_ERR_COUNT && (result.ok || code != HOB_ERR_OK);
	result.code = known ? (hob_err_code)code : HOB_ERR_INTERNAL;
	result.message = take_text(&c, TEXT_MAX);
	const uint8_t *stats = take(&c, sizeof result.stats);
	if (stats)
		memcpy(&result.stats, stats, sizeof result.stats);

	result.dep_count = take_count(&c, HOB_LIMIT_SOURCE_FILES + 2, 72); /* and the source, and ".." */
	result.deps = HOB_NEW(arena, srv_dep, result.dep_count);
	for (uint32_t i = 0; result.deps && i < result.dep_count; i++) {
		srv_dep *dep = &result.deps[i];
		dep->path = take_text(&c, HOB_LIMIT_PATH_BYTES);
		dep->missing = take_u32(&c) == 1;
		dep->size = take_u64(&c);
		dep->inode = take_u64(&c);
		dep->mtime_ns = (int64_t)take_u64(&c);
		dep->ctime_ns = (int64_t)take_u64(&c);
		const uint8_t *digest = take(&c, sizeof dep->digest.bytes);
		if (digest)
			memcpy(dep->digest.bytes, digest, sizeof dep->digest.bytes);
	}
	result.note_count = take_count(&c, HOB_NOTE_LIMIT, 16);
	result.notes = HOB_NEW(arena, hob_note, result.note_count);
	for (uint32_t i = 0; result.notes && i < result.note_count; i++) {
		hob_note *note = &result.notes[i];
		note->level = take_u32(&c) == HOB_NOTE_WARNING ? HOB_NOTE_WARNING : HOB_NOTE_INFO;
		note->count = take_u32(&c);
		note->code = take_text(&c, TEXT_MAX);
		note->text = take_text(&c, TEXT_MAX);
	}
	result.output_count = take_count(&c, HOB_LIMIT_OUTPUTS, 12);
	result.outputs = HOB_NEW(arena, hob_cook_output, result.output_count);
	if (!result.deps || !result.notes || !result.outputs)
		return hob_fail_memory(err, arena, "a cook's result");
	for (uint32_t i = 0; i < result.output_count; i++) {
		result.outputs[i].name = take_text(&c, TEXT_MAX);
		result.outputs[i].bytes.size = take_u64(&c);
	}
	size_t head = (size_t)(c.at - bytes.data);
	take(&c, (64 - head % 64) % 64);
	for (uint32_t i = 0; i < result.output_count; i++) {
		hob_bytes *output = &result.outputs[i].bytes;
		output->data = take(&c, output->size);
		take(&c, (64 - output->size % 64) % 64);
	}
	if (c.failed || c.at != c.end)
		return hob_fail(err, REJECTED, "the worker's result is malformed");
	*out = result;
	return true;
}

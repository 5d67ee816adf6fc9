#include "result.h"

#include "../../core/base/limits.h"
#include "../fs/transfer.h"

#include <errno.h>

enum { RESULT_MAGIC = 0x31524248, TEXT_MAX = 4096 };

/* ---- the head: a cursor writes the fields of a result, or reads them, in the same order */

typedef struct cursor {
	hob_buf *out; /* NULL: reads */
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

static void bytes_of(cursor *c, void *value, size_t size)
{
	const uint8_t *from = c->out ? NULL : take(c, size);
	if (c->out)
		hob_buf_put(c->out, value, size);
	else if (from)
		memcpy(value, from, size);
}

static uint32_t u32_of(cursor *c, uint32_t value)
{
	uint8_t bytes[4];
	hob_store_u32(bytes, c->out ? value : 0);
	bytes_of(c, bytes, sizeof bytes);
	return hob_load_u32(bytes);
}

static bool bool_of(cursor *c, bool value)
{
	return u32_of(c, value) == 1;
}

static void text_of(cursor *c, hob_str *text, uint64_t most)
{
	uint32_t len = u32_of(c, (uint32_t)text->len);
	if (c->out) {
		hob_buf_put_str(c->out, *text);
		return;
	}
	const uint8_t *from = len <= most ? take(c, len) : NULL;
	c->failed = c->failed || !from;
	*text = from ? (hob_str){(const char *)from, len} : (hob_str){0};
}

/* A count; fails if not even the smallest records of this number would fit into the rest. */
static uint32_t count_of(cursor *c, uint32_t value, uint64_t most, size_t smallest)
{
	uint32_t count = u32_of(c, value);
	if (!c->out && (count > most || (size_t)(c->end - c->at) / smallest < count))
		c->failed = true;
	return c->failed ? 0 : count;
}

static void dep_of(cursor *c, srv_dep *dep)
{
	text_of(c, &dep->path, HOB_LIMIT_PATH_BYTES);
	dep->missing = bool_of(c, dep->missing);
	bytes_of(c, &dep->size, sizeof dep->size);
	bytes_of(c, &dep->inode, sizeof dep->inode);
	bytes_of(c, &dep->mtime_ns, sizeof dep->mtime_ns);
	bytes_of(c, &dep->ctime_ns, sizeof dep->ctime_ns);
	bytes_of(c, dep->digest.bytes, sizeof dep->digest.bytes);
}

static void note_of(cursor *c, hob_note *note)
{
	note->level = u32_of(c, note->level) == HOB_NOTE_WARNING ? HOB_NOTE_WARNING : HOB_NOTE_INFO;
	note->count = u32_of(c, note->count);
	text_of(c, &note->code, TEXT_MAX);
	text_of(c, &note->text, TEXT_MAX);
}

/* False without memory for the lists, which it makes in `arena` when it reads. */
static bool head_of(cursor *c, srv_result *r, hob_arena *arena)
{
	r->ok = bool_of(c, r->ok);
	r->uses_name = bool_of(c, r->uses_name);
	uint32_t code = u32_of(c, r->code);
	bool known = code < HOB_ERR_COUNT && (r->ok || code != HOB_ERR_OK);
	r->code = known ? (hob_err_code)code : HOB_ERR_INTERNAL;
	text_of(c, &r->message, TEXT_MAX);
	bytes_of(c, &r->stats, sizeof r->stats);
	r->dep_count = count_of(c, r->dep_count, HOB_LIMIT_SOURCE_FILES + 2, 72); /* and the source, and ".." */
	r->deps = arena ? HOB_NEW(arena, srv_dep, r->dep_count) : r->deps;
	for (uint32_t i = 0; r->deps && i < r->dep_count; i++)
		dep_of(c, &r->deps[i]);
	r->note_count = count_of(c, r->note_count, HOB_NOTE_LIMIT, 16);
	r->notes = arena ? HOB_NEW(arena, hob_note, r->note_count) : r->notes;
	for (uint32_t i = 0; r->notes && i < r->note_count; i++)
		note_of(c, &r->notes[i]);
	r->output_count = count_of(c, r->output_count, HOB_LIMIT_OUTPUTS, 12);
	r->outputs = arena ? HOB_NEW(arena, hob_cook_output, r->output_count) : r->outputs;
	for (uint32_t i = 0; r->outputs && i < r->output_count; i++) {
		uint64_t size = r->outputs[i].bytes.size;
		text_of(c, &r->outputs[i].name, TEXT_MAX);
		bytes_of(c, &size, sizeof size);
		r->outputs[i].bytes.size = size;
	}
	return !arena || (r->deps && r->notes && r->outputs);
}

/* ---- writing */

static bool put_all(int fd, hob_buf *out, const uint8_t *data, size_t size, hob_error *err)
{
	if (fd < 0)
		hob_buf_put(out, data, size);
	return fd < 0 || srv_write_all(fd, data, size) ||
		   hob_fail(err, IO, "writing the result failed: %s", strerror(errno));
}

static hob_buf written_head(const srv_result *result)
{
	hob_buf head = {0};
	cursor c = {.out = &head};
	srv_result same = *result;
	(void)u32_of(&c, RESULT_MAGIC);
	(void)head_of(&c, &same, NULL);
	/* Outputs are aligned to 64 bytes, so that the daemon can read them in place. */
	while (!head.failed && head.size % 64 != 0)
		hob_buf_put(&head, "", 1);
	return head;
}

uint64_t srv_result_size(const srv_result *result)
{
	hob_own_buf head = written_head(result);
	uint64_t size = head.size;
	for (uint32_t i = 0; i < result->output_count; i++)
		size += (result->outputs[i].bytes.size + 63) / 64 * 64;
	return size;
}

bool srv_result_write(int fd, hob_buf *out, const srv_result *result, hob_error *err)
{
	hob_own_buf head = written_head(result);
	bool ok = head.failed ? hob_fail(err, MEMORY, "no memory left for the result's head")
						  : put_all(fd, out, head.data, head.size, err);
	static const uint8_t zeros[64];
	for (uint32_t i = 0; ok && i < result->output_count; i++) {
		hob_bytes bytes = result->outputs[i].bytes;
		ok = put_all(fd, out, bytes.data, bytes.size, err) &&
			 put_all(fd, out, zeros, (64 - bytes.size % 64) % 64, err);
	}
	return ok;
}

/* ---- reading */

bool srv_result_read(hob_bytes bytes, hob_arena *arena, srv_result *out, hob_error *err)
{
	cursor c = {.at = bytes.data, .end = bytes.data + bytes.size};
	srv_result result = {0};
	if (u32_of(&c, 0) != RESULT_MAGIC)
		return hob_fail(err, REJECTED, "the worker's result has no magic");
	if (!head_of(&c, &result, arena))
		return hob_fail_memory(err, arena, "a cook's result");
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

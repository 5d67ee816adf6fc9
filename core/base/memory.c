#include "arena_drop.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- arenas */

typedef struct hob_arena_block {
	struct hob_arena_block *older;
	size_t used, capacity;
	size_t touched; /* bytes of the block ever handed out; the rest is still zero */
} block_t;

enum { BLOCK_MIN = 16384, BLOCK_ALIGN = 64 };

static uint8_t *memory_of(block_t *block)
{
	return (uint8_t *)(((uintptr_t)(block + 1) + BLOCK_ALIGN - 1) & ~(uintptr_t)(BLOCK_ALIGN - 1));
}

void hob_arena_init(hob_arena *arena, size_t limit)
{
	*arena = (hob_arena){.limit = limit};
}

static void free_blocks_until(hob_arena *arena, block_t *keep)
{
	while (arena->block != keep) {
		block_t *older = arena->block->older;
		free(arena->block);
		arena->block = older;
	}
}

void hob_arena_release(hob_arena *arena)
{
	if (!arena)
		return;
	free_blocks_until(arena, NULL);
	arena->used = 0;
}

static bool add_block(hob_arena *arena, size_t size)
{
	size_t capacity = arena->block ? arena->block->capacity * 2 : BLOCK_MIN;
	if (capacity > HOB_ARENA_BLOCK)
		capacity = HOB_ARENA_BLOCK;
	if (capacity < size)
		capacity = size;
	size_t total;
	if (!hob_add(capacity, sizeof(block_t) + BLOCK_ALIGN - 1, &total))
		return false;
	block_t *block = calloc(1, total);
	if (!block)
		return false;
	*block = (block_t){arena->block, 0, capacity, 0};
	arena->block = block;
	return true;
}

void *hob_arena_alloc(hob_arena *arena, size_t size, size_t align)
{
	assert(align > 0 && align <= BLOCK_ALIGN && (align & (align - 1)) == 0);
	if (arena->fail_at > 0 && --arena->fail_at == 0)
		return NULL;
	if (size == 0)
		size = 1;
	if (size > arena->limit || arena->used > arena->limit - size)
		return NULL;
	block_t *block = arena->block;
	size_t at = block ? (block->used + align - 1) & ~(align - 1) : 0;
	if (!block || at > block->capacity || size > block->capacity - at) {
		if (!add_block(arena, size))
			return NULL;
		block = arena->block;
		at = 0;
	}
	block->used = at + size;
	arena->used += size;
	uint8_t *memory = memory_of(block) + at;
	if (at < block->touched)
		memset(memory, 0, at + size < block->touched ? size : block->touched - at);
	if (block->touched < at + size)
		block->touched = at + size;
	return memory;
}

void *hob_arena_array(hob_arena *arena, size_t count, size_t size, size_t align)
{
	size_t total;
	if (!hob_mul(count, size, &total))
		return NULL;
	return hob_arena_alloc(arena, total, align);
}

hob_arena_mark hob_arena_save(hob_arena *arena)
{
	return (hob_arena_mark){arena->block, arena->block ? arena->block->used : 0, arena->used};
}

void hob_arena_restore(hob_arena *arena, hob_arena_mark mark)
{
	free_blocks_until(arena, mark.block);
	if (arena->block)
		arena->block->used = mark.block_used;
	arena->used = mark.used;
}

size_t hob_arena_drop(hob_arena *arena, const void *memory)
{
	for (block_t **at = &arena->block; *at; at = &(*at)->older) {
		block_t *block = *at;
		/* A block above the usual size holds exactly one allocation. */
		if (block->capacity <= HOB_ARENA_BLOCK || memory_of(block) != memory)
			continue;
		size_t size = block->capacity;
		*at = block->older;
		arena->used -= size;
		free(block);
		return size;
	}
	return 0;
}

hob_str hob_arena_str(hob_arena *arena, hob_str s)
{
	char *copy = s.len < SIZE_MAX ? hob_arena_alloc(arena, s.len + 1, 1) : NULL;
	if (!copy)
		return (hob_str){0};
	if (s.len > 0)
		memcpy(copy, s.data, s.len);
	copy[s.len] = 0;
	return (hob_str){copy, s.len};
}

hob_str hob_arena_printf(hob_arena *arena, const char *fmt, ...)
{
	va_list args, again;
	va_start(args, fmt);
	va_copy(again, args);
	int length = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	char *text = length >= 0 ? hob_arena_alloc(arena, (size_t)length + 1, 1) : NULL;
	if (text)
		vsnprintf(text, (size_t)length + 1, fmt, again);
	va_end(again);
	return text ? (hob_str){text, (size_t)length} : (hob_str){0};
}

bool hob_error_memory(hob_error *err, const hob_arena *arena, const char *what)
{
	return hob_fail(err, MEMORY, "no memory left for %s (%zu MiB used of a limit of %zu MiB)", what,
					arena->used >> 20, arena->limit >> 20);
}

bool hob_arena_make(hob_arena *arena, void *out, size_t count, size_t size, const char *what, hob_error *err)
{
	size_t align = size & -size; /* a type's alignment divides its size */
	void *items = hob_arena_array(arena, count, size, align < 16 ? align : 16);
	memcpy(out, &items, sizeof items);
	return items || hob_fail_memory(err, arena, what);
}

/* ---- buffers */

void hob_buf_release(hob_buf *buf)
{
	if (!buf)
		return;
	free(buf->data);
	*buf = (hob_buf){0};
}

void hob_buf_clear(hob_buf *buf)
{
	buf->size = 0;
	buf->failed = false;
}

uint8_t *hob_buf_grow(hob_buf *buf, size_t size)
{
	size_t need;
	if (buf->failed || !hob_add(buf->size, size, &need)) {
		buf->failed = true;
		return NULL;
	}
	if (need > buf->capacity || !buf->data) {
		/* An empty buffer grows to the exact size: a file is written to a buffer in one call. */
		size_t capacity = buf->capacity > 0 ? buf->capacity : need > 128 ? need : 128;
		while (capacity < need)
			if (!hob_mul(capacity, 2, &capacity))
				capacity = need;
		uint8_t *data = realloc(buf->data, capacity);
		if (!data) {
			buf->failed = true;
			return NULL;
		}
		buf->data = data;
		buf->capacity = capacity;
	}
	uint8_t *at = buf->data + buf->size;
	buf->size = need;
	return at;
}

void hob_buf_put(hob_buf *buf, const void *data, size_t size)
{
	uint8_t *at = hob_buf_grow(buf, size);
	if (at && size > 0)
		memcpy(at, data, size);
}

void hob_buf_put_str(hob_buf *buf, hob_str s)
{
	hob_buf_put(buf, s.data, s.len);
}

void hob_buf_printf(hob_buf *buf, const char *fmt, ...)
{
	va_list args, again;
	va_start(args, fmt);
	va_copy(again, args);
	int length = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	uint8_t *at = length >= 0 ? hob_buf_grow(buf, (size_t)length + 1) : NULL;
	if (at) {
		vsnprintf((char *)at, (size_t)length + 1, fmt, again);
		buf->size--;
	}
	va_end(again);
}

static bool is_plain(char c)
{
	return c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
}

void hob_buf_put_json(hob_buf *buf, hob_str s)
{
	hob_buf_put(buf, "\"", 1);
	for (size_t i = 0; i < s.len;) {
		size_t plain = i;
		while (plain < s.len && is_plain(s.data[plain]))
			plain++;
		hob_buf_put(buf, s.data + i, plain - i);
		i = plain;
		if (i == s.len)
			break;
		uint8_t c = (uint8_t)s.data[i];
		size_t run = 1;
		while (i + run < s.len && run < 4 && ((uint8_t)s.data[i + run] & 0xC0) == 0x80)
			run++;
		if (c == '"' || c == '\\') {
			char escaped[2] = {'\\', (char)c};
			hob_buf_put(buf, escaped, 2);
			i++;
		} else if (c < 0x20 || c == 0x7F) {
			hob_buf_printf(buf, "\\u%04x", c);
			i++;
		} else if (hob_utf8_valid((hob_str){s.data + i, run})) {
			hob_buf_put(buf, s.data + i, run);
			i += run;
		} else {
			hob_buf_put(buf, "\xEF\xBF\xBD", 3);
			i++;
		}
	}
	hob_buf_put(buf, "\"", 1);
}

hob_bytes hob_buf_bytes(const hob_buf *buf)
{
	return (hob_bytes){buf->data, buf->size};
}

hob_str hob_buf_str(const hob_buf *buf)
{
	return (hob_str){(const char *)buf->data, buf->size};
}

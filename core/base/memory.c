#include "arena_drop.h"
#include "guard.h"

#include <assert.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- guards */

/* Links of the list of what a guard frees when its body is left; {NULL, NULL}: not in a list. */
typedef struct owned {
	struct owned *before, *after;
} owned_t;

struct hob_guard {
	struct hob_guard *above;
	uint64_t id;
	owned_t owned; /* head */
	const hob_place *places;
	hob_error why;
	jmp_buf out;
};

static _Thread_local struct hob_guard *current;

static void own(struct hob_guard *guard, owned_t *link)
{
	owned_t *head = &guard->owned;
	*link = (owned_t){head, head->after};
	head->after->before = link;
	head->after = link;
}

static void disown(owned_t *link)
{
	if (!link->before)
		return;
	link->before->after = link->after;
	link->after->before = link->before;
	*link = (owned_t){0};
}

static void free_owned(struct hob_guard *guard)
{
	while (guard->owned.after != &guard->owned) {
		owned_t *link = guard->owned.after;
		disown(link);
		free(link);
	}
}

/* After a body that ended by itself, what it left belongs to the guard above, if any. */
static void hand_up(struct hob_guard *guard)
{
	for (owned_t *link = guard->owned.after, *next; link != &guard->owned; link = next) {
		next = link->after;
		*link = (owned_t){0};
		if (current)
			own(current, link);
	}
}

static bool guarded(hob_body body, void *context, void (*end)(struct hob_guard *), hob_error *err)
{
	static atomic_uint_fast64_t ids;
	struct hob_guard guard = {.above = current, .id = ++ids};
	guard.owned = (owned_t){&guard.owned, &guard.owned};
	current = &guard;
	if (setjmp(guard.out) == 0) {
		bool done = body(context, err);
		assert(current == &guard);
		current = guard.above;
		end(&guard);
		return done;
	}
	assert(current == &guard && guard.why.code != HOB_ERR_OK);
	current = guard.above;
	free_owned(&guard);
	if (err)
		*err = guard.why;
	return false;
}

bool hob_guarded(hob_body body, void *context, hob_error *err)
{
	return guarded(body, context, hand_up, err);
}

bool hob_guarded_whole(hob_body body, void *context, hob_error *err)
{
	return guarded(body, context, free_owned, err);
}

_Noreturn static void leave_body(const hob_error *why)
{
	current->why = *why;
	longjmp(current->out, 1);
}

void hob_guard_raise(const hob_error *why)
{
	if (current)
		leave_body(why);
}

static void append_form(hob_error *why, const hob_place *place)
{
	char text[sizeof why->context];
	size_t size = 0;
	for (const char *at = place->form; *at && size < sizeof text; at++) {
		char *to = text + size;
		size_t room = sizeof text - size;
		int more = *at == '#'	? snprintf(to, room, "%u", place->line)
				   : *at == '@' ? snprintf(to, room, "%.*s", HOB_FMT(place->name))
								: snprintf(to, room, "%c", *at);
		size += (size_t)more;
	}
	hob_error_append(why, "%s", text);
}

void hob_leave_with(const hob_error *why)
{
	hob_error whole = *why;
	assert(current);
	for (const hob_place *p = current->places; p && why->code != HOB_ERR_MEMORY; p = p->around) {
		char line[32] = "";
		if (p->form) {
			append_form(&whole, p);
			continue;
		}
		if (p->line > 0)
			snprintf(line, sizeof line, "line %u, ", p->line);
		hob_error_append(&whole, "%s%s%s%.*s%s", line, p->kind ? p->kind : "", p->kind ? " '" : "<",
						 HOB_FMT(p->name), p->kind ? "'" : ">");
	}
	leave_body(&whole);
}

void hob_guard_leave(hob_err_code code, const char *file, int line, const char *fmt, ...)
{
	hob_error why = {.code = code, .file = file, .line = line};
	va_list args;
	va_start(args, fmt);
	vsnprintf(why.context, sizeof why.context, fmt, args);
	va_end(args);
	hob_leave_with(&why);
}

void hob_place_enter(hob_place *place)
{
	assert(current);
	place->around = current->places;
	current->places = place;
}

void hob_place_exit(const hob_place *place)
{
	assert(current && current->places == place);
	current->places = place->around;
}

bool hob_guard_active(void)
{
	return current != NULL;
}

struct hob_guard *hob_guard_suspend(void)
{
	struct hob_guard *guard = current;
	current = NULL;
	return guard;
}

void hob_guard_resume(struct hob_guard *guard)
{
	assert(!current);
	current = guard;
}

/* ---- arenas */

typedef struct hob_arena_block {
	owned_t link; /* first, as leaving a body frees links */
	struct hob_arena_block *older;
	size_t used, capacity;
	size_t touched; /* bytes of the block ever handed out; the rest is still zero */
} block_t;

enum { BLOCK_MIN = 4096, BLOCK_ALIGN = 64 };

static uint8_t *memory_of(block_t *block)
{
	return (uint8_t *)(((uintptr_t)(block + 1) + BLOCK_ALIGN - 1) & ~(uintptr_t)(BLOCK_ALIGN - 1));
}

void hob_arena_init(hob_arena *arena, size_t limit)
{
	*arena = (hob_arena){.limit = limit, .guard = current ? current->id : 0};
}

static void free_blocks_until(hob_arena *arena, block_t *keep)
{
	while (arena->block != keep) {
		block_t *older = arena->block->older;
		disown(&arena->block->link);
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

/* The guard that the arena was initialised in, or, if that one ended, the one above it; NULL: none. */
static struct hob_guard *guard_of(const hob_arena *arena)
{
	struct hob_guard *guard = current;
	while (guard && arena->guard < guard->id)
		guard = guard->above;
	return guard;
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
	*block = (block_t){.older = arena->block, .capacity = capacity};
	struct hob_guard *guard = guard_of(arena);
	if (guard)
		own(guard, &block->link);
	arena->block = block;
	return true;
}

static void *find_room(hob_arena *arena, size_t size, size_t align)
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

void *hob_arena_alloc(hob_arena *arena, size_t size, size_t align)
{
	void *memory = find_room(arena, size, align);
	if (!memory && current) {
		hob_error why;
		hob_error_memory(&why, arena, "the model");
		leave_body(&why);
	}
	return memory;
}

void *hob_arena_array(hob_arena *arena, size_t count, size_t size, size_t align)
{
	size_t total;
	if (!hob_mul(count, size, &total))
		total = SIZE_MAX;
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
		disown(&block->link);
		free(block);
		return size;
	}
	return 0;
}

hob_str hob_arena_str(hob_arena *arena, hob_str s)
{
	char *copy = hob_arena_alloc(arena, s.len < SIZE_MAX ? s.len + 1 : SIZE_MAX, 1);
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

/* Before the bytes of a buffer. */
typedef union header {
	owned_t link;
	_Alignas(16) uint8_t space[16];
} header_t;

/* Never inlined: a test counts calls of realloc, which compilers replace by malloc where they see NULL. */
__attribute__((noinline)) static header_t *header_of(void *data)
{
	return data ? (header_t *)data - 1 : NULL;
}

void hob_own_end(void *pointer)
{
	free(*(void **)pointer);
}

void hob_buf_free(void *data)
{
	header_t *header = header_of(data);
	if (header)
		disown(&header->link);
	free(header);
}

void hob_buf_release(hob_buf *buf)
{
	if (!buf)
		return;
	hob_buf_free(buf->data);
	*buf = (hob_buf){0};
}

void hob_buf_clear(hob_buf *buf)
{
	buf->size = 0;
	buf->failed = false;
}

static bool resize(hob_buf *buf, size_t capacity)
{
	size_t total;
	if (!hob_add(capacity, sizeof(header_t), &total))
		return false;
	header_t *old = header_of(buf->data);
	header_t *header = realloc(old, total);
	if (!header)
		return false;
	if (!old)
		header->link = (owned_t){0};
	owned_t *link = &header->link;
	if (link->before)
		link->before->after = link->after->before = link;
	else if (!old && current)
		own(current, link);
	buf->data = (uint8_t *)(header + 1);
	buf->capacity = capacity;
	return true;
}

static bool fail_buf(hob_buf *buf)
{
	hob_error why;
	hob_fail(&why, MEMORY, "no memory left for a buffer of more than %zu MiB", buf->size >> 20);
	hob_guard_raise(&why);
	buf->failed = true;
	return false;
}

static bool make_room(hob_buf *buf, size_t size)
{
	size_t need;
	if (buf->failed || !hob_add(buf->size, size, &need))
		return fail_buf(buf);
	if (need <= buf->capacity && buf->data)
		return true;
	/* An empty buffer grows to the exact size: a file is written to a buffer in one call. */
	size_t capacity = buf->capacity > 0 ? buf->capacity : need > 128 ? need : 128;
	while (capacity < need)
		if (!hob_mul(capacity, 2, &capacity))
			capacity = need;
	return resize(buf, capacity) || fail_buf(buf);
}

uint8_t *hob_buf_grow(hob_buf *buf, size_t size)
{
	if (!make_room(buf, size))
		return NULL;
	buf->size += size;
	return buf->data + buf->size - size;
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

/* base.h - slices, errors, notes, arenas, buffers, the io table and the parallel-for table.
 *
 * Everything in core is built on this header; it includes nothing of Hob but schema/errors.def. Core never
 * opens files, never starts threads, never logs: it uses hob_io and hob_parallel, which the caller
 * provides. */
#ifndef HOB_BASE_H
#define HOB_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdarg.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HOB_NONE			  0xFFFFFFFFu
#define HOB_COUNT_OF(array)	  (sizeof(array) / sizeof((array)[0]))
#define HOB_MUST_CHECK		  __attribute__((warn_unused_result))
#define HOB_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* ---- slices: borrowed views; {0} is empty; not NUL-terminated unless a function says so ---- */

typedef struct hob_str {
	const char *data;
	size_t len;
} hob_str;

typedef struct hob_bytes {
	const uint8_t *data;
	size_t size;
} hob_bytes;

#define HOB_STR(literal) ((hob_str){"" literal, sizeof(literal) - 1})
/* For "%.*s". */
#define HOB_FMT(s) (int)(s).len, ((s).data ? (s).data : "")
/* For "%u node%s": the plural ending. */
#define HOB_PLURAL(count) ((count) == 1 ? "" : "s")

hob_str hob_str_of(const char *text); /* NULL gives the empty string */
bool hob_str_equal(hob_str a, hob_str b);
bool hob_str_equal_nocase(hob_str a, hob_str b); /* ASCII letters only */
bool hob_str_starts(hob_str s, hob_str prefix);
bool hob_str_ends_nocase(hob_str s, hob_str suffix);
hob_str hob_str_sub(hob_str s, size_t from, size_t to); /* [from,to), clamped */
/* First occurrence at or after `from`; SIZE_MAX if there is none. */
size_t hob_str_find(hob_str s, hob_str what, size_t from);
/* Matches the whole text. "*" and "?" do not match "/"; "**" does, and "**" + "/" also matches no folder. A
 * pattern longer than HOB_GLOB_BYTES_MAX matches nothing. */
enum { HOB_GLOB_BYTES_MAX = 512 };
bool hob_glob_match(hob_str pattern, hob_str text);
/* Whether one of the patterns matches; the list ends with NULL, and may be NULL. */
bool hob_glob_match_any(const char *const *patterns, hob_str text);
/* True if `s` is valid UTF-8 (no surrogates, no overlong forms, at most U+10FFFF). */
bool hob_utf8_valid(hob_str s);
/* Line and character of the position `at` in `text`, each from 1, for messages. */
void hob_text_place(hob_str text, const char *at, size_t *line, size_t *column);
/* Single-byte edits between two short words, for "did you mean"; SIZE_MAX if one is longer than 127 bytes. */
size_t hob_str_distance(hob_str a, hob_str b);
/* Finds the key closest to `asked`, which a person wrote: a dotted key such as "cook.jobs", of which the last
 * part is enough, or a group of keys ("cook"). *distance: the number of edits; SIZE_MAX as for
 * hob_str_distance. */
enum { HOB_NEAR_EDITS = 2 }; /* no suggestion beyond this distance */
hob_str hob_key_near(hob_str asked, hob_str key, size_t *distance);

/* ---- errors ---- */

typedef enum hob_err_code {
#define HOB_ERR(name, text, http, meaning) HOB_ERR_##name,
#include "../../schema/errors.def"
#undef HOB_ERR
	HOB_ERR_COUNT
} hob_err_code;

typedef struct hob_error {
	hob_err_code code;
	const char *file; /* place in Hob's source that found the failure, "" if none */
	int line;
	/* from inside to outside: "index 70000 >= vertex_count 65536; mesh 'hull'; ship.glb" */
	char context[360];
} hob_error;

const char *hob_err_name(hob_err_code code); /* "import.corrupt" */
int hob_err_http(hob_err_code code);		 /* 422 */

/* Always false, and inline, so that compilers and analysers know what hob_fail returns. */
static inline bool hob_always_false(bool ignored)
{
	(void)ignored;
	return false;
}

/* Sets *err (which may be NULL) and returns false, so that a failing function reads `return hob_fail(err,
 * CORRUPT, "index %u >= %u", index, count);`. Text that is too long is cut. */
#define hob_fail(err, code, ...)                                                                             \
	hob_always_false(hob_error_set((err), HOB_ERR_##code, __FILE__, __LINE__, __VA_ARGS__))
/* Appends "; context" to an error that is already set, unless a file is missing, because its name is enough.
 * Returns false. */
#define hob_fail_in(err, ...) hob_always_false(hob_error_append((err), __VA_ARGS__))

bool hob_error_set(hob_error *err, hob_err_code code, const char *file, int line, const char *fmt, ...)
	HOB_PRINTF(5, 6);
bool hob_error_append(hob_error *err, const char *fmt, ...) HOB_PRINTF(2, 3);

/* ---- arenas: memory with one lifetime ---- */

/* A bump allocator over a chain of blocks. All memory is zeroed. `limit` is a hard limit on the sum of all
 * allocations. Where it is reached, or malloc fails, hob_arena_alloc leaves the function of hob_guarded that
 * runs in this thread; outside of one it returns NULL, which every caller turns into HOB_ERR_MEMORY. Not
 * thread-safe: one arena per thread. */
typedef struct hob_arena {
	struct hob_arena_block *block; /* newest */
	size_t used;				   /* bytes allocated */
	size_t limit;
	uint64_t guard;	  /* the one that it was initialised in; 0: none */
	uint64_t fail_at; /* tests: the n-th allocation from now fails (1 = next); 0: never */
} hob_arena;

typedef struct hob_arena_mark {
	struct hob_arena_block *block;
	size_t block_used, used;
} hob_arena_mark;

void hob_arena_init(hob_arena *arena, size_t limit);
void hob_arena_release(hob_arena *arena); /* {0} and released arenas are allowed */
/* `align` is a power of two, at most 64. size 0 gives a unique non-NULL pointer. */
void *hob_arena_alloc(hob_arena *arena, size_t size, size_t align);
/* count * size without overflow, otherwise NULL. */
void *hob_arena_array(hob_arena *arena, size_t count, size_t size, size_t align);
hob_arena_mark hob_arena_save(hob_arena *arena);
void hob_arena_restore(hob_arena *arena, hob_arena_mark mark); /* frees everything allocated after the mark */
/* Copies; the copy has a NUL after its length. data == NULL on failure. */
hob_str hob_arena_str(hob_arena *arena, hob_str s);
hob_str hob_arena_printf(hob_arena *arena, const char *fmt, ...) HOB_PRINTF(2, 3);
bool hob_error_memory(hob_error *err, const hob_arena *arena, const char *what);
#define hob_fail_memory(err, arena, what) hob_always_false(hob_error_memory((err), (arena), (what)))

#define HOB_NEW(arena, type, count) ((type *)hob_arena_array((arena), (count), sizeof(type), _Alignof(type)))
/* Allocates `count` items to the pointer at `out`. Fails with MEMORY: "no memory left for `what`". */
#define HOB_MAKE(arena, out, count, what, err)                                                               \
	hob_arena_make((arena), (out), (count), sizeof **(out), (what), (err))
/* Aligned for items of `size`. Called through HOB_MAKE. */
bool hob_arena_make(hob_arena *arena, void *out, size_t count, size_t size, const char *what,
					hob_error *err) HOB_MUST_CHECK;

/* ---- locals that are released at the end of their block ---- */

/* `hob_own_buf out = {0};`, `hob_own char *text = strdup(name);`. They begin with a value, which may be none.
 * hob_leave does not release them: a body of hob_guarded has it done for buffers. */
#define HOB_OWN(release) __attribute__((cleanup(release)))
#define hob_own_buf		 HOB_OWN(hob_buf_release) hob_buf
#define hob_own_arena	 HOB_OWN(hob_arena_release) hob_arena
#define hob_own			 HOB_OWN(hob_own_end)			 /* of malloc */
#define hob_own_json	 HOB_OWN(hob_own_json_end) cJSON /* `hob_own_json *root` */
void hob_own_end(void *pointer);
void hob_own_json_end(void *pointer);

/* ---- functions that need not check for memory ---- */

typedef bool (*hob_body)(void *context, hob_error *err);
/* Calls body(context, err). If an arena or a buffer finds no memory meanwhile, in this thread or in a task
 * of hob_parallel_for, the body is left at once (longjmp) and hob_guarded fails with MEMORY. What arenas
 * initialised in the body, and buffers first filled there, still hold is freed; other arenas keep what they
 * gave. Nothing else is freed: a library's objects are made and freed around another hob_guarded. */
bool hob_guarded(hob_body body, void *context, hob_error *err) HOB_MUST_CHECK;
/* Around code that must not be left, such as a library that calls back: between the two, arenas and buffers
 * fail as outside of hob_guarded. */
struct hob_guard *hob_guard_suspend(void);
void hob_guard_resume(struct hob_guard *guard);

/* ---- growing byte buffer ---- */

/* Owns memory. A growth that fails leaves the function of hob_guarded that runs in this thread; outside of
 * one it sets `failed` and makes further appends do nothing, so that a writer checks once, at its end. */
typedef struct hob_buf {
	uint8_t *data;
	size_t size, capacity;
	bool failed;
} hob_buf;

void hob_buf_release(hob_buf *buf);
void hob_buf_free(void *data);	  /* of a buffer whose owner took it out */
void hob_buf_clear(hob_buf *buf); /* keeps the memory */
void hob_buf_put(hob_buf *buf, const void *data, size_t size);
void hob_buf_put_str(hob_buf *buf, hob_str s);
void hob_buf_printf(hob_buf *buf, const char *fmt, ...) HOB_PRINTF(2, 3);
/* Appends `size` uninitialised bytes for the caller to fill; NULL without memory, outside of hob_guarded. */
uint8_t *hob_buf_grow(hob_buf *buf, size_t size);
/* Appends `s` as a JSON string with quotes: invalid UTF-8 becomes U+FFFD, control characters \u00XX. */
void hob_buf_put_json(hob_buf *buf, hob_str s);
/* Appends a JSON number that reads back as `value`; null for a value that is not finite. */
void hob_buf_put_double(hob_buf *buf, double value);
/* True if `text` is one JSON value (RFC 8259) in valid UTF-8, nested at most `depth` (up to 1024) deep. */
bool hob_json_valid(hob_str text, uint32_t depth);
hob_bytes hob_buf_bytes(const hob_buf *buf);
hob_str hob_buf_str(const hob_buf *buf);

/* ---- notes: messages to people about a cook that succeeded ---- */

typedef enum hob_note_level { HOB_NOTE_INFO, HOB_NOTE_WARNING } hob_note_level;

typedef struct hob_note {
	hob_note_level level;
	hob_str code;	/* stable, dotted: "texture.missing", "gltf.extension-ignored" */
	hob_str text;	/* names the place and the remedy */
	uint32_t count; /* repeating a note (same code and text) only counts */
} hob_note;

enum { HOB_NOTE_LIMIT = 256 };

typedef struct hob_notes {
	hob_arena *arena; /* owns the texts */
	hob_note items[HOB_NOTE_LIMIT];
	uint32_t count, dropped;
} hob_notes;

/* Without room, or memory outside of hob_guarded, the note is counted in `dropped`. `notes` may be NULL. */
void hob_note_add(hob_notes *notes, hob_note_level level, const char *code, const char *fmt, ...)
	HOB_PRINTF(4, 5);
#define hob_warn(notes, code, ...) hob_note_add((notes), HOB_NOTE_WARNING, (code), __VA_ARGS__)
#define hob_info(notes, code, ...) hob_note_add((notes), HOB_NOTE_INFO, (code), __VA_ARGS__)

/* ---- io: how core reads the world ---- */

/* Paths are relative to the root that is being cooked, '/'-separated, normalised by hob_path_join: no leading
 * '/', no "." or ".." parts, no empty parts, no NUL. The implementation records everything that is read or
 * looked for: this is the dependency list of the cook. */
typedef struct hob_io {
	void *user;
	/* Reads a whole regular file. The bytes stay valid until the io is closed by its owner or `done` is
	 * called, and a second read of the same path gives the same bytes. Errors: MISSING_FILE, OUTSIDE
	 * (symbolic link that leaves the root), LIMIT (size or number of files), IO. */
	bool (*read)(void *user, hob_str path, hob_bytes *out, hob_error *err);
	/* Searches the folder of `path` for a file whose name differs only in upper and lower case or in the
	 * Unicode form of its letters (macOS writes an accented letter as two characters, others as one). Writes
	 * its path (valid until the io is closed) and returns true, or returns false. Reads no file. The search
	 * is recorded as a dependency, whether or not a file is found. */
	bool (*find_nocase)(void *user, hob_str path, hob_str *found);
	/* Notes a reference that hob_io_join refuses: absolute, or to a place above the root. After the second
	 * kind, the result of the cook is reusable only where that place is above the root, too. May be NULL. */
	void (*refused)(void *user, hob_str reference, bool absolute);
	/* Says that the caller will neither use the bytes of `path` nor read it again. May be NULL: the bytes
	 * stay. */
	void (*done)(void *user, hob_str path);
} hob_io;

/* Folder part of a path without the trailing slash ("" for a top-level file), and its last part. */
hob_str hob_path_dir(hob_str path);
hob_str hob_path_name(hob_str path);
/* Extension without the dot, as written; empty if there is none. */
hob_str hob_path_extension(hob_str path);
/* Joins `relative` (with either slash, as found in a model) to folder `dir` and normalises it. Fails with
 * OUTSIDE if the result would leave the root or is absolute (leading slash, drive letter, URL scheme), and
 * with CORRUPT for a NUL or an empty name. The result is NUL-terminated. */
bool hob_path_join(hob_arena *arena, hob_str dir, hob_str relative, hob_str *out,
				   hob_error *err) HOB_MUST_CHECK;
/* hob_path_join for a reference in a model of folder `dir`; reports one that leaves the root to
 * io->refused. */
bool hob_io_join(const hob_io *io, hob_arena *arena, hob_str dir, hob_str relative, hob_str *out,
				 hob_error *err) HOB_MUST_CHECK;
/* Percent-decodes a URI reference; a '%' that begins no escape stays. Fails with CORRUPT for %00. */
bool hob_uri_decode(hob_arena *arena, hob_str uri, hob_str *out, hob_error *err) HOB_MUST_CHECK;

/* ---- parallel for ---- */

typedef void (*hob_task)(void *context, uint32_t index, uint32_t thread);

/* `run` calls task(context, i, t) once for each i in [0,count), t in [0,threads), and returns when all are
 * done. Tasks with smaller indices start first. Results must not depend on t or on order. */
typedef struct hob_parallel {
	void *user;
	uint32_t threads; /* at least 1 */
	void (*run)(void *user, uint32_t count, hob_task task, void *context);
} hob_parallel;

/* Runs through `parallel`, or in the calling thread if it is NULL or has one thread. */
void hob_parallel_for(const hob_parallel *parallel, uint32_t count, hob_task task, void *context);

/* ---- little-endian loads and stores; unaligned is allowed ---- */

static inline uint16_t hob_load_u16(const void *p)
{
	const uint8_t *b = (const uint8_t *)p;
	return (uint16_t)(b[0] | b[1] << 8);
}
static inline uint32_t hob_load_u32(const void *p)
{
	const uint8_t *b = (const uint8_t *)p;
	return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}
static inline uint64_t hob_load_u64(const void *p)
{
	return (uint64_t)hob_load_u32(p) | (uint64_t)hob_load_u32((const uint8_t *)p + 4) << 32;
}
static inline float hob_load_f32(const void *p)
{
	uint32_t bits = hob_load_u32(p);
	float value;
	memcpy(&value, &bits, sizeof value);
	return value;
}
static inline void hob_store_u32(void *p, uint32_t v)
{
	uint8_t *b = (uint8_t *)p;
	b[0] = (uint8_t)v, b[1] = (uint8_t)(v >> 8), b[2] = (uint8_t)(v >> 16), b[3] = (uint8_t)(v >> 24);
}
static inline void hob_store_u64(void *p, uint64_t v)
{
	hob_store_u32(p, (uint32_t)v), hob_store_u32((uint8_t *)p + 4, (uint32_t)(v >> 32));
}

/* a * b and a + b in size_t; false on overflow. */
static inline bool hob_mul(size_t a, size_t b, size_t *out)
{
	return !__builtin_mul_overflow(a, b, out);
}
static inline bool hob_add(size_t a, size_t b, size_t *out)
{
	return !__builtin_add_overflow(a, b, out);
}

#ifdef __cplusplus
}
#endif
#endif

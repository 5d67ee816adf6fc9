/* support.h - an in-memory hob_io and arena helpers for tests of any module. Header-only. */
#ifndef HOB_TEST_SUPPORT_H
#define HOB_TEST_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/base/base.h"

/* Files of a test: path below the root -> bytes. Every read and every miss is logged, as in the real io, so
 * that a test can check the dependencies. */
typedef struct memory_file {
	const char *path;
	hob_bytes bytes;
} memory_file;

enum { MEMORY_LOG = 64 };

typedef struct memory_io {
	hob_io io;
	const memory_file *files;
	size_t count;
	char log[MEMORY_LOG][160]; /* "duck.bin" when read, "?duck.bin" when missing */
	size_t logged;
} memory_io;

static inline bool memory_io_read(void *user, hob_str path, hob_bytes *out, hob_error *err)
{
	memory_io *memory = user;
	const memory_file *found = NULL;
	for (size_t i = 0; i < memory->count; i++)
		if (hob_str_equal(path, hob_str_of(memory->files[i].path)))
			found = &memory->files[i];
	if (memory->logged < MEMORY_LOG) {
		char *line = memory->log[memory->logged++];
		size_t at = 0, room = sizeof memory->log[0] - 1;
		if (!found)
			line[at++] = '?';
		for (size_t i = 0; i < path.len && at < room; i++)
			line[at++] = path.data[i];
		line[at] = 0;
	}
	if (!found)
		return hob_fail(err, MISSING_FILE, "'%.*s' does not exist", HOB_FMT(path));
	*out = found->bytes;
	return true;
}

static inline bool memory_io_find_nocase(void *user, hob_str path, hob_str *found)
{
	memory_io *memory = user;
	for (size_t i = 0; i < memory->count; i++) {
		hob_str name = hob_str_of(memory->files[i].path);
		if (hob_str_equal_nocase(path, name) && hob_str_equal(hob_path_dir(path), hob_path_dir(name))) {
			*found = name;
			return true;
		}
	}
	return false;
}

static inline void memory_io_init(memory_io *memory, const memory_file *files, size_t count)
{
	*memory = (memory_io){.files = files, .count = count};
	memory->io = (hob_io){.user = memory, .read = memory_io_read, .find_nocase = memory_io_find_nocase};
}

/* True when `line` was logged: "duck.bin", or "?duck.bin" for a miss. */
static inline bool memory_io_logged(const memory_io *memory, const char *line)
{
	for (size_t i = 0; i < memory->logged; i++)
		if (strcmp(memory->log[i], line) == 0)
			return true;
	return false;
}

#endif

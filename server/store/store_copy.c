/* The record of each cook as a file of its own. One that power loss cut or tore is refused by its check. */
#include "record.h"
#include "store_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COPY_NAME = 80, COPY_BYTES_MAX = 64 << 20 };

/* ---- writing */

static void copy_name(const hob_sha256 *key, char out[COPY_NAME])
{
	char text[HOB_SHA256_TEXT + 1];
	hob_sha256_text(key, text);
	snprintf(out, COPY_NAME, "%.2s/%s.json", text, text);
}

static bool write_copy(srv_store *store, const hob_sha256 *key, const hob_buf *text, hob_error *err)
{
	char name[COPY_NAME], temporary[32];
	copy_name(key, name);
	int fd = srv_store_temporary(store, temporary);
	bool ok = fd >= 0 && srv_store_write_all(fd, text->data, text->size);
	if (ok && renameat(store->tmp_fd, temporary, store->recipes_fd, name) != 0) {
		char folder[3] = {name[0], name[1], 0};
		ok = errno == ENOENT && (mkdirat(store->recipes_fd, folder, 0777) == 0 || errno == EEXIST) &&
			 renameat(store->tmp_fd, temporary, store->recipes_fd, name) == 0;
	}
	if (!ok) {
		srv_store_fail_errno(err, errno, "write the recipe", name);
		if (fd >= 0)
			unlinkat(store->tmp_fd, temporary, 0);
	}
	if (fd >= 0)
		close(fd);
	return ok;
}

bool srv_store_copy_put(srv_store *store, const srv_recipe *recipe, hob_error *err)
{
	hob_buf text = {0};
	srv_record_print(recipe, &text);
	bool ok = text.failed ? hob_fail(err, MEMORY, "no memory left for the record of a cook")
						  : write_copy(store, &recipe->key, &text, err);
	hob_buf_release(&text);
	return ok;
}

void srv_store_copy_remove(srv_store *store, const hob_sha256 *key)
{
	char name[COPY_NAME];
	copy_name(key, name);
	unlinkat(store->recipes_fd, name, 0);
}

/* ---- reading */

static bool read_file(int folder_fd, const char *name, hob_arena *arena, hob_str *out)
{
	struct stat info;
	int fd = openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool ok = fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size <= COPY_BYTES_MAX;
	char *data = ok ? hob_arena_alloc(arena, (size_t)info.st_size, 1) : NULL;
	ssize_t size = data ? read(fd, data, (size_t)info.st_size) : -1;
	if (fd >= 0)
		close(fd);
	*out = (hob_str){data, size > 0 ? (size_t)size : 0};
	return size > 0;
}

void srv_store_read_record(srv_store *store, const hob_sha256 *key, hob_buf *out)
{
	char name[COPY_NAME];
	hob_arena arena;
	hob_str text;
	copy_name(key, name);
	hob_arena_init(&arena, COPY_BYTES_MAX);
	if (read_file(store->recipes_fd, name, &arena, &text))
		hob_buf_put_str(out, text);
	hob_arena_release(&arena);
}

/* False only when the index cannot be written. */
static bool read_copy(srv_store *store, int folder_fd, const char *name, hob_error *err)
{
	hob_arena arena;
	hob_str text;
	srv_recipe recipe;
	hob_error ignored;
	bool ok = true;
	hob_arena_init(&arena, 4ul * COPY_BYTES_MAX);
	bool whole =
		read_file(folder_fd, name, &arena, &text) && srv_record_parse(text, &arena, &recipe, &ignored);
	const hob_sha256 *digests = whole && recipe.output_count > 0 ? &recipe.outputs[0].digest : NULL;
	if (whole && srv_store_blobs_name(store, digests, sizeof *recipe.outputs, recipe.output_count, NULL))
		ok = srv_store_recipe_put_rows(store, &recipe, err);
	else
		unlinkat(folder_fd, name, 0);
	hob_arena_release(&arena);
	return ok;
}

bool srv_store_copies_read(srv_store *store, hob_error *err)
{
	bool ok = true;
	for (int i = 0; i < 256 && ok; i++) {
		char name[3];
		snprintf(name, sizeof name, "%02x", (unsigned)i);
		int fd = openat(store->recipes_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
		if (!folder) {
			if (fd >= 0)
				close(fd);
			continue;
		}
		for (struct dirent *file = readdir(folder); file && ok; file = readdir(folder))
			if (file->d_name[0] != '.')
				ok = read_copy(store, fd, file->d_name, err);
		closedir(folder);
	}
	return ok;
}

/* store_support.h - shared by the tests of the store. */
#ifndef TEST_STORE_SUPPORT_H
#define TEST_STORE_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/temp_folder.h"
#include <fcntl.h>
#include <unistd.h>
#include <string.h>
#include "server/store/store.h"

#define store_test(name) cmocka_unit_test_setup_teardown(name, make_dir, remove_dir)
#define assert_ok(call, err)                                                                                 \
	do {                                                                                                     \
		if (!(call))                                                                                         \
			fail_msg("%s: %s", hob_err_name((err)->code), (err)->context);                                   \
	} while (0)

static inline int make_dir(void **state)
{
	temp_folder *dir = calloc(1, sizeof *dir);
	folder_make(dir);
	*state = dir;
	return 0;
}

static inline int remove_dir(void **state)
{
	folder_remove(*state);
	free(*state);
	return 0;
}

/* Bytes that cannot be compressed. */
static inline void make_noise(uint32_t seed, void *out, size_t size)
{
	uint8_t *to = out;
	for (size_t i = 0; i < size; i++) {
		seed = seed * 1664525 + 1013904223;
		to[i] = (uint8_t)(seed >> 24);
	}
}

/* Stores opened by tests. */
static uint64_t test_pack_max;

static inline srv_store *open_store(temp_folder *dir, uint64_t max_bytes)
{
	hob_error err;
	srv_store *store = NULL;
	srv_store_options options = {max_bytes, test_pack_max};
	assert_ok(srv_store_open(folder_at(dir, "cache"), &options, &store, NULL, &err), &err);
	return store;
}

static inline hob_sha256 put_bytes_blob(srv_store *store, const void *data, size_t size)
{
	hob_error err;
	hob_sha256 digest;
	assert_ok(srv_blob_put(store, (hob_bytes){data, size}, &digest, &err), &err);
	return digest;
}

static inline hob_sha256 put_blob(srv_store *store, const char *text)
{
	return put_bytes_blob(store, text, strlen(text));
}

static inline const char *blob_path(temp_folder *dir, const hob_sha256 *digest)
{
	char text[HOB_SHA256_TEXT + 1];
	hob_sha256_text(digest, text);
	return folder_at(dir, "cache/blobs/%.2s/%s", text, text + 2);
}

/* Makes a blob unreadable: removes its file, or damages its record's head in the first pack. */
static inline void lose_blob(temp_folder *dir, const hob_sha256 *digest)
{
	static char bytes[1 << 20];
	if (test_pack_max == 0) {
		assert_int_equal(unlink(blob_path(dir, digest)), 0);
		return;
	}
	int fd = open(folder_at(dir, "cache/packs/00000001.pack"), O_RDWR | O_CLOEXEC);
	ssize_t size = pread(fd, bytes, sizeof bytes, 0);
	char *at = size > 0 ? memmem(bytes, (size_t)size, digest->bytes, sizeof digest->bytes) : NULL;
	assert_non_null(at);
	assert_int_equal(pwrite(fd, "lost", 4, at - bytes), 4);
	close(fd);
}

#endif

#include "store_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

struct srv_blob_writer {
	srv_store *store;
	hob_sha256 digest;
	char name[STORE_BLOB_NAME], temporary[STORE_TEMPORARY];
	bool named;
	int fd;
	hob_hasher hasher;
	uint64_t size;
};

bool srv_blob_begin(srv_store *store, const hob_sha256 *digest, srv_blob_writer **out, hob_error *err)
{
	if (!srv_store_mark(store, err))
		return false;
	srv_blob_writer *w = calloc(1, sizeof *w);
	if (!w)
		return hob_fail(err, MEMORY, "no memory left to write a blob");
	w->store = store;
	w->digest = *digest;
	srv_store_blob_name(digest, w->name);
	w->fd = srv_store_open_unnamed(store, w->name, w->temporary, &w->named);
	if (w->fd < 0) {
		int code = errno;
		free(w);
		return srv_store_fail_errno(err, code, "make a blob in", store->dir);
	}
	hob_hasher_init(&w->hasher);
	*out = w;
	return true;
}

bool srv_blob_write(srv_blob_writer *w, hob_bytes bytes, hob_error *err)
{
	hob_hasher_put(&w->hasher, bytes.data, bytes.size);
	w->size += bytes.size;
	return srv_store_write_all(w->fd, bytes.data, bytes.size) ||
		   srv_store_fail_errno(err, errno, "write a blob in", w->store->dir);
}

static void release(srv_blob_writer *w, bool drop)
{
	if (drop && w->named)
		unlinkat(w->store->tmp_fd, w->temporary, 0);
	close(w->fd);
	free(w);
}

bool srv_blob_finish(srv_blob_writer *w, hob_error *err)
{
	hob_sha256 digest = hob_hasher_finish(&w->hasher);
	bool right = hob_sha256_equal(&digest, &w->digest);
	char text[HOB_SHA256_TEXT + 1];
	hob_sha256_text(&digest, text);
	bool ok =
		right ? srv_store_publish(w->store, w->fd, w->temporary, w->named, w->name, &w->digest, w->size, err)
			  : hob_fail(err, CORRUPT, "the %llu bytes that came are %s", (unsigned long long)w->size, text);
	release(w, !right);
	return ok;
}

void srv_blob_abort(srv_blob_writer *w)
{
	if (!w)
		return;
	hob_hasher_finish(&w->hasher);
	release(w, true);
}

#include "store_internal.h"

#include "../../core/base/array.h"
#include "../fs/transfer.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

struct srv_blob_writer {
	srv_store *store;
	hob_sha256 digest;
	char name[STORE_BLOB_NAME], temporary[STORE_TEMPORARY];
	bool named;
	int fd;		   /* -1: everything is in `small` so far */
	hob_buf small; /* the bytes so far, while they fit into a pack */
	hob_hasher hasher;
	uint64_t size;
};

static bool open_file(srv_blob_writer *w, hob_error *err)
{
	w->fd = srv_store_open_unnamed(w->store, w->name, w->temporary, &w->named);
	return w->fd >= 0 || srv_store_fail_errno(err, errno, "make a blob in", w->store->dir);
}

static bool write_bytes(srv_blob_writer *w, const void *data, size_t size, hob_error *err)
{
	return srv_write_all(w->fd, data, size) ||
		   srv_store_fail_errno(err, errno, "write a blob in", w->store->dir);
}

/* Moves a blob that is too large for a pack from memory to its file. */
static bool spill(srv_blob_writer *w, hob_error *err)
{
	if (!open_file(w, err) || !write_bytes(w, w->small.data, w->small.size, err))
		return false;
	hob_buf_release(&w->small);
	return true;
}

bool srv_blob_begin(srv_store *store, const hob_sha256 *digest, srv_blob_writer **out, hob_error *err)
{
	if (!srv_store_mark(store, err))
		return false;
	srv_blob_writer *w = hob_must(calloc(1, sizeof *w));
	w->store = store;
	w->digest = *digest;
	srv_store_blob_name(digest, w->name);
	w->fd = -1;
	if (store->pack_max == 0 && !open_file(w, err)) {
		free(w);
		return false;
	}
	hob_hasher_init(&w->hasher);
	*out = w;
	return true;
}

bool srv_blob_write(srv_blob_writer *w, hob_bytes bytes, hob_error *err)
{
	hob_hasher_put(&w->hasher, bytes.data, bytes.size);
	w->size += bytes.size;
	if (w->fd < 0 && w->size <= w->store->pack_max) {
		hob_buf_put(&w->small, bytes.data, bytes.size);
		return !w->small.failed || hob_fail(err, MEMORY, "no memory left to write a blob");
	}
	return (w->fd >= 0 || spill(w, err)) && write_bytes(w, bytes.data, bytes.size, err);
}

static void release(srv_blob_writer *w, bool drop)
{
	if (drop && w->named)
		unlinkat(w->store->tmp_fd, w->temporary, 0);
	srv_close(w->fd);
	hob_buf_release(&w->small);
	free(w);
}

bool srv_blob_finish(srv_blob_writer *w, hob_error *err)
{
	hob_sha256 digest = hob_hasher_finish(&w->hasher);
	bool right = hob_sha256_equal(&digest, &w->digest);
	bool ok = right && w->fd < 0 ? srv_store_pack_put(w->store, &w->digest, hob_buf_bytes(&w->small), err)
			  : right ? srv_store_publish(w->store, w->fd, w->temporary, w->named, w->name, &w->digest,
										  w->size, err)
					  : hob_fail(err, CORRUPT, "the %llu bytes that came are %s", (unsigned long long)w->size,
								 hob_sha256_hex(&digest).text);
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

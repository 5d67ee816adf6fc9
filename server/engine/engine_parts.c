#include "engine_jobs.h"

#include "../log/log.h"

#include <stdlib.h>

/* Textures and meshes that cooks share, as blobs. */

typedef struct part_put {
	uv_work_t work;
	srv_engine *engine;
	hob_sha256 part, blob;
	hob_bytes bytes;
	bool ok;
	hob_error error;
} part_put;

int srv_engine_part_get(void *user, const uint8_t key[32])
{
	srv_engine *engine = user;
	hob_sha256 part, blob;
	memcpy(part.bytes, key, sizeof part.bytes);
	uint64_t size;
	int fd = srv_store_part(engine->store, &part, &blob) ? srv_blob_open(engine->store, &blob, &size) : -1;
	engine->counters.parts.reused += fd >= 0;
	return fd;
}

static void put_run(uv_work_t *work)
{
	part_put *put = work->data;
	put->ok = srv_blob_put(put->engine->store, put->bytes, &put->blob, &put->error);
	srv_pool_part_unmap(put->bytes);
}

static void put_done(uv_work_t *work, int status)
{
	(void)status;
	part_put *put = work->data;
	srv_engine *engine = put->engine;
	engine->counters.parts.made++;
	if (!put->ok || !srv_store_put_part(engine->store, &put->part, &put->blob, &put->error))
		srv_log(SRV_LOG_WARNING, "store", "a part was not kept: %s", put->error.context);
	srv_publish_note_rows(&engine->publish);
	srv_pool_part_kept(engine->jobs->pool, put->part.bytes);
	free(put);
}

/* Stores a part in libuv's pool: hashing and writing megabytes is too long for a turn of the loop. */
void srv_engine_part_put(void *user, const uint8_t key[32], hob_bytes bytes, int fd)
{
	(void)fd;
	srv_engine *engine = user;
	part_put *put = calloc(1, sizeof *put);
	if (!put) {
		srv_pool_part_unmap(bytes);
		srv_pool_part_kept(engine->jobs->pool, key);
		return;
	}
	put->engine = engine;
	put->bytes = bytes;
	put->work.data = put;
	memcpy(put->part.bytes, key, sizeof put->part.bytes);
	if (uv_queue_work(engine->loop, &put->work, put_run, put_done) != 0) {
		put_run(&put->work);
		put_done(&put->work, 0);
	}
}

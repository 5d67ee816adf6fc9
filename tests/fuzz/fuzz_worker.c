/* All messages of a cook process: a frame of its socket, the JSON at its beginning, a result with its
 * outputs, and several workers' messages about parts. Two workers never wait for each other, and none waits
 * for a part that nobody makes.
 *
 * Links: srv_worker
 * Run:   fuzz_worker tests/fuzz/corpus/worker
 *
 * Input: a byte that selects (frame, beginning, result, parts), then the message. */
#include "server/worker/check.h"
#include "server/worker/importer_table.h"
#include "server/worker/part_claims.h"
#include "server/worker/protocol.h"

#include "core/base/limits.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take_frame(const uint8_t *data, size_t size)
{
	static uint8_t payload[SRV_FRAME_PAYLOAD];
	srv_frame frame;
	int ends[2], fd = -1;
	assert(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends) == 0);
	if (send(ends[1], data, size, 0) == (ssize_t)size &&
		srv_frame_receive(ends[0], &frame, payload, &fd) == 1)
		assert(frame.payload_size <= SRV_FRAME_PAYLOAD && frame.payload_size + sizeof frame == size &&
			   fd == -1);
	close(ends[0]);
	close(ends[1]);
}

static void take_beginning(const uint8_t *data, size_t size)
{
	hob_arena arena;
	importer_table table = {0};
	hob_arena_init(&arena, 1 << 30);
	cJSON *root = cJSON_ParseWithLength((const char *)data, size);
	srv_importer_table_read(&table, &arena, cJSON_GetObjectItemCaseSensitive(root, "importers"));
	cJSON_Delete(root);
	const srv_pool_importer *found = srv_importer_table_find(&table, HOB_STR("a/b.obj"));
	assert(!found || (found >= table.items && found < table.items + table.count));
	for (uint32_t i = 0; i < table.count; i++)
		for (uint32_t e = 0; e < table.items[i].extension_count; e++)
			srv_importer_table_find(&table, table.items[i].extensions[e]);
	hob_arena_release(&arena);
}

static void take_result(const uint8_t *data, size_t size)
{
	hob_arena arena;
	srv_result result;
	hob_error err;
	/* Aligned as in the daemon: a result lies in a mapping, which begins at a page. */
	uint8_t *at = aligned_alloc(64, (size + 64) / 64 * 64);
	assert(at);
	memcpy(at, data, size);
	hob_arena_init(&arena, 256 << 20);
	if (srv_result_read((hob_bytes){at, size}, &arena, &result, &err)) {
		assert(result.dep_count <= HOB_LIMIT_SOURCE_FILES + 2 && result.output_count <= HOB_LIMIT_OUTPUTS);
		for (uint32_t i = 0; i < result.output_count; i++) {
			hob_bytes bytes = result.outputs[i].bytes;
			assert(bytes.size == 0 || (bytes.data >= at && bytes.data + bytes.size <= at + size));
		}
		if (result.ok)
			(void)!srv_check_outputs(&result, &err);
	}
	hob_arena_release(&arena);
	free(at);
}

/* Asserts that a part with waiting workers is being stored, or made by a worker that does not itself wait. */
static void check_claims(const srv_claims *claims, const bool *waits)
{
	for (uint32_t i = 0; i < claims->count; i++) {
		const srv_claim *claim = &claims->items[i];
		bool made = false;
		for (uint32_t k = 0; claim->waits && k < claims->count; k++)
			made = made || (!claims->items[k].waits &&
							memcmp(claims->items[k].key, claim->key, sizeof claim->key) == 0);
		assert(claim->waits ? made && waits[claim->worker]
							: claim->worker == HOB_NONE || !waits[claim->worker]);
	}
}

static void take_parts(const uint8_t *data, size_t size)
{
	enum { WORKERS = 4, KEYS = 8, STEPS = 512 };
	srv_claims claims = {0};
	uint32_t index;
	bool waits[WORKERS] = {false};
	uint8_t key[32] = {0}, woken[32];
	for (size_t i = 0; i + 1 < size && i < STEPS; i += 2) {
		uint32_t worker = data[i] % WORKERS, what = data[i] / WORKERS % 4;
		key[0] = data[i + 1] % KEYS;
		if (what == 0 && !waits[worker]) /* the pool ends a worker that asks while it waits */
			waits[worker] = srv_claims_ask(&claims, worker, key, data[i] & 128) == SRV_CLAIM_WAIT;
		else if (what == 1)
			srv_claims_store(&claims, key);
		else if (what == 2)
			srv_claims_end(&claims, key);
		else if (what == 3) {
			srv_claims_leave(&claims, worker);
			waits[worker] = false;
		}
		while (srv_claims_next(&claims, &index, woken)) {
			assert(index < WORKERS && waits[index]);
			waits[index] = false;
		}
		check_claims(&claims, waits);
	}
	srv_claims_release(&claims);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const take[])(const uint8_t *, size_t) = {take_frame, take_beginning, take_result,
															take_parts};
	if (size > 1)
		take[data[0] % HOB_COUNT_OF(take)](data + 1, size - 1);
	return 0;
}

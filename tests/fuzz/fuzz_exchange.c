/* Answers of an upstream, from the socket to the store: lists of records, blobs, reasons of a refusal.
 *
 * Links: srv_upstream
 * Run:   fuzz_exchange tests/fuzz/corpus/exchange
 *
 * Input: a byte that selects (find, probe, fetch, give), then the answer to each connection, separated by
 * lines "----". */
#include "server/upstream/exchange.h"
#include "tests/fuzz/fuzz_peer.h"
#include "tests/unit/temp_folder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static temp_folder folder;
static srv_store *store;
static hob_sha256 key;

static void leave(void)
{
	srv_store_close(store);
	folder_remove(&folder);
}

/* Makes a store with a record of one output, which `give` uploads to the upstream. */
static void make_store(void)
{
	hob_error err;
	hob_sha256 blob;
	char folder_path[160];
	folder_make(&folder);
	snprintf(folder_path, sizeof folder_path, "%s/cache", folder.path);
	assert(srv_store_open(folder_path, &(srv_store_options){0}, &store, NULL, &err));
	atexit(leave);
	assert(srv_blob_put(store, (hob_bytes){(const uint8_t *)"blob", 4}, &blob, &err));
	srv_record_output output = {.name = HOB_STR("meshes"), .digest = blob, .size = 4};
	srv_record record = {.key = {{1}},
						 .lookup = {{2}},
						 .source = {{3}},
						 .file_name = HOB_STR("a.obj"),
						 .ingredients = HOB_STR("{}"),
						 .stats = HOB_STR("{}"),
						 .outputs = &output,
						 .output_count = 1};
	key = record.key;
	assert(srv_store_put_record(store, &record, &err) && srv_store_commit(store, &err));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char url[64];
	srv_exchange x;
	hob_buf lines = {0};
	if (size < 1 || size > 64 << 10)
		return 0;
	if (!store)
		make_store();
	peer_say(data + 1, size - 1);
	snprintf(url, sizeof url, "http://127.0.0.1:%u", peer.port);
	srv_exchange_init(&x, url, "token", store, "0123456789abcdef");
	hob_sha256 named = hob_sha256_of((hob_bytes){(const uint8_t *)"body", 4}), lookup = {{2}};
	switch (data[0] % 4) {
	case 0:
		(void)srv_exchange_find(&x, &lookup, 1, (hob_str){0}, &lines);
		assert(lines.size <= size);
		break;
	case 1:
		(void)srv_exchange_probe(&x);
		break;
	case 2:
		if (srv_exchange_fetch_blob(&x, &named, data[0] & 4 ? 4 : UINT64_MAX) == SRV_EXCHANGE_OK) {
			uint64_t whole = 0;
			int fd = srv_blob_open(store, &named, &whole);
			assert(fd >= 0 && whole == 4);
			close(fd);
		}
		break;
	default:
		(void)srv_exchange_give(&x, &key);
	}
	assert(memchr(x.error.context, 0, sizeof x.error.context));
	hob_buf_release(&lines);
	srv_exchange_release(&x);
	peer_hush();
	return 0;
}

#include "exchange.h"

#include "../fs/clock.h"
#include "../fs/fd.h"
#include "../store/record.h"
#include "../worker/check.h"

#include <stdlib.h>
#include <unistd.h>

enum { RECORD_ARENA = 64 << 20 };

/* Shared by both kinds of upstream: the order of blobs and records, and checks of all received data. */

void srv_exchange_release(srv_exchange *x)
{
	x->way->release(x);
	pthread_mutex_destroy(&x->lock);
}

void srv_exchange_cut(srv_exchange *x)
{
	SRV_LOCKED(&x->lock);
	x->closing = true;
	x->way->cut(x);
}

srv_exchange_end srv_exchange_find(srv_exchange *x, const hob_sha256 *lookups, uint32_t count, hob_str via,
								   hob_buf *out)
{
	return x->way->find(x, lookups, count, via, out);
}

static srv_exchange_end fetch_timed(srv_exchange *x, const hob_sha256 *digest, uint64_t size)
{
	enum { SMALL = 64 << 10 };
	uint64_t before = x->bytes;
	double began = (double)srv_clock_ns(CLOCK_MONOTONIC) / 1e6;
	srv_exchange_end end = x->way->fetch_blob(x, digest, size);
	double took = (double)srv_clock_ns(CLOCK_MONOTONIC) / 1e6 - began;
	uint64_t bytes = x->bytes - before;
	if (end == SRV_EXCHANGE_OK && bytes <= SMALL) {
		x->times.small++;
		x->times.small_ms += took;
	} else if (end == SRV_EXCHANGE_OK) {
		x->times.large++;
		x->times.large_bytes += bytes;
		x->times.large_ms += took;
	}
	return end;
}

srv_exchange_end srv_exchange_fetch_blob(srv_exchange *x, const hob_sha256 *digest, uint64_t size)
{
	x->times = (srv_exchange_times){0};
	return fetch_timed(x, digest, size);
}

srv_exchange_end srv_exchange_probe(srv_exchange *x)
{
	return x->way->probe(x);
}

/* ---- fetching */

static bool is_wanted(const srv_record_output *output)
{
	return !hob_str_starts(output->name, HOB_STR("classic."));
}

/* Whether the record states a wrong size for a blob that existed locally, so that its size was not compared
 * on arrival. */
static bool lies_about_a_size(srv_store *store, const srv_record *record)
{
	bool lies = false;
	for (uint32_t i = 0; i < record->output_count && !lies; i++) {
		uint64_t size;
		srv_own_fd fd = srv_blob_open(store, &record->outputs[i].digest, &size);
		lies = fd >= 0 && size != record->outputs[i].size;
	}
	return lies;
}

/* Checks the fetched outputs like those of a cook process. */
static srv_exchange_end validate(srv_exchange *x, const srv_record *record)
{
	srv_result result = {.ok = true, .outputs = calloc(record->output_count + 1, sizeof(hob_cook_output))};
	bool here = result.outputs != NULL;
	for (uint32_t i = 0; here && i < record->output_count; i++)
		if (is_wanted(&record->outputs[i])) {
			hob_cook_output *output = &result.outputs[result.output_count++];
			uint8_t *data = malloc(record->outputs[i].size + 1);
			*output = (hob_cook_output){record->outputs[i].name, {data, record->outputs[i].size}};
			here = data && srv_blob_read(x->store, &record->outputs[i].digest, data, output->bytes.size);
		}
	bool right = here && srv_check_outputs(&result, &x->error);
	for (uint32_t i = 0; i < result.output_count; i++)
		free((void *)(uintptr_t)result.outputs[i].bytes.data);
	free(result.outputs);
	if (here)
		return right							 ? SRV_EXCHANGE_OK
			   : x->error.code != HOB_ERR_MEMORY ? SRV_EXCHANGE_REFUSED
												 : SRV_EXCHANGE_HERE;
	if (lies_about_a_size(x->store, record)) {
		(void)hob_fail(&x->error, CORRUPT, "the record says another size of a blob than it has");
		return SRV_EXCHANGE_REFUSED;
	}
	(void)hob_fail(&x->error, IO, "a blob that was fetched cannot be read here");
	return SRV_EXCHANGE_HERE;
}

srv_exchange_end srv_exchange_fetch(srv_exchange *x, const srv_record *record)
{
	uint64_t left = (uint64_t)SRV_EXCHANGE_BLOBS_MAX_GIB << 30;
	x->bytes = 0;
	x->times = (srv_exchange_times){0};
	for (uint32_t i = 0; i < record->output_count; i++) {
		if (record->outputs[i].size > left) {
			(void)hob_fail(&x->error, LIMIT, "the record names more than %d GiB", SRV_EXCHANGE_BLOBS_MAX_GIB);
			return SRV_EXCHANGE_REFUSED;
		}
		left -= record->outputs[i].size;
	}
	bool refused = false;
	if (record->error.len > 0)
		return SRV_EXCHANGE_OK;
	for (uint32_t i = 0; i < record->output_count; i++) {
		const srv_record_output *output = &record->outputs[i];
		if (!is_wanted(output) || srv_blob_exists(x->store, &output->digest))
			continue;
		srv_exchange_end end = fetch_timed(x, &output->digest, output->size);
		/* Deletes all bad blobs from the farm. Otherwise a machine that cooks this again would find them
		 * there and push only the rest. */
		refused = refused || end == SRV_EXCHANGE_REFUSED;
		if (end != SRV_EXCHANGE_OK && !(refused && x->farm))
			return end;
	}
	return refused ? SRV_EXCHANGE_REFUSED : validate(x, record);
}

/* ---- giving */

bool srv_exchange_lookup(srv_exchange *x, const hob_sha256 *key, hob_sha256 *lookup)
{
	hob_own_buf text = {0};
	hob_own_arena arena;
	srv_record record;
	hob_error ignored;
	hob_arena_init(&arena, RECORD_ARENA);
	srv_store_read_record(x->store, key, &text);
	bool read = text.size > 0 && srv_record_parse(hob_buf_str(&text), &arena, &record, &ignored);
	if (read)
		*lookup = record.lookup;
	return read;
}

srv_exchange_end srv_exchange_give(srv_exchange *x, const hob_sha256 *key)
{
	hob_own_buf text = {0};
	hob_own_arena arena;
	srv_record record;
	hob_arena_init(&arena, RECORD_ARENA);
	srv_store_read_record(x->store, key, &text);
	srv_exchange_end end = SRV_EXCHANGE_NONE;
	x->bytes = 0;
	x->lookup = (hob_sha256){{0}};
	if (text.size > 0 && srv_record_parse(hob_buf_str(&text), &arena, &record, &x->error)) {
		uint32_t kept = 0;
		x->lookup = record.lookup;
		end = SRV_EXCHANGE_OK;
		for (uint32_t i = 0; i < record.output_count; i++)
			if (is_wanted(&record.outputs[i]))
				record.outputs[kept++] = record.outputs[i];
		record.output_count = kept;
		for (uint32_t i = 0; end == SRV_EXCHANGE_OK && i < record.output_count; i++)
			end = x->way->give_blob(x, &record.outputs[i]);
		if (end == SRV_EXCHANGE_OK)
			end = x->way->give_record(x, &record);
	}
	return end;
}

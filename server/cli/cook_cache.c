#include "cook_run_private.h"

#include "../reuse/kept.h"
#include "../store/digest_map.h"
#include "../store/guest.h"

#include <cjson/cJSON.h>
#include <stdlib.h>

/* ---- closing */

typedef struct live_keys {
	digest_map keys;
	srv_upstream *upstream;
} live_keys;

static void note_live(void *user, const srv_asset_row *row)
{
	bool fresh;
	srv_digest_map_put(user, &row->good, &fresh);
	srv_digest_map_put(user, &row->last, &fresh);
}

static bool is_live(void *user, const hob_sha256 *key)
{
	const live_keys *live = user;
	return srv_digest_map_find(&live->keys, key) != NULL ||
		   (live->upstream && srv_upstream_holds(live->upstream, key));
}

void srv_cook_cache_close(srv_store *store, bool guest, srv_upstream *upstream)
{
	hob_error ignored;
	live_keys live = {.upstream = upstream};
	if (guest)
		srv_guest_close(store);
	if (guest || !store)
		return;
	srv_digest_map_init(&live.keys, 1);
	if (srv_store_each_asset(store, note_live, &live.keys, &ignored))
		srv_store_trim(store, is_live, &live);
	srv_digest_map_release(&live.keys);
	srv_store_close(store);
}

/* ---- kept results */

static bool read_blob(srv_store *store, const srv_record_output *output, hob_arena *arena, hob_bytes *out)
{
	uint8_t *data = hob_arena_alloc(arena, output->size + 1, 16);
	*out = (hob_bytes){data, output->size};
	return data && srv_blob_read(store, &output->digest, data, output->size);
}

static double number_of(const cJSON *object, const char *name)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
	return cJSON_IsNumber(item) && item->valuedouble > 0 ? item->valuedouble : 0;
}

static void read_stats(const srv_record *record, hob_cook_stats *out)
{
	cJSON *json = cJSON_ParseWithLength(record->stats.data, record->stats.len);
	*out = (hob_cook_stats){.warnings = record->warnings};
#define COUNT(name) out->name = (__typeof__(out->name))number_of(json, #name);
	HOB_COOK_COUNTS(COUNT)
#undef COUNT
	cJSON_Delete(json);
}

static bool fill(srv_store *store, const srv_record *record, bool only_report, srv_outcome *out)
{
	srv_result *result = &out->result;
	result->ok = true;
	result->outputs = HOB_NEW(&out->arena, hob_cook_output, record->output_count);
	if (!only_report)
		read_stats(record, &result->stats);
	hob_bytes report = {0};
	bool ok = result->outputs;
	/* Checks all outputs, even after a failure: damaged ones are dropped, and the cook stores them again. */
	for (uint32_t i = 0; result->outputs && i < record->output_count; i++) {
		if (only_report && !hob_str_equal(record->outputs[i].name, HOB_STR("report")))
			continue;
		hob_cook_output *output = &result->outputs[result->output_count++];
		output->name = hob_arena_str(&out->arena, record->outputs[i].name);
		ok = output->name.data && read_blob(store, &record->outputs[i], &out->arena, &output->bytes) && ok;
		if (hob_str_equal(output->name, HOB_STR("report")))
			report = output->bytes;
	}
	return ok && srv_kept_notes(report, &out->arena, &result->notes, &result->note_count);
}

/* Lists dependencies by name and digest; the record has no file sizes or times. */
static bool fill_deps(hob_str model, const srv_record *record, srv_outcome *out)
{
	srv_result *result = &out->result;
	hob_error ignored;
	result->deps = HOB_NEW(&out->arena, srv_dep, record->dep_count + 1);
	if (!result->deps)
		return false;
	result->deps[result->dep_count++] = (srv_dep){.path = model, .digest = record->source};
	for (uint32_t i = 0; i < record->dep_count; i++) {
		srv_dep *dep = &result->deps[result->dep_count];
		*dep = (srv_dep){.missing = record->deps[i].missing, .digest = record->deps[i].digest};
		result->dep_count +=
			hob_path_join(&out->arena, hob_path_dir(model), record->deps[i].path, &dep->path, &ignored);
	}
	return true;
}

srv_outcome *srv_cook_cache_read(srv_store *store, const char *path, const srv_record *record,
								 bool only_report)
{
	hob_str model = hob_str_of(path);
	srv_outcome *out = calloc(1, sizeof *out);
	if (!out)
		return NULL;
	*out = (srv_outcome){
		.ok = true, .has_result = true, .cook_ns = record->cook_ns, .peak_bytes = record->peak_bytes};
	hob_arena_init(&out->arena, SIZE_MAX);
	if (fill_deps(model, record, out) && fill(store, record, only_report, out))
		return out;
	srv_outcome_free(out);
	return NULL;
}

#include "cook_cache.h"

#include "../fs/spelling.h"
#include "../fs/transfer.h"
#include "../reuse/kept.h"
#include "../store/digest_map.h"
#include "../store/guest.h"

#include <cjson/cJSON.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_ARENA = 256 << 20 };

struct cook_cache {
	srv_store *store;
	bool guest;			  /* `store` is opened read-only */
	pthread_mutex_t lock; /* guards `digests` */
	digest_map digests;	  /* hash of the path -> file_digest */
};

typedef struct file_digest {
	srv_input_state state;
	hob_sha256 digest;
} file_digest;

/* ---- opening and closing */

static bool begin(cook_cache *opened, cook_cache **out, hob_error *err)
{
	cook_cache *cache = malloc(sizeof *cache);
	if (!cache) {
		opened->guest ? srv_guest_close(opened->store) : srv_store_close(opened->store);
		return hob_fail(err, MEMORY, "no memory left for the cache");
	}
	*cache = *opened;
	pthread_mutex_init(&cache->lock, NULL);
	srv_digest_map_init(&cache->digests, sizeof(file_digest));
	*out = cache;
	return true;
}

bool srv_cook_cache_open(const char *dir, const srv_store_options *options, cook_cache **out, hob_error *err)
{
	cook_cache cache = {0};
	return srv_store_open(dir, options, &cache.store, NULL, err) && begin(&cache, out, err);
}

bool srv_cook_cache_open_guest(const char *dir, cook_cache **out, hob_error *err)
{
	cook_cache cache = {.guest = true};
	return srv_guest_open(dir, &cache.store, err) && begin(&cache, out, err);
}

static void note_live(void *user, const srv_asset_row *row)
{
	bool fresh;
	srv_digest_map_put(user, &row->good, &fresh);
	srv_digest_map_put(user, &row->last, &fresh);
}

typedef struct live_keys {
	digest_map keys;
	bool (*held)(void *user, const hob_sha256 *key);
	void *user;
} live_keys;

static bool is_live(void *user, const hob_sha256 *key)
{
	const live_keys *live = user;
	return srv_digest_map_find(&live->keys, key) != NULL || (live->held && live->held(live->user, key));
}

srv_store *srv_cook_cache_store_of(cook_cache *cache)
{
	return cache->store;
}

static void trim(cook_cache *cache, bool (*held)(void *user, const hob_sha256 *key), void *user)
{
	hob_error ignored;
	live_keys live = {.held = held, .user = user};
	srv_digest_map_init(&live.keys, 1);
	if (srv_store_each_asset(cache->store, note_live, &live.keys, &ignored))
		srv_store_trim(cache->store, is_live, &live);
	srv_digest_map_release(&live.keys);
}

void srv_cook_cache_close(cook_cache *cache, bool (*held)(void *user, const hob_sha256 *key), void *user)
{
	if (!cache)
		return;
	if (cache->guest) {
		srv_guest_close(cache->store);
	} else {
		trim(cache, held, user);
		srv_store_close(cache->store);
	}
	srv_digest_map_release(&cache->digests);
	pthread_mutex_destroy(&cache->lock);
	free(cache);
}

/* ---- digests of files */

static file_digest hash_now(int root_fd, const char *path)
{
	struct stat info;
	file_digest out = {.state = SRV_INPUT_UNKNOWN};
	char first[NAME_MAX + 1];
	srv_stat ignored;
	if (srv_spelling_is(hob_str_of(path))) {
		bool there = srv_spelling_ask(root_fd, hob_str_of(path), (hob_str){0}, first, &ignored, &out.digest);
		out.state = there ? SRV_INPUT_PRESENT : srv_is_passing(errno) ? SRV_INPUT_UNKNOWN : SRV_INPUT_MISSING;
		return out;
	}
	int fd = srv_open_beneath(root_fd, path, O_RDONLY, true);
	if (fd < 0) {
		out.state = srv_is_passing(errno) ? SRV_INPUT_UNKNOWN : SRV_INPUT_MISSING;
		return out;
	}
	bool known = fstat(fd, &info) == 0;
	/* A cook reads regular files only: everything else counts as missing. */
	if (known && !S_ISREG(info.st_mode))
		out.state = SRV_INPUT_MISSING;
	else if (known && srv_hash_rest(fd, NULL, &out.digest, NULL))
		out.state = SRV_INPUT_PRESENT;
	close(fd);
	return out;
}

static file_digest digest_of(cook_cache *cache, int root_fd, hob_str path)
{
	bool fresh = true;
	hob_sha256 name = hob_sha256_of((hob_bytes){(const uint8_t *)path.data, path.len});
	pthread_mutex_lock(&cache->lock);
	const file_digest *known = srv_digest_map_find(&cache->digests, &name);
	file_digest out = known ? *known : (file_digest){0};
	pthread_mutex_unlock(&cache->lock);
	if (known)
		return out;
	out = hash_now(root_fd, path.data);
	pthread_mutex_lock(&cache->lock);
	file_digest *kept = srv_digest_map_put(&cache->digests, &name, &fresh);
	if (kept)
		*kept = out;
	pthread_mutex_unlock(&cache->lock);
	return out;
}

bool srv_cook_cache_tell(cook_cache *cache, const char *path, const hob_sha256 *digest)
{
	bool fresh;
	hob_sha256 name = hob_sha256_of((hob_bytes){(const uint8_t *)path, strlen(path)});
	pthread_mutex_lock(&cache->lock);
	file_digest *kept = srv_digest_map_put(&cache->digests, &name, &fresh);
	if (kept)
		*kept = (file_digest){SRV_INPUT_PRESENT, *digest};
	pthread_mutex_unlock(&cache->lock);
	return kept != NULL;
}

void srv_cook_cache_forget(cook_cache *cache, const srv_result *result)
{
	pthread_mutex_lock(&cache->lock);
	for (uint32_t i = 0; i < result->dep_count; i++) {
		hob_str path = result->deps[i].path;
		hob_sha256 name = hob_sha256_of((hob_bytes){(const uint8_t *)path.data, path.len});
		srv_digest_map_remove(&cache->digests, &name);
	}
	pthread_mutex_unlock(&cache->lock);
}

/* ---- looking up */

void srv_cook_look_init(cook_look *look, int root_fd, const char *path, const hob_settings *settings)
{
	*look = (cook_look){.root_fd = root_fd,
						.path = path,
						.ingredients = {.settings = *settings, .profile = HOB_PROFILE_FINAL}};
	hob_arena_init(&look->arena, LOOK_ARENA);
}

void srv_cook_look_release(cook_look *look)
{
	srv_outcome_free(look->hit);
	hob_arena_release(&look->arena);
	hob_arena_release(&look->found);
}

bool srv_cook_look_source(cook_cache *cache, cook_look *look)
{
	file_digest source = digest_of(cache, look->root_fd, hob_str_of(look->path));
	look->source = source.digest;
	return source.state == SRV_INPUT_PRESENT;
}

void srv_cook_look_name(cook_look *look, const srv_pool_importer *importer)
{
	look->ingredients.importer = importer->name;
	look->ingredients.importer_version = importer->version;
	look->ingredients.library = importer->library;
	look->ingredients.extension = hob_path_extension(hob_str_of(look->path));
	look->lookup = hob_cook_lookup(&look->source, &look->ingredients);
}

void srv_cook_look_find(cook_cache *cache, cook_look *look, const srv_pool_importer *importer)
{
	hob_error ignored;
	srv_cook_look_name(look, importer);
	if (look->force || !srv_store_records(cache->store, &look->lookup, &look->arena, &look->kept,
										  &look->kept_count, &ignored))
		look->kept_count = 0;
}

typedef struct asking {
	cook_cache *cache;
	cook_look *look;
} asking;

static srv_input_state look_at_input(void *user, hob_str path, hob_sha256 *digest)
{
	asking *ask = user;
	hob_str joined;
	hob_error ignored;
	if (!hob_path_join(&ask->look->arena, hob_path_dir(hob_str_of(ask->look->path)), path, &joined, &ignored))
		return SRV_INPUT_UNKNOWN;
	file_digest now = digest_of(ask->cache, ask->look->root_fd, joined);
	*digest = now.digest;
	return now.state;
}

static bool read_blob(cook_cache *cache, const srv_record_output *output, hob_arena *arena, hob_bytes *out)
{
	uint8_t *data = hob_arena_alloc(arena, output->size + 1, 16);
	*out = (hob_bytes){data, output->size};
	return data && srv_blob_read(cache->store, &output->digest, data, output->size);
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

static bool fill(cook_cache *cache, const srv_record *record, bool only_report, srv_outcome *out)
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
		ok = output->name.data && read_blob(cache, &record->outputs[i], &out->arena, &output->bytes) && ok;
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

static srv_outcome *outcome_of(cook_cache *cache, hob_str model, const srv_record *record, bool only_report)
{
	srv_outcome *out = calloc(1, sizeof *out);
	if (!out)
		return NULL;
	*out = (srv_outcome){
		.ok = true, .has_result = true, .cook_ns = record->cook_ns, .peak_bytes = record->peak_bytes};
	hob_arena_init(&out->arena, SIZE_MAX);
	if (fill_deps(model, record, out) && fill(cache, record, only_report, out))
		return out;
	srv_outcome_free(out);
	return NULL;
}

void srv_cook_look_match(cook_cache *cache, cook_look *look)
{
	asking ask = {cache, look};
	look->match = NULL;
	for (uint32_t i = 0; i < look->kept_count && !look->match; i++) {
		srv_record *record = &look->kept[i];
		if (record->error.len == 0 && srv_kept_short_mib(record) == 0 &&
			srv_kept_holds(record, hob_str_of(look->path), look_at_input, &ask) &&
			(look->foreign ||
			 (look->hit = outcome_of(cache, hob_str_of(look->path), record, look->only_report))))
			look->match = record;
	}
}

bool srv_cook_look_adopt(cook_cache *cache, cook_look *look, hob_error *err)
{
	look->kept = look->match;
	look->kept_count = 1;
	look->foreign = false;
	return srv_store_put_record(cache->store, look->match, err) && srv_store_commit(cache->store, err);
}

/* ---- keeping */

srv_record_output *srv_cook_cache_store(cook_cache *cache, const srv_result *result, hob_arena *arena,
										hob_error *err)
{
	if (cache->guest)
		return NULL;
	srv_record_output *outputs = HOB_NEW(arena, srv_record_output, result->output_count);
	if (!outputs)
		(void)hob_fail_memory(err, arena, "outputs");
	uint32_t count;
	return outputs && srv_kept_store(cache->store, result, NULL, outputs, &count, err) ? outputs : NULL;
}

bool srv_cook_cache_keep(cook_cache *cache, const cook_look *look, srv_outcome *outcome,
						 srv_record_output *outputs, hob_sha256 *key, bool *kept, hob_error *err)
{
	*kept = false;
	const srv_result *result = &outcome->result;
	hob_str model = hob_str_of(look->path);
	/* The first dependency is the source. If it changed after it was hashed here, the result is not kept:
	 * only the worker would vouch for its key, which could be that of another file. */
	if (result->dep_count == 0 || !hob_str_equal(result->deps[0].path, model) || result->deps[0].missing ||
		!hob_sha256_equal(&result->deps[0].digest, &look->source) || result->stats.short_mib > 0)
		return true;
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	srv_record record = {.lookup = look->lookup,
						 .source = look->source,
						 .cook_ns = outcome->cook_ns,
						 .peak_bytes = outcome->peak_bytes,
						 .cooked_at_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000,
						 .outputs = outputs,
						 .output_count = result->output_count};
	hob_buf ingredients = {0};
	hob_ingredients_print(&look->ingredients, &ingredients);
	record.ingredients = hob_buf_str(&ingredients);
	bool ok = !ingredients.failed || hob_fail(err, MEMORY, "no memory left to keep a result");
	ok = ok && srv_kept_record(&outcome->arena, model, result, &record, err) &&
		 srv_store_put_record(cache->store, &record, err) && srv_store_commit(cache->store, err);
	*key = record.key;
	*kept = ok;
	hob_buf_release(&ingredients);
	return ok;
}

/* ---- parts */

int srv_cook_cache_part_get(cook_cache *cache, const uint8_t key[32])
{
	hob_sha256 part, blob;
	uint64_t size;
	memcpy(part.bytes, key, sizeof part.bytes);
	return srv_store_part(cache->store, &part, &blob) ? srv_blob_open(cache->store, &blob, &size) : -1;
}

bool srv_cook_cache_part_put(cook_cache *cache, const uint8_t key[32], hob_bytes bytes)
{
	hob_sha256 part, blob;
	hob_error ignored; /* a part that is not kept is made again */
	memcpy(part.bytes, key, sizeof part.bytes);
	return !cache->guest && srv_blob_put(cache->store, bytes, &blob, &ignored) &&
		   srv_store_put_part(cache->store, &part, &blob, &ignored);
}

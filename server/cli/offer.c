#include "offer.h"

#include "../fs/beneath.h"
#include "../fs/lock.h"
#include "../fs/remove_tree.h"
#include "../fs/transfer.h"
#include "../store/digest_map.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LIST_MAX = 512 << 20 };

typedef struct offer_file {
	hob_sha256 digest;
	const char *path;
	uint64_t size;
	bool fetched;
} offer_file;

struct offer {
	char folder[300];
	int root_fd;
	cJSON *json;
	offer_file *files;
	uint32_t file_count;
	digest_map by_path;	  /* hash of the path -> uint32_t */
	pthread_mutex_t lock; /* guards `fetched` and `blobs` */
	srv_farm *farm;
	void *blobs;
};

static hob_sha256 hash_of_path(hob_str path)
{
	return hob_sha256_of((hob_bytes){(const uint8_t *)path.data, path.len});
}

/* ---- fetching */

typedef struct reception {
	hob_hasher hasher;
	hob_buf *text; /* NULL: written to `fd` */
	int fd;
	uint64_t size, most;
} reception;

static bool take_piece(void *user, const void *data, size_t size)
{
	reception *r = user;
	r->size += size;
	if (r->size > r->most)
		return false;
	hob_hasher_put(&r->hasher, data, size);
	if (!r->text)
		return srv_write_all(r->fd, data, size);
	hob_buf_put(r->text, data, size);
	return !r->text->failed;
}

static bool receive(offer *o, const hob_sha256 *digest, reception *r, srv_farm_why *why)
{
	char name[SRV_FARM_BLOB_NAME];
	srv_farm_blob_name(digest, name);
	hob_hasher_init(&r->hasher);
	if (srv_farm_blobs_of(o->farm)->get(o->blobs, name, take_piece, r, why) != SRV_FARM_OK)
		return false;
	hob_sha256 found = hob_hasher_finish(&r->hasher);
	snprintf(why->text, sizeof why->text, "the farm has other bytes than those of '%.90s'", name);
	return hob_sha256_equal(&found, digest);
}

/* Fetches a listed file into the folder. Lock held. */
static bool fetch_file(offer *o, offer_file *file)
{
	static const char part[] = ".hob-part";
	srv_farm_why why = {""};
	if (file->fetched)
		return true;
	reception r = {.most = file->size,
				   .fd = openat(o->root_fd, part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)};
	bool ok = r.fd >= 0 && receive(o, &file->digest, &r, &why);
	ok = r.fd >= 0 && close(r.fd) == 0 && ok;
	file->fetched = ok && renameat(o->root_fd, part, o->root_fd, file->path) == 0;
	return file->fetched;
}

/* ---- the folder */

/* Whether hob_path_join would leave the path as it is, so that it stays below the root. */
static bool is_plain_path(const char *path)
{
	hob_own_arena arena;
	hob_str joined;
	hob_error ignored;
	hob_arena_init(&arena, 64 << 10);
	return path && strlen(path) < 4096 &&
		   hob_path_join(&arena, (hob_str){0}, hob_str_of(path), &joined, &ignored) &&
		   hob_str_equal(joined, hob_str_of(path));
}

static bool take_file(offer *o, const cJSON *item)
{
	const cJSON *size = cJSON_GetArrayItem(item, 1);
	const char *path = cJSON_GetStringValue(cJSON_GetArrayItem(item, 0)),
			   *digest = cJSON_GetStringValue(cJSON_GetArrayItem(item, 2));
	offer_file *file = &o->files[o->file_count];
	bool fresh = false;
	if (!is_plain_path(path) || !cJSON_IsNumber(size) || size->valuedouble < 0 || !digest ||
		!hob_sha256_parse(hob_str_of(digest), &file->digest))
		return false;
	int fd = srv_create_beneath(o->root_fd, path);
	if (fd < 0 || close(fd) != 0)
		return false;
	file->path = path;
	file->size = (uint64_t)size->valuedouble;
	hob_sha256 hash = hash_of_path(hob_str_of(path));
	uint32_t *at = srv_digest_map_put(&o->by_path, &hash, &fresh);
	if (at)
		*at = o->file_count++;
	return fresh;
}

static bool make_folder(offer *o, hob_error *err)
{
	const cJSON *files = cJSON_GetObjectItemCaseSensitive(o->json, "files"), *item;
	if (!srv_make_temporary("hob-offer", o->folder, err))
		return false;
	o->root_fd = open(o->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	o->files = calloc((size_t)cJSON_GetArraySize(files) + 1, sizeof *o->files);
	if (o->root_fd < 0 || !o->files)
		return hob_fail(err, MEMORY, "no memory left for the files of an offer");
	cJSON_ArrayForEach(item, files)
	{
		if (!take_file(o, item))
			return hob_fail(err, CORRUPT, "an offer lists a file that cannot be: %.90s",
							cJSON_IsString(item->child) ? item->child->valuestring : "without a name");
	}
	return true;
}

bool srv_offer_open(srv_farm *farm, const hob_sha256 *list, offer **out, hob_error *err)
{
	srv_farm_why why = {""};
	hob_own_buf text = {0};
	offer *o = calloc(1, sizeof *o);
	if (!o)
		return hob_fail(err, MEMORY, "no memory left for an offer");
	pthread_mutex_init(&o->lock, NULL);
	srv_digest_map_init(&o->by_path, sizeof(uint32_t));
	o->root_fd = -1;
	o->farm = farm;
	o->blobs = srv_farm_blobs_open(farm, &why);
	reception r = {.text = &text, .most = LIST_MAX};
	bool ok = (o->blobs && receive(o, list, &r, &why)) || hob_fail(err, IO, "%s", why.text);
	o->json = ok ? cJSON_ParseWithLength((const char *)text.data, text.size) : NULL;
	ok = ok && ((o->json && cJSON_GetObjectItemCaseSensitive(o->json, "hob_offer")) ||
				hob_fail(err, CORRUPT, "a list of offered models is none"));
	if (!ok || !make_folder(o, err)) {
		srv_offer_close(o);
		return false;
	}
	*out = o;
	return true;
}

void srv_offer_close(offer *o)
{
	if (!o)
		return;
	if (o->blobs)
		srv_farm_blobs_of(o->farm)->close(o->blobs);
	if (o->root_fd >= 0)
		close(o->root_fd);
	if (o->folder[0])
		srv_remove_tree(o->folder);
	srv_digest_map_release(&o->by_path);
	pthread_mutex_destroy(&o->lock);
	free(o->files);
	cJSON_Delete(o->json);
	free(o);
}

/* ---- cooking */

static bool read_settings(const cJSON *json, hob_settings *out, hob_error *err)
{
	hob_own char *text = cJSON_IsObject(json) ? cJSON_PrintUnformatted(json) : NULL;
	hob_settings_init(out);
	return text && hob_settings_overlay(out, hob_str_of(text), HOB_STR("an offer"), err);
}

/* Adds a model, unless it is not listed or its settings come from another version of Hob. */
static bool add_model(cook_plan *plan, const cJSON *model, const cJSON *settings, hob_error *err)
{
	hob_error ignored;
	cook_entry read;
	const char *path = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(model, "path")),
			   *lookup = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(model, "lookup"));
	const cJSON *place = cJSON_GetObjectItemCaseSensitive(model, "settings");
	if (!is_plain_path(path) || !lookup || !hob_sha256_parse(hob_str_of(lookup), &read.offered) ||
		!cJSON_IsNumber(place) ||
		!read_settings(cJSON_GetArrayItem(settings, place->valueint), &read.settings, &ignored))
		return true;
	cook_entry *entry = srv_cook_plan_add(plan, path, err);
	if (!entry)
		return false;
	entry->offered = read.offered;
	entry->settings = read.settings;
	return true;
}

bool srv_offer_plan(offer *o, cook_plan *out, hob_error *err)
{
	const cJSON *models = cJSON_GetObjectItemCaseSensitive(o->json, "models"), *model;
	const cJSON *settings = cJSON_GetObjectItemCaseSensitive(o->json, "settings");
	*out = (cook_plan){.root = o->folder, .root_fd = fcntl(o->root_fd, F_DUPFD_CLOEXEC, 0)};
	hob_arena_init(&out->memory, SIZE_MAX);
	bool ok = out->root_fd >= 0 || hob_fail(err, MEMORY, "no memory left for an offer");
	cJSON_ArrayForEach(model, models) ok = ok && add_model(out, model, settings, err);
	if (!ok)
		srv_cook_plan_release(out);
	return ok;
}

bool srv_offer_tell(const offer *o, srv_engine *engine)
{
	bool ok = true;
	for (uint32_t i = 0; i < o->file_count; i++)
		ok = srv_batch_tell(engine, o->files[i].path, &o->files[i].digest) && ok;
	return ok;
}

static offer_file *file_of(const offer *o, hob_str path)
{
	hob_sha256 hash = hash_of_path(path);
	const uint32_t *at = srv_digest_map_find(&o->by_path, &hash);
	return at ? &o->files[*at] : NULL;
}

/* The next file that this cook lacked, NULL at the end; *at is 0 for the first. If the worker died, only the
 * files it asked for are known. */
static offer_file *next_lack(const offer *o, const srv_outcome *outcome, uint32_t *at)
{
	uint32_t count = outcome->has_result ? outcome->result.dep_count : outcome->touched_count;
	while (*at < count) {
		uint32_t i = (*at)++;
		const srv_dep *dep = outcome->has_result ? &outcome->result.deps[i] : NULL;
		offer_file *file = file_of(o, dep ? dep->path : outcome->touched[i]);
		if (file && (dep ? dep->missing || !hob_sha256_equal(&dep->digest, &file->digest) : !file->fetched))
			return file;
	}
	return NULL;
}

bool srv_offer_lacks(const offer *o, const srv_outcome *outcome)
{
	uint32_t at = 0;
	return next_lack(o, outcome, &at) != NULL;
}

static bool is_beside(hob_str model, hob_str path)
{
	size_t stem = model.len - hob_path_extension(model).len;
	return path.len > stem && memcmp(path.data, model.data, stem) == 0 &&
		   hob_path_extension(path).len == path.len - stem;
}

bool srv_offer_bring(offer *o, const char *model, const srv_outcome *outcome)
{
	bool ok = true;
	uint32_t at = 0;
	SRV_LOCKED(&o->lock);
	for (offer_file *file; ok && outcome && (file = next_lack(o, outcome, &at));)
		ok = fetch_file(o, file);
	for (uint32_t i = 0; ok && !outcome && i < o->file_count; i++)
		if (is_beside(hob_str_of(model), hob_str_of(o->files[i].path)))
			ok = fetch_file(o, &o->files[i]);
	return ok;
}

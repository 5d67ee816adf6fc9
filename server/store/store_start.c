#include "store_internal.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* The file: this head, then blobs, parts, files, recipes and assets; each is a row as below, followed by its texts. Only the
 * program and the machine that wrote it can read it. */
enum { START_FORMAT = 3 };
static const char file_name[] = "index.start";

typedef struct start_head {
	char magic[8];
	uint32_t format, schema;
	srv_stat index; /* index.db when it was closed */
	uint64_t size, hash[2];
	uint64_t last_job, last_rev, recipe_count;
	uint64_t blob_capacity, blobs, parts, files, recipes, assets;
	uint64_t files_at, recipes_at, assets_at;
} start_head;

typedef struct start_blob {
	hob_sha256 digest;
	uint64_t size;
	uint32_t used_at_s, saved_at_s, suspect, unused;
	srv_pack_place place;
} start_blob;

typedef struct start_part {
	hob_sha256 key, blob;
	uint32_t used_at_s, saved_at_s;
} start_part;

typedef struct start_file {
	srv_stat stat;
	hob_sha256 digest;
	uint32_t root, path; /* bytes */
} start_file;

typedef struct start_asset {
	hob_sha256 good, last;
	uint64_t rev;
	int64_t cooked_at_ms;
	uint64_t good_at, last_at;		   /* recipes, in the file; 0: there is none */
	uint32_t root, path, state, error; /* bytes */
} start_asset;

typedef struct start_recipe {
	hob_sha256 key, lookup, source;
	uint64_t cook_ns, peak_bytes;
	int64_t cooked_at_ms;
	uint64_t ingredients_at; /* in the file: many recipes have the same */
	uint32_t file_name, ingredients, stats, error;
	uint32_t warnings, deps, outputs, whole;
} start_recipe;

typedef struct start_dep {
	hob_sha256 digest;
	uint32_t path, missing;
} start_dep;

typedef struct start_output {
	hob_sha256 digest;
	uint64_t size;
	uint32_t name, unused;
} start_output;

/* ---- writing */

typedef struct writer {
	srv_store *store;
	hob_buf out, assets;
	start_head head;
	digest_map wanted; /* of the recipes that assets name: uint64_t, their place in `out`; 0: missing */
	size_t ingredients_at, ingredients_end; /* the newest in `out` */
} writer;

static void put_blobs(srv_store *store, writer *w)
{
	hob_sha256 digest;
	pthread_mutex_lock(&store->blob_lock);
	w->head.blob_capacity = store->blobs.capacity;
	for (size_t at = 0;;) {
		const blob_entry *entry = srv_digest_map_next(&store->blobs, &at, &digest);
		if (!entry)
			break;
		start_blob row = {digest,		  entry->size, entry->used_at_s, entry->saved_at_s,
						  entry->suspect, 0,		   entry->place};
		hob_buf_put(&w->out, &row, sizeof row);
		w->head.blobs++;
	}
	pthread_mutex_unlock(&store->blob_lock);
}

static void put_parts(srv_store *store, writer *w)
{
	hob_sha256 key;
	pthread_mutex_lock(&store->part_lock);
	for (size_t at = 0;;) {
		const part_entry *entry = srv_digest_map_next(&store->parts, &at, &key);
		if (!entry)
			break;
		start_part row = {key, entry->blob, entry->used_at_s, entry->saved_at_s};
		hob_buf_put(&w->out, &row, sizeof row);
		w->head.parts++;
	}
	pthread_mutex_unlock(&store->part_lock);
}

static void put_file(void *user, const srv_file_row *file)
{
	writer *w = user;
	start_file row = {file->stat, file->digest, (uint32_t)file->root.len, (uint32_t)file->path.len};
	hob_buf_put(&w->out, &row, sizeof row);
	hob_buf_put_str(&w->out, file->root);
	hob_buf_put_str(&w->out, file->path);
	w->head.files++;
}

static void put_asset(void *user, const srv_asset_row *asset)
{
	writer *w = user;
	bool fresh;
	start_asset row = {.good = asset->good,
					   .last = asset->last,
					   .rev = asset->rev,
					   .cooked_at_ms = asset->cooked_at_ms,
					   .root = (uint32_t)asset->root.len,
					   .path = (uint32_t)asset->path.len,
					   .state = (uint32_t)asset->state.len,
					   .error = (uint32_t)asset->error.len};
	hob_buf_put(&w->assets, &row, sizeof row);
	hob_buf_put_str(&w->assets, asset->root);
	hob_buf_put_str(&w->assets, asset->path);
	hob_buf_put_str(&w->assets, asset->state);
	hob_buf_put_str(&w->assets, asset->error);
	if (!srv_digest_map_put(&w->wanted, &asset->good, &fresh) ||
		!srv_digest_map_put(&w->wanted, &asset->last, &fresh))
		w->out.failed = true;
	w->head.assets++;
}

static void put_recipe(void *user, const srv_recipe *recipe)
{
	writer *w = user;
	uint64_t *place = srv_digest_map_find(&w->wanted, &recipe->key);
	if (!place || w->out.failed)
		return;
	*place = w->out.size;
	bool same = w->ingredients_at > 0 &&
				hob_str_equal(hob_str_sub(hob_buf_str(&w->out), w->ingredients_at, w->ingredients_end),
							  recipe->ingredients);
	start_recipe row = {.key = recipe->key,
						.lookup = recipe->lookup,
						.source = recipe->source,
						.cook_ns = recipe->cook_ns,
						.peak_bytes = recipe->peak_bytes,
						.cooked_at_ms = recipe->cooked_at_ms,
						.ingredients_at = same ? w->ingredients_at : w->out.size + sizeof row,
						.file_name = (uint32_t)recipe->file_name.len,
						.ingredients = (uint32_t)recipe->ingredients.len,
						.stats = (uint32_t)recipe->stats.len,
						.error = (uint32_t)recipe->error.len,
						.warnings = recipe->warnings,
						.deps = recipe->dep_count,
						.outputs = recipe->output_count,
						.whole = true};
	for (uint32_t i = 0; i < recipe->output_count; i++)
		row.whole = row.whole && srv_blob_known(w->store, &recipe->outputs[i].digest);
	hob_buf_put(&w->out, &row, sizeof row);
	if (!same)
		hob_buf_put_str(&w->out, recipe->ingredients);
	w->ingredients_at = row.ingredients_at;
	w->ingredients_end = row.ingredients_at + row.ingredients;
	hob_buf_put_str(&w->out, recipe->file_name);
	hob_buf_put_str(&w->out, recipe->stats);
	hob_buf_put_str(&w->out, recipe->error);
	for (uint32_t i = 0; i < recipe->dep_count; i++) {
		const srv_recipe_dep *dep = &recipe->deps[i];
		start_dep each = {dep->digest, (uint32_t)dep->path.len, dep->missing};
		hob_buf_put(&w->out, &each, sizeof each);
		hob_buf_put_str(&w->out, dep->path);
	}
	for (uint32_t i = 0; i < recipe->output_count; i++) {
		const srv_recipe_output *output = &recipe->outputs[i];
		start_output each = {output->digest, output->size, (uint32_t)output->name.len, 0};
		hob_buf_put(&w->out, &each, sizeof each);
		hob_buf_put_str(&w->out, output->name);
	}
	w->head.recipes++;
}

static uint64_t place_of(const writer *w, const hob_sha256 *key)
{
	const uint64_t *place = srv_digest_map_find(&w->wanted, key);
	return place ? *place : 0;
}

/* After the recipes, because assets store the places of recipes. */
static void put_collected_assets(writer *w)
{
	for (size_t at = 0; at < w->assets.size && !w->assets.failed;) {
		start_asset row;
		memcpy(&row, w->assets.data + at, sizeof row);
		row.good_at = place_of(w, &row.good);
		row.last_at = place_of(w, &row.last);
		memcpy(w->assets.data + at, &row, sizeof row);
		at += sizeof row + row.root + row.path + row.state + row.error;
	}
	hob_buf_put_str(&w->out, hob_buf_str(&w->assets));
	w->out.failed = w->out.failed || w->assets.failed;
}

bool srv_store_start_collect(srv_store *store, hob_buf *out)
{
	writer w = {.store = store, .head = {.magic = "HobStart", .format = START_FORMAT}};
	hob_error err;
	srv_digest_map_init(&w.wanted, sizeof(uint64_t));
	hob_buf_put(&w.out, &w.head, sizeof w.head);
	put_blobs(store, &w);
	put_parts(store, &w);
	srv_store_read_begin(store);
	w.head.files_at = w.out.size;
	bool ok =
		srv_store_each_file(store, put_file, &w, &err) && srv_store_each_asset(store, put_asset, &w, &err);
	w.head.recipes_at = w.out.size;
	ok = ok && srv_store_each_recipe(store, put_recipe, &w, &err);
	srv_store_read_end(store);
	w.head.assets_at = w.out.size;
	put_collected_assets(&w);
	hob_buf_release(&w.assets);
	srv_digest_map_release(&w.wanted);
	w.head.schema = (uint32_t)srv_store_schema_version();
	w.head.last_job = store->last_job;
	w.head.last_rev = store->last_rev;
	w.head.recipe_count = atomic_load(&store->recipe_count);
	w.head.size = w.out.size;
	if (!ok || w.out.failed) {
		hob_buf_release(&w.out);
		return false;
	}
	memcpy(w.out.data, &w.head, sizeof w.head);
	*out = w.out;
	return true;
}

static bool stat_index(srv_store *store, srv_stat *out)
{
	struct stat info;
	if (fstatat(store->dir_fd, "index.db-wal", &info, AT_SYMLINK_NOFOLLOW) == 0 && info.st_size > 0)
		return false;
	if (fstatat(store->dir_fd, "index.db", &info, AT_SYMLINK_NOFOLLOW) != 0)
		return false;
	*out = srv_stat_of(&info);
	return true;
}

/* Over the head, with this field zero, and the rest. */
static void hash_of(const start_head *head, const uint8_t *data, size_t size, uint64_t out[2])
{
	uint64_t parts[4];
	start_head blank = *head;
	memset(blank.hash, 0, sizeof blank.hash);
	hob_fast_hash((hob_bytes){(const uint8_t *)&blank, sizeof blank}, parts);
	hob_fast_hash((hob_bytes){data + sizeof blank, size - sizeof blank}, parts + 2);
	hob_fast_hash((hob_bytes){(const uint8_t *)parts, sizeof parts}, out);
}

void srv_store_start_drop(srv_store *store)
{
	unlinkat(store->dir_fd, file_name, 0);
}

void srv_store_start_write(srv_store *store, const hob_buf *rows)
{
	enum { LEAVE_FREE = 64 << 20 };
	start_head head;
	char name[STORE_TEMPORARY];
	struct statvfs disk;
	memcpy(&head, rows->data, sizeof head);
	bool room =
		fstatvfs(store->dir_fd, &disk) == 0 && disk.f_bavail * disk.f_frsize > rows->size + LEAVE_FREE;
	if (!room || !stat_index(store, &head.index))
		return;
	hash_of(&head, rows->data, rows->size, head.hash);
	int fd = srv_store_temporary(store, name);
	bool ok = fd >= 0 && srv_store_write_all(fd, &head, sizeof head) &&
			  srv_store_write_all(fd, rows->data + sizeof head, rows->size - sizeof head) &&
			  renameat(store->tmp_fd, name, store->dir_fd, file_name) == 0;
	if (fd >= 0 && !ok)
		unlinkat(store->tmp_fd, name, 0);
	if (fd >= 0)
		close(fd);
}

/* ---- reading */

bool srv_store_start_open(srv_store *store)
{
	struct stat info;
	srv_stat index;
	uint64_t hash[2];
	int fd = openat(store->dir_fd, file_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return false;
	bool fits = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size >= (off_t)sizeof(start_head);
	size_t size = fits ? (size_t)info.st_size : 0;
	void *at = fits ? mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0) : MAP_FAILED;
	close(fd);
	if (at == MAP_FAILED)
		return false;
	store->start = (store_start){.data = at, .size = size, .at = sizeof(start_head)};
	start_head head;
	memcpy(&head, at, sizeof head);
	hash_of(&head, at, size, hash);
	bool good = memcmp(head.magic, "HobStart", sizeof head.magic) == 0 && head.format == START_FORMAT &&
				head.schema == (uint32_t)srv_store_schema_version() && head.size == size &&
				memcmp(hash, head.hash, sizeof hash) == 0 && stat_index(store, &index) &&
				srv_stat_equal(&index, &head.index);
	if (!good)
		srv_store_start_close(store);
	return good;
}

void srv_store_start_close(srv_store *store)
{
	if (store->start.data)
		munmap(store->start.data, store->start.size);
	store->start = (store_start){0};
}

static start_head head_of(const store_start *start)
{
	start_head head;
	memcpy(&head, start->data, sizeof head);
	return head;
}

/* The bytes are those that were written, so reading past their end is a bug in this file. */
static const uint8_t *take(store_start *start, size_t size)
{
	assert(size <= start->size - start->at);
	start->at += size;
	return start->data + start->at - size;
}

static hob_str take_str(store_start *start, uint32_t len)
{
	return (hob_str){(const char *)take(start, len), len};
}

#define TAKE(start, row) memcpy(&(row), take((start), sizeof(row)), sizeof(row))

static bool read_blobs(srv_store *store, const start_head *head)
{
	bool fresh;
	if (!srv_digest_map_reserve(&store->blobs, head->blob_capacity))
		return false;
	for (uint64_t i = 0; i < head->blobs; i++) {
		start_blob row;
		TAKE(&store->start, row);
		blob_entry *entry = srv_digest_map_put(&store->blobs, &row.digest, &fresh);
		if (!entry)
			return false;
		*entry = (blob_entry){.size = row.size,
							  .used_at_s = row.used_at_s,
							  .saved_at_s = row.saved_at_s,
							  .suspect = row.suspect,
							  .place = row.place};
		store->blob_bytes += row.size;
	}
	return true;
}

bool srv_store_start_read(srv_store *store, hob_error *err)
{
	start_head head = head_of(&store->start);
	bool ok = read_blobs(store, &head), fresh;
	for (uint64_t i = 0; ok && i < head.parts; i++) {
		start_part row;
		TAKE(&store->start, row);
		part_entry *entry = srv_digest_map_put(&store->parts, &row.key, &fresh);
		ok = entry;
		if (entry)
			*entry = (part_entry){row.blob, row.used_at_s, row.saved_at_s};
	}
	store->last_job = head.last_job;
	store->last_rev = head.last_rev;
	atomic_store(&store->recipe_count, head.recipe_count);
	return ok || hob_fail(err, MEMORY, "no memory left for the tables of blobs and parts");
}

bool srv_store_has_start(const srv_store *store)
{
	return store->start.data && !atomic_load(&store->marked);
}

void srv_store_start_files(srv_store *store, void (*each)(void *user, const srv_file_row *row), void *user)
{
	store_start *start = &store->start;
	start_head head = head_of(start);
	start->at = head.files_at;
	for (uint64_t i = head.files; i > 0; i--) {
		start_file row;
		TAKE(start, row);
		hob_str root = take_str(start, row.root), path = take_str(start, row.path);
		each(user, &(srv_file_row){root, path, row.stat, row.digest});
	}
}

void srv_store_start_assets(srv_store *store, void (*each)(void *user, const srv_asset_row *row), void *user)
{
	store_start *start = &store->start;
	start_head head = head_of(start);
	start->at = head.assets_at;
	for (uint64_t i = head.assets; i > 0; i--) {
		start_asset row;
		TAKE(start, row);
		srv_asset_row asset = {.rev = row.rev,
							   .good = row.good,
							   .last = row.last,
							   .cooked_at_ms = row.cooked_at_ms,
							   .good_place = row.good_at,
							   .last_place = row.last_at,
							   .root = take_str(start, row.root),
							   .path = take_str(start, row.path),
							   .state = take_str(start, row.state),
							   .error = take_str(start, row.error)};
		each(user, &asset);
	}
}

static bool take_recipe(store_start *start, hob_arena *arena, srv_recipe *out, bool *whole)
{
	start_recipe row;
	TAKE(start, row);
	assert(row.ingredients_at <= start->at && row.ingredients <= start->size - row.ingredients_at);
	*out = (srv_recipe){.key = row.key,
						.lookup = row.lookup,
						.source = row.source,
						.ingredients = {(const char *)start->data + row.ingredients_at, row.ingredients},
						.warnings = row.warnings,
						.cook_ns = row.cook_ns,
						.peak_bytes = row.peak_bytes,
						.cooked_at_ms = row.cooked_at_ms,
						.dep_count = row.deps,
						.output_count = row.outputs};
	*whole = row.whole;
	if (row.ingredients_at == start->at)
		take(start, row.ingredients);
	out->file_name = take_str(start, row.file_name);
	out->stats = take_str(start, row.stats);
	out->error = take_str(start, row.error);
	out->deps = HOB_NEW(arena, srv_recipe_dep, row.deps);
	out->outputs = HOB_NEW(arena, srv_recipe_output, row.outputs);
	for (uint32_t i = 0; out->deps && i < row.deps; i++) {
		start_dep dep;
		TAKE(start, dep);
		out->deps[i] = (srv_recipe_dep){take_str(start, dep.path), dep.missing, dep.digest};
	}
	for (uint32_t i = 0; out->outputs && i < row.outputs; i++) {
		start_output output;
		TAKE(start, output);
		out->outputs[i] = (srv_recipe_output){take_str(start, output.name), output.digest, output.size};
	}
	return out->deps && out->outputs;
}

bool srv_store_start_recipes(srv_store *store, void (*each)(void *user, const srv_recipe *recipe), void *user,
							 hob_error *err)
{
	store_start *start = &store->start;
	hob_arena arena;
	bool ok = true;
	start_head head = head_of(start);
	start->at = head.recipes_at;
	hob_arena_init(&arena, SIZE_MAX);
	hob_arena_alloc(&arena, 1, 1); /* its first block stays */
	for (uint64_t i = head.recipes; ok && i > 0; i--) {
		hob_arena_mark mark = hob_arena_save(&arena);
		srv_recipe recipe;
		bool whole;
		ok = take_recipe(start, &arena, &recipe, &whole) || hob_fail_memory(err, &arena, "a recipe");
		if (ok)
			each(user, &recipe);
		hob_arena_restore(&arena, mark);
	}
	hob_arena_release(&arena);
	return ok;
}

bool srv_store_recipe_at(srv_store *store, uint64_t place, hob_arena *arena, srv_recipe *out, bool *whole,
						 hob_error *err)
{
	assert(place >= sizeof(start_head) && place < store->start.size);
	size_t at = store->start.at;
	store->start.at = place;
	bool ok = take_recipe(&store->start, arena, out, whole) || hob_fail_memory(err, arena, "a recipe");
	store->start.at = at;
	return ok;
}

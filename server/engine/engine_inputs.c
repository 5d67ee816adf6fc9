#include "engine_private.h"

#include "../cook/inputs.h"
#include "../log/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HASH_HERE_BYTES = 64 << 10 };

/* ---- settings of one asset */

static bool asset_settings(srv_engine *engine, const asset *a, hob_settings *out, hob_error *err)
{
	char name[PATH_MAX];
	*out = engine->root_settings[a->root];
	if (srv_graph_settings(engine->graph) == 0)
		return true;
	int length = snprintf(name, sizeof name, "%s.cook.json", a->path);
	uint32_t sidecar =
		length < (int)sizeof name ? srv_graph_find(engine->graph, a->root, hob_str_of(name)) : HOB_NONE;
	bool has_sidecar = sidecar != HOB_NONE && srv_graph_at(engine->graph, sidecar)->exists;
	return srv_settings_resolve(engine->settings_caches[a->root], engine->root_fds[a->root],
								&engine->root_settings[a->root], hob_str_of(a->path), has_sidecar, out, err);
}

bool srv_asset_ingredients(srv_engine *engine, asset *a, hob_arena *arena, hob_ingredients *out,
						   hob_error *err)
{
	*out = (hob_ingredients){.importer = a->importer->name,
							 .importer_version = a->importer->version,
							 .library = a->importer->library,
							 .extension = hob_arena_str(arena, hob_path_extension(hob_str_of(a->path))),
							 .profile = HOB_PROFILE_FINAL};
	return asset_settings(engine, a, &out->settings, err);
}

static bool is_printed(const known_ingredients *known, const hob_ingredients *of)
{
	return known->text.size > 0 && hob_str_equal(known->of.importer, of->importer) &&
		   hob_str_equal(known->of.library, of->library) &&
		   known->of.importer_version == of->importer_version &&
		   hob_str_equal(known->of.extension, of->extension) && known->of.profile == of->profile &&
		   memcmp(&known->of.settings, &of->settings, sizeof of->settings) == 0;
}

/* Keeps the last text: printing costs more than using it, and most assets have the same settings. */
static const known_ingredients *print_ingredients(srv_engine *engine, const hob_ingredients *of)
{
	known_ingredients *known = &engine->printed;
	if (is_printed(known, of))
		return known;
	hob_buf_clear(&known->text);
	hob_ingredients_print(of, &known->text);
	hob_fast_hash((hob_bytes){known->text.data, known->text.size}, known->hash);
	bool fits = of->extension.len < sizeof known->extension && !known->text.failed;
	memcpy(&known->of, of, sizeof *of);
	known->of.extension = hob_str_of(known->extension);
	snprintf(known->extension, sizeof known->extension, "%.*s", HOB_FMT(of->extension));
	known->of.importer = fits ? of->importer : (hob_str){0};
	return known;
}

hob_str srv_engine_ingredients_text(srv_engine *engine, const hob_ingredients *of)
{
	return hob_buf_str(&print_ingredients(engine, of)->text);
}

/* True if source and settings give the same look-up key as for `last`. */
static bool asks_for_last(srv_engine *engine, const asset *a, const hob_sha256 *source,
						  const hob_ingredients *ingredients)
{
	const known_ingredients *known = print_ingredients(engine, ingredients);
	if (memcmp(known->hash, a->last_ingredients, sizeof a->last_ingredients) == 0)
		return hob_sha256_equal(source, &a->last_source);
	hob_sha256 lookup = hob_recipe_lookup(source, ingredients);
	return hob_sha256_equal(&lookup, &a->last_lookup);
}

bool srv_asset_is_current(srv_engine *engine, asset *a)
{
	srv_file *source = srv_graph_at(engine->graph, a->file);
	if (!a->has_last || !a->importer || !source->has_digest)
		return false;
	hob_arena_mark mark = hob_arena_save(&engine->scratch);
	hob_ingredients ingredients;
	hob_error error;
	bool current = srv_asset_ingredients(engine, a, &engine->scratch, &ingredients, &error) &&
				   asks_for_last(engine, a, &source->digest, &ingredients);
	hob_arena_restore(&engine->scratch, mark);
	for (uint32_t i = 0; current && i < a->input_count; i++) {
		const asset_input *input = &a->inputs[i];
		const srv_file *file = srv_graph_at(engine->graph, input->file);
		current =
			srv_input_holds((srv_input_then){input->missing, &input->digest},
							(srv_input_now){file->exists, file->exists && file->has_digest, &file->digest});
	}
	return current;
}

/* ---- digests */

static void hash_open_file(hash_item *item, int fd, const atomic_bool *stop)
{
	enum { CHUNK = 256 << 10 };
	uint8_t *bytes = malloc(CHUNK);
	hob_hasher hasher;
	hob_hasher_init(&hasher);
	ssize_t got = -1;
	while (bytes && !atomic_load(stop) && (got = read(fd, bytes, CHUNK)) > 0)
		hob_hasher_put(&hasher, bytes, (size_t)got);
	item->why = !bytes ? ENOMEM : got < 0 ? errno : got > 0 ? ECANCELED : 0;
	item->digest = hob_hasher_finish(&hasher);
	item->found = item->why == 0;
	free(bytes);
}

static void hash_file(hash_item *item, const atomic_bool *stop)
{
	struct stat info;
	item->read_at_ms = srv_engine_now_ms();
	int fd = srv_open_beneath(item->root_fd, item->path, O_RDONLY, true);
	if (fd < 0 || fstat(fd, &info) != 0) {
		item->why = errno;
	} else if (S_ISREG(info.st_mode)) {
		item->too_large = (uint64_t)info.st_size > item->most;
		item->unfinished = !item->too_large && srv_is_being_written(fd, &info);
		item->stat = srv_stat_of(&info);
		if (!item->unfinished && !item->too_large)
			hash_open_file(item, fd, stop);
	}
	if (fd >= 0)
		close(fd);
}

static void hash_work(uv_work_t *work)
{
	engine_job *job = work->data;
	for (uint32_t i = 0; i < job->hash_count; i++)
		hash_file(&job->hashes[i], &job->engine->stop_work);
}

static void store_file(srv_engine *engine, uint32_t file)
{
	srv_file *f = srv_graph_at(engine->graph, file);
	srv_file_row row = {engine->roots[f->root].name, f->path, f->stat, f->digest};
	hob_error error;
	if (!srv_store_put_file(engine->store, &row, &error))
		srv_log(SRV_LOG_ERROR, "store", "%s", error.context);
	engine->publish.rows = true;
}

static bool has_whole_seconds(const srv_stat *stat)
{
	return stat->mtime_ns % 1000000000 == 0 && stat->ctime_ns % 1000000000 == 0;
}

/* A second write within one tick of the file system's clock does not change the stat data. */
static bool is_too_new(const srv_stat *stat, int64_t read_at_ms)
{
	int64_t tick_ms = has_whole_seconds(stat) ? 2000 : 20;
	int64_t newest_ns = stat->mtime_ns > stat->ctime_ns ? stat->mtime_ns : stat->ctime_ns;
	return newest_ns / 1000000 + tick_ms >= read_at_ms;
}

void srv_engine_store_file(srv_engine *engine, uint32_t file, int64_t read_at_ms)
{
	const srv_file *f = srv_graph_at(engine->graph, file);
	if (!is_too_new(&f->stat, read_at_ms)) {
		store_file(engine, file);
		return;
	}
	if (!HOB_ROOM(engine->young, engine->young_capacity, engine->young_count))
		return;
	engine->young[engine->young_count++] = (young_file){file, f->changed, uv_now(engine->loop)};
}

void srv_engine_keep_young(srv_engine *engine)
{
	enum { WAIT_MS = 2500 };
	uint32_t kept = 0;
	for (uint32_t i = 0; i < engine->young_count; i++) {
		young_file young = engine->young[i];
		srv_file *f = srv_graph_at(engine->graph, young.file);
		if (uv_now(engine->loop) < young.since + WAIT_MS) {
			engine->young[kept++] = young;
		} else if (f->has_digest && f->changed == young.changed) {
			bool told = strcmp(engine->roots[f->root].mode, "inotify") == 0;
			if (told || !has_whole_seconds(&f->stat)) {
				store_file(engine, young.file);
			} else {
				f->has_digest = false;
				f->changed = ++engine->tick;
				srv_engine_tell_others(engine, young.file, HOB_NONE);
			}
		}
	}
	engine->young_count = kept;
}

void srv_engine_wait_for_writer(engine_job *job)
{
	srv_engine *engine = job->engine;
	srv_asset_next again = {.id = job->id,
							.queued_at_ms = job->queued_at_ms,
							.priority = job->priority,
							.force = job->force,
							.why = job->reasons,
							.why_count = job->reason_count};
	srv_engine_apply(engine, job->asset,
					 (srv_asset_event){.kind = SRV_ASSET_HALF_WRITTEN, .taken = &again, .force = job->force});
	if (engine->assets[job->asset].life.state == SRV_ASSET_WRITER)
		job->reasons = (hob_buf){0};
	srv_job_end(job);
}

bool srv_engine_is_open_for_writing(srv_engine *engine, uint32_t root, hob_str path)
{
	struct stat info;
	char name[PATH_MAX];
	if (path.len >= sizeof name)
		return false;
	memcpy(name, path.data, path.len);
	name[path.len] = 0;
	int fd = srv_open_beneath(engine->root_fds[root], name, O_RDONLY, true);
	bool open = fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && srv_is_being_written(fd, &info);
	if (fd >= 0)
		close(fd);
	return open;
}

static void hash_done(uv_work_t *work, int status)
{
	(void)status;
	engine_job *job = work->data;
	srv_engine *engine = job->engine;
	uint32_t *again = HOB_NEW(&job->arena, uint32_t, job->hash_count);
	uint32_t again_count = 0;
	bool unfinished = false;
	hob_error trouble = {0};
	for (uint32_t i = 0; again && i < job->hash_count; i++) {
		hash_item *item = &job->hashes[i];
		srv_file *f = srv_graph_at(engine->graph, item->file);
		/* An event came during the hashing, so these may be the older bytes. */
		if (f->changed != item->changed) {
			again[again_count++] = item->file;
			continue;
		}
		if (srv_is_passing(item->why)) {
			hob_fail(&trouble, IO, "'%s' cannot be read: %s", item->path, strerror(item->why));
			continue;
		}
		if (item->unfinished) {
			unfinished = true;
			continue;
		}
		bool there = item->found || item->too_large;
		bool news = f->exists != there || (there && !srv_stat_equal(&f->stat, &item->stat));
		f->exists = there;
		f->has_digest = item->found;
		if (news) {
			f->changed = ++engine->tick;
			srv_engine_tell_others(engine, item->file, job->asset);
		}
		if (there)
			f->stat = item->stat;
		if (item->found) {
			f->digest = item->digest;
			engine->counters.hashed_bytes += item->stat.size;
			srv_engine_store_file(engine, item->file, item->read_at_ms);
		}
	}
	job->hash_count = 0;
	if (job->abandoned || engine->closing) {
		srv_job_end(job);
	} else if (trouble.code != HOB_ERR_OK) {
		srv_job_fail(job, &trouble);
	} else if (unfinished) {
		srv_engine_wait_for_writer(job);
	} else {
		srv_job_digests(job, again, again_count, job->next);
	}
}

/* Records of earlier versions name the same few files. */
static bool is_listed(const engine_job *job, uint32_t file)
{
	for (uint32_t i = 0; i < job->hash_count; i++)
		if (job->hashes[i].file == file)
			return true;
	return false;
}

void srv_job_digests(engine_job *job, const uint32_t *files, uint32_t count, void (*next)(engine_job *job))
{
	srv_engine *engine = job->engine;
	job->next = next;
	job->hashes = HOB_NEW(&job->arena, hash_item, count);
	job->hash_count = 0;
	for (uint32_t i = 0; job->hashes && i < count; i++) {
		const srv_file *f = srv_graph_at(engine->graph, files[i]);
		bool wanted = f->exists && !f->has_digest && f->stat.size <= engine->options.source_limit &&
					  !is_listed(job, files[i]);
		hob_str path = wanted ? hob_arena_str(&job->arena, f->path) : (hob_str){0};
		if (path.data)
			job->hashes[job->hash_count++] = (hash_item){.file = files[i],
														 .path = (char *)(uintptr_t)path.data,
														 .root_fd = engine->root_fds[f->root],
														 .most = engine->options.source_limit,
														 .changed = f->changed};
	}
	if (job->hash_count == 0) {
		next(job);
		return;
	}
	job->work.data = job;
	/* Hashing a small file here is faster than waking another thread. */
	bool alone = engine->jobs_alive == 1 && job->hash_count == 1;
	if (alone && srv_graph_at(engine->graph, job->hashes[0].file)->stat.size <= HASH_HERE_BYTES) {
		hash_work(&job->work);
		hash_done(&job->work, 0);
		return;
	}
	uv_queue_work(engine->loop, &job->work, hash_work, hash_done);
}

uint32_t srv_job_dep_file(engine_job *job, hob_str relative)
{
	hob_str path, dir = hob_path_dir(hob_str_of(job->engine->assets[job->asset].path));
	return hob_path_join(&job->arena, dir, relative, &path, NULL) ? srv_job_file(job, path) : HOB_NONE;
}

uint32_t srv_job_file(engine_job *job, hob_str path)
{
	srv_engine *engine = job->engine;
	const asset *a = &engine->assets[job->asset];
	uint32_t known = srv_engine_find_file(engine, a->root, path);
	if (known != HOB_NONE)
		return known;
	/* No scan lists it (ignored folder, or missing): ask the disk once. */
	srv_stat stat;
	bool there = srv_stat_path(engine->root_fds[a->root], path, &stat);
	if (!there && srv_is_passing(errno)) {
		hob_fail(&job->blind, IO, "'%.*s' cannot be looked at: %s", HOB_FMT(path), strerror(errno));
		return HOB_NONE;
	}
	uint32_t file = srv_graph_file(engine->graph, a->root, path);
	if (file != HOB_NONE && there) {
		srv_graph_at(engine->graph, file)->exists = true;
		srv_graph_at(engine->graph, file)->stat = stat;
		srv_graph_at(engine->graph, file)->changed = ++engine->tick;
	}
	return file;
}

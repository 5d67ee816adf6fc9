#include "engine_acts.h"
#include "engine_root.h"
#include "engine_sources.h"

#include "../fs/spelling.h"
#include "../fs/transfer.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Digests of a job's input files, computed in the pool. */

enum { SMALL_BYTES = 64 << 10, SMALL_FILES = 4 };

static void hash_file(hash_item *item, const atomic_bool *stop)
{
	struct stat info;
	item->read_at_ms = srv_clock_ms(CLOCK_REALTIME);
	if (srv_spelling_is(hob_str_of(item->path))) {
		char first[NAME_MAX + 1];
		item->found = srv_spelling_ask(item->root_fd, hob_str_of(item->path), (hob_str){0}, first,
									   &item->stat, &item->digest);
		item->why = item->found ? 0 : errno;
		return;
	}
	int fd = srv_open_beneath(item->root_fd, item->path, O_RDONLY, true);
	if (fd < 0 || fstat(fd, &info) != 0) {
		item->why = errno;
	} else if (S_ISREG(info.st_mode)) {
		item->too_large = (uint64_t)info.st_size > item->most;
		item->unfinished = !item->too_large && item->waits && srv_is_being_written(fd, &info);
		item->stat = srv_stat_of(&info);
		if (!item->unfinished && !item->too_large)
			item->found = srv_hash_rest(fd, stop, &item->digest, NULL);
		item->why = item->found || item->unfinished || item->too_large ? 0 : errno;
	}
	assert(!item->found || !(item->unfinished || item->too_large));
	if (fd >= 0)
		close(fd);
}

static void hash_files(srv_piece *piece)
{
	engine_job *job = piece->user;
	for (uint32_t i = 0; i < job->hashing.count; i++)
		hash_file(&job->hashing.items[i], &job->engine->closing);
}

static void take_digest(engine_job *job, hash_item *item)
{
	srv_engine *engine = job->engine;
	srv_file *f = srv_graph_at(engine->graph, item->file);
	assert(item->file < srv_graph_count(engine->graph) && item->changed <= f->changed);
	/* After an event during hashing, the digest may be that of older bytes; or a look found a map at rest. */
	bool looked = job->hashing.look != engine->sources->scan_rounds[engine->sources->root_count];
	if (f->changed != item->changed || (item->unfinished && looked)) {
		job->hashing.again[job->hashing.again_count++] = item->file;
		return;
	}
	if (srv_is_passing(item->why) && !engine->options.batch) {
		hob_fail(&job->hashing.error, IO, "'%s' cannot be read: %s", item->path, strerror(item->why));
		return;
	}
	if (item->unfinished) {
		job->hashing.unfinished = true;
		return;
	}
	if (srv_kind_of_error(item->why) == SRV_KIND_DENIED) /* it is there, and its removal is a change */
		return;
	bool there = item->found || item->too_large;
	bool news = f->exists != there || (there && !srv_stat_equal(&f->stat, &item->stat));
	f->exists = there;
	f->has_digest = item->found;
	if (news) {
		f->changed = srv_graph_tick(engine->graph);
		srv_engine_tell_others(engine, item->file, job->asset);
	}
	if (there)
		f->stat = item->stat;
	if (item->found) {
		f->digest = item->digest;
		if (!srv_spelling_is(hob_str_of(item->path)))
			engine->counters.sources.hashed_bytes += item->stat.size;
		if (!engine->options.batch)
			srv_engine_store_file(engine, item->file, item->read_at_ms);
	}
}

srv_job_event srv_job_take_digests(engine_job *job)
{
	job_hashing *hashing = &job->hashing;
	assert(hashing->next <= hashing->count && hashing->again_count <= hashing->next);
	for (uint32_t done = 0; hashing->again && hashing->next < hashing->count; done++) {
		if (!srv_engine_has_time(job->engine, done))
			return SRV_JOB_SAY(DIGESTS);
		take_digest(job, &hashing->items[hashing->next++]);
	}
	if (hashing->error.code != HOB_ERR_OK) {
		job->cook.error = hashing->error;
		return SRV_JOB_SAY(FAILED);
	}
	if (hashing->unfinished)
		return SRV_JOB_SAY(UNFINISHED);
	return srv_job_digests(job, hashing->again, hashing->again_count);
}

static void on_hashed(srv_piece *piece)
{
	srv_job_put(piece->user, SRV_JOB_SAY(DIGESTS));
}

/* Lists each file once: records of earlier versions name the same few files. */
static const uint32_t *each_once(engine_job *job, const uint32_t *files, uint32_t *count)
{
	uint32_t *list = *count > 1 ? HOB_NEW(&job->arena, uint32_t, *count) : NULL;
	if (!list)
		return files;
	memcpy(list, files, *count * sizeof *list);
	*count = srv_graph_sort(list, *count);
	return list;
}

srv_job_event srv_job_digests(engine_job *job, const uint32_t *files, uint32_t count)
{
	srv_engine *engine = job->engine;
	job_hashing *hashing = &job->hashing;
	uint64_t bytes = 0;
	files = each_once(job, files, &count);
	*hashing = (job_hashing){.items = HOB_NEW(&job->arena, hash_item, count),
							 .look = engine->sources->scan_rounds[engine->sources->root_count]};
	for (uint32_t i = 0; hashing->items && i < count; i++) {
		const srv_file *f = srv_graph_at(engine->graph, files[i]);
		bool wanted = f->exists && !f->has_digest && f->stat.size <= engine->options.pool.source_limit;
		hob_str path = wanted ? hob_arena_str(&job->arena, f->path) : (hob_str){0};
		if (!path.data)
			continue;
		hashing->items[hashing->count++] =
			(hash_item){.file = files[i],
						.path = (char *)(uintptr_t)path.data,
						.root_fd = engine->roots->fds[f->root],
						.most = engine->options.pool.source_limit,
						.waits = !engine->options.batch && !srv_engine_is_rested(engine, f),
						.changed = f->changed};
		bytes += f->stat.size;
	}
	assert(hashing->count <= count);
	if (hashing->count == 0)
		return SRV_JOB_SAY(HASHED);
	hashing->again = HOB_NEW(&job->arena, uint32_t, hashing->count);
	job->piece = (srv_piece){hash_files, on_hashed, .user = job};
	/* Hashing a few small files is faster than waking another thread. */
	bool small = hashing->count <= SMALL_FILES && bytes <= SMALL_BYTES;
	if (small && srv_job_is_alone(job)) {
		hash_files(&job->piece);
		return srv_job_take_digests(job);
	}
	srv_engine_piece(engine, &job->piece, small && job->life.order.priority == SRV_PRIORITY_BACKGROUND);
	return SRV_JOB_LATER;
}

/* Hashes the source. An earlier result of the job is dropped first, so this also restarts it. */
srv_job_event srv_job_hash_source(engine_job *job)
{
	uint32_t source = srv_asset_at(job->engine, job->asset)->file;
	if (job->cook.error.code == HOB_ERR_CHANGED)
		srv_graph_at(job->engine->graph, source)->has_digest = false;
	srv_outcome_free(job->cook.outcome);
	job->cook.outcome = NULL;
	job->cook.error = (hob_error){0};
	job->cook.output_count = 0;
	return job->engine->store ? srv_job_digests(job, &source, 1) : SRV_JOB_SAY(HASHED);
}

uint32_t srv_job_dep_file(engine_job *job, hob_str relative)
{
	hob_str path, dir = hob_path_dir(hob_str_of(srv_asset_at(job->engine, job->asset)->path));
	return hob_path_join(&job->arena, dir, relative, &path, NULL) ? srv_job_file(job, path) : HOB_NONE;
}

uint32_t srv_job_file(engine_job *job, hob_str path)
{
	srv_engine *engine = job->engine;
	const asset *a = srv_asset_at(engine, job->asset);
	uint32_t known = srv_engine_find_file(engine, a->root, path);
	if (known != HOB_NONE)
		return known;
	/* No scan lists the file (it is in an ignored folder, or missing): asks the disk once. */
	srv_stat stat;
	bool there = srv_stat_path(engine->roots->fds[a->root], path, &stat);
	if (!there && srv_is_passing(errno)) {
		hob_fail(&job->earlier.unreadable, IO, "'%.*s' cannot be looked at: %s", HOB_FMT(path),
				 strerror(errno));
		return HOB_NONE;
	}
	uint32_t file = srv_graph_file(engine->graph, a->root, path);
	if (file != HOB_NONE && there) {
		srv_graph_at(engine->graph, file)->exists = true;
		srv_graph_at(engine->graph, file)->stat = stat;
		srv_graph_at(engine->graph, file)->changed = srv_graph_tick(engine->graph);
	}
	return file;
}

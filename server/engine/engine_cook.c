#include "engine_acts.h"
#include "engine_exchange.h"
#include "engine_move.h"
#include "engine_publish.h"
#include "engine_root.h"
#include "engine_sources.h"
#include "engine_upkeep.h"

#include "../log/log.h"
#include "../reuse/kept.h"

#include <assert.h>
#include <stdlib.h>

/* The acts of a job up to the miss, and from a matching record to its end. */

static srv_input_state look_at_input(void *user, hob_str path, hob_sha256 *digest)
{
	engine_job *job = user;
	uint32_t file = srv_job_dep_file(job, path);
	if (file == HOB_NONE)
		return SRV_INPUT_UNKNOWN;
	const srv_file *f = srv_graph_at(job->engine->graph, file);
	*digest = f->digest;
	return !f->exists ? SRV_INPUT_MISSING : f->has_digest ? SRV_INPUT_PRESENT : SRV_INPUT_UNKNOWN;
}

/* Whether the inputs in the record have the currently known digests. */
static bool inputs_match(engine_job *job, const srv_record *record)
{
	bool failed = record->error.len > 0 || srv_kept_short_mib(record) > 0;
	return !(failed && job->engine->options.batch) &&
		   srv_kept_holds(record, hob_str_of(srv_asset_at(job->engine, job->asset)->path), look_at_input,
						  job);
}

static bool candidate_matches(engine_job *job, const srv_record *record)
{
	srv_engine *engine = job->engine;
	bool reads_all = engine->options.batch; /* and so finds what is damaged, too */
	if (srv_engine_is_doubtful(engine, record) || !inputs_match(job, record))
		return false;
	for (uint32_t i = 0; i < record->output_count && !reads_all; i++)
		if (!srv_blob_exists(engine->store, &record->outputs[i].digest))
			return false;
	return true;
}

/* Asks the disk whether the file changed since the worker read it. */
bool srv_job_look_again(engine_job *job, uint32_t file)
{
	srv_engine *engine = job->engine;
	srv_file *f = srv_graph_at(engine->graph, file);
	assert(file < srv_graph_count(engine->graph) && f->root < engine->roots->count);
	srv_stat now;
	bool there = srv_stat_path(engine->roots->fds[f->root], f->path, &now);
	if (!there && srv_is_passing(errno))
		return true;
	if (there == f->exists && (!there || srv_stat_equal(&now, &f->stat)))
		return false;
	f->exists = there;
	f->has_digest = false;
	f->stat = there ? now : (srv_stat){0};
	f->changed = srv_graph_tick(engine->graph);
	srv_engine_tell_others(engine, file, job->asset);
	return true;
}

bool srv_job_watch_input(engine_job *job, uint32_t file)
{
	srv_engine *engine = job->engine;
	const srv_file *f = srv_graph_at(engine->graph, file);
	return f->mark == 0 && srv_watch_add_file(engine->sources->watch, f->root, f->path) &&
		   srv_job_look_again(job, file);
}

void srv_job_remember_inputs(engine_job *job, const srv_record *record)
{
	srv_engine *engine = job->engine;
	asset *a = srv_asset_at(engine, job->asset);
	uint32_t *files = HOB_NEW(&job->arena, uint32_t, record->dep_count);
	asset_input *inputs = calloc(record->dep_count + 1, sizeof *inputs);
	if (!files || !inputs) {
		free(inputs);
		return;
	}
	uint32_t count = 0;
	hob_str changed = {0};
	if (job->cook.changed_input > 0)
		changed = srv_graph_at(engine->graph, job->cook.changed_input - 1)->path;
	for (uint32_t i = 0; i < record->dep_count; i++) {
		uint32_t file = srv_job_dep_file(job, record->deps[i].path);
		if (file == HOB_NONE) {
			changed = job->earlier.unreadable.code != HOB_ERR_OK ? hob_str_of(a->path) : changed;
			continue;
		}
		files[count] = file;
		inputs[count++] = (asset_input){file, record->deps[i].missing, record->deps[i].digest};
	}
	/* The files that a cook uses are known only at its end, so changes since its start were not reported for
	 * it. */
	for (uint32_t i = 0; i < count; i++) {
		bool later = job->cook.outcome && srv_graph_at(engine->graph, files[i])->changed > job->cook.tick;
		if (later || srv_job_watch_input(job, files[i]))
			changed = srv_graph_at(engine->graph, files[i])->path;
	}
	/* Changes since the record was found were not reported either: an upstream may have answered late. */
	if (!job->cook.outcome && !inputs_match(job, record))
		changed = hob_str_of(a->path);
	assert(count <= record->dep_count);
	free(a->last.inputs);
	a->last.inputs = inputs;
	a->last.input_count = count;
	a->last.known = true;
	a->last.key = record->key;
	a->last.lookup = job->lookup;
	a->last.source = job->source;
	memset(a->last.ingredients, 0, sizeof a->last.ingredients);
	if (!srv_graph_set_deps(engine->graph, job->asset, files, count))
		srv_log(SRV_LOG_ERROR, "memory", "dependencies of %s could not be kept", a->full);
	if (changed.len > 0)
		srv_asset_outdated(engine, job->asset, changed);
}

/* ---- up to the look-up */

/* Ends a job whose source has no digest. The file is gone or unreadable: a removal event follows, or the
 * permissions are wrong. */
static srv_job_event miss_source(engine_job *job, srv_file *source)
{
	const srv_engine *engine = job->engine;
	const asset *a = srv_asset_at(engine, job->asset);
	hob_error *error = &job->cook.error;
	srv_stat stat;
	if (source->exists && !source->has_digest && source->stat.size > engine->options.pool.source_limit) {
		hob_fail(error, LIMIT, "'%s' has %llu bytes; a file of a model may have %llu (cook.source_limit)",
				 a->path, (unsigned long long)source->stat.size,
				 (unsigned long long)engine->options.pool.source_limit);
	} else if (srv_stat_path(engine->roots->fds[a->root], hob_str_of(a->path), &stat)) {
		source->exists = true;
		hob_fail(error, IO, "'this file' may not be read: permission denied");
	} else if (srv_is_passing(errno)) {
		hob_fail(error, IO, "'%s' cannot be looked at: %s", a->path, strerror(errno));
	} else {
		return SRV_JOB_SAY(UNFINISHED);
	}
	return SRV_JOB_SAY(FAILED);
}

srv_job_event srv_job_look_up(engine_job *job)
{
	srv_engine *engine = job->engine;
	asset *a = srv_asset_at(engine, job->asset);
	srv_file *source = srv_graph_at(engine->graph, a->file);
	assert(job->life.part != SRV_JOB_BESIDE);
	if (!source->exists || !source->has_digest)
		return miss_source(job, source);
	assert(source->asset == job->asset || engine->options.batch);
	bool newer = !hob_sha256_equal(&job->source, &source->digest);
	job->source = source->digest;
	srv_engine_move_read(engine, job->asset, &job->source);
	if (!srv_asset_ingredients(engine, a, &job->arena, &job->ingredients, &job->cook.error))
		return SRV_JOB_SAY(FAILED);
	job->lookup = job->final_lookup = hob_cook_lookup(&job->source, &job->ingredients);
	return (srv_job_event){.kind = SRV_JOB_LOOKED_UP, .newer = newer};
}

/* ---- records of earlier cooks */

static bool read_records(engine_job *job, hob_error *error)
{
	return srv_store_records(job->engine->store, &job->lookup, &job->arena, &job->earlier.items,
							 &job->earlier.count, error);
}

srv_job_event srv_job_find(engine_job *job)
{
	hob_error error;
	bool preview = srv_job_wants_preview(&job->life);
	job->ingredients.profile = preview ? HOB_PROFILE_PREVIEW : HOB_PROFILE_FINAL;
	job->lookup = preview ? hob_cook_lookup(&job->source, &job->ingredients) : job->final_lookup;
	job->earlier.unreadable = (hob_error){0};
	if (!read_records(job, &error) && !(srv_engine_heal_index(job->engine) && read_records(job, &error))) {
		srv_log(SRV_LOG_ERROR, "store", "%s", error.context);
		job->earlier.count = 0;
	}
	return SRV_JOB_SAY(RECORDS);
}

srv_job_event srv_job_hash_inputs(engine_job *job)
{
	size_t total = 0;
	for (uint32_t i = 0; i < job->earlier.count; i++)
		total += job->earlier.items[i].dep_count;
	uint32_t *files = HOB_NEW(&job->arena, uint32_t, total);
	uint32_t count = 0;
	for (uint32_t i = 0; files && i < job->earlier.count; i++)
		for (uint32_t d = 0; d < job->earlier.items[i].dep_count; d++) {
			uint32_t file = srv_job_dep_file(job, job->earlier.items[i].deps[d].path);
			if (file != HOB_NONE)
				files[count++] = file;
		}
	assert(count <= total);
	if (job->earlier.unreadable.code == HOB_ERR_OK)
		return srv_job_digests(job, files, count);
	job->cook.error = job->earlier.unreadable;
	return SRV_JOB_SAY(FAILED);
}

srv_job_event srv_job_match(engine_job *job)
{
	srv_upstream *upstream = job->engine->exchange->upstream;
	bool elsewhere = job->life.elsewhere;
	assert(!elsewhere || upstream);
	for (uint32_t i = 0; i < job->earlier.count; i++) {
		const srv_record *record = &job->earlier.items[i];
		if (elsewhere ? inputs_match(job, record) && srv_upstream_is_worth(upstream, record)
					  : candidate_matches(job, record)) {
			job->earlier.taken = record;
			return SRV_JOB_SAY(MATCHED);
		}
	}
	if (elsewhere)
		srv_engine_note_unreached(job);
	return SRV_JOB_SAY(MISSED);
}

/* ---- the end without a cook */

srv_job_event srv_job_take(engine_job *job)
{
	srv_engine *engine = job->engine;
	asset *a = srv_asset_at(engine, job->asset);
	const srv_record *record = job->earlier.taken;
	bool same = a->last.known && hob_sha256_equal(&a->last.key, &record->key) && a->shown.rev > 0;
	bool fetched = job->life.elsewhere;
	assert(!job->cook.outcome && (!fetched || !srv_job_wants_preview(&job->life)));
	*(fetched ? &engine->counters.fetched : &engine->counters.hits) += 1;
	if (same)
		engine->counters.unchanged++;
	else
		engine->counters.saved_ns += record->cook_ns;
	srv_job_remember_inputs(job, record);
	if (srv_job_is_late(job))
		return SRV_JOB_SAY(RECORDED);
	hob_error refused = {0};
	bool failed = record->error.len > 0;
	if (same && !failed && !srv_publish_allows(job, record, &refused))
		srv_publish_bad(job, NULL, &refused);
	else if (same)
		srv_publish_same(job, record);
	else if (failed)
		srv_publish_bad(job, record, NULL);
	else
		(void)srv_publish_good(job, record, true, &refused);
	if (srv_job_wants_preview(&job->life))
		return (srv_job_event){.kind = SRV_JOB_RECORDED, .more = a->life.job == &job->life};
	bool bad = refused.code != HOB_ERR_OK;
	srv_record_job(job,
				   failed || bad ? "failed"
				   : fetched	 ? "fetched"
								 : "hit",
				   &record->key, bad ? &refused : NULL);
	return SRV_JOB_SAY(RECORDED);
}

srv_job_event srv_job_fail(engine_job *job)
{
	assert(job->life.part != SRV_JOB_BESIDE && job->cook.error.code != HOB_ERR_OK);
	srv_engine_doubt_root(job->engine, srv_asset_at(job->engine, job->asset)->root);
	if (srv_job_leaves(&job->life))
		return SRV_JOB_SAY(RECORDED);
	srv_publish_bad(job, NULL, &job->cook.error);
	srv_record_job(job, "failed", NULL, &job->cook.error);
	return SRV_JOB_SAY(RECORDED);
}

bool srv_job_is_late(const engine_job *job)
{
	const srv_job *life = &job->life;
	const srv_asset *a = &srv_asset_at(job->engine, job->asset)->life;
	return life->part == SRV_JOB_BESIDE &&
		   !(a->state == SRV_ASSET_WORKING && life->final && a->job == life->final);
}

/* ---- a preview for a client that came later */

static void preview_beside(engine_job *final)
{
	srv_engine *engine = final->engine;
	hob_error ignored;
	engine_job *job = srv_job_new(engine, final->asset);
	if (!job)
		return;
	job->life.order.id = final->life.order.id;
	job->life.order.queued_at_ms = final->life.order.queued_at_ms;
	job->life.order.priority = SRV_PRIORITY_INTERACTIVE;
	hob_buf_put_str(&job->life.order.why, hob_buf_str(&final->life.order.why));
	job->source = final->source;
	job->final_lookup = final->final_lookup;
	bool known = srv_asset_ingredients(engine, srv_asset_at(engine, job->asset), &job->arena,
									   &job->ingredients, &ignored);
	srv_job_send(job, (srv_job_event){.kind = SRV_JOB_BEGIN, .final = &final->life});
	if (!known)
		srv_job_drop(job);
}

void srv_job_show_soon(engine_job *job)
{
	if (!job || job->life.preview || srv_job_leaves(&job->life) || job->life.part != SRV_JOB_FIRST ||
		!srv_job_may_preview(job) || srv_asset_at(job->engine, job->asset)->life.state != SRV_ASSET_WORKING)
		return;
	if (job->life.stage == SRV_JOB_COOK || (job->life.of && job->life.of->stage == SRV_JOB_COOK)) {
		preview_beside(job);
	} else if (job->life.stage == SRV_JOB_WAIT) {
		srv_job_send(job, SRV_JOB_SAY(SHOW));
		job->engine->counters.misses--;
	}
}

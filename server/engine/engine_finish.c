#include "engine_exchange.h"
#include "engine_publish.h"
#include "engine_root.h"
#include "engine_sources.h"
#include "engine_turn.h"
#include "engine_upkeep.h"

#include "../cook/error_json.h"
#include "../log/log.h"
#include "../reuse/kept.h"
#include "../worker/check.h"

#include <stdlib.h>

/* ---- after the cook: check, store, publish */

/* Runs in libuv's pool, or at once. The daemon validates everything that a worker made. */
static void store_work(uv_work_t *work)
{
	engine_job *job = work->data;
	const srv_result *result = &job->cook.outcome->result;
	job->cook.outputs = HOB_NEW(&job->arena, srv_record_output, result->output_count);
	if (!srv_check_outputs(result, &job->cook.error))
		return;
	if (!job->cook.outputs) {
		hob_fail_memory(&job->cook.error, &job->arena, "outputs");
		return;
	}
	for (uint32_t i = 0; i < result->output_count && !atomic_load(&job->engine->closing); i++) {
		const hob_cook_output *output = &result->outputs[i];
		srv_record_output *kept = &job->cook.outputs[i];
		kept->name = output->name;
		kept->size = output->bytes.size;
		if (!srv_blob_put(job->engine->store, output->bytes, &kept->digest, &job->cook.error))
			return;
		job->cook.output_count++;
	}
}

static void make_key(engine_job *job, srv_record *record)
{
	hob_error error;
	record->lookup = job->lookup;
	record->source = job->source;
	if (!srv_kept_key(&job->arena, record, &record->key, &error))
		srv_log(SRV_LOG_ERROR, "memory", "%s", error.context);
}

static void keep_record(engine_job *job, srv_record *record)
{
	hob_error error;
	record->ingredients =
		hob_arena_str(&job->arena, srv_engine_ingredients_text(job->engine, &job->ingredients));
	record->cooked_at_ms = srv_engine_now_ms();
	record->cook_ns = job->cook.outcome->cook_ns;
	record->peak_bytes = job->cook.outcome->peak_bytes;
	bool kept =
		srv_store_put_record(job->engine->store, record, &error) ||
		(srv_engine_heal_index(job->engine) && srv_store_put_record(job->engine->store, record, &error));
	srv_engine_stored(job->engine, kept, &error);
}

static void finish_good(engine_job *job)
{
	srv_engine *engine = job->engine;
	const srv_result *result = &job->cook.outcome->result;
	asset *a = srv_asset_at(engine, job->asset);
	srv_record record = {.warnings = result->stats.warnings,
						 .outputs = job->cook.outputs,
						 .output_count = job->cook.output_count};
	if (result->uses_name)
		record.file_name = hob_path_name(hob_str_of(a->path));
	record.deps = srv_kept_deps(&job->arena, hob_str_of(a->path), result, &record.dep_count);
	make_key(job, &record);
	hob_buf stats = {0};
	srv_kept_stats(result, &stats);
	record.stats = hob_buf_str(&stats);
	keep_record(job, &record);
	if (job->ingredients.profile == HOB_PROFILE_PREVIEW) {
		engine->counters.previewed++;
	} else {
		engine->counters.cooked++;
		engine->counters.cook_bytes += srv_graph_at(engine->graph, a->file)->stat.size;
	}
	engine->counters.cook_ns += job->cook.outcome->cook_ns;
	if (engine->exchange->upstream && result->stats.short_mib == 0)
		srv_engine_give_upstream(job, &record);
	srv_job_remember_inputs(job, &record);
	bool late = srv_job_is_late(job);
	if (!late)
		srv_publish_good(job, &record, false);
	hob_buf_release(&stats);
	if (late) {
		srv_job_end(job);
		return;
	}
	if (job->ingredients.profile == HOB_PROFILE_PREVIEW) {
		srv_job_go_on(job);
		return;
	}
	srv_record_job(job, "cooked", &record.key, NULL);
	srv_job_end(job);
}

/* shared: only failures that do not depend on this machine's programs, time or memory are sent to others. */
static void end_failed(engine_job *job, srv_record *record, bool shared)
{
	hob_buf error = {0};
	make_key(job, record);
	srv_error_json(&job->cook.error, "cook", &error);
	record->error = hob_buf_str(&error);
	srv_engine_put_limits(job, record);
	keep_record(job, record);
	if (shared && job->engine->exchange->upstream && record->stats.len == 0)
		srv_engine_give_upstream(job, record);
	srv_job_remember_inputs(job, record);
	srv_publish_bad(job, record, &job->cook.error);
	srv_record_job(job, "failed", &record->key, &job->cook.error);
	hob_buf_release(&error);
	srv_job_end(job);
}

/* The inputs of a cook that died are the paths that it asked for. The daemon makes their digests. */
static void finish_crash(engine_job *job)
{
	srv_engine *engine = job->engine;
	asset *a = srv_asset_at(engine, job->asset);
	const srv_outcome *outcome = job->cook.outcome;
	hob_str dir = hob_path_dir(hob_str_of(a->path));
	srv_record record = {0};
	record.deps = HOB_NEW(&job->arena, srv_record_dep, outcome->touched_count);
	for (uint32_t i = 0; record.deps && i < outcome->touched_count; i++) {
		if (hob_str_equal(outcome->touched[i], hob_str_of(a->path)))
			continue;
		hob_str relative = hob_path_relative(&job->arena, dir, outcome->touched[i]);
		uint32_t file = srv_job_dep_file(job, relative);
		if (file == HOB_NONE)
			continue;
		const srv_file *f = srv_graph_at(engine->graph, file);
		record.deps[record.dep_count++] = (srv_record_dep){relative, !f->exists, f->digest};
	}
	end_failed(job, &record, false);
}

static void step_crashed(engine_job *job)
{
	srv_engine *engine = job->engine;
	asset *a = srv_asset_at(engine, job->asset);
	uint32_t *files = HOB_NEW(&job->arena, uint32_t, job->cook.outcome->touched_count);
	uint32_t count = 0;
	for (uint32_t i = 0; files && i < job->cook.outcome->touched_count; i++) {
		uint32_t file =
			srv_job_dep_file(job, hob_path_relative(&job->arena, hob_path_dir(hob_str_of(a->path)),
													job->cook.outcome->touched[i]));
		if (file != HOB_NONE)
			files[count++] = file;
	}
	srv_job_digests(job, files, count, finish_crash);
}

static void finish_failed(engine_job *job)
{
	srv_engine *engine = job->engine;
	const srv_result *result = &job->cook.outcome->result;
	srv_record record = {0};
	record.deps = srv_kept_deps(&job->arena, hob_str_of(srv_asset_at(engine, job->asset)->path), result,
								&record.dep_count);
	bool skipped = job->cook.error.code == HOB_ERR_SKIPPED;
	engine->counters.failed += !skipped;
	end_failed(job, &record, engine->options.farm && !skipped);
}

static void retry(engine_job *job)
{
	srv_engine *engine = job->engine;
	asset *a = srv_asset_at(engine, job->asset);
	srv_outcome_free(job->cook.outcome);
	job->cook.outcome = NULL;
	job->on_worker = job->cooking = false;
	if (job->cook.error.code == HOB_ERR_CHANGED) {
		srv_graph_at(engine->graph, a->file)->has_digest = false;
		srv_job_expect_news(job);
	}
	job->cook.error = (hob_error){0};
	uint32_t source = a->file;
	srv_job_digests(job, &source, 1, srv_job_lookup);
}

static void stored(engine_job *job)
{
	srv_engine *engine = job->engine;
	if (engine->closing || job->abandoned || (job->twin.aside && job->cook.error.code != HOB_ERR_OK)) {
		srv_job_end(job);
	} else if (job->cook.error.code == HOB_ERR_OK) {
		srv_job_meet_inputs(job, finish_good);
	} else {
		engine->counters.failed++;
		srv_publish_bad(job, NULL, &job->cook.error);
		srv_record_job(job, "failed", NULL, &job->cook.error);
		srv_job_end(job);
	}
}

static void store_done(uv_work_t *work, int status)
{
	(void)status;
	engine_job *job = work->data;
	if (srv_engine_is_full(job->engine))
		srv_job_later(job, stored);
	else
		stored(job);
}

/* A small result of the only job is stored at once: handing it to another thread and back would take
 * longer. */
static void store_outputs(engine_job *job)
{
	enum { HERE_BYTES = 128 << 10 };
	srv_engine *engine = job->engine;
	job->work.data = job;
	if (job->cook.outcome->mapping_size <= HERE_BYTES && engine->jobs->alive - engine->jobs->abandoned == 1) {
		store_work(&job->work);
		store_done(&job->work, 0);
	} else {
		uv_queue_work(engine->loop, &job->work, store_work, store_done);
	}
}

/* The worker opens its inputs itself. A result of other versions than the hashed ones must not be kept under
 * their keys, because every later file with these bytes would get it. If an event came since the start of the
 * cook, its version is newer than the one that was read, and the asset is checked again. */
static bool compare_input(engine_job *job, const srv_dep *dep)
{
	srv_engine *engine = job->engine;
	const asset *a = srv_asset_at(engine, job->asset);
	if (hob_str_equal(dep->path, hob_str_of(a->path))) {
		job->cook.other_input = dep->missing || !hob_sha256_equal(&dep->digest, &job->source);
		return !job->cook.other_input;
	}
	hob_str path;
	uint32_t file = !dep->missing && hob_path_join(&job->arena, (hob_str){0}, dep->path, &path, NULL)
						? srv_graph_find(engine->graph, a->root, path)
						: HOB_NONE;
	const srv_file *f = file != HOB_NONE ? srv_graph_at(engine->graph, file) : NULL;
	job->cook.other_input =
		f && f->changed <= job->cook.tick && (!f->has_digest || !hob_sha256_equal(&dep->digest, &f->digest));
	return !job->cook.other_input;
}

/* True if a file that the worker could not read is being saved. */
static bool met_a_writer(const engine_job *job)
{
	const srv_result *result = &job->cook.outcome->result;
	uint32_t root = srv_asset_at(job->engine, job->asset)->root;
	bool met = false;
	for (uint32_t i = 0; job->cook.outcome->has_result && i < result->dep_count && !met; i++)
		met = result->deps[i].missing &&
			  srv_engine_is_open_for_writing(job->engine, root, result->deps[i].path);
	return met;
}

static void count_death(srv_engine *engine, hob_err_code code, bool again)
{
	bool timeout = code == HOB_ERR_TIMEOUT;
	if (code == HOB_ERR_INTERRUPTED) {
		engine->counters.died.interrupted++;
		return;
	}
	engine->counters.died.timed_out += timeout;
	engine->counters.died.crashed += !timeout;
	engine->counters.failed += !(timeout && again);
}

/* What the worker's answer means for the job. */
static void settle(engine_job *job, bool other_source)
{
	srv_engine *engine = job->engine;
	const srv_outcome *outcome = job->cook.outcome;
	srv_cook_facts facts = {.ok = outcome->ok,
							.has_result = outcome->has_result,
							.stalled = outcome->stalled,
							.other_source = other_source,
							.writer = job->cook.error.code == HOB_ERR_CHANGED && met_a_writer(job),
							.touched = outcome->touched_count > 0,
							.code = job->cook.error.code};
	srv_verdict verdict = srv_judge(&facts, &job->cook.tries);
	if (job->twin.aside && verdict != SRV_VERDICT_GOOD) {
		srv_job_end(job);
		return;
	}
	bool died = !facts.has_result && !facts.ok && facts.code != HOB_ERR_IO;
	if (died)
		count_death(engine, job->cook.error.code, verdict == SRV_VERDICT_TRY_AGAIN);
	switch (verdict) {
	case SRV_VERDICT_GOOD:
		store_outputs(job);
		break;
	case SRV_VERDICT_WRITER:
		srv_engine_wait_for_writer(job);
		break;
	case SRV_VERDICT_TRY_AGAIN:
		if (died && (facts.stalled || facts.code == HOB_ERR_INTERRUPTED))
			srv_log(SRV_LOG_WARNING, "retry", "%s: %s; it is tried once more",
					srv_asset_at(engine, job->asset)->full, job->cook.error.context);
		retry(job);
		break;
	case SRV_VERDICT_PASSING:
		engine->counters.failed++;
		srv_publish_bad(job, NULL, &job->cook.error);
		srv_record_job(job, "failed", NULL, &job->cook.error);
		srv_job_end(job);
		break;
	case SRV_VERDICT_KEEP_FAILURE:
		srv_job_meet_inputs(job, finish_failed);
		break;
	case SRV_VERDICT_KEEP_CRASH:
		step_crashed(job);
		break;
	}
}

static void compared(engine_job *job)
{
	if (job->cook.other_input)
		hob_fail(&job->cook.error, CHANGED, "'%s' changed while it was cooked, or a file that it uses did",
				 srv_asset_at(job->engine, job->asset)->path);
	settle(job, job->cook.other_input);
}

static void step_read(engine_job *job)
{
	job->cook.other_input = false;
	srv_job_each_dep(job, compare_input, compared);
}

/* For a file that no scan has listed: asks the disk whether it exists. */
static void find_unlisted(engine_job *job, srv_file *f, uint32_t file)
{
	srv_stat stat;
	if (f->exists || !srv_stat_path(job->engine->roots->fds[f->root], f->path, &stat))
		return;
	f->exists = true;
	f->stat = stat;
	srv_engine_tell_others(job->engine, file, job->asset);
}

static bool find_read(engine_job *job, const srv_dep *dep)
{
	srv_engine *engine = job->engine;
	const asset *a = srv_asset_at(engine, job->asset);
	srv_stat stat = {dep->size, dep->inode, dep->mtime_ns, dep->ctime_ns};
	hob_str path;
	if (dep->missing || !hob_path_join(&job->arena, (hob_str){0}, dep->path, &path, NULL))
		return true;
	bool known = srv_graph_find(engine->graph, a->root, path) != HOB_NONE;
	uint32_t file = srv_engine_file(engine, a->root, path);
	if (file == HOB_NONE)
		return true;
	srv_file *f = srv_graph_at(engine->graph, file);
	/* A scan after the start of the cook lists the file as the cook read it, and no event came: it has not
	 * changed. */
	if (!known && f->exists && srv_stat_equal(&f->stat, &stat) && f->changed > job->cook.tick)
		f->changed = job->cook.tick;
	if (f->changed > job->cook.tick)
		return true;
	find_unlisted(job, f, file);
	job->cook.read[job->cook.read_count++] = file;
	return true;
}

static void hash_read(engine_job *job)
{
	srv_job_digests(job, job->cook.read, job->cook.read_count, step_read);
}

/* Digests of a worker are not trusted, because keys of other assets depend on them. Unknown files are hashed
 * here. */
static void step_hash_read(engine_job *job)
{
	job->cook.read_count = 0;
	job->cook.read = HOB_NEW(&job->arena, uint32_t, job->cook.outcome->result.dep_count);
	if (job->cook.read)
		srv_job_each_dep(job, find_read, hash_read);
	else
		hash_read(job);
}

void srv_job_progress(void *job_, hob_str stage, float share)
{
	engine_job *job = job_;
	snprintf(job->progress.stage, sizeof job->progress.stage, "%.*s", HOB_FMT(stage));
	job->progress.share = share;
}

/* True: the job goes on under its number later, so it has not ended. */
static bool cut(engine_job *job)
{
	const asset *a = srv_asset_at(job->engine, job->asset);
	bool same = a->life.state == SRV_ASSET_WORKING;
	srv_engine_apply(
		job->engine, job->asset,
		(srv_asset_event){.kind = SRV_ASSET_CUT, .taken = &job->order, .force = job->order.force});
	if (same)
		job->order.why = (hob_buf){0};
	return same;
}

void srv_job_give_way(engine_job *job, bool quick)
{
	enum { LEAVE_MS = 1000 };
	srv_engine *engine = job->engine;
	if (!quick) {
		(void)srv_pool_cancel(engine->jobs->pool, job);
		return;
	}
	(void)srv_pool_leave(engine->jobs->pool, job, LEAVE_MS);
	engine->counters.cancelled++;
	srv_record_job(job, "cancelled", NULL, NULL);
	job->abandoned = true;
	engine->jobs->abandoned++;
	(void)cut(job);
}

void srv_job_cooked(void *job_, srv_outcome *outcome)
{
	engine_job *job = job_;
	srv_engine *engine = job->engine;
	asset *a = srv_asset_at(engine, job->asset);
	job->cook.outcome = outcome;
	job->on_worker = false;
	engine->counters.running--;
	/* A file that is missing from a folder that is being deleted says nothing about the model. */
	if (!engine->closing && !job->abandoned)
		srv_engine_doubt_root(engine, a->root);
	if (!job->abandoned && !job->twin.aside)
		srv_asset_set_worker(&a->life, false);
	if (engine->closing || job->abandoned || outcome->cancelled) {
		if (!engine->closing && !job->twin.aside && !job->recorded) {
			engine->counters.cancelled++;
			if (job->stopped && !job->abandoned)
				srv_publish_cancelled(engine, a, job, NULL);
			if (job->stopped || job->abandoned || !cut(job))
				srv_record_job(job, "cancelled", NULL, NULL);
		}
		srv_job_end(job);
		return;
	}
	if (outcome->stalled && job->cook.tries.stalled && outcome->error.code == HOB_ERR_TIMEOUT)
		srv_outcome_stalled_again(outcome);
	job->cook.error = outcome->error;
	/* A cook that ran out of memory tells how much the next try needs. */
	if (job->cook.error.code == HOB_ERR_INTERRUPTED && outcome->peak_bytes > a->cost.peak_bytes)
		a->cost.peak_bytes = outcome->peak_bytes;
	/* If the preview fails, the final cook fails as well, so the failure is kept as the final one. */
	if (!outcome->ok) {
		job->ingredients.profile = HOB_PROFILE_FINAL;
		job->lookup = job->final_lookup;
		job->previewed = true;
	}
	if (outcome->has_result)
		step_hash_read(job);
	else
		settle(job, false);
}

#include "engine_acts.h"
#include "engine_batch.h"
#include "engine_exchange.h"
#include "engine_publish.h"
#include "engine_root.h"
#include "engine_sources.h"
#include "engine_upkeep.h"

#include "../cook/error_json.h"
#include "../log/log.h"
#include "../reuse/kept.h"
#include "../worker/check.h"

#include <assert.h>
#include <stdlib.h>

/* ---- after the cook: check, store, publish */

/* Validates and stores all outputs of a worker, in libuv's pool or at once. */
static void store_outputs(srv_piece *piece)
{
	engine_job *job = piece->user;
	const srv_result *result = &job->cook.outcome->result;
	const srv_engine_batch *batch = job->engine->options.batch;
	hob_error *error = batch ? &job->unkept : &job->cook.error;
	if (!srv_check_outputs(result, &job->cook.error) || (batch && !batch->keeps))
		return;
	job->cook.outputs = HOB_NEW(&job->arena, srv_record_output, result->output_count);
	if (!job->cook.outputs)
		hob_fail_memory(error, &job->arena, "outputs");
	else
		srv_kept_store(job->engine->store, result, &job->engine->closing, job->cook.outputs,
					   &job->cook.output_count, error);
}

static void keep_record(engine_job *job, const srv_record *record)
{
	hob_error error;
	bool kept =
		srv_store_put_record(job->engine->store, record, &error) ||
		(srv_engine_heal_index(job->engine) && srv_store_put_record(job->engine->store, record, &error));
	srv_engine_stored(job->engine, kept, &error);
}

srv_job_event srv_job_keep(engine_job *job)
{
	srv_engine *engine = job->engine;
	const srv_result *result = &job->cook.outcome->result;
	asset *a = srv_asset_at(engine, job->asset);
	bool preview = srv_job_wants_preview(&job->life);
	assert(preview == (job->ingredients.profile == HOB_PROFILE_PREVIEW));
	assert(job->cook.output_count == result->output_count || engine->closing);
	srv_record record = srv_job_record(job);
	hob_error error;
	if (!srv_kept_record(&job->arena, hob_str_of(a->path), result, &record, &error))
		srv_log(SRV_LOG_ERROR, "memory", "%s", error.context);
	keep_record(job, &record);
	if (preview)
		engine->counters.previewed++;
	else
		engine->counters.cooked++;
	engine->counters.cook_ns += job->cook.outcome->cook_ns;
	if (engine->exchange->upstream && result->stats.short_mib == 0)
		srv_engine_give_upstream(job, &record);
	srv_job_remember_inputs(job, &record);
	hob_error refused = {0};
	if (!srv_job_is_late(job))
		(void)srv_publish_good(job, &record, false, &refused);
	bool good = refused.code == HOB_ERR_OK;
	if (!preview)
		srv_record_job(job, good ? "cooked" : "failed", &record.key, good ? NULL : &refused);
	return (srv_job_event){.kind = SRV_JOB_RECORDED, .more = a->life.job == &job->life};
}

/* Stores and publishes a failure. shared: it does not depend on this machine's programs, time or memory, so
 * others get it. */
static srv_job_event keep_failure(engine_job *job, srv_record *record, bool shared)
{
	hob_own_buf error = {0};
	hob_error without;
	assert(record->output_count == 0);
	if (!srv_kept_key(&job->arena, record, &record->key, &without))
		srv_log(SRV_LOG_ERROR, "memory", "%s", without.context);
	srv_error_json(&job->cook.error, "cook", &error);
	record->error = hob_buf_str(&error);
	srv_engine_put_limits(job, record);
	keep_record(job, record);
	if (shared && job->engine->exchange->upstream && record->stats.len == 0)
		srv_engine_give_upstream(job, record);
	srv_job_remember_inputs(job, record);
	srv_publish_bad(job, record, &job->cook.error);
	srv_record_job(job, "failed", &record->key, &job->cook.error);
	return SRV_JOB_SAY(RECORDED);
}

/* Stores a crash. Its inputs are the paths that the cook asked for; the daemon computes their digests. */
static srv_job_event keep_crash(engine_job *job)
{
	srv_engine *engine = job->engine;
	asset *a = srv_asset_at(engine, job->asset);
	const srv_outcome *outcome = job->cook.outcome;
	hob_str dir = hob_path_dir(hob_str_of(a->path));
	srv_record record = srv_job_record(job);
	record.deps = HOB_NEW(&job->arena, srv_record_dep, outcome->touched_count);
	for (uint32_t i = 0; record.deps && i < outcome->touched_count; i++) {
		if (hob_str_equal(outcome->touched[i], hob_str_of(a->path)))
			continue;
		hob_str relative = hob_path_relative(&job->arena, dir, outcome->touched[i]);
		uint32_t file = srv_job_dep_file(job, relative);
		if (file == HOB_NONE)
			continue;
		const srv_file *f = srv_graph_at(engine->graph, file);
		assert(record.dep_count < outcome->touched_count);
		record.deps[record.dep_count++] = (srv_record_dep){relative, !f->exists || !f->has_digest, f->digest};
	}
	return keep_failure(job, &record, false);
}

srv_job_event srv_job_hash_touched(engine_job *job)
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
	assert(count <= job->cook.outcome->touched_count);
	return srv_job_digests(job, files, count);
}

srv_job_event srv_job_keep_failure(engine_job *job)
{
	srv_engine *engine = job->engine;
	const srv_outcome *outcome = job->cook.outcome;
	assert(job->life.failed && job->life.part != SRV_JOB_BESIDE);
	if (!outcome->has_result)
		return keep_crash(job);
	hob_str model = hob_str_of(srv_asset_at(engine, job->asset)->path);
	srv_record record = srv_job_record(job);
	record.file_name = outcome->result.uses_name ? hob_path_name(model) : (hob_str){0};
	record.deps = srv_kept_deps(&job->arena, model, &outcome->result, &record.dep_count);
	bool skipped = job->cook.error.code == HOB_ERR_SKIPPED;
	engine->counters.failed += !skipped;
	return keep_failure(job, &record, engine->options.farm && !skipped);
}

srv_job_event srv_job_stored(engine_job *job)
{
	bool failed = job->cook.error.code != HOB_ERR_OK;
	assert(failed || job->cook.output_count == job->cook.outcome->result.output_count ||
		   job->engine->closing || job->engine->options.batch);
	job->engine->counters.failed += failed && job->life.part != SRV_JOB_BESIDE;
	return failed ? SRV_JOB_SAY(FAILED) : SRV_JOB_SAY(STORED);
}

static void on_stored(srv_piece *piece)
{
	srv_job_put(piece->user, SRV_JOB_SAY(STORED));
}

/* Stores the outputs; a small result of the only job at once: handing it to another thread would take
 * longer. */
srv_job_event srv_job_store(engine_job *job)
{
	enum { HERE_BYTES = 128 << 10, SHORT_BYTES = 32 << 10 };
	assert(job->cook.output_count == 0 && job->cook.outcome->has_result);
	job->piece = (srv_piece){store_outputs, on_stored, .user = job};
	size_t size = job->cook.outcome->mapping_size;
	if (size <= HERE_BYTES && srv_job_is_alone(job)) {
		store_outputs(&job->piece);
		return srv_job_stored(job);
	}
	srv_engine_piece(job->engine, &job->piece,
					 size <= SHORT_BYTES && job->life.order.priority == SRV_PRIORITY_BACKGROUND);
	return SRV_JOB_LATER;
}

/* ---- files read by the worker */

/* Calls `look` for each file that the worker reports, until `look` returns false. False: continues in a later
 * turn. */
static bool each_dep(engine_job *job, bool (*look)(engine_job *job, const srv_dep *dep))
{
	const srv_result *result = &job->cook.outcome->result;
	bool more = job->cook.outcome->has_result;
	for (uint32_t done = 0; more && job->cook.looked < result->dep_count; done++) {
		if (!srv_engine_has_time(job->engine, done))
			return false;
		more = look(job, &result->deps[job->cook.looked++]);
	}
	assert(job->cook.looked <= result->dep_count || !job->cook.outcome->has_result);
	job->cook.looked = 0;
	return true;
}

static bool check_input(engine_job *job, const srv_dep *dep)
{
	hob_str path;
	uint32_t file =
		hob_path_join(&job->arena, (hob_str){0}, dep->path, &path, NULL) ? srv_job_file(job, path) : HOB_NONE;
	if (file != HOB_NONE && srv_job_watch_input(job, file))
		job->cook.changed_input = file + 1;
	return true;
}

/* Checks the files that the cook read and adds them to the graph. */
srv_job_event srv_job_check(engine_job *job)
{
	if (job->cook.looked == 0)
		job->cook.changed_input = 0;
	return each_dep(job, check_input) ? SRV_JOB_SAY(CHECKED) : SRV_JOB_SAY(MORE);
}

/* The worker opens its inputs itself. A result of versions other than the hashed ones must not be stored
 * under their keys, because every later file with these bytes would get it. If an event came since the start
 * of the cook, its version is newer than the one read, and the asset is checked again. */
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
	srv_file *f = file != HOB_NONE ? srv_graph_at(engine->graph, file) : NULL;
	job->cook.other_input =
		f && f->changed <= job->cook.tick && (!f->has_digest || !hob_sha256_equal(&dep->digest, &f->digest));
	/* The worker may see a change before its event comes: the next attempt takes the file as it is then. */
	if (job->cook.other_input) {
		f->has_digest = false;
		(void)srv_job_look_again(job, file);
	}
	return !job->cook.other_input;
}

/* True if a file that the worker could not read is being saved. */
static bool met_a_writer(const engine_job *job)
{
	const srv_result *result = &job->cook.outcome->result;
	int root_fd = job->engine->roots->fds[srv_asset_at(job->engine, job->asset)->root];
	bool met = false;
	for (uint32_t i = 0; job->cook.outcome->has_result && i < result->dep_count && !met; i++)
		met = result->deps[i].missing && srv_is_saved_now(root_fd, result->deps[i].path);
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

/* Interprets the worker's answer. */
static srv_verdict find_verdict(engine_job *job)
{
	srv_engine *engine = job->engine;
	const srv_outcome *outcome = job->cook.outcome;
	/* If a map was found after its start, the next attempt reads what this one could not. */
	bool reads_all = job->cook.mapped || !srv_engine_has_maps(engine);
	srv_cook_facts facts = {.ok = outcome->ok,
							.has_result = outcome->has_result,
							.stalled = outcome->stalled,
							.other_source = job->cook.other_input,
							.writer = job->cook.error.code == HOB_ERR_CHANGED &&
									  (engine->options.batch || (reads_all && met_a_writer(job))),
							.touched = outcome->touched_count > 0,
							.code = job->cook.error.code};
	srv_verdict verdict = srv_judge(&facts, &job->cook.tries);
	bool again = verdict == SRV_VERDICT_TRY_AGAIN,
		 died = !facts.has_result && !facts.ok && facts.code != HOB_ERR_IO;
	if (job->life.part == SRV_JOB_BESIDE)
		return verdict;
	if (died)
		count_death(engine, facts.code, again);
	if (died && again && !engine->options.batch && (facts.stalled || facts.code == HOB_ERR_INTERRUPTED))
		srv_log(SRV_LOG_WARNING, "retry", "%s: %s; it is tried once more",
				srv_asset_at(engine, job->asset)->full, job->cook.error.context);
	engine->counters.failed += verdict == SRV_VERDICT_PASSING;
	return verdict;
}

srv_job_event srv_job_judge(engine_job *job)
{
	if (srv_batch_brings(job))
		return SRV_JOB_LATER;
	if (job->cook.looked == 0)
		job->cook.other_input = false;
	if (!job->engine->options.batch && !each_dep(job, compare_input))
		return SRV_JOB_SAY(MORE);
	if (job->cook.other_input)
		hob_fail(&job->cook.error, CHANGED, "'%s' changed while it was cooked, or a file that it uses did",
				 srv_asset_at(job->engine, job->asset)->path);
	srv_verdict verdict = find_verdict(job);
	return (srv_job_event){
		.kind = SRV_JOB_VERDICT, .verdict = verdict, .newer = job->cook.error.code == HOB_ERR_CHANGED};
}

/* Asks the disk whether a file that no scan has listed exists. */
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
	/* A scan after the start of the cook lists the file as the cook read it, and no event came: it is
	 * unchanged. */
	if (!known && f->exists && srv_stat_equal(&f->stat, &stat) && f->changed > job->cook.tick)
		f->changed = job->cook.tick;
	if (f->changed > job->cook.tick)
		return true;
	find_unlisted(job, f, file);
	assert(job->cook.read_count < job->cook.outcome->result.dep_count);
	job->cook.read[job->cook.read_count++] = file;
	return true;
}

/* Hashes unknown files here: a worker's digests are not trusted, as keys of other assets depend on them. */
srv_job_event srv_job_hash_read(engine_job *job)
{
	uint32_t count = job->cook.outcome->result.dep_count;
	if (job->cook.looked == 0) {
		job->cook.read_count = 0;
		job->cook.read = HOB_NEW(&job->arena, uint32_t, count);
	}
	if (job->cook.read && !each_dep(job, find_read))
		return SRV_JOB_SAY(MORE);
	assert(job->cook.read_count <= count);
	return srv_job_digests(job, job->cook.read, job->cook.read_count);
}

/* ---- the worker's answer, and ends without a result */

void srv_job_take_outcome(engine_job *job)
{
	srv_engine *engine = job->engine;
	srv_outcome *outcome = job->cook.outcome;
	asset *a = srv_asset_at(engine, job->asset);
	assert(job->life.stage == SRV_JOB_COOK && engine->counters.running > 0);
	engine->counters.running--;
	/* A file missing from a folder that is being deleted is not the model's fault. */
	if (!engine->options.batch && !engine->closing && !srv_job_leaves(&job->life))
		srv_engine_doubt_root(engine, a->root);
	if (!engine->closing && a->life.job == &job->life)
		srv_asset_set_worker(&a->life, false);
	if (outcome->stalled && job->cook.tries.stalled && outcome->error.code == HOB_ERR_TIMEOUT)
		srv_outcome_stalled_again(outcome);
	job->cook.error = outcome->error;
	job->cook.looked = 0;
	if (outcome->cancelled || srv_job_leaves(&job->life))
		return;
	/* A cook that ran out of memory shows how much the next attempt needs. */
	if (job->cook.error.code == HOB_ERR_INTERRUPTED && outcome->peak_bytes > a->cost.peak_bytes)
		a->cost.peak_bytes = outcome->peak_bytes;
	/* If the preview fails, so does the final cook: the failure is stored as the final one. */
	if (!outcome->ok) {
		job->ingredients.profile = HOB_PROFILE_FINAL;
		job->lookup = job->final_lookup;
	}
}

bool srv_job_leave_number(engine_job *job, srv_asset_event_kind kind)
{
	srv_asset_state to = kind == SRV_ASSET_CUT ? SRV_ASSET_QUEUED : SRV_ASSET_WRITER;
	bool working = srv_asset_at(job->engine, job->asset)->life.state == SRV_ASSET_WORKING;
	srv_engine_apply(
		job->engine, job->asset,
		(srv_asset_event){.kind = kind, .taken = &job->life.order, .force = job->life.order.force});
	if (working)
		job->life.order.why = (hob_buf){0};
	assert(!working || srv_asset_at(job->engine, job->asset)->life.state == to);
	return working;
}

srv_job_event srv_job_give_back(engine_job *job)
{
	assert(job->life.part != SRV_JOB_BESIDE && job->life.stage == SRV_JOB_RECORD);
	if (srv_batch_tells(job))
		return SRV_JOB_LATER;
	(void)srv_job_leave_number(job, job->damaged ? SRV_ASSET_CUT : SRV_ASSET_HALF_WRITTEN);
	return SRV_JOB_SAY(RECORDED);
}

srv_job_event srv_job_cancelled(engine_job *job)
{
	srv_engine *engine = job->engine;
	srv_job_leave leave = job->life.leave;
	if (leave == SRV_JOB_IS_CLOSED)
		return SRV_JOB_SAY(RECORDED);
	engine->counters.cancelled++;
	if (leave == SRV_JOB_IS_STOPPED)
		srv_publish_cancelled(engine, srv_asset_at(engine, job->asset), job, NULL);
	bool ends = leave == SRV_JOB_IS_STOPPED || leave == SRV_JOB_IS_DROPPED;
	if (ends || !srv_job_leave_number(job, SRV_ASSET_CUT))
		srv_record_job(job, "cancelled", NULL, NULL);
	return SRV_JOB_SAY(RECORDED);
}

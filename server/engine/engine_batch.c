#include "engine_batch.h"
#include "engine_acts.h"
#include "engine_exchange.h"
#include "engine_root.h"

#include "../reuse/kept.h"

#include <assert.h>

/* The acts of a job that differ in a pass: inputs are hashed only to find results, the worker's digests are
 * trusted, failures are not kept, and ends go to the caller. */

static const srv_engine_batch *batch_of(const engine_job *job)
{
	return job->engine->options.batch;
}

static srv_job_event leave(engine_job *job)
{
	(void)hob_fail(&job->cook.error, CANCELLED, "it is left to others");
	return SRV_JOB_SAY(FAILED);
}

/* A source that cannot be read, or that no importer takes, goes to a worker, which says why. */
static srv_job_event look_up(engine_job *job)
{
	assert(job->asset < job->engine->assets->count);
	asset *a = srv_asset_at(job->engine, job->asset);
	const srv_file *source = srv_graph_at(job->engine->graph, a->file);
	static const srv_pool_importer none = {0};
	const srv_batch_source *wanted = &batch_of(job)->sources[job->asset];
	job->source = source->digest;
	if (!source->has_digest) /* a number that no other job shares: none waits for it */
		memcpy(job->source.bytes, &job->life.order.id, sizeof job->life.order.id);
	job->ingredients =
		srv_kept_ingredients(a->importer ? a->importer : &none, hob_str_of(a->path), wanted->settings);
	job->lookup = job->final_lookup = hob_cook_lookup(&job->source, &job->ingredients);
	if (wanted->lookup && !hob_sha256_equal(wanted->lookup, &job->lookup))
		return leave(job);
	if (!wanted->wrong)
		return SRV_JOB_SAY(LOOKED_UP);
	job->cook.error = *wanted->wrong;
	return SRV_JOB_SAY(FAILED);
}

static bool looks(const engine_job *job)
{
	const asset *a = srv_asset_at(job->engine, job->asset);
	return job->engine->store && a->importer && !batch_of(job)->sources[job->asset].force &&
		   srv_graph_at(job->engine->graph, a->file)->has_digest;
}

static srv_job_event find(engine_job *job)
{
	hob_error ignored;
	if (looks(job))
		srv_store_read_together(job->engine->store);
	if (!looks(job) || !srv_store_records(job->engine->store, &job->lookup, &job->arena, &job->earlier.items,
										  &job->earlier.count, &ignored))
		job->earlier.count = 0;
	assert(looks(job) || job->earlier.count == 0);
	return SRV_JOB_SAY(RECORDS);
}

static srv_job_event hashed(engine_job *job)
{
	(void)job;
	return SRV_JOB_SAY(HASHED);
}

static srv_job_event checked(engine_job *job)
{
	(void)job;
	return SRV_JOB_SAY(CHECKED);
}

static srv_job_event end(engine_job *job, const srv_record *kept, const hob_error *error)
{
	bool lost = job->unkept.code != HOB_ERR_OK;
	assert(job->life.stage == SRV_JOB_RECORD && !(kept && error));
	batch_of(job)->over(batch_of(job)->user, &(srv_batch_end){.job = job,
															  .source = job->asset,
															  .outcome = job->cook.outcome,
															  .kept = kept,
															  .fetched = kept && job->life.elsewhere,
															  .error = error,
															  .unkept = lost ? &job->unkept : NULL});
	return SRV_JOB_LATER;
}

static srv_job_event take(engine_job *job)
{
	return end(job, job->earlier.taken, NULL);
}

/* Keeps a result whose source is the one that was hashed: else only the worker would vouch for its key. */
static srv_job_event keep(engine_job *job)
{
	srv_engine *engine = job->engine;
	const srv_result *result = &job->cook.outcome->result;
	hob_str model = hob_str_of(srv_asset_at(engine, job->asset)->path);
	bool known = result->dep_count > 0 && hob_str_equal(result->deps[0].path, model) &&
				 !result->deps[0].missing && hob_sha256_equal(&result->deps[0].digest, &job->source);
	assert(job->cook.output_count <= result->output_count);
	srv_record record = srv_job_record(job);
	if (batch_of(job)->keeps && job->unkept.code == HOB_ERR_OK && known && result->stats.short_mib == 0 &&
		srv_kept_record(&job->arena, model, result, &record, &job->unkept) &&
		srv_store_put_record(engine->store, &record, &job->unkept) &&
		srv_store_commit(engine->store, &job->unkept) && engine->exchange->upstream)
		srv_engine_give_upstream(job, &record);
	return end(job, NULL, NULL);
}

static srv_job_event fail(engine_job *job)
{
	return end(job, NULL, &job->cook.error);
}

bool srv_batch_tells(engine_job *job)
{
	if (!batch_of(job) || !job->cook.outcome)
		return false;
	(void)fail(job);
	return true;
}

static srv_job_event cancelled(engine_job *job)
{
	if (job->life.leave == SRV_JOB_IS_CUT)
		(void)srv_job_leave_number(job, SRV_ASSET_CUT);
	return SRV_JOB_SAY(RECORDED);
}

/* ---- files that come over the network */

void srv_batch_brought(void *job_, bool ok)
{
	engine_job *job = job_;
	if (!ok)
		(void)leave(job);
	srv_job_put(job, job->life.stage == SRV_JOB_CLAIM
						 ? SRV_JOB_SAY(LEASED)
						 : (srv_job_event){.kind = SRV_JOB_VERDICT,
										   .verdict = ok ? SRV_VERDICT_TRY_AGAIN : SRV_VERDICT_PASSING});
}

act_function *const srv_batch_acts[SRV_JOB_ACTS] = {
	[SRV_JOB_DO_LOOK_UP] = look_up,		[SRV_JOB_DO_FIND] = find,		  [SRV_JOB_DO_HASH_READ] = hashed,
	[SRV_JOB_DO_HASH_TOUCHED] = hashed, [SRV_JOB_DO_CHECK] = checked,	  [SRV_JOB_DO_TAKE] = take,
	[SRV_JOB_DO_KEEP] = keep,			[SRV_JOB_DO_KEEP_FAILURE] = fail, [SRV_JOB_DO_FAIL] = fail,
	[SRV_JOB_DO_CANCELLED] = cancelled,
};

/* ---- the caller */

void srv_batch_let_go(void *job_)
{
	engine_job *job = job_;
	bool bad = job->cook.error.code != HOB_ERR_OK;
	assert(job->life.stage == SRV_JOB_RECORD && job->asset < job->engine->assets->count);
	srv_engine_apply(
		job->engine, job->asset,
		(srv_asset_event){.kind = bad ? SRV_ASSET_BAD : SRV_ASSET_GOOD, .error = SRV_ASSET_FAILED});
	srv_job_put(job, SRV_JOB_SAY(RECORDED));
}

srv_outcome *srv_batch_wait(void *job_)
{
	engine_job *job = job_;
	srv_outcome *outcome = job->cook.outcome;
	srv_graph *graph = job->engine->graph;
	for (uint32_t i = 0; outcome && i < outcome->result.dep_count; i++) {
		uint32_t file = srv_graph_find(graph, 0, outcome->result.deps[i].path);
		if (file != HOB_NONE)
			srv_graph_at(graph, file)->has_digest = false;
	}
	job->cook.outcome = NULL;
	srv_job_put_act(job, SRV_JOB_DO_GIVE_BACK);
	return outcome;
}

void srv_batch_remake(void *job_)
{
	engine_job *job = job_;
	assert(!job->cook.outcome && job->earlier.taken);
	job->damaged = batch_of(job)->sources[job->asset].force = true;
	srv_job_put_act(job, SRV_JOB_DO_GIVE_BACK);
}

void srv_batch_again(srv_engine *engine, uint32_t source)
{
	assert(source < engine->assets->count && srv_asset_at(engine, source)->id == source);
	srv_engine_apply(
		engine, source,
		(srv_asset_event){.kind = SRV_ASSET_CLOCK, .reason = "changed", .priority = SRV_PRIORITY_BACKGROUND});
	srv_engine_stir(engine);
}

srv_upstream *srv_batch_upstream(const srv_engine *engine)
{
	return engine->exchange->upstream;
}

bool srv_batch_tell(srv_engine *engine, const char *path, const hob_sha256 *digest)
{
	uint32_t file = srv_graph_file(engine->graph, 0, hob_str_of(path));
	if (file == HOB_NONE)
		return false;
	srv_file *f = srv_graph_at(engine->graph, file);
	f->exists = f->has_digest = true;
	f->digest = *digest;
	return true;
}

bool srv_batch_add(srv_engine *engine, uint32_t count)
{
	const srv_batch_source *sources = engine->options.batch->sources;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t file = srv_graph_file(engine->graph, 0, hob_str_of(sources[i].path));
		if (file == HOB_NONE)
			return false;
		srv_file *f = srv_graph_at(engine->graph, file);
		f->asset = HOB_NONE; /* a scene list may name a file twice, with other settings */
		f->stat.size = sources[i].size;
		f->exists = sources[i].size > 0 || sources[i].text.len > 0 ||
					srv_stat_path(engine->roots->fds[0], f->path, &f->stat);
		if (sources[i].text.len > 0) {
			f->digest =
				hob_sha256_of((hob_bytes){(const uint8_t *)sources[i].text.data, sources[i].text.len});
			f->has_digest = true;
		}
		uint32_t id = srv_engine_add_asset(engine, file);
		if (id == HOB_NONE)
			return false;
		assert(id == i);
		srv_engine_apply(engine, id,
						 (srv_asset_event){.kind = SRV_ASSET_DIRTY,
										   .reason = "added",
										   .priority = SRV_PRIORITY_BACKGROUND,
										   .force = sources[i].force});
	}
	srv_engine_stir(engine);
	return true;
}

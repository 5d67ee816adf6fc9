#include "engine_exchange.h"
#include "engine_sources.h"

#include "../worker/machine.h"

#include <assert.h>

/* The priority of a dirty asset, and its changes while it waits. */

srv_priority srv_engine_priority(srv_engine *engine, const asset *a, srv_priority priority)
{
	bool used = !engine->options.batch && priority > SRV_PRIORITY_IN_USE &&
				srv_uses_has(srv_events_uses(engine->publish.events), hob_str_of(a->full));
	return used ? SRV_PRIORITY_IN_USE : priority;
}

static bool comes_before(const engine_job *job, const engine_job *other)
{
	bool preview = srv_job_wants_preview(&job->life), other_preview = srv_job_wants_preview(&other->life);
	if (job->life.order.priority != other->life.order.priority)
		return job->life.order.priority < other->life.order.priority;
	return preview != other_preview ? preview : job->place < other->place;
}

engine_job *srv_engine_next_waiting(const srv_engine *engine, const engine_job *before)
{
	engine_job *next = NULL;
	for (uint32_t i = 0; i < engine->jobs->count; i++) {
		engine_job *job = engine->jobs->active[i];
		if (job->life.stage == SRV_JOB_WAIT && (!before || comes_before(before, job)) &&
			(!next || comes_before(job, next)))
			next = job;
	}
	assert(next != before || !next);
	return next;
}

bool srv_job_waits(const engine_job *job)
{
	srv_job_stage stage = job->life.stage;
	return stage == SRV_JOB_ASK || stage == SRV_JOB_FETCH || stage == SRV_JOB_UNCLAIMED ||
		   stage == SRV_JOB_CLAIM || stage == SRV_JOB_WAIT;
}

bool srv_job_is_looked_at(const engine_job *job)
{
	return job->life.order.priority <= SRV_PRIORITY_IN_USE ||
		   (job->life.order.priority == SRV_PRIORITY_CHANGED &&
			srv_events_listeners(job->engine->publish.events) > 0);
}

bool srv_job_may_preview(const engine_job *job)
{
	const asset *a = srv_asset_at(job->engine, job->asset);
	/* would be exported twice: for the preview, then for the cook */
	bool exported = a->importer && hob_str_equal(a->importer->name, HOB_STR("blend"));
	return srv_asset_is_slow(job->engine, a) && !exported && !a->changeset.member && !job->life.order.force;
}

/* Whether no client waits for the job, or only for a preview of its own model. */
static bool may_be_cut(const srv_engine *engine, const engine_job *job, const engine_job *preview)
{
	const asset *a = srv_asset_at(engine, job->asset);
	const srv_job *life = &job->life;
	return life->stage == SRV_JOB_COOK && life->leave == SRV_JOB_STAYS && !srv_job_wants_preview(life) &&
		   !life->order.force && a->life.job == life && a->life.state == SRV_ASSET_WORKING &&
		   a->life.job_cuts == 0 && srv_asset_is_slow(engine, a) &&
		   (job->asset == preview->asset || life->order.priority > SRV_PRIORITY_IN_USE);
}

engine_job *srv_engine_find_cut(const srv_engine *engine)
{
	const engine_job *preview = srv_engine_next_waiting(engine, NULL);
	uint32_t workers = srv_pool_size(engine->jobs->pool);
	assert(!engine->closing && engine->counters.running == engine->jobs->in_stage[SRV_JOB_COOK]);
	if (!preview || preview->life.order.priority > SRV_PRIORITY_INTERACTIVE ||
		!srv_job_wants_preview(&preview->life) || engine->counters.running < workers ||
		srv_pool_alive(engine->jobs->pool) < workers)
		return NULL;
	/* Cuts the cook that began last, which loses least; the model's own only if there is no other: its
	 * clients wait for that, too. */
	engine_job *cut = NULL;
	for (uint32_t i = 0; i < engine->jobs->count; i++) {
		engine_job *job = engine->jobs->active[i];
		if (may_be_cut(engine, job, preview) &&
			(!cut || cut->asset == preview->asset ||
			 (job->asset != preview->asset && job->cook.started_at_ms > cut->cook.started_at_ms)))
			cut = job;
	}
	return cut;
}

void srv_engine_count_waiting(srv_engine *engine)
{
	uint32_t counts[SRV_PRIORITY_COUNT], all = 0;
	for (int i = 0; i < SRV_PRIORITY_COUNT; i++)
		counts[i] = srv_queue_count_of(engine->jobs->queue, (srv_priority)i);
	uint32_t open = 0;
	for (uint32_t i = 0; i < engine->jobs->count; i++) {
		const srv_job *life = &engine->jobs->active[i]->life;
		counts[life->order.priority] += life->stage == SRV_JOB_WAIT;
		open += life->stage != SRV_JOB_OVER && life->leave != SRV_JOB_YIELDS;
	}
	assert(open <= engine->jobs->count);
	counts[SRV_PRIORITY_BACKGROUND] += engine->jobs->in_stage[SRV_JOB_UNCLAIMED];
	for (int i = 0; i < SRV_PRIORITY_COUNT; i++) {
		engine->counters.queued_of[i] = counts[i];
		all += counts[i];
	}
	engine->counters.queue_length = all;
	srv_activity_waits(engine->jobs->activity, srv_queue_count(engine->jobs->queue) + open,
					   srv_clock_ms(CLOCK_REALTIME));
}

/* ---- estimates of time and memory, from earlier cooks */

/* A cook that needs less memory than this, or than this fraction of the machine's, always starts. */
enum { SMALL_BYTES = 256 << 20, SMALL_SHARE = 16 };

uint64_t srv_asset_queue_cost(const srv_engine *engine, const asset *a)
{
	uint64_t bytes = srv_graph_at(engine->graph, a->file)->stat.size;
	return a->cost.final_ns > 0 ? a->cost.final_ns : bytes * ASSET_NS_PER_BYTE;
}

bool srv_asset_is_slow(const srv_engine *engine, const asset *a)
{
	enum { WAIT_NS = 30 * 1000 * 1000, LARGE_BYTES = 512 << 10 };
	return a->cost.final_ns > 0 ? a->cost.final_ns > WAIT_NS
								: srv_graph_at(engine->graph, a->file)->stat.size > LARGE_BYTES;
}

/* Bytes of a folder's other files, including subfolders without models, divided by its number of models. 0 if
 * there are too many files to look at. */
static uint64_t beside(const srv_engine *engine, uint32_t root, hob_str folder)
{
	enum { MOST = 1024 };
	size_t count = 0, at = folder.len;
	uint64_t here = 0, models = 0, below = 0;
	const srv_file_list *list = engine->sources->listed[root].list;
	const srv_file_entry *files = list ? srv_file_list_below(list, folder, &count) : NULL;
	bool taken = true; /* no model in the folder below */
	assert(root < engine->sources->root_count && at <= folder.len);
	hob_str group = {0};
	for (size_t i = 0; i < count && count <= MOST; i++) {
		hob_str path = files[i].path;
		size_t slash = hob_str_find(path, HOB_STR("/"), at);
		hob_str sub = hob_str_sub(path, at, slash == SIZE_MAX ? at : slash);
		bool model = srv_pool_importer_for(engine->jobs->pool, path) != NULL;
		if (!hob_str_equal(sub, group)) {
			here += taken ? below : 0;
			group = sub;
			below = 0;
			taken = true;
		}
		if (sub.len > 0) {
			taken = taken && !model;
			below += files[i].stat.size;
		} else if (model) {
			models++;
		} else {
			here += files[i].stat.size;
		}
	}
	here += taken ? below : 0;
	return here / (models > 0 ? models : 1);
}

/* Assets are mostly sorted by folder, so the sum of the last folder is cached. */
static void weigh(srv_engine *engine, asset *a)
{
	struct engine_jobs *jobs = engine->jobs;
	hob_str path = hob_str_of(a->path);
	size_t end = path.len;
	while (end > 0 && path.data[end - 1] != '/')
		end--;
	hob_str folder = {path.data, end};
	if (a->cost.size > 0 || !jobs->pool)
		return;
	uint64_t hash[2];
	hob_fast_hash((hob_bytes){(const uint8_t *)folder.data, folder.len}, hash);
	if (jobs->weighed.root != a->root + 1 || memcmp(jobs->weighed.folder, hash, sizeof hash) != 0) {
		jobs->weighed.root = a->root + 1;
		memcpy(jobs->weighed.folder, hash, sizeof hash);
		jobs->weighed.bytes = beside(engine, a->root, folder);
	}
	a->cost.size = srv_forecast_size(srv_graph_at(engine->graph, a->file)->stat.size, jobs->weighed.bytes);
}

static uint32_t format_of(const srv_engine *engine, const asset *a)
{
	uint32_t count;
	bool known = engine->jobs->pool && a->importer;
	return known ? (uint32_t)(a->importer - srv_pool_importers(engine->jobs->pool, &count)) % SRV_FORECAST_ALL
				 : 0;
}

uint64_t srv_engine_expected_ns(const srv_engine *engine, const asset *a)
{
	uint64_t source = srv_graph_at(engine->graph, a->file)->stat.size;
	return a->cost.final_ns > 0 ? a->cost.final_ns
								: srv_forecast_ns(&engine->jobs->forecast, format_of(engine, a),
												  a->cost.size > 0 ? a->cost.size : source);
}

void srv_engine_note_work(srv_engine *engine, asset *a, uint64_t ns)
{
	weigh(engine, a);
	assert(a->root < engine->options.root_count && a->id < engine->assets->count);
	engine->jobs->worked_ns += ns;
	srv_forecast_note(&engine->jobs->forecast, format_of(engine, a), a->cost.size, ns);
}

/* Adds the expected remaining time of all active jobs; returns how long they have run so far. */
static uint64_t add_active(const srv_engine *engine, srv_forecast_work *work)
{
	uint64_t all = 0;
	for (uint32_t i = 0; i < engine->jobs->count; i++) {
		const engine_job *job = engine->jobs->active[i];
		uint64_t ran = engine->jobs->pool ? srv_pool_used_ns(engine->jobs->pool, &job->client) : 0;
		srv_forecast_add(work, srv_forecast_rest_ns(
								   srv_engine_expected_ns(engine, srv_asset_at(engine, job->asset)), ran));
		all += ran;
	}
	return all;
}

void srv_engine_note_expected(srv_engine *engine)
{
	struct engine_jobs *jobs = engine->jobs;
	int64_t now_ms = srv_clock_ms(CLOCK_REALTIME),
			began_ms = srv_activity_now(jobs->activity, now_ms).began_at_ms;
	srv_forecast_work work = {.workers = jobs->pool ? srv_pool_size(jobs->pool) : 0};
	uint64_t worked = jobs->worked_ns + add_active(engine, &work);
	if (jobs->run.began_ms != began_ms)
		jobs->run.speed = (srv_forecast_speed){0};
	jobs->run.began_ms = began_ms;
	srv_forecast_tick(&jobs->run.speed, worked, (uint64_t)now_ms * 1000000);
	for (uint32_t i = 0; srv_queue_count(jobs->queue) > 0 && i < engine->assets->count; i++)
		if (srv_queue_has(jobs->queue, i)) {
			weigh(engine, srv_asset_at(engine, i));
			srv_forecast_add(&work, srv_engine_expected_ns(engine, srv_asset_at(engine, i)));
		}
	engine->counters.expected_ns = srv_forecast_left_ns(&work, &jobs->run.speed);
}

bool srv_engine_has_memory(const srv_engine *engine, const engine_job *job)
{
	uint64_t needed = srv_asset_at(engine, job->asset)->cost.peak_bytes, running = 0;
	assert(engine->counters.running == engine->jobs->in_stage[SRV_JOB_COOK]);
	if (needed == 0 || engine->counters.running == 0)
		return true;
	if (needed < SMALL_BYTES && needed < engine->jobs->memory_total / SMALL_SHARE)
		return true;
	/* Running cooks may not have allocated their memory yet. */
	for (uint32_t i = 0; i < engine->jobs->count; i++)
		if (engine->jobs->active[i]->life.stage == SRV_JOB_COOK)
			running += srv_asset_at(engine, engine->jobs->active[i]->asset)->cost.peak_bytes;
	srv_memory memory;
	srv_machine_memory("", &memory);
	return needed + running <= memory.available;
}

#include "engine_exchange.h"
#include "engine_health.h"
#include "engine_publish.h"
#include "engine_root.h"
#include "engine_sources.h"
#include "engine_turn.h"
#include "engine_upkeep.h"

#include "../../core/base/array.h"
#include "../log/log.h"
#include "../reuse/kept.h"

#include <assert.h>
#include <stdlib.h>

enum { JOB_ARENA = 256 << 20 };

/* ---- the job, step by step */

static void wake_twins(srv_engine *engine, engine_job *twin)
{
	while (twin) {
		engine_job *next = twin->list_next;
		twin->twin.of = NULL;
		if (twin->abandoned || engine->closing)
			srv_job_end(twin);
		else
			srv_job_lookup(twin);
		twin = next;
	}
}

void srv_job_go_on(engine_job *job)
{
	srv_engine *engine = job->engine;
	engine_job *twins = job->twin.waiting;
	job->twin.waiting = NULL;
	if (job->abandoned || engine->closing || srv_asset_at(engine, job->asset)->life.job != job) {
		wake_twins(engine, twins);
		srv_job_end(job);
		return;
	}
	srv_outcome_free(job->cook.outcome);
	job->cook.outcome = NULL;
	job->cook.output_count = 0;
	job->cooking = false;
	job->previewed = true;
	job->order.priority = SRV_PRIORITY_BACKGROUND;
	uint32_t source = srv_asset_at(engine, job->asset)->file;
	srv_job_digests(job, &source, 1, srv_job_lookup);
	wake_twins(engine, twins);
}

void srv_job_end(engine_job *job)
{
	srv_engine *engine = job->engine;
	engine_job *twins = job->twin.waiting;
	srv_job_free(job);
	wake_twins(engine, twins);
	if (engine->closing)
		return;
	srv_publish_note_view(&engine->publish);
	srv_engine_fill(engine);
}

void srv_job_fail(engine_job *job, const hob_error *error)
{
	srv_engine_doubt_root(job->engine, srv_asset_at(job->engine, job->asset)->root);
	if (job->abandoned || job->twin.aside) {
		srv_job_end(job);
		return;
	}
	srv_publish_bad(job, NULL, error);
	srv_record_job(job, "failed", NULL, error);
	srv_job_end(job);
}

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

bool srv_job_inputs_match(engine_job *job, const srv_record *record)
{
	return srv_kept_holds(record, hob_str_of(srv_asset_at(job->engine, job->asset)->path), look_at_input,
						  job);
}

static bool candidate_matches(engine_job *job, const srv_record *record)
{
	srv_engine *engine = job->engine;
	if (srv_engine_is_doubtful(engine, record) || !srv_job_inputs_match(job, record))
		return false;
	for (uint32_t i = 0; i < record->output_count; i++)
		if (!srv_blob_exists(engine->store, &record->outputs[i].digest))
			return false;
	return true;
}

/* A file that no scan listed is watched from now on. Whether it changed since the worker read it must be
 * asked of the disk. */
static bool was_missed(srv_engine *engine, uint32_t file, uint32_t user)
{
	srv_file *f = srv_graph_at(engine->graph, file);
	srv_stat now;
	if (f->mark != 0 || !srv_watch_add_file(engine->sources->watch, f->root, f->path))
		return false;
	bool there = srv_stat_path(engine->roots->fds[f->root], f->path, &now);
	if (!there && srv_is_passing(errno))
		return true;
	if (there == f->exists && (!there || srv_stat_equal(&now, &f->stat)))
		return false;
	f->exists = there;
	f->has_digest = false;
	f->stat = there ? now : (srv_stat){0};
	f->changed = srv_graph_tick(engine->graph);
	srv_engine_tell_others(engine, file, user);
	return true;
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
			changed = job->earlier.blind.code != HOB_ERR_OK ? hob_str_of(a->path) : changed;
			continue;
		}
		files[count] = file;
		inputs[count++] = (asset_input){file, record->deps[i].missing, record->deps[i].digest};
	}
	/* The files that a cook uses are known only at its end, so nobody was told of changes since its start. */
	for (uint32_t i = 0; i < count; i++) {
		bool later = job->cook.outcome && srv_graph_at(engine->graph, files[i])->changed > job->cook.tick;
		if (later || was_missed(engine, files[i], job->asset))
			changed = srv_graph_at(engine->graph, files[i])->path;
	}
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

/* ---- steps that later turns take */

void srv_job_later(engine_job *job, void (*resume)(engine_job *job))
{
	srv_engine *engine = job->engine;
	if (engine->closing) {
		srv_job_end(job);
		return;
	}
	engine_job **end = &engine->jobs->later;
	while (*end)
		end = &(*end)->list_next;
	*end = job;
	job->list_next = NULL;
	job->step.resume = resume;
	engine->counters.turn.put_off++;
	srv_engine_go_on(engine);
}

void srv_engine_step_later(srv_engine *engine)
{
	engine_job *last = engine->jobs->later;
	while (last && last->list_next)
		last = last->list_next;
	/* Those that are put off again stand behind the last one. */
	for (uint32_t done = 0; last && (engine->closing || srv_engine_has_time(engine, done)); done++) {
		engine_job *job = engine->jobs->later;
		engine->jobs->later = job->list_next;
		bool over = job == last;
		if (job->abandoned || engine->closing)
			srv_job_end(job);
		else
			job->step.resume(job);
		if (over)
			break;
	}
	if (engine->jobs->later)
		srv_engine_go_on(engine);
}

static void go_through(engine_job *job)
{
	srv_engine *engine = job->engine;
	const srv_result *result = &job->cook.outcome->result;
	bool more = job->cook.outcome->has_result;
	for (uint32_t done = 0; more && job->cook.met < result->dep_count; done++) {
		if (!srv_engine_has_time(engine, done)) {
			srv_job_later(job, go_through);
			return;
		}
		more = job->cook.look(job, &result->deps[job->cook.met++]);
	}
	job->cook.then(job);
}

void srv_job_each_dep(engine_job *job, bool (*look)(engine_job *job, const srv_dep *dep),
					  void (*then)(engine_job *job))
{
	job->cook.met = 0;
	job->cook.look = look;
	job->cook.then = then;
	go_through(job);
}

static bool meet(engine_job *job, const srv_dep *dep)
{
	hob_str path;
	uint32_t file =
		hob_path_join(&job->arena, (hob_str){0}, dep->path, &path, NULL) ? srv_job_file(job, path) : HOB_NONE;
	if (file != HOB_NONE && was_missed(job->engine, file, job->asset))
		job->cook.changed_input = file + 1;
	return true;
}

void srv_job_meet_inputs(engine_job *job, void (*then)(engine_job *job))
{
	job->cook.changed_input = 0;
	srv_job_each_dep(job, meet, then);
}

static void step_match(engine_job *job);
static void step_cook(engine_job *job);

bool srv_job_hash_inputs(engine_job *job, void (*next)(engine_job *job))
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
	if (job->earlier.blind.code != HOB_ERR_OK) {
		hob_error blind = job->earlier.blind;
		srv_job_fail(job, &blind);
		return false;
	}
	srv_job_digests(job, files, count, next);
	return true;
}

/* Finds the records with the job's look-up key, and the digests of all their inputs. */
static void find_candidates(engine_job *job)
{
	srv_engine *engine = job->engine;
	hob_error error;
	job->earlier.blind = (hob_error){0};
	bool found = srv_store_records(engine->store, &job->lookup, &job->arena, &job->earlier.items,
								   &job->earlier.count, &error) ||
				 (srv_engine_heal_index(engine) &&
				  srv_store_records(engine->store, &job->lookup, &job->arena, &job->earlier.items,
									&job->earlier.count, &error));
	if (!found) {
		srv_log(SRV_LOG_ERROR, "store", "%s", error.context);
		job->earlier.count = 0;
	}
	(void)srv_job_hash_inputs(job, step_match);
}

void srv_job_expect_news(engine_job *job)
{
	if (job->previewed && job->order.priority > SRV_PRIORITY_CHANGED)
		job->order.priority = SRV_PRIORITY_CHANGED;
	job->previewed = false;
}

void srv_job_lookup(engine_job *job)
{
	srv_engine *engine = job->engine;
	asset *a = srv_asset_at(engine, job->asset);
	srv_file *source = srv_graph_at(engine->graph, a->file);
	hob_error error = {0};
	if (source->exists && !source->has_digest && source->stat.size > engine->options.source_limit) {
		hob_fail(&error, LIMIT, "'%s' has %llu bytes; a file of a model may have %llu (cook.source_limit)",
				 a->path, (unsigned long long)source->stat.size,
				 (unsigned long long)engine->options.source_limit);
		srv_job_fail(job, &error);
		return;
	}
	if (!source->exists || !source->has_digest) {
		/* The source is gone or unreadable: a removal event follows, or the permissions are wrong. */
		srv_stat stat;
		if (srv_stat_path(engine->roots->fds[a->root], hob_str_of(a->path), &stat)) {
			source->exists = true;
			hob_fail(&error, IO, "'%s' cannot be read: check its permissions", a->path);
			srv_job_fail(job, &error);
		} else if (srv_is_passing(errno)) {
			hob_fail(&error, IO, "'%s' cannot be looked at: %s", a->path, strerror(errno));
			srv_job_fail(job, &error);
		} else {
			srv_engine_wait_for_writer(job);
		}
		return;
	}
	if (job->previewed && !hob_sha256_equal(&job->source, &source->digest))
		srv_job_expect_news(job);
	job->source = source->digest;
	srv_facts_tell(&engine->facts,
				   &(srv_fact){.kind = SRV_FACT_SOURCE_READ, .asset = job->asset, .digest = &job->source});
	if (!srv_asset_ingredients(engine, a, &job->arena, &job->ingredients, &error)) {
		srv_job_fail(job, &error);
		return;
	}
	job->lookup = job->final_lookup = hob_cook_lookup(&job->source, &job->ingredients);
	if (job->order.force)
		step_cook(job);
	else
		find_candidates(job);
}

void srv_job_take_record(engine_job *job, const srv_record *record)
{
	srv_engine *engine = job->engine;
	asset *a = srv_asset_at(engine, job->asset);
	bool same = a->last.known && hob_sha256_equal(&a->last.key, &record->key) && a->shown.rev > 0;
	*(job->abroad.fetched ? &engine->counters.fetched : &engine->counters.hits) += 1;
	if (same)
		engine->counters.unchanged++;
	else
		engine->counters.saved_ns += record->cook_ns;
	srv_job_remember_inputs(job, record);
	if (srv_job_is_late(job)) {
		srv_job_end(job);
		return;
	}
	if (same)
		srv_publish_same(job, record);
	else if (record->error.len > 0)
		srv_publish_bad(job, record, NULL);
	else
		srv_publish_good(job, record, true);
	if (job->ingredients.profile == HOB_PROFILE_PREVIEW) {
		srv_job_go_on(job);
		return;
	}
	srv_record_job(job,
				   record->error.len > 0 ? "failed"
				   : job->abroad.fetched ? "fetched"
										 : "hit",
				   &record->key, NULL);
	srv_job_end(job);
}

bool srv_job_is_late(const engine_job *job)
{
	const asset *a = srv_asset_at(job->engine, job->asset);
	return job->twin.aside && !(a->life.state == SRV_ASSET_WORKING && a->life.job->twin.preview == job);
}

static bool is_looked_at(const engine_job *job)
{
	return job->order.priority <= SRV_PRIORITY_IN_USE ||
		   (job->order.priority == SRV_PRIORITY_CHANGED &&
			srv_events_listeners(job->engine->publish.events) > 0);
}

static bool may_preview(const engine_job *job)
{
	const asset *a = srv_asset_at(job->engine, job->asset);
	bool exported = a->importer && hob_str_equal(a->importer->name, HOB_STR("blend")); /* twice, then */
	return srv_asset_is_slow(job->engine, a) && !exported && !a->changeset.member && !job->previewed &&
		   !job->order.force && job->ingredients.profile == HOB_PROFILE_FINAL;
}

static bool wants_preview(const engine_job *job)
{
	return is_looked_at(job) && may_preview(job);
}

static void step_match(engine_job *job)
{
	for (uint32_t i = 0; i < job->earlier.count; i++)
		if (candidate_matches(job, &job->earlier.items[i])) {
			srv_job_take_record(job, &job->earlier.items[i]);
			return;
		}
	if (!job->engine->exchange->upstream || job->twin.aside || !srv_engine_ask_upstream(job))
		srv_job_missed(job);
}

void srv_job_missed(engine_job *job)
{
	if (wants_preview(job)) {
		job->ingredients.profile = HOB_PROFILE_PREVIEW;
		job->lookup = hob_cook_lookup(&job->source, &job->ingredients);
		find_candidates(job);
		return;
	}
	job->engine->counters.misses++;
	step_cook(job);
}

/* Finds a job with the same cook for a copy; this job then waits for its result. */
bool srv_job_join_twin(engine_job *job)
{
	srv_engine *engine = job->engine;
	for (uint32_t i = 0; i < engine->jobs->active_count; i++) {
		engine_job *other = engine->jobs->active[i];
		if (other == job || !other->cooking || other->order.force || other->abandoned ||
			!hob_sha256_equal(&other->lookup, &job->lookup))
			continue;
		job->list_next = other->twin.waiting;
		other->twin.waiting = job;
		job->twin.of = other;
		srv_engine_raise_job(other, job->order.priority);
		return true;
	}
	return false;
}

static void step_cook(engine_job *job)
{
	srv_engine *engine = job->engine;
	if (!job->order.force && srv_job_join_twin(job))
		return;
	job->cooking = true;
	if (engine->options.farm && srv_engine_claim(job))
		return;
	srv_engine_wait_for_worker(job);
	srv_engine_feed_workers(engine);
	srv_engine_count_waiting(engine);
}

static void block_waiting(srv_engine *engine)
{
	while (engine->jobs->waiting) {
		engine_job *job = engine->jobs->waiting;
		engine->jobs->waiting = job->list_next;
		if (job->abandoned)
			srv_job_end(job);
		else
			srv_job_fail(job, srv_engine_ill(engine, ENGINE_HEALTH_WORKERS));
	}
}

/* The most urgent job that fits into memory. NULL: a running one has to end first. */
static engine_job *take_waiting(srv_engine *engine)
{
	engine_job **at = &engine->jobs->waiting;
	while (*at && !(*at)->abandoned && !srv_engine_has_memory(engine, *at))
		at = &(*at)->list_next;
	engine_job *job = *at;
	if (job)
		*at = job->list_next;
	return job;
}

void srv_engine_feed_workers(srv_engine *engine)
{
	if (engine->jobs->no_workers && !engine->closing)
		block_waiting(engine);
	if (engine->jobs->waiting)
		srv_engine_tell(engine, SRV_FACT_JOB_WAITS, engine->jobs->waiting->asset);
	while (engine->jobs->waiting && !engine->closing && srv_pool_idle(engine->jobs->pool) > 0) {
		engine_job *job = take_waiting(engine);
		if (!job)
			return;
		if (job->abandoned) {
			srv_job_end(job);
			continue;
		}
		asset *a = srv_asset_at(engine, job->asset);
		/* A single job may use all cores; of many jobs each uses one. */
		srv_pool_job what = {.root = a->root,
							 .path = hob_str_of(a->path),
							 .settings = job->ingredients.settings,
							 .profile = job->ingredients.profile,
							 .threads =
								 engine->jobs->waiting || srv_queue_count(engine->jobs->queue) > 0 ? 1 : 0,
							 .waited = is_looked_at(job),
							 .slow = srv_asset_is_slow(engine, a)};
		if (!srv_pool_start(engine->jobs->pool, job, &what)) {
			job->list_next = engine->jobs->waiting;
			engine->jobs->waiting = job;
			return;
		}
		job->on_worker = true;
		job->cook.tick = srv_graph_now(engine->graph);
		job->cook.started_at_ms = srv_engine_now_ms();
		if (!job->twin.aside)
			srv_asset_set_worker(&a->life, true);
		srv_publish_job(job, "cooking");
		srv_publish_view(engine, a);
		engine->counters.running++;
	}
	srv_engine_make_room(engine);
}

static engine_job *new_job(srv_engine *engine, uint32_t id)
{
	engine_job *job = calloc(1, sizeof *job);
	if (!job || !HOB_ROOM(engine->jobs->active, engine->jobs->active_capacity, engine->jobs->active_count)) {
		free(job);
		return NULL;
	}
	engine->jobs->active[engine->jobs->active_count++] = job;
	engine->jobs->alive++;
	job->client = (pool_client){srv_job_cooked, srv_job_progress};
	job->engine = engine;
	job->asset = id;
	job->cook.started_at_ms = srv_engine_now_ms();
	hob_arena_init(&job->arena, JOB_ARENA);
	return job;
}

bool srv_job_begin(srv_engine *engine, uint32_t id, srv_priority priority)
{
	asset *a = srv_asset_at(engine, id);
	engine_job *job = new_job(engine, id);
	if (!job) {
		srv_queue_push(engine->jobs->queue, id, priority, srv_asset_queue_cost(engine, a));
		return false;
	}
	srv_engine_apply(engine, id,
					 (srv_asset_event){.kind = SRV_ASSET_BEGIN, .job = job, .taken = &job->order});
	assert(job->order.id != 0 && a->life.job == job);
	job->order.priority = priority;
	hob_buf_clear(&a->why);
	hob_buf_put_str(&a->why, hob_buf_str(&job->order.why));
	uint32_t source = a->file;
	srv_job_digests(job, &source, 1, srv_job_lookup);
	return true;
}

/* ---- a preview beside a final cook */

static void preview_aside(engine_job *final)
{
	srv_engine *engine = final->engine;
	hob_error ignored;
	engine_job *job = new_job(engine, final->asset);
	if (!job)
		return;
	job->twin.aside = true;
	final->twin.preview = job;
	job->order.id = final->order.id;
	job->order.queued_at_ms = final->order.queued_at_ms;
	job->order.priority = SRV_PRIORITY_INTERACTIVE;
	hob_buf_put_str(&job->order.why, hob_buf_str(&final->order.why));
	job->source = final->source;
	job->final_lookup = final->final_lookup;
	if (!srv_asset_ingredients(engine, srv_asset_at(engine, job->asset), &job->arena, &job->ingredients,
							   &ignored)) {
		srv_job_end(job);
		return;
	}
	job->ingredients.profile = HOB_PROFILE_PREVIEW;
	job->lookup = hob_cook_lookup(&job->source, &job->ingredients);
	find_candidates(job);
}

void srv_job_show_soon(engine_job *job)
{
	if (!job || job->twin.preview || job->abandoned || !may_preview(job) ||
		srv_asset_at(job->engine, job->asset)->life.state != SRV_ASSET_WORKING)
		return;
	if (job->on_worker || (job->twin.of && job->twin.of->on_worker)) {
		preview_aside(job);
		return;
	}
	engine_job **at = &job->engine->jobs->waiting;
	while (*at && *at != job)
		at = &(*at)->list_next;
	if (!*at)
		return; /* it has not decided yet, or has cooked */
	*at = job->list_next;
	job->cooking = false;
	job->order.priority = SRV_PRIORITY_INTERACTIVE;
	job->engine->counters.misses--;
	srv_job_missed(job);
}

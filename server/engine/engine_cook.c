#include "engine_private.h"

#include "../log/log.h"
#include "../worker/check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SETTINGS_FILE_MAX = 1 << 20, JOB_ARENA = 256 << 20, RETRIES_MAX = 3 };

/* ---- settings of one asset */

static bool overlay_file(srv_engine *engine, uint32_t root, hob_str path, hob_arena *arena,
						 hob_settings *settings, hob_error *err)
{
	uint32_t file = srv_graph_find(engine->graph, root, path);
	if (file == HOB_NONE || !srv_graph_at(engine->graph, file)->exists)
		return true;
	hob_str name = hob_arena_str(arena, path);
	char *text = HOB_NEW(arena, char, SETTINGS_FILE_MAX);
	if (!name.data || !text)
		return hob_fail_memory(err, arena, "settings");
	int fd = srv_open_beneath(engine->root_fds[root], name.data, O_RDONLY, true);
	ssize_t got = fd >= 0 ? read(fd, text, SETTINGS_FILE_MAX) : -1;
	if (fd >= 0)
		close(fd);
	if (got < 0)
		return hob_fail(err, CONFIG, "%.*s cannot be read: %s", HOB_FMT(path), strerror(errno));
	if (got == SETTINGS_FILE_MAX)
		return hob_fail(err, CONFIG, "%.*s is larger than 1 MiB", HOB_FMT(path));
	return hob_settings_overlay(settings, (hob_str){text, (size_t)got}, path, err);
}

/* hob.json, then each cook.json from the root's top down to the asset's folder, then the sidecar. */
static bool asset_settings(srv_engine *engine, const asset *a, hob_settings *out, hob_error *err)
{
	hob_arena arena;
	hob_arena_init(&arena, 64 << 20);
	*out = engine->options.defaults;
	hob_str path = hob_str_of(a->path);
	bool ok = overlay_file(engine, a->root, HOB_STR("cook.json"), &arena, out, err);
	for (size_t i = 0; ok && i < path.len; i++) {
		if (path.data[i] != '/')
			continue;
		hob_str folder = hob_arena_printf(&arena, "%.*s/cook.json", (int)i, path.data);
		ok = overlay_file(engine, a->root, folder, &arena, out, err);
	}
	hob_str sidecar = hob_arena_printf(&arena, "%s.cook.json", a->path);
	ok = ok && overlay_file(engine, a->root, sidecar, &arena, out, err);
	hob_arena_release(&arena);
	return ok;
}

bool asset_ingredients(srv_engine *engine, asset *a, hob_arena *arena, hob_ingredients *out, hob_error *err)
{
	*out = (hob_ingredients){.importer = a->importer->name,
							 .importer_version = a->importer->version,
							 .library = a->importer->library,
							 .extension = hob_arena_str(arena, hob_path_extension(hob_str_of(a->path))),
							 .profile = HOB_PROFILE_FINAL};
	return asset_settings(engine, a, &out->settings, err);
}

bool asset_is_current(srv_engine *engine, asset *a)
{
	srv_file *source = srv_graph_at(engine->graph, a->file);
	if (!a->has_last || !a->importer || !source->has_digest)
		return false;
	hob_arena arena;
	hob_arena_init(&arena, 1 << 20);
	hob_ingredients ingredients;
	hob_error error;
	bool current = asset_ingredients(engine, a, &arena, &ingredients, &error);
	if (current) {
		hob_sha256 lookup = hob_recipe_lookup(&source->digest, &ingredients);
		current = hob_sha256_equal(&lookup, &a->last_lookup);
	}
	hob_arena_release(&arena);
	for (uint32_t i = 0; current && i < a->input_count; i++) {
		const asset_input *input = &a->inputs[i];
		const srv_file *file = srv_graph_at(engine->graph, input->file);
		current = file->exists == !input->missing;
		if (current && file->exists)
			current = file->has_digest && hob_sha256_equal(&file->digest, &input->digest);
	}
	return current;
}

/* ---- digests */

static void hash_file(hash_item *item)
{
	int fd = srv_open_beneath(item->root_fd, item->path, O_RDONLY, true);
	struct stat info;
	if (fd < 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
		if (fd >= 0)
			close(fd);
		return;
	}
	enum { CHUNK = 256 << 10 };
	uint8_t *bytes = malloc(CHUNK);
	hob_hasher hasher;
	hob_hasher_init(&hasher);
	ssize_t got = -1;
	while (bytes && (got = read(fd, bytes, CHUNK)) > 0)
		hob_hasher_put(&hasher, bytes, (size_t)got);
	item->digest = hob_hasher_finish(&hasher);
	item->found = bytes && got == 0;
	item->stat = srv_stat_of(&info);
	free(bytes);
	close(fd);
}

static void hash_work(uv_work_t *work)
{
	engine_job *job = work->data;
	for (uint32_t i = 0; i < job->hash_count; i++)
		hash_file(&job->hashes[i]);
}

static void store_file(srv_engine *engine, uint32_t file)
{
	srv_file *f = srv_graph_at(engine->graph, file);
	srv_file_row row = {engine->roots[f->root].name, f->path, f->stat, f->digest};
	hob_error error;
	if (!srv_store_put_file(engine->store, &row, &error))
		srv_log(SRV_LOG_ERROR, "store", "%s", error.context);
	engine->store_dirty = true;
}

static void with_digests(engine_job *job, const uint32_t *files, uint32_t count,
						 void (*next)(engine_job *job));
static void job_end(engine_job *job);
static void step_lookup(engine_job *job);

static void hash_done(uv_work_t *work, int status)
{
	(void)status;
	engine_job *job = work->data;
	srv_engine *engine = job->engine;
	uint32_t *again = HOB_NEW(&job->arena, uint32_t, job->hash_count);
	uint32_t again_count = 0;
	for (uint32_t i = 0; again && i < job->hash_count; i++) {
		hash_item *item = &job->hashes[i];
		srv_file *f = srv_graph_at(engine->graph, item->file);
		/* An event came meanwhile: these may be the bytes before it. */
		if (f->changed != item->changed) {
			again[again_count++] = item->file;
			continue;
		}
		bool news = f->exists != item->found || (item->found && !srv_stat_equal(&f->stat, &item->stat));
		f->exists = item->found;
		f->has_digest = item->found;
		if (news) {
			f->changed = ++engine->tick;
			engine_tell_others(engine, item->file, job->asset);
		}
		if (item->found) {
			f->stat = item->stat;
			f->digest = item->digest;
			engine->counters.hashed_bytes += item->stat.size;
			store_file(engine, item->file);
		}
	}
	job->hash_count = 0;
	if (job->abandoned || engine->closing) {
		job_end(job);
		return;
	}
	with_digests(job, again, again_count, job->next);
}

/* Calls `next` when every file of the list that exists has its digest: at once if they have. */
static void with_digests(engine_job *job, const uint32_t *files, uint32_t count,
						 void (*next)(engine_job *job))
{
	srv_engine *engine = job->engine;
	job->next = next;
	job->hashes = HOB_NEW(&job->arena, hash_item, count);
	job->hash_count = 0;
	for (uint32_t i = 0; job->hashes && i < count; i++) {
		const srv_file *f = srv_graph_at(engine->graph, files[i]);
		hob_str path = f->exists && !f->has_digest ? hob_arena_str(&job->arena, f->path) : (hob_str){0};
		if (path.data)
			job->hashes[job->hash_count++] = (hash_item){.file = files[i],
														 .path = (char *)(uintptr_t)path.data,
														 .root_fd = engine->root_fds[f->root],
														 .changed = f->changed};
	}
	if (job->hash_count == 0) {
		next(job);
		return;
	}
	job->work.data = job;
	uv_queue_work(engine->loop, &job->work, hash_work, hash_done);
}

/* ---- the job, step by step */

static void job_end(engine_job *job)
{
	srv_engine *engine = job->engine;
	uint32_t id = job->asset;
	engine_job *twin = job->twins;
	job_free(job);
	while (twin) {
		engine_job *next = twin->list_next;
		if (twin->abandoned || engine->closing)
			job_end(twin);
		else
			step_lookup(twin);
		twin = next;
	}
	if (engine->closing)
		return;
	asset *a = &engine->assets[id];
	if (a->alive && a->dirty_again) {
		a->dirty_again = false;
		a->queued_at_ms = engine_now_ms();
		srv_queue_push(engine->queue, id, SRV_PRIORITY_CHANGED, a->good_cook_ns);
	} else if (a->alive && !srv_queue_has(engine->queue, id)) {
		hob_buf_clear(&a->reasons);
		a->reason_count = 0;
	}
	engine->view_dirty = true;
	engine_fill(engine);
}

static void job_fail(engine_job *job, const hob_error *error)
{
	publish_bad(job, NULL, error, false);
	record_job(job, "failed", NULL, error);
	job_end(job);
}

static uint32_t dep_file(engine_job *job, hob_str relative)
{
	srv_engine *engine = job->engine;
	asset *a = &engine->assets[job->asset];
	hob_str path;
	if (!hob_path_join(&job->arena, hob_path_dir(hob_str_of(a->path)), relative, &path, NULL))
		return HOB_NONE;
	uint32_t known = srv_graph_find(engine->graph, a->root, path);
	if (known != HOB_NONE)
		return known;
	/* Not listed by the scan (ignored folder, or not there): ask the disk once. */
	uint32_t file = srv_graph_file(engine->graph, a->root, path);
	srv_stat stat;
	if (file != HOB_NONE && srv_stat_path(engine->root_fds[a->root], path, &stat)) {
		srv_graph_at(engine->graph, file)->exists = true;
		srv_graph_at(engine->graph, file)->stat = stat;
		srv_graph_at(engine->graph, file)->changed = ++engine->tick;
	}
	return file;
}

static bool candidate_matches(engine_job *job, const srv_recipe *recipe)
{
	srv_engine *engine = job->engine;
	if (recipe->file_name.len > 0 &&
		!hob_str_equal(recipe->file_name, hob_path_name(hob_str_of(engine->assets[job->asset].path))))
		return false;
	if (engine_limits_raised(engine, recipe))
		return false;
	for (uint32_t i = 0; i < recipe->dep_count; i++) {
		uint32_t file = dep_file(job, recipe->deps[i].path);
		if (file == HOB_NONE)
			return false;
		const srv_file *f = srv_graph_at(engine->graph, file);
		if (f->exists == recipe->deps[i].missing)
			return false;
		if (f->exists && !(f->has_digest && hob_sha256_equal(&f->digest, &recipe->deps[i].digest)))
			return false;
	}
	for (uint32_t i = 0; i < recipe->output_count; i++)
		if (!srv_blob_exists(engine->store, &recipe->outputs[i].digest))
			return false;
	return true;
}

static void remember_inputs(engine_job *job, const srv_recipe *recipe)
{
	srv_engine *engine = job->engine;
	asset *a = &engine->assets[job->asset];
	uint32_t *files = HOB_NEW(&job->arena, uint32_t, recipe->dep_count);
	asset_input *inputs = calloc(recipe->dep_count + 1, sizeof *inputs);
	if (!files || !inputs) {
		free(inputs);
		return;
	}
	uint32_t count = 0;
	for (uint32_t i = 0; i < recipe->dep_count; i++) {
		uint32_t file = dep_file(job, recipe->deps[i].path);
		if (file == HOB_NONE)
			continue;
		files[count] = file;
		inputs[count++] = (asset_input){file, recipe->deps[i].missing, recipe->deps[i].digest};
	}
	/* Which files a cook uses is known at its end only: what changed since its begin told nobody. */
	for (uint32_t i = 0; job->outcome && i < count; i++)
		if (srv_graph_at(engine->graph, files[i])->changed > job->tick)
			a->dirty_again = true;
	free(a->inputs);
	a->inputs = inputs;
	a->input_count = count;
	a->has_last = true;
	a->last = recipe->key;
	a->last_lookup = job->lookup;
	a->last_source = job->source;
	if (!srv_graph_set_deps(engine->graph, job->asset, files, count))
		srv_log(SRV_LOG_ERROR, "memory", "dependencies of %s could not be kept", a->full);
}

static void step_match(engine_job *job);
static void step_cook(engine_job *job);

static void step_lookup(engine_job *job)
{
	srv_engine *engine = job->engine;
	asset *a = &engine->assets[job->asset];
	srv_file *source = srv_graph_at(engine->graph, a->file);
	hob_error error = {0};
	if (!source->exists || !source->has_digest) {
		/* Gone or unreadable between the event and now: a removal event follows, or permissions are wrong. */
		srv_stat stat;
		if (srv_stat_path(engine->root_fds[a->root], hob_str_of(a->path), &stat)) {
			source->exists = true;
			hob_fail(&error, IO, "'%s' cannot be read: check its permissions", a->path);
			job_fail(job, &error);
		} else {
			job_end(job);
		}
		return;
	}
	job->source = source->digest;
	if (!asset_ingredients(engine, a, &job->arena, &job->ingredients, &error)) {
		job_fail(job, &error);
		return;
	}
	job->lookup = hob_recipe_lookup(&job->source, &job->ingredients);
	if (job->force) {
		step_cook(job);
		return;
	}
	if (!srv_store_recipes(engine->store, &job->lookup, &job->arena, &job->candidates, &job->candidate_count,
						   &error)) {
		srv_log(SRV_LOG_ERROR, "store", "%s", error.context);
		job->candidate_count = 0;
	}
	size_t total = 0;
	for (uint32_t i = 0; i < job->candidate_count; i++)
		total += job->candidates[i].dep_count;
	uint32_t *files = HOB_NEW(&job->arena, uint32_t, total);
	uint32_t count = 0;
	for (uint32_t i = 0; files && i < job->candidate_count; i++)
		for (uint32_t d = 0; d < job->candidates[i].dep_count; d++) {
			uint32_t file = dep_file(job, job->candidates[i].deps[d].path);
			if (file != HOB_NONE)
				files[count++] = file;
		}
	with_digests(job, files, count, step_match);
}

static void step_match(engine_job *job)
{
	srv_engine *engine = job->engine;
	asset *a = &engine->assets[job->asset];
	for (uint32_t i = 0; i < job->candidate_count; i++) {
		const srv_recipe *recipe = &job->candidates[i];
		if (!candidate_matches(job, recipe))
			continue;
		bool same = a->has_last && hob_sha256_equal(&a->last, &recipe->key) && a->rev > 0;
		engine->counters.hits++;
		if (same)
			engine->counters.unchanged++;
		else
			engine->counters.saved_ns += recipe->cook_ns;
		remember_inputs(job, recipe);
		if (same)
			publish_state(engine, a);
		else if (recipe->error.len > 0)
			publish_bad(job, recipe, NULL, false);
		else
			publish_good(job, recipe, true);
		record_job(job, "hit", &recipe->key, NULL);
		job_end(job);
		return;
	}
	engine->counters.misses++;
	step_cook(job);
}

/* A job whose cook is under way for another asset (a copy): it waits for that result. */
static bool join_twin(engine_job *job)
{
	srv_engine *engine = job->engine;
	for (uint32_t i = 0; i < engine->active_count; i++) {
		engine_job *other = engine->active[i];
		if (other == job || !other->cooking || other->force ||
			!hob_sha256_equal(&other->lookup, &job->lookup))
			continue;
		job->list_next = other->twins;
		other->twins = job;
		return true;
	}
	return false;
}

static void step_cook(engine_job *job)
{
	srv_engine *engine = job->engine;
	if (!job->force && join_twin(job))
		return;
	job->cooking = true;
	engine_job **at = &engine->waiting;
	while (*at && (*at)->priority <= job->priority)
		at = &(*at)->list_next;
	job->list_next = *at;
	*at = job;
	engine_feed_workers(engine);
}

void engine_feed_workers(srv_engine *engine)
{
	while (engine->waiting && !engine->closing && srv_pool_idle(engine->pool) > 0) {
		engine_job *job = engine->waiting;
		engine->waiting = job->list_next;
		if (job->abandoned) {
			job_end(job);
			continue;
		}
		asset *a = &engine->assets[job->asset];
		/* One job alone may use every core; among many, one core each is the better use. */
		uint32_t threads = engine->waiting || srv_queue_count(engine->queue) > 0 ? 1 : 0;
		if (!srv_pool_start(engine->pool, job, a->root, hob_str_of(a->path), &job->ingredients.settings,
							job->ingredients.profile, threads)) {
			job->list_next = engine->waiting;
			engine->waiting = job;
			return;
		}
		job->on_worker = true;
		job->tick = engine->tick;
		job->started_at_ms = engine_now_ms();
		if (!a->has_good)
			a->state = SRV_COOKING;
		publish_job(job, "cooking");
		publish_view(engine, a);
		engine->counters.running++;
	}
}

void job_begin(srv_engine *engine, uint32_t id, srv_priority priority)
{
	asset *a = &engine->assets[id];
	if (!a->alive || a->job || !a->importer)
		return;
	engine_job *job = calloc(1, sizeof *job);
	if (!job)
		return;
	job->engine = engine;
	job->asset = id;
	job->priority = priority;
	job->id = ++engine->next_job;
	job->queued_at_ms = a->queued_at_ms;
	job->started_at_ms = engine_now_ms();
	job->force = a->forced;
	a->forced = false;
	job->reasons = a->reasons;
	a->reasons = (hob_buf){0};
	a->reason_count = 0;
	hob_arena_init(&job->arena, JOB_ARENA);
	a->job = job;
	engine->jobs_alive++;
	if (engine->active_count < HOB_COUNT_OF(engine->active))
		engine->active[engine->active_count++] = job;
	uint32_t source = a->file;
	with_digests(job, &source, 1, step_lookup);
}

/* ---- after the cook: check, store, publish */

/* In libuv's pool: the daemon trusts nothing that a worker made. */
static void store_work(uv_work_t *work)
{
	engine_job *job = work->data;
	const srv_result *result = &job->outcome->result;
	job->outputs = HOB_NEW(&job->arena, srv_recipe_output, result->output_count);
	if (!srv_check_outputs(result, &job->error))
		return;
	if (!job->outputs) {
		hob_fail_memory(&job->error, &job->arena, "outputs");
		return;
	}
	for (uint32_t i = 0; i < result->output_count; i++) {
		const hob_cook_output *output = &result->outputs[i];
		srv_recipe_output *kept = &job->outputs[i];
		kept->name = output->name;
		kept->size = output->bytes.size;
		if (!srv_blob_put(job->engine->store, output->bytes, &kept->digest, &job->error))
			return;
		job->output_count++;
	}
}

/* Dependencies by name relative to the source's folder, the source itself left out. */
static srv_recipe_dep *relative_deps(engine_job *job, const srv_result *result, uint32_t *count)
{
	asset *a = &job->engine->assets[job->asset];
	hob_str path = hob_str_of(a->path), dir = hob_path_dir(path);
	srv_recipe_dep *deps = HOB_NEW(&job->arena, srv_recipe_dep, result->dep_count);
	*count = 0;
	for (uint32_t i = 0; deps && i < result->dep_count; i++) {
		const srv_dep *dep = &result->deps[i];
		if (!hob_str_equal(dep->path, path))
			deps[(*count)++] =
				(srv_recipe_dep){hob_path_relative(&job->arena, dir, dep->path), dep->missing, dep->digest};
	}
	return deps;
}

/* What the worker read is now known about those files, if they are still that version. */
static void learn_digests(engine_job *job, const srv_result *result)
{
	srv_engine *engine = job->engine;
	asset *a = &engine->assets[job->asset];
	for (uint32_t i = 0; i < result->dep_count; i++) {
		const srv_dep *dep = &result->deps[i];
		srv_stat stat = {dep->size, dep->inode, dep->mtime_ns, dep->ctime_ns};
		hob_str path;
		if (dep->missing || !hob_path_join(&job->arena, (hob_str){0}, dep->path, &path, NULL))
			continue;
		uint32_t file = srv_graph_file(engine->graph, a->root, path);
		if (file == HOB_NONE)
			continue;
		srv_file *f = srv_graph_at(engine->graph, file);
		bool same = srv_stat_equal(&f->stat, &stat);
		if (!f->exists) {
			f->exists = true;
			f->stat = stat;
			same = true;
			engine_tell_others(engine, file, job->asset);
		}
		if (same && !f->has_digest) {
			f->has_digest = true;
			f->digest = dep->digest;
			store_file(engine, file);
		}
	}
}

static void stats_json(const srv_result *result, hob_buf *out)
{
	const hob_cook_stats *s = &result->stats;
	hob_buf_printf(
		out,
		"{\"meshes\":%u,\"triangles\":%llu,\"vertices\":%llu,\"lods\":%u,\"materials\":%u,\"textures\":%u,"
		"\"nodes\":%u,\"skins\":%u,\"animations\":%u,\"cameras\":%u,\"lights\":%u}",
		s->meshes, (unsigned long long)s->triangles, (unsigned long long)s->vertices, s->lods, s->materials,
		s->textures, s->nodes, s->skins, s->animations, s->cameras, s->lights);
}

static void make_key(engine_job *job, srv_recipe *recipe)
{
	hob_dependency *deps = HOB_NEW(&job->arena, hob_dependency, recipe->dep_count);
	for (uint32_t i = 0; deps && i < recipe->dep_count; i++)
		deps[i] = (hob_dependency){recipe->deps[i].path, recipe->deps[i].missing, recipe->deps[i].digest};
	recipe->lookup = job->lookup;
	recipe->source = job->source;
	recipe->key = hob_recipe_key(&job->lookup, recipe->file_name, deps, deps ? recipe->dep_count : 0);
}

static void keep_recipe(engine_job *job, srv_recipe *recipe)
{
	hob_error error;
	hob_buf ingredients = {0};
	hob_ingredients_print(&job->ingredients, &ingredients);
	recipe->ingredients = hob_buf_str(&ingredients);
	recipe->cooked_at_ms = engine_now_ms();
	recipe->cook_ns = job->outcome->cook_ns;
	recipe->peak_bytes = job->outcome->peak_bytes;
	if (!srv_store_put_recipe(job->engine->store, recipe, &error))
		srv_log(SRV_LOG_ERROR, "store", "%s", error.context);
	job->engine->store_dirty = true;
	hob_buf_release(&ingredients);
}

static void finish_good(engine_job *job)
{
	srv_engine *engine = job->engine;
	const srv_result *result = &job->outcome->result;
	asset *a = &engine->assets[job->asset];
	srv_recipe recipe = {
		.warnings = result->stats.warnings, .outputs = job->outputs, .output_count = job->output_count};
	if (result->uses_name)
		recipe.file_name = hob_path_name(hob_str_of(a->path));
	recipe.deps = relative_deps(job, result, &recipe.dep_count);
	make_key(job, &recipe);
	hob_buf stats = {0};
	stats_json(result, &stats);
	recipe.stats = hob_buf_str(&stats);
	learn_digests(job, result);
	keep_recipe(job, &recipe);
	engine->counters.cooked++;
	engine->counters.cook_ns += job->outcome->cook_ns;
	a->crashes = 0;
	remember_inputs(job, &recipe);
	publish_good(job, &recipe, false);
	record_job(job, "cooked", &recipe.key, NULL);
	hob_buf_release(&stats);
	job_end(job);
}

/* The inputs of a cook that died are the paths it had looked for; their digests are made here. */
static void finish_crash(engine_job *job)
{
	srv_engine *engine = job->engine;
	asset *a = &engine->assets[job->asset];
	const srv_outcome *outcome = job->outcome;
	hob_str dir = hob_path_dir(hob_str_of(a->path));
	srv_recipe recipe = {0};
	recipe.deps = HOB_NEW(&job->arena, srv_recipe_dep, outcome->touched_count);
	for (uint32_t i = 0; recipe.deps && i < outcome->touched_count; i++) {
		if (hob_str_equal(outcome->touched[i], hob_str_of(a->path)))
			continue;
		hob_str relative = hob_path_relative(&job->arena, dir, outcome->touched[i]);
		uint32_t file = dep_file(job, relative);
		if (file == HOB_NONE)
			continue;
		const srv_file *f = srv_graph_at(engine->graph, file);
		recipe.deps[recipe.dep_count++] = (srv_recipe_dep){relative, !f->exists, f->digest};
	}
	make_key(job, &recipe);
	hob_buf error = {0};
	error_json(&job->error, "cook", &error);
	recipe.error = hob_buf_str(&error);
	engine_put_limits(job, &recipe);
	keep_recipe(job, &recipe);
	remember_inputs(job, &recipe);
	publish_bad(job, &recipe, &job->error, a->crashes > 1);
	record_job(job, "failed", &recipe.key, &job->error);
	hob_buf_release(&error);
	job_end(job);
}

static void step_crashed(engine_job *job)
{
	srv_engine *engine = job->engine;
	asset *a = &engine->assets[job->asset];
	uint32_t *files = HOB_NEW(&job->arena, uint32_t, job->outcome->touched_count);
	uint32_t count = 0;
	for (uint32_t i = 0; files && i < job->outcome->touched_count; i++) {
		uint32_t file = dep_file(
			job, hob_path_relative(&job->arena, hob_path_dir(hob_str_of(a->path)), job->outcome->touched[i]));
		if (file != HOB_NONE)
			files[count++] = file;
	}
	with_digests(job, files, count, finish_crash);
}

static void finish_failed(engine_job *job)
{
	srv_engine *engine = job->engine;
	const srv_result *result = &job->outcome->result;
	srv_recipe recipe = {0};
	recipe.deps = relative_deps(job, result, &recipe.dep_count);
	make_key(job, &recipe);
	hob_buf error = {0};
	error_json(&job->error, "cook", &error);
	recipe.error = hob_buf_str(&error);
	engine_put_limits(job, &recipe);
	learn_digests(job, result);
	keep_recipe(job, &recipe);
	engine->counters.failed++;
	engine->assets[job->asset].crashes = 0;
	remember_inputs(job, &recipe);
	publish_bad(job, &recipe, &job->error, false);
	record_job(job, "failed", &recipe.key, &job->error);
	hob_buf_release(&error);
	job_end(job);
}

/* Causes that are not the model's: tried again, never kept under its key. */
static bool is_transient(hob_err_code code)
{
	return code == HOB_ERR_CHANGED || code == HOB_ERR_IO || code == HOB_ERR_DISK_FULL ||
		   code == HOB_ERR_INTERNAL;
}

static void retry(engine_job *job)
{
	srv_engine *engine = job->engine;
	asset *a = &engine->assets[job->asset];
	srv_outcome_free(job->outcome);
	job->outcome = NULL;
	job->on_worker = job->cooking = false;
	job->retries++;
	if (job->error.code == HOB_ERR_CHANGED)
		srv_graph_at(engine->graph, a->file)->has_digest = false;
	job->error = (hob_error){0};
	uint32_t source = a->file;
	with_digests(job, &source, 1, step_lookup);
}

static void store_done(uv_work_t *work, int status)
{
	(void)status;
	engine_job *job = work->data;
	srv_engine *engine = job->engine;
	if (engine->closing || job->abandoned) {
		job_end(job);
	} else if (job->error.code == HOB_ERR_OK) {
		finish_good(job);
	} else {
		engine->counters.failed++;
		publish_bad(job, NULL, &job->error, false);
		record_job(job, "failed", NULL, &job->error);
		job_end(job);
	}
}

/* The worker opens the source after it was hashed. What came of another version must not be kept under this one's
 * key: every later file with these bytes would get it. */
static bool read_other_source(const engine_job *job)
{
	const srv_result *result = &job->outcome->result;
	hob_str path = hob_str_of(job->engine->assets[job->asset].path);
	for (uint32_t i = 0; job->outcome->has_result && i < result->dep_count; i++)
		if (hob_str_equal(result->deps[i].path, path))
			return result->deps[i].missing || !hob_sha256_equal(&result->deps[i].digest, &job->source);
	return false;
}

void engine_pool_done(void *user, void *job_, srv_outcome *outcome)
{
	srv_engine *engine = user;
	engine_job *job = job_;
	asset *a = &engine->assets[job->asset];
	job->outcome = outcome;
	job->on_worker = false;
	engine->counters.running--;
	if (engine->closing || job->abandoned || outcome->cancelled) {
		if (!engine->closing) {
			engine->counters.cancelled++;
			record_job(job, "cancelled", NULL, NULL);
		}
		job_end(job);
		return;
	}
	job->error = outcome->error;
	if (read_other_source(job)) {
		hob_fail(&job->error, CHANGED, "'%s' changed while it was cooked", a->path);
	} else if (outcome->ok) {
		job->work.data = job;
		uv_queue_work(engine->loop, &job->work, store_work, store_done);
		return;
	}
	if (outcome->has_result && is_transient(job->error.code) && job->retries < RETRIES_MAX) {
		retry(job);
	} else if (outcome->has_result && is_transient(job->error.code)) {
		engine->counters.failed++;
		publish_bad(job, NULL, &job->error, false);
		record_job(job, "failed", NULL, &job->error);
		job_end(job);
	} else if (outcome->has_result) {
		finish_failed(job);
	} else {
		engine->counters.failed++;
		bool timeout = job->error.code == HOB_ERR_TIMEOUT;
		engine->counters.timed_out += timeout;
		engine->counters.crashed += !timeout;
		a->crashes++;
		/* Once more: a crash may be the machine's (memory), a second one is the file's. */
		if (!timeout && a->crashes == 1)
			retry(job);
		else
			step_crashed(job);
	}
}

void engine_drop_job(engine_job *job)
{
	job_end(job);
}

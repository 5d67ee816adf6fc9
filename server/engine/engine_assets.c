#include "engine_assets.h"

#include "../../core/base/array.h"
#include "engine_changeset.h"
#include "engine_move.h"
#include "engine_publish.h"
#include "engine_root.h"

#include <assert.h>
#include <stdlib.h>

void srv_engine_assets_free(struct engine_assets *assets)
{
	for (uint32_t i = 0; i < assets->count; i++) {
		asset *a = &assets->items[i];
		free(a->full);
		free(a->last.inputs);
		hob_buf_release(&a->error);
		hob_buf_release(&a->why);
		srv_asset_release(&a->life);
		hob_buf_release(&a->shown.lost);
		free(a->shown.before);
	}
	hob_buf_release(&assets->printed.text);
	free(assets->items);
	free(assets->unsettled);
}

uint32_t srv_engine_add_asset(srv_engine *engine, uint32_t file)
{
	srv_file *f = srv_graph_at(engine->graph, file);
	if (f->asset != HOB_NONE)
		return f->asset;
	struct engine_assets *assets = engine->assets;
	if (!HOB_ROOM(assets->items, assets->capacity, assets->count))
		return HOB_NONE;
	hob_str root = engine->roots->shown[f->root].name;
	char *full = malloc(root.len + f->path.len + 2);
	if (!full)
		return HOB_NONE;
	memcpy(full, root.data, root.len);
	full[root.len] = '/';
	memcpy(full + root.len + 1, f->path.data, f->path.len + 1);
	uint32_t id = assets->count++;
	asset *a = srv_asset_at(engine, id);
	*a = (asset){.id = id, .file = file, .root = f->root, .full = full, .path = full + root.len + 1};
	a->move.row = srv_engine_move_of(engine, hob_str_of(a->full));
	a->importer = engine->jobs->pool_ready ? srv_pool_importer_for(engine->jobs->pool, f->path) : NULL;
	assert(a->root < engine->roots->count && id < assets->capacity);
	f->asset = id;
	return id;
}

uint32_t srv_engine_asset_by_name(srv_engine *engine, hob_str full)
{
	size_t slash = hob_str_find(full, HOB_STR("/"), 0);
	uint32_t root =
		slash != SIZE_MAX ? srv_engine_root_by_name(engine, hob_str_sub(full, 0, slash)) : HOB_NONE;
	uint32_t file = root != HOB_NONE
						? srv_graph_find(engine->graph, root, hob_str_sub(full, slash + 1, full.len))
						: HOB_NONE;
	return file != HOB_NONE ? srv_graph_at(engine->graph, file)->asset : HOB_NONE;
}

static bool is_unsettled(const asset *a)
{
	return a->error.size > 0 || a->life.state == SRV_ASSET_WRITER;
}

void srv_asset_note(srv_engine *engine, asset *a)
{
	struct engine_assets *assets = engine->assets;
	if (a->noted || !is_unsettled(a))
		return;
	assert(assets->unsettled_count <= assets->count);
	a->noted = HOB_ROOM(assets->unsettled, assets->unsettled_capacity, assets->unsettled_count);
	if (a->noted)
		assets->unsettled[assets->unsettled_count++] = a->id;
	else
		assets->unsettled_lost = true;
	assets->unsettled_sorted = false;
}

const uint32_t *srv_engine_unsettled(srv_engine *engine, uint32_t *count)
{
	struct engine_assets *assets = engine->assets;
	uint32_t kept = 0;
	bool lost = assets->unsettled_lost;
	assets->unsettled_lost = false;
	for (uint32_t i = 0; lost && i < assets->count; i++)
		srv_asset_note(engine, &assets->items[i]);
	for (uint32_t i = 0; i < assets->unsettled_count; i++) {
		asset *a = &assets->items[assets->unsettled[i]];
		a->noted = is_unsettled(a);
		if (a->noted)
			assets->unsettled[kept++] = a->id;
	}
	assert(kept <= assets->count);
	assets->unsettled_count = kept;
	if (!assets->unsettled_sorted)
		(void)srv_graph_sort(assets->unsettled, kept);
	assets->unsettled_sorted = true;
	*count = kept;
	return assets->unsettled;
}

srv_asset_todo srv_engine_apply(srv_engine *engine, uint32_t id, srv_asset_event event)
{
	assert(id < engine->assets->count);
	asset *a = srv_asset_at(engine, id);
	if (engine->closing)
		return (srv_asset_todo){0};
	event.now_ms = uv_now(engine->loop);
	event.at_ms = srv_clock_ms(CLOCK_REALTIME);
	event.last_job = &engine->jobs->last_id;
	event.quick = a->cost.final_ns > 0 && !srv_asset_is_slow(engine, a);
	srv_asset_todo todo = srv_asset_apply(&a->life, &event);
	if (todo.detach)
		srv_job_drop(srv_engine_job(todo.detach));
	if (todo.dequeue)
		srv_queue_remove(engine->jobs->queue, id);
	if (todo.queue)
		srv_queue_push(engine->jobs->queue, id, srv_engine_priority(engine, a, a->life.next.priority),
					   srv_asset_queue_cost(engine, a));
	if (todo.forget_last)
		srv_asset_forget_last(a);
	if (todo.touch)
		srv_publish_view_later(engine, id);
	if (todo.cut && srv_job_preempt(srv_engine_job(a->life.job), event.quick))
		srv_engine_apply(engine, id,
						 (srv_asset_event){.kind = SRV_ASSET_CUT, .force = a->life.job->order.force});
	srv_asset_note(engine, a);
	engine->publish.view = true;
	return todo;
}

static void dirty(srv_engine *engine, uint32_t id, srv_priority priority, const char *kind, hob_str path)
{
	assert(id < engine->assets->count && priority < SRV_PRIORITY_COUNT);
	asset *a = srv_asset_at(engine, id);
	if (engine->closing || srv_engine_root_is_away(engine, a->root))
		return;
	srv_engine_join_or_leave(engine, id, false, priority != SRV_PRIORITY_BACKGROUND);
	srv_engine_apply(engine, id,
					 (srv_asset_event){.kind = SRV_ASSET_DIRTY,
									   .reason = kind,
									   .path = path,
									   .priority = priority,
									   .force = strcmp(kind, "forced") == 0});
}

void srv_asset_dirty(srv_engine *engine, uint32_t id, srv_priority priority, const char *kind, hob_str path)
{
	if (srv_asset_is_alive(&srv_asset_at(engine, id)->life))
		dirty(engine, id, priority, kind, path);
}

void srv_asset_found(srv_engine *engine, uint32_t id, srv_priority priority)
{
	assert(id < engine->assets->count &&
		   srv_graph_at(engine->graph, srv_asset_at(engine, id)->file)->asset == id);
	const asset *a = srv_asset_at(engine, id);
	dirty(engine, id, priority, srv_asset_is_alive(&a->life) ? "changed" : "added", hob_str_of(a->path));
}

void srv_asset_outdated(srv_engine *engine, uint32_t id, hob_str path)
{
	srv_engine_apply(
		engine, id,
		(srv_asset_event){
			.kind = SRV_ASSET_DIRTY, .reason = "changed", .path = path, .priority = SRV_PRIORITY_CHANGED});
}

void srv_engine_tell_others(srv_engine *engine, uint32_t file, uint32_t but)
{
	uint32_t count;
	if (engine->options.batch)
		return;
	const uint32_t *dependents = srv_graph_dependents(engine->graph, file, &count);
	assert(count <= engine->assets->count && file < srv_graph_count(engine->graph));
	const srv_file *f = srv_graph_at(engine->graph, file);
	for (uint32_t i = 0; i < count; i++)
		if (dependents[i] != but)
			srv_asset_dirty(engine, dependents[i], SRV_PRIORITY_BACKGROUND, "changed", f->path);
	if (f->asset != HOB_NONE && f->asset != but)
		srv_asset_dirty(engine, f->asset, SRV_PRIORITY_BACKGROUND, "changed", f->path);
}

/* ---- its record */

/* Whether the record `good` is readable and, if `whole`, all of its blobs exist. */
static bool has_record(srv_engine *engine, const asset *a, bool whole)
{
	srv_record record = {0};
	hob_error error;
	hob_arena_mark mark = hob_arena_save(&engine->scratch);
	bool found = srv_store_record(engine->store, &a->shown.good, &engine->scratch, &record, &error) ||
				 error.code == HOB_ERR_IO; /* it could not be read */
	for (uint32_t i = 0; found && whole && i < record.output_count; i++)
		found = srv_blob_exists(engine->store, &record.outputs[i].digest);
	hob_arena_restore(&engine->scratch, mark);
	return found;
}

bool srv_engine_has_lost_record(srv_engine *engine, const asset *a)
{
	return a->life.has_good && !has_record(engine, a, false);
}

bool srv_engine_serves(srv_engine *engine, const asset *a)
{
	return a->life.has_good && has_record(engine, a, true);
}

void srv_engine_retry_passing(srv_engine *engine, bool writers)
{
	uint64_t now = uv_now(engine->loop);
	for (uint32_t i = 0; i < engine->assets->count; i++) {
		asset *a = srv_asset_at(engine, i);
		bool half_written = a->life.state == SRV_ASSET_WRITER;
		if (srv_asset_is_due(&a->life, now) || (writers && half_written))
			srv_engine_apply(engine, i,
							 (srv_asset_event){.kind = SRV_ASSET_CLOCK,
											   .reason = half_written ? "changed" : "retry",
											   .path = half_written ? hob_str_of(a->path) : (hob_str){0},
											   .priority = SRV_PRIORITY_BACKGROUND});
	}
}

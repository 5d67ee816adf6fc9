#include "engine_root.h"
#include "engine_sources.h"

#include "../../core/base/array.h"

#include <assert.h>

/* Most files of a large tree are not sources, settings or dependencies: they stay in the list of the scan and
 * do not enter the graph. */

void srv_engine_take_list(srv_engine *engine, uint32_t root, uint32_t mark)
{
	listed_files *listed = &engine->sources->listed[root];
	assert(root < engine->sources->root_count && mark <= engine->sources->scan_mark);
	srv_file_list_drop(listed->list);
	*listed =
		(listed_files){srv_watch_keep_list(engine->sources->watch), srv_graph_tick(engine->graph), mark};
}

static uint32_t enter(srv_engine *engine, uint32_t root, const srv_file_entry *entry)
{
	uint32_t file = srv_graph_file(engine->graph, root, entry->path);
	if (file == HOB_NONE)
		return file;
	srv_file *f = srv_graph_at(engine->graph, file);
	assert(f->root == root && engine->sources->listed[root].tick <= srv_graph_now(engine->graph));
	f->exists = f->listed = true;
	f->stat = entry->stat;
	f->mark = engine->sources->listed[root].mark;
	f->changed = engine->sources->listed[root].tick;
	return file;
}

uint32_t srv_engine_find_file(srv_engine *engine, uint32_t root, hob_str path)
{
	uint32_t file = srv_graph_find(engine->graph, root, path);
	if (file != HOB_NONE || !engine->sources->listed[root].list)
		return file;
	const srv_file_entry *entry = srv_file_list_find(engine->sources->listed[root].list, path);
	return entry ? enter(engine, root, entry) : HOB_NONE;
}

uint32_t srv_engine_file(srv_engine *engine, uint32_t root, hob_str path)
{
	uint32_t file = srv_engine_find_file(engine, root, path);
	return file != HOB_NONE ? file : srv_graph_file(engine->graph, root, path);
}

void srv_engine_find_below(srv_engine *engine, uint32_t root, hob_str folder)
{
	size_t count = 0;
	const srv_file_entry *entries =
		engine->sources->listed[root].list
			? srv_file_list_below(engine->sources->listed[root].list, folder, &count)
			: NULL;
	for (size_t i = 0; i < count; i++)
		if (srv_graph_find(engine->graph, root, entries[i].path) == HOB_NONE)
			enter(engine, root, &entries[i]);
}

/* ---- digests in the index */

static void store_file(srv_engine *engine, uint32_t file)
{
	assert(file < srv_graph_count(engine->graph));
	srv_file *f = srv_graph_at(engine->graph, file);
	srv_file_row row = {engine->roots->shown[f->root].name, f->path, f->stat, f->digest};
	hob_error error;
	srv_engine_stored(engine, srv_store_put_file(engine->store, &row, &error), &error);
}

static bool has_whole_seconds(const srv_stat *stat)
{
	return stat->mtime_ns % 1000000000 == 0 && stat->ctime_ns % 1000000000 == 0;
}

bool srv_engine_is_too_new(const srv_stat *stat, int64_t read_at_ms)
{
	int64_t tick_ms = has_whole_seconds(stat) ? 2000 : 20;
	int64_t newest_ns = stat->mtime_ns > stat->ctime_ns ? stat->mtime_ns : stat->ctime_ns;
	return newest_ns / 1000000 + tick_ms >= read_at_ms;
}

void srv_engine_store_file(srv_engine *engine, uint32_t file, int64_t read_at_ms)
{
	const srv_file *f = srv_graph_at(engine->graph, file);
	if (!srv_engine_is_too_new(&f->stat, read_at_ms)) {
		store_file(engine, file);
		return;
	}
	if (!HOB_ROOM(engine->sources->young, engine->sources->young_capacity, engine->sources->young_count))
		return;
	engine->sources->young[engine->sources->young_count++] =
		(young_file){file, f->changed, uv_now(engine->loop)};
}

/* Events tell each later write. Without them the file is read again: another write may have followed within
 * the tick of the clock. */
static void settle_young(srv_engine *engine, uint32_t file)
{
	srv_file *f = srv_graph_at(engine->graph, file);
	if (engine->roots->shown[f->root].poll_ms == 0) {
		store_file(engine, file);
		return;
	}
	f->has_digest = false;
	f->changed = srv_graph_tick(engine->graph);
	srv_engine_tell_others(engine, file, HOB_NONE);
}

/* Settles the files of polled roots, or else those that did not change for a while. False: there is none. */
static bool settle(srv_engine *engine, bool polled)
{
	enum { WAIT_MS = 2500 };
	struct engine_sources *sources = engine->sources;
	uint32_t kept = 0, count = sources->young_count;
	for (uint32_t i = 0; i < count; i++) {
		young_file young = sources->young[i];
		const srv_file *f = srv_graph_at(engine->graph, young.file);
		if (polled ? engine->roots->shown[f->root].poll_ms == 0
				   : uv_now(engine->loop) < young.since + WAIT_MS)
			sources->young[kept++] = young;
		else if (f->has_digest && f->changed == young.changed)
			settle_young(engine, young.file);
	}
	assert(sources->young_count == count && kept <= count);
	sources->young_count = kept;
	return kept < count;
}

void srv_engine_keep_young(srv_engine *engine)
{
	(void)settle(engine, false);
}

bool srv_engine_doubt_young(srv_engine *engine)
{
	return settle(engine, true);
}

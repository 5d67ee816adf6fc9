#include "engine_private.h"

/* Most files of a large tree are no source, settings file or dependency. They stay in the list of the scan and do not enter
 * the graph. */

void srv_engine_take_list(srv_engine *engine, uint32_t root, uint32_t mark)
{
	listed_files *listed = &engine->listed[root];
	srv_file_list_drop(listed->list);
	*listed = (listed_files){srv_watch_keep_list(engine->watch), ++engine->tick, mark};
}

static uint32_t enter(srv_engine *engine, uint32_t root, const srv_file_entry *entry)
{
	uint32_t file = srv_graph_file(engine->graph, root, entry->path);
	if (file == HOB_NONE)
		return file;
	srv_file *f = srv_graph_at(engine->graph, file);
	f->exists = f->listed = true;
	f->stat = entry->stat;
	f->mark = engine->listed[root].mark;
	f->changed = engine->listed[root].tick;
	return file;
}

uint32_t srv_engine_find_file(srv_engine *engine, uint32_t root, hob_str path)
{
	uint32_t file = srv_graph_find(engine->graph, root, path);
	if (file != HOB_NONE || !engine->listed[root].list)
		return file;
	const srv_file_entry *entry = srv_file_list_find(engine->listed[root].list, path);
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
		engine->listed[root].list ? srv_file_list_below(engine->listed[root].list, folder, &count) : NULL;
	for (size_t i = 0; i < count; i++)
		if (srv_graph_find(engine->graph, root, entries[i].path) == HOB_NONE)
			enter(engine, root, &entries[i]);
}

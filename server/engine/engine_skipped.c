#include "engine_private.h"

#include "../log/log.h"

#include <stdlib.h>

/* What lies in a root and becomes no asset although somebody may expect it to: models without a reader, links that lead out. */

static const char *const endings[] = {
#define MODEL_FORMAT(ending) ending,
#include "../../schema/model_formats.def"
#undef MODEL_FORMAT
};

struct engine_skipped {
	uint32_t counts[HOB_COUNT_OF(endings)];
	uint32_t links;
	char *text;
};

struct engine_skipped *engine_skipped_new(uint32_t roots)
{
	return calloc(roots + 1, sizeof(struct engine_skipped));
}

void engine_skipped_free(struct engine_skipped *skipped, uint32_t roots)
{
	for (uint32_t i = 0; skipped && i < roots; i++)
		free(skipped[i].text);
	free(skipped);
}

void engine_skip_none(srv_engine *engine, uint32_t root)
{
	struct engine_skipped *s = &engine->skipped[root];
	memset(s->counts, 0, sizeof s->counts);
	s->links = 0;
}

void engine_skip_file(srv_engine *engine, uint32_t root, hob_str path, bool there)
{
	hob_str ending = hob_path_extension(path);
	if (ending.len == 0 || srv_pool_importer_for(engine->pool, path))
		return;
	for (size_t i = 0; i < HOB_COUNT_OF(endings); i++) {
		uint32_t *count = &engine->skipped[root].counts[i];
		if (ending.len == strlen(endings[i]) && hob_str_ends_nocase(ending, hob_str_of(endings[i])))
			*count += there ? 1 : *count > 0 ? (uint32_t)-1 : 0;
	}
}

void engine_skip_links(srv_engine *engine, uint32_t root)
{
	hob_str path;
	for (size_t i = 0; (path = srv_watch_outside(engine->watch, i)).data; i++) {
		engine->skipped[root].links++;
		uint32_t file = srv_graph_file(engine->graph, root, path);
		if (file == HOB_NONE || srv_graph_at(engine->graph, file)->told)
			continue;
		srv_graph_at(engine->graph, file)->told = true;
		srv_log(SRV_LOG_WARNING, "skipped",
				"%.*s/%.*s is a symbolic link that leads out of the folder, which is never followed; move "
				"its target "
				"inside, or serve the other folder too",
				HOB_FMT(engine->roots[root].name), HOB_FMT(path));
	}
}

void engine_show_skipped(srv_engine *engine, uint32_t root)
{
	struct engine_skipped *s = &engine->skipped[root];
	hob_buf list = {0}, text = {0};
	uint32_t files = 0;
	for (size_t i = 0; i < HOB_COUNT_OF(endings); i++) {
		if (s->counts[i] > 0)
			hob_buf_printf(&list, "%s%u .%s", files > 0 ? ", " : "", s->counts[i], endings[i]);
		files += s->counts[i];
	}
	if (files > 0)
		hob_buf_printf(&text, "%u file%s no reader: %.*s", files, files == 1 ? " has" : "s have",
					   HOB_FMT(hob_buf_str(&list)));
	if (s->links > 0)
		hob_buf_printf(&text, "%s%u symbolic link%s out of the folder", files > 0 ? "; " : "", s->links,
					   s->links == 1 ? " leads" : "s lead");
	hob_buf_put(&text, "", 1);
	free(s->text);
	s->text = text.failed ? NULL : strdup((const char *)text.data);
	engine->roots[root].skipped = hob_str_of(s->text ? s->text : "");
	engine->publish.view = true;
	hob_buf_release(&list);
	hob_buf_release(&text);
}

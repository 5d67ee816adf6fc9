#include "engine_jobs.h"
#include "engine_root.h"
#include "engine_sources.h"

#include "../../core/base/json_write.h"
#include "../fs/model_format.h"
#include "../log/log.h"

#include <assert.h>
#include <cjson/cJSON.h>
#include <stdlib.h>

/* Files in a root that are not assets although the user may expect it: models without a reader, links that
 * leave the root. */

/* Maximum names listed by the API for one root; further ones are only counted. */
enum { LISTED = 1000 };

typedef struct skipped_file {
	char *path;
	const srv_model_format *format;
} skipped_file;

struct engine_skipped {
	uint32_t *counts; /* [srv_model_format_count] */
	skipped_file listed[LISTED];
	uint32_t listed_count, links;
	char *text, *list;
	bool due; /* the counts are from the previous scan */
};

struct engine_skipped *srv_engine_skipped_new(uint32_t roots)
{
	struct engine_skipped *skipped = calloc((size_t)roots + 1, sizeof *skipped);
	for (uint32_t i = 0; skipped && i < roots; i++) {
		skipped[i].counts = calloc(srv_model_format_count, sizeof *skipped[i].counts);
		if (skipped[i].counts)
			continue;
		srv_engine_skipped_free(skipped, roots);
		return NULL;
	}
	return skipped;
}

static void forget_listed(struct engine_skipped *s)
{
	for (uint32_t i = 0; i < s->listed_count; i++)
		free(s->listed[i].path);
	s->listed_count = 0;
}

void srv_engine_skipped_free(struct engine_skipped *skipped, uint32_t roots)
{
	for (uint32_t i = 0; skipped && i < roots; i++) {
		forget_listed(&skipped[i]);
		free(skipped[i].counts);
		free(skipped[i].text);
		free(skipped[i].list);
	}
	free(skipped);
}

void srv_engine_skip_none(srv_engine *engine, uint32_t root)
{
	assert(root < engine->sources->root_count);
	struct engine_skipped *s = &engine->sources->skipped[root];
	memset(s->counts, 0, srv_model_format_count * sizeof *s->counts);
	forget_listed(s);
	s->links = 0;
	for (uint32_t i = 0; i < srv_graph_count(engine->graph); i++)
		if (srv_graph_at(engine->graph, i)->root == root)
			srv_graph_at(engine->graph, i)->outside = false;
}

static void list_file(struct engine_skipped *s, hob_str path, const srv_model_format *format)
{
	assert(s->listed_count <= LISTED);
	char *copy = s->listed_count < LISTED ? strndup(path.data, path.len) : NULL;
	if (copy)
		s->listed[s->listed_count++] = (skipped_file){copy, format};
}

static void unlist_file(struct engine_skipped *s, hob_str path)
{
	for (uint32_t i = 0; i < s->listed_count; i++)
		if (hob_str_equal(path, hob_str_of(s->listed[i].path))) {
			free(s->listed[i].path);
			s->listed_count--;
			memmove(&s->listed[i], &s->listed[i + 1], (s->listed_count - i) * sizeof s->listed[i]);
			return;
		}
}

void srv_engine_skip_file(srv_engine *engine, uint32_t root, hob_str path, bool there)
{
	assert(root < engine->sources->root_count);
	const srv_model_format *format = srv_model_format_of(path);
	if (!format || srv_pool_importer_for(engine->jobs->pool, path))
		return;
	struct engine_skipped *s = &engine->sources->skipped[root];
	uint32_t *count = &s->counts[format - srv_model_formats];
	*count += there ? 1 : *count > 0 ? (uint32_t)-1 : 0;
	if (there)
		list_file(s, path, format);
	else
		unlist_file(s, path);
}

static void tell_link(srv_engine *engine, uint32_t root, srv_file *f)
{
	if (f->told)
		return;
	f->told = true;
	srv_log(SRV_LOG_WARNING, "skipped",
			"%.*s/%.*s is a symbolic link that leads out of the folder, which is never followed; move "
			"its target inside, or serve the other folder too",
			HOB_FMT(engine->roots->shown[root].name), HOB_FMT(f->path));
}

static bool mark_link(srv_engine *engine, uint32_t root, hob_str path, bool outside)
{
	uint32_t file =
		outside ? srv_graph_file(engine->graph, root, path) : srv_graph_find(engine->graph, root, path);
	srv_file *f = file != HOB_NONE ? srv_graph_at(engine->graph, file) : NULL;
	if (!f || f->outside == outside)
		return false;
	f->outside = outside;
	engine->sources->skipped[root].links += outside ? 1 : (uint32_t)-1;
	if (outside)
		tell_link(engine, root, f);
	return true;
}

void srv_engine_skip_link(srv_engine *engine, uint32_t root, hob_str path, bool outside)
{
	if (mark_link(engine, root, path, outside))
		srv_engine_show_skipped(engine, root);
}

void srv_engine_skip_links(srv_engine *engine, uint32_t root)
{
	assert(root < engine->sources->root_count);
	hob_str path;
	for (size_t i = 0; (path = srv_watch_outside(engine->sources->watch, i)).data; i++)
		mark_link(engine, root, path, true);
}

static void put_file(hob_buf *out, hob_str path, const srv_model_format *format)
{
	hob_json_put(out, HOB_JSON_OPEN(NULL, '{'), HOB_JSON("path", path),
				 HOB_JSON("format", format ? format->what : "model"),
				 HOB_JSON("remedy", format ? format->remedy : "export glTF"));
}

/* Appends a model that its cook skipped: clients show `why` instead of the text about the format. */
static void put_asset(const asset *a, hob_buf *out)
{
	hob_own_json *error = cJSON_ParseWithLength((const char *)a->error.data, a->error.size);
	const char *why = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(error, "message"));
	put_file(out, hob_str_of(a->path), srv_model_format_of(hob_str_of(a->path)));
	hob_json_put(out, HOB_JSON("why", why ? why : ""), HOB_JSON_CLOSE('}'));
}

static bool is_skipped_in(const asset *a, uint32_t root)
{
	return a->root == root && srv_asset_is_alive(&a->life) && srv_asset_is_skipped(a);
}

/* Prints the root's list: [{"path":"a.max","format":"3ds Max scene","remedy":"export glTF ..."}] */
static char *list_text(srv_engine *engine, uint32_t root)
{
	const struct engine_skipped *s = &engine->sources->skipped[root];
	uint32_t assets = 0, count;
	const uint32_t *unsettled = srv_engine_unsettled(engine, &count);
	hob_own_buf out = {0};
	hob_json_open(&out, '[');
	for (uint32_t i = 0; i < s->listed_count; i++) {
		put_file(&out, hob_str_of(s->listed[i].path), s->listed[i].format);
		hob_json_close(&out, '}');
	}
	for (uint32_t i = 0; i < count && assets < LISTED; i++)
		if (is_skipped_in(srv_asset_at(engine, unsettled[i]), root)) {
			put_asset(srv_asset_at(engine, unsettled[i]), &out);
			assets++;
		}
	hob_json_close(&out, ']');
	hob_buf_put(&out, "", 1);
	return out.failed ? NULL : strdup((const char *)out.data);
}

static void describe(srv_engine *engine, uint32_t root)
{
	struct engine_skipped *s = &engine->sources->skipped[root];
	s->due = false;
	hob_own_buf list = {0}, text = {0};
	uint32_t files = 0, assets = 0, count;
	const uint32_t *unsettled = srv_engine_unsettled(engine, &count);
	for (uint32_t i = 0; i < srv_model_format_count; i++) {
		if (s->counts[i] > 0)
			hob_buf_printf(&list, "%s%u .%s", files > 0 ? ", " : "", s->counts[i],
						   srv_model_formats[i].ending.data);
		files += s->counts[i];
	}
	if (files > 0)
		hob_buf_printf(&text, "%u file%s no reader: %.*s", files, files == 1 ? " has" : "s have",
					   HOB_FMT(hob_buf_str(&list)));
	for (uint32_t i = 0; i < count; i++)
		assets += is_skipped_in(srv_asset_at(engine, unsettled[i]), root);
	if (assets > 0)
		hob_buf_printf(&text, "%s%u file%s skipped (hob ls --skipped)", files > 0 ? "; " : "", assets,
					   assets == 1 ? " is" : "s are");
	assert(assets <= count && count <= engine->assets->count);
	files += assets;
	if (s->links > 0)
		hob_buf_printf(&text, "%s%u symbolic link%s out of the folder", files > 0 ? "; " : "", s->links,
					   s->links == 1 ? " leads" : "s lead");
	hob_buf_put(&text, "", 1);
	free(s->text);
	s->text = text.failed ? NULL : strdup((const char *)text.data);
	engine->roots->shown[root].skipped = hob_str_of(s->text ? s->text : "");
	free(s->list);
	s->list = list_text(engine, root);
	engine->roots->shown[root].skipped_files = hob_str_of(s->list ? s->list : "[]");
}

void srv_engine_show_skipped(srv_engine *engine, uint32_t root)
{
	assert(root < engine->sources->root_count);
	engine->sources->skipped[root].due = true;
	engine->publish.view = true;
}

void srv_engine_describe_skipped(srv_engine *engine)
{
	for (uint32_t i = 0; i < engine->options.root_count; i++)
		if (engine->sources->skipped[i].due)
			describe(engine, i);
}

#include "engine_publish.h"

#include "../../core/base/json_write.h"

/* Blocks a model that contains a failed model; its error then names the model to repair. */

static bool is_broken(const asset *a)
{
	return srv_asset_is_alive(&a->life) && a->error.size > 0 && a->life.error != SRV_ASSET_FINE;
}

/* Whether the model reads the file. In a ring each model reads the others, so none is the cause. */
static bool reads(const asset *a, uint32_t file)
{
	for (uint32_t i = 0; i < a->last.input_count; i++)
		if (a->last.inputs[i].file == file)
			return true;
	return false;
}

/* Finds the failed model that made this one fail: an input whose file the error message names. */
static const asset *culprit_of(srv_engine *engine, const asset *a)
{
	for (uint32_t i = 0; i < a->last.input_count; i++) {
		const srv_file *f = srv_graph_at(engine->graph, a->last.inputs[i].file);
		const asset *other = f->asset != HOB_NONE ? srv_asset_at(engine, f->asset) : NULL;
		if (other && other != a && is_broken(other) && !reads(other, a->file) &&
			hob_str_find(hob_buf_str(&a->error), hob_path_name(f->path), 0) != SIZE_MAX)
			return other;
	}
	return NULL;
}

bool srv_engine_blame(srv_engine *engine, asset *a)
{
	hob_str none = HOB_STR(",\"root_cause\":null}"), old = hob_buf_str(&a->error);
	const asset *culprit = culprit_of(engine, a);
	if (!culprit || old.len < none.len || !hob_str_equal(hob_str_sub(old, old.len - none.len, old.len), none))
		return false;
	hob_buf named = {0};
	hob_buf_put_str(&named, hob_str_sub(old, 0, old.len - none.len));
	hob_json_put(&named, HOB_JSON("root_cause", culprit->full), HOB_JSON_CLOSE('}'));
	hob_buf_release(&a->error);
	a->error = named;
	return true;
}

void srv_engine_blame_for(srv_engine *engine, const asset *culprit)
{
	uint32_t count;
	const uint32_t *users = srv_graph_dependents(engine->graph, culprit->file, &count);
	for (uint32_t i = 0; i < count; i++) {
		asset *a = srv_asset_at(engine, users[i]);
		bool rests = a->life.state == SRV_ASSET_IDLE || a->life.state == SRV_ASSET_BACKOFF;
		if (a == culprit || !rests || !is_broken(a) || !srv_engine_blame(engine, a))
			continue;
		if (srv_engine_apply(engine, users[i], (srv_asset_event){.kind = SRV_ASSET_ROOT_CAUSE}).publish)
			srv_publish_blamed(engine, a);
	}
}

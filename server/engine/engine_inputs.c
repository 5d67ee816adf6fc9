#include "engine_assets.h"
#include "engine_jobs.h"
#include "engine_move.h"
#include "engine_root.h"

#include "../cook/inputs.h"
#include "../log/log.h"
#include "../reuse/kept.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- settings of one asset */

static bool asset_settings(srv_engine *engine, asset *a, hob_settings *out, hob_error *err)
{
	*out = engine->roots->settings[a->root];
	if (srv_graph_settings(engine->graph) == 0)
		return true;
	uint32_t root;
	hob_str model = srv_engine_settings_owner(engine, a, &root);
	assert(root < engine->roots->count && model.len <= PATH_MAX);
	bool ok = srv_settings_resolve(engine->roots->caches[a->root], engine->roots->fds[a->root],
								   &engine->roots->settings[a->root], hob_str_of(a->path),
								   engine->roots->fds[root], model, out, err);
	/* Paths in messages are below the asset's root. These settings have yet to follow from another one. */
	if (!ok && root != a->root && hob_str_starts(hob_str_of(err->context), model)) {
		hob_error inner = *err;
		(void)hob_error_set(err, inner.code, inner.file, inner.line, "%.*s/%s",
							HOB_FMT(engine->roots->shown[root].name), inner.context);
	}
	return ok;
}

bool srv_asset_ingredients(srv_engine *engine, asset *a, hob_arena *arena, hob_ingredients *out,
						   hob_error *err)
{
	*out = srv_kept_ingredients(a->importer, hob_arena_str(arena, hob_str_of(a->path)),
								&engine->roots->settings[a->root]);
	return asset_settings(engine, a, &out->settings, err);
}

static bool is_printed(const known_ingredients *known, const hob_ingredients *of)
{
	return known->text.size > 0 && hob_str_equal(known->of.importer, of->importer) &&
		   hob_str_equal(known->of.library, of->library) &&
		   known->of.importer_version == of->importer_version &&
		   hob_str_equal(known->of.extension, of->extension) && known->of.profile == of->profile &&
		   memcmp(&known->of.settings, &of->settings, sizeof of->settings) == 0;
}

/* Returns the ingredients as text. The last text is cached, because most assets have the same settings. */
static const known_ingredients *print_ingredients(srv_engine *engine, const hob_ingredients *of)
{
	known_ingredients *known = &engine->assets->printed;
	if (is_printed(known, of))
		return known;
	hob_buf_clear(&known->text);
	hob_ingredients_print(of, &known->text);
	hob_fast_hash((hob_bytes){known->text.data, known->text.size}, known->hash);
	bool fits = of->extension.len < sizeof known->extension && !known->text.failed;
	memcpy(&known->of, of, sizeof *of);
	snprintf(known->extension, sizeof known->extension, "%.*s", HOB_FMT(of->extension));
	known->of.extension = hob_str_of(known->extension);
	known->of.importer = fits ? of->importer : (hob_str){0};
	return known;
}

hob_str srv_engine_ingredients_text(srv_engine *engine, const hob_ingredients *of)
{
	return hob_buf_str(&print_ingredients(engine, of)->text);
}

/* True if source and settings give the look-up key of `last`. */
static bool asks_for_last(srv_engine *engine, const asset *a, const hob_sha256 *source,
						  const hob_ingredients *ingredients)
{
	const known_ingredients *known = print_ingredients(engine, ingredients);
	if (memcmp(known->hash, a->last.ingredients, sizeof a->last.ingredients) == 0)
		return hob_sha256_equal(source, &a->last.source);
	hob_sha256 lookup = hob_cook_lookup(source, ingredients);
	return hob_sha256_equal(&lookup, &a->last.lookup);
}

bool srv_asset_is_current(srv_engine *engine, asset *a)
{
	srv_file *source = srv_graph_at(engine->graph, a->file);
	if (!a->last.known || !a->importer || !source->has_digest)
		return false;
	assert(source->asset == a->id && a->root < engine->roots->count);
	hob_arena_mark mark = hob_arena_save(&engine->scratch);
	hob_ingredients ingredients;
	hob_error error;
	bool current = srv_asset_ingredients(engine, a, &engine->scratch, &ingredients, &error) &&
				   asks_for_last(engine, a, &source->digest, &ingredients);
	hob_arena_restore(&engine->scratch, mark);
	for (uint32_t i = 0; current && i < a->last.input_count; i++) {
		const asset_input *input = &a->last.inputs[i];
		const srv_file *file = srv_graph_at(engine->graph, input->file);
		current =
			srv_input_holds((srv_input_then){input->missing, &input->digest},
							(srv_input_now){file->exists, file->exists && file->has_digest, &file->digest});
	}
	return current;
}

void srv_asset_forget_last(asset *a)
{
	a->last.known = false;
}

void srv_engine_forget_inputs(asset *a)
{
	free(a->last.inputs);
	a->last.inputs = NULL;
	a->last.input_count = 0;
}

srv_record srv_job_record(engine_job *job)
{
	hob_str ingredients = srv_engine_ingredients_text(job->engine, &job->ingredients);
	assert(job->cook.output_count <= job->cook.outcome->result.output_count);
	return (srv_record){.lookup = job->lookup,
						.source = job->source,
						.ingredients = hob_arena_str(&job->arena, ingredients),
						.cooked_at_ms = srv_clock_ms(CLOCK_REALTIME),
						.cook_ns = job->cook.outcome->cook_ns,
						.peak_bytes = job->cook.outcome->peak_bytes,
						.outputs = job->cook.outputs,
						.output_count = job->cook.output_count};
}

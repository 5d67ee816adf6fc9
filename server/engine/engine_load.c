#include "engine_move.h"
#include "engine_publish.h"
#include "engine_upkeep.h"

#include <assert.h>
#include <stdlib.h>

typedef struct loader {
	srv_engine *engine;
	hob_arena scratch;
	uint64_t printed[2]; /* cache: the ingredients parsed last */
	bool preview;		 /* values of these ingredients */
	hob_str text;		 /* the previous ingredients */
	bool failed;		 /* see `err` */
	hob_error *err;
} loader;

/* Loads a file, which counts as missing until a scan lists it. Its digest is used if the stat data is the
 * same. */
static void load_file(void *user, const srv_file_row *row)
{
	loader *load = user;
	uint32_t root = srv_engine_root_by_name(load->engine, row->root);
	uint32_t file = root == HOB_NONE ? HOB_NONE : srv_graph_file(load->engine->graph, root, row->path);
	if (file == HOB_NONE)
		return;
	srv_file *f = srv_graph_at(load->engine->graph, file);
	f->stat = row->stat;
	f->digest = row->digest;
	f->has_digest = true;
}

static void load_inputs(srv_engine *engine, uint32_t id, const srv_record *record, hob_arena *arena)
{
	asset *a = srv_asset_at(engine, id);
	hob_str dir = hob_path_dir(hob_str_of(a->path));
	uint32_t *files = HOB_NEW(arena, uint32_t, record->dep_count);
	a->last.inputs = calloc(record->dep_count ? record->dep_count : 1, sizeof *a->last.inputs);
	for (uint32_t i = 0; files && a->last.inputs && i < record->dep_count; i++) {
		hob_str path;
		if (!hob_path_join(arena, dir, record->deps[i].path, &path, NULL))
			continue;
		uint32_t file = srv_graph_file(engine->graph, a->root, path);
		if (file == HOB_NONE)
			continue;
		files[a->last.input_count] = file;
		a->last.inputs[a->last.input_count++] =
			(asset_input){file, record->deps[i].missing, record->deps[i].digest};
	}
	assert(a->last.input_count <= record->dep_count);
	a->last.known = files && srv_graph_set_deps(engine->graph, id, files, a->last.input_count);
}

/* Whether the record is of a preview; caches the last ingredients, which most assets share. */
static bool is_preview(loader *load, const srv_record *record, uint64_t hash[2])
{
	hob_str text = record->ingredients;
	if (text.data == load->text.data && text.len == load->text.len) {
		memcpy(hash, load->printed, sizeof load->printed);
		return load->preview;
	}
	load->text = text;
	hob_fast_hash((hob_bytes){(const uint8_t *)text.data, text.len}, hash);
	if (memcmp(hash, load->printed, sizeof load->printed) != 0) {
		memcpy(load->printed, hash, sizeof load->printed);
		load->preview = hob_ingredients_profile(record->ingredients) == HOB_PROFILE_PREVIEW;
	}
	return load->preview;
}

/* The kind of error implied by the state in the row. */
static srv_asset_error error_of(const srv_asset_row *row)
{
	srv_state state = SRV_QUEUED;
	(void)!srv_state_parse(row->state, &state);
	return row->error.len == 0		  ? SRV_ASSET_FINE
		   : state == SRV_BLOCKED	  ? SRV_ASSET_BY_OTHER
		   : state == SRV_INTERRUPTED ? SRV_ASSET_INTERRUPTED
		   : state == SRV_QUARANTINED ? SRV_ASSET_DIED
									  : SRV_ASSET_FAILED;
}

/* `good` and `last`: records to which the row refers; NULL: none. `whole`: all blobs of `good` exist. */
static void load_asset(loader *load, uint32_t id, const srv_asset_row *row, const srv_record *good,
					   const srv_record *last, bool whole)
{
	srv_engine *engine = load->engine;
	asset *a = srv_asset_at(engine, id);
	hob_arena_mark mark = hob_arena_save(&load->scratch);
	uint64_t hash[2];
	assert(id == a->id && id < engine->assets->count);
	srv_asset_event restored = {.kind = SRV_ASSET_RESTORED, .has_good = good != NULL, .error = error_of(row)};
	a->shown.rev = row->rev;
	a->shown.cooked_at_ms = row->cooked_at_ms;
	if (row->error.len > 0)
		hob_buf_put_str(&a->error, row->error);
	srv_asset_note(engine, a);
	if (good) {
		a->shown.any = true;
		a->shown.served = a->shown.good = row->good;
		restored.good_is_preview = is_preview(load, good, hash);
		a->cost.final_ns = restored.good_is_preview ? 0 : good->cook_ns;
		a->cost.peak_bytes = good->peak_bytes;
	}
	if (last) {
		a->last.key = row->last;
		a->last.lookup = last->lookup;
		a->last.source = last->source;
		is_preview(load, last, a->last.ingredients);
		load_inputs(engine, id, last, &load->scratch);
		srv_engine_doubt_at(a, last);
		if (srv_engine_is_doubtful(engine, last))
			a->last.known = false;
	}
	/* A damaged row names a blob that does not exist: the asset is checked again. */
	uint32_t outputs = good ? good->output_count : 0;
	srv_asset_apply(&a->life, &restored);
	a->shown.told = srv_asset_settled(&a->life);
	bool was_good =
		hob_str_equal(row->state, HOB_STR("fresh")) || hob_str_equal(row->state, HOB_STR("stale"));
	if (was_good && outputs == 0)
		a->last.known = false;
	for (uint32_t i = 0; i < outputs && !whole; i++)
		if (!srv_blob_known(engine->store, &good->outputs[i].digest))
			a->last.known = false;
	srv_publish_view_of(engine, a, good ? good : &(srv_record){0});
	hob_arena_restore(&load->scratch, mark);
}

static bool load_records(loader *load, uint32_t id, const srv_asset_row *row, hob_error *err)
{
	srv_store *store = load->engine->store;
	srv_record good, last;
	bool whole = false, other = row->last_place != row->good_place, unused;
	assert(!other || !hob_sha256_equal(&row->good, &row->last));
	hob_arena_mark mark = hob_arena_save(&load->scratch);
	bool ok = (!row->good_place ||
			   srv_store_record_at(store, row->good_place, &load->scratch, &good, &whole, err)) &&
			  (!row->last_place || !other ||
			   srv_store_record_at(store, row->last_place, &load->scratch, &last, &unused, err));
	if (ok)
		load_asset(load, id, row, row->good_place ? &good : NULL,
				   !row->last_place ? NULL
				   : other			? &last
									: &good,
				   whole);
	hob_arena_restore(&load->scratch, mark);
	return ok;
}

static void load_row(void *user, const srv_asset_row *row)
{
	loader *load = user;
	srv_engine *engine = load->engine;
	uint32_t root = srv_engine_root_by_name(engine, row->root);
	uint32_t file = root == HOB_NONE ? HOB_NONE : srv_graph_file(engine->graph, root, row->path);
	uint32_t id = file == HOB_NONE ? HOB_NONE : srv_engine_add_asset(engine, file);
	if (id != HOB_NONE && !load->failed)
		load->failed = !load_records(load, id, row, load->err);
}

/* Forgets all digests and records because a row is wrong: all files are hashed and looked up again. */
static void forget_loaded(srv_engine *engine)
{
	for (uint32_t i = 0; i < srv_graph_count(engine->graph); i++)
		srv_graph_at(engine->graph, i)->has_digest = false;
	for (uint32_t i = 0; i < engine->assets->count; i++) {
		asset *a = srv_asset_at(engine, i);
		srv_asset_apply(&a->life, &(srv_asset_event){.kind = SRV_ASSET_FORGOTTEN});
		a->last.known = false;
		hob_buf_clear(&a->error);
		srv_publish_view_of(engine, a, &(srv_record){0});
	}
}

bool srv_engine_load(srv_engine *engine, hob_error *err)
{
	loader load = {.engine = engine, .err = err};
	hob_arena_init(&load.scratch, SIZE_MAX);
	hob_arena_alloc(&load.scratch, 1, 1); /* the arena keeps its first block */
	engine->publishing->rev = srv_store_last_rev(engine->store);
	srv_engine_continue_job_ids(engine, srv_store_last_job(engine->store));
	bool ok = srv_engine_load_moves(engine, err) && srv_store_read_rows(engine->store, err) &&
			  srv_store_each_file(engine->store, load_file, &load, err) &&
			  srv_store_each_asset(engine->store, load_row, &load, err) && !load.failed;
	srv_store_read_end(engine->store);
	hob_arena_release(&load.scratch);
	if (srv_store_is_damaged(engine->store)) {
		forget_loaded(engine);
		ok = srv_engine_heal_index(engine) ||
			 hob_fail(err, IO, "index.db is damaged and cannot be rebuilt; the log says why");
	}
	return ok;
}

/* engine_assets.h - the assets: the data of each, and its state transitions. */
#ifndef ENGINE_ASSETS_H
#define ENGINE_ASSETS_H

#include "engine_kit.h"

#include "../../core/settings/cook_key.h"
#include "../cook/asset.h"

/* One input of an asset's newest record. */
typedef struct asset_input {
	uint32_t file;
	bool missing;
	hob_sha256 digest;
} asset_input;

/* The record of the newest cook. */
typedef struct asset_last {
	bool known;
	hob_sha256 key, lookup, source;
	uint64_t ingredients[2]; /* fast hash of their text; zero: unknown */
	asset_input *inputs;	 /* without the source */
	uint32_t input_count;
	int64_t doubt_at_ms; /* when a stored failure is retried although nothing changed; 0: never */
} asset_last;

/* Cost of the asset's newest final cook; 0: unknown. `size`: see srv_forecast_size. */
typedef struct asset_cost {
	uint64_t final_ns, peak_bytes, size;
} asset_cost;

enum { ASSET_NS_PER_BYTE = 100 }; /* approximate cook time of a large source */

/* The final version that a preview has replaced. */
typedef struct asset_before {
	hob_sha256 good;
	int64_t cooked_at_ms;
} asset_before;

/* The asset as published. */
typedef struct asset_shown {
	uint64_t rev;
	hob_sha256 good;   /* the newest record that succeeded */
	hob_sha256 served; /* `good` as published */
	int64_t cooked_at_ms;
	asset_before *before; /* owned, while `good` is a preview; NULL: there was none */
	hob_buf lost;		  /* losses of `good` against the previous version: "triangles 100 -> 0" */
	srv_state told;		  /* state in the newest event, or in the row of an earlier run */
	bool any;			  /* clients have seen it with outputs */
	bool on_trial;		  /* `good` is a preview, and a rule may refuse its final cook */
	bool unjudged;		  /* its view was made before its settings were known, and lacks findings */
	bool view_due;		  /* in `due`: its view is outdated */
} asset_shown;

typedef struct asset_membership {
	bool member;   /* its result is published with a changeset */
	uint32_t held; /* 1 + index of its held change; 0: none */
} asset_membership;

typedef struct asset_move {
	uint32_t row;		 /* 1 + the newest row of engine_move.c for its name; 0: none */
	uint32_t row_before; /* `row` when the asset was removed */
	uint32_t trace;		 /* 1 + its index among the traces of files added or removed lately */
	bool untold;		 /* no event has reported the move of `row` yet */
	bool settling;		 /* the model's settings file is still at its former place */
} asset_move;

typedef struct asset {
	uint32_t id, file, root;
	char *path, *full; /* owned */
	const srv_pool_importer *importer;
	srv_asset life; /* changed only by srv_engine_apply */
	hob_buf error;	/* JSON, empty when fine */
	hob_buf why;	/* JSON array members: reasons of its newest job */
	asset_last last;
	asset_cost cost;
	asset_shown shown;
	asset_membership changeset;
	asset_move move;
	bool noted; /* in `unsettled` */
} asset;

typedef struct known_ingredients {
	hob_ingredients of; /* refers to texts of the importer, and to `extension` */
	char extension[16];
	hob_buf text;	  /* as printed */
	uint64_t hash[2]; /* of the text */
} known_ingredients;

struct engine_assets {
	asset *items;
	uint32_t count, capacity;
	known_ingredients printed; /* cache: the ingredients printed last */
	/* Ids of all assets with an error or with a file that was half-written at the last check, and of some
	 * that recovered since. */
	uint32_t *unsettled;
	uint32_t unsettled_count, unsettled_capacity;
	bool unsettled_sorted, unsettled_lost; /* lost: an id is missing, because memory was short */
};

/* Valid until the next srv_engine_add_asset. */
static inline asset *srv_asset_at(const srv_engine *engine, uint32_t id)
{
	return &engine->assets->items[id];
}

/* engine_assets.c */
void srv_engine_assets_free(struct engine_assets *assets);
uint32_t srv_engine_add_asset(srv_engine *engine, uint32_t file); /* HOB_NONE without memory */
uint32_t srv_engine_asset_by_name(srv_engine *engine, hob_str full);
void srv_asset_dirty(srv_engine *engine, uint32_t id, srv_priority priority, const char *kind, hob_str path);
/* Call it when a job finds that `file` has changed: checks all assets that use it, except `but`, the job's
 * own. A later scan sees no difference and would not check them. */
void srv_engine_tell_others(srv_engine *engine, uint32_t file, uint32_t but);
/* Adds the asset to `unsettled` if it belongs there; call it when its error or state has changed. */
void srv_asset_note(srv_engine *engine, asset *a);
/* Ids of assets with an error, or whose file was half-written at the last check, ascending; valid until the
 * next change of one. */
const uint32_t *srv_engine_unsettled(srv_engine *engine, uint32_t *count);
/* Applies an event to the asset and carries out the actions, except publishing, which the caller does. */
srv_asset_todo srv_engine_apply(srv_engine *engine, uint32_t id, srv_asset_event event);
/* For the queue: expected time of its next cook, from its last one or the size of its source. */
uint64_t srv_asset_queue_cost(const srv_engine *engine, const asset *a);
/* Call it when file `id` exists: makes it an asset and cooks it. */
void srv_asset_found(srv_engine *engine, uint32_t id, srv_priority priority);
/* Makes the asset dirty: an input that its job read has changed. */
void srv_asset_outdated(srv_engine *engine, uint32_t id, hob_str path);
/* Whether its newest cook skipped it, although an earlier version may be served. */
static inline bool srv_asset_error_is_skip(const asset *a)
{
	return hob_str_find(hob_buf_str(&a->error), HOB_STR("\"code\":\"import.skipped\""), 0) != SIZE_MAX;
}
/* Whether it is listed as skipped: it has no good version. */
static inline bool srv_asset_is_skipped(const asset *a)
{
	return !a->life.has_good && srv_asset_error_is_skip(a);
}
static inline srv_standing srv_asset_stands(const asset *a)
{
	return srv_asset_standing(&a->life, srv_asset_is_skipped(a));
}
bool srv_engine_has_lost_record(srv_engine *engine, const asset *a);
bool srv_engine_serves(srv_engine *engine, const asset *a); /* its record and all of its blobs exist */
/* Asks again for assets whose wait is over; writers: also for all with a half-written input. */
void srv_engine_retry_passing(srv_engine *engine, bool writers);
/* Loads files, records and states of earlier runs. engine_load.c */
bool srv_engine_load(srv_engine *engine, hob_error *err);

/* engine_inputs.c: settings and inputs of an asset */
bool srv_asset_ingredients(srv_engine *engine, asset *a, hob_arena *arena, hob_ingredients *out,
						   hob_error *err);
/* As JSON, valid until the next call. */
hob_str srv_engine_ingredients_text(srv_engine *engine, const hob_ingredients *of);
/* Whether the record `last` fits the current inputs and settings; false if unknown. */
bool srv_asset_is_current(srv_engine *engine, asset *a);
/* Forgets the inputs of the newest cook, so that the next job checks everything. */
void srv_asset_forget_last(asset *a);
void srv_engine_forget_inputs(asset *a); /* without its file */

#endif

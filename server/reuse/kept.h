/* kept.h - the record that is kept of a cook, and whether it is still valid for the model.
 *
 * Pure functions on memory that the caller owns, except srv_kept_store. A result has the paths of
 * dependencies below the root. A kept record has them relative to the model's folder, so that a model moved
 * together with its files finds its result again. */
#ifndef SRV_REUSE_KEPT_H
#define SRV_REUSE_KEPT_H

#include "../../core/settings/cook_key.h"
#include "../store/store.h"
#include "../worker/importer_table.h"
#include "../worker/result.h"

/* The files that a cook read or looked for, except the source. NULL without memory. model: path below the
 * root. */
srv_record_dep *srv_kept_deps(hob_arena *arena, hob_str model, const srv_result *result, uint32_t *count);
/* Appends a JSON object with counts and exceeded budgets. */
void srv_kept_stats(const srv_result *result, hob_buf *out);
/* Fills in a cook's record except ingredients, outputs and times; the caller has set lookup and source.
 * Memory comes from the arena. False without memory. */
bool srv_kept_record(hob_arena *arena, hob_str model, const srv_result *result, srv_record *record,
					 hob_error *err) HOB_MUST_CHECK;
/* Any thread: stores the outputs of a cook; ends early when *stop is set (stop may be NULL). outputs: has
 * room for all; *count: those that were stored. */
bool srv_kept_store(srv_store *store, const srv_result *result, const _Atomic bool *stop,
					srv_record_output *outputs, uint32_t *count, hob_error *err);
/* If a kept result was made without levels of detail because they did not fit: the memory limit in MiB; else
 * 0. Such a result is not valid for a larger limit, nor on another machine. */
uint32_t srv_kept_short_mib(const srv_record *record);
/* The key computed from the record's lookup, file_name and deps. False without memory. */
bool srv_kept_key(hob_arena *arena, const srv_record *record, hob_sha256 *key, hob_error *err) HOB_MUST_CHECK;

/* Reads the notes of a cook's report, to `arena`. False: it is not a report, or memory ran out. */
bool srv_kept_notes(hob_bytes report, hob_arena *arena, hob_note **notes, uint32_t *count) HOB_MUST_CHECK;

typedef enum srv_input_state {
	SRV_INPUT_UNKNOWN, /* cannot be determined, so the record counts as not valid */
	SRV_INPUT_MISSING,
	SRV_INPUT_PRESENT
} srv_input_state;
/* `path`: relative to the model's folder, as kept. PRESENT sets *digest. */
typedef srv_input_state srv_input_fn(void *user, hob_str path, hob_sha256 *digest);

/* Whether the model's name and every input are the same as when `record` was made. A path above the root
 * counts as missing and is not looked for; "../.." alone stands for everything above the root, and holds only
 * at the same depth. The caller found the record by its lookup, so source and settings are the same. The
 * caller must also check that the outputs exist. */
bool srv_kept_holds(const srv_record *record, hob_str model, srv_input_fn *look, void *user);

/* Ingredients of a final cook of the model at `path`; they refer to the arguments' texts. */
hob_ingredients srv_kept_ingredients(const srv_pool_importer *importer, hob_str path,
									 const hob_settings *settings);

#endif

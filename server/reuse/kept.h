/* kept.h - what is kept of a cook, and whether a kept result is valid for the current model.
 *
 * Pure functions on memory that the caller owns, but for srv_kept_store. A result has the paths of
 * dependencies below the root. A kept record has them relative to the model's folder, so that a model that is
 * moved with its files finds its result again. */
#ifndef SRV_REUSE_KEPT_H
#define SRV_REUSE_KEPT_H

#include "../../core/settings/cook_key.h"
#include "../store/store.h"
#include "../worker/result.h"

/* The files that a cook read and looked for, without the source itself. NULL without memory. model: path
 * below the root. */
srv_record_dep *srv_kept_deps(hob_arena *arena, hob_str model, const srv_result *result, uint32_t *count);
/* Appends the JSON object of counts and exceeded budgets. */
void srv_kept_stats(const srv_result *result, hob_buf *out);
/* All of a cook's record but its ingredients, outputs and times; lookup and source are the caller's. The
 * memory is the arena's. False without memory. */
bool srv_kept_record(hob_arena *arena, hob_str model, const srv_result *result, srv_record *record,
					 hob_error *err) HOB_MUST_CHECK;
/* Any thread: stores the outputs of a cook, until `stop` (NULL: never). outputs: has room for all; *count:
 * those that are stored. */
bool srv_kept_store(srv_store *store, const srv_result *result, const _Atomic bool *stop,
					srv_record_output *outputs, uint32_t *count, hob_error *err);
/* The memory limit in MiB under which a kept result was made without levels of detail, because they did not
 * fit; 0: nothing was left out. Such a result counts for no larger limit, and on no other machine. */
uint32_t srv_kept_short_mib(const srv_record *record);
/* The key for this lookup, file_name and deps. False without memory. */
bool srv_kept_key(hob_arena *arena, const srv_record *record, hob_sha256 *key, hob_error *err) HOB_MUST_CHECK;

/* The notes in a cook's report, in `arena`. False: it is no report, or memory ran out. */
bool srv_kept_notes(hob_bytes report, hob_arena *arena, hob_note **notes, uint32_t *count) HOB_MUST_CHECK;

typedef enum srv_input_state {
	SRV_INPUT_UNKNOWN, /* unknown: nothing is valid */
	SRV_INPUT_MISSING,
	SRV_INPUT_PRESENT
} srv_input_state;
/* path: relative to the model's folder, as kept. PRESENT sets *digest. */
typedef srv_input_state srv_input_fn(void *user, hob_str path, hob_sha256 *digest);

/* Whether the model's name and every input are the same as when `record` was made. A path above the root is
 * missing, and not looked for; "../.." alone covers everything above the root, and is valid only at the same
 * depth. The caller found the record by its lookup, so source and settings are the same. The caller must also
 * check that its outputs exist. */
bool srv_kept_holds(const srv_record *record, hob_str model, srv_input_fn *look, void *user);

#endif

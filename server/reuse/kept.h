/* kept.h - what is kept of a cook, and whether a kept result holds for a model as it is now.
 *
 * Pure functions on memory that the caller owns: no file, no store, no clock. Paths of dependencies in a result are below the
 * root; in what is kept they are relative to the model's folder, so that a moved pair finds its result again. */
#ifndef SRV_REUSE_KEPT_H
#define SRV_REUSE_KEPT_H

#include "../../core/recipe/recipe.h"
#include "../store/store.h"
#include "../worker/result.h"

/* What a cook read and looked for, the source itself left out. NULL without memory. model: path below the root. */
srv_recipe_dep *srv_kept_deps(hob_arena *arena, hob_str model, const srv_result *result, uint32_t *count);
/* Appends the JSON object of counts and exceeded budgets. */
void srv_kept_stats(const srv_result *result, hob_buf *out);
/* The key that lookup, file_name and deps give. False without memory. */
bool srv_kept_key(hob_arena *arena, const srv_recipe *recipe, hob_sha256 *key, hob_error *err) HOB_MUST_CHECK;

typedef enum srv_input_state {
	SRV_INPUT_UNKNOWN, /* it cannot be told: nothing holds */
	SRV_INPUT_MISSING,
	SRV_INPUT_PRESENT
} srv_input_state;
/* path: relative to the model's folder, as kept. PRESENT sets *digest. */
typedef srv_input_state srv_input_fn(void *user, hob_str path, hob_sha256 *digest);

/* Whether the model's name and every input are what they were when `recipe` was made. What is above the root as seen from the
 * model is missing, and not looked for; "../.." alone is all that is above the root, and holds only where it is. The caller has found it by its lookup, so
 * source and settings are the same; whether its outputs are there is the caller's question, too. */
bool srv_kept_holds(const srv_recipe *recipe, hob_str model, srv_input_fn *look, void *user);

#endif

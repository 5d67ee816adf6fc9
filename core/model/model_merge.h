/* model_merge.h - joins several models into one. */
#ifndef HOB_MODEL_MERGE_H
#define HOB_MODEL_MERGE_H

#include "../model/model.h"

/* Joins models, side by side.
 *
 * Ids of each model follow those of the previous one; names are kept. Scene 0 shows the default scenes of
 * all, in order; the other scenes follow under their own names. Nodes keep their transforms: no new root is
 * added. Clips whose name is taken get "name_2", "name_3" ...; variants of the same name are one. Equal
 * materials, pictures and samplers are left for hob_material_bake, which folds them.
 *
 * models    [model_count], at least 1, each checked by hob_model_check; they are not modified, and *out
 *           borrows their vertex, key and text data
 * arena     owns the lists of *out
 * scratch   restored before returning
 * Errors    LIMIT if a count would exceed its limit. *out is then unchanged. Cost O(sizes of the
 *           lists). */
bool hob_model_merge(const hob_model *const *models, uint32_t model_count, hob_arena *arena,
					 hob_arena *scratch, hob_model *out, hob_error *err) HOB_MUST_CHECK;

#endif

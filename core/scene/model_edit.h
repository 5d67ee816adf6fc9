/* model_edit.h - taking nodes and meshes out of a model, with everything that refers to them. */
#ifndef HOB_MODEL_EDIT_H
#define HOB_MODEL_EDIT_H

#include "../model/model.h"

/* Deletes nodes together with all their descendants; what is left is renumbered, order stays.
 *
 * Animation channels and scene roots of deleted nodes go with them; scenes, clips, skins, meshes and materials stay.
 *
 * doomed    [node_count]; descendants need not be marked
 * Errors    CONFIG when a joint or skeleton root of a skin that is still in use would go (naming both); MEMORY.
 *           The model is then unchanged. Cost O(model). */
bool hob_model_delete_nodes(hob_model *model, const bool *doomed, hob_arena *arena, hob_arena *scratch,
							hob_error *err) HOB_MUST_CHECK;

/* Deletes the meshes that mesh_refs does not name and that `doomed` [mesh_count] marks; the others are renumbered.
 * Errors: MEMORY; the model is then unchanged. */
bool hob_model_delete_meshes(hob_model *model, const bool *doomed, hob_arena *arena, hob_arena *scratch,
							 hob_error *err) HOB_MUST_CHECK;

#endif

/* model_edit.h - removes nodes and meshes from a model, with everything that refers to them. */
#ifndef HOB_MODEL_EDIT_H
#define HOB_MODEL_EDIT_H

#include "../model/model.h"

/* Deletes nodes with all their descendants; the rest is renumbered in the same order.
 *
 * Animation channels and scene roots of deleted nodes go with them; scenes, clips, skins, meshes and
 * materials stay.
 *
 * doomed    [node_count]; descendants need not be marked
 * Leaves (base/guard.h) with CONFIG if a joint or skeleton root of a skin in use would be deleted (names
 * both). The model is then unchanged. Cost O(model). */
void hob_model_delete_nodes(hob_model *model, const bool *doomed, hob_arena *arena, hob_arena *scratch);

/* Deletes the meshes that mesh_refs does not name and that `doomed` [mesh_count] marks; renumbers the
 * others. */
void hob_model_delete_meshes(hob_model *model, const bool *doomed, hob_arena *arena, hob_arena *scratch);

/* Drops the texture coordinate sets that no picture of a mesh's materials, in any variant, uses. */
void hob_model_drop_unused_uvs(hob_model *model);

/* Frees the large mesh arrays once they are no longer needed: those in the `arena` of the import. Returns the
 * number of bytes freed. Frees nothing if some mesh has its own animation (morph targets, skins). */
size_t hob_model_drop_geometry(hob_model *model, hob_arena *arena);

/* Total bytes of the mesh arrays with at least `least` bytes each. */
size_t hob_model_geometry_size(const hob_model *model, size_t least);

#endif

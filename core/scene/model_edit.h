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

/* ---- the setting merge_instances: many nodes that show the same meshes become one node ---- */

/* Folds instances.
 *
 * Nodes are merged if all of this is true: they show the same list of meshes (hence the same materials); they
 * have no children, skin, morph weights, camera or light; their meshes have no morph targets; they do not
 * move relative to each other (no animation, joint or skeleton root from the node up to where their paths
 * meet); and the same scenes show them. The first of them keeps its name and transform and shows, for each of
 * the meshes, one new mesh: all copies, transformed into its space. The others are deleted, and so are old
 * meshes that nothing else shows. New meshes come after the old ones.
 *
 * A group is not merged if the joined mesh would have more than HOB_MERGE_INSTANCES_VERTICES vertices (beyond
 * that, instancing on the GPU is cheaper than reading copies), or when the first node's transform has no
 * inverse; a note says so.
 *
 * Leaves    with LIMIT, CORRUPT (a copy is placed beyond the range of float). The model is then unchanged.
 * Cost      O(nodes log nodes + vertices of the copies) */
void hob_model_merge_instances(hob_model *model, hob_arena *arena, hob_arena *scratch, hob_notes *notes);
enum { HOB_MERGE_INSTANCES_VERTICES = 1 << 22 };

/* ---- the setting merge_materials: meshes of one material become few draws ---- */

/* Joins the meshes of one material, each instance with its transform applied.
 *
 * It takes the mesh references of rigid nodes (no skin, no morph weights or targets) whose mesh has the
 * material. It joins them per anchor (static_nodes.h: nodes that move together), per set of scenes that show
 * them, and per kind of mesh (topology, set of attributes, variant mappings): nothing is invented or lost. A
 * single mesh is not changed. The joined mesh goes to the anchor's node, after its own meshes; without an
 * anchor, to a new root node with identity transform, named after the material, in the same scenes. Nodes
 * left without meshes, children, camera, light and skin, which nothing moves or needs as a joint, are
 * deleted, as are meshes that are no longer used.
 *
 * Leaves    with CONFIG: no such material (the text lists the materials); LIMIT, CORRUPT as in
 *           mesh_join.h. The model is then unchanged. Cost O(nodes log nodes + vertices of the copies) */
void hob_model_merge_material(hob_model *model, uint32_t material, hob_arena *arena, hob_arena *scratch);

#endif

/* merge_material.h - joins meshes of one material into few draws. */
#ifndef HOB_MERGE_MATERIAL_H
#define HOB_MERGE_MATERIAL_H

#include "../model/model.h"

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

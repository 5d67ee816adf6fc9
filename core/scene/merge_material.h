/* merge_material.h - all that has one material becomes one draw. */
#ifndef HOB_MERGE_MATERIAL_H
#define HOB_MERGE_MATERIAL_H

#include "../model/model.h"

/* Joins the meshes of one material, each instance transformed into place.
 *
 * Taken are the mesh references of rigid nodes (no skin, no morph weights or targets) whose mesh has the
 * material. They are joined per anchor (static_nodes.h: what moves as one), per set of scenes that show them,
 * and per kind of mesh (topology, set of attributes, variant mappings): nothing is invented or lost. Groups of one stay as they are. The joined mesh
 * goes to the anchor's node, behind its own meshes; without an anchor, to a new root node with identity transform, named after the material,
 * in the same scenes. Nodes that are left with nothing - no meshes, children, camera, light or skin, and nothing that moves them or
 * needs them as a joint - are deleted, as are meshes that are no longer used.
 *
 * Errors    CONFIG: no such material (the text lists what there is); MEMORY, LIMIT, CORRUPT as in mesh_join.h. The model
 *           is then unchanged. Cost O(nodes log nodes + vertices of the copies) */
bool hob_model_merge_material(hob_model *model, uint32_t material, hob_arena *arena, hob_arena *scratch,
							  hob_error *err) HOB_MUST_CHECK;

/* The first material of that name. */
bool hob_model_find_material(const hob_model *model, hob_str name, uint32_t *out,
							 hob_error *err) HOB_MUST_CHECK;

#endif

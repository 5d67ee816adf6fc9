/* merge_instances.h - the setting merge_instances: many nodes that show the same meshes become one node with
 * one mesh. */
#ifndef HOB_MERGE_INSTANCES_H
#define HOB_MERGE_INSTANCES_H

#include "../model/model.h"

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

#endif

/* static_nodes.h - finds the parts of a model that never move relative to each other, so that their meshes
 * can be joined. */
#ifndef HOB_STATIC_NODES_H
#define HOB_STATIC_NODES_H

#include "affine.h"

/* The anchor of a node is the nearest of itself and its ancestors that can move by itself: the target of an
 * animation channel, a hidden node, a joint, the root of a skeleton, or a node whose matrix is a projection;
 * HOB_NONE if there is none. Nodes with the same anchor move together. */
typedef struct hob_static_nodes {
	uint32_t *anchor;	/* [node_count] */
	hob_affine *place;	/* [node_count] relative to the anchor, or to the world */
	uint64_t *scenes;	/* [node_count] equal for nodes in the same scenes */
	bool *has_children; /* [node_count] */
} hob_static_nodes;

/* Memory comes from `scratch`. Cost O(nodes + channels + joints + scene roots). */
hob_static_nodes hob_static_nodes_of(const hob_model *model, hob_arena *scratch);

/* For qsort: below 0, 0 or above 0. */
static inline int hob_compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* True if the node's meshes are rigid: no skin, no weights of its own. (Morph targets belong to the mesh.) */
bool hob_node_is_rigid(const hob_node *node);

#endif

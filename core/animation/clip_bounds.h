/* clip_bounds.h - bounds of skinned meshes while a clip plays. */
#ifndef HOB_CLIP_BOUNDS_H
#define HOB_CLIP_BOUNDS_H

#include "../model/model.h"

typedef struct hob_skin_box {
	float min[3], max[3];
} hob_skin_box;

typedef struct hob_joint_box {
	uint32_t joint;	  /* in the skin's list */
	hob_skin_box box; /* bounds of the vertices it moves, in the mesh's space */
} hob_joint_box;

typedef struct hob_skin_mesh {
	uint32_t node; /* node whose morph weights apply */
	const hob_mesh *mesh;
	const hob_skin *skin;
	uint32_t joint_count;
	hob_joint_box *joints; /* [joint_count] only joints that move vertices */
	hob_skin_box *targets; /* [mesh->target_count] bounds of the position deltas, 0 included */
} hob_skin_mesh;

/* Per-model data of all clips, collected once: the nodes that move joints, and for each joint of a skinned
 * mesh the bounds of its vertices. */
typedef struct hob_skin_boxes {
	const hob_model *model;
	uint32_t node_count; /* joints and their ancestors */
	uint32_t *nodes;	 /* model node ids, ascending: parents first */
	uint32_t *place;	 /* [model->node_count] index in `nodes`, or HOB_NONE */
	uint32_t mesh_count; /* one per mesh reference of a node with a skin */
	hob_skin_mesh *meshes;
} hob_skin_boxes;

/* Collects the data. All memory comes from `scratch` and lives until the caller restores it. Vertices that
 * name a joint beyond the skin's list are ignored. A model without skinned meshes gives mesh_count 0.
 * Cost    O(nodes + vertices * influences) */
hob_skin_boxes hob_skin_boxes_of(const hob_model *model, hob_arena *scratch);

/* World bounds of all skinned meshes of the model while `clip` plays over [start, end].
 *
 * A skinned vertex is a weighted mean of its positions under each joint, so it lies in the union of its
 * joints' transformed boxes; morph targets enlarge the boxes by their weights at that time. The union is
 * taken at every key and at least 30 times a second (up to CLIP_SAMPLES instants, evenly spread beyond), and
 * at each midpoint between. The excess of a midpoint over the box of its neighbours measures the curvature of
 * the motion; a third of the largest excess is added to each side.
 *
 * out      min xyz, max xyz; FLT_MAX and -FLT_MAX when there is no skinned mesh
 * scratch  restored on return
 * Cost     O(samples * (channels * log keys + nodes + joints)) */
enum { HOB_CLIP_SAMPLES = 1024 };
void hob_clip_bounds(const hob_skin_boxes *boxes, const hob_clip *clip, float start, float end,
					 hob_arena *scratch, float out[6]);

#endif

/* clip_bounds.h - bounds of skinned meshes while a clip plays. */
#ifndef HOB_CLIP_BOUNDS_H
#define HOB_CLIP_BOUNDS_H

#include "../model/model.h"

typedef struct hob_skin_box {
	float min[3], max[3];
} hob_skin_box;

typedef struct hob_joint_box {
	uint32_t joint;	  /* in the skin's list */
	hob_skin_box box; /* of the vertices it moves, in the mesh's space */
} hob_joint_box;

typedef struct hob_skin_mesh {
	uint32_t node; /* whose morph weights count */
	const hob_mesh *mesh;
	const hob_skin *skin;
	uint32_t joint_count;
	hob_joint_box *joints; /* [joint_count] of those joints that move vertices */
	hob_skin_box *targets; /* [mesh->target_count] of the position deltas, 0 included */
} hob_skin_mesh;

/* Data that every clip needs, collected once: the nodes that move joints, and for each joint of a skinned
 * mesh the box of its vertices. */
typedef struct hob_skin_boxes {
	const hob_model *model;
	uint32_t node_count; /* joints and their ancestors */
	uint32_t *nodes;	 /* model node ids, ascending: parents first */
	uint32_t *place;	 /* [model->node_count] index in `nodes`, or HOB_NONE */
	uint32_t mesh_count; /* one per mesh reference of a node with a skin */
	hob_skin_mesh *meshes;
} hob_skin_boxes;

/* Gathers. All memory comes from `scratch` and lives until the caller restores it. Vertices that name a joint
 * beyond the skin's list are left out. A model without skinned meshes gives mesh_count 0.
 * Errors  MEMORY
 * Cost    O(nodes + vertices * influences) */
bool hob_skin_boxes_init(hob_skin_boxes *boxes, const hob_model *model, hob_arena *scratch,
						 hob_error *err) HOB_MUST_CHECK;

/* World bounds of all skinned meshes of the model over [start, end], as playing `clip` moves them.
 *
 * A skinned vertex is a weighted mean of where its joints would carry it, so it lies in the union of its
 * joints' moved boxes; morph targets widen the boxes by their weights at that time. The union is taken at
 * every key and at least 30 times a second (up to CLIP_SAMPLES instants, evenly spread beyond), and at each
 * middle between; by how much a middle left the box of its neighbours says how curved the motion is, and a
 * third of the largest such excess is added to each side.
 *
 * out      min xyz, max xyz; FLT_MAX and -FLT_MAX when there is no skinned mesh
 * scratch  back where it was on return
 * Errors   MEMORY
 * Cost     O(samples * (channels * log keys + nodes + joints)) */
enum { HOB_CLIP_SAMPLES = 1024 };
bool hob_clip_bounds(const hob_skin_boxes *boxes, const hob_clip *clip, float start, float end,
					 hob_arena *scratch, float out[6], hob_error *err) HOB_MUST_CHECK;

#endif

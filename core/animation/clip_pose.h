/* clip_pose.h - node transforms at an instant of a clip. */
#ifndef HOB_CLIP_POSE_H
#define HOB_CLIP_POSE_H

#include "clip_bounds.h"

/* The joints of all skinned meshes and their ancestors. Written only by the functions below. */
typedef struct hob_clip_pose {
	const hob_skin_boxes *boxes;
	const hob_clip *clip;
	hob_node *nodes; /* [boxes->node_count] copies, animated by the clip */
	float *global;	 /* [boxes->node_count][16] out: from the node to the world */
	float *weights;	 /* out: weights of one mesh; room for the largest target count, at least 1 */
	float *values;	 /* room for one key of any track */
} hob_clip_pose;

/* clip NULL: nodes keep the model's transforms. All memory comes from `scratch`. */
hob_clip_pose hob_clip_pose_of(const hob_skin_boxes *boxes, const hob_clip *clip, hob_arena *scratch);

/* Animates the nodes; components without a track are unchanged. Cost O(channels * log keys + nodes). */
void hob_clip_pose_at(hob_clip_pose *pose, float time);

/* Weights of a mesh's targets at one node of the model. */
void hob_clip_pose_weights(hob_clip_pose *pose, uint32_t node, const hob_mesh *mesh, float time);

#endif

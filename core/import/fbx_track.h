/* fbx_track.h - what the making of tracks (fbx_track.c) and the pose at a time (fbx_sample.c) share. */
#ifndef HOB_FBX_TRACK_H
#define HOB_FBX_TRACK_H

#include "fbx_anim.h"

/* The work on one clip. */
typedef struct hob_fbx_tracker {
	hob_fbx *f;
	uint32_t clip_id;
	const hob_fbx_clip *from;
	hob_clip *clip;
	hob_buf tracks, channels;
	hob_buf times;				   /* double: where any of the curves at hand has a key, ends of the clip */
	hob_buf frames;				   /* double: what joins them */
	hob_buf out_times, out_values; /* double, float */
	/* what is being sampled */
	uint32_t node;
	hob_path path;
	uint32_t width;
	const hob_fbx_geometry *geometry;
	hob_fbx_motions t, r, s, *weights;
	bool top, beside;
	double tolerance;
	double *a, *b, *middle; /* [width] samples of resampling, one set for each depth */
	double *ends;
} hob_fbx_tracker;

/* What the node or geometry at hand shows at a time of the file: hob_fbx_tracker.width numbers of hob_fbx_tracker.path, in the
 * model's unit and axes. `side` as in hob_fbx_curve_at. */
void hob_fbx_sample(hob_fbx_tracker *k, double time, int side, double *out);

#endif

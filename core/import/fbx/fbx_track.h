/* fbx_track.h - what the making of tracks (fbx_track.c), their times (fbx_times.c) and the pose at a time
 * (fbx_sample.c) share. */
#ifndef HOB_FBX_TRACK_H
#define HOB_FBX_TRACK_H

#include "fbx_anim.h"

enum { FRAMES = 100000 }; /* of one track; beyond, steps are longer */
enum { SCALERS = 64 };	  /* ancestors whose scales are multiplied, see hob_fbx_next_scaler */

/* The work on one clip. */
typedef struct hob_fbx_tracker {
	hob_fbx *f;
	uint32_t clip_id;
	const hob_fbx_clip *from;
	hob_clip *clip;
	hob_buf tracks, channels, properties;
	hob_buf times;				   /* double: where any of the curves at hand has a key, ends of the clip */
	hob_buf frames;				   /* double: what joins them */
	hob_buf samples;			   /* double: what the track shows at `times` */
	hob_buf out_times, out_values; /* double, float */
	/* what is being sampled */
	uint32_t node;
	hob_path path;
	uint32_t width;
	const hob_fbx_geometry *geometry;
	hob_fbx_motions t, r, s, *weights;
	hob_fbx_motions rig[HOB_FBX_RIG_PARTS]; /* when the node's rig_moves */
	bool top, beside;
	bool bends; /* the curves at hand are not only lines */
	double tolerance;
	double *a, *b, *middle; /* [width] samples of resampling, one set for each depth */
	double *ends;
} hob_fbx_tracker;

/* Movements of a clip's curves, found by looking at them all. */
typedef struct hob_fbx_survey {
	bool steps, lines, cubics, others; /* kinds of segments inside the clip; others: weighted, extrapolated */
	bool beyond;					   /* some curve goes on outside of its keys */
	double first, last;
	uint32_t moving; /* components that have more than one value */
} hob_fbx_survey;

/* ---- fbx_times.c: where the curves at hand have keys ---- */

/* Adds the times of keys inside the clip to hob_fbx_tracker.times, those that are repeated beyond the keys as
 * well. */
void hob_fbx_survey_motions(hob_fbx_tracker *k, hob_fbx_motions motions, hob_fbx_survey *out);
/* Where a channel crosses the full weight of one of its shapes, the weights of the shapes bend. */
void hob_fbx_add_crossings(hob_fbx_tracker *k, const hob_fbx_channel *channel, const hob_fbx_curve *curve);
/* All times that were added lie between begin and end of the clip; both join them. Returns how many differ, 0
 * without memory. */
uint32_t hob_fbx_sort_times(hob_fbx_tracker *k);

/* ---- fbx_sample.c ---- */

/* Samples the tracked node or geometry at a time of the file: hob_fbx_tracker.width numbers of
 * hob_fbx_tracker.path, in the model's unit and axes. `side` as in hob_fbx_curve_at. */
void hob_fbx_sample(hob_fbx_tracker *k, double time, int side, double *out);

#endif

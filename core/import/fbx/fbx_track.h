/* fbx_track.h - shared by the creation of tracks (fbx_track.c), their times (fbx_times.c) and the pose at a
 * time (fbx_sample.c). */
#ifndef HOB_FBX_TRACK_H
#define HOB_FBX_TRACK_H

#include "fbx_anim.h"

enum { FRAMES = 100000 }; /* maximum frames of a track; beyond, steps are longer */
enum { SCALERS = 64 };	  /* maximum ancestors whose scales are multiplied, see hob_fbx_next_scaler */

/* State of the conversion of one clip. */
typedef struct hob_fbx_tracker {
	hob_fbx *f;
	uint32_t clip_id;
	const hob_fbx_clip *from;
	hob_clip *clip;
	hob_buf tracks, channels, properties;
	hob_buf times;				   /* double: key times of the current curves, and the ends of the clip */
	hob_buf frames;				   /* double: frame times to merge into `times` */
	hob_buf samples;			   /* double: values of the track at `times` */
	hob_buf out_times, out_values; /* double, float */
	/* Current input: */
	uint32_t node;
	hob_path path;
	uint32_t width;
	const hob_fbx_geometry *geometry;
	hob_fbx_motions t, r, s, *weights;
	hob_fbx_motions rig[HOB_FBX_RIG_PARTS]; /* if the node's rig_moves */
	bool top, beside;
	bool bends; /* the current curves are not only lines */
	double tolerance;
	double *a, *b, *middle; /* [width] samples for refinement, one set per depth */
	double *ends;
} hob_fbx_tracker;

/* Summary of the curves of one track. */
typedef struct hob_fbx_survey {
	bool steps, lines, cubics, others; /* kinds of segments inside the clip; others: weighted, extrapolated */
	bool beyond;					   /* some curve is extrapolated */
	double first, last;
	uint32_t moving; /* components that are not constant */
} hob_fbx_survey;

/* ---- fbx_times.c: key times of the current curves ---- */

/* Adds to hob_fbx_tracker.times the key times inside the clip, including those repeated by extrapolation. */
void hob_fbx_survey_motions(hob_fbx_tracker *k, hob_fbx_motions motions, hob_fbx_survey *out);
/* Adds the times at which a channel crosses a shape's full weight: there the shape weights have a corner. */
void hob_fbx_add_crossings(hob_fbx_tracker *k, const hob_fbx_channel *channel, const hob_fbx_curve *curve);
/* Adds the clip's begin and end, sorts the times, removes duplicates. Returns how many; 0 without memory. */
uint32_t hob_fbx_sort_times(hob_fbx_tracker *k);

/* ---- fbx_sample.c ---- */

/* Samples the tracked node or geometry at a file time: hob_fbx_tracker.width numbers of hob_fbx_tracker.path,
 * in the model's unit and axes. `side` as in hob_fbx_curve_at. */
void hob_fbx_sample(hob_fbx_tracker *k, double time, int side, double *out);

#endif

/* collada_track.h - from functions of time to tracks of the model: exact where glTF can say it, else
 * resampled.
 *
 * The caller gives the value as a function, the times at which something happens to it (keys), and what kinds
 * of curves are behind it. A function of STEP curves only becomes a STEP track; polynomials of time (LINEAR,
 * BEZIER with control points at the thirds) become LINEAR or CUBICSPLINE; all else becomes LINEAR keys, as
 * many as it takes to stay within 0.01 degree, or 1e-5 of the range of the values. A jump becomes two keys at
 * neighbouring times. */
#ifndef HOB_COLLADA_TRACK_H
#define HOB_COLLADA_TRACK_H

#include "collada_curve.h"

typedef struct hob_collada_function {
	void *user;
	/* out [components]; slope [components] or NULL; `left`: just before t. */
	void (*at)(void *user, double t, bool left, double *out, double *slope);
	uint32_t components;
	bool rotation; /* a unit quaternion */
	hob_collada_curve_kinds kinds;
	/* Degrees that the parts of a rotation turn between two times, whole turns included; NULL = none. */
	double (*turned)(void *user, double from, double to);
} hob_collada_function;

/* times  [count] rising, count > 0: keys, the ends of the window included
 * start  is subtracted from all times of the track
 * Errors MEMORY, LIMIT */
bool hob_collada_make_track(hob_collada *c, const hob_collada_function *f, const double *times,
							uint32_t count, double start, hob_track *out, hob_error *err) HOB_MUST_CHECK;

#endif

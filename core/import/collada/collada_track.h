/* collada_track.h - converts functions of time to tracks of the model: exactly where glTF can represent them,
 * else resampled.
 *
 * The caller provides the function, the times of its knots (keys), and the kinds of curves it is made of.
 * STEP curves alone give a STEP track; polynomials of time (LINEAR, BEZIER with control points at the thirds)
 * give LINEAR or CUBICSPLINE; anything else gives LINEAR keys, as many as needed to stay within 0.01 degree,
 * or 1e-5 of the range of the values. A jump becomes two keys at adjacent times. */
#ifndef HOB_COLLADA_TRACK_H
#define HOB_COLLADA_TRACK_H

#include "collada_curve.h"

typedef struct hob_collada_function {
	void *user;
	/* Value at time t: out [components]; slope [components] or NULL; `left`: the limit from before t. */
	void (*at)(void *user, double t, bool left, double *out, double *slope);
	uint32_t components;
	bool rotation; /* a unit quaternion */
	hob_collada_curve_kinds kinds;
	/* Degrees of rotation of the components between two times, including whole revolutions; NULL: none. */
	double (*turned)(void *user, double from, double to);
} hob_collada_function;

/* times  [count] rising, count > 0: keys, including the ends of the window
 * start  is subtracted from all times of the track
 * Errors MEMORY, LIMIT */
bool hob_collada_make_track(hob_collada *c, const hob_collada_function *f, const double *times,
							uint32_t count, double start, hob_track *out, hob_error *err) HOB_MUST_CHECK;

#endif

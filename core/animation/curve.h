/* curve.h - evaluates tracks with only + - * / and square roots: the same bits on every machine. */
#ifndef HOB_CURVE_H
#define HOB_CURVE_H

#include "../model/model.h"

/* Value of a track. Before the first key the first value holds, after the last key the last.
 *
 * rotation   components are a quaternion: LINEAR takes the shorter arc at constant speed, CUBICSPLINE is
 *            normalised
 * out        [track->components]
 * Cost       O(log key_count) */
void hob_track_sample(const hob_track *track, bool rotation, float time, float *out);

/* Stride: floats in `values` from one key to the next. Value: a CUBICSPLINE key's follows its in-tangent. */
size_t hob_track_stride(const hob_track *track);
const float *hob_track_value(const hob_track *track, uint32_t key);

/* Constant-speed interpolation of unit quaternions along the shorter arc. `out` may alias. */
void hob_quat_slerp(const float a[4], const float b[4], double t, float out[4]);
/* Angle in radians, 0..pi, between the rotations of two unit quaternions. */
double hob_quat_angle(const float a[4], const float b[4]);
/* To unit length; a zero quaternion becomes the identity. */
void hob_quat_normalise(float q[4]);

#endif

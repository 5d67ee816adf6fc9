/* draw_view.h - the camera of a picture. */
#ifndef DRAW_VIEW_H
#define DRAW_VIEW_H

#include "draw_model.h"

/* Looks from outside, with everything that the instance draws in view. yaw 0 looks along -Z; degrees. Fills
 * all of *view except `pixels`. */
void hob_draw_view_outside(const hob_rt_instance *instance, float yaw_degrees, float pitch_degrees, int width,
						   int height, draw_view *view);
/* Like hob_draw_view_outside, for several instances: one camera with all of them in view. */
void hob_draw_view_around(const hob_rt_instance *const *instances, int count, float yaw_degrees,
						  float pitch_degrees, int width, int height, draw_view *view);
/* Looks from one point towards another, in metres, with the field of view of hob_draw_view_outside. */
void hob_draw_view_from(const hob_rt_instance *instance, const float eye[3], const float target[3], int width,
						int height, draw_view *view);
/* Looks through a camera of the model; false if no node has it. */
bool hob_draw_view_camera(const hob_rt_instance *instance, uint32_t index, int width, int height,
						  draw_view *view);

#endif

/* draw_view.h - where a picture is taken from. */
#ifndef DRAW_VIEW_H
#define DRAW_VIEW_H

#include "draw_model.h"

/* From outside, so that everything that the instance draws is in the picture: yaw 0 looks along -Z, degrees. Fills all of
 * *view but `pixels`. */
void hob_draw_view_outside(const hob_rt_instance *instance, float yaw_degrees, float pitch_degrees, int width,
						   int height, draw_view *view);
/* The same with everything in the picture that any of the instances draws: one camera for several models. */
void hob_draw_view_around(const hob_rt_instance *const *instances, int count, float yaw_degrees,
						  float pitch_degrees, int width, int height, draw_view *view);
/* From a place towards another, in metres, with the field of view of hob_draw_view_outside. */
void hob_draw_view_from(const hob_rt_instance *instance, const float eye[3], const float target[3], int width,
						int height, draw_view *view);
/* Through a camera of the model; false when no node has it. */
bool hob_draw_view_camera(const hob_rt_instance *instance, uint32_t index, int width, int height,
						  draw_view *view);

#endif

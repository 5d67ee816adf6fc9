/* draw_model.h - a cooked model on the GPU. */
#ifndef DRAW_MODEL_H
#define DRAW_MODEL_H

#include "../hob_runtime.h"
#include "draw_environment.h"

typedef struct draw_model draw_model;

typedef struct draw_view {
	float view_projection[16], eye[3];
	float pixels_per_radian; /* viewport height / (2 tan(fov / 2)) */
	float pixels;			 /* largest visible error of a level of detail */
} draw_view;

typedef struct draw_counts {
	unsigned draws, culled, triangles;
} draw_counts;

/* Uploads vertices, indices and textures (which `find` provides). NULL if a shader does not compile. */
draw_model *hob_draw_model_open(const hob_rt_asset *asset, draw_find find, void *user);
/* Frees it here and on the GPU: the context must be current. NULL is allowed. */
void hob_draw_model_close(draw_model *model);
/* Sets the environment, which must outlive the next draws; NULL: the initial lamp and sky. */
void hob_draw_model_light(draw_model *model, const draw_environment *environment);
/* Skips the draws whose element of [draw_count] is 0; the array must outlive the next draws. NULL: draws all,
 * as initially. */
void hob_draw_model_only(draw_model *model, const unsigned char *draws);
/* Draws an instance in the state of its last hob_rt_update: opaque draws, then blended ones from back to
 * front. */
draw_counts hob_draw_model_draw(draw_model *model, hob_rt_instance *instance, const draw_view *view);

#endif

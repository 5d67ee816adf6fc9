/* draw_environment.h - an environment for shaders: a cooked environment map (schema/FORMATS.md), or a
 * room. */
#ifndef DRAW_ENVIRONMENT_H
#define DRAW_ENVIRONMENT_H

#include "draw_textures.h"

typedef struct draw_environment {
	GLuint cube;		  /* level r (2 - r) * blurs is for roughness r */
	GLuint scatter;		  /* RG by cosine to the eye and roughness: scale and bias of f0 */
	uint32_t blurs;		  /* the last level */
	float irradiance[27]; /* R, G, B of nine coefficients, as in the file */
	float lamp;			  /* strength of the additional lamp */
	bool neutral;		  /* Khronos' neutral tone mapping, instead of none */
} draw_environment;

/* asset    an environment map's, whose image 0 `find` provides
 * Prints the reason and returns false if the image is not a cube that this driver can read. */
bool hob_draw_environment_open(const hob_rt_asset *asset, draw_find find, void *user, draw_environment *out);
/* Initial lighting of the dashboard's viewer: three's RoomEnvironment, blurred, and a lamp. */
void hob_draw_environment_room(draw_environment *out);
/* All zero is allowed. */
void hob_draw_environment_close(draw_environment *environment);

#endif

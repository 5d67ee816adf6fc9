#include "draw_environment.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCATTER = 32, HALVES = 256 };

static float smith(float along, float a2)
{
	return sqrtf(along * along * (1 - a2) + a2);
}

/* The second factor of the split sum (environment_map.h): the reflection of white surroundings at one angle, over half
 * vectors as dense as GGX has them. */
static void sum_scatter(float nv, float roughness, float out[2])
{
	float a2 = roughness * roughness * roughness * roughness, side = sqrtf(1 - nv * nv);
	out[0] = out[1] = 0;
	for (int i = 0; i < HALVES; i++) {
		float u = ((float)i + 0.5f) / HALVES, turn = 2.39996323f * (float)i; /* the golden angle */
		float nh = sqrtf((1 - u) / (1 + (a2 - 1) * u)), across = sqrtf(fmaxf(1 - nh * nh, 0));
		float vh = side * across * cosf(turn) + nv * nh, nl = 2 * vh * nh - nv;
		if (nl <= 0 || vh <= 0)
			continue;
		float seen = 2 * nl * vh / (nh * (nl * smith(nv, a2) + nv * smith(nl, a2)));
		float fresnel = powf(1 - vh, 5);
		out[0] += (1 - fresnel) * seen / HALVES;
		out[1] += fresnel * seen / HALVES;
	}
}

static GLuint make_scatter(void)
{
	float values[SCATTER][SCATTER][2];
	GLuint texture;
	for (int y = 0; y < SCATTER; y++)
		for (int x = 0; x < SCATTER; x++)
			sum_scatter(((float)x + 0.5f) / SCATTER, ((float)y + 0.5f) / SCATTER, values[y][x]);
	glGenTextures(1, &texture);
	glBindTexture(GL_TEXTURE_2D, texture);
	glTexImage2D(GL_TEXTURE_2D, 0, GL_RG16F, SCATTER, SCATTER, 0, GL_RG, GL_FLOAT, values);
	glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_LINEAR);
	glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
	glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
	return texture;
}

bool hob_draw_environment_open(const hob_rt_asset *asset, draw_find find, void *user, draw_environment *out)
{
	draw_environment made;
	memset(&made, 0, sizeof made);
	hob_rt_blob file = {NULL, 0};
	if (asset->image_count == 1)
		file = find(user, asset, 0);
	made.cube = hob_draw_cube_load(file, &made.blurs, made.irradiance);
	free((void *)(uintptr_t)file.data);
	if (!made.cube) {
		fprintf(stderr,
				"draw: no environment map: its picture is not there, or not a cube that this driver reads\n");
		return false;
	}
	made.scatter = make_scatter();
	*out = made;
	return true;
}

void hob_draw_environment_close(draw_environment *environment)
{
	const GLuint textures[] = {environment->cube, environment->scatter};
	glDeleteTextures(2, textures);
}

#include "draw_environment.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCATTER = 32, HALVES = 256, ROOM = 16 };

static float smith(float along, float a2)
{
	return sqrtf(along * along * (1 - a2) + a2);
}

/* The second factor of the split sum (environment_map.h): the reflection of a white environment at one angle,
 * averaged over half vectors that are distributed as GGX. */
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

/* Half of the radiance by direction in three's RoomEnvironment, as in web/viewer/stage.js: nine coefficients
 * of spherical harmonics, summed over 100,000 rays. */
static const float room[9] = {1.8740f, 0.8605f, 0.7955f,  0.1315f, 0.1005f,
							  0.5220f, 0.6000f, -0.1695f, -0.3135f};

static void direction_of(int face, float s, float t, float d[3])
{
	const float all[6][3] = {{1, -t, -s}, {-1, -t, s}, {s, 1, t}, {s, -1, -t}, {s, -t, 1}, {-s, -t, -1}};
	float length = sqrtf(1 + s * s + t * t);
	for (int k = 0; k < 3; k++)
		d[k] = all[face][k] / length;
}

static float room_light(const float d[3])
{
	float x = d[0], y = d[1], z = d[2];
	float sum = 0.282095f * room[0] + 0.488603f * (room[1] * y + room[2] * z + room[3] * x);
	sum += 1.092548f * (room[4] * x * y + room[5] * y * z + room[7] * x * z);
	return sum + 0.315392f * room[6] * (3 * z * z - 1) + 0.546274f * room[8] * (x * x - y * y);
}

void hob_draw_environment_room(draw_environment *out)
{
	static const float pi = 3.14159265f;
	float d[3];
	memset(out, 0, sizeof *out);
	glGenTextures(1, &out->cube);
	glBindTexture(GL_TEXTURE_CUBE_MAP, out->cube);
	for (int face = 0; face < 6; face++) {
		float light[ROOM][ROOM][4] = {{{0}}};
		for (int y = 0; y < ROOM; y++)
			for (int x = 0; x < ROOM; x++) {
				direction_of(face, ((float)x * 2 + 1) / ROOM - 1, ((float)y * 2 + 1) / ROOM - 1, d);
				light[y][x][0] = light[y][x][1] = light[y][x][2] = fmaxf(room_light(d), 0);
			}
		glTexImage2D(GL_TEXTURE_CUBE_MAP_POSITIVE_X + (GLenum)face, 0, GL_RGBA16F, ROOM, ROOM, 0, GL_RGBA,
					 GL_FLOAT, light);
	}
	glTexParameteri(GL_TEXTURE_CUBE_MAP, GL_TEXTURE_MIN_FILTER, GL_LINEAR);
	/* Convolution with the cosine lobe of a matte surface: Ramamoorthi and Hanrahan 2001. */
	for (int i = 0; i < 27; i++)
		out->irradiance[i] = room[i / 3] * (i < 3 ? pi : i < 12 ? 2 * pi / 3 : pi / 4);
	out->scatter = make_scatter();
	out->lamp = 1.5f;
	out->neutral = true;
}

void hob_draw_environment_close(draw_environment *environment)
{
	const GLuint textures[] = {environment->cube, environment->scatter};
	glDeleteTextures(2, textures);
}

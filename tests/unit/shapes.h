/* shapes.h - small meshes and random numbers for the tests of mesh, scene and material. */
#ifndef HOB_TEST_SHAPES_H
#define HOB_TEST_SHAPES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "core/model/model.h"

/* xorshift64*: the same numbers on every machine. */
static inline uint32_t shape_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return (uint32_t)(*state * 0x2545F4914F6CDD1Dull >> 32);
}

/* [-1, 1] */
static inline float shape_random_float(uint64_t *state)
{
	return (float)(shape_random(state) >> 8) / 8388608.0f - 1;
}

static inline void *shape_alloc(hob_arena *arena, size_t count, size_t size)
{
	void *memory = hob_arena_array(arena, count, size, 16);
	assert_non_null(memory);
	return memory;
}

static inline hob_mesh shape_mesh(hob_arena *arena, uint32_t vertex_count, uint32_t index_count)
{
	hob_mesh mesh = {.name = HOB_STR("shape"), .material = HOB_NONE};
	mesh.vertex_count = vertex_count;
	mesh.index_count = index_count;
	mesh.indices = shape_alloc(arena, index_count, sizeof(uint32_t));
	mesh.position = shape_alloc(arena, vertex_count, 12);
	return mesh;
}

/* A unit square in XZ of n x n cells facing +Y, rippled by `height`; with normals and uv on request. */
static inline hob_mesh shape_grid(hob_arena *arena, uint32_t n, float height, bool normals, bool uvs)
{
	uint32_t side = n + 1;
	hob_mesh mesh = shape_mesh(arena, side * side, 6 * n * n);
	if (normals)
		mesh.normal = shape_alloc(arena, mesh.vertex_count, 12);
	if (uvs)
		mesh.uv[0] = shape_alloc(arena, mesh.vertex_count, 8);
	for (uint32_t y = 0, v = 0; y < side; y++)
		for (uint32_t x = 0; x < side; x++, v++) {
			float s = (float)x / (float)n, t = (float)y / (float)n;
			mesh.position[3 * v] = s;
			mesh.position[3 * v + 1] = height * sinf(9 * s) * cosf(7 * t);
			mesh.position[3 * v + 2] = t;
			if (normals)
				mesh.normal[3 * v + 1] = 1;
			if (uvs)
				mesh.uv[0][2 * v] = s, mesh.uv[0][2 * v + 1] = t;
		}
	for (uint32_t y = 0, i = 0; y < n; y++)
		for (uint32_t x = 0; x < n; x++, i += 6) {
			uint32_t a = y * side + x, b = a + 1, c = a + side, d = c + 1;
			uint32_t corners[6] = {a, c, b, b, c, d};
			memcpy(mesh.indices + i, corners, sizeof corners);
		}
	return mesh;
}

/* A closed ball of radius 1 with poles and a seam at u = 0: its first and last column differ only in uv. */
static inline hob_mesh shape_ball(hob_arena *arena, uint32_t slices, uint32_t stacks)
{
	uint32_t side = slices + 1;
	hob_mesh mesh = shape_mesh(arena, side * (stacks + 1), 6 * slices * stacks);
	mesh.normal = shape_alloc(arena, mesh.vertex_count, 12);
	mesh.uv[0] = shape_alloc(arena, mesh.vertex_count, 8);
	for (uint32_t y = 0, v = 0; y <= stacks; y++)
		for (uint32_t x = 0; x < side; x++, v++) {
			float theta = 3.14159265f * (float)y / (float)stacks;
			float phi = 6.2831853f * (float)(x % slices) / (float)slices;
			float ring = y == 0 || y == stacks ? 0 : sinf(theta);
			float p[3] = {ring * cosf(phi), y == 0 ? 1 : y == stacks ? -1 : cosf(theta), -ring * sinf(phi)};
			memcpy(mesh.position + 3 * v, p, sizeof p);
			memcpy(mesh.normal + 3 * v, p, sizeof p);
			mesh.uv[0][2 * v] = (float)x / (float)slices;
			mesh.uv[0][2 * v + 1] = (float)y / (float)stacks;
		}
	for (uint32_t y = 0, i = 0; y < stacks; y++)
		for (uint32_t x = 0; x < slices; x++, i += 6) {
			uint32_t a = y * side + x, b = a + 1, c = a + side, d = c + 1;
			uint32_t corners[6] = {a, c, b, b, c, d};
			memcpy(mesh.indices + i, corners, sizeof corners);
		}
	return mesh;
}

/* Loose squares of random position and direction: two triangles each, nothing shared between squares. */
static inline hob_mesh shape_leaves(hob_arena *arena, uint32_t count)
{
	hob_mesh mesh = shape_mesh(arena, 4 * count, 6 * count);
	uint64_t seed = 7;
	for (uint32_t i = 0; i < count; i++) {
		float at[3], u[3], w[3];
		for (int k = 0; k < 3; k++) {
			at[k] = shape_random_float(&seed);
			u[k] = 0.02f * shape_random_float(&seed);
			w[k] = 0.02f * shape_random_float(&seed);
		}
		for (uint32_t c = 0; c < 4; c++)
			for (uint32_t k = 0; k < 3; k++)
				mesh.position[12 * i + 3 * c + k] =
					at[k] + (c == 1 || c == 2 ? u[k] : 0) + (c >= 2 ? w[k] : 0);
		uint32_t corners[6] = {0, 1, 2, 0, 2, 3};
		for (uint32_t c = 0; c < 6; c++)
			mesh.indices[6 * i + c] = 4 * i + corners[c];
	}
	return mesh;
}

#endif

#include "mesh_cut.h"
#include "mesh_bounds.h"
#include "vec3.h"

enum { CELL_BITS = 7 };

static uint32_t cell_of(const float *position, const float low[3], const double scale[3])
{
	uint32_t key = 0;
	for (int k = 0; k < 3; k++)
		key |= hob_spread_bits((uint32_t)(((double)position[k] - (double)low[k]) * scale[k])) << k;
	return key;
}

void hob_mesh_cut(const float *positions, uint32_t vertex_count, const uint32_t *indices,
				  uint32_t index_count, uint32_t count, hob_arena *scratch, uint8_t *of)
{
	uint32_t triangles = index_count / 3;
	hob_arena_mark mark = hob_arena_save(scratch);
	uint32_t *before = HOB_NEW(scratch, uint32_t, (1u << 3 * CELL_BITS) + 1);
	float low[3], high[3];
	double side[3], scale[3];
	hob_bounds_box(positions, vertex_count, low, high);
	hob_bounds_sides(low, high, side);
	for (int k = 0; k < 3; k++)
		scale[k] = side[k] > 0 ? ((1 << CELL_BITS) - 0.5) / side[k] : 0;
	for (size_t t = 0; t < triangles; t++)
		before[cell_of(positions + 3 * (size_t)indices[3 * t], low, scale) + 1]++;
	for (uint32_t cell = 0; cell < 1u << 3 * CELL_BITS; cell++)
		before[cell + 1] += before[cell];
	for (size_t t = 0; t < triangles; t++) {
		uint32_t cell = cell_of(positions + 3 * (size_t)indices[3 * t], low, scale);
		of[t] = (uint8_t)((uint64_t)before[cell] * count / triangles);
	}
	hob_arena_restore(scratch, mark);
}

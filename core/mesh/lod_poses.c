#include "lod_poses.h"

enum { MOST_PLACES = 4 << 20 }; /* in all poses together */

static hob_vec3 morphed(const hob_mesh *m, const float *weights, uint32_t count, uint32_t v)
{
	hob_vec3 p = hob_vec3_load(m->position + 3 * (size_t)v);
	for (uint32_t t = 0; t < count && t < m->target_count; t++)
		if (m->targets[t].position)
			p = hob_vec3_add(
				p, hob_vec3_scale(hob_vec3_load(m->targets[t].position + 3 * (size_t)v), (double)weights[t]));
	return p;
}

/* Joints beyond the skin's count are ignored, as in the runtime. */
static hob_vec3 skinned(const hob_mesh *m, const float *matrices, uint32_t joint_count, uint32_t v,
						hob_vec3 p)
{
	double blend[12] = {0};
	for (uint32_t k = 0; k < m->influence_count; k++) {
		size_t at = (size_t)m->influence_count * v + k;
		if (!(m->weights[at] > 0) || m->joints[at] >= joint_count)
			continue;
		const float *matrix = matrices + 16 * (size_t)m->joints[at];
		double weight = (double)m->weights[at];
		for (int column = 0; column < 4; column++)
			for (int row = 0; row < 3; row++)
				blend[3 * column + row] += weight * (double)matrix[4 * column + row];
	}
	return (hob_vec3){blend[0] * p.x + blend[3] * p.y + blend[6] * p.z + blend[9],
					  blend[1] * p.x + blend[4] * p.y + blend[7] * p.z + blend[10],
					  blend[2] * p.x + blend[5] * p.y + blend[8] * p.z + blend[11]};
}

/* Moves `count` vertices; false if one leaves the range of float. */
static bool pose(const hob_mesh *mesh, const hob_mesh_poses *poses, uint32_t index, const uint32_t *vertex,
				 uint32_t count, float *out)
{
	const float *matrices = poses->matrices + 16 * (size_t)poses->joint_count * index;
	const float *weights = poses->weights + (size_t)poses->target_count * index;
	bool finite = true;
	for (uint32_t i = 0; i < count; i++) {
		hob_vec3 p = morphed(mesh, weights, poses->target_count, vertex[i]);
		float *to = out + 3 * (size_t)i;
		hob_vec3_store(to, skinned(mesh, matrices, poses->joint_count, vertex[i], p));
		finite = finite && isfinite(to[0]) && isfinite(to[1]) && isfinite(to[2]);
	}
	return finite;
}

static bool shrinks(const float *from, const float *to, const uint32_t *indices, uint32_t index_count)
{
	uint32_t small = 0;
	for (uint32_t i = 0; i < index_count; i += 3) {
		double before = 0, after = 0;
		for (uint32_t k = 0; k < 3; k++) {
			uint32_t a = indices[i + k], b = indices[i + (k == 2 ? 0 : k + 1)];
			before += hob_vec3_between(from + 3 * (size_t)a, from + 3 * (size_t)b);
			after += hob_vec3_between(to + 3 * (size_t)a, to + 3 * (size_t)b);
		}
		small += after < before / 4;
	}
	return small > index_count / 3 / 100;
}

const float *hob_lod_poses_shape(const hob_mesh *mesh, const hob_mesh_poses *poses, const uint32_t *first,
								 const uint32_t *indices, uint32_t index_count, hob_arena *arena)
{
	if (!poses || poses->count == 0 || mesh->influence_count == 0)
		return mesh->position;
	float *positions = HOB_NEW(arena, float, 3 * (size_t)mesh->vertex_count);
	for (uint32_t i = 0; i < poses->count; i++)
		if (pose(mesh, poses, i, first, mesh->vertex_count, positions) &&
			!shrinks(mesh->position, positions, indices, index_count))
			return positions;
	return mesh->position;
}

hob_lod_posed hob_lod_poses_begin(const hob_lod_full *full, const hob_mesh *mesh, const hob_mesh_poses *poses,
								  hob_arena *arena)
{
	hob_lod_posed posed = {0};
	if (!poses || poses->count == 0 || full->surface.triangle_count == 0 || mesh->influence_count == 0)
		return posed;
	uint32_t most = MOST_PLACES / full->place_count;
	most = most > poses->count ? poses->count : most > 1 ? most : 1;
	posed.positions = HOB_NEW(arena, float *, most);
	for (uint32_t i = 0; i < most; i++) {
		float *positions = HOB_NEW(arena, float, 3 * (size_t)full->place_count);
		if (pose(mesh, poses, i, full->vertex, full->place_count, positions))
			posed.positions[posed.count++] = positions;
	}
	return posed;
}

#include "flat_normals.h"

#include <math.h>

enum { LATEST = 16 };

typedef struct maker {
	const hob_pack_geometry *geometry;
	hob_pack_attribute positions;
	hob_flat_vertices out;
	uint32_t *latest; /* [vertices of the mesh] the newest output vertex for it, HOB_NONE: none */
	uint32_t *before; /* [out.count] the previous output vertex of the same mesh vertex */
} maker;

static void plane_normal(const maker *m, const uint32_t corner[3], float out[3])
{
	float p[3][4];
	double u[3], v[3], n[3];
	for (int k = 0; k < 3; k++)
		hob_pack_attribute_get(&m->positions, corner[k], p[k]);
	for (int k = 0; k < 3; k++)
		u[k] = (double)p[1][k] - (double)p[0][k], v[k] = (double)p[2][k] - (double)p[0][k];
	for (int k = 0; k < 3; k++)
		n[k] = u[(k + 1) % 3] * v[(k + 2) % 3] - u[(k + 2) % 3] * v[(k + 1) % 3];
	double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
	for (int k = 0; k < 3; k++)
		out[k] = length > 0 ? (float)(n[k] / length) : k == 1 ? 1.0f : 0.0f;
}

static uint32_t vertex_for(maker *m, uint32_t vertex, const float normal[3])
{
	uint32_t at = m->latest[vertex];
	for (int tries = 0; at != HOB_NONE && tries < LATEST; tries++, at = m->before[at])
		if (memcmp(m->out.normals + (size_t)at * 3, normal, 3 * sizeof *normal) == 0)
			return at;
	at = m->out.count++;
	m->out.from[at] = vertex;
	memcpy(m->out.normals + (size_t)at * 3, normal, 3 * sizeof *normal);
	m->before[at] = m->latest[vertex];
	m->latest[vertex] = at;
	return at;
}

bool hob_flat_vertices_make(const hob_pack_geometry *geometry, const hob_pk_mesh *mesh, uint32_t levels,
							hob_arena *arena, hob_flat_vertices *out, hob_error *err)
{
	maker m = {.geometry = geometry};
	uint64_t corners = 0;
	for (uint32_t l = 0; l < levels; l++)
		corners += HOB_PACK_AT(hob_pk_lod, geometry->lods, mesh->lod_first + l)->index_count;
	if (corners >= HOB_NONE)
		return hob_fail(err, LIMIT, "%llu corners of a flat mesh are too many for vertices of their own",
						(unsigned long long)corners);
	if (!HOB_MAKE(arena, &m.out.from, corners, "normals of flat faces", err) ||
		!HOB_MAKE(arena, &m.out.normals, 3 * corners, "normals of flat faces", err) ||
		!HOB_MAKE(arena, &m.out.indices, corners, "normals of flat faces", err) ||
		!HOB_MAKE(arena, &m.before, corners, "normals of flat faces", err) ||
		!HOB_MAKE(arena, &m.latest, mesh->vertex_count, "normals of flat faces", err))
		return false;
	memset(m.latest, 0xFF, mesh->vertex_count * sizeof *m.latest);
	if (corners > 0)
		hob_pack_attribute_find(geometry, mesh, HOB_PK_SEMANTIC_POSITION, 0, &m.positions);
	uint32_t *to = m.out.indices;
	for (uint32_t l = 0; l < levels; l++) {
		const hob_pk_lod *lod = HOB_PACK_AT(hob_pk_lod, geometry->lods, mesh->lod_first + l);
		for (uint32_t i = 0; i < lod->index_count; i += 3) {
			uint32_t corner[3];
			float normal[3];
			for (uint32_t k = 0; k < 3; k++)
				corner[k] = hob_pack_index(geometry, lod, i + k);
			plane_normal(&m, corner, normal);
			for (uint32_t k = 0; k < 3; k++)
				*to++ = vertex_for(&m, corner[k], normal);
		}
	}
	*out = m.out;
	return true;
}

#include "rt_private.h"

#include <math.h>
#include <string.h>

bool hob_rt_mesh_clusters(const hob_rt_asset *asset, uint32_t mesh, hob_rt_clusters *out)
{
	const rt_asset *a = RT_ASSET(asset);
	memset(out, 0, sizeof *out);
	if (a->cluster_sets.count == 0 || asset->meshes[mesh].lod_count == 0)
		return false;
	uint32_t lod = (uint32_t)(asset->meshes[mesh].lods - a->lods);
	uint32_t at = hob_rt_search(a->cluster_sets, offsetof(hob_pk_cluster_set, lod_first), lod);
	if (at == a->cluster_sets.count)
		return false;
	const hob_pk_cluster_set *set = RT_AT(hob_pk_cluster_set, a->cluster_sets, at);
	if (set->lod_first != lod || set->group_count == 0 || set->cluster_count == 0)
		return false;
	out->groups = RT_AT(hob_pk_cluster_group, a->cluster_groups, set->group_first);
	out->sources = RT_AT(uint32_t, a->cluster_sources, set->cluster_first);
	out->meshlets = RT_AT(hob_pk_meshlet, a->meshlets, set->meshlet_first);
	out->group_count = set->group_count;
	out->cluster_count = set->cluster_count;
	return true;
}

/* Computes the eye in the mesh's space, and the ratio of the smallest to the largest scale. False if the
 * node's scale is singular. */
static bool to_mesh(const float m[16], const float eye[3], double out[3], double *evenness)
{
	double cofactor[9], d[3], determinant = 0, least = HUGE_VAL, most = 0;
	for (int i = 0; i < 3; i++) {
		const float *u = m + 4 * ((i + 1) % 3), *v = m + 4 * ((i + 2) % 3), *c = m + 4 * i;
		double length = sqrt((double)c[0] * c[0] + (double)c[1] * c[1] + (double)c[2] * c[2]);
		cofactor[3 * i] = (double)u[1] * v[2] - (double)u[2] * v[1];
		cofactor[3 * i + 1] = (double)u[2] * v[0] - (double)u[0] * v[2];
		cofactor[3 * i + 2] = (double)u[0] * v[1] - (double)u[1] * v[0];
		least = length < least ? length : least;
		most = length > most ? length : most;
		d[i] = (double)eye[i] - (double)m[12 + i];
	}
	for (int k = 0; k < 3; k++)
		determinant += (double)m[k] * cofactor[k];
	if (!(fabs(determinant) > 0) || !(most > 0))
		return false;
	for (int i = 0; i < 3; i++)
		out[i] =
			(cofactor[3 * i] * d[0] + cofactor[3 * i + 1] * d[1] + cofactor[3 * i + 2] * d[2]) / determinant;
	*evenness = least / most;
	return true;
}

uint32_t hob_rt_choose_clusters(const hob_rt_clusters *clusters, const float global[16], const float eye[3],
								float pixels_per_radian, float pixels, uint8_t *good, uint32_t *out)
{
	double at[3] = {0, 0, 0}, evenness = 0, tolerance = 0;
	if (to_mesh(global, eye, at, &evenness) && pixels_per_radian > 0)
		tolerance = (double)pixels / (double)pixels_per_radian * evenness;
	uint32_t count = 0;
	for (uint32_t g = 0; g < clusters->group_count; g++) {
		const hob_pk_cluster_group *group = &clusters->groups[g];
		double x = (double)group->sphere[0] - at[0], y = (double)group->sphere[1] - at[1],
			   z = (double)group->sphere[2] - at[2];
		double distance = sqrt(x * x + y * y + z * z) - (double)group->sphere[3];
		good[g] = (double)group->error <= tolerance * (distance > 0 ? distance : 0);
	}
	good[0] = 0;
	for (uint32_t g = 0; g < clusters->group_count; g++) {
		const hob_pk_cluster_group *group = &clusters->groups[g];
		for (uint32_t i = good[g] ? group->cluster_count : 0; i < group->cluster_count; i++) {
			uint32_t cluster = group->cluster_first + i, source = clusters->sources[cluster];
			out[count] = cluster;
			count += source == HOB_RT_NONE || good[source];
		}
	}
	return count;
}

uint32_t hob_rt_cluster_indices(const hob_rt_asset *asset, const hob_rt_clusters *clusters, uint32_t cluster,
								uint32_t *out)
{
	const rt_asset *a = RT_ASSET(asset);
	const hob_pk_meshlet *m = &clusters->meshlets[cluster];
	const uint32_t *vertices = RT_AT(uint32_t, a->meshlet_vertices, m->vertex_offset);
	const uint8_t *corners = a->meshlet_triangles.data + m->triangle_offset;
	for (uint32_t i = 0; i < m->triangle_count * 3u; i++)
		out[i] = vertices[corners[i]];
	return m->triangle_count * 3u;
}

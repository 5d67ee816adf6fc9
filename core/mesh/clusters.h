/* clusters.h - a hierarchy of clusters of triangles, from which a renderer takes as many triangles as each
 * part of a mesh needs.
 *
 * The mesh is cut into clusters (meshlets.h). Neighbouring clusters make a group, which is simplified as one
 * to half its triangles and cut into clusters again, and so on until one cluster is left or nothing shrinks
 * any more without losing whole pieces. Vertices that several groups of a round share stay where they are, so
 * either side of such a border can be drawn coarse or fine beside the other: there is no crack. Borders lie
 * elsewhere in the next round, so no vertex stays locked for long.
 *
 * Each cluster belongs to one group, and its source is the finer group that was simplified to it; clusters of
 * the full mesh have none. For a cut, decide for each group whether its simplification is good enough; if it
 * is, those of its clusters' sources must be, too. Draw a cluster if its own group is not good enough, but
 * its source is, or it has none. Each point of the surface is then drawn once.
 *
 * Group 0 has the coarsest clusters. It was not simplified, and is never good enough. */
#ifndef HOB_CLUSTERS_H
#define HOB_CLUSTERS_H

#include "meshlets.h"

enum { HOB_CLUSTERS_LEAST = 5000 }; /* triangles that are worth a hierarchy */

typedef struct hob_clusters {
	hob_meshlets meshlets; /* in and out: the clusters, by group, after those that are there */
	uint32_t *sources;	   /* [clusters] a later group, or HOB_NONE for clusters of the full mesh */
	uint32_t group_count;
	hob_baked_cluster_group *groups;
} hob_clusters;

/* Builds the hierarchy.
 *
 * mesh         triangles, finite positions; its indices are not read
 * indices      [index_count] the full mesh; index_count a multiple of 3, at least 3. Clusters have no other
 *              vertices. Vertices at one place that differ in an attribute are a seam: it is collapsed along
 *              itself.
 * out          arrays in `result`. A group's error is the largest distance of its simplification from the
 *              full mesh: the largest error of its sources, plus the distance that lod_error.h measures
 *              between the group and its simplification. Its sphere contains its clusters and the spheres of
 *              their sources; its error is larger than theirs, unless both are 0.
 * scratch      restored before returning
 * Cost         2.5 to 3 microseconds a triangle and about 90 bytes, half a microsecond more with hard edges;
 *              the clusters have twice the triangles of the mesh.
 * Source       Cignoni et al. 2005 (batched multi-triangulation); Karis, Stubbe, Wihlidal 2021 (Nanite). */
void hob_clusters_build(const hob_mesh *mesh, const uint32_t *indices, uint32_t index_count,
						hob_arena *result, hob_arena *scratch, hob_clusters *out);

#endif

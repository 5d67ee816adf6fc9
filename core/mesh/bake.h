/* bake.h - turns one source mesh into GPU data: the entry point of core/mesh.
 *
 * In order: influences reduced, missing normals made, equal vertices welded, tangents made if needed,
 * triangles ordered, levels of detail, vertices ordered coarsest level first, meshlets, clusters, bounds,
 * streams. */
#ifndef HOB_MESH_BAKE_H
#define HOB_MESH_BAKE_H

#include "streams.h"

/* All zero: one level, float32, no meshlets, no clusters, four influences, best order, flat faces without
 * normals. */
typedef struct hob_mesh_options {
	/* fast: one level; triangles keep the source's order, unless they are to be encoded */
	bool preview;
	/* levels at most, the full one included; 0 and 1: no further ones; at most HOB_MAX_LODS */
	uint32_t lod_max;
	float lod_ratio; /* ratio of triangles from one level to the next; 0 means 0.5 */
	/* largest error of a level, relative to the mesh's longest side; 0 allows only collapses without error */
	float lod_error;
	bool lod_lock_border;
	bool encoded;		   /* order triangles for small encoded files instead of against overdraw */
	hob_vertices vertices; /* formats and errors: streams.h */
	hob_ranges ranges;	   /* of the smaller kind of vertices */
	bool meshlets;
	/* build a hierarchy, if the mesh has HOB_CLUSTERS_LEAST triangles, no skin, no morph targets and no
	 * keep_order */
	bool clusters;
	/* For meshes without normals. A `flat` mesh stays without them (HOB_MESH_FLAT), unless one of these
	 * options is set or its morph targets change normals; other meshes get smooth normals. */
	bool bake_flat_normals; /* flat faces get vertices of their own */
	/* every such mesh gets smooth normals, with hard edges where faces differ by more than smooth_angle */
	bool smooth_by_angle;
	float smooth_angle;	 /* degrees, 0..180 */
	uint32_t influences; /* joints a vertex keeps: 4 or 8; 0 means 4 */
	bool keep_order;	 /* level 0 keeps the source's order of triangles, which blending makes visible */
	bool need_tangents;	 /* make them if missing: a material of the mesh has a normal map */
	/* With need_tangents: the coordinates that the normal map is sampled with, as rows of a matrix times
	 * those of tangent_uv_set; all zero means unchanged. Tangents follow them. */
	float tangent_mapping[4];
	uint32_t tangent_uv_set; /* a set that the mesh lacks counts as 0 */
	/* if there are no joints and morph targets, out->mesh keeps no vertex arrays, since the streams have the
	 * data */
	bool only_streams;
	/* of a skinned mesh: poses in which the levels' errors also hold; NULL: only in the bind pose */
	const hob_mesh_poses *poses;
	const hob_parallel *parallel; /* threads within a large mesh; NULL: the calling one */
} hob_mesh_options;

/* Bakes one mesh.
 *
 * source    must pass hob_model_check(); not modified. The result keeps references to its name and mappings
 *           only
 * result    owns all else that the result refers to
 * scratch   restored before returning
 * notes     receives repairs, dropped data and why levels ended early; may be NULL
 * Returns   baked.h; its skin is HOB_NONE: the scene decides on that (hob_scene_mesh_skins). Triangles
 *           with two corners at one place are gone, as are vertices that nothing uses; a mesh without indices
 *           keeps its vertices, for its bounds, and has one empty level.
 * Threads   Meshes are independent: run several at once, each with arenas of its own, largest first. A mesh
 *           that is larger than all others together is better run alone with `parallel`. The result is the
 *           same.
 * Cost      2 to 4 microseconds a triangle with levels, most of it for measuring their errors; 0.2 without.
 * Memory    scratch: about 60 bytes a vertex and 60 a triangle, more while tangents are made or meshlets
 *           built; in addition, meshoptimizer allocates up to 170 bytes a vertex. */
hob_baked_mesh hob_mesh_bake(const hob_mesh *source, const hob_mesh_options *options, hob_arena *result,
							 hob_arena *scratch, hob_notes *notes);

#endif

/* assimp_convert.h - the steps from aiScene to hob_model, in the order in which assimp.c calls them.
 *
 * Assimp's scene is foreign data: every index is checked, NaN and infinity are replaced, and dropped content
 * is noted. Nothing points into the aiScene afterwards. */
#ifndef HOB_ASSIMP_CONVERT_H
#define HOB_ASSIMP_CONVERT_H

#include "assimp_format.h"
#include "../../base/guard.h"
#include "../importer.h"
#include "../name_map.h"

#include <assimp/scene.h>

/* One aiNode, in depth-first pre-order. */
typedef struct hob_assimp_node {
	const struct aiNode *source;
	uint32_t parent; /* index in hob_assimp_scene.nodes; HOB_NONE for the root */
	uint32_t id;	 /* in hob_model.nodes */
	float local[16]; /* axes and unit applied */
	bool animated;
} hob_assimp_node;

typedef struct hob_assimp_scene {
	const hob_import_request *request;
	const hob_assimp_format *format;
	const struct aiScene *source;
	hob_model *model;
	float unit;		/* metres per unit; all lengths are multiplied by it */
	float axes[16]; /* rotation to Y up, applied above the root */
	bool turned;	/* `axes` is not the identity */
	hob_assimp_node *nodes;
	uint32_t node_count;
	hob_name_map by_name; /* aiNode name -> first index in nodes */
	/* [mNumMeshes + 1] first model mesh of each aiMesh: none, one, or one per topology */
	uint32_t *mesh_first;
	uint32_t *material_ids; /* [mNumMaterials] into model->materials, HOB_NONE when dropped */
} hob_assimp_scene;

/* Unit and axes from the format and the scene's metadata. */
void hob_assimp_space(hob_assimp_scene *scene);
/* Materials and pictures. Materials that no mesh uses and that Assimp made itself are dropped. */
void hob_assimp_materials(hob_assimp_scene *scene);
/* Vertices, indices and morph targets; joints are added with the skins. Polygons become triangles, and a mesh
 * of mixed faces becomes separate meshes of triangles, lines and points that share vertex arrays. */
void hob_assimp_meshes(hob_assimp_scene *scene);
/* Flattens the tree; cameras and lights that do not look along -Z get a child node with the rotation. */
void hob_assimp_nodes(hob_assimp_scene *scene);
/* One skin per group of meshes that share nodes; fills the meshes' joints and weights. */
void hob_assimp_skins(hob_assimp_scene *scene);
void hob_assimp_clips(hob_assimp_scene *scene);

/* Replaces the source's stem; no real source has this name. */
#define HOB_ASSIMP_STEM "hob source"

/* ---- helpers shared by the steps */

hob_str hob_assimp_str(const struct aiString *text); /* borrowed; bounded by its capacity */
/* A name for the model: cleaned, and empty if Hob or Assimp generated it. */
hob_str hob_assimp_name(hob_assimp_scene *scene, const struct aiString *text);
/* Whether the mesh is in the model and follows bones. */
bool hob_assimp_has_bones(const hob_assimp_scene *scene, unsigned mesh);
/* Column-major, translation times unit. False when an entry is not finite; `out` is then the identity. */
bool hob_assimp_matrix(const struct aiMatrix4x4 *from, float unit, float out[16]);

static inline float hob_assimp_finite(float value, float otherwise)
{
	return value - value == 0 ? value : otherwise;
}

#endif

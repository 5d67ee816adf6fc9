/* baked.h - the model after cooking and before writing: the output of core/mesh, core/scene, core/texture and
 * core/animation, which the writers of core/formats put into files. Ids are final: the packed and the classic
 * writer use the same mesh, material and node numbers. */
#ifndef HOB_BAKED_H
#define HOB_BAKED_H

#include "model.h"

enum { HOB_MAX_LODS = 16, HOB_MAX_ATTRIBUTES = 24, HOB_MAX_STREAMS = 3 };

typedef enum hob_semantic {
	HOB_SEMANTIC_POSITION,
	HOB_SEMANTIC_NORMAL,
	HOB_SEMANTIC_TANGENT,
	HOB_SEMANTIC_UV,
	HOB_SEMANTIC_COLOR,
	HOB_SEMANTIC_JOINTS,
	HOB_SEMANTIC_WEIGHTS
} hob_semantic;

typedef enum hob_encoding {
	HOB_ENCODING_PLAIN,		 /* as the VkFormat says */
	HOB_ENCODING_OCTAHEDRAL, /* 2 x snorm: unit vector, octahedral mapping */
	HOB_ENCODING_SCALED		 /* unorm, dequantised by the mesh's pos or uv scale and offset */
} hob_encoding;

typedef struct hob_baked_attribute {
	uint8_t semantic, set, components, encoding;
	uint16_t format; /* VkFormat number: 106 = R32G32B32_SFLOAT, 103 = R32G32_SFLOAT ... */
	uint16_t stream; /* which of the mesh's streams */
	uint32_t offset; /* bytes within the vertex of that stream */
} hob_baked_attribute;

typedef struct hob_baked_stream {
	uint32_t stride; /* bytes, a multiple of 4, 4..256 */
	uint8_t *data;	 /* [vertex_count][stride] */
} hob_baked_stream;

/* How far attributes of a level are from those of the full mesh (core/mesh/lod_points.h). */
typedef struct hob_attribute_error {
	float uv, color, weight;
} hob_attribute_error;

/* Sample poses of a skinned mesh, chosen by core/animation/skin_poses.h, used by core/mesh. */
typedef struct hob_mesh_poses {
	uint32_t count, joint_count, target_count;
	float *matrices; /* [count][joint_count][16] from bind space to the posed position */
	float *weights;	 /* [count][target_count] morph weights */
} hob_mesh_poses;

typedef struct hob_baked_lod {
	uint32_t index_first, index_count; /* in hob_baked_mesh.indices */
	uint32_t vertex_prefix;			   /* vertices [0, prefix) suffice for this LOD and all coarser ones */
	/* in the mesh's units; never less than a finer LOD's; 0 for LOD 0 */
	float error, mean_error;
	uint32_t meshlet_first, meshlet_count;
	hob_attribute_error attributes; /* never less than a finer LOD's; 0 for LOD 0 */
} hob_baked_lod;

typedef struct hob_baked_meshlet {
	float center[3], radius;
	int8_t cone_axis[3], cone_cutoff; /* as meshopt_Bounds */
	uint32_t vertex_offset;			  /* in meshlet_vertices */
	uint32_t triangle_offset;		  /* in meshlet_triangles, bytes */
	uint8_t vertex_count, triangle_count;
} hob_baked_meshlet;

/* A group of clusters that is simplified as one (core/mesh/clusters.h). Group 0 has error FLT_MAX. */
typedef struct hob_baked_cluster_group {
	float sphere[4], error;
	uint32_t cluster_first, cluster_count;
} hob_baked_cluster_group;

typedef enum hob_mesh_flag {
	HOB_MESH_SKINNED = 1,
	HOB_MESH_MORPHED = 2,
	HOB_MESH_QUANTIZED = 4,
	HOB_MESH_HAS_TANGENTS = 8,
	HOB_MESH_HAS_COLORS = 16,
	HOB_MESH_GENERATED_NORMALS = 32,
	HOB_MESH_GENERATED_TANGENTS = 64,
	HOB_MESH_LINES = 128,
	HOB_MESH_POINTS = 256,
	HOB_MESH_FLAT = 512
} hob_mesh_flag;

typedef struct hob_baked_mesh {
	hob_mesh mesh; /* names, material, and the float attributes in final vertex order (indices: LOD 0) */
	uint32_t flags;
	/* Vertices, indices, levels and meshlets belong to an earlier mesh, `copy_of`: pointers are shared, and
	 * files store them once. Name, material, variants, skin and morph targets are the mesh's own. */
	bool is_copy;
	uint32_t copy_of;
	uint32_t skin; /* first skin that a node pairs with this mesh, or HOB_NONE */
	uint32_t attribute_count, stream_count, lod_count, index_count, meshlet_count;
	hob_baked_attribute attributes[HOB_MAX_ATTRIBUTES];
	hob_baked_stream streams[HOB_MAX_STREAMS]; /* 0 positions, 1 the rest, 2 joints and weights */
	hob_baked_lod lods[HOB_MAX_LODS];
	uint32_t *indices; /* [index_count] LOD 0, LOD 1 ... back to back, mesh-local */
	hob_baked_meshlet *meshlets;
	uint32_t meshlet_vertex_count, meshlet_triangle_bytes;
	uint32_t *meshlet_vertices; /* mesh-local vertex ids */
	uint8_t *meshlet_triangles; /* 3 bytes a triangle; each meshlet's start is a multiple of 4 */
	/* The last cluster_count meshlets are clusters and belong to no level; group_count 0: there is no
	 * hierarchy. */
	uint32_t cluster_count, group_count;
	uint32_t *cluster_sources; /* [cluster_count] group it was simplified from, or HOB_NONE */
	hob_baked_cluster_group *groups;
	float aabb_min[3], aabb_max[3], sphere[4]; /* of all vertices used by LOD 0; empty mesh: zeros */
	float pos_offset[3], pos_scale;			   /* position = offset + scale * unorm; float32: 0 and 1 */
	float uv_offset[2], uv_scale[2];		   /* of the sets that are scaled */
	float uv_density;						   /* median of sqrt(uv area / area), 0 without uv */
} hob_baked_mesh;

/* ---- pictures ---- */

typedef enum hob_image_flag {
	HOB_IMAGE_SRGB = 1,
	HOB_IMAGE_OPACITY_PACKED = 2,
	HOB_IMAGE_PLACEHOLDER = 4, /* the source could not be read; a checkerboard replaces it */
	HOB_IMAGE_NORMAL_XY = 8,   /* two channels, z = sqrt(1 - x*x - y*y) */
	HOB_IMAGE_ORM = 16		   /* R occlusion, G roughness, B metallic */
} hob_image_flag;

/* Facts of the pixels of a model's picture (hob_textures_look_at). */
typedef enum hob_picture_fact {
	HOB_PICTURE_ALPHA = 1,	/* the file has an alpha channel */
	HOB_PICTURE_CLEAR = 2,	/* whose values differ */
	HOB_PICTURE_FLIPPED = 4 /* a normal map whose y points down */
} hob_picture_fact;

typedef enum hob_image_container { HOB_IMAGE_SOURCE_FILE, HOB_IMAGE_KTX2, HOB_IMAGE_PNG } hob_image_container;

typedef struct hob_baked_image {
	hob_str name; /* for people: the source's uri or name */
	uint16_t width, height, mips;
	uint32_t vk_format; /* 0: VK_FORMAT_UNDEFINED: see the container */
	uint32_t flags;
	hob_image_container container;
	uint64_t bytes;
	uint8_t cooked_sha256[32]; /* the blob to fetch */
	uint8_t source_sha256[32];
} hob_baked_image;

/* A picture that materials use, as it is in the source. */
typedef struct hob_baked_source {
	hob_str name, path; /* for people; below the root, empty: embedded */
	uint32_t width, height, image;
	const char *cut_by; /* the setting by which `image` has another size; NULL: none */
	uint8_t sha256[32];
} hob_baked_source;

typedef struct hob_baked_materials {
	uint32_t material_count, image_count, sampler_count, variant_count, source_count;
	hob_material *materials; /* slots refer to images and samplers here */
	hob_baked_image *images;
	hob_sampler *samplers;
	hob_str *variants;
	hob_baked_source *sources; /* those that can be read */
} hob_baked_materials;

/* ---- scene: structure of arrays ---- */

typedef struct hob_baked_hierarchy {
	/* the reference converter's record; -1: none */
	int32_t parent, first_child, next_sibling, last_sibling, level;
} hob_baked_hierarchy;

typedef struct hob_baked_link {
	uint32_t node, value;
} hob_baked_link;

typedef enum hob_node_flag {
	HOB_NODE_FROM_MATRIX = 1,
	HOB_NODE_SHEAR = 2,
	HOB_NODE_MIRRORED = 4,
	HOB_NODE_HIDDEN = 8
} hob_node_flag;

typedef struct hob_baked_trs {
	float t[3];
	uint32_t flags;
	float r[4];
	float s[3];
} hob_baked_trs;

typedef struct hob_baked_links {
	uint32_t count;
	hob_baked_link *items; /* sorted by node; a node has at most one link of a kind */
} hob_baked_links;

typedef enum hob_extra_kind {
	HOB_EXTRA_FILE,
	HOB_EXTRA_SCENE,
	HOB_EXTRA_NODE,
	HOB_EXTRA_MATERIAL,
	HOB_EXTRA_MESH,
	HOB_EXTRA_CAMERA,
	HOB_EXTRA_LIGHT,
	HOB_EXTRA_SKIN,
	HOB_EXTRA_CLIP
} hob_extra_kind;

/* The extras of one object; objects without any have no entry. */
typedef struct hob_baked_extra {
	hob_extra_kind kind;
	uint32_t index; /* of the scene, node or material; 0 for the file */
	hob_extras extras;
} hob_baked_extra;

/* Each source node is a node; each mesh of a node is a child node "<name>_Mesh_<i>" with identity transform,
 * before the node's own children. Depth-first pre-order. */
typedef struct hob_baked_scene {
	uint32_t node_count;
	hob_baked_hierarchy *hierarchy;
	uint32_t *subtree; /* [node_count] nodes in the subtree, itself included */
	hob_baked_trs *trs;
	float *local, *global;	 /* [node_count][16] */
	float *aabb;			 /* [node_count][6] world bounds of the subtree's meshes; min > max when none */
	hob_str *names;			 /* [node_count], may be empty */
	uint32_t *node_of_model; /* [hob_model.node_count] id of the model's node here */
	/* mesh and material links are on the mesh child nodes */
	hob_baked_links mesh_links, material_links, camera_links, light_links, skin_links;
	/* Source nodes with morph weights of their own: the link's value is the index of the first in
	 * morph_weights; there are as many as the node's meshes have targets. Other nodes take their mesh's
	 * default weights. */
	hob_baked_links weight_links;
	uint32_t morph_weight_count;
	float *morph_weights;
	uint32_t scene_count, scene_root_count, default_scene;
	hob_scene *scenes;
	uint32_t *scene_roots;
	uint32_t camera_count, light_count;
	hob_camera *cameras;
	hob_light *lights;
	uint32_t extra_count;
	hob_baked_extra *extras; /* sorted by kind, then index */
	hob_str *material_names; /* [material_count] for the classic file */
	uint32_t material_count;
} hob_baked_scene;

/* ---- animations: baked node ids, no duplicate or constant tracks ---- */

typedef struct hob_baked_animations {
	uint32_t clip_count, skin_count;
	hob_clip *clips;
	hob_skin *skins;
	/* [clip_count][2] seconds of the source's first and last key, also where those tracks were removed */
	float *ranges;
	float *skin_bounds; /* [clip_count][6] bounds of skinned meshes over the clip; min > max when none */
} hob_baked_animations;

#endif

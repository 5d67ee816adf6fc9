/* usd_build.h - shared by the files that turn a stage into a model (usd.c, usd_node.c, usd_xform.c,
 * usd_mesh.c ...). */
#ifndef HOB_USD_BUILD_H
#define HOB_USD_BUILD_H

#include "../image_set.h"
#include "usd_private.h"

/* A material and the primvars that it reads. */
typedef struct hob_usd_look {
	hob_str uv_names[HOB_UV_SETS];
	uint32_t uv_count;
	hob_str color_name; /* primvar used as base colour, or empty */
} hob_usd_look;

/* A node of a prim with an animated transform; inside an instancer a prim has several entries. `inner`: a
 * second node inside it for shear, else HOB_NONE. */
typedef struct hob_usd_moving {
	uint32_t prim, node, inner;
} hob_usd_moving;

/* A node animated by attributes of a prim: its size, its points, or its visibility. */
typedef struct hob_usd_follower {
	uint32_t prim, node;
	double id; /* the instance's id if the visibility of one instance is animated, else NaN */
} hob_usd_follower;

enum { HOB_USD_NESTED_INSTANCERS = 16 };

/* State that children inherit during traversal. */
typedef struct hob_usd_context {
	uint32_t node;		 /* parent in the model, or HOB_NONE */
	uint32_t instancers; /* number of enclosing instancers */
	bool unseen;		 /* the purpose is proxy or guide, unless a descendant overrides it */
	bool hidden;		 /* an ancestor is invisible at all times */
	bool late;			 /* built by hob_usd_build_late */
} hob_usd_context;

/* A prim to build after the others. */
typedef struct hob_usd_late {
	uint32_t prim;
	hob_usd_context context;
} hob_usd_late;

typedef struct hob_usd_build {
	hob_usd *u;
	hob_image_set images;
	hob_model model; /* arrays grow in scratch; finish() of usd.c copies them */
	uint32_t source_meshes;
	hob_usd_look *looks;	   /* [material_count] */
	hob_name_map material_map; /* inputs of a material -> its number */
	hob_name_map mesh_map;	   /* inputs of a mesh -> first entry in `shared` */
	hob_buf shared;			   /* pairs: first mesh, count */
	struct hob_usd_skeleton *skeletons;
	struct hob_usd_skinned *skinned; /* nodes whose meshes a skeleton may deform */
	uint32_t skeleton_count, skinned_count;
	struct hob_usd_knot *knots; /* the in-between targets of all meshes */
	uint32_t knot_count;
	hob_usd_moving *moving;
	uint32_t moving_count;
	hob_usd_late *late;
	uint32_t late_count;
	/* shapes with animated size; surfaces with animated points; prims with animated visibility */
	hob_usd_follower *sized, *cached, *blinking;
	uint32_t sized_count, cached_count, blinking_count;
	hob_clip clip;									/* grows in scratch */
	uint32_t instancers[HOB_USD_NESTED_INSTANCERS]; /* prims: the enclosing instancers, outermost first */
	uint32_t subdivided;							/* number of meshes drawn as their control cage */
	uint32_t unseen;								/* number of prims left out as proxies or guides */
} hob_usd_build_t;

/* Copies an array that grew in scratch memory to `arena`. */
#define HOB_USD_KEEP(arena, items, count) ((items) = hob_usd_kept((arena), (items), (count), sizeof *(items)))
void *hob_usd_kept(hob_arena *arena, const void *items, size_t count, size_t size);

/* ---- usd_xform.c: transforms; matrices are double[16], columns are bases ---- */

/* Local matrix at `time` (NaN: the rest pose). *resets: the parent's transform is ignored. *moves: some
 * operation has more than one sample. */
void hob_usd_local(const hob_usd *u, const hob_usd_prim *prim, double time, double out[16], bool *resets,
				   bool *moves);
typedef struct hob_usd_times {
	double *items; /* in scratch */
	uint32_t count;
} hob_usd_times;

void hob_usd_add_time(hob_usd *u, hob_usd_times *times, double time);
/* Adds the times of the attribute's samples, if any, in time codes of the stage. */
void hob_usd_add_times(hob_usd *u, const hob_usd_attribute *attribute, hob_usd_times *times);
/* Sorts times and removes duplicates. */
void hob_usd_sort_times(hob_usd_times *times);
/* Times of all samples of the prim's transform, sorted and unique. */
hob_usd_times hob_usd_xform_times(hob_usd *u, const hob_usd_prim *prim);
void hob_usd_identity(double out[16]);
bool hob_usd_invert(const double m[16], double out[16]);
/* Numbers of an attribute at a stage time, linear between samples. False when it has none of that width. */
bool hob_usd_sample(const hob_usd *u, const hob_usd_attribute *attribute, double time, uint32_t width,
					bool is_quaternion, double *out);
/* Sets the node's transform. */
void hob_usd_place(hob_node *node, const double m[16]);
/* Splits a transform with shear over two nested nodes. The search starts at the rotations that they have. */
void hob_usd_place_two(hob_node *outer, hob_node *inner, const double m[16]);

/* ---- usd_node.c ---- */

uint32_t hob_usd_add_node(hob_usd_build_t *b, hob_str name, uint32_t parent);
/* Builds the prims that reset their transform, as children of the root. */
void hob_usd_build_late(hob_usd_build_t *b);
void hob_usd_build_children(hob_usd_build_t *b, uint32_t prim, hob_usd_context context);
bool hob_usd_lists(const hob_usd_value *ids, double id);

/* ---- usd_mesh.c: polygons, from Mesh prims and from generated shapes ---- */

/* A polygon mesh in USD's form; also of generated shapes. */
typedef struct hob_usd_polygons {
	const float *points;
	size_t point_count;
	const int32_t *counts, *indices; /* corners of each face, and their point indices */
	size_t face_count, corner_count;
	const float *corner_normals; /* [corner_count][3] of generated shapes, or NULL: the prim's own */
	bool left_handed, smooth, double_sided;
	uint32_t levels; /* requested subdivision levels */
} hob_usd_polygons;

/* Creates the meshes of a prim (one per subset) on its node. */
void hob_usd_build_mesh(hob_usd_build_t *b, uint32_t prim, uint32_t node);
typedef void hob_usd_builder(hob_usd_build_t *b, uint32_t prim, uint32_t node);
/* Creates the meshes of a prim, or shares those of an equal instance. */
void hob_usd_build_shared(hob_usd_build_t *b, uint32_t prim, uint32_t node, hob_usd_builder *build);
void hob_usd_polygons_build(hob_usd_build_t *b, uint32_t prim, uint32_t node,
							const hob_usd_polygons *polygons);
/* Appends an empty mesh to the node created last. */
hob_mesh *hob_usd_add_mesh(hob_usd_build_t *b, uint32_t node);
/* A primvar's value and the prim that authors it: the prim itself, or an ancestor where it is constant. NULL
 * without one. */
const hob_usd_value *hob_usd_primvar(hob_usd *u, uint32_t prim, hob_str name, uint32_t *owner);

/* Reads a primvar that has one value for the whole prim; otherwise *out is unchanged. */
void hob_usd_primvar_one(hob_usd *u, uint32_t prim, hob_str name, uint32_t width, float *out);

/* ---- primvars ---- */

typedef enum hob_usd_interpolation {
	HOB_USD_CONSTANT,
	HOB_USD_UNIFORM,
	HOB_USD_PER_POINT,
	HOB_USD_PER_CORNER
} hob_usd_interpolation;

/* Values of a surface; hob_usd_stream_at gives the value at a corner. */
typedef struct hob_usd_stream {
	const float *items; /* [item_count][width]; NULL: absent */
	size_t item_count;
	uint32_t width;
	const int32_t *indices; /* [index_count] into items, or NULL */
	size_t index_count;
	hob_usd_interpolation interpolation;
} hob_usd_stream;

/* ---- usd_shape.c: cubes, spheres, curves, points ---- */

void hob_usd_build_shape(hob_usd_build_t *b, uint32_t prim, uint32_t node);
/* Scale tracks of the shapes with animated size. */
void hob_usd_size_clips(hob_usd_build_t *b);

/* ---- animated points, as morph targets ---- */

/* Whether all samples of the points have the same count, so that they can become morph targets. */
bool hob_usd_has_cache(const hob_usd *u, const hob_usd_prim *prim);
/* Morph targets of a mesh whose vertices are these points. */
void hob_usd_put_cache(hob_usd_build_t *b, uint32_t prim, const uint32_t *points, hob_mesh *mesh);

/* ---- usd_material.c ---- */

/* Path of the material bound to a prim, or empty. */
hob_str hob_usd_binding(hob_usd *u, uint32_t prim);
/* The material of a surface: the one at `path`, or a plain one of `color` (linear, may be NULL) if that is
 * empty. `sheer`: the plain one blends, because its vertices have opacities. */
uint32_t hob_usd_material(hob_usd_build_t *b, hob_str path, bool double_sided, const float *color,
						  bool sheer);

/* ---- usd_clip.c ---- */

void hob_usd_build_clips(hob_usd_build_t *b);
/* Cuts times to the stage's range, if any: the nearest outside move to its ends, others are removed. */
void hob_usd_cut_range(const hob_usd *u, hob_usd_times *times);

#endif

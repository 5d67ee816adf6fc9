/* usd_build.h - what the files that turn a stage into a model share (usd.c, usd_node.c, usd_xform.c,
 * usd_mesh.c ...). */
#ifndef HOB_USD_BUILD_H
#define HOB_USD_BUILD_H

#include "../image_set.h"
#include "usd_private.h"

/* A material, and which primvars it reads. */
typedef struct hob_usd_look {
	hob_str uv_names[HOB_UV_SETS];
	uint32_t uv_count;
	hob_str color_name; /* the primvar that is the base colour; empty without */
} hob_usd_look;

/* A prim whose transform has samples, and its node; inside an instancer a prim has several. With shear a
 * second node is inside of it, else HOB_NONE. */
typedef struct hob_usd_moving {
	uint32_t prim, node, inner;
} hob_usd_moving;

/* A node whose mesh follows attributes of a prim that have samples: its size, or its points. */
typedef struct hob_usd_follower {
	uint32_t prim, node;
} hob_usd_follower;

enum { HOB_USD_NESTED_INSTANCERS = 16 };

/* Where the walk is: what children inherit from their ancestors. */
typedef struct hob_usd_context {
	uint32_t node;		 /* parent in the model, HOB_NONE */
	uint32_t instancers; /* how many stand around */
	bool unseen;		 /* the purpose is proxy or guide, until a prim below says otherwise */
	bool hidden;		 /* an ancestor is invisible at all times */
} hob_usd_context;

/* A prim that is built when the rest is. */
typedef struct hob_usd_late {
	uint32_t prim;
	hob_usd_context context;
} hob_usd_late;

typedef struct hob_usd_build {
	hob_usd *u;
	hob_image_set images;
	hob_model model; /* arrays grow in scratch; hob_usd_finish copies them */
	uint32_t mesh_room, material_room, look_room, sampler_room, node_room, ref_room, root_room, camera_room,
		light_room, weight_room, skin_room, source_meshes;
	hob_usd_look *looks;	   /* [material_count] */
	hob_name_map material_map; /* what a material is made of -> its number */
	hob_name_map mesh_map;	   /* what a mesh is made of -> its first number in `shared` */
	hob_buf shared;			   /* pairs: first mesh, count */
	struct hob_usd_skeleton *skeletons;
	struct hob_usd_skinned *skinned; /* nodes of meshes that may be bent */
	uint32_t skeleton_count, skeleton_room, skinned_count, skinned_room;
	struct hob_usd_knot *knots; /* targets of all meshes that are in-betweens */
	uint32_t knot_count, knot_room;
	hob_usd_moving *moving;
	uint32_t moving_count, moving_room;
	hob_usd_late *late;
	uint32_t late_count, late_room;
	/* shapes whose size changes; surfaces whose points move; prims that come and go */
	hob_usd_follower *sized, *cached, *blinking;
	uint32_t sized_count, sized_room, cached_count, cached_room, blinking_count, blinking_room;
	hob_clip clip; /* grows in scratch */
	uint32_t channel_room, property_room, track_room;
	uint32_t instancers[HOB_USD_NESTED_INSTANCERS]; /* prims: those around the walk, outermost first */
	uint32_t subdivided;							/* meshes that are drawn as their cage */
	uint32_t unseen;								/* prims that are not for drawing */
} hob_usd_build_t;

/* ---- usd_xform.c: transforms; matrices are double[16], columns are bases ---- */

/* Local matrix at `time` (NaN: the pose that is drawn at rest). *resets: the parent's transform does not
 * count. *moves: some operation has more than one sample. */
void hob_usd_local(const hob_usd *u, const hob_usd_prim *prim, double time, double out[16], bool *resets,
				   bool *moves);
/* Times of all samples that move the prim, in seconds' time codes; sorted, without repeats. */
bool hob_usd_xform_times(hob_usd *u, const hob_usd_prim *prim, double **out, size_t *count,
						 hob_error *err) HOB_MUST_CHECK;
/* Sorts times and leaves each once. */
void hob_usd_sort_times(double *times, size_t *count);
void hob_usd_identity(double out[16]);
bool hob_usd_invert(const double m[16], double out[16]);
/* Numbers of an attribute at a time of the stage: linear between samples. False when it has none of that
 * width. */
bool hob_usd_sample(const hob_usd *u, const hob_usd_attribute *attribute, double time, uint32_t width,
					bool is_quaternion, double *out);
/* Gives the node the transform. */
void hob_usd_place(hob_node *node, const double m[16]);
/* Gives a transform with shear to two nodes, one inside the other; what they hold is where to begin. */
void hob_usd_place_two(hob_node *outer, hob_node *inner, const double m[16]);

/* ---- usd_node.c ---- */

bool hob_usd_add_node(hob_usd_build_t *b, hob_str name, uint32_t parent, uint32_t *out,
					  hob_error *err) HOB_MUST_CHECK;
bool hob_usd_build_prim(hob_usd_build_t *b, uint32_t prim, hob_usd_context context,
						hob_error *err) HOB_MUST_CHECK;
/* Builds the prims that reset their transform, on the root. */
bool hob_usd_build_late(hob_usd_build_t *b, hob_error *err) HOB_MUST_CHECK;
bool hob_usd_build_children(hob_usd_build_t *b, uint32_t prim, hob_usd_context context,
							hob_error *err) HOB_MUST_CHECK;

/* ---- usd_mesh.c: polygons, from Mesh prims and from generated shapes ---- */

/* A polygon mesh as USD states it; generated shapes fill the same. */
typedef struct hob_usd_polygons {
	const float *points;
	size_t point_count;
	const int32_t *counts, *indices; /* corners of each face, and their points */
	size_t face_count, corner_count;
	const float *corner_normals; /* [corner_count][3] of generated shapes, or NULL: as the prim says */
	bool left_handed, smooth, double_sided;
	uint32_t levels; /* of subdivision that is asked for */
} hob_usd_polygons;

/* Makes the meshes of a prim (one per subset) and hangs them on its node. */
bool hob_usd_build_mesh(hob_usd_build_t *b, uint32_t prim, uint32_t node, hob_error *err) HOB_MUST_CHECK;
typedef bool hob_usd_builder(hob_usd_build_t *b, uint32_t prim, uint32_t node, hob_error *err);
/* Makes the meshes of a prim, or takes those of an instance of the same. */
bool hob_usd_build_shared(hob_usd_build_t *b, uint32_t prim, uint32_t node, hob_usd_builder *build,
						  hob_error *err) HOB_MUST_CHECK;
bool hob_usd_polygons_build(hob_usd_build_t *b, uint32_t prim, uint32_t node,
							const hob_usd_polygons *polygons, hob_error *err) HOB_MUST_CHECK;
/* Reserves a mesh and hangs it on the node that was made last. */
bool hob_usd_add_mesh(hob_usd_build_t *b, uint32_t node, hob_mesh **out, hob_error *err) HOB_MUST_CHECK;
/* A primvar's value, inherited from ancestors when it is constant there; the prim that has it. NULL
 * without. */
const hob_usd_value *hob_usd_primvar(hob_usd *u, uint32_t prim, hob_str name, uint32_t *owner);

/* The numbers of a primvar that has one value for the whole prim; else *out keeps what it holds. */
void hob_usd_primvar_one(hob_usd *u, uint32_t prim, hob_str name, uint32_t width, float *out);

/* ---- usd_primvar.c ---- */

typedef enum hob_usd_interpolation {
	HOB_USD_CONSTANT,
	HOB_USD_UNIFORM,
	HOB_USD_PER_POINT,
	HOB_USD_PER_CORNER
} hob_usd_interpolation;

/* Numbers of a surface: hob_usd_stream_at gives the element of a corner. */
typedef struct hob_usd_stream {
	const float *items; /* [item_count][width]; NULL: there is none */
	size_t item_count;
	uint32_t width;
	const int32_t *indices; /* [index_count] into items, or NULL */
	size_t index_count;
	hob_usd_interpolation interpolation;
} hob_usd_stream;

bool hob_usd_stream_open(hob_usd_build_t *b, uint32_t prim, const hob_usd_polygons *polygons, hob_str name,
						 uint32_t width, hob_usd_stream *out, hob_error *err) HOB_MUST_CHECK;
/* The element of a corner; NULL when the file has none there. */
const float *hob_usd_stream_at(const hob_usd_stream *stream, size_t face, size_t point, size_t corner);

/* ---- usd_shape.c: cubes, spheres, curves, points ---- */

bool hob_usd_build_shape(hob_usd_build_t *b, uint32_t prim, uint32_t node, hob_error *err) HOB_MUST_CHECK;
/* The scale tracks of the shapes whose size has samples. */
bool hob_usd_size_clips(hob_usd_build_t *b, hob_error *err) HOB_MUST_CHECK;

/* ---- usd_cache.c: points that move, as morph targets ---- */

/* Whether the points have samples that one set of targets can show: as many in each. */
bool hob_usd_has_cache(const hob_usd *u, const hob_usd_prim *prim);
/* The targets of a mesh whose vertices are these points. */
bool hob_usd_put_cache(hob_usd_build_t *b, uint32_t prim, const uint32_t *points, hob_mesh *mesh,
					   hob_error *err) HOB_MUST_CHECK;
bool hob_usd_cache_clips(hob_usd_build_t *b, hob_error *err) HOB_MUST_CHECK;
bool hob_usd_add_follower(hob_usd_build_t *b, hob_usd_follower **list, uint32_t *count, uint32_t *room,
						  uint32_t prim, uint32_t node, hob_error *err) HOB_MUST_CHECK;

/* ---- usd_material.c ---- */

/* The path of the material that is bound to a prim; empty without. */
bool hob_usd_binding(hob_usd *u, uint32_t prim, hob_str *out, hob_error *err) HOB_MUST_CHECK;
/* The material for a surface: the one at `path`, or a plain one of `color` (linear, may be NULL) when it is
 * empty. `sheer`: vertices of a plain one may be seen through. */
bool hob_usd_material(hob_usd_build_t *b, hob_str path, bool double_sided, const float *color, bool sheer,
					  uint32_t *out, hob_error *err) HOB_MUST_CHECK;

/* ---- usd_census.c: what the prims are, into request->seen ---- */
void hob_usd_census(hob_usd *u);

/* ---- usd_light.c ---- */

bool hob_usd_build_camera(hob_usd_build_t *b, uint32_t prim, uint32_t node, hob_error *err) HOB_MUST_CHECK;
bool hob_usd_build_light(hob_usd_build_t *b, uint32_t prim, uint32_t node, hob_error *err) HOB_MUST_CHECK;

/* ---- usd_clip.c ---- */

bool hob_usd_build_clips(hob_usd_build_t *b, hob_error *err) HOB_MUST_CHECK;
/* Cuts times to the stage's range, where it has one; what is beyond an end comes to it. */
void hob_usd_cut_range(const hob_usd *u, double *times, size_t *count);

#endif

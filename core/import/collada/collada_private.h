/* collada_private.h - shared by the files of the COLLADA reader.
 *
 *   collada.c            the importer: the file or the archive, asset, unit and axis, ids, counts
 *   collada_faces.c      <p>, <vcount>, <ph> -> faces of index tuples
 *   collada_geometry.c   geometries -> parts (vertices and indices), tangents, morph targets
 *   collada_effect.c     effects -> materials and the names of their texture coordinates
 *   collada_material.c   instances of materials: UV sets of textures
 *   collada_node.c       visual scenes -> nodes, cameras, lights, meshes
 *   collada_transform.c  transform elements -> matrices
 *   collada_skin.c       controllers -> joints and weights
 *   collada_curve.c      animation curves of one number
 *   collada_clip.c       clips: channels, the tracks of each node
 *
 * Source: COLLADA 1.4.1 and 1.5.0 specifications (Khronos). c->slot[number] maps an element to the result of
 * reading it: an index into the list for its kind. */
#ifndef HOB_COLLADA_PRIVATE_H
#define HOB_COLLADA_PRIVATE_H

#include "../../base/guard.h"
#include "../../base/limits.h"
#include "../lists.h"
#include "../name_map.h"
#include "../polygon.h"
#include "../xml.h"
#include "../zip.h"

typedef const hob_xml_element *hob_xml_ptr;

/* Numbers of a <source>; missing ones at the end are zero. */
typedef struct hob_collada_source {
	const float *values; /* NULL after release */
	uint32_t value_count;
	uint32_t count, stride, offset; /* of the accessor; count items lie within the values */
	uint32_t width;					/* components of an item */
	uint32_t component[16]; /* offsets of the components within an item; unnamed parameters are skipped */
} hob_collada_source;

/* One <input>. */
typedef struct hob_collada_input {
	hob_str semantic;
	hob_xml_ptr source;
	uint32_t offset, set;
	bool of_vertex; /* declared in <vertices> */
} hob_collada_input;

/* Faces of one primitive element: tuples of indices. */
typedef struct hob_collada_faces {
	uint32_t stride; /* indices of one corner */
	hob_buf tuples;	 /* u32 [corner_count][stride]; HOB_NONE for an invalid index */
	hob_buf sizes;	 /* u32: corners of each face; empty when all have `size` */
	hob_buf holes;	 /* u32: corners of each face's rings, parallel to `rings` */
	hob_buf rings;	 /* u32 per face: how many entries of `holes` it has; empty when no face has a hole */
	uint32_t size;
	uint32_t corner_count, face_count;
	uint32_t dropped; /* number of faces with too few corners */
} hob_collada_faces;

/* A mesh without its material. */
typedef struct hob_collada_part {
	hob_mesh mesh; /* material is HOB_NONE */
	hob_str symbol;
	uint32_t uv_set[HOB_UV_SETS]; /* the file's number of each UV set */
	uint32_t uv_count;
	uint32_t *point;  /* [vertex_count] position index of each vertex; NULL without controllers */
	uint32_t *corner; /* [vertex_count] corner that made it; NULL likewise */
	hob_xml_ptr primitive;
} hob_collada_part;

/* Result of reading a geometry or a controller. */
typedef struct hob_collada_shape {
	hob_xml_ptr element;
	uint32_t part_first, part_count; /* in c->parts */
	uint32_t point_count;
	uint32_t placed;  /* last entry in c->placed of this shape; HOB_NONE: none */
	hob_xml_ptr skin; /* the <skin> in the chain of controllers, or NULL */
	bool failed;	  /* under construction: breaks cycles */
} hob_collada_shape;

/* A shape with materials: a range of meshes. */
typedef struct hob_collada_placed {
	uint32_t mesh_first, mesh_count, before; /* previous entry of the same shape */
} hob_collada_placed;

/* One of the model nodes made from a node of the file, as a chain. */
typedef struct hob_collada_place {
	uint32_t node, next;
} hob_collada_place;

/* An element with an id. */
typedef struct hob_collada_id {
	uint32_t id;
	hob_xml_ptr element;
} hob_collada_id;

/* An instance of a controller, whose skin is made after all nodes. */
typedef struct hob_collada_pending {
	uint32_t node;
	hob_xml_ptr skin, instance; /* `skin`: NULL for a morph only */
} hob_collada_pending;

typedef struct hob_collada {
	const hob_import_request *request;
	hob_xml xml;
	bool zipped;
	hob_zip archive; /* the .zae */
	hob_model *model;
	float unit;		  /* metres per unit */
	hob_name_map ids; /* -> id of the entries in elements */
	hob_buf elements; /* hob_collada_id, sorted by id, then by file order */
	uint32_t *slot;	  /* [element_count] HOB_NONE at first */
	hob_lists lists;
	hob_buf sources, shapes, parts, placed, places, pending, effects, variants, clips;
	bool has_controllers;
	/* Between hob_collada_pass and _passed: newly read sources are kept in `work`, freed at the end. */
	bool passing;
	hob_arena work;
	hob_buf work_sources; /* slots of the sources that have been read */
	hob_buf vertex_at;	  /* u32 per point, for merging vertices; HOB_NONE between uses */
	hob_polygon polygon;
	hob_name_map embedded; /* members of the archive -> picture */
} hob_collada;

/* ---- collada.c */

/* Unpacks a member of the archive, found by the last part of its name, into the result. False without one. */
bool hob_collada_member(hob_collada *c, hob_str name, hob_bytes *out) HOB_MUST_CHECK;

/* ---- ids, sids, sources */

/* The element that an attribute of `from` names by "#id" (NULL: that its text names). NULL, with a note, when
 * there is none or it is in another file; without a note when `from` is NULL. */
hob_xml_ptr hob_collada_target(hob_collada *c, hob_xml_ptr from, const char *kind, const char *attribute);
/* The `element` after `after` (NULL: the first) in the file's libraries of that name. */
hob_xml_ptr hob_collada_next(const hob_collada *c, hob_str library, hob_str element, hob_xml_ptr after);
#define HOB_COLLADA_EACH(e, c, library, element)                                                             \
	for (hob_xml_ptr e = hob_collada_next((c), HOB_STR(library), HOB_STR(element), NULL); e;                 \
		 e = hob_collada_next((c), HOB_STR(library), HOB_STR(element), e))
/* The element with this id; NULL when there is none. Of several, the first element `kind` in the smallest
 * scope around `from` that contains one; without any of that kind, the first in the file. */
hob_xml_ptr hob_collada_by_id(const hob_collada *c, hob_xml_ptr from, const char *kind, hob_str id);
/* First element below `root` (or itself) with this sid, breadth-first. */
hob_xml_ptr hob_collada_by_sid(hob_xml_ptr root, hob_str sid);
/* The numbers of <source>, read once, or at most twice if first read between pass and passed; NULL without
 * numbers. The pointer is valid until the next call. */
const hob_collada_source *hob_collada_floats(hob_collada *c, hob_xml_ptr source);
/* Sources first read between pass and passed are kept in c->work, which passed frees. */
void hob_collada_pass(hob_collada *c);
void hob_collada_passed(hob_collada *c);
/* The names of <source>: its Name_array or IDREF_array, or empty. `are_ids` may be NULL. */
hob_str hob_collada_names(hob_xml_ptr source, bool *are_ids);
/* Item `index`, up to `width` numbers; the rest of `out` is unchanged. */
void hob_collada_item(const hob_collada_source *source, uint32_t index, float *out, uint32_t width);
/* The name of an element, cleaned: its name, else id, else sid. */
hob_str hob_collada_name(hob_collada *c, hob_xml_ptr element);
/* The element `name` in any <technique> of the <extra>s below `element`, whatever the profile. */
hob_xml_ptr hob_collada_extra(hob_xml_ptr element, hob_str name);

/* ---- collada_faces.c */

/* Appends a list of indices as u32; a negative or invalid one becomes HOB_NONE. */
void hob_collada_indices(hob_str text, hob_buf *out);

/* Faces with too few corners are counted and dropped. */
void hob_collada_read_faces(hob_xml_ptr primitive, uint32_t stride, hob_collada_faces *out);

/* ---- collada_geometry.c */

/* The shape of a <geometry> or <controller>, built once; HOB_NONE without content. */
uint32_t hob_collada_shape_of(hob_collada *c, hob_xml_ptr element);
/* Inputs of an element, those of <vertices> expanded. Returns their number, at most `most`. */
uint32_t hob_collada_inputs(hob_collada *c, hob_xml_ptr element, hob_collada_input *out, uint32_t most);
/* The first with a source; NULL: none. */
const hob_collada_input *hob_collada_input_of(const hob_collada_input *inputs, uint32_t count,
											  hob_str semantic);

/* ---- collada_material.c */

/* The material of a part in an instance: model id, HOB_NONE for the default. */
uint32_t hob_collada_material_of(hob_collada *c, hob_xml_ptr instance, const hob_collada_part *part);

/* ---- collada_effect.c */

typedef struct hob_collada_effect {
	hob_material material;
	/* names that <bind_vertex_input> maps to a set; empty without a texture */
	hob_str texcoord[HOB_SLOT_COUNT];
} hob_collada_effect;

/* The reference of an <image>, as written. */
hob_str hob_collada_image_file(hob_xml_ptr image);
void hob_collada_read_effect(hob_collada *c, hob_xml_ptr material, hob_collada_effect *out);

/* ---- collada_transform.c */

/* A transform element: its numbers, and how many it has; its matrix, from these or from animated numbers. */
bool hob_collada_is_transform(hob_xml_ptr element);
uint32_t hob_collada_transform_numbers(hob_xml_ptr element, double out[16]);
void hob_collada_transform_matrix(hob_str kind, const double *numbers, double unit, double out[16]);
/* A node's transform elements as translation, rotation and scale; where they do not suffice, as a matrix. */
void hob_collada_local(hob_xml_ptr node, double unit, hob_node *out);

/* ---- collada_node.c */

void hob_collada_nodes(hob_collada *c);
/* First node of an element in the model; HOB_NONE: none. */
uint32_t hob_collada_place_of(const hob_collada *c, hob_xml_ptr node);

/* Whether an element of a <mesh> holds faces or lines. */
bool hob_collada_is_primitive(hob_xml_ptr element);

/* ---- collada_skin.c */

/* Joints and weights for the parts of a shape, between pass and passed. */
void hob_collada_weigh(hob_collada *c, hob_xml_ptr skin, hob_collada_part *parts, uint32_t part_count,
					   uint32_t point_count);
void hob_collada_skins(hob_collada *c);

/* ---- collada_clip.c */

void hob_collada_clips(hob_collada *c);

/* ---- collada_curve.c

 * Numbers over time, from <sampler>. STEP, LINEAR and BEZIER segments; HERMITE and CARDINAL become BEZIER,
 * BSPLINE becomes LINEAR (noted). Control points stay within the times of their segment, so that each time
 * has one value. The curve is constant before the first key and after the last. */

typedef enum hob_collada_mode { HOB_COLLADA_LINEAR, HOB_COLLADA_STEP, HOB_COLLADA_BEZIER } hob_collada_mode;

typedef struct hob_collada_curve {
	uint32_t key_count, width;
	float *times;	/* [key_count] strictly rising */
	float *values;	/* [key_count][width] */
	uint8_t *modes; /* [key_count] mode of the segment after each key */
	/* [key_count][width][2] control points (time, value) before and after each key; NULL without BEZIER */
	float *in, *out;
} hob_collada_curve;

/* Kinds of segments in a curve. */
typedef struct hob_collada_curve_kinds {
	/* `cubic`: BEZIER with control points at the thirds, a polynomial of time; `bent`: any other BEZIER */
	bool step, linear, cubic, bent;
} hob_collada_curve_kinds;

/* Reads <sampler> between pass and passed, into scratch; *out is empty (key_count 0) without keys. */
void hob_collada_read_curve(hob_collada *c, hob_xml_ptr sampler, hob_collada_curve *out);

hob_collada_curve_kinds hob_collada_curve_kind(const hob_collada_curve *curve);

/* Value of component k at time t, and its slope (may be NULL); O(log keys). `left`: from just before t. */
double hob_collada_curve_at(const hob_collada_curve *curve, uint32_t k, double t, bool left, double *slope);

#endif

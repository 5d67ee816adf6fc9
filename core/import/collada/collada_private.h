/* collada_private.h - the map of the COLLADA reader: what its files share.
 *
 *   collada.c            trunk: the file or the archive, asset, unit and axis, the importer
 *   collada_data.c       ids, sids, sources
 *   collada_faces.c      <p>, <vcount>, <ph> -> faces of index tuples
 *   collada_geometry.c   geometries -> parts (vertices and indices), tangents, morph targets
 *   collada_effect.c     effects -> materials and the names of the texture coordinates they ask for
 *   collada_material.c   instances of materials: which UV set a texture uses
 *   collada_node.c       visual scenes -> nodes, cameras, lights, meshes
 *   collada_transform.c  transform elements -> matrices
 *   collada_skin.c       controllers -> joints and weights
 *   collada_curve.c      animation curves of one number
 *   collada_channel.c    channels: which curve moves which transform or weight
 *   collada_track.c      functions of time -> tracks
 *   collada_clip.c       clips: the tracks of each node
 *   collada_census.c     what the file holds
 *
 * Source: COLLADA 1.4.1 and 1.5.0 specifications (Khronos). Elements are found by number: c->slot[number] is
 * what the reader has made of an element, an index into the list that fits its kind. */
#ifndef HOB_COLLADA_PRIVATE_H
#define HOB_COLLADA_PRIVATE_H

#include "../lists.h"
#include "../name_map.h"
#include "../polygon.h"
#include "../xml.h"
#include "../zip.h"

typedef const hob_xml_element *hob_xml_ptr;

/* Numbers of a <source>. Missing ones at the end are zero. */
typedef struct hob_collada_source {
	const float *values; /* NULL when they are forgotten */
	uint32_t value_count;
	uint32_t count, stride, offset; /* of the accessor; count items fit into the values */
	uint32_t width;					/* components of an item */
	uint32_t component[16]; /* places of the components within an item; unnamed parameters are skipped */
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
	hob_buf tuples;	 /* u32 [corner_count][stride]; HOB_NONE for what is no index */
	hob_buf sizes;	 /* u32: corners of each face; empty when all have `size` */
	hob_buf holes;	 /* u32: corners of each face's rings, parallel to `rings` */
	hob_buf rings;	 /* u32 per face: how many entries of `holes` it has; empty when no face has a hole */
	uint32_t size;
	uint32_t corner_count, face_count;
	uint32_t dropped; /* faces of too few corners */
} hob_collada_faces;

/* A mesh without its material. */
typedef struct hob_collada_part {
	hob_mesh mesh; /* material is HOB_NONE */
	hob_str symbol;
	uint32_t uv_set[HOB_UV_SETS]; /* number that the file gives each UV set */
	uint32_t uv_count;
	uint32_t *point;  /* [vertex_count] position each vertex was made of; NULL without controllers */
	uint32_t *corner; /* [vertex_count] corner that made it; the same */
	hob_xml_ptr primitive;
} hob_collada_part;

/* Result of reading a geometry or a controller. */
typedef struct hob_collada_shape {
	hob_xml_ptr element;
	uint32_t part_first, part_count; /* in c->parts */
	uint32_t point_count;
	uint32_t placed;  /* last entry in c->placed of this shape, HOB_NONE when it is nowhere */
	hob_xml_ptr skin; /* the <skin> on the way, or NULL */
	bool failed;	  /* being made: a circle ends here */
} hob_collada_shape;

/* A shape with materials: a range of meshes. */
typedef struct hob_collada_placed {
	uint32_t mesh_first, mesh_count, before; /* the one before of the same shape */
} hob_collada_placed;

/* A node of the file may stand in several places. */
typedef struct hob_collada_place {
	uint32_t node, next;
} hob_collada_place;

/* An element that bears an id. */
typedef struct hob_collada_id {
	uint32_t id;
	hob_xml_ptr element;
} hob_collada_id;

/* An instance of a controller. Its skin waits until all nodes are known. */
typedef struct hob_collada_pending {
	uint32_t node;
	hob_xml_ptr skin, instance; /* skin: NULL when it only morphs */
} hob_collada_pending;

typedef struct hob_collada {
	const hob_import_request *request;
	hob_xml xml;
	bool zipped;
	hob_zip archive; /* the .zae */
	hob_model *model;
	float unit;		  /* metres per unit */
	hob_name_map ids; /* -> id of the entries in elements */
	hob_buf elements; /* hob_collada_id, by id, then in the order of the file */
	uint32_t *slot;	  /* [element_count] HOB_NONE at first */
	hob_lists lists;
	hob_buf sources, shapes, parts, placed, places, pending, effects, variants, clips;
	bool has_controllers;
	/* While a shape is made: what the finished shape does without. */
	bool passing;
	hob_arena work;
	hob_buf work_sources; /* slots of the sources whose numbers are there */
	hob_buf vertex_at;	  /* u32 per point, for unifying vertices; HOB_NONE in between */
	hob_polygon polygon;
	hob_name_map embedded; /* members of the archive -> picture */
} hob_collada;

/* Counts what the file holds into request->seen (collada_census.c). */
bool hob_collada_census(hob_collada *c, hob_error *err) HOB_MUST_CHECK;

/* ---- lists */

/* ---- collada.c */

/* A member of the archive by the last part of its name, unpacked into the result. False when there is
 * none. */
bool hob_collada_member(hob_collada *c, hob_str name, hob_bytes *out) HOB_MUST_CHECK;

/* ---- collada_data.c */

/* Learns all ids. */
bool hob_collada_index(hob_collada *c, hob_error *err) HOB_MUST_CHECK;
/* The element that "#id" names. NULL when there is none or it is in another file; noted. */
hob_xml_ptr hob_collada_target(hob_collada *c, hob_xml_ptr from, const char *kind, hob_str url);
/* The element with this id; NULL when there is none. Of several, the first element `kind` in the smallest
 * element around `from` that holds one; without any of that kind, the first of the file. */
hob_xml_ptr hob_collada_by_id(const hob_collada *c, hob_xml_ptr from, const char *kind, hob_str id);
/* First element below `root` (or itself) with this sid, nearest first by depth. */
hob_xml_ptr hob_collada_by_sid(hob_xml_ptr root, hob_str sid);
/* The numbers of <source>, read once; those that a shape is made of, which few others ask for, at most twice.
 * False only when memory is short; *out is NULL when it holds no numbers. The pointer is valid until the next
 * call. */
bool hob_collada_floats(hob_collada *c, hob_xml_ptr source, const hob_collada_source **out,
						hob_error *err) HOB_MUST_CHECK;
/* Between the two, numbers that are read for the first time are kept in c->work. The second frees it. */
void hob_collada_pass(hob_collada *c);
void hob_collada_passed(hob_collada *c);
/* The list of names of <source>: its Name_array or IDREF_array; empty when there is none. */
hob_str hob_collada_names(hob_xml_ptr source, bool *are_ids);
/* Item `index`, up to `width` numbers; the rest of `out` stays. */
void hob_collada_item(const hob_collada_source *source, uint32_t index, float *out, uint32_t width);
/* The name of an element: its name, else id, else sid; cleaned. */
bool hob_collada_name(hob_collada *c, hob_xml_ptr element, hob_str *out, hob_error *err) HOB_MUST_CHECK;
/* The child <technique> of `extra`s below `element` that holds `name`: the found element, whatever the
 * profile. */
hob_xml_ptr hob_collada_extra(hob_xml_ptr element, hob_str name);

/* ---- collada_faces.c */

/* Appends a list of indices as u32; what is negative or no number becomes HOB_NONE. */
bool hob_collada_indices(hob_str text, hob_buf *out, hob_error *err) HOB_MUST_CHECK;

/* False when memory is short or a limit is reached. Faces of too few corners are counted and dropped. */
bool hob_collada_read_faces(hob_xml_ptr primitive, uint32_t stride, hob_collada_faces *out,
							hob_error *err) HOB_MUST_CHECK;
void hob_collada_faces_release(hob_collada_faces *faces);

/* ---- collada_geometry.c */

/* The shape of a <geometry> or <controller>, made once. *shape = HOB_NONE when there is nothing to show. */
bool hob_collada_shape_of(hob_collada *c, hob_xml_ptr element, uint32_t *shape,
						  hob_error *err) HOB_MUST_CHECK;
/* Inputs of an element, <vertices> taken apart. Returns their number, at most `most`. */
uint32_t hob_collada_inputs(hob_collada *c, hob_xml_ptr element, hob_collada_input *out, uint32_t most);

/* ---- collada_material.c */

/* The material that an instance gives a part: model id, HOB_NONE for the default. */
bool hob_collada_material_of(hob_collada *c, hob_xml_ptr instance, const hob_collada_part *part, uint32_t *id,
							 hob_error *err) HOB_MUST_CHECK;

/* ---- collada_effect.c */

typedef struct hob_collada_effect {
	hob_material material;
	/* names that <bind_vertex_input> gives a set; empty without a texture */
	hob_str texcoord[HOB_SLOT_COUNT];
} hob_collada_effect;

bool hob_collada_read_effect(hob_collada *c, hob_xml_ptr material, hob_collada_effect *out,
							 hob_error *err) HOB_MUST_CHECK;

/* ---- collada_transform.c */

/* Matrix of one transform element; the numbers may be given (animation) instead of read. Returns false for
 * other elements. */
bool hob_collada_is_transform(hob_xml_ptr element);
uint32_t hob_collada_transform_numbers(hob_xml_ptr element, double out[16]);
void hob_collada_transform_matrix(hob_str kind, const double *numbers, double unit, double out[16]);
/* T, R, S of a node's transform elements, and the matrix when these cannot say it. */
void hob_collada_local(hob_xml_ptr node, double unit, hob_node *out);

/* ---- collada_node.c */

bool hob_collada_nodes(hob_collada *c, hob_error *err) HOB_MUST_CHECK;
/* First place of an element of the file in the model: a node id, HOB_NONE when it is nowhere. */
uint32_t hob_collada_place_of(const hob_collada *c, hob_xml_ptr node);

/* ---- collada_skin.c */

/* Joints and weights for the parts of a shape. */
bool hob_collada_weigh(hob_collada *c, hob_xml_ptr skin, hob_collada_part *parts, uint32_t part_count,
					   uint32_t point_count, hob_error *err) HOB_MUST_CHECK;
bool hob_collada_skins(hob_collada *c, hob_error *err) HOB_MUST_CHECK;

/* ---- collada_clip.c */

bool hob_collada_clips(hob_collada *c, hob_error *err) HOB_MUST_CHECK;

#endif

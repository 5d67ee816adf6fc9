/* x3d_private.h - the map of the reader of X3D and VRML97: what its files share.
 *
 *   x3d.c           trunk: which encoding, DEF and USE, the importer
 *   x3d_vrml.c      VRML97 and X3D in VRML's text -> the tree that X3D as XML has
 *   x3d_value.c     numbers and words of fields
 *   x3d_node.c      groups, transforms, switches, levels, lights, viewpoints
 *   x3d_material.c  appearances -> materials and pictures
 *   x3d_geometry.c  sets of faces, lines and points, grids -> corners
 *   x3d_solid.c     boxes, spheres, cones, cylinders, extrusions -> corners
 *   x3d_mesh.c      corners -> meshes
 *
 * Nodes are found by their type rather than by the field they stand in, so that both encodings look alike.
 * Lengths are metres unless a UNIT statement says otherwise, Y is up, angles are radians.
 *
 * Sources: ISO/IEC 19775-1 (X3D), 19776-1 (XML), 19776-2 (text), ISO/IEC 14772-1 (VRML97). */
#ifndef HOB_X3D_PRIVATE_H
#define HOB_X3D_PRIVATE_H

#include "../lists.h"
#include "../polygon.h"
#include "../xml.h"

typedef const hob_xml_element *hob_x3d_ptr;

typedef struct hob_x3d {
	const hob_import_request *request;
	hob_xml xml;
	/* [element_count] the target of a USE; an element itself otherwise, NULL: nothing */
	hob_x3d_ptr *target;
	hob_model *model;
	hob_lists lists;
	hob_name_map materials; /* appearance and use -> material */
	hob_name_map meshes;	/* geometry, material, turn of its texture -> mesh */
	hob_polygon polygon;
	float unit;
} hob_x3d;

/* ---- x3d_vrml.c ---- */

/* Text that begins with "#VRML V2" or "#X3D". Nodes become elements, fields attributes; a list loses its
 * brackets, a word its quotes stay. Nodes in a field other than their usual one carry it as containerField.
 * Prototypes are left out. */
bool hob_x3d_read_text(const hob_import_request *request, hob_str text, hob_xml *out,
					   hob_error *err) HOB_MUST_CHECK;

/* ---- x3d_value.c: fields; `otherwise` or the array as it is when the field is absent or too short ---- */

/* The target of e when it says USE. */
static inline hob_x3d_ptr hob_x3d_real(const hob_x3d *x, hob_x3d_ptr e)
{
	return e ? x->target[e->number] : NULL;
}
static inline bool hob_x3d_is(hob_x3d_ptr e, const char *type)
{
	return hob_str_equal(e->name, hob_str_of(type));
}
/* First child of one of these types (NULL-terminated), USE resolved. */
hob_x3d_ptr hob_x3d_child(const hob_x3d *x, hob_x3d_ptr e, const char *const *types);
bool hob_x3d_has(hob_x3d_ptr e, const char *field);
bool hob_x3d_bool(hob_x3d_ptr e, const char *field, bool otherwise);
float hob_x3d_float(hob_x3d_ptr e, const char *field, float otherwise);
void hob_x3d_vector(hob_x3d_ptr e, const char *field, float *out, uint32_t count);
/* All numbers of a field, as floats or as integers, in scratch memory. Commas count as blanks. What is no
 * number ends the list with a note. */
bool hob_x3d_floats(hob_x3d *x, hob_x3d_ptr e, const char *field, float **out, uint32_t *count,
					hob_error *err) HOB_MUST_CHECK;
bool hob_x3d_ints(hob_x3d *x, hob_x3d_ptr e, const char *field, int32_t **out, uint32_t *count,
				  hob_error *err) HOB_MUST_CHECK;
/* Takes the next word of a list of words off *list: quoted ones without their quotes. False at the end. */
bool hob_x3d_word(hob_str *list, hob_str *word);

/* Notes that nodes of this type are left out. */
void hob_x3d_unread(const hob_x3d *x, hob_x3d_ptr e);

/* ---- x3d_node.c ---- */

bool hob_x3d_nodes(hob_x3d *x, hob_error *err) HOB_MUST_CHECK;

/* ---- x3d_material.c ---- */

/* Inputs of the material besides the appearance. */
typedef struct hob_x3d_use {
	bool surface; /* else lines or points, which are not lit */
	bool colored; /* colours at the vertices take the place of the material's */
	bool both_sides;
} hob_x3d_use;

bool hob_x3d_material(hob_x3d *x, hob_x3d_ptr appearance, hob_x3d_use use, uint32_t *id,
					  hob_error *err) HOB_MUST_CHECK;
/* uv' = matrix * (u v 1), V up: a TextureTransform. False when there is none. */
bool hob_x3d_texture_matrix(const hob_x3d *x, hob_x3d_ptr appearance, float out[6]);
bool hob_x3d_has_texture(const hob_x3d *x, hob_x3d_ptr appearance);

/* ---- geometry ---- */

typedef struct hob_x3d_corner {
	uint32_t point, normal, color, uv; /* HOB_NONE: none */
} hob_x3d_corner;

/* Content of a geometry node before it is cut into triangles. Arrays are in scratch memory. */
typedef struct hob_x3d_shape {
	hob_topology topology;
	float *points, *normals, *colors, *uvs; /* [][3], [][3], [][4], [][2] V up; NULL without */
	uint32_t point_count, normal_count, color_count, uv_count;
	hob_buf corners; /* hob_x3d_corner */
	hob_buf sizes;	 /* u32: corners of each face; of lines and points: of each run of segments */
	bool clockwise, both_sides;
	float crease; /* radians; faces of flatter angles are smooth where there are no normals */
	bool map_box; /* without texture coordinates the texture lies over the bounding box */
	uint32_t bad; /* corners that name nothing */
} hob_x3d_shape;

void hob_x3d_shape_release(hob_x3d_shape *shape);
bool hob_x3d_corner_add(hob_x3d_shape *shape, uint32_t point, uint32_t normal, uint32_t color,
						uint32_t uv) HOB_MUST_CHECK;
bool hob_x3d_face_end(hob_x3d_shape *shape, uint32_t corners) HOB_MUST_CHECK;

/* *known false: the type does not belong to this file. */
bool hob_x3d_geometry(hob_x3d *x, hob_x3d_ptr e, hob_x3d_shape *out, bool *known,
					  hob_error *err) HOB_MUST_CHECK; /* x3d_geometry.c */
bool hob_x3d_solid(hob_x3d *x, hob_x3d_ptr e, hob_x3d_shape *out, bool *known,
				   hob_error *err) HOB_MUST_CHECK; /* x3d_solid.c */

/* Makes the mesh; *made false when nothing is left of it. */
bool hob_x3d_mesh(hob_x3d *x, hob_x3d_shape *shape, hob_mesh *out, bool *made, hob_error *err) HOB_MUST_CHECK;

#endif

/* x3d_private.h - shared by the files of the X3D and VRML97 reader.
 *
 *   x3d.c           the importer: encoding, DEF and USE
 *   x3d_vrml.c      VRML97 and X3D in VRML's text -> the tree of X3D's XML encoding
 *   x3d_value.c     numbers and words of fields
 *   x3d_node.c      groups, transforms, lights, viewpoints, solids; corners -> meshes
 *   x3d_material.c  appearances -> materials and pictures
 *   x3d_geometry.c  sets of faces, lines and points, grids -> corners
 *
 * Nodes are found by type rather than by field, so that both encodings look alike. Lengths are metres unless
 * a UNIT statement says otherwise, Y is up, angles are radians.
 *
 * Sources: ISO/IEC 19775-1 (X3D), 19776-1 (XML), 19776-2 (text), ISO/IEC 14772-1 (VRML97). */
#ifndef HOB_X3D_PRIVATE_H
#define HOB_X3D_PRIVATE_H

#include "../../base/guard.h"
#include "../lists.h"
#include "../polygon.h"
#include "../text.h"
#include "../xml.h"

typedef const hob_xml_element *hob_x3d_ptr;

typedef struct hob_x3d {
	const hob_import_request *request;
	hob_xml xml;
	/* [element_count] the element itself; for USE its target, NULL: none */
	hob_x3d_ptr *target;
	hob_model *model;
	hob_lists lists;
	hob_name_map materials; /* appearance and use -> material */
	hob_name_map meshes;	/* geometry and appearance -> mesh */
	hob_polygon polygon;
	float unit;
} hob_x3d;

/* ---- x3d_vrml.c ---- */

/* Text that begins with "#VRML V2" or "#X3D". Nodes become elements, fields attributes; lists lose their
 * brackets, words keep their quotes. A node in an unusual field gets containerField. Prototypes are left
 * out. */
void hob_x3d_read_text(const hob_import_request *request, hob_str text, hob_xml *out);

/* ---- x3d_value.c: fields; if absent or too short, `otherwise`, or the array unchanged ---- */

/* The target of e if it is a USE, else e. */
static inline hob_x3d_ptr hob_x3d_real(const hob_x3d *x, hob_x3d_ptr e)
{
	return e ? x->target[e->number] : NULL;
}
static inline bool hob_x3d_is(hob_x3d_ptr e, const char *type)
{
	return hob_str_equal(e->name, hob_str_of(type));
}
/* First child with one of these types (NULL-terminated), USE resolved. */
hob_x3d_ptr hob_x3d_child(const hob_x3d *x, hob_x3d_ptr e, const char *const *types);
bool hob_x3d_has(hob_x3d_ptr e, const char *field);
bool hob_x3d_bool(hob_x3d_ptr e, const char *field, bool otherwise);
float hob_x3d_float(hob_x3d_ptr e, const char *field, float otherwise);
void hob_x3d_vector(hob_x3d_ptr e, const char *field, float *out, uint32_t count);
/* All numbers of a field, as floats or as integers, in scratch memory. Commas count as blanks. An invalid
 * number ends the list, with a note. NULL for an empty field. */
float *hob_x3d_floats(hob_x3d *x, hob_x3d_ptr e, const char *field, uint32_t *count);
int32_t *hob_x3d_ints(hob_x3d *x, hob_x3d_ptr e, const char *field, uint32_t *count);
/* Removes the next word from *list, without its quotes. False at the end. */
bool hob_x3d_word(hob_str *list, hob_str *word);

/* Notes that nodes of this type are not read. */
void hob_x3d_unread(const hob_x3d *x, hob_x3d_ptr e);

/* ---- x3d_node.c ---- */

void hob_x3d_nodes(hob_x3d *x);

/* ---- x3d_material.c ---- */

/* Inputs of the material other than the appearance. */
typedef struct hob_x3d_use {
	bool surface; /* otherwise lines or points, which are unlit */
	bool colored; /* vertex colours replace the material's */
	bool both_sides;
} hob_x3d_use;

uint32_t hob_x3d_material(hob_x3d *x, hob_x3d_ptr appearance, hob_x3d_use use);
/* uv' = matrix * (u v 1), V up: a TextureTransform. False when there is none. */
bool hob_x3d_texture_matrix(const hob_x3d *x, hob_x3d_ptr appearance, float out[6]);
bool hob_x3d_has_texture(const hob_x3d *x, hob_x3d_ptr appearance);

/* ---- geometry ---- */

typedef struct hob_x3d_corner {
	uint32_t point, normal, color, uv; /* HOB_NONE: none */
} hob_x3d_corner;

/* Content of a geometry node before triangulation. Arrays are in scratch memory. */
typedef struct hob_x3d_shape {
	hob_topology topology;
	float *points, *normals, *colors, *uvs; /* [][3], [][3], [][4], [][2] V up; NULL if absent */
	uint32_t point_count, normal_count, color_count, uv_count;
	hob_buf corners; /* hob_x3d_corner */
	hob_buf sizes;	 /* u32: corners of each face; of lines and points: of each run of segments */
	bool clockwise, both_sides;
	float crease; /* radians; without normals, faces at smaller angles are smooth */
	bool map_box; /* without texture coordinates, the bounding box maps the texture */
	uint32_t bad; /* corners without a valid point */
} hob_x3d_shape;

void hob_x3d_corner_add(hob_x3d_shape *shape, uint32_t point, uint32_t normal, uint32_t color, uint32_t uv);
void hob_x3d_face_end(hob_x3d_shape *shape, uint32_t corners);

/* x3d_geometry.c: reads a geometry node. False for the types that x3d_node.c reads, and unknown ones. */
bool hob_x3d_geometry(hob_x3d *x, hob_x3d_ptr e, hob_x3d_shape *out);

#endif

/* obj_data.h - a Wavefront OBJ file as arrays, before it becomes a model; private to the OBJ reader.
 *
 * The text is read in one pass. Faces are kept as written: corners with separate position, texture coordinate
 * and normal indices, in runs that share object, group, material and smoothing group. */
#ifndef HOB_OBJ_DATA_H
#define HOB_OBJ_DATA_H

#include "lists.h"
#include "name_map.h"

typedef struct hob_obj_corner {
	uint32_t v, vt, vn; /* from 0, HOB_NONE when absent; unchecked until hob_obj_data_read returns */
} hob_obj_corner;

/* Kind of a run's elements. */
typedef enum hob_obj_kind { HOB_OBJ_FACES, HOB_OBJ_LINES, HOB_OBJ_POINTS } hob_obj_kind;

/* Consecutive elements under the same statements: elements [first, first + count) of hob_obj_data.sizes;
 * corners from corner_first. */
typedef struct hob_obj_run {
	hob_obj_kind kind;
	uint32_t object, group, material; /* ids of names, HOB_NONE before the first statement */
	uint32_t smoothing;				  /* 0: off */
	uint32_t first, count, corner_first;
} hob_obj_run;

typedef struct hob_obj_data {
	hob_buf positions; /* f32[3] */
	hob_buf colors;	   /* f32[3] display values per position, or empty */
	hob_buf uvs;	   /* f32[2], V up as in the file */
	hob_buf normals;   /* f32[3] */
	hob_buf corners;   /* hob_obj_corner */
	hob_buf sizes;	   /* u32 per element: its number of corners */
	hob_buf runs;	   /* hob_obj_run */
	hob_buf libraries; /* hob_str per mtllib statement: the rest of the line, borrowed from the text */
	/* Names in order of first use; ids are their indices. Borrowed from the text. */
	hob_buf objects, groups, materials; /* hob_str */
	bool has_elements;					/* the file has a face, line or point, valid or not */
	uint64_t free_form_line;			/* line of the first free-form curve or surface; 0: none */
	uint64_t bad_index_line;			/* line of the first use of a missing vertex; 0: none */
	bool flat; /* has faces, none with a normal or a smoothing group (hob_obj_smooth) */
} hob_obj_data;

#define HOB_OBJ_ARRAY(buf, type) ((type *)(void *)(buf).data)

/* `text` must outlive `out`, which is all zero. Elements with an index out
 * of range are dropped and noted, so all remaining corners are valid. Malformed lines are skipped and noted
 * with the first line number. */
void hob_obj_data_read(const hob_import_request *request, hob_str text, hob_obj_data *out);

/* ---- obj_smooth.c, obj_build.c: from the arrays to meshes and nodes ---- */

/* Generates normals for corners that have none. If no face of the file has a normal or a smoothing group, it
 * only sets data->flat: three.js and Blender show such a file flat, too. Otherwise a face without a smoothing
 * group gets its own normal, and the others the angle-weighted sum over the faces of the same smoothing group
 * around the position, across objects and materials. They are appended to data->normals. O(corners). */
void hob_obj_smooth(hob_arena *scratch, hob_obj_data *data);

/* One mesh per object, material and kind (faces, lines, points), one node per object. Objects come from "o"
 * statements, or from "g" when there is no "o". material_ids maps ids of data->materials to the model's; its
 * last entry is the material of faces without "usemtl". A file of positions alone becomes a point cloud.
 * Corners with equal position, texture coordinate and normal indices share a vertex. */
void hob_obj_build(const hob_import_request *request, const hob_obj_data *data, const uint32_t *material_ids,
				   hob_model *model);

#endif

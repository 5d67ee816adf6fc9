/* ply_data.h - a PLY file as arrays, before it becomes a model; private to the PLY reader.
 *
 * Reads text and both binary byte orders, properties of any order and type, and skips unknown ones. Counts
 * are compared with the size of the file before anything is allocated. */
#ifndef HOB_PLY_DATA_H
#define HOB_PLY_DATA_H

#include "importer.h"

enum { HOB_PLY_TEXTURES = 64 };

typedef struct hob_ply_data {
	uint32_t vertex_count;
	/* Per vertex, in the result arena; NULL if absent. */
	float *position; /* [][3] */
	float *normal;	 /* [][3] */
	float *color;	 /* [][4] linear */
	float *uv;		 /* [][2], V up as in the file */
	/* Per face */
	hob_buf corners;					/* u32: vertex numbers of all faces, unchecked */
	hob_buf sizes;						/* u32 per face: its number of corners, at least 3 */
	hob_buf corner_uvs;					/* f32[2] per corner, or empty */
	hob_buf face_colors;				/* f32[4] linear per face, or empty */
	hob_buf face_texture;				/* u32 per face, or empty */
	hob_buf edges;						/* u32[2] per edge */
	hob_str textures[HOB_PLY_TEXTURES]; /* "comment TextureFile ...", borrowed from the file */
	uint32_t texture_count;
	uint32_t small_faces; /* faces with fewer than three corners, left out */
} hob_ply_data;

/* *out is all zero; its buffers last as long as the body of hob_guarded_whole. */
void hob_ply_data_read(const hob_import_request *request, hob_ply_data *out);

#endif

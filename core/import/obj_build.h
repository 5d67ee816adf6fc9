/* obj_build.h - from the arrays of an OBJ file to meshes and nodes; private to the OBJ reader. */
#ifndef HOB_OBJ_BUILD_H
#define HOB_OBJ_BUILD_H

#include "obj_data.h"

/* Where no face of the file has a normal or a smoothing group, sets data->flat and leaves it at that:
 * three.js and Blender show such a file flat, too. Else gives normals to the corners that have none: one per
 * face without a smoothing group, else the angle-weighted sum of the faces of the same smoothing group around
 * the position, across objects and materials. They are appended to data->normals. O(corners). */
bool hob_obj_smooth(const hob_import_request *request, hob_obj_data *data, hob_error *err) HOB_MUST_CHECK;

/* One mesh per object and material (and per kind: faces, lines, points), one node per object. Objects are
 * those of "o" statements, or of "g" when there is no "o". material_ids maps ids of data->materials to the
 * model's, and its last entry is the material of faces without "usemtl". A file of positions alone becomes a
 * cloud of points. Corners that agree in position, texture coordinate and normal index share a vertex. */
bool hob_obj_build(const hob_import_request *request, const hob_obj_data *data, const uint32_t *material_ids,
				   hob_model *model, hob_error *err) HOB_MUST_CHECK;

#endif

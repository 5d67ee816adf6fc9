/* obj_build.h - from the arrays of an OBJ file to meshes and nodes; private to the OBJ reader. */
#ifndef HOB_OBJ_BUILD_H
#define HOB_OBJ_BUILD_H

#include "obj_data.h"

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

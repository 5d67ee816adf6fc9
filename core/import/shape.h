/* shape.h - repair of foreign vertex data and the plain material, shared by the readers of this folder. */
#ifndef HOB_SHAPE_H
#define HOB_SHAPE_H

#include "importer.h"

/* Replaces positions that are not finite, or out of HOB_LIMIT_REACH, by the origin and drops the faces that
 * use them, or that use an index out of range; notes how many. mesh->indices and index_count are changed in
 * place. */
void hob_shape_fix_positions(hob_mesh *mesh, hob_notes *notes);

bool hob_shape_finite(const float *values, size_t count);
/* True when all are numbers within HOB_LIMIT_REACH of zero: what positions must be. */
bool hob_shape_in_reach(const float *values, size_t count);

/* Non-finite numbers of an array become `value`. Returns how many there were. */
size_t hob_shape_fix_floats(float *values, size_t count, float value);

/* Face normal of a triangle, its length twice the area. */
void hob_shape_face_normal(const float *a, const float *b, const float *c, float out[3]);

/* The default look of a mesh whose source has no material: white, rough, no metal. (glTF's own default is
 * metal.) */
void hob_shape_plain_material(hob_material *material, hob_str name);

/* A root without a transform and without anything on it. */
hob_node hob_shape_plain_node(hob_str name);

/* 0 for what is not a number. */
float hob_shape_clamp01(double value);

/* sRGB display value 0..1 -> linear. */
float hob_shape_linear(float srgb);

#endif

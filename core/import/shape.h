/* shape.h - repair of foreign vertex data, and the default material, for the readers of this folder. */
#ifndef HOB_SHAPE_H
#define HOB_SHAPE_H

#include "importer.h"

/* Replaces positions that are not finite, or beyond HOB_LIMIT_REACH, by the origin. Drops the faces that use
 * them or an index out of range, and notes how many. Changes mesh->indices and index_count in place. */
void hob_shape_fix_positions(hob_mesh *mesh, hob_notes *notes);

/* Allocates the positions of `count` vertices, and the other arrays that are asked for. */
void hob_shape_allocate(hob_mesh *mesh, size_t count, bool normals, bool colors, bool uvs, hob_arena *arena);

bool hob_shape_finite(const float *values, size_t count);
/* True when all values are within HOB_LIMIT_REACH of zero, as positions must be. */
bool hob_shape_in_reach(const float *values, size_t count);

/* Replaces non-finite numbers by `value`. Returns how many there were. */
size_t hob_shape_fix_floats(float *values, size_t count, float value);

/* Face normal of a triangle; its length is twice the area. */
void hob_shape_face_normal(const float *a, const float *b, const float *c, float out[3]);

/* Material of a mesh without one: white, rough, not metallic. (glTF's own default is metallic.) */
void hob_shape_plain_material(hob_material *material, hob_str name);

/* A root with an identity transform and no content. */
hob_node hob_shape_plain_node(hob_str name);

/* NaN becomes 0. */
float hob_shape_clamp01(double value);

/* sRGB display value 0..1 -> linear. */
float hob_shape_linear(float srgb);

#endif

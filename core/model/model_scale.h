/* model_scale.h - scales every length in a model: for the setting `scale`, and for parts of a merged
 * scene. */
#ifndef HOB_MODEL_SCALE_H
#define HOB_MODEL_SCALE_H

#include "model.h"

/* Multiplies, by a finite factor above 0:
 *   positions and morph position deltas; translations of nodes, and of their matrices, inverse bind matrices
 *   and animations; light ranges; camera near and far planes and orthographic sizes; thickness and
 *   attenuation distance of materials.
 * Rotations, scales, normals and light intensities stay. Arrays are replaced, never written to: several
 * meshes, skins or tracks may share one.
 *
 * arena     for the new arrays; nothing is allocated if factor is 1
 * Errors    CONFIG when the factor is not a finite number above 0, or when a length would leave the range of
 *           float (naming which). After an error the model is partly scaled: discard it. Cost
 *           O(model). */
bool hob_model_scale(hob_model *model, float factor, hob_arena *arena, hob_error *err) HOB_MUST_CHECK;

#endif

/* material_bake.h - prepares the materials of a model for writing: the entry point of core/material.
 *
 * In order: apply name rules if enabled, clamp values, empty texture slots without effect, merge equal
 * pictures, samplers and materials, drop unused pictures and samplers. Slots still refer to the model's
 * images; core/texture makes textures of them. */
#ifndef HOB_MATERIAL_BAKE_H
#define HOB_MATERIAL_BAKE_H

#include "../model/model.h"

typedef struct hob_material_options {
	bool name_rules; /* apply name_rules.h */
} hob_material_options;

/* Replaces the materials, images and samplers of *model and renumbers all references: slots, meshes, variant
 * mappings, property channels of clips.
 *
 * Ranges         table in material_ranges.c; a value outside is clamped, with a note. Emissive colours above
 *                1 move into emissive_strength without a change of the product.
 * Empty slots    of extensions that the material does not have, and where a factor of zero that no clip
 *                animates hides the texture. A sampler or uv set of a slot without picture is reset, so that
 *                equal materials compare equal.
 * Equal          pictures: same path, or same embedded bytes; samplers: all fields; materials: all fields,
 *                the name and the extras. A material that a clip animates equals no other. Materials that
 *                differ only in name are not merged: people and programs find them by name. The first of
 *                equals is kept, in the same order.
 * Dropped        pictures and samplers that no slot of any material uses. Materials that no mesh uses stay.
 *                Pictures to which nothing in the source refers go to model->unused_images.
 *
 * model     checked by hob_model_check; still satisfies it afterwards
 * arena     owns the new arrays
 * scratch   restored before returning
 * notes     material.value-clamped, material.texture-ignored, material.missing-uv
 * Cost      O(materials + meshes + bytes of embedded pictures). */
void hob_material_bake(hob_model *model, const hob_material_options *options, hob_arena *arena,
					   hob_arena *scratch, hob_notes *notes);

#endif

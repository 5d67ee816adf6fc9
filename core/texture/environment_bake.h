/* environment_bake.h - bakes an environment picture into a cube map as a KTX2 file.
 *
 * Replaces hob_textures_bake() for a model that is an environment: `file` is the picture, and there are no
 * materials. Makes one texture: a cube of environment.size, BC6H with texture.encoding bc, else RGBA16F, with
 * the key HobIrradiance (ktx2.h). Ignores texture.max_size and texture.mipmaps. */
#ifndef HOB_ENVIRONMENT_BAKE_H
#define HOB_ENVIRONMENT_BAKE_H

#include "texture.h"

/* Errors: SKIPPED for a picture that is not twice as wide as high; the reader's; MEMORY. */
bool hob_environment_bake(const hob_texture_request *request, hob_bytes file, hob_arena *result,
						  hob_arena *scratch, hob_notes *notes, hob_baked_texture **textures, uint32_t *count,
						  hob_baked_materials *out, hob_error *err) HOB_MUST_CHECK;

#endif

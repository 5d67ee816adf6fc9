/* texture.h - every picture that a model's materials name, made ready for the GPU.
 *
 * For each slot of each material the use is known (schema of hob_slot), so that base colours are filtered as
 * light, normals as directions, masks as numbers. Slots that need the same pixels in the same treatment share
 * one output; related channels in separate files are packed:
 *
 *   opacity map                -> alpha of the base colour (keyed by the pair: who shares a base colour keeps
 *                              it).
 *                                 Without a base colour map, one is made.
 *   occlusion, roughness, metallic -> R, G, B of one picture, which METAL_ROUGH and OCCLUSION both refer to
 *   bump map                   -> normal map, unless the picture is a normal map already
 *   specular-glossiness        -> base colour and metallic-roughness, texel by texel (hob_made_image)
 *
 * Pictures are packed only where their texture coordinates agree; otherwise they stay in their own slots and
 * a note says so. Sizes that differ are scaled to the larger.
 *
 * Never fatal: a picture that is missing, misspelt, damaged or over the limits. A wrong case or folder is
 * repaired and reported with the right spelling; else a checker (colours) or a neutral value (normals, masks)
 * replaces it, the image is flagged HOB_IMAGE_PLACEHOLDER and a warning says what to do. Fatal: IO and
 * CHANGED errors of a read, and MEMORY.
 *
 * What settings.texture_* make of it:
 *   rgba8   KTX2: RGBA8, normals RG8, masks R8 or RG8; HDR pictures RGBA16F
 *   bc      KTX2: BC7 (small: BC1, BC3), normals BC5, masks BC4 or BC5; HDR colours BC6H, or RGBA16F where a
 *           material takes their alpha. A side that is no multiple of four is scaled to the next one
 *           (browsers demand it); below four, or sampled NEAREST, the picture stays uncompressed.
 *   astc    KTX2: ASTC 4x4 for normals, 6x6 else, when Hob was built with astcenc; else as rgba8, with a note
 *   source  the file as it is, however large; what is packed becomes a PNG
 *   png     an RGBA or RGB PNG of level 0; request->png asks for it whatever the settings say
 * Pictures over texture.max_size are scaled down, aspect kept. KTX2 and DDS sources that hold the asked
 * blocks already are passed on untouched, without the levels over the size; where they have one level only,
 * the others are added to it. ETC2, signed BC6H and HDR in Basis Universal are always passed on; ETC1S and
 * UASTC with texture_basis KEEP alone.
 *
 * Each output is a part of its own (see hob_parts), keyed by the sources' bytes, the treatment and the
 * settings. */
#ifndef HOB_TEXTURE_H
#define HOB_TEXTURE_H

#include "../base/parts.h"
#include "../model/baked.h"
#include "../model/model.h"
#include "../settings/settings.h"

/* Part of every texture's key and, through hob_textures_libraries(), of the cook key: raised when output
 * changes. */
#define HOB_TEXTURE_VERSION 15

typedef struct hob_texture_request {
	const hob_io *io;
	hob_str folder; /* of the model below the root, for pictures that are not where the model says */
	uint32_t material_count, image_count, sampler_count, variant_count;
	const hob_material *materials; /* as hob_model_check() leaves them: slots are in range */
	const hob_image *images;
	const hob_sampler *samplers;
	const hob_str *variants;
	hob_settings settings;
	bool png;
	/* for a preview: bc and astc give what rgba8 gives, except where a source has such blocks; no zstd */
	bool soonest;
	const hob_parts *parts;		  /* may be NULL */
	const hob_parallel *parallel; /* may be NULL */
} hob_texture_request;

/* One blob, beside the record of the same index in hob_baked_materials.images. */
typedef struct hob_baked_texture {
	hob_bytes bytes;
	uint8_t sha256[32];
} hob_baked_texture;

/* Chooses the alpha mode of materials that have an opacity map and are OPAQUE so far, by what the map holds:
 * MASK where it is 0 or 1 alone (or cannot be read), BLEND else. Importers leave the choice to this. Call it
 * before meshes are baked, which depend on the mode. Errors: as hob_textures_bake. */
bool hob_texture_settle_alpha(const hob_texture_request *request, hob_material *materials, hob_arena *scratch,
							  hob_error *err) HOB_MUST_CHECK;

/* Reads, plans, decodes, packs, filters, compresses. Slots of out->materials refer to out->images. Pictures
 * that no material uses are not read. `result` holds all that is returned; `scratch` is given back. Pictures
 * run side by side, the few large ones one after another with their rows side by side; the result does not
 * depend on it. Memory: about 25 bytes a pixel of the largest picture, and of each one worked on beside
 * it. */
bool hob_textures_bake(const hob_texture_request *request, hob_arena *result, hob_arena *scratch,
					   hob_notes *notes, hob_baked_texture **textures, uint32_t *count,
					   hob_baked_materials *out, hob_error *err) HOB_MUST_CHECK;

/* "textures 2, zstd 1.5.4, libdeflate 1.14, ...": the versions that decide output bytes, ours and the
 * libraries'. Other processors than x86-64 are named, too: libraries are compiled for each, and
 * meshoptimizer's levels of detail may then differ a little. */
const char *hob_textures_libraries(void);

#endif

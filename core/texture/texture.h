/* texture.h - prepares every picture of a model's materials for the GPU.
 *
 * The slot (hob_slot) determines the use: base colours are filtered as light, normals as directions, masks as
 * numbers. Slots that need the same pixels with the same treatment share one output; related channels in
 * separate files are packed:
 *
 *   opacity map                    -> alpha of the base colour, whose map is made if there is none. Other
 *                                     materials with that base colour keep it as it is
 *   occlusion, roughness, metallic -> R, G, B of one picture, which METAL_ROUGH and OCCLUSION both refer to
 *   bump map                       -> normal map, unless the picture is a normal map already
 *   specular-glossiness            -> base colour and metallic-roughness, texel by texel (hob_made_image)
 *
 * Pictures are packed only if their texture coordinates agree; otherwise they stay in their own slots, with a
 * note. The smaller of two sizes is scaled up.
 *
 * Never fatal: a picture that is missing, misspelt, damaged or over the limits. A wrong case or folder is
 * repaired and reported with the right spelling; otherwise a checker (colours) or a neutral value (normals,
 * masks) replaces the picture, the image is flagged HOB_IMAGE_PLACEHOLDER and a warning gives the remedy.
 * Fatal: IO and CHANGED errors of a read, and MEMORY.
 *
 * Result by settings.texture_*:
 *   rgba8   KTX2: RGBA8, normals RG8, masks R8 or RG8; HDR pictures RGBA16F
 *   bc      KTX2: BC7 (small: BC1, BC3), normals BC5, masks BC4 or BC5; HDR colours BC6H, or RGBA16F where a
 *           material uses their alpha. Sides that are no multiples of four are kept, or scaled to multiples
 *           (texture_sides FOURS). Uncompressed stay pictures below four pixels, those sampled NEAREST, and
 *           those of up to 256 x 256 pixels whose blocks are off by more than 1 of 255 (root mean square).
 *   astc    KTX2: ASTC 4x4 for normals, 6x6 else, when Hob was built with astcenc; else as rgba8, with a note
 *   source  the file itself, at any size; packed pictures become a PNG
 *   png     an RGBA or RGB PNG of level 0; request->png overrides the settings
 * Normals keep three channels, of any length, where some point into the surface (bc: BC7) or where bc leaves
 * them uncompressed.
 * Pictures over texture.max_size are scaled down, aspect kept. KTX2 and DDS sources with the requested blocks
 * are passed on, without the levels over the size; if they have one level only, the others are added. ETC2,
 * signed BC6H and HDR in Basis Universal are always passed on; ETC1S and UASTC only with texture_basis KEEP.
 *
 * Each output is a part of its own (see hob_parts), keyed by the sources' bytes, the treatment and the
 * settings. */
#ifndef HOB_TEXTURE_H
#define HOB_TEXTURE_H

#include "../base/parts.h"
#include "../model/baked.h"
#include "../model/model.h"
#include "../settings/settings.h"

/* Part of every texture's key and, through hob_textures_libraries(), of the cook key: raise it when output
 * changes. */
#define HOB_TEXTURE_VERSION 18

typedef struct hob_texture_request {
	const hob_io *io;
	/* folder of the model relative to the root, for pictures that are not at the stated path */
	hob_str folder;
	uint32_t material_count, image_count, sampler_count, variant_count;
	const hob_material *materials; /* checked by hob_model_check(): slots are in range */
	const hob_image *images;
	const hob_sampler *samplers;
	const hob_str *variants;
	hob_settings settings;
	bool png;
	/* for a preview: bc and astc act as rgba8, except for sources that have such blocks; no zstd */
	bool soonest;
	const hob_parts *parts;		  /* may be NULL */
	const hob_parallel *parallel; /* may be NULL */
} hob_texture_request;

/* A blob; its record has the same index in hob_baked_materials.images. */
typedef struct hob_baked_texture {
	hob_bytes bytes;
	uint8_t sha256[32];
} hob_baked_texture;

/* Sets the alpha mode of OPAQUE materials with an opacity map: MASK if the map contains only 0 and 1 (or
 * cannot be read), else BLEND. Importers leave this choice to it. Call it before meshes are baked, which
 * depend on the mode. Errors: as hob_textures_bake. */
bool hob_texture_settle_alpha(const hob_texture_request *request, hob_material *materials, hob_arena *scratch,
							  hob_error *err) HOB_MUST_CHECK;

/* Reads, plans, decodes, packs, filters, compresses. Slots of out->materials refer to out->images. Unused
 * pictures are not read. `result` holds everything returned; `scratch` is released. Pictures run in parallel,
 * the few large ones one after another with their rows in parallel; the result does not depend on it. Memory:
 * about 25 bytes per pixel of the largest picture, and of each picture baked at the same time. */
bool hob_textures_bake(const hob_texture_request *request, hob_arena *result, hob_arena *scratch,
					   hob_notes *notes, hob_baked_texture **textures, uint32_t *count,
					   hob_baked_materials *out, hob_error *err) HOB_MUST_CHECK;

/* Bakes an environment picture into a cube map as a KTX2 file.
 *
 * Replaces hob_textures_bake() for a model that is an environment: `file` is the picture, and there are no
 * materials. Makes one texture: a cube of environment.size, BC6H with texture.encoding bc, else RGBA16F, with
 * the key HobIrradiance (ktx2.h). Ignores texture.max_size and texture.mipmaps.
 * Errors: SKIPPED for a picture that is not twice as wide as high; the reader's; MEMORY. */
bool hob_environment_bake(const hob_texture_request *request, hob_bytes file, hob_arena *result,
						  hob_arena *scratch, hob_notes *notes, hob_baked_texture **textures, uint32_t *count,
						  hob_baked_materials *out, hob_error *err) HOB_MUST_CHECK;

/* Writes hob_picture_fact bits by image of the request, 0 for one that cannot be decoded: of alpha channels,
 * of normal maps. Decodes the pictures that may have them. False: no memory. */
bool hob_textures_look_at(const hob_texture_request *request, bool alpha, bool normals, hob_arena *scratch,
						  uint8_t *facts) HOB_MUST_CHECK;

/* "textures 2, zstd 1.5.4, libdeflate 1.14, ...": the versions that determine output bytes, ours and the
 * libraries'. Processors other than x86-64 are included: libraries are compiled for each, and meshoptimizer's
 * levels of detail may differ slightly. */
const char *hob_textures_libraries(void);

#endif

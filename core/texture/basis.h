/* basis.h - decodes the Basis Universal textures of KTX2 files: ETC1S under BasisLZ, and UASTC LDR 4x4.
 *
 * Hob decodes them while cooking, so that every renderer gets the format of the settings; with the setting
 * texture.basis the file is kept for renderers with a transcoder. Both readers take untrusted input: every
 * count, offset and code is checked, and work is bounded by the size of the picture.
 *
 * Source   KTX File Format Specification 2.0, appendix "BasisLZ/ETC1S Bitstream"; Khronos Data Format
 *          Specification 1.4, chapters ETC1S and ASTC; "UASTC LDR 4x4 Texture Specification" of Basis
 *          Universal, which is in the public domain. */
#ifndef HOB_BASIS_H
#define HOB_BASIS_H

#include "gpu_format.h"

/* colorModel of the data format descriptor. */
enum { HOB_BASIS_ETC1S = 163, HOB_BASIS_UASTC = 166 };

/* Reads the descriptor and the global data of a KTX2 file with vkFormat 0 into out->basis_*. An unknown model
 * (HDR) leaves basis_model 0. Errors: TRUNCATED, CORRUPT. */
bool hob_basis_open(hob_bytes file, hob_gpu_texture *out, hob_error *err) HOB_MUST_CHECK;

/* Channels after decoding: 3 (with blue 0 if the file has only R and G) or 4. */
uint32_t hob_basis_channels(const hob_gpu_texture *texture);

/* Decodes level 0 to RGBA8, [height][width][4].
 *
 * level     its bytes, after zstd decompression
 * arena     for tables; the caller restores it
 * Errors    TRUNCATED, CORRUPT, UNSUPPORTED (a video frame). Called within hob_guarded. Cost about 20 ns per
 *           pixel. */
bool hob_basis_decode(const hob_gpu_texture *texture, hob_bytes level, hob_arena *arena, uint8_t *pixels,
					  hob_error *err) HOB_MUST_CHECK;

/* Decodes one block of UASTC, out [16][4]. False for an invalid block; out is then magenta. */
bool hob_uastc_decode_block(const uint8_t block[16], uint8_t out[64]);

/* Decodes the ETC1S slices of level 0: colour, and alpha if present. */
bool hob_etc1s_decode(const hob_gpu_texture *texture, hob_bytes level, hob_arena *arena, uint8_t *pixels,
					  hob_error *err) HOB_MUST_CHECK;

#endif

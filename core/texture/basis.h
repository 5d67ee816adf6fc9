/* basis.h - Basis Universal textures of KTX2 files as pixels: ETC1S under BasisLZ, and UASTC LDR 4x4.
 *
 * Hob unpacks them when it cooks, so that every renderer gets the format that the settings ask for; the
 * setting texture.basis keeps the file for renderers with a transcoder. Both readers take bytes from anybody:
 * every count, offset and code is checked, work is bounded by the size of the picture.
 *
 * Source   KTX File Format Specification 2.0, appendix "BasisLZ/ETC1S Bitstream"; Khronos Data Format
 *          Specification 1.4, chapters ETC1S and ASTC; "UASTC LDR 4x4 Texture Specification" of Basis
 *          Universal, which is in the public domain. */
#ifndef HOB_BASIS_H
#define HOB_BASIS_H

#include "gpu_format.h"

/* colorModel of the data format descriptor. */
enum { HOB_BASIS_ETC1S = 163, HOB_BASIS_UASTC = 166 };

/* Reads the descriptor and the global data of a KTX2 file whose vkFormat is 0 into out->basis_*. A model that
 * Hob does not know (HDR) leaves basis_model 0. Errors: TRUNCATED, CORRUPT. */
bool hob_basis_open(hob_bytes file, hob_gpu_texture *out, hob_error *err) HOB_MUST_CHECK;

/* R, RG, RGB or RGBA that decoding gives: 3 (two channels come as R and G, blue 0) or 4. */
uint32_t hob_basis_channels(const hob_gpu_texture *texture);

/* Level 0 as RGBA8, [height][width][4].
 *
 * level     its bytes, after zstd decompression
 * arena     for tables; what the caller restores
 * Errors    TRUNCATED, CORRUPT, UNSUPPORTED (a frame of a video), MEMORY. Cost about 20 ns a pixel. */
bool hob_basis_decode(const hob_gpu_texture *texture, hob_bytes level, hob_arena *arena, uint8_t *pixels,
					  hob_error *err) HOB_MUST_CHECK;

/* One block of UASTC; false when it breaks the format, out is magenta then. out [16][4]. */
bool hob_uastc_decode_block(const uint8_t block[16], uint8_t out[64]);

/* ETC1S slices of level 0: colour, and the other one where there is any. */
bool hob_etc1s_decode(const hob_gpu_texture *texture, hob_bytes level, hob_arena *arena, uint8_t *pixels,
					  hob_error *err) HOB_MUST_CHECK;

#endif

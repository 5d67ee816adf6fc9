/* astc.h - encodes and decodes ASTC blocks with astcenc (astc_shim.cpp); without astcenc, astc_none.c
 * refuses. Cost: 0.5 to 5 million pixels per second and thread, and some milliseconds per hob_astc_open(). */
#ifndef HOB_ASTC_H
#define HOB_ASTC_H

#include "../base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hob_astc hob_astc;

bool hob_astc_available(void);

/* `side`: of a block, 4 to 6. `channels`: bit k is set if channel k is used; unused ones are not stored. R
 * alone is repeated in R, G and B; R and G stay in R and G. `quality`: 0 fast, 1 good, 2 best. NULL without
 * memory. */
hob_astc *hob_astc_open(uint32_t side, bool srgb, uint32_t channels, uint32_t quality, uint32_t threads);

/* Compresses one RGBA8 level into whole blocks of 16 bytes. `parallel` has the threads of hob_astc_open(), or
 * is NULL for one. The result does not depend on their number. */
bool hob_astc_encode(hob_astc *astc, const uint8_t *pixels, uint32_t width, uint32_t height,
					 const hob_parallel *parallel, uint8_t *out, size_t size);

void hob_astc_close(hob_astc *astc); /* NULL is allowed */

/* Decodes one level of whole blocks into RGBA8; damaged or HDR blocks become magenta. False when memory is
 * short. */
bool hob_astc_decode(const uint8_t *blocks, size_t size, uint32_t block_width, uint32_t block_height,
					 bool srgb, uint32_t width, uint32_t height, uint8_t *pixels);

#ifdef __cplusplus
}
#endif
#endif

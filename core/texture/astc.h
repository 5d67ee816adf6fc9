/* astc.h - ASTC blocks by astcenc (its header is C++, so the implementation is a small shim), when Hob is built with
 * it. Cost: 1 to 6 million pixels a second and thread. */
#ifndef HOB_ASTC_H
#define HOB_ASTC_H

#include "gpu_format.h"

#ifdef __cplusplus
extern "C" {
#endif

bool hob_astc_available(void);
/* "astcenc 4.2.0", or "" */
const char *hob_astc_version(void);

/* Compresses one level RGBA8 into `out` (hob_gpu_level_bytes() bytes). quality: 0 fast, 1 good, 2 best. */
bool hob_astc_encode(const uint8_t *pixels, uint32_t width, uint32_t height, const hob_gpu_format *format,
					 uint32_t quality, const hob_parallel *parallel, uint8_t *out, hob_error *err);

#ifdef __cplusplus
}
#endif
#endif

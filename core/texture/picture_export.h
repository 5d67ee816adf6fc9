/* picture_export.h - exports a cooked texture as a common picture file. */
#ifndef HOB_PICTURE_EXPORT_H
#define HOB_PICTURE_EXPORT_H

#include "../base/base.h"

/* Appends level 0 to `out` as a PNG (or as the kept JPEG); on failure `out` is unchanged.
 *
 * blob     an image blob in any encoding that Hob writes: KTX2 uncompressed, BC or ASTC, raw or zstd; PNG and
 *          JPEG are copied
 * flags    HOB_IMAGE_* of the image's record: with NORMAL_XY, z is computed into blue. Half floats are
 *          clipped at white and become sRGB codes
 * scratch  for pixels: 4 bytes per pixel and the level itself, 24 for half floats; released
 * Errors   UNSUPPORTED: blocks that cannot be decoded, and other files kept by the encoding `source` (the
 *          text gives the setting that helps); CORRUPT, TRUNCATED, LIMIT, MEMORY
 * Cost     0.05 microseconds per pixel, mostly for the PNG */
bool hob_picture_export(hob_bytes blob, uint32_t flags, hob_arena *scratch, hob_buf *out,
						hob_error *err) HOB_MUST_CHECK;

#endif

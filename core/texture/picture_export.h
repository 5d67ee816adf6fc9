/* picture_export.h - a cooked texture as a picture file that any program opens. */
#ifndef HOB_PICTURE_EXPORT_H
#define HOB_PICTURE_EXPORT_H

#include "../base/base.h"

/* Appends a PNG (or the JPEG that was kept) of level 0 to `out`, untouched on failure.
 *
 * blob     an image blob in any encoding that Hob writes: KTX2 uncompressed, BC or ASTC, raw or zstd; PNG and
 *          JPEG are taken as they are
 * flags    HOB_IMAGE_* of the image's record: NORMAL_XY gets its z in blue. Half floats are clipped at white
 *          and become sRGB codes
 * scratch  pixels live here meanwhile: 4 bytes a pixel and the level's own, 24 for half floats; given back
 * Errors   UNSUPPORTED: blocks that cannot be unpacked, and the other files that the encoding
 *          `source` keeps (the text says how to cook it else); CORRUPT, TRUNCATED, LIMIT, MEMORY
 * Cost     0.05 microseconds a pixel, most of it for the PNG */
bool hob_picture_export(hob_bytes blob, uint32_t flags, hob_arena *scratch, hob_buf *out,
						hob_error *err) HOB_MUST_CHECK;

#endif

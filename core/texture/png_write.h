/* png_write.h - PNG files: 8 bits per channel, the filter of each row chosen by the least sum of absolute
 * differences, compressed by libdeflate. */
#ifndef HOB_PNG_WRITE_H
#define HOB_PNG_WRITE_H

#include "../base/base.h"

/* pixels [height][width][4]; a picture without transparency is written as RGB. Called within hob_guarded. */
void hob_png_write(const uint8_t *pixels, uint32_t width, uint32_t height, bool opaque, hob_buf *out);

/* The neighbour that the filter of this name predicts. */
uint8_t hob_png_paeth(int left, int above, int corner);

#endif

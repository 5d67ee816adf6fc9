/* difference.h - two pictures of one camera, and where they differ. */
#ifndef SRV_DIFFERENCE_H
#define SRV_DIFFERENCE_H

/* Below that (of 255) two pixels are the same: rounding along edges. */
enum { SRV_DIFFERENCE_SEEN = 12 };

/* before, after: [size][size][4], RGBA. strip: [size][3 * size][4]: before, after, and the difference: what is the same grey and
 * faint, what differs from yellow to red, and a ring around the place that differs most. Returns the share of pixels that
 * differ, of those that either picture covers. */
float srv_difference_strip(const unsigned char *before, const unsigned char *after, int size,
						   unsigned char *strip);

#endif

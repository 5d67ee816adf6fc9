/* difference.h - compares two pictures from one camera and shows where they differ. */
#ifndef SRV_DIFFERENCE_H
#define SRV_DIFFERENCE_H

/* Below that (of 255) two pixels are the same: rounding along edges. */
enum { SRV_DIFFERENCE_SEEN = 12 };

/* before, after: [size][size][4], RGBA. strip: [size][3 * size][4]: before, after, and the difference: equal
 * parts are grey and faint, differing ones yellow to red, with a ring around the largest difference. Returns
 * the share of pixels that differ, of those that either picture covers. */
float srv_difference_strip(const unsigned char *before, const unsigned char *after, int size,
						   unsigned char *strip);
/* Tints blue what does not differ in the strip and is covered by `renamed`, [size][size][4]. */
void srv_difference_rename(const unsigned char *renamed, int size, unsigned char *strip);

#endif

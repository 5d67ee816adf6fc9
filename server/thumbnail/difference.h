/* difference.h - compares two pictures from one camera and marks their differences. */
#ifndef SRV_DIFFERENCE_H
#define SRV_DIFFERENCE_H

/* Smaller differences, of 255, are rounding along edges and do not count. */
enum { SRV_DIFFERENCE_SEEN = 12 };

/* before, after: [size][size][4], RGBA. strip: [size][3 * size][4]: before, after, and the difference: equal
 * parts are grey and faint, differing ones yellow to red, with a ring around the largest difference. Returns
 * the share of differing pixels among those that either picture covers. */
float srv_difference_strip(const unsigned char *before, const unsigned char *after, int size,
						   unsigned char *strip);
/* Tints the parts of the strip blue that do not differ and are covered in `renamed`, [size][size][4]. */
void srv_difference_rename(const unsigned char *renamed, int size, unsigned char *strip);

#endif

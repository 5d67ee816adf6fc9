/* drawn.h - shared by the files of the thumbnailer: what it does with two drawn models. */
#ifndef SRV_DRAWN_H
#define SRV_DRAWN_H

#include "../../core/runtime/draw/draw_view.h"

/* ---- difference.c: compares two pictures from one camera and marks their differences */

/* Smaller differences, of 255, are rounding along edges and do not count. */
enum { SRV_DIFFERENCE_SEEN = 12 };

/* before, after: [size][size][4], RGBA. strip: [size][3 * size][4]: before, after, and the difference: equal
 * parts are grey and faint, differing ones yellow to red, with a ring around the largest difference. Returns
 * the share of differing pixels among those that either picture covers. */
float srv_difference_strip(const unsigned char *before, const unsigned char *after, int size,
						   unsigned char *strip);
/* Tints the parts of the strip blue that do not differ and are covered in `renamed`, [size][size][4]. */
void srv_difference_rename(const unsigned char *renamed, int size, unsigned char *strip);

/* ---- renamed.c: finds draws with new names */

/* [after->draw_count], to be freed: 1 for a draw whose material or mesh has a name that nothing of its kind
 * in `before` has, or whose node, or a node above, has such a name. NULL: there is none, or memory ran out.
 * Only the first SRV_RENAMED_NAMES materials and meshes are examined. */
unsigned char *srv_renamed_draws(const hob_rt_asset *before, const hob_rt_asset *after);

enum { SRV_RENAMED_NAMES = 2048 };

/* ---- posed.c: poses two models by a clip so that their pictures differ most */

typedef struct srv_posed {
	const hob_rt_asset *asset;
	hob_rt_instance *instance;
	draw_model *model;
} srv_posed;

/* Tries several times of the clip `clip`, on both models and with one camera, and leaves the instances in the
 * pose with the largest difference. A model without the clip stays at rest; one whose clip is shorter holds
 * its end. Needs the context of a surface of at least SRV_POSED_PIXELS, and leaves its viewport at `size`
 * pixels. False: neither model has the clip, or memory ran out. */
bool srv_posed_apart(const srv_posed models[2], const char *clip, float yaw, float pitch, int size);

enum { SRV_POSED_PIXELS = 96 };

#endif

/* posed.h - poses two models by a clip so that their pictures differ most. */
#ifndef SRV_POSED_H
#define SRV_POSED_H

#include "../../core/runtime/draw/draw_view.h"

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

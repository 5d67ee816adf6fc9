/* renamed.h - finds draws with new names. */
#ifndef SRV_RENAMED_H
#define SRV_RENAMED_H

#include "../../core/runtime/draw/draw_model.h"

/* [after->draw_count], to be freed: 1 for a draw whose material or mesh has a name that nothing of its kind
 * in `before` has, or whose node, or a node above, has such a name. NULL: there is none, or memory ran out.
 * Only the first SRV_RENAMED_NAMES materials and meshes are examined. */
unsigned char *srv_renamed_draws(const hob_rt_asset *before, const hob_rt_asset *after);

enum { SRV_RENAMED_NAMES = 2048 };

#endif

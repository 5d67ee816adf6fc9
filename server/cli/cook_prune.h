/* cook_prune.h - outputs of `hob cook` whose source is gone. */
#ifndef CLI_COOK_PRUNE_H
#define CLI_COOK_PRUNE_H

#include "cook_plan.h"

/* Removes what earlier runs wrote into `out` for sources that do not exist any more, then the textures that no materials file
 * below `out` names, and folders that become empty. An output counts as such when a report of a cook (NAME.report.json) lies beside
 * it and no folder that outputs of this plan are named from holds NAME. Links are not followed. Textures stay when a materials
 * file cannot be read. Says which sources on stderr, unless quiet. Errors: IO. */
bool srv_cook_prune(const char *out, const cook_plan *plan, bool quiet, hob_error *err) HOB_MUST_CHECK;

#endif

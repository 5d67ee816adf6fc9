/* cook_prune.h - removes outputs of `hob cook` whose source no longer exists. */
#ifndef CLI_COOK_PRUNE_H
#define CLI_COOK_PRUNE_H

#include "cook_plan.h"

/* Removes the outputs that earlier runs wrote to `out` for sources that no longer exist, then the textures
 * that no materials file below `out` names, and folders that become empty. A file is an output if the report
 * of its cook (NAME.report.json) is beside it. Its source is gone if NAME is in none of the folders that this
 * plan's names are relative to. Links are not followed. If a materials file cannot be read, all textures
 * stay. Prints the removed sources on stderr, unless quiet. Errors: IO. */
bool srv_cook_prune(const char *out, const cook_plan *plan, bool quiet, hob_error *err) HOB_MUST_CHECK;

#endif

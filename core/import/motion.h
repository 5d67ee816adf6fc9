/* motion.h - finds clips that throw a model far out of its own size, as misread or broken keys do. */
#ifndef HOB_IMPORT_MOTION_H
#define HOB_IMPORT_MOTION_H

#include "importer.h"

/* Adds a warning for each clip that moves or scales some node, or weighs some morph target, a million
 * times beyond the size of the model at rest; curves are looked at between their keys, too. The bound adds
 * up the largest translations and scales of ancestors, at whatever times they occur. Errors: MEMORY. Cost
 * O(vertices + clips * (nodes + keys)). */
bool hob_check_motion(const hob_model *model, hob_arena *scratch, hob_notes *notes,
					  hob_error *err) HOB_MUST_CHECK;

#endif

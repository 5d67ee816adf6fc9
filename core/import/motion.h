/* motion.h - finds clips that move a model far beyond its own size, as misread or damaged keys do. */
#ifndef HOB_IMPORT_MOTION_H
#define HOB_IMPORT_MOTION_H

#include "importer.h"

/* Adds a warning for each clip that moves, scales or morphs a node, or weights a target, a million times
 * beyond the model's size at rest. Curves are also checked between keys. The bound adds up the largest
 * translations and scales of ancestors, whenever they occur.
 * Cost O(vertices * (1 + targets) + clips * (nodes + keys)). */
void hob_check_motion(const hob_model *model, hob_arena *scratch, hob_notes *notes);

#endif

/* motion.h - what readers of keys share, and the check of their clips. */
#ifndef HOB_IMPORT_MOTION_H
#define HOB_IMPORT_MOTION_H

#include "importer.h"

/* Sorts times and removes equal ones; returns how many remain. */
uint32_t hob_times_sort(double *times, uint32_t count);
/* Whether a track stays at the rest value [components], up to `share` of it, and so animates nothing. A
 * rotation may also stay at the opposite, which is the same. */
bool hob_track_rests(const hob_track *track, const float *rest, bool rotation, float share);

/* Adds a warning for each clip that moves, scales or morphs a node, or weights a target, a million times
 * beyond the model's size at rest. Curves are also checked between keys. The bound adds up the largest
 * translations and scales of ancestors, whenever they occur.
 * Cost O(vertices * (1 + targets) + clips * (nodes + keys)). */
void hob_check_motion(const hob_model *model, hob_arena *scratch, hob_notes *notes);

#endif

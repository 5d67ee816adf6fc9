/* material_ranges.h - the range of every material factor, and the treatment of values outside it. */
#ifndef HOB_MATERIAL_RANGES_H
#define HOB_MATERIAL_RANGES_H

#include "../model/model.h"

/* Clamps every factor into its range (NaN becomes the default), with one note per changed field. Moves the
 * part of an emissive colour above 1 into emissive_strength. */
void hob_material_clamp(hob_material *material, hob_notes *notes);

#endif

/* budget.h - what a model may cost according to its settings: triangles, draws, cooked bytes, texture
 * sides. */
#ifndef HOB_BUDGET_H
#define HOB_BUDGET_H

#include "cook.h"

/* Compares the cook with the budgets in `settings`; 0 means no budget. Each exceeded budget adds a warning
 * "budget.<name>". The bytes of a preview are not checked, because they differ from the final ones. outputs:
 * those made so far, with the textures. The longest side of a texture is read from its KTX2 or PNG header. */
void hob_budget_check(const hob_settings *settings, hob_profile profile, const hob_cook_stats *stats,
					  const hob_cook_output *outputs, uint32_t output_count, hob_notes *notes);

#endif

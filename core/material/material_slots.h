/* material_slots.h - empties texture slots that have no visible effect. */
#ifndef HOB_MATERIAL_SLOTS_H
#define HOB_MATERIAL_SLOTS_H

#include "../model/model.h"

/* Bits 1 << hob_property: the factors of a material that clips animate. */
typedef uint64_t hob_driven_factors;

/* Empties the slots of extensions that the material does not have, and those hidden by a zero factor, with a
 * note each; makes all empty slots equal. An animated factor hides nothing. Returns the number of emptied
 * slots. */
uint32_t hob_material_clear_slots(hob_material *material, hob_driven_factors driven, hob_notes *notes);

/* The name of a slot in messages: "base colour". */
const char *hob_slot_name(hob_slot slot);

/* ---- material_ranges.c: the range of every factor, and what becomes of values outside it ---- */

/* Clamps every factor into its range (NaN becomes the default), with one note per changed field. Moves the
 * part of an emissive colour above 1 into emissive_strength. */
void hob_material_clamp(hob_material *material, hob_notes *notes);

#endif

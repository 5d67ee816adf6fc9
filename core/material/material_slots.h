/* material_slots.h - texture slots that cannot be seen. */
#ifndef HOB_MATERIAL_SLOTS_H
#define HOB_MATERIAL_SLOTS_H

#include "../model/model.h"

/* Bits 1 << hob_property: what clips drive of a material. */
typedef uint64_t hob_driven_factors;

/* Empties the slots of extensions that the material does not have, and those that a zero factor hides, with a
 * note each; makes all empty slots equal. A factor that a clip drives hides nothing. Returns the number of
 * emptied slots. */
uint32_t hob_material_clear_slots(hob_material *material, hob_driven_factors driven, hob_notes *notes);

/* The name of a slot in messages: "base colour". */
const char *hob_slot_name(hob_slot slot);

#endif

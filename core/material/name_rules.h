/* name_rules.h - the reference converter's guesses from names: glass is transparent, metal is metallic.
 *
 * Only with the setting name_rules: they fit the scene that they were written for (Bistro), and surprise
 * elsewhere ("GlassMetal" is glass, "Fiberglass" is nothing). Case matters; a rule matches if its text occurs
 * anywhere in the name. */
#ifndef HOB_NAME_RULES_H
#define HOB_NAME_RULES_H

#include "../model/model.h"

/* Applies the first matching rule for the material's name, and the first for the picture's. `base_color_file`
 * is the path or name of the picture in the base colour slot, may be empty. Returns whether any rule
 * matched. */
bool hob_name_rules_apply(hob_material *material, hob_str base_color_file);

#endif

/* name_rules.h - the reference converter's guesses from names: glass is transparent, metal is metallic.
 *
 * Only with the setting name_rules: they fit the scene that they were written for (Bistro), and surprise
 * elsewhere ("GlassMetal" is glass, "Fiberglass" is nothing). Case matters; a rule matches if its text occurs
 * anywhere in the name. */
#ifndef HOB_NAME_RULES_H
#define HOB_NAME_RULES_H

#include "../model/model.h"

typedef enum hob_rule_subject { HOB_RULE_MATERIAL_NAME, HOB_RULE_BASE_COLOR_FILE } hob_rule_subject;

typedef struct hob_name_rule {
	hob_rule_subject subject;
	const char *text;
	bool transparent;	/* alpha mode becomes BLEND */
	float transparency; /* above 0: base colour alpha becomes 1 - transparency */
	float alpha_cutoff; /* above 0: set */
	float metallic;		/* above 0: set, and roughness with it */
	float roughness;
} hob_name_rule;

extern const hob_name_rule hob_name_rules[];
extern const uint32_t hob_name_rule_count;

/* Applies the first matching rule for the material's name, and the first for the picture's. `base_color_file`
 * is the path or name of the picture in the base colour slot, may be empty. Returns whether any rule
 * matched. */
bool hob_name_rules_apply(hob_material *material, hob_str base_color_file);

#endif

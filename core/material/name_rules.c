#include "name_rules.h"

typedef enum rule_subject { MATERIAL_NAME, BASE_COLOR_FILE } rule_subject;

typedef struct name_rule {
	rule_subject subject;
	const char *text;
	bool transparent;	/* alpha mode becomes BLEND */
	float transparency; /* above 0: base colour alpha becomes 1 - transparency */
	float alpha_cutoff; /* above 0: set */
	float metallic;		/* above 0: set, and roughness with it */
	float roughness;
} name_rule;

static const name_rule rules[] = {
	{BASE_COLOR_FILE, "grey_30", .transparent = true},
	{MATERIAL_NAME, "Glass", .transparent = true, .transparency = 0.1f, .alpha_cutoff = 0.75f},
	{MATERIAL_NAME, "Vespa_Headlight", .transparent = true, .transparency = 0.1f, .alpha_cutoff = 0.75f},
	{MATERIAL_NAME, "Bottle", .transparent = true, .transparency = 0.4f, .alpha_cutoff = 0.54f},
	{MATERIAL_NAME, "Metal", .metallic = 1, .roughness = 0.1f},
};

static void apply(const name_rule *rule, hob_material *material)
{
	if (rule->transparent)
		material->alpha_mode = HOB_ALPHA_BLEND;
	if (rule->transparency > 0)
		material->base_color[3] = 1 - rule->transparency;
	if (rule->alpha_cutoff > 0)
		material->alpha_cutoff = rule->alpha_cutoff;
	if (rule->metallic > 0) {
		material->metallic = rule->metallic;
		material->roughness = rule->roughness;
	}
}

bool hob_name_rules_apply(hob_material *material, hob_str base_color_file)
{
	hob_str subjects[] = {[MATERIAL_NAME] = material->name, [BASE_COLOR_FILE] = base_color_file};
	bool done[HOB_COUNT_OF(subjects)] = {false};
	for (uint32_t i = 0; i < HOB_COUNT_OF(rules); i++) {
		const name_rule *rule = &rules[i];
		if (done[rule->subject] ||
			hob_str_find(subjects[rule->subject], hob_str_of(rule->text), 0) == SIZE_MAX)
			continue;
		apply(rule, material);
		done[rule->subject] = true;
	}
	return done[MATERIAL_NAME] || done[BASE_COLOR_FILE];
}

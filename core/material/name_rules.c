#include "name_rules.h"

const hob_name_rule hob_name_rules[] = {
	{HOB_RULE_BASE_COLOR_FILE, "grey_30", .transparent = true},
	{HOB_RULE_MATERIAL_NAME, "Glass", .transparent = true, .transparency = 0.1f, .alpha_cutoff = 0.75f},
	{HOB_RULE_MATERIAL_NAME, "Vespa_Headlight", .transparent = true, .transparency = 0.1f,
	 .alpha_cutoff = 0.75f},
	{HOB_RULE_MATERIAL_NAME, "Bottle", .transparent = true, .transparency = 0.4f, .alpha_cutoff = 0.54f},
	{HOB_RULE_MATERIAL_NAME, "Metal", .metallic = 1, .roughness = 0.1f},
};
const uint32_t hob_name_rule_count = HOB_COUNT_OF(hob_name_rules);

static void apply(const hob_name_rule *rule, hob_material *material)
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
	hob_str subjects[] = {
		[HOB_RULE_MATERIAL_NAME] = material->name, [HOB_RULE_BASE_COLOR_FILE] = base_color_file};
	bool done[HOB_COUNT_OF(subjects)] = {false};
	for (uint32_t i = 0; i < hob_name_rule_count; i++) {
		const hob_name_rule *rule = &hob_name_rules[i];
		if (done[rule->subject] ||
			hob_str_find(subjects[rule->subject], hob_str_of(rule->text), 0) == SIZE_MAX)
			continue;
		apply(rule, material);
		done[rule->subject] = true;
	}
	return done[HOB_RULE_MATERIAL_NAME] || done[HOB_RULE_BASE_COLOR_FILE];
}

#include "budget.h"

static void compare(hob_notes *notes, const char *code, uint64_t used, uint32_t budget, const char *what)
{
	if (budget > 0 && used > budget)
		hob_note_add(notes, HOB_NOTE_WARNING, code, "%llu %s over the budget of %u", (unsigned long long)used,
					 what, budget);
}

static uint32_t big_endian(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* 0: a picture in a format that is copied unchanged */
static uint32_t longest_side(hob_bytes bytes)
{
	static const uint8_t ktx2[8] = {0xAB, 'K', 'T', 'X', ' ', '2', '0', 0xBB}, png[4] = {0x89, 'P', 'N', 'G'};
	uint32_t width = 0, height = 0;
	if (bytes.size >= 28 && memcmp(bytes.data, ktx2, sizeof ktx2) == 0) {
		width = hob_load_u32(bytes.data + 20);
		height = hob_load_u32(bytes.data + 24);
	} else if (bytes.size >= 24 && memcmp(bytes.data, png, sizeof png) == 0) {
		width = big_endian(bytes.data + 16);
		height = big_endian(bytes.data + 20);
	}
	return width > height ? width : height;
}

void hob_budget_check(const hob_settings *settings, hob_profile profile, const hob_cook_stats *stats,
					  const hob_cook_output *outputs, uint32_t output_count, hob_notes *notes)
{
	uint32_t side = 0;
	for (uint32_t i = 0; i < output_count; i++)
		if (hob_str_starts(outputs[i].name, HOB_STR("textures/")) && longest_side(outputs[i].bytes) > side)
			side = longest_side(outputs[i].bytes);
	compare(notes, "budget.triangles", stats->triangles, settings->budget_triangles, "triangles are");
	compare(notes, "budget.draws", stats->meshes, settings->budget_draws, "draws are");
	compare(notes, "budget.texture_size", side, settings->budget_texture_size,
			"pixels of a texture's side are");
	if (profile == HOB_PROFILE_FINAL)
		compare(notes, "budget.bytes", stats->bytes, settings->budget_bytes, "cooked bytes are");
}

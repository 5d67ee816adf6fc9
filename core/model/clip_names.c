#include "model.h"

static bool name_taken(const hob_model *model, uint32_t clip_count, hob_str name)
{
	for (uint32_t i = 0; i < clip_count; i++)
		if (hob_str_equal(model->clips[i].name, name))
			return true;
	return false;
}

void hob_model_name_clip(hob_model *model, uint32_t index, hob_str name, hob_arena *arena)
{
	hob_str unique = name;
	for (uint32_t n = 2; name_taken(model, index, unique); n++)
		unique = hob_arena_printf(arena, "%.*s_%u", HOB_FMT(name), n);
	model->clips[index].name = unique;
}

void hob_model_short_clip_names(hob_model *model, hob_arena *arena)
{
	for (uint32_t i = 0; i < model->clip_count; i++) {
		hob_str name = model->clips[i].name;
		size_t at = name.len;
		while (at > 0 && name.data[at - 1] != '|')
			at--;
		if (at < name.len)
			name = hob_str_sub(name, at, name.len);
		hob_model_name_clip(model, i, name, arena);
	}
}

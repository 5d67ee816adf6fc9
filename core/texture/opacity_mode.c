#include "texture_stages.h"

enum { CHANNELS = HOB_CHANNEL_LUMINANCE + 1, UNKNOWN = 0, CUT_OUT = 1, BLENDED = 2 };

static bool is_undecided(const hob_material *m)
{
	return m->alpha_mode == HOB_ALPHA_OPAQUE && m->slots[HOB_SLOT_OPACITY].image != HOB_NONE;
}

/* Whether nearly all values are 0 or 255; one in twenty may lie between, as lossy pictures ring along
 * edges. */
static bool is_two_valued(const hob_picture *p, hob_channel_choice channel, bool lossy)
{
	uint32_t slack = lossy ? 16 : 2;
	size_t count = (size_t)p->width * p->height, between = 0;
	if (channel == HOB_CHANNEL_OF_SLOT)
		channel = hob_picture_sees_through(p) ? HOB_CHANNEL_A : HOB_CHANNEL_LUMINANCE;
	for (size_t i = 0; i < count; i++) {
		uint8_t value = channel == HOB_CHANNEL_LUMINANCE
							? hob_picture_luminance(p, 4 * i)
							: hob_picture_byte(p, 4 * i + (size_t)(channel - HOB_CHANNEL_R));
		between += value > slack && value < 255 - slack;
	}
	return between <= (lossy ? count / 20 : 0);
}

static bool judge(const hob_texture_source *source, hob_channel_choice channel, hob_arena *arena,
				  uint8_t *out, hob_error *err)
{
	hob_picture picture;
	hob_error why = {0};
	hob_arena_mark mark = hob_arena_save(arena);
	*out = CUT_OUT;
	if (source->made || !source->usable)
		return true;
	if (hob_texture_load(source, NULL, NULL, arena, &picture, &why)) {
		bool lossy = source->info.format == HOB_PICTURE_JPEG || source->info.format == HOB_PICTURE_WEBP ||
					 source->info.format == HOB_PICTURE_AVIF;
		*out = is_two_valued(&picture, channel, lossy) ? CUT_OUT : BLENDED;
	}
	hob_arena_restore(arena, mark);
	if (why.code != HOB_ERR_MEMORY)
		return true;
	if (err)
		*err = why;
	return hob_fail_in(err, "picture '%.*s'", HOB_FMT(source->label));
}

static bool settle(const hob_texture_request *request, hob_material *materials, uint32_t undecided,
				   hob_arena *arena, hob_error *err)
{
	hob_material *only = HOB_NEW(arena, hob_material, undecided);
	uint8_t *known = HOB_NEW(arena, uint8_t, CHANNELS * (size_t)request->image_count);
	if (!only || !known)
		return hob_fail_memory(err, arena, "opacity maps");
	uint32_t count = 0;
	for (uint32_t i = 0; i < request->material_count; i++) {
		if (!is_undecided(&materials[i]))
			continue;
		hob_material_init(&only[count]);
		only[count++].slots[HOB_SLOT_OPACITY] = materials[i].slots[HOB_SLOT_OPACITY];
	}
	hob_texture_request ask = *request;
	hob_texture_source *sources;
	ask.materials = only;
	ask.material_count = count;
	/* hob_textures_bake reads the pictures again and reports their faults. */
	if (!hob_texture_sources(&ask, arena, NULL, &sources, err))
		return false;
	for (uint32_t i = 0; i < request->material_count; i++) {
		const hob_texture_ref *ref = &materials[i].slots[HOB_SLOT_OPACITY];
		if (!is_undecided(&materials[i]))
			continue;
		uint8_t *verdict = &known[CHANNELS * (size_t)ref->image + (size_t)ref->channel];
		if (*verdict == UNKNOWN && !judge(&sources[ref->image], ref->channel, arena, verdict, err))
			return false;
		materials[i].alpha_mode = *verdict == BLENDED ? HOB_ALPHA_BLEND : HOB_ALPHA_MASK;
	}
	return true;
}

bool hob_texture_settle_alpha(const hob_texture_request *request, hob_material *materials, hob_arena *scratch,
							  hob_error *err)
{
	uint32_t undecided = 0;
	for (uint32_t i = 0; i < request->material_count; i++)
		undecided += is_undecided(&materials[i]);
	if (undecided == 0)
		return true;
	hob_arena_mark mark = hob_arena_save(scratch);
	bool ok = settle(request, materials, undecided, scratch, err);
	hob_arena_restore(scratch, mark);
	return ok;
}

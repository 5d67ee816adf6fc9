#include "texture_stages.h"

enum { CHANNELS = HOB_CHANNEL_LUMINANCE + 1, UNKNOWN = 0, CUT_OUT = 1, BLENDED = 2 };

static bool is_undecided(const hob_material *m)
{
	return m->alpha_mode == HOB_ALPHA_OPAQUE && m->slots[HOB_SLOT_OPACITY].image != HOB_NONE;
}

static bool is_see_through(const hob_picture *p)
{
	for (size_t i = 3, n = 4 * (size_t)p->width * p->height; p->has_alpha && i < n; i += 4)
		if (hob_picture_byte(p, i) < 255)
			return true;
	return false;
}

static uint8_t value_at(const hob_picture *p, size_t pixel, hob_channel_choice channel)
{
	if (channel != HOB_CHANNEL_LUMINANCE)
		return hob_picture_byte(p, 4 * pixel + (size_t)(channel - HOB_CHANNEL_R));
	uint32_t sum = 0;
	for (size_t k = 0; k < 3; k++)
		sum += (k == 0 ? 77u : k == 1 ? 150u : 29u) * hob_picture_byte(p, 4 * pixel + k);
	return (uint8_t)(sum >> 8);
}

/* Whether nearly all values are 0 or 255; one in twenty may lie between, as lossy pictures ring along
 * edges. */
static bool is_two_valued(const hob_picture *p, hob_channel_choice channel, bool lossy)
{
	uint32_t slack = lossy ? 16 : 2;
	size_t count = (size_t)p->width * p->height, between = 0;
	if (channel == HOB_CHANNEL_OF_SLOT)
		channel = is_see_through(p) ? HOB_CHANNEL_A : HOB_CHANNEL_LUMINANCE;
	for (size_t i = 0; i < count; i++) {
		uint8_t value = value_at(p, i, channel);
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

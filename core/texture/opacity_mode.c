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

static uint8_t judge(const hob_texture_source *source, hob_channel_choice channel, hob_arena *arena)
{
	hob_picture picture;
	hob_arena_mark mark = hob_arena_save(arena);
	bool lossy = source->info.format == HOB_PICTURE_JPEG || source->info.format == HOB_PICTURE_WEBP ||
				 source->info.format == HOB_PICTURE_AVIF;
	bool blended = !source->made && source->usable &&
				   hob_texture_load(source, NULL, NULL, arena, &picture, NULL) &&
				   !is_two_valued(&picture, channel, lossy);
	hob_arena_restore(arena, mark);
	return blended ? BLENDED : CUT_OUT;
}

typedef struct settling {
	const hob_texture_request *request;
	hob_material *materials;
	hob_arena *arena;
} settling;

static bool settle(void *context, hob_error *err)
{
	const settling *s = context;
	hob_texture_request ask = *s->request;
	hob_material *only = HOB_NEW(s->arena, hob_material, ask.material_count);
	uint8_t *known = HOB_NEW(s->arena, uint8_t, CHANNELS * (size_t)ask.image_count);
	uint32_t count = 0;
	for (uint32_t i = 0; i < ask.material_count; i++) {
		if (!is_undecided(&s->materials[i]))
			continue;
		hob_material_init(&only[count]);
		only[count++].slots[HOB_SLOT_OPACITY] = s->materials[i].slots[HOB_SLOT_OPACITY];
	}
	hob_texture_source *sources;
	ask.materials = only;
	ask.material_count = count;
	/* hob_textures_bake reads the pictures again and reports their faults. */
	if (count > 0 && !hob_texture_sources(&ask, s->arena, NULL, &sources, err))
		return false;
	for (uint32_t i = 0; count > 0 && i < s->request->material_count; i++) {
		const hob_texture_ref *ref = &s->materials[i].slots[HOB_SLOT_OPACITY];
		if (!is_undecided(&s->materials[i]))
			continue;
		uint8_t *verdict = &known[CHANNELS * (size_t)ref->image + (size_t)ref->channel];
		if (*verdict == UNKNOWN)
			*verdict = judge(&sources[ref->image], ref->channel, s->arena);
		s->materials[i].alpha_mode = *verdict == BLENDED ? HOB_ALPHA_BLEND : HOB_ALPHA_MASK;
	}
	return true;
}

bool hob_texture_settle_alpha(const hob_texture_request *request, hob_material *materials, hob_arena *scratch,
							  hob_error *err)
{
	hob_arena_mark mark = hob_arena_save(scratch);
	bool ok = hob_guarded(settle, &(settling){request, materials, scratch}, err);
	hob_arena_restore(scratch, mark);
	return ok;
}

#include "normal_map.h"
#include "texture_stages.h"

static uint8_t alpha_facts(const hob_picture *p)
{
	if (!p->has_alpha || p->empty_alpha)
		return 0;
	for (size_t i = 7, n = 4 * (size_t)p->width * p->height; i < n; i += 4)
		if (hob_picture_byte(p, i) != hob_picture_byte(p, 3))
			return HOB_PICTURE_ALPHA | HOB_PICTURE_CLEAR;
	return HOB_PICTURE_ALPHA;
}

/* Marks the pictures of slots for normals. A picture of the slot for heights may hold normals, too. */
static void mark_normals(const hob_texture_request *request, bool *normals)
{
	static const hob_slot slots[] = {HOB_SLOT_NORMAL, HOB_SLOT_CLEARCOAT_NORMAL, HOB_SLOT_BUMP};
	for (uint32_t i = 0; i < request->material_count; i++)
		for (size_t s = 0; s < HOB_COUNT_OF(slots); s++)
			if (request->materials[i].slots[slots[s]].image != HOB_NONE)
				normals[request->materials[i].slots[slots[s]].image] = true;
}

typedef struct looking {
	const hob_texture_request *request;
	bool alpha, normals;
	hob_arena *scratch;
	uint8_t *facts;
} looking;

static bool look(void *context, hob_error *err)
{
	const looking *l = context;
	hob_texture_source *sources;
	bool *directions = HOB_NEW(l->scratch, bool, l->request->image_count);
	if (!hob_texture_sources(l->request, l->scratch, NULL, &sources, err))
		return false;
	if (l->normals)
		mark_normals(l->request, directions);
	for (uint32_t i = 0; i < l->request->image_count; i++) {
		const hob_texture_source *source = &sources[i];
		bool looks = directions[i] || (l->alpha && source->info.channels % 2 == 0);
		if (!source->used || !source->usable || source->made || source->info.opaque_codec || !looks)
			continue;
		hob_picture picture;
		hob_arena_mark before = hob_arena_save(l->scratch);
		if (hob_texture_load(source, NULL, NULL, l->scratch, &picture, NULL))
			l->facts[i] =
				(uint8_t)(alpha_facts(&picture) |
						  (directions[i] && hob_normals_flipped(&picture) ? HOB_PICTURE_FLIPPED : 0));
		hob_arena_restore(l->scratch, before);
	}
	return true;
}

bool hob_textures_look_at(const hob_texture_request *request, bool alpha, bool normals, hob_arena *scratch,
						  uint8_t *facts)
{
	hob_arena_mark mark = hob_arena_save(scratch);
	bool ok = hob_guarded(look, &(looking){request, alpha, normals, scratch, facts}, NULL);
	hob_arena_restore(scratch, mark);
	return ok;
}

#include "texture_stages.h"

enum { R = 1, G = 2, B = 4, A = 8, RGB = 7 };

typedef struct planner {
	const hob_texture_request *request;
	const hob_texture_source *sources;
	hob_notes *notes;
	hob_texture_recipe *recipes;
	uint32_t *next; /* [capacity] next recipe with the same lead source */
	uint32_t *head; /* [image_count + 1] first recipe by lead source; the last entry: no source */
	uint32_t count, capacity;
} planner;

static uint32_t canonical(const planner *p, uint32_t image)
{
	return image == HOB_NONE ? HOB_NONE : p->sources[image].same_as;
}

/* ---- recipes: equal ones, and those that differ only in unused channels, are merged */

static bool same_input(hob_texture_input a, hob_texture_input b)
{
	return a.source == b.source && a.from == b.from;
}

static bool mergeable(const hob_texture_recipe *a, const hob_texture_recipe *b)
{
	for (int k = 0; k < 3; k++)
		if (!same_input(a->in[k], b->in[k]))
			return false;
	if (a->use != b->use || a->bump != b->bump || a->clamp_u != b->clamp_u || a->clamp_v != b->clamp_v)
		return false;
	/* A user that ignores alpha can share the picture with its own alpha, but not with one packed from
	 * elsewhere. */
	const hob_texture_recipe *solid = a->in[3].from == HOB_FROM_ONE ? a : b, *other = solid == a ? b : a;
	if (solid->in[3].from == HOB_FROM_ONE)
		return other->in[3].from == HOB_FROM_ONE || other->in[3].source == other->in[0].source;
	return same_input(a->in[3], b->in[3]) && a->alpha_is_opacity == b->alpha_is_opacity &&
		   a->cutoff == b->cutoff;
}

static void merge(hob_texture_recipe *into, const hob_texture_recipe *from)
{
	if (into->in[3].from == HOB_FROM_ONE) {
		into->in[3] = from->in[3];
		into->alpha_is_opacity = from->alpha_is_opacity;
		into->cutoff = from->cutoff;
	}
	into->channels |= from->channels;
	into->nearest |= from->nearest;
	into->flags |= from->flags;
}

uint32_t hob_texture_lead_source(const hob_texture_recipe *r)
{
	for (int k = 0; k < 4; k++)
		if (r->in[k].source != HOB_NONE)
			return r->in[k].source;
	return HOB_NONE;
}

static uint32_t want(planner *p, const hob_texture_recipe *recipe)
{
	uint32_t lead = hob_texture_lead_source(recipe);
	uint32_t *head = &p->head[lead == HOB_NONE ? p->request->image_count : lead];
	for (uint32_t i = *head; i != HOB_NONE; i = p->next[i])
		if (mergeable(&p->recipes[i], recipe)) {
			merge(&p->recipes[i], recipe);
			return i;
		}
	uint32_t made = p->count++;
	p->recipes[made] = *recipe;
	p->next[made] = *head;
	*head = made;
	return made;
}

static bool is_nearest(const planner *p, const hob_texture_ref *ref)
{
	if (ref->sampler == HOB_NONE)
		return false;
	return p->request->samplers[ref->sampler].mag == HOB_FILTER_NEAREST;
}

static hob_texture_recipe plain(const planner *p, const hob_texture_ref *ref, hob_use use, uint32_t channels)
{
	uint32_t source = canonical(p, ref->image);
	hob_texture_recipe r = {.use = use, .channels = channels, .nearest = is_nearest(p, ref)};
	for (uint32_t k = 0; k < 4; k++)
		r.in[k] = (hob_texture_input){source, (hob_texture_from)(HOB_FROM_R + k)};
	if ((channels & A) == 0)
		r.in[3] = (hob_texture_input){HOB_NONE, HOB_FROM_ONE};
	return r;
}

static bool has(const hob_material *m, hob_slot slot)
{
	return m->slots[slot].image != HOB_NONE;
}

static void clear(hob_material *m, hob_slot slot)
{
	m->slots[slot].image = HOB_NONE;
}

static void put(planner *p, hob_material *m, hob_slot slot, const hob_texture_recipe *recipe)
{
	m->slots[slot].image = want(p, recipe);
}

static void put_plain(planner *p, hob_material *m, hob_slot slot, hob_use use, uint32_t channels)
{
	hob_texture_recipe r = plain(p, &m->slots[slot], use, channels);
	put(p, m, slot, &r);
}

/* ---- packing rules */

static hob_sampler sampler_of(const planner *p, const hob_texture_ref *ref)
{
	return ref->sampler == HOB_NONE ? (hob_sampler){0} : p->request->samplers[ref->sampler];
}

static bool same_place(const planner *p, const hob_texture_ref *a, const hob_texture_ref *b)
{
	hob_sampler sa = sampler_of(p, a), sb = sampler_of(p, b);
	return a->uv_set == b->uv_set && a->offset[0] == b->offset[0] && a->offset[1] == b->offset[1] &&
		   a->scale[0] == b->scale[0] && a->scale[1] == b->scale[1] && a->rotation == b->rotation &&
		   sa.wrap_u == sb.wrap_u && sa.wrap_v == sb.wrap_v;
}

/* A picture that is passed on compressed cannot be combined with another. */
static bool mixable(const planner *p, const hob_texture_ref *ref)
{
	const hob_texture_source *source = &p->sources[ref->image];
	return !source->usable || !source->info.opaque_codec;
}

static bool packable(planner *p, const hob_material *m, hob_slot first, hob_slot second, const char *what)
{
	const hob_texture_ref *a = &m->slots[first], *b = &m->slots[second];
	if (same_place(p, a, b) && mixable(p, a) && mixable(p, b))
		return true;
	hob_note_add(
		p->notes, HOB_NOTE_INFO, "texture.not-packed",
		"material '%.*s': %s stay two textures, because they are placed differently or compressed already",
		HOB_FMT(m->name), what);
	return false;
}

/* ---- slots that combine several pictures */

static hob_texture_from chosen(const hob_texture_ref *ref, hob_texture_from otherwise)
{
	static const hob_texture_from from[] = {
		[HOB_CHANNEL_R] = HOB_FROM_R,
		[HOB_CHANNEL_G] = HOB_FROM_G,
		[HOB_CHANNEL_B] = HOB_FROM_B,
		[HOB_CHANNEL_A] = HOB_FROM_A,
		[HOB_CHANNEL_LUMINANCE] = HOB_FROM_LUMINANCE,
	};
	return ref->channel == HOB_CHANNEL_OF_SLOT ? otherwise : from[ref->channel];
}

static void keep_scalar(planner *p, hob_material *m, hob_slot slot, hob_texture_from otherwise)
{
	hob_texture_recipe r = plain(p, &m->slots[slot], HOB_USE_DATA, R);
	r.in[0].from = chosen(&m->slots[slot], otherwise);
	put(p, m, slot, &r);
}

static void plan_base_color(planner *p, hob_material *m)
{
	bool base = has(m, HOB_SLOT_BASE_COLOR), opacity = has(m, HOB_SLOT_OPACITY);
	bool packed = opacity &&
				  (!base || packable(p, m, HOB_SLOT_BASE_COLOR, HOB_SLOT_OPACITY, "base colour and opacity"));
	if (packed && !base) {
		packed = mixable(p, &m->slots[HOB_SLOT_OPACITY]);
		if (packed)
			m->slots[HOB_SLOT_BASE_COLOR] = m->slots[HOB_SLOT_OPACITY];
	}
	if (opacity && m->alpha_mode == HOB_ALPHA_OPAQUE)
		m->alpha_mode = HOB_ALPHA_MASK;
	if (opacity && !packed)
		keep_scalar(p, m, HOB_SLOT_OPACITY, HOB_FROM_OPACITY);
	if (!base && !packed)
		return;
	bool see_through = m->alpha_mode != HOB_ALPHA_OPAQUE;
	hob_texture_recipe r =
		plain(p, &m->slots[HOB_SLOT_BASE_COLOR], HOB_USE_COLOR, see_through ? RGB | A : RGB);
	r.alpha_is_opacity = see_through;
	if (m->alpha_mode == HOB_ALPHA_MASK && m->base_color[3] > 0.0f)
		r.cutoff = m->alpha_cutoff / m->base_color[3];
	if (packed) {
		uint32_t mask = canonical(p, m->slots[HOB_SLOT_OPACITY].image);
		bool own =
			mask == r.in[0].source && p->sources[mask].usable && p->sources[mask].info.channels % 2 == 0;
		r.in[3] = (hob_texture_input){
			mask, chosen(&m->slots[HOB_SLOT_OPACITY], own ? HOB_FROM_A : HOB_FROM_OPACITY)};
		r.flags = HOB_IMAGE_OPACITY_PACKED;
		for (int k = 0; !base && k < 3; k++)
			r.in[k] = (hob_texture_input){HOB_NONE, HOB_FROM_ONE};
		clear(m, HOB_SLOT_OPACITY);
	}
	put(p, m, HOB_SLOT_BASE_COLOR, &r);
}

/* Moves separate roughness and metallic maps into `r`, the METAL_ROUGH recipe. */
static void plan_metal_rough(planner *p, hob_material *m, hob_texture_recipe *r, bool *have)
{
	const hob_slot parts[2] = {HOB_SLOT_ROUGHNESS, HOB_SLOT_METALLIC};
	*have = has(m, HOB_SLOT_METAL_ROUGH);
	if (*have)
		*r = plain(p, &m->slots[HOB_SLOT_METAL_ROUGH], HOB_USE_DATA, RGB);
	for (int i = 0; i < 2; i++) {
		if (!has(m, parts[i]))
			continue;
		if (*have ? !packable(p, m, HOB_SLOT_METAL_ROUGH, parts[i], "metallic and roughness")
				  : !mixable(p, &m->slots[parts[i]])) {
			keep_scalar(p, m, parts[i], HOB_FROM_R);
			continue;
		}
		if (!*have) {
			m->slots[HOB_SLOT_METAL_ROUGH] = m->slots[parts[i]];
			*r = plain(p, &m->slots[parts[i]], HOB_USE_DATA, RGB);
			for (int k = 0; k < 3; k++)
				r->in[k] = (hob_texture_input){HOB_NONE, HOB_FROM_ONE};
			*have = true;
		}
		r->in[1 + i] = (hob_texture_input){canonical(p, m->slots[parts[i]].image),
										   chosen(&m->slots[parts[i]], HOB_FROM_R)};
		clear(m, parts[i]);
	}
}

static void plan_orm(planner *p, hob_material *m, bool join_occlusion)
{
	hob_texture_recipe r = {0};
	bool have;
	plan_metal_rough(p, m, &r, &have);
	if (!has(m, HOB_SLOT_OCCLUSION)) {
		if (have)
			put(p, m, HOB_SLOT_METAL_ROUGH, &r);
		return;
	}
	uint32_t occlusion = canonical(p, m->slots[HOB_SLOT_OCCLUSION].image);
	hob_texture_input red = {occlusion, chosen(&m->slots[HOB_SLOT_OCCLUSION], HOB_FROM_R)};
	bool same = have && same_input(r.in[0], red);
	if (same ||
		(have && join_occlusion &&
		 packable(p, m, HOB_SLOT_METAL_ROUGH, HOB_SLOT_OCCLUSION, "occlusion and metallic-roughness"))) {
		r.in[0] = red;
		r.flags |= HOB_IMAGE_ORM;
		put(p, m, HOB_SLOT_METAL_ROUGH, &r);
		m->slots[HOB_SLOT_OCCLUSION].image = m->slots[HOB_SLOT_METAL_ROUGH].image;
		return;
	}
	if (have)
		put(p, m, HOB_SLOT_METAL_ROUGH, &r);
	keep_scalar(p, m, HOB_SLOT_OCCLUSION, HOB_FROM_R);
}

static void plan_normal(planner *p, hob_material *m)
{
	if (has(m, HOB_SLOT_NORMAL)) {
		put_plain(p, m, HOB_SLOT_NORMAL, HOB_USE_NORMAL, RGB);
	} else if (has(m, HOB_SLOT_BUMP) && mixable(p, &m->slots[HOB_SLOT_BUMP])) {
		m->slots[HOB_SLOT_NORMAL] = m->slots[HOB_SLOT_BUMP];
		hob_texture_recipe r = plain(p, &m->slots[HOB_SLOT_BUMP], HOB_USE_NORMAL, RGB);
		hob_sampler sampler = sampler_of(p, &m->slots[HOB_SLOT_BUMP]);
		r.bump = true;
		r.clamp_u = sampler.wrap_u != HOB_WRAP_REPEAT;
		r.clamp_v = sampler.wrap_v != HOB_WRAP_REPEAT;
		put(p, m, HOB_SLOT_NORMAL, &r);
	}
	clear(m, HOB_SLOT_BUMP);
}

/* Plans a colour slot and the alpha of another slot: one picture if both are the same file. */
static void plan_color_with_factor(planner *p, hob_material *m, hob_slot color, hob_slot factor)
{
	bool joined = has(m, color) && has(m, factor) &&
				  canonical(p, m->slots[color].image) == canonical(p, m->slots[factor].image);
	if (has(m, factor) && !joined)
		put_plain(p, m, factor, HOB_USE_DATA, A);
	if (!has(m, color))
		return;
	put_plain(p, m, color, HOB_USE_COLOR, joined ? RGB | A : RGB);
	if (joined)
		m->slots[factor].image = m->slots[color].image;
}

static void plan_material(planner *p, hob_material *m, bool join_occlusion)
{
	static const struct {
		hob_slot slot;
		hob_use use;
		uint32_t channels;
	} simple[] = {
		{HOB_SLOT_EMISSIVE, HOB_USE_COLOR, RGB},		   {HOB_SLOT_CLEARCOAT, HOB_USE_DATA, R},
		{HOB_SLOT_CLEARCOAT_ROUGH, HOB_USE_DATA, G},	   {HOB_SLOT_CLEARCOAT_NORMAL, HOB_USE_NORMAL, RGB},
		{HOB_SLOT_TRANSMISSION, HOB_USE_DATA, R},		   {HOB_SLOT_THICKNESS, HOB_USE_DATA, G},
		{HOB_SLOT_ANISOTROPY, HOB_USE_DATA, RGB},		   {HOB_SLOT_IRIDESCENCE, HOB_USE_DATA, R},
		{HOB_SLOT_IRIDESCENCE_THICKNESS, HOB_USE_DATA, G},
	};
	plan_base_color(p, m);
	plan_orm(p, m, join_occlusion);
	plan_normal(p, m);
	plan_color_with_factor(p, m, HOB_SLOT_SPECULAR_COLOR, HOB_SLOT_SPECULAR);
	plan_color_with_factor(p, m, HOB_SLOT_SHEEN_COLOR, HOB_SLOT_SHEEN_ROUGH);
	plan_color_with_factor(p, m, HOB_SLOT_DIFFUSE_TRANSMISSION_COLOR, HOB_SLOT_DIFFUSE_TRANSMISSION);
	for (size_t i = 0; i < HOB_COUNT_OF(simple); i++)
		if (has(m, simple[i].slot))
			put_plain(p, m, simple[i].slot, simple[i].use, simple[i].channels);
}

bool hob_texture_plan_make(const hob_texture_request *request, const hob_texture_source *sources,
						   hob_material *materials, hob_arena *arena, hob_notes *notes, hob_texture_plan *out,
						   hob_error *err)
{
	size_t slots = 0;
	for (uint32_t m = 0; m < request->material_count; m++)
		for (uint32_t slot = 0; slot < HOB_SLOT_COUNT; slot++)
			slots += materials[m].slots[slot].image != HOB_NONE;
	if (slots >= HOB_NONE)
		return hob_fail(err, LIMIT, "%zu texture slots in %u materials", slots, request->material_count);
	planner p = {.request = request, .sources = sources, .notes = notes, .capacity = (uint32_t)slots};
	p.recipes = HOB_NEW(arena, hob_texture_recipe, slots);
	p.next = HOB_NEW(arena, uint32_t, slots);
	p.head = HOB_NEW(arena, uint32_t, (size_t)request->image_count + 1);
	for (uint32_t i = 0; i <= request->image_count; i++)
		p.head[i] = HOB_NONE;
	/* With `source`, files stay unchanged where a slot can refer to one. */
	bool as_they_are = request->settings.texture_encoding == HOB_TEXTURE_SOURCE && !request->png;
	for (uint32_t m = 0; m < request->material_count; m++)
		plan_material(&p, &materials[m], !as_they_are);
	*out = (hob_texture_plan){p.count, p.recipes};
	return true;
}

uint32_t hob_texture_plain_source(const hob_texture_recipe *r)
{
	uint32_t source = r->in[0].source;
	if (source == HOB_NONE || r->bump)
		return HOB_NONE;
	for (uint32_t k = 0; k < 4; k++) {
		bool own = r->in[k].source == source && r->in[k].from == (hob_texture_from)(HOB_FROM_R + k);
		bool no_alpha = k == 3 && r->in[k].from == HOB_FROM_ONE;
		if (!own && !no_alpha)
			return HOB_NONE;
	}
	return source;
}

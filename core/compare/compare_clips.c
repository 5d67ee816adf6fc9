#include "compare_parts.h"

#include <math.h>

/* Compares the targets and curves of clips. The nodes of two cooks may have different numbers, so channels
 * are compared in order. */

static bool same_floats(hob_pack_array a, uint32_t a_first, hob_pack_array b, uint32_t b_first,
						uint32_t count)
{
	return memcmp(HOB_PACK_AT(float, a, a_first), HOB_PACK_AT(float, b, b_first), count * sizeof(float)) == 0;
}

static bool same_channel(const comparison *c, uint32_t a, uint32_t b)
{
	const hob_pk_channel *one = HOB_PACK_AT(hob_pk_channel, c->a.channel, a);
	const hob_pk_channel *other = HOB_PACK_AT(hob_pk_channel, c->b.channel, b);
	const hob_pk_sampler *s = HOB_PACK_AT(hob_pk_sampler, c->a.sampler, one->sampler);
	const hob_pk_sampler *t = HOB_PACK_AT(hob_pk_sampler, c->b.sampler, other->sampler);
	uint32_t values = s->key_count * s->components * (s->interpolation == HOB_PK_CUBICSPLINE ? 3u : 1u);
	return one->path == other->path && s->interpolation == t->interpolation &&
		   s->components == t->components && s->key_count == t->key_count &&
		   same_floats(c->a.times, s->time_first, c->b.times, t->time_first, s->key_count) &&
		   same_floats(c->a.values, s->value_first, c->b.values, t->value_first, values);
}

static const hob_pk_clip *clip_of(const compare_files *f, uint32_t i)
{
	return HOB_PACK_AT(hob_pk_clip, f->clip, i);
}

/* Number of channels whose curve differs, for clips with the same number of channels. */
static uint32_t changed_channels(const comparison *c, uint32_t a, uint32_t b)
{
	const hob_pk_clip *one = clip_of(&c->a, a), *other = clip_of(&c->b, b);
	uint32_t changed = 0;
	for (uint32_t i = 0; i < one->channel_count; i++)
		changed += !same_channel(c, one->channel_first + i, other->channel_first + i);
	return changed;
}

static bool alike_clips(const comparison *c, uint32_t a, uint32_t b)
{
	const hob_pk_clip *one = clip_of(&c->a, a), *other = clip_of(&c->b, b);
	return one->channel_count == other->channel_count && one->channel_count > 0 &&
		   one->start == other->start && one->end == other->end && changed_channels(c, a, b) == 0;
}

static void changed_clip(comparison *c, uint32_t a, uint32_t b, const char *called, hob_str name)
{
	const hob_pk_clip *one = clip_of(&c->a, a), *other = clip_of(&c->b, b);
	double before = one->end - one->start, now = other->end - other->start;
	if (fabs(before - now) > 1e-4)
		hob_compare_differs(c, TONE_WARN, "clip", name, "%s lasts %.4g s, was %.4g s", called, now, before);
	if (one->channel_count != other->channel_count)
		hob_compare_differs(c, other->channel_count < one->channel_count ? TONE_WARN : TONE_NOTE, "clip",
							name, "%s moves %u things, was %u", called, other->channel_count,
							one->channel_count);
	else if (changed_channels(c, a, b) > 0)
		hob_compare_differs(c, TONE_NOTE, "clip", name, "%s: %u of %u curves differ", called,
							changed_channels(c, a, b), one->channel_count);
}

static const hob_pk_skin *skin_of(const compare_files *f, uint32_t i)
{
	return HOB_PACK_AT(hob_pk_skin, f->skin, i);
}

static bool same_binds(const comparison *c, uint32_t a, uint32_t b)
{
	const hob_pk_skin *one = skin_of(&c->a, a), *other = skin_of(&c->b, b);
	return one->joint_count == other->joint_count &&
		   memcmp(HOB_PACK_AT(uint8_t, c->a.binds, one->joint_first),
				  HOB_PACK_AT(uint8_t, c->b.binds, other->joint_first),
				  one->joint_count * sizeof(hob_pk_mat4)) == 0;
}

static void changed_skin(comparison *c, uint32_t a, uint32_t b, const char *called, hob_str name)
{
	const hob_pk_skin *one = skin_of(&c->a, a), *other = skin_of(&c->b, b);
	if (one->joint_count != other->joint_count)
		hob_compare_differs(c, other->joint_count < one->joint_count ? TONE_WARN : TONE_NOTE, "skin", name,
							"%s has %u joints, was %u", called, other->joint_count, one->joint_count);
	else if (!same_binds(c, a, b))
		hob_compare_differs(c, TONE_NOTE, "skin", name, "%s is bound to its joints in another pose", called);
}

void hob_compare_clips(comparison *c)
{
	static const compare_kind kinds[] = {{COMPARE_KIND("clip", clip, animations, hob_pk_clip), TONE_BAD,
										  alike_clips, changed_clip, offsetof(compare_tally, clips)},
										 {COMPARE_KIND("skin", skin, animations, hob_pk_skin), TONE_BAD,
										  same_binds, changed_skin, offsetof(compare_tally, skins)}};
	for (size_t i = 0; i < HOB_COUNT_OF(kinds); i++)
		hob_compare_kind(c, &kinds[i]);
}

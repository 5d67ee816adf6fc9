#include "pack_build.h"

#include "../hash/hash.h"
#include "../model/properties.h"

#include <float.h>

_Static_assert(HOB_PK_CUBICSPLINE == (int)HOB_CUBICSPLINE, "tables and model.h disagree");
_Static_assert(HOB_PK_PATH_WEIGHTS == (int)HOB_PATH_WEIGHTS, "tables and model.h disagree");

typedef struct animation_writer {
	pack_builder *b;
	const hob_baked_animations *from;
	hob_pk_sampler *samplers;
	hob_bytes *times, *values;
	uint32_t *slots; /* open addressing over samplers with their own times: sampler + 1 */
	uint64_t slot_room;
	uint64_t channel_count, property_count, sampler_count, joint_count, time_count, value_count;
} animation_writer;

static size_t value_count(const hob_track *t)
{
	return (size_t)t->key_count * t->components * (t->interpolation == HOB_CUBICSPLINE ? 3 : 1);
}

static void count_all(animation_writer *w)
{
	for (uint32_t c = 0; c < w->from->clip_count; c++) {
		const hob_clip *clip = &w->from->clips[c];
		w->channel_count += clip->channel_count;
		w->property_count += clip->property_count;
		w->sampler_count += clip->track_count;
		for (uint32_t t = 0; t < clip->track_count; t++)
			w->value_count += value_count(&clip->tracks[t]);
	}
	for (uint32_t s = 0; s < w->from->skin_count; s++)
		w->joint_count += w->from->skins[s].joint_count;
	if (w->value_count >= HOB_PK_NONE || w->channel_count >= HOB_PK_NONE ||
		w->property_count >= HOB_PK_NONE || w->sampler_count >= HOB_PK_NONE / 4)
		hob_pack_refuse(w->b, "animations of %llu values in %llu samplers do not fit one file",
						(unsigned long long)w->value_count, (unsigned long long)w->sampler_count);
}

/* Finds the first sampler with equal times. */
static uint32_t shared_times(animation_writer *w, const hob_track *track, uint32_t sampler)
{
	hob_bytes times = {(const uint8_t *)track->times, track->key_count * sizeof(float)};
	uint64_t hash[2];
	hob_fast_hash(times, hash);
	uint64_t at = hash[0] & (w->slot_room - 1);
	while (w->slots[at]) {
		hob_bytes known = w->times[w->slots[at] - 1];
		if (known.size == times.size && memcmp(known.data, times.data, times.size) == 0)
			return w->slots[at] - 1;
		at = (at + 1) & (w->slot_room - 1);
	}
	w->slots[at] = sampler + 1;
	w->times[sampler] = times;
	return sampler;
}

static void put_sampler(animation_writer *w, const hob_track *track, uint32_t sampler)
{
	hob_pk_sampler *out = &w->samplers[sampler];
	uint32_t same = shared_times(w, track, sampler);
	*out = (hob_pk_sampler){
		.interpolation = (uint8_t)track->interpolation,
		.value_format = HOB_PK_VALUE_F32,
		.components = (uint16_t)track->components,
		.key_count = track->key_count,
		.time_first = same == sampler ? (uint32_t)w->time_count : w->samplers[same].time_first,
		.value_first = (uint32_t)w->value_count,
	};
	if (same == sampler)
		w->time_count += track->key_count;
	w->values[sampler] = (hob_bytes){(const uint8_t *)track->values, value_count(track) * sizeof(float)};
	w->value_count += value_count(track);
}

static void put_clip(animation_writer *w, uint32_t c, hob_pk_clip *out)
{
	const hob_clip *clip = &w->from->clips[c];
	out->name = hob_pack_add_string(w->b, clip->name);
	out->channel_count = clip->channel_count;
	out->start = w->from->ranges[(size_t)c * 2];
	out->end = w->from->ranges[(size_t)c * 2 + 1];
	const float *bounds = w->from->skin_bounds ? w->from->skin_bounds + (size_t)c * 6 : NULL;
	bool empty = !bounds || !(bounds[0] <= bounds[3] && bounds[1] <= bounds[4] && bounds[2] <= bounds[5]);
	for (size_t i = 0; i < 3; i++) {
		out->bounds_min[i] = empty ? FLT_MAX : bounds[i];
		out->bounds_max[i] = empty ? -FLT_MAX : bounds[3 + i];
	}
}

static void put_clips(animation_writer *w)
{
	hob_pk_clip *clips = PACK_TABLE(w->b, HOB_PK_CLIP, hob_pk_clip, w->from->clip_count);
	hob_pk_channel *channels = PACK_TABLE(w->b, HOB_PK_CHAN, hob_pk_channel, (size_t)w->channel_count);
	hob_pk_property_channel *properties = PACK_NEW(w->b, hob_pk_property_channel, (size_t)w->property_count);
	w->samplers = PACK_NEW(w->b, hob_pk_sampler, (size_t)w->sampler_count);
	w->times = PACK_NEW(w->b, hob_bytes, (size_t)w->sampler_count);
	w->values = PACK_NEW(w->b, hob_bytes, (size_t)w->sampler_count);
	for (w->slot_room = 16; w->slot_room < w->sampler_count * 2;)
		w->slot_room *= 2;
	w->slots = PACK_NEW(w->b, uint32_t, (size_t)w->slot_room);
	uint32_t channel = 0, property = 0, sampler = 0;
	w->value_count = 0;
	for (uint32_t c = 0; c < w->from->clip_count; c++) {
		const hob_clip *clip = &w->from->clips[c];
		clips[c].channel_first = channel;
		put_clip(w, c, &clips[c]);
		for (uint32_t i = 0; i < clip->channel_count; i++)
			channels[channel++] = (hob_pk_channel){
				.node = clip->channels[i].node,
				.sampler = sampler + clip->channels[i].track,
				.path = clip->channels[i].path,
			};
		for (uint32_t i = 0; i < clip->property_count; i++)
			properties[property++] = (hob_pk_property_channel){
				.clip = c,
				.property = (uint16_t)clip->properties[i].property,
				.slot = (uint16_t)clip->properties[i].slot,
				.index = clip->properties[i].index,
				.sampler = sampler + clip->properties[i].track,
			};
		for (uint32_t t = 0; t < clip->track_count; t++)
			put_sampler(w, &clip->tracks[t], sampler++);
	}
	if (property > 0) {
		w->b->ver_minor = 3;
		for (uint32_t i = 0; i < property; i++)
			if (properties[i].property == HOB_PROPERTY_NODE_VISIBLE)
				w->b->ver_minor = 6;
		hob_pack_add(w->b, HOB_PK_PROP, properties, property, sizeof *properties);
	}
	hob_pack_add(w->b, HOB_PK_SMPL, w->samplers, sampler, sizeof *w->samplers);
	hob_pack_add_pieces(w->b, HOB_PK_TIME, w->times, sampler, (size_t)w->time_count, sizeof(float));
	hob_pack_add_pieces(w->b, HOB_PK_VALS, w->values, sampler, (size_t)w->value_count, sizeof(float));
}

static void put_skins(animation_writer *w)
{
	uint32_t count = w->from->skin_count, joint = 0;
	hob_pk_skin *skins = PACK_TABLE(w->b, HOB_PK_SKIN, hob_pk_skin, count);
	hob_bytes *joints = PACK_NEW(w->b, hob_bytes, count);
	hob_bytes *binds = PACK_NEW(w->b, hob_bytes, count);
	for (uint32_t s = 0; s < count; s++) {
		const hob_skin *skin = &w->from->skins[s];
		skins[s] = (hob_pk_skin){hob_pack_add_string(w->b, skin->name), skin->root, joint, skin->joint_count};
		joints[s] = (hob_bytes){(const uint8_t *)skin->joints, (size_t)skin->joint_count * 4};
		binds[s] = (hob_bytes){(const uint8_t *)skin->inverse_bind, (size_t)skin->joint_count * 64};
		joint += skin->joint_count;
	}
	hob_pack_add_pieces(w->b, HOB_PK_JNTS, joints, count, joint, sizeof(uint32_t));
	hob_pack_add_pieces(w->b, HOB_PK_IBMS, binds, count, joint, sizeof(hob_pk_mat4));
}

static void put_file(pack_builder *b, const void *animations)
{
	animation_writer w = {.b = b, .from = animations};
	count_all(&w);
	if (b->failed)
		return;
	put_clips(&w);
	put_skins(&w);
}

bool hob_pack_animations(const hob_baked_animations *animations, const hob_pack_options *options,
						 hob_buf *out, hob_error *err)
{
	return hob_pack_write(HOB_PK_KIND_ANIM, put_file, animations, options, out, err);
}

#include "rt_private.h"

#include <math.h>
#include <string.h>

void hob_rt_clips_lay_out(rt_asset *a, rt_memory *memory)
{
	uint32_t channels = a->channels.count;
	a->pub.skin_count = a->skin_records.count;
	a->pub.clip_count = a->clip_records.count;
	a->slot_room = channels < a->pub.node_count ? channels : a->pub.node_count;
	a->slot_stride = (a->slot_room + 7) & ~7u;
	a->clips = RT_TAKE(memory, hob_rt_clip, a->clip_records.count);
	a->skins = RT_TAKE(memory, hob_rt_skin, a->skin_records.count);
	a->unit_curves = RT_TAKE(memory, uint8_t, a->clip_samplers.count);
	a->channel_slots = RT_TAKE(memory, uint32_t, channels);
	a->animated = RT_TAKE(memory, uint32_t, a->slot_room);
	a->slot_paths = RT_TAKE(memory, uint8_t, a->slot_room);
	a->rest = RT_TAKE(memory, float, (uint64_t)a->slot_stride * 10);
}

bool hob_rt_skins_fill(rt_asset *a, hob_rt_error *error)
{
	const uint32_t *joints = (const uint32_t *)(const void *)a->joints.data;
	for (uint32_t i = 0; i < a->joints.count; i++)
		if (joints[i] >= a->pub.node_count)
			return hob_rt_fail(error, HOB_RT_CORRUPT, "joint %u is node %u of %u", i, joints[i],
							   a->pub.node_count);
	for (uint32_t i = 0; i < a->inverse_binds.count; i++)
		if (!hob_rt_in_range(RT_AT(hob_pk_mat4, a->inverse_binds, i)->m, 16))
			return hob_rt_fail(error, HOB_RT_CORRUPT, "inverse bind matrix %u is not finite or too large", i);
	for (uint32_t i = 0; i < a->skin_records.count; i++) {
		const hob_pk_skin *from = RT_AT(hob_pk_skin, a->skin_records, i);
		if (!rt_within(from->joint_first, from->joint_count, a->joints.count) ||
			!rt_within(from->joint_first, from->joint_count, a->inverse_binds.count) ||
			(from->name != 0 && from->name >= a->clip_text.size) ||
			(from->root != HOB_PK_NONE && from->root >= a->pub.node_count))
			return hob_rt_fail(error, HOB_RT_CORRUPT, "skin %u has joints %u+%u of %u, root %u", i,
							   from->joint_first, from->joint_count, a->joints.count, from->root);
		a->skins[i].name = hob_rt_string(a->clip_text, from->name);
		a->skins[i].root = from->root;
		a->skins[i].joint_count = from->joint_count;
		a->skins[i].joints = joints ? joints + from->joint_first : NULL;
	}
	return true;
}

/* Whether sampling can use the keys of a LINEAR rotation unchanged. */
static uint8_t is_unit(const float *values, uint32_t key_count)
{
	uint8_t unit = 1;
	for (uint32_t k = 0; k < key_count; k++) {
		const float *q = values + (size_t)k * 4;
		float square = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
		unit = unit && fabsf(square - 1) < 2e-6f;
	}
	return unit;
}

/* Checks each curve by itself. The sum of all keys is limited by the values in the file, so that samplers
 * which share a range cannot make opening slow. */
static bool check_samplers(rt_asset *a, hob_rt_error *error)
{
	const float *times = (const float *)(const void *)a->times.data;
	uint64_t left = a->values.count;
	if (!hob_rt_in_range((const float *)(const void *)a->values.data, a->values.count) ||
		!hob_rt_in_range(times, a->times.count))
		return hob_rt_fail(error, HOB_RT_CORRUPT, "a key is not finite");
	for (uint32_t i = 0; i < a->clip_samplers.count; i++) {
		const hob_pk_sampler *s = RT_AT(hob_pk_sampler, a->clip_samplers, i);
		if (s->interpolation > HOB_PK_CUBICSPLINE || s->value_format != HOB_PK_VALUE_F32)
			return hob_rt_fail(error, HOB_RT_UNSUPPORTED, "sampler %u has interpolation %u, value format %u",
							   i, s->interpolation, s->value_format);
		uint64_t values =
			(uint64_t)s->key_count * s->components * (s->interpolation == HOB_PK_CUBICSPLINE ? 3 : 1);
		if (s->key_count == 0 || s->components == 0 ||
			!rt_within(s->time_first, s->key_count, a->times.count) ||
			!rt_within(s->value_first, values, a->values.count) || s->key_count > left)
			return hob_rt_fail(error, HOB_RT_CORRUPT, "sampler %u has keys %u+%u of %u, values from %u of %u",
							   i, s->time_first, s->key_count, a->times.count, s->value_first,
							   a->values.count);
		left -= s->key_count;
		if (s->components == 4 && s->interpolation == HOB_PK_LINEAR)
			a->unit_curves[i] =
				is_unit((const float *)(const void *)a->values.data + s->value_first, s->key_count);
		for (uint32_t k = 1; k < s->key_count; k++)
			if (!(times[s->time_first + k - 1] < times[s->time_first + k]))
				return hob_rt_fail(error, HOB_RT_CORRUPT, "key %u of sampler %u is not after the one before",
								   k, i);
	}
	return true;
}

/* slot_of[node] becomes the node's slot; slots ascend with node ids. */
static bool find_animated(rt_asset *a, uint32_t *slot_of, hob_rt_error *error)
{
	for (uint32_t i = 0; i < a->channels.count; i++) {
		const hob_pk_channel *c = RT_AT(hob_pk_channel, a->channels, i);
		if (c->node >= a->pub.node_count || c->sampler >= a->clip_samplers.count)
			return hob_rt_fail(error, HOB_RT_CORRUPT, "channel %u moves node %u of %u by sampler %u of %u", i,
							   c->node, a->pub.node_count, c->sampler, a->clip_samplers.count);
		if (c->path < HOB_PK_PATH_WEIGHTS)
			slot_of[c->node] |= 1u << c->path;
	}
	uint32_t count = 0;
	for (uint32_t node = 0; node < a->pub.node_count; node++) {
		uint32_t paths = slot_of[node];
		slot_of[node] = HOB_RT_NONE;
		if (paths != 0) {
			a->animated[count] = node;
			a->slot_paths[count] = (uint8_t)paths;
			slot_of[node] = count++;
		}
	}
	a->pub.animated_count = count;
	return true;
}

/* A channel that this runtime cannot apply (a newer path, weights for a node without targets) does
 * nothing. */
static bool fill_channels(rt_asset *a, const uint32_t *slot_of, hob_rt_error *error)
{
	for (uint32_t i = 0; i < a->channels.count; i++) {
		const hob_pk_channel *c = RT_AT(hob_pk_channel, a->channels, i);
		uint32_t components = RT_AT(hob_pk_sampler, a->clip_samplers, c->sampler)->components;
		a->channel_slots[i] = HOB_RT_NONE;
		if (c->path < HOB_PK_PATH_WEIGHTS) {
			uint32_t wanted = c->path == HOB_PK_PATH_ROTATION ? 4 : 3;
			if (components != wanted)
				return hob_rt_fail(error, HOB_RT_CORRUPT, "channel %u has %u components for path %u", i,
								   components, c->path);
			a->channel_slots[i] = slot_of[c->node];
		} else if (c->path == HOB_PK_PATH_WEIGHTS && a->weight_of && components == a->weights_at[c->node]) {
			a->channel_slots[i] = a->weight_of[c->node];
			memset(a->weight_animated + a->weight_of[c->node], 1, components);
		}
	}
	return true;
}

static bool fill_clip_records(rt_asset *a, hob_rt_error *error)
{
	for (uint32_t i = 0; i < a->clip_records.count; i++) {
		const hob_pk_clip *from = RT_AT(hob_pk_clip, a->clip_records, i);
		hob_rt_clip *to = &a->clips[i];
		if (!rt_within(from->channel_first, from->channel_count, a->channels.count) ||
			!hob_rt_in_range(&from->start, 1) || !hob_rt_in_range(&from->end, 1) ||
			(from->name != 0 && from->name >= a->clip_text.size))
			return hob_rt_fail(error, HOB_RT_CORRUPT, "clip %u has channels %u+%u of %u", i,
							   from->channel_first, from->channel_count, a->channels.count);
		to->name = hob_rt_string(a->clip_text, from->name);
		to->start = from->start;
		to->end = from->end;
		to->channel_first = from->channel_first;
		to->channel_count = from->channel_count;
		memcpy(to->bounds_min, from->bounds_min, sizeof to->bounds_min);
		memcpy(to->bounds_max, from->bounds_max, sizeof to->bounds_max);
	}
	return true;
}

bool hob_rt_clips_fill(rt_asset *a, uint32_t *slot_of, hob_rt_error *error)
{
	return check_samplers(a, error) && find_animated(a, slot_of, error) && fill_channels(a, slot_of, error) &&
		   fill_clip_records(a, error);
}

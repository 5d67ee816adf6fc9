#include "glb_writer.h"

/* ---- skins ---- */

static uint32_t put_binds(glb_writer *w, const hob_pk_skin *skin, float *values)
{
	hob_pack_array binds = hob_pack_find(&w->animations, HOB_PK_IBMS);
	for (uint32_t j = 0; j < skin->joint_count; j++) {
		float *m = values + (size_t)j * 16;
		memcpy(m, HOB_PACK_AT(hob_pk_mat4, binds, skin->joint_first + j)->m, 64);
		/* glTF requires that the last row of an affine matrix is exactly 0 0 0 1. */
		m[3] = m[7] = m[11] = 0;
		m[15] = 1;
	}
	return hob_glb_float_accessor(w, values, skin->joint_count, 16, "MAT4", 0, false);
}

static bool is_above(const glb_writer *w, uint32_t root, const hob_pk_skin *skin)
{
	hob_pack_array joints = hob_pack_find(&w->animations, HOB_PK_JNTS),
				   sizes = hob_pack_find(&w->scene, HOB_PK_SUBT);
	uint32_t end = root + *HOB_PACK_AT(uint32_t, sizes, root);
	for (uint32_t j = 0; j < skin->joint_count; j++) {
		uint32_t joint = *HOB_PACK_AT(uint32_t, joints, skin->joint_first + j);
		if (joint < root || joint >= end)
			return false;
	}
	return true;
}

static void put_skin(glb_writer *w, const hob_pk_skin *skin, uint32_t index)
{
	hob_arena_mark mark = hob_arena_save(w->arena);
	float *values = (float *)hob_arena_array(w->arena, skin->joint_count, 64, 16);
	hob_pack_array joints = hob_pack_find(&w->animations, HOB_PK_JNTS);
	hob_buf *json = hob_glb_next(w, GLB_LIST_SKINS);
	hob_buf_printf(json, "{\"inverseBindMatrices\":%u,\"joints\":", put_binds(w, skin, values));
	for (uint32_t j = 0; j < skin->joint_count; j++)
		hob_buf_printf(json, "%s%u", j ? "," : "[",
					   w->node_place[*HOB_PACK_AT(uint32_t, joints, skin->joint_first + j)]);
	hob_buf_put(json, "]", 1);
	if (skin->root != HOB_PK_NONE && w->node_place[skin->root] != HOB_NONE && is_above(w, skin->root, skin))
		hob_buf_printf(json, ",\"skeleton\":%u", w->node_place[skin->root]);
	hob_glb_name(json, hob_pack_string(&w->animations, skin->name));
	hob_glb_extras(w, json, HOB_PK_EXTRA_SKIN, index);
	hob_buf_put(json, "}", 1);
	hob_arena_restore(w->arena, mark);
}

void hob_glb_put_skins(glb_writer *w)
{
	if (!w->has_animations)
		return;
	hob_pack_array skins = hob_pack_find(&w->animations, HOB_PK_SKIN);
	w->skin_place = HOB_NEW(w->arena, uint32_t, skins.count);
	for (uint32_t i = 0; i < skins.count; i++) {
		const hob_pk_skin *skin = HOB_PACK_AT(hob_pk_skin, skins, i);
		w->skin_place[i] = skin->joint_count ? w->lists[GLB_LIST_SKINS].count : HOB_NONE;
		if (skin->joint_count)
			put_skin(w, skin, i);
	}
}

/* ---- clips ---- */

typedef struct clip_writer {
	glb_writer *w;
	hob_pack_array channels, properties, samplers, times, values;
	uint32_t *time_place; /* [times] accessor + 1 of the run of times that begins here */
	uint32_t *time_count; /* [times] length of that run */
	float shift;		  /* added to times: glTF has no negative times */
	float hold;			  /* the clip's end, if its keys end sooner and no sampler reaches it yet; else 0 */
} clip_writer;

typedef struct sampler_keys {
	uint32_t count, components, mode;
	const float *values; /* of splines: with a tangent before and after each value */
	bool held;			 /* the source has no key at the end: hold the last value */
} sampler_keys;

static uint32_t per_key(const sampler_keys *keys)
{
	return keys->components * (keys->mode == HOB_PK_CUBICSPLINE ? 3 : 1);
}

static void hold_last(clip_writer *c, sampler_keys *keys)
{
	uint32_t width = per_key(keys), n = keys->components;
	float *values = (float *)hob_arena_array(c->w->arena, (size_t)keys->count + 1, width * sizeof *values,
											 _Alignof(float));
	float *last = values + (size_t)(keys->count - 1) * width, *held = last + width;
	memcpy(values, keys->values, (size_t)keys->count * width * sizeof *values);
	if (keys->mode == HOB_PK_CUBICSPLINE)
		memset(last + (size_t)n * 2, 0, n * sizeof *values);
	memcpy(held, last, width * sizeof *values);
	if (keys->mode == HOB_PK_CUBICSPLINE)
		memset(held, 0, n * sizeof *values);
	keys->values = values;
	keys->count++;
	keys->held = true;
}

/* The accessor of the sampler's times. */
static uint32_t put_times(clip_writer *c, const hob_pk_sampler *s, const sampler_keys *keys)
{
	bool plain = !(c->shift > 0) && !keys->held;
	if (plain && c->time_place[s->time_first] && c->time_count[s->time_first] == keys->count)
		return c->time_place[s->time_first] - 1;
	hob_arena_mark mark = hob_arena_save(c->w->arena);
	float *times = HOB_NEW(c->w->arena, float, keys->count);
	for (uint32_t i = 0; i < s->key_count; i++)
		times[i] = *HOB_PACK_AT(float, c->times, s->time_first + i) + c->shift;
	if (keys->held)
		times[s->key_count] = c->hold + c->shift;
	uint32_t accessor = hob_glb_float_accessor(c->w, times, keys->count, 1, "SCALAR", 0, true);
	hob_arena_restore(c->w->arena, mark);
	if (plain) {
		c->time_place[s->time_first] = accessor + 1;
		c->time_count[s->time_first] = keys->count;
	}
	return accessor;
}

static void put_sampler_json(clip_writer *c, uint32_t time, uint32_t output, uint32_t mode)
{
	static const char *const modes[] = {"STEP", "LINEAR", "CUBICSPLINE"};
	hob_buf_printf(hob_glb_next(c->w, GLB_LIST_CLIP_SAMPLERS),
				   "{\"input\":%u,\"output\":%u,\"interpolation\":\"%s\"}", time, output, modes[mode]);
}

/* Puts a sampler. `scalar`: as an accessor of single numbers, `components` per key. */
static void put_sampler(clip_writer *c, const hob_pk_sampler *s, bool scalar)
{
	static const char *const types[] = {"", "SCALAR", "VEC2", "VEC3", "VEC4"};
	sampler_keys keys = {s->key_count, s->components, s->interpolation,
						 HOB_PACK_AT(float, c->values, s->value_first), false};
	/* glTF requires two keys for a spline; of a single key only the value matters. */
	if (keys.mode == HOB_PK_CUBICSPLINE && keys.count == 1) {
		keys.mode = HOB_PK_STEP;
		keys.values += keys.components;
	}
	hob_arena_mark mark = hob_arena_save(c->w->arena);
	if (c->hold != 0)
		hold_last(c, &keys);
	uint32_t time = put_times(c, s, &keys), width = per_key(&keys), each = scalar ? 1 : keys.components;
	c->hold = 0;
	uint32_t output =
		hob_glb_float_accessor(c->w, keys.values, keys.count * width / each, each, types[each], 0, false);
	hob_arena_restore(c->w->arena, mark);
	put_sampler_json(c, time, output, keys.mode);
}

static void put_target(clip_writer *c, uint32_t node, uint32_t path)
{
	static const char *const paths[] = {"translation", "rotation", "scale", "weights"};
	hob_buf_printf(hob_glb_next(c->w, GLB_LIST_CLIP_CHANNELS),
				   "{\"sampler\":%u,\"target\":{\"node\":%u,\"path\":\"%s\"}}",
				   c->w->lists[GLB_LIST_CLIP_SAMPLERS].count - 1, c->w->node_place[node], paths[path]);
}

/* Writes morph weights to the nodes that carry the meshes: the node itself, or its mesh children if they are
 * not folded. */
static void put_weights(clip_writer *c, uint32_t node, const hob_pk_sampler *sampler)
{
	hob_pack_array nodes = hob_pack_find(&c->w->scene, HOB_PK_HIER),
				   links = hob_pack_find(&c->w->scene, HOB_PK_LMSH);
	bool done = false;
	uint32_t put = 0;
	for (int32_t at = (int32_t)node; at >= 0;) {
		uint32_t mesh = hob_pack_link(links, (uint32_t)at);
		bool child = at != (int32_t)node;
		if (mesh != HOB_PK_NONE && hob_glb_drawable(c->w, mesh) &&
			HOB_PACK_AT(hob_pk_mesh, c->w->geometry.meshes, mesh)->morph_count == sampler->components) {
			bool folded = c->w->node_place[at] == HOB_NONE;
			if (!put++)
				put_sampler(c, sampler, true);
			if (!folded || !done)
				put_target(c, folded ? node : (uint32_t)at, HOB_PK_PATH_WEIGHTS);
			done = done || folded;
		}
		const hob_pk_hierarchy *h = HOB_PACK_AT(hob_pk_hierarchy, nodes, at);
		at = child ? h->next_sibling : h->first_child;
	}
	if (!put)
		hob_warn(c->w->notes, "glb.channel-dropped",
				 "a channel of %u morph weights on node %u has no mesh with as many targets",
				 sampler->components, node);
}

static void put_channels(clip_writer *c, const hob_pk_clip *clip)
{
	for (uint32_t i = 0; i < clip->channel_count; i++) {
		const hob_pk_channel *channel = HOB_PACK_AT(hob_pk_channel, c->channels, clip->channel_first + i);
		const hob_pk_sampler *sampler = HOB_PACK_AT(hob_pk_sampler, c->samplers, channel->sampler);
		if (channel->path == HOB_PK_PATH_WEIGHTS) {
			put_weights(c, channel->node, sampler);
			continue;
		}
		put_sampler(c, sampler, false);
		put_target(c, channel->node, channel->path);
	}
}

/* Index in `properties` of the clip's first property channel. */
static uint32_t first_property(const clip_writer *c, uint32_t clip)
{
	uint32_t i = 0;
	while (i < c->properties.count && HOB_PACK_AT(hob_pk_property_channel, c->properties, i)->clip < clip)
		i++;
	return i;
}

static const hob_pk_property_channel *property_of(const clip_writer *c, uint32_t index, uint32_t clip)
{
	const hob_pk_property_channel *channel =
		index < c->properties.count ? HOB_PACK_AT(hob_pk_property_channel, c->properties, index) : NULL;
	return channel && channel->clip == clip ? channel : NULL;
}

static void put_pointer(clip_writer *c, const char *pointer)
{
	c->w->extensions |= 1u << GLB_ANIMATION_POINTER;
	hob_buf_printf(
		hob_glb_next(c->w, GLB_LIST_CLIP_CHANNELS),
		"{\"sampler\":%u,\"target\":{\"path\":\"pointer\",\"extensions\":{\"%s\":{\"pointer\":\"%s\"}}}}",
		c->w->lists[GLB_LIST_CLIP_SAMPLERS].count - 1, hob_glb_extension_names[GLB_ANIMATION_POINTER],
		pointer);
}

static bool joint_below(const clip_writer *c, uint32_t node)
{
	hob_pack_array joints = hob_pack_find(&c->w->animations, HOB_PK_JNTS);
	uint32_t end = node + *HOB_PACK_AT(uint32_t, hob_pack_find(&c->w->scene, HOB_PK_SUBT), node);
	for (uint32_t i = 0; i < joints.count; i++) {
		uint32_t joint = *HOB_PACK_AT(uint32_t, joints, i);
		if (joint >= node && joint < end)
			return true;
	}
	return false;
}

static bool has_scale(const clip_writer *c, const hob_pk_clip *clip, uint32_t node)
{
	for (uint32_t i = 0; i < clip->channel_count; i++) {
		const hob_pk_channel *channel = HOB_PACK_AT(hob_pk_channel, c->channels, clip->channel_first + i);
		if (channel->node == node && channel->path == HOB_PK_PATH_SCALE)
			return true;
	}
	return false;
}

/* Writes a sampler of bytes for readers of KHR_node_visibility. Other readers get scale 0 while the node is
 * hidden, unless the clip scales it, or joints below would move with it. */
static void put_visibility(clip_writer *c, const hob_pk_property_channel *channel, const char *pointer)
{
	const hob_pk_sampler *s = HOB_PACK_AT(hob_pk_sampler, c->samplers, channel->sampler);
	const float *rest = HOB_PACK_AT(hob_pk_trs, hob_pack_find(&c->w->scene, HOB_PK_TRS_), channel->index)->s;
	uint32_t stride = s->interpolation == HOB_PK_CUBICSPLINE ? 3 : 1, view;
	bool held = c->hold != 0;
	sampler_keys keys = {s->key_count + held, 1, HOB_PK_STEP, HOB_PACK_AT(float, c->values, s->value_first),
						 held};
	float *scales = (float *)hob_arena_array(c->w->arena, keys.count, 3 * sizeof *scales, _Alignof(float));
	uint8_t *at = hob_glb_view(c->w, keys.count, 0, &view);
	for (uint32_t i = 0; i < keys.count; i++) {
		uint32_t key = i < s->key_count ? i : i - 1;
		at[i] = keys.values[key * stride + stride / 2] >= 0.5f;
		for (uint32_t k = 0; k < 3; k++)
			scales[i * 3 + k] = at[i] ? rest[k] : 0;
	}
	uint32_t shown = hob_glb_accessor(c->w, view, GLB_BYTE, keys.count, "SCALAR", "");
	uint32_t time = put_times(c, s, &keys);
	c->hold = 0;
	put_sampler_json(c, time, shown, HOB_PK_STEP);
	put_pointer(c, pointer);
	const hob_pk_clip *clip =
		HOB_PACK_AT(hob_pk_clip, hob_pack_find(&c->w->animations, HOB_PK_CLIP), channel->clip);
	if (has_scale(c, clip, channel->index) || joint_below(c, channel->index))
		return;
	put_sampler_json(c, time, hob_glb_float_accessor(c->w, scales, keys.count, 3, "VEC3", 0, false),
					 HOB_PK_STEP);
	put_target(c, channel->index, HOB_PK_PATH_SCALE);
}

static void put_properties(clip_writer *c, uint32_t clip)
{
	const hob_pk_property_channel *channel;
	for (uint32_t i = first_property(c, clip); (channel = property_of(c, i, clip)) != NULL; i++) {
		hob_arena_mark mark = hob_arena_save(c->w->arena);
		const char *pointer = hob_glb_pointer(c->w, channel);
		if (!pointer) {
			hob_warn(c->w->notes, "glb.channel-dropped",
					 "a clip drives property %u of thing %u, which the exported file does not have",
					 channel->property, channel->index);
			continue;
		}
		if (channel->property == HOB_PK_PROPERTY_NODE_VISIBLE) {
			put_visibility(c, channel, pointer);
		} else {
			put_sampler(c, HOB_PACK_AT(hob_pk_sampler, c->samplers, channel->sampler), false);
			put_pointer(c, pointer);
		}
		hob_arena_restore(c->w->arena, mark);
	}
}

static void widen(const clip_writer *c, uint32_t sampler, float ends[2])
{
	const hob_pk_sampler *s = HOB_PACK_AT(hob_pk_sampler, c->samplers, sampler);
	float first = *HOB_PACK_AT(float, c->times, s->time_first),
		  last = *HOB_PACK_AT(float, c->times, s->time_first + s->key_count - 1);
	ends[0] = first < ends[0] ? first : ends[0];
	ends[1] = last > ends[1] ? last : ends[1];
}

/* The times of the clip's first and last key, and zero. */
static void find_ends(const clip_writer *c, const hob_pk_clip *clip, uint32_t id, float ends[2])
{
	const hob_pk_property_channel *property;
	ends[0] = ends[1] = 0;
	for (uint32_t i = first_property(c, id); (property = property_of(c, i, id)) != NULL; i++)
		widen(c, property->sampler, ends);
	for (uint32_t i = 0; i < clip->channel_count; i++)
		widen(c, HOB_PACK_AT(hob_pk_channel, c->channels, clip->channel_first + i)->sampler, ends);
}

static void put_clip(clip_writer *c, const hob_pk_clip *clip, uint32_t id)
{
	hob_str name = hob_pack_string(&c->w->animations, clip->name);
	glb_list *samplers = &c->w->lists[GLB_LIST_CLIP_SAMPLERS],
			 *channels = &c->w->lists[GLB_LIST_CLIP_CHANNELS];
	samplers->count = channels->count = 0;
	hob_buf_clear(&samplers->text);
	hob_buf_clear(&channels->text);
	float ends[2];
	find_ends(c, clip, id, ends);
	c->shift = -ends[0];
	c->hold = clip->end > ends[1] ? clip->end : 0;
	if (c->shift > 0)
		hob_info(c->w->notes, "glb.clip-moved", "clip '%.*s' begins before zero, which glTF forbids: moved",
				 HOB_FMT(name));
	put_channels(c, clip);
	put_properties(c, id);
	if (!channels->count) {
		hob_info(c->w->notes, "glb.clip-dropped", "clip '%.*s' has no channels", HOB_FMT(name));
		return;
	}
	hob_buf *json = hob_glb_next(c->w, GLB_LIST_ANIMATIONS);
	hob_buf_printf(json, "{\"samplers\":[%.*s],\"channels\":[%.*s]", HOB_FMT(hob_buf_str(&samplers->text)),
				   HOB_FMT(hob_buf_str(&channels->text)));
	hob_glb_name(json, name);
	hob_glb_extras(c->w, json, HOB_PK_EXTRA_CLIP, id);
	hob_buf_put(json, "}", 1);
}

void hob_glb_put_animations(glb_writer *w)
{
	if (!w->has_animations)
		return;
	clip_writer c = {
		.w = w,
		.channels = hob_pack_find(&w->animations, HOB_PK_CHAN),
		.properties = hob_pack_find(&w->animations, HOB_PK_PROP),
		.samplers = hob_pack_find(&w->animations, HOB_PK_SMPL),
		.times = hob_pack_find(&w->animations, HOB_PK_TIME),
		.values = hob_pack_find(&w->animations, HOB_PK_VALS),
	};
	hob_pack_array clips = hob_pack_find(&w->animations, HOB_PK_CLIP);
	c.time_place = HOB_NEW(w->arena, uint32_t, c.times.count);
	c.time_count = HOB_NEW(w->arena, uint32_t, c.times.count);
	for (uint32_t i = 0; i < clips.count; i++)
		put_clip(&c, HOB_PACK_AT(hob_pk_clip, clips, i), i);
}

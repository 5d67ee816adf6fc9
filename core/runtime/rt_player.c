#include "rt_private.h"

#include "rt_math.h"

#include <assert.h>

struct hob_rt_player {
	const rt_asset *asset;
	uint32_t layer_count, cursor_room;
	hob_rt_layer *layers;
	uint32_t *cursors;		  /* [layer_count][cursor_room] */
	hob_rt_pose **references; /* [layer_count] first frames of additive layers */
	hob_rt_pose *sampled, *mixed;
};

static hob_rt_player *lay_out(rt_memory *memory, const rt_asset *a, uint32_t layer_count)
{
	uint32_t room = 0;
	for (uint32_t i = 0; i < a->pub.clip_count; i++)
		room = a->pub.clips[i].channel_count > room ? a->pub.clips[i].channel_count : room;
	hob_rt_player *player = RT_TAKE(memory, hob_rt_player, 1);
	hob_rt_layer *layers = RT_TAKE(memory, hob_rt_layer, layer_count);
	uint32_t *cursors = (uint32_t *)hob_rt_take(memory, (uint64_t)layer_count * room, sizeof(uint32_t));
	hob_rt_pose **references = RT_TAKE(memory, hob_rt_pose *, layer_count);
	hob_rt_pose *sampled = hob_rt_take_pose(memory, a), *mixed = hob_rt_take_pose(memory, a);
	for (uint32_t i = 0; i < layer_count; i++) {
		hob_rt_pose *reference = hob_rt_take_pose(memory, a);
		if (player) {
			references[i] = reference;
			layers[i].clip = HOB_RT_NONE;
		}
	}
	if (player) {
		player->asset = a;
		player->layer_count = layer_count;
		player->cursor_room = room;
		player->layers = layers;
		player->cursors = cursors;
		player->references = references;
		player->sampled = sampled;
		player->mixed = mixed;
	}
	return player;
}

bool hob_rt_player_open(const hob_rt_asset *asset, uint32_t layer_count, hob_rt_player **out,
						hob_rt_error *error)
{
	const rt_asset *a = RT_ASSET(asset);
	rt_memory memory = {NULL, 0, false};
	assert(layer_count > 0);
	lay_out(&memory, a, layer_count);
	memory.base = memory.failed ? NULL : (uint8_t *)hob_rt_allocate(&a->options, memory.used);
	memory.used = 0;
	if (!memory.base)
		return hob_rt_fail(error, HOB_RT_MEMORY, "no memory for a player of %u layers", layer_count);
	*out = lay_out(&memory, a, layer_count);
	return true;
}

void hob_rt_player_close(hob_rt_player *player)
{
	if (player)
		hob_rt_release(&player->asset->options, player);
}

hob_rt_layer *hob_rt_player_layers(hob_rt_player *player, uint32_t *count)
{
	*count = player->layer_count;
	return player->layers;
}

/* ---- starting and stopping */

static uint32_t free_layer(const hob_rt_player *player)
{
	uint32_t best = 0;
	for (uint32_t i = 0; i < player->layer_count; i++) {
		if (player->layers[i].clip == HOB_RT_NONE)
			return i;
		if (player->layers[i].weight < player->layers[best].weight)
			best = i;
	}
	return best;
}

static uint32_t start(hob_rt_player *player, uint32_t clip, float weight, float fade, float speed, bool loop)
{
	const hob_rt_asset *asset = &player->asset->pub;
	assert(clip < asset->clip_count);
	uint32_t index = free_layer(player);
	hob_rt_layer *layer = &player->layers[index];
	layer->clip = clip;
	layer->time = speed < 0 ? asset->clips[clip].end : asset->clips[clip].start;
	layer->speed = speed;
	layer->loop = loop;
	layer->additive = false;
	layer->weight = fade > 0 ? 0 : weight;
	layer->target_weight = weight;
	layer->fade_rate = fade > 0 ? fabsf(weight) / fade : 0;
	if (player->cursor_room > 0)
		memset(player->cursors + (size_t)index * player->cursor_room, 0,
			   player->cursor_room * sizeof *player->cursors);
	return index;
}

void hob_rt_player_stop(hob_rt_player *player, uint32_t layer, float fade)
{
	assert(layer < player->layer_count);
	hob_rt_layer *stopped = &player->layers[layer];
	stopped->target_weight = 0;
	stopped->fade_rate = fade > 0 ? fabsf(stopped->weight) / fade : 0;
	if (!(fade > 0) || stopped->weight == 0)
		stopped->clip = HOB_RT_NONE;
}

uint32_t hob_rt_player_play(hob_rt_player *player, uint32_t clip, float fade, float speed, bool loop)
{
	uint32_t index = start(player, clip, 1, fade, speed, loop);
	for (uint32_t i = 0; i < player->layer_count; i++)
		if (i != index && player->layers[i].clip != HOB_RT_NONE && !player->layers[i].additive)
			hob_rt_player_stop(player, i, fade);
	return index;
}

uint32_t hob_rt_player_add(hob_rt_player *player, uint32_t clip, float weight, float fade, float speed,
						   bool loop)
{
	uint32_t index = start(player, clip, weight, fade, speed, loop);
	const hob_rt_asset *asset = &player->asset->pub;
	player->layers[index].additive = true;
	hob_rt_sample(asset, clip, asset->clips[clip].start, NULL, player->references[index]);
	return index;
}

/* ---- playing */

static void advance_layer(const hob_rt_player *player, hob_rt_layer *layer, double seconds)
{
	const hob_rt_clip *clip = &player->asset->pub.clips[layer->clip];
	float step = layer->fade_rate * (float)fabs(seconds), way = layer->target_weight - layer->weight;
	layer->time = hob_rt_clip_time(clip, layer->time + seconds * layer->speed, layer->loop);
	if (!(layer->fade_rate > 0))
		return;
	layer->weight = fabsf(way) <= step ? layer->target_weight : layer->weight + (way < 0 ? -step : step);
	if (layer->weight == 0 && layer->target_weight == 0)
		layer->clip = HOB_RT_NONE;
}

static void sample_layer(hob_rt_player *player, uint32_t index)
{
	const hob_rt_layer *layer = &player->layers[index];
	hob_rt_sample(&player->asset->pub, layer->clip, layer->time,
				  player->cursors + (size_t)index * player->cursor_room, player->sampled);
}

void hob_rt_player_advance(hob_rt_player *player, double seconds, hob_rt_instance *instance)
{
	if (!(fabs(seconds) <= 1e9))
		seconds = 0;
	hob_rt_blend_begin(player->mixed);
	for (uint32_t i = 0; i < player->layer_count; i++) {
		hob_rt_layer *layer = &player->layers[i];
		if (layer->clip != HOB_RT_NONE)
			advance_layer(player, layer, seconds);
		if (layer->clip == HOB_RT_NONE || layer->additive)
			continue;
		sample_layer(player, i);
		hob_rt_blend_add(player->mixed, player->sampled, layer->weight);
	}
	hob_rt_blend_end(player->mixed);
	for (uint32_t i = 0; i < player->layer_count; i++) {
		const hob_rt_layer *layer = &player->layers[i];
		if (layer->clip == HOB_RT_NONE || !layer->additive)
			continue;
		sample_layer(player, i);
		hob_rt_blend_additive(player->mixed, player->sampled, player->references[i], layer->weight);
	}
	hob_rt_apply(player->mixed, instance);
}

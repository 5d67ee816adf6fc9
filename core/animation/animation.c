#include "animation.h"
#include "clip_bounds.h"
#include "curve.h"
#include "key_reduce.h"
#include "../model/properties.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

typedef struct bake {
	const hob_model *model;
	const hob_baked_scene *scene;
	float error;			 /* options->error */
	float translation_error; /* in metres */
	hob_arena *result, *scratch;
	hob_notes *notes;
} bake_t;

/* ---- names */

static int compare_names(const void *a, const void *b)
{
	const hob_clip *x = *(const hob_clip *const *)a, *y = *(const hob_clip *const *)b;
	size_t len = x->name.len < y->name.len ? x->name.len : y->name.len;
	int order = len > 0 ? memcmp(x->name.data, y->name.data, len) : 0;
	if (order == 0)
		order = (x->name.len > y->name.len) - (x->name.len < y->name.len);
	return order ? order : (x > y) - (x < y);
}

static bool is_name(const hob_clip *const *sorted, uint32_t count, hob_str name)
{
	uint32_t low = 0, high = count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		size_t len = sorted[middle]->name.len < name.len ? sorted[middle]->name.len : name.len;
		int order = len > 0 ? memcmp(sorted[middle]->name.data, name.data, len) : 0;
		if (order == 0)
			order = (sorted[middle]->name.len > name.len) - (sorted[middle]->name.len < name.len);
		if (order == 0)
			return true;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

/* When several clips share a name, the first keeps it; later ones get "_2" and so on. Numbered names differ
 * before the last underscore or in the number, so they can clash only with names of the source. */
static void name_clips(bake_t *bake, hob_clip *clips)
{
	const hob_model *model = bake->model;
	const hob_clip **sorted = HOB_NEW(bake->scratch, const hob_clip *, model->clip_count);
	for (uint32_t i = 0; i < model->clip_count; i++)
		sorted[i] = &model->clips[i];
	if (model->clip_count > 0)
		qsort(sorted, model->clip_count, sizeof *sorted, compare_names);
	for (uint32_t i = 0, number = 2; i < model->clip_count; i++) {
		hob_str old = sorted[i]->name, name = old;
		bool twin = i > 0 && hob_str_equal(old, sorted[i - 1]->name);
		number = twin ? number : 2;
		do
			name = twin ? hob_arena_printf(bake->result, "%.*s_%u", HOB_FMT(old), number++)
						: hob_arena_str(bake->result, old);
		while (twin && is_name(sorted, model->clip_count, name));
		clips[sorted[i] - model->clips].name = name;
		if (twin)
			hob_warn(bake->notes, "animation.renamed",
					 "two clips are named '%.*s': the later one is now '%.*s'", HOB_FMT(old), HOB_FMT(name));
	}
}

/* ---- channels */

static uint32_t target_count(const hob_model *model, const hob_node *node)
{
	return node->mesh_count > 0 ? model->meshes[model->mesh_refs[node->mesh_first]].target_count : 0;
}

/* The rest value of a node. NULL if no track can repeat it. */
static const float *rest_value(const bake_t *bake, const hob_channel *channel, float *room)
{
	const hob_model *model = bake->model;
	const hob_node *node = &model->nodes[channel->node];
	if (channel->path == HOB_PATH_WEIGHTS) {
		for (uint32_t i = 0; i < target_count(model, node); i++)
			room[i] = i < node->weight_count
						  ? model->weights[node->weight_first + i]
						  : model->meshes[model->mesh_refs[node->mesh_first]].targets[i].weight;
		return room;
	}
	const float *parts[] = {node->translation, node->rotation, node->scale};
	return node->has_matrix ? NULL : parts[channel->path];
}

static bool says_rest(const bake_t *bake, const hob_channel *channel, const hob_track *reduced, float *room)
{
	const float *rest = reduced->key_count == 1 ? rest_value(bake, channel, room) : NULL;
	const float *value = hob_track_value(reduced, 0);
	for (uint32_t i = 0; rest && i < reduced->components; i++)
		if (value[i] != rest[i])
			return false;
	return rest != NULL;
}

static int compare_channels(const void *a, const void *b)
{
	const hob_channel *x = *(const hob_channel *const *)a, *y = *(const hob_channel *const *)b;
	if (x->node != y->node)
		return x->node > y->node ? 1 : -1;
	if (x->path != y->path)
		return x->path > y->path ? 1 : -1;
	return (x > y) - (x < y);
}

/* Channels to keep, sorted by model node and path. */
static const hob_channel **sort_channels(bake_t *bake, const hob_clip *clip, uint32_t *count)
{
	const hob_channel **sorted = HOB_NEW(bake->scratch, const hob_channel *, clip->channel_count);
	*count = 0;
	for (uint32_t i = 0; i < clip->channel_count; i++) {
		const hob_channel *channel = &clip->channels[i];
		const hob_node *node = &bake->model->nodes[channel->node];
		uint32_t components = clip->tracks[channel->track].components;
		if (channel->path == HOB_PATH_WEIGHTS && components != target_count(bake->model, node))
			hob_warn(bake->notes, "animation.weights",
					 "clip '%.*s' gives %u morph weights to node '%.*s', whose mesh has %u targets: the "
					 "channel is left out",
					 HOB_FMT(clip->name), components, HOB_FMT(node->name), target_count(bake->model, node));
		else
			sorted[(*count)++] = channel;
	}
	if (*count > 0)
		qsort(sorted, *count, sizeof *sorted, compare_channels);
	uint32_t kept = 0;
	for (uint32_t i = 0; i < *count; i++) {
		if (i + 1 < *count && sorted[i]->node == sorted[i + 1]->node &&
			sorted[i]->path == sorted[i + 1]->path)
			hob_warn(bake->notes, "animation.twice",
					 "clip '%.*s' animates the same property of node '%.*s' twice: the last channel counts",
					 HOB_FMT(clip->name), HOB_FMT(bake->model->nodes[sorted[i]->node].name));
		else
			sorted[kept++] = sorted[i];
	}
	*count = kept;
	return sorted;
}

/* ---- tracks */

/* Collects the strictest rule among a track's users; a track used for both rotation and another path is not
 * reduced. */
static void collect_rules(const bake_t *bake, const hob_channel *const *channels, uint32_t count,
						  hob_reduce_rule *rules, uint32_t track_count)
{
	for (uint32_t i = 0; i < track_count; i++)
		rules[i] = (hob_reduce_rule){false, FLT_MAX};
	for (uint32_t i = 0; i < count; i++) {
		hob_reduce_rule *rule = &rules[channels[i]->track];
		bool rotation = channels[i]->path == HOB_PATH_ROTATION;
		float error = channels[i]->path == HOB_PATH_TRANSLATION ? bake->translation_error : bake->error;
		if (rule->error != FLT_MAX && rule->rotation != rotation)
			error = 0;
		rule->error = error < rule->error ? error : rule->error;
		rule->rotation = rule->rotation || rotation;
	}
}

static hob_track copy_track(bake_t *bake, const hob_track *track, hob_reduce_rule rule)
{
	uint8_t *keep = HOB_NEW(bake->scratch, uint8_t, track->key_count);
	uint32_t kept = hob_keys_reduce(track, rule, keep);
	size_t stride = hob_track_stride(track);
	hob_track out = *track;
	out.key_count = 0;
	out.times = HOB_NEW(bake->result, float, kept);
	out.values = HOB_NEW(bake->result, float, kept *stride);
	for (uint32_t key = 0; key < track->key_count; key++) {
		if (!keep[key])
			continue;
		float *value = out.values + out.key_count * stride;
		out.times[out.key_count++] = track->times[key];
		memcpy(value, track->values + key * stride, stride * sizeof *value);
		if (rule.rotation && track->interpolation != HOB_CUBICSPLINE) {
			double square = 0;
			for (int i = 0; i < 4; i++)
				square += (double)value[i] * value[i];
			/* Integer sources are slightly off unit length; exact ones keep their bits. */
			if (!(fabs(square - 1) < 1e-6))
				hob_quat_normalise(value);
		}
	}
	return out;
}

static bool equal_tracks(const hob_track *a, const hob_track *b)
{
	return a->interpolation == b->interpolation && a->components == b->components &&
		   a->key_count == b->key_count && memcmp(a->times, b->times, a->key_count * sizeof *a->times) == 0 &&
		   memcmp(a->values, b->values, a->key_count * hob_track_stride(a) * sizeof *a->values) == 0;
}

static uint32_t hash_bytes(uint32_t hash, const void *data, size_t size)
{
	const uint8_t *bytes = data;
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ bytes[i]) * 16777619u;
	return hash;
}

/* A growing set of tracks: `slots` is an open hash table of indices. */
typedef struct track_set {
	hob_track *tracks;
	uint32_t count, mask, *slots;
} track_set_t;

static uint32_t intern_track(track_set_t *set, const hob_track *track)
{
	uint32_t hash = hash_bytes(2166136261u, track->times, track->key_count * sizeof *track->times);
	hash =
		hash_bytes(hash, track->values, track->key_count * hob_track_stride(track) * sizeof *track->values);
	uint32_t slot = hash & set->mask;
	while (set->slots[slot] != HOB_NONE) {
		if (equal_tracks(&set->tracks[set->slots[slot]], track))
			return set->slots[slot];
		slot = (slot + 1) & set->mask;
	}
	set->slots[slot] = set->count;
	set->tracks[set->count] = *track;
	return set->count++;
}

static track_set_t new_tracks(bake_t *bake, uint32_t capacity)
{
	uint32_t slots = 2;
	while (slots < capacity * 2)
		slots *= 2;
	track_set_t set = {.tracks = HOB_NEW(bake->result, hob_track, capacity),
					   .mask = slots - 1,
					   .slots = HOB_NEW(bake->scratch, uint32_t, slots)};
	memset(set.slots, 0xFF, slots * sizeof *set.slots);
	return set;
}

/* ---- a clip */

static void clip_range(const hob_clip *clip, float range[2])
{
	range[0] = range[1] = 0;
	for (uint32_t i = 0; i < clip->channel_count + clip->property_count; i++) {
		uint32_t id = i < clip->channel_count ? clip->channels[i].track
											  : clip->properties[i - clip->channel_count].track;
		const hob_track *track = &clip->tracks[id];
		float first = track->times[0], last = track->times[track->key_count - 1];
		range[0] = i == 0 || first < range[0] ? first : range[0];
		range[1] = i == 0 || last > range[1] ? last : range[1];
	}
}

/* Bakes property channels. Their keys are all kept, because the allowed error of a factor is unknown. */
static void bake_properties(bake_t *bake, const hob_clip *clip, track_set_t *set, hob_clip *out)
{
	out->properties = HOB_NEW(bake->result, hob_property_channel, clip->property_count);
	for (uint32_t i = 0; i < clip->property_count; i++) {
		hob_property_channel channel = clip->properties[i];
		hob_track track = copy_track(bake, &clip->tracks[channel.track], (hob_reduce_rule){false, 0});
		channel.track = intern_track(set, &track);
		if (channel.property == HOB_PROPERTY_NODE_VISIBLE)
			channel.index = bake->scene->node_of_model[channel.index];
		out->properties[out->property_count++] = channel;
	}
}

static void bake_clip(bake_t *bake, const hob_clip *clip, hob_clip *out)
{
	uint32_t count, room = 1;
	const hob_channel **channels = sort_channels(bake, clip, &count);
	uint32_t *baked = HOB_NEW(bake->scratch, uint32_t, clip->track_count);
	hob_track *reduced = HOB_NEW(bake->scratch, hob_track, clip->track_count);
	for (uint32_t i = 0; i < clip->track_count; i++)
		room = clip->tracks[i].components > room ? clip->tracks[i].components : room;
	float *rest = HOB_NEW(bake->scratch, float, room);
	hob_reduce_rule *rules = HOB_NEW(bake->scratch, hob_reduce_rule, clip->track_count);
	out->channels = HOB_NEW(bake->result, hob_channel, count);
	track_set_t set = new_tracks(bake, clip->track_count + clip->property_count);
	if (clip->track_count > 0)
		memset(baked, 0xFF, clip->track_count * sizeof *baked);
	collect_rules(bake, channels, count, rules, clip->track_count);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t source = channels[i]->track;
		if (reduced[source].key_count == 0)
			reduced[source] = copy_track(bake, &clip->tracks[source], rules[source]);
		if (says_rest(bake, channels[i], &reduced[source], rest))
			continue;
		if (baked[source] == HOB_NONE)
			baked[source] = intern_track(&set, &reduced[source]);
		out->channels[out->channel_count++] =
			(hob_channel){bake->scene->node_of_model[channels[i]->node], channels[i]->path, baked[source]};
	}
	bake_properties(bake, clip, &set, out);
	out->tracks = set.tracks;
	out->track_count = set.count;
}

static void bake_clips(bake_t *bake, hob_baked_animations *out)
{
	const hob_model *model = bake->model;
	out->clip_count = model->clip_count;
	out->clips = HOB_NEW(bake->result, hob_clip, model->clip_count);
	out->ranges = HOB_NEW(bake->result, float, (size_t)model->clip_count * 2);
	out->skin_bounds = HOB_NEW(bake->result, float, (size_t)model->clip_count * 6);
	if (model->clip_count == 0)
		return;
	name_clips(bake, out->clips);
	hob_skin_boxes boxes = hob_skin_boxes_of(model, bake->scratch);
	for (uint32_t i = 0; i < model->clip_count; i++) {
		const hob_clip *clip = &model->clips[i];
		float *range = out->ranges + (size_t)i * 2;
		clip_range(clip, range);
		hob_arena_mark mark = hob_arena_save(bake->scratch);
		bake_clip(bake, clip, &out->clips[i]);
		hob_clip_bounds(&boxes, clip, range[0], range[1], bake->scratch, out->skin_bounds + (size_t)i * 6);
		hob_arena_restore(bake->scratch, mark);
	}
}

/* ---- skins */

static void bake_skins(bake_t *bake, hob_baked_animations *out)
{
	const hob_model *model = bake->model;
	out->skin_count = model->skin_count;
	out->skins = HOB_NEW(bake->result, hob_skin, model->skin_count);
	for (uint32_t i = 0; i < model->skin_count; i++) {
		const hob_skin *skin = &model->skins[i];
		hob_skin *copy = &out->skins[i];
		copy->name = hob_arena_str(bake->result, skin->name);
		copy->joints = HOB_NEW(bake->result, uint32_t, skin->joint_count);
		copy->inverse_bind = HOB_NEW(bake->result, float, (size_t)skin->joint_count * 16);
		copy->root = skin->root == HOB_NONE ? HOB_NONE : bake->scene->node_of_model[skin->root];
		copy->joint_count = skin->joint_count;
		for (uint32_t j = 0; j < skin->joint_count; j++)
			copy->joints[j] = bake->scene->node_of_model[skin->joints[j]];
		if (skin->joint_count > 0)
			memcpy(copy->inverse_bind, skin->inverse_bind, (size_t)skin->joint_count * 16 * sizeof(float));
	}
}

/* ---- the whole */

static void widen(float box[6], const float min[3], const float max[3])
{
	for (int i = 0; i < 3; i++) {
		box[i] = min[i] < box[i] ? min[i] : box[i];
		box[3 + i] = max[i] > box[3 + i] ? max[i] : box[3 + i];
	}
}

/* Diagonal of the bounds of all meshes, or of the rest translations if there is no mesh. */
static float scene_size(const hob_model *model, const hob_baked_scene *scene)
{
	float box[6] = {FLT_MAX, FLT_MAX, FLT_MAX, -FLT_MAX, -FLT_MAX, -FLT_MAX};
	for (uint32_t i = 0; i < scene->node_count; i++) {
		const float *node = scene->aabb + (size_t)i * 6;
		if (scene->hierarchy[i].parent < 0 && node[0] <= node[3])
			widen(box, node, node + 3);
	}
	bool meshes = box[0] <= box[3];
	for (uint32_t i = 0; !meshes && i < model->node_count; i++)
		widen(box, model->nodes[i].translation, model->nodes[i].translation);
	double square = 0;
	for (int i = 0; i < 3; i++)
		square += ((double)box[3 + i] - box[i]) * ((double)box[3 + i] - box[i]);
	return box[0] <= box[3] ? (float)sqrt(square) : 0;
}

hob_baked_animations hob_animations_bake(const hob_model *model, const hob_baked_scene *scene,
										 const hob_animation_options *options, hob_arena *result,
										 hob_arena *scratch, hob_notes *notes)
{
	float error = options ? options->error : 0;
	assert(error >= 0);
	bake_t bake = {.model = model,
				   .scene = scene,
				   .error = error,
				   .translation_error = error > 0 ? error * scene_size(model, scene) : 0,
				   .result = result,
				   .scratch = scratch,
				   .notes = notes};
	hob_baked_animations baked = {0};
	hob_arena_mark mark = hob_arena_save(scratch);
	bake_skins(&bake, &baked);
	bake_clips(&bake, &baked);
	hob_arena_restore(scratch, mark);
	return baked;
}

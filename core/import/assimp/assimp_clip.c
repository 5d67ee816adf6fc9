#include "assimp_convert.h"

#include "../../base/limits.h"

#include <math.h>

enum { DEFAULT_TICKS = 25 };

typedef struct clip_builder {
	hob_assimp_scene *scene;
	hob_clip *clip;
	double ticks; /* ticks per second */
	hob_buf times, values;
} clip_builder;

/* ---- keys */

/* Appends a key; one at the time of the last replaces it, an earlier one is dropped: times must rise. */
static void add_key(clip_builder *b, double ticks, const float *value, uint32_t components)
{
	float time = (float)(ticks / b->ticks);
	if (!isfinite(time))
		return;
	for (uint32_t i = 0; i < components; i++)
		if (value[i] - value[i] != 0)
			return;
	uint32_t count = (uint32_t)(b->times.size / sizeof(float));
	if (count > 0) {
		float last;
		memcpy(&last, b->times.data + b->times.size - sizeof last, sizeof last);
		if (time < last)
			return;
		if (!(time > last)) {
			memcpy(b->values.data + b->values.size - components * sizeof(float), value,
				   components * sizeof(float));
			return;
		}
	}
	hob_buf_put(&b->times, &time, sizeof time);
	hob_buf_put(&b->values, value, components * sizeof(float));
}

static void finish_track(clip_builder *b, uint32_t node, hob_path path, uint32_t components)
{
	hob_arena *arena = b->scene->request->result;
	hob_clip *clip = b->clip;
	uint32_t count = (uint32_t)(b->times.size / sizeof(float));
	if (count == 0)
		return;
	hob_track *track = &clip->tracks[clip->track_count];
	*track = (hob_track){HOB_LINEAR, components, count, HOB_NEW(arena, float, count),
						 HOB_NEW(arena, float, (size_t)count *components)};
	memcpy(track->times, b->times.data, b->times.size);
	memcpy(track->values, b->values.data, b->values.size);
	clip->channels[clip->channel_count++] = (hob_channel){node, path, clip->track_count++};
}

static void start_track(clip_builder *b)
{
	hob_buf_clear(&b->times);
	hob_buf_clear(&b->values);
}

/* Whether a track repeats the node's rest pose, with which importers fill the components that a channel does
 * not animate, once or at every key. */
static bool repeats_rest(const clip_builder *b, const float *rest, uint32_t components, bool rotation)
{
	size_t keys = b->times.size / sizeof(float);
	const float *values = (const float *)(const void *)b->values.data;
	float room = 1e-6f;
	for (uint32_t i = 0; i < components; i++)
		room = fmaxf(room, fabsf(rest[i]) * 1e-5f);
	for (size_t k = 0; k < keys; k++) {
		float same = 0, opposite = 0;
		for (uint32_t i = 0; i < components; i++) {
			same = fmaxf(same, fabsf(values[k * components + i] - rest[i]));
			opposite = fmaxf(opposite, fabsf(values[k * components + i] + rest[i]));
		}
		if (!(same <= room || (rotation && opposite <= room)))
			return false;
	}
	return true;
}

static void vector_track(clip_builder *b, const struct aiVectorKey *keys, unsigned count, float scale,
						 uint32_t node, hob_path path)
{
	start_track(b);
	for (unsigned i = 0; keys && i < count; i++) {
		const float value[3] = {keys[i].mValue.x * scale, keys[i].mValue.y * scale, keys[i].mValue.z * scale};
		add_key(b, keys[i].mTime, value, 3);
	}
	const hob_node *rest = &b->scene->model->nodes[node];
	if (!repeats_rest(b, path == HOB_PATH_SCALE ? rest->scale : rest->translation, 3, false))
		finish_track(b, node, path, 3);
}

static void rotation_track(clip_builder *b, const struct aiQuatKey *keys, unsigned count, uint32_t node)
{
	start_track(b);
	for (unsigned i = 0; keys && i < count; i++) {
		const struct aiQuaternion *q = &keys[i].mValue;
		float length = sqrtf(q->x * q->x + q->y * q->y + q->z * q->z + q->w * q->w);
		if (!(length > 1e-12f && length < 1e12f))
			continue;
		const float value[4] = {q->x / length, q->y / length, q->z / length, q->w / length};
		add_key(b, keys[i].mTime, value, 4);
	}
	if (!repeats_rest(b, b->scene->model->nodes[node].rotation, 4, true))
		finish_track(b, node, HOB_PATH_ROTATION, 4);
}

static void node_channel(clip_builder *b, const struct aiNodeAnim *channel)
{
	hob_assimp_scene *scene = b->scene;
	hob_str name = hob_assimp_str(&channel->mNodeName);
	uint32_t index = hob_name_map_get(&scene->by_name, name);
	if (index == HOB_NONE) {
		hob_warn(scene->request->notes, "animation.missing-node",
				 "clip '%.*s' moves '%.*s', which does not exist; that channel is left out",
				 HOB_FMT(b->clip->name), HOB_FMT(name));
		return;
	}
	if (channel->mPostState == aiAnimBehaviour_LINEAR || channel->mPreState == aiAnimBehaviour_LINEAR)
		hob_info(scene->request->notes, "animation.extrapolation",
				 "clip '%.*s' extrapolates beyond its keys; the first and last key are held instead",
				 HOB_FMT(b->clip->name));
	uint32_t node = scene->nodes[index].id;
	vector_track(b, channel->mPositionKeys, channel->mNumPositionKeys, scene->unit, node,
				 HOB_PATH_TRANSLATION);
	rotation_track(b, channel->mRotationKeys, channel->mNumRotationKeys, node);
	vector_track(b, channel->mScalingKeys, channel->mNumScalingKeys, 1, node, HOB_PATH_SCALE);
}

/* ---- morph weights */

/* Each target has its own key times; at other targets' times its value is interpolated. */
typedef struct weight_line {
	uint32_t before; /* last key of the target, HOB_NONE at first */
	uint32_t after;	 /* next key of the target, HOB_NONE: none */
} weight_line;

static bool names_target(const struct aiMeshMorphKey *key, uint32_t target, float *weight)
{
	for (unsigned i = 0; i < key->mNumValuesAndWeights; i++)
		if (key->mValues[i] == target) {
			*weight = (float)key->mWeights[i];
			return true;
		}
	return false;
}

static uint32_t next_naming(const struct aiMeshMorphAnim *channel, uint32_t from, uint32_t target)
{
	float weight;
	for (uint32_t k = from; k < channel->mNumKeys; k++)
		if (names_target(&channel->mKeys[k], target, &weight))
			return k;
	return HOB_NONE;
}

static float weight_at(const struct aiMeshMorphAnim *channel, uint32_t key, uint32_t target,
					   weight_line *line)
{
	if (line->after == key) {
		line->before = key;
		line->after = next_naming(channel, key + 1, target);
	}
	float from = 0, to = 0;
	bool has_from = line->before != HOB_NONE && names_target(&channel->mKeys[line->before], target, &from);
	bool has_to = line->after != HOB_NONE && names_target(&channel->mKeys[line->after], target, &to);
	if (!has_from || !has_to)
		return has_from ? from : to;
	double start = channel->mKeys[line->before].mTime, end = channel->mKeys[line->after].mTime;
	double t = end > start ? (channel->mKeys[key].mTime - start) / (end - start) : 0;
	return from + (to - from) * (float)t;
}

static void weight_track(clip_builder *b, const struct aiMeshMorphAnim *channel, uint32_t node,
						 uint32_t target_count)
{
	hob_arena *scratch = b->scene->request->scratch;
	hob_arena_mark mark = hob_arena_save(scratch);
	weight_line *lines = HOB_NEW(scratch, weight_line, target_count);
	float *values = HOB_NEW(scratch, float, target_count);
	for (uint32_t t = 0; t < target_count; t++)
		lines[t] = (weight_line){HOB_NONE, next_naming(channel, 0, t)};
	start_track(b);
	for (uint32_t k = 0; k < channel->mNumKeys; k++) {
		for (uint32_t t = 0; t < target_count; t++)
			values[t] = weight_at(channel, k, t, &lines[t]);
		add_key(b, channel->mKeys[k].mTime, values, target_count);
	}
	hob_arena_restore(scratch, mark);
	finish_track(b, node, HOB_PATH_WEIGHTS, target_count);
}

static uint32_t targets_of(const hob_model *model, uint32_t node)
{
	uint32_t most = 0;
	for (uint32_t i = 0; i < model->nodes[node].mesh_count; i++) {
		uint32_t count = model->meshes[model->mesh_refs[model->nodes[node].mesh_first + i]].target_count;
		most = count > most ? count : most;
	}
	return most;
}

/* The node of a morph channel: some importers name "node*geometry", others a node or a mesh. */
static uint32_t morph_node(const hob_assimp_scene *scene, hob_str name)
{
	for (size_t i = name.len; i > 0; i--)
		if (name.data[i - 1] == '*') {
			name.len = i - 1;
			break;
		}
	uint32_t index = hob_name_map_get(&scene->by_name, name);
	if (index != HOB_NONE && scene->nodes[index].id != HOB_NONE &&
		targets_of(scene->model, scene->nodes[index].id) > 0)
		return scene->nodes[index].id;
	for (unsigned m = 0; m < scene->source->mNumMeshes; m++) {
		if (scene->mesh_first[m] == scene->mesh_first[m + 1] ||
			!hob_str_equal(hob_assimp_str(&scene->source->mMeshes[m]->mName), name))
			continue;
		for (uint32_t n = 0; n < scene->model->node_count; n++)
			for (uint32_t i = 0; i < scene->model->nodes[n].mesh_count; i++)
				if (scene->model->mesh_refs[scene->model->nodes[n].mesh_first + i] == scene->mesh_first[m])
					return n;
	}
	return HOB_NONE;
}

static void morph_channel(clip_builder *b, const struct aiMeshMorphAnim *channel)
{
	hob_str name = hob_assimp_str(&channel->mName);
	uint32_t node = morph_node(b->scene, name);
	uint32_t targets = node == HOB_NONE ? 0 : targets_of(b->scene->model, node);
	if (targets > 0)
		weight_track(b, channel, node, targets);
	else
		hob_warn(
			b->scene->request->notes, "animation.missing-node",
			"clip '%.*s' moves the morph targets of '%.*s', which does not exist; that channel is left out",
			HOB_FMT(b->clip->name), HOB_FMT(name));
}

/* ---- clips */

static void check_limits(const struct aiAnimation *from)
{
	uint64_t most = 0;
	for (unsigned c = 0; c < from->mNumChannels; c++) {
		const struct aiNodeAnim *channel = from->mChannels[c];
		most = channel->mNumPositionKeys > most ? channel->mNumPositionKeys : most;
		most = channel->mNumRotationKeys > most ? channel->mNumRotationKeys : most;
		most = channel->mNumScalingKeys > most ? channel->mNumScalingKeys : most;
	}
	for (unsigned c = 0; c < from->mNumMorphMeshChannels; c++)
		most = from->mMorphMeshChannels[c]->mNumKeys > most ? from->mMorphMeshChannels[c]->mNumKeys : most;
	if (most > HOB_LIMIT_KEYS)
		hob_leave(LIMIT, "a track of %llu keys, at most %llu are allowed", (unsigned long long)most,
				  HOB_LIMIT_KEYS);
	uint64_t channels = (uint64_t)from->mNumChannels + from->mNumMorphMeshChannels;
	if (channels > HOB_LIMIT_NODES)
		hob_leave(LIMIT, "%llu channels, at most %llu are allowed", (unsigned long long)channels,
				  HOB_LIMIT_NODES);
}

static void convert_clip(clip_builder *b, const struct aiAnimation *from)
{
	hob_arena *arena = b->scene->request->result;
	hob_clip *clip = b->clip;
	HOB_PLACE("clip '@'", 0, clip->name);
	check_limits(from);
	size_t tracks = (size_t)from->mNumChannels * 3 + from->mNumMorphMeshChannels;
	clip->channels = HOB_NEW(arena, hob_channel, tracks);
	clip->tracks = HOB_NEW(arena, hob_track, tracks);
	b->ticks =
		from->mTicksPerSecond > 0 && isfinite(from->mTicksPerSecond) ? from->mTicksPerSecond : DEFAULT_TICKS;
	for (unsigned c = 0; c < from->mNumChannels; c++)
		node_channel(b, from->mChannels[c]);
	for (unsigned c = 0; c < from->mNumMorphMeshChannels; c++)
		morph_channel(b, from->mMorphMeshChannels[c]);
	if (from->mNumMeshChannels > 0)
		hob_warn(b->scene->request->notes, "animation.mesh-frames",
				 "clip '%.*s' swaps whole meshes per frame, which is left out", HOB_FMT(clip->name));
}

void hob_assimp_clips(hob_assimp_scene *scene)
{
	const struct aiScene *source = scene->source;
	hob_model *model = scene->model;
	if (source->mNumAnimations > HOB_LIMIT_CLIPS)
		hob_leave(LIMIT, "%u animation clips, at most %llu are allowed", source->mNumAnimations,
				  HOB_LIMIT_CLIPS);
	hob_name_map names;
	hob_name_map_init(&names, scene->request->scratch);
	model->clips = HOB_NEW(scene->request->result, hob_clip, source->mNumAnimations);
	clip_builder b = {.scene = scene};
	for (unsigned a = 0; a < source->mNumAnimations; a++) {
		hob_clip *clip = b.clip = &model->clips[model->clip_count];
		hob_str name = hob_assimp_name(scene, &source->mAnimations[a]->mName);
		*clip = (hob_clip){0};
		clip->name =
			hob_name_map_add_unique(&names, scene->request->result, name.len > 0 ? name : HOB_STR("clip"), a);
		convert_clip(&b, source->mAnimations[a]);
		if (clip->channel_count > 0)
			model->clip_count++;
		else
			hob_info(scene->request->notes, "animation.still",
					 "clip '%.*s' moves nothing away from the rest pose and is left out",
					 HOB_FMT(clip->name));
	}
}

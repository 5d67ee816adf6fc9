#include "gltf_private.h"
#include "../../model/properties.h"
#include "../name_map.h"

#include <math.h>

/* Weights at rest. */
static void rest_weights(const hob_gltf *g, const hob_gltf_weight *of, float *out)
{
	uint32_t mesh = of->at.index;
	for (uint32_t i = 0; i < of->components; i++)
		out[i] = 0;
	if (of->at.kind == HOB_GLTF_AT_NODE) {
		const hob_node *node = &g->model.nodes[g->node_ids[of->at.index]];
		if (node->weight_count == of->components) {
			memcpy(out, g->model.weights + node->weight_first, of->components * sizeof *out);
			return;
		}
		mesh = hob_gltf_id(g->nodes.items[of->at.index], "mesh", g->meshes.count);
	}
	if (mesh != HOB_NONE)
		hob_gltf_floats(g->meshes.items[mesh], "weights", of->components, out);
}

/* Union of the tracks' key times. */
static uint32_t merge_times(const hob_gltf_weight *of, uint32_t count, uint32_t *at, float *out)
{
	uint32_t merged = 0;
	memset(at, 0, count * sizeof *at);
	for (;;) {
		uint32_t first = HOB_NONE;
		for (uint32_t i = 0; i < count; i++)
			if (at[i] < of[i].track.key_count &&
				(first == HOB_NONE || of[i].track.times[at[i]] < of[first].track.times[at[first]]))
				first = i;
		if (first == HOB_NONE)
			return merged;
		float time = of[first].track.times[at[first]];
		out[merged++] = time;
		for (uint32_t i = 0; i < count; i++)
			at[i] += at[i] < of[i].track.key_count && of[i].track.times[at[i]] == time;
	}
}

/* Value of a stepped or linear track at `time`; `*from` is the preceding key and never decreases. */
static float sample(const hob_track *t, uint32_t *from, float time)
{
	while (*from + 1 < t->key_count && t->times[*from + 1] <= time)
		(*from)++;
	float a = t->values[*from], start = t->times[*from];
	if (t->interpolation == HOB_STEP || *from + 1 == t->key_count || time <= start)
		return a;
	float part = (time - start) / (t->times[*from + 1] - start);
	return a + (t->values[*from + 1] - a) * part;
}

static const char *why_not(const hob_gltf_weight *of, uint32_t count)
{
	const hob_track *first = &of[0].track;
	for (uint32_t i = 1; i < count; i++) {
		const hob_track *t = &of[i].track;
		if (t->interpolation != first->interpolation)
			return "the weights of one node are interpolated in different ways";
		if (t->interpolation == HOB_CUBICSPLINE &&
			(t->key_count != first->key_count ||
			 memcmp(t->times, first->times, t->key_count * sizeof(float)) != 0))
			return "the splines of one node's weights have keys at different times";
	}
	return NULL;
}

/* One track of all weights from the [count] tracks of one node or mesh, in the result arena. Each weight
 * keeps its exact curve; weights without a track have their rest value. *why, if not NULL, is the reason for
 * failure. */
static void gltf_join_weights(hob_gltf *g, const hob_gltf_weight *of, uint32_t count, hob_track *out,
							  const char **why)
{
	uint32_t components = of[0].components;
	uint64_t keys = 0;
	for (uint32_t i = 0; i < count; i++) {
		keys += of[i].track.key_count;
		for (uint32_t j = 0; j < i; j++)
			if (of[j].at.weight == of[i].at.weight)
				hob_leave(CORRUPT, "weight %u has two channels", of[i].at.weight);
	}
	*why = why_not(of, count);
	if (*why)
		return;
	if (keys > HOB_LIMIT_KEYS)
		hob_leave(LIMIT, "%llu keys of single weights, the limit is %llu", (unsigned long long)keys,
				  HOB_LIMIT_KEYS);
	bool cubic = of[0].track.interpolation == HOB_CUBICSPLINE;
	float *rest = HOB_NEW(g->scratch, float, components);
	uint32_t *at = HOB_NEW(g->scratch, uint32_t, count);
	hob_track track = {.interpolation = of[0].track.interpolation, .components = components};
	track.times = HOB_NEW(g->result, float, (size_t)keys);
	rest_weights(g, &of[0], rest);
	track.key_count = merge_times(of, count, at, track.times);
	size_t rows = (size_t)track.key_count * (cubic ? 3 : 1);
	track.values = HOB_NEW(g->result, float, rows *components);
	for (size_t row = 0; row < rows; row++)
		for (uint32_t k = 0; k < components; k++)
			track.values[row * components + k] = cubic && row % 3 != 1 ? 0 : rest[k];
	memset(at, 0, count * sizeof *at);
	for (size_t row = 0; row < rows; row++)
		for (uint32_t i = 0; i < count; i++)
			track.values[row * components + of[i].at.weight] =
				cubic ? of[i].track.values[row] : sample(&of[i].track, &at[i], track.times[row]);
	*out = track;
}

/* The next part of a pointer, without its slash; empty at the end. */
static hob_str next_part(hob_str *rest)
{
	if (rest->len == 0 || rest->data[0] != '/')
		return (hob_str){0};
	size_t end = 1;
	while (end < rest->len && rest->data[end] != '/')
		end++;
	hob_str part = {rest->data + 1, end - 1};
	*rest = (hob_str){rest->data + end, rest->len - end};
	return part;
}

static bool next_index(hob_str *rest, uint32_t count, uint32_t *out)
{
	hob_str digits = next_part(rest);
	uint64_t index = 0;
	for (size_t i = 0; i < digits.len; i++) {
		if (digits.data[i] < '0' || digits.data[i] > '9' || index > UINT32_MAX)
			return false;
		index = index * 10 + (uint64_t)(digits.data[i] - '0');
	}
	*out = (uint32_t)index;
	return digits.len > 0 && index < count;
}

/* "extensions/NAME/..." requires the extension on the object. */
static bool has_extension(const cJSON *thing, hob_str pointer)
{
	static const hob_str prefix = {"extensions/", 11};
	if (pointer.len < prefix.len || memcmp(pointer.data, prefix.data, prefix.len) != 0)
		return true;
	hob_str name = {pointer.data + prefix.len, pointer.len - prefix.len};
	name.len = hob_str_find(name, HOB_STR("/"), 0);
	const cJSON *extensions = hob_json_get(thing, "extensions");
	for (const cJSON *item = cJSON_IsObject(extensions) ? extensions->child : NULL; item; item = item->next)
		if (hob_str_equal(hob_str_of(item->string), name))
			return true;
	return false;
}

static bool begins(hob_str text, hob_str with)
{
	return text.len >= with.len && memcmp(text.data, with.data, with.len) == 0;
}

/* Finds the property that the pointer's `rest` names, after the object's index and its slash. */
static const char *find_property(hob_str rest, hob_driven driven, bool orthographic, hob_gltf_pointed *out)
{
	for (uint32_t p = 0; p < HOB_PROPERTY_COUNT; p++)
		if (hob_property_of(p)->driven == driven &&
			hob_str_equal(hob_property_pointer(p, orthographic), rest)) {
			out->property = p;
			return NULL;
		}
	return "its pointer names nothing that Hob animates";
}

static const char *point_at_material(const hob_gltf *g, hob_str rest, hob_gltf_pointed *out)
{
	static const hob_str transform = {"/extensions/KHR_texture_transform/", 34};
	const hob_material *material = &g->model.materials[out->index];
	if (!has_extension(g->materials.items[out->index], rest))
		return "its material does not have the extension";
	for (uint32_t s = 0; s < HOB_SLOT_COUNT; s++) {
		hob_str slot = hob_slot_pointer((hob_slot)s);
		hob_str tail = slot.len > 0 && begins(rest, slot)
						   ? (hob_str){rest.data + slot.len, rest.len - slot.len}
						   : (hob_str){0};
		if (!begins(tail, transform))
			continue;
		if (material->slots[s].image == HOB_NONE)
			return "its material has no such texture";
		out->slot = s;
		return find_property((hob_str){tail.data + transform.len, tail.len - transform.len},
							 HOB_DRIVEN_TEXREF, false, out);
	}
	return find_property(rest, HOB_DRIVEN_MATERIAL, false, out);
}

/* Resolves "weights/3". */
static const char *point_at_weight(hob_str rest, hob_gltf_pointed *out)
{
	static const hob_str weights = {"weights", 7};
	hob_str tail = {rest.data + weights.len, rest.len - weights.len};
	out->path = HOB_PATH_WEIGHTS;
	return begins(rest, HOB_STR("weights/")) && next_index(&tail, HOB_NONE, &out->weight) && tail.len == 0
			   ? NULL
			   : "its pointer names nothing that Hob animates";
}

static const char *point_at_node(hob_str rest, hob_gltf_pointed *out)
{
	static const hob_str paths[] = {{"translation", 11}, {"rotation", 8}, {"scale", 5}, {"weights", 7}};
	for (size_t i = 0; i < HOB_COUNT_OF(paths); i++)
		if (hob_str_equal(rest, paths[i])) {
			out->path = (hob_path)i;
			return NULL;
		}
	if (hob_str_equal(rest, hob_property_pointer(HOB_PROPERTY_NODE_VISIBLE, false))) {
		out->kind = HOB_GLTF_AT_PROPERTY;
		out->property = HOB_PROPERTY_NODE_VISIBLE;
		return NULL;
	}
	return point_at_weight(rest, out);
}

/* Resolves a pointer, after materials, cameras and lights. NULL, or the reason why it is not supported. */
static const char *gltf_point(const hob_gltf *g, hob_str pointer, hob_gltf_pointed *out)
{
	hob_str rest = pointer, kind = next_part(&rest);
	*out = (hob_gltf_pointed){.kind = HOB_GLTF_AT_PROPERTY, .weight = HOB_NONE};
	uint32_t count = 0;
	bool light = hob_str_equal(kind, HOB_STR("extensions"));
	if (light && hob_str_equal(next_part(&rest), HOB_STR("KHR_lights_punctual")) &&
		hob_str_equal(next_part(&rest), HOB_STR("lights")))
		count = g->model.light_count;
	else if (hob_str_equal(kind, HOB_STR("materials")))
		count = g->model.material_count;
	else if (hob_str_equal(kind, HOB_STR("cameras")))
		count = g->model.camera_count;
	else if (hob_str_equal(kind, HOB_STR("nodes")))
		count = g->nodes.count, out->kind = HOB_GLTF_AT_NODE;
	else if (hob_str_equal(kind, HOB_STR("meshes")))
		count = g->meshes.count, out->kind = HOB_GLTF_AT_MESH;
	if (!next_index(&rest, count, &out->index) || rest.len < 2)
		return "its pointer names nothing that Hob animates";
	rest = (hob_str){rest.data + 1, rest.len - 1};
	if (out->kind == HOB_GLTF_AT_NODE)
		return point_at_node(rest, out);
	if (out->kind == HOB_GLTF_AT_MESH) {
		out->path = HOB_PATH_WEIGHTS;
		return hob_str_equal(rest, HOB_STR("weights")) ? NULL : point_at_weight(rest, out);
	}
	if (light)
		return find_property(rest, HOB_DRIVEN_LIGHT, false, out);
	if (hob_str_equal(kind, HOB_STR("cameras")))
		return find_property(rest, HOB_DRIVEN_CAMERA,
							 g->model.cameras[out->index].type == HOB_CAMERA_ORTHOGRAPHIC, out);
	return point_at_material(g, rest, out);
}

/* ---- tracks */

typedef struct sampler {
	bool read;
	hob_interpolation interpolation;
	uint32_t input, output; /* accessors */
	uint32_t track;			/* track made from it; HOB_NONE: not yet */
	bool rotation;			/* the track's values are now unit quaternions */
} sampler_t;

static void read_sampler(hob_gltf *g, const cJSON *json, sampler_t *out)
{
	static const hob_str names[] = {{"STEP", 4}, {"LINEAR", 6}, {"CUBICSPLINE", 11}};
	sampler_t s = {.read = true, .interpolation = HOB_LINEAR, .track = HOB_NONE};
	hob_str name = hob_gltf_string(json, "interpolation");
	s.input = hob_gltf_need_id(json, "input", g->accessors.count);
	s.output = hob_gltf_need_id(json, "output", g->accessors.count);
	size_t i = 0;
	while (i < HOB_COUNT_OF(names) && !hob_str_equal(name, names[i]))
		i++;
	if (i < HOB_COUNT_OF(names))
		s.interpolation = (hob_interpolation)i;
	else if (name.len > 0)
		hob_leave(CORRUPT, "interpolation is '%.*s'; STEP, LINEAR and CUBICSPLINE are allowed",
				  HOB_FMT(name));
	*out = s;
}

/* Key times must rise. Exporters repeat a time to make a jump; the last value counts. */
static void clean_times(hob_gltf *g, hob_str clip, uint32_t accessor, size_t values_per_key, hob_track *track)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < track->key_count; i++) {
		float time = track->times[i];
		if (!isfinite(time))
			hob_leave(CORRUPT, "time of key %u is NaN or infinite; accessor %u", i, accessor);
		if (kept > 0 && time < track->times[kept - 1])
			hob_leave(CORRUPT, "time of key %u is before that of key %u; accessor %u", i, i - 1, accessor);
		if (kept > 0 && time == track->times[kept - 1])
			kept--;
		track->times[kept] = time;
		if (kept != i)
			memcpy(track->values + kept * values_per_key, track->values + i * values_per_key,
				   values_per_key * sizeof(float));
		kept++;
	}
	if (kept < track->key_count)
		hob_gltf_note(g, "keys-repeated", "clip '%.*s': %u keys with the time of the key before were merged",
					  HOB_FMT(clip), track->key_count - kept);
	if (track->times[0] < 0)
		hob_gltf_note(g, "time-negative", "clip '%.*s' has keys before time 0", HOB_FMT(clip));
	track->key_count = kept;
}

static void clean_values(hob_gltf *g, hob_str clip, hob_path path, hob_track *track)
{
	size_t triple = track->interpolation == HOB_CUBICSPLINE ? 3 : 1;
	hob_gltf_make_finite(g, track->values, track->key_count * triple * track->components, 0, "keys", clip);
	uint32_t zeros = 0;
	for (uint32_t i = 0; path == HOB_PATH_ROTATION && i < track->key_count; i++) {
		float *q = track->values + (i * triple + (triple == 3)) * 4;
		double squared =
			(double)q[0] * q[0] + (double)q[1] * q[1] + (double)q[2] * q[2] + (double)q[3] * q[3];
		if (fabs(squared - 1) <= 1e-5)
			continue;
		double length = sqrt(squared);
		for (int k = 0; k < 4; k++)
			q[k] = length > 1e-12 ? (float)(q[k] / length) : k == 3;
		zeros += !(length > 1e-12);
	}
	if (zeros > 0)
		hob_gltf_note(g, "rotation-zero", "clip '%.*s': %u rotation keys are zero and became the identity",
					  HOB_FMT(clip), zeros);
}

static hob_track read_track(hob_gltf *g, hob_str clip, const sampler_t *s, hob_path path, uint32_t components)
{
	hob_track track = {.interpolation = s->interpolation, .components = components};
	track.times = hob_gltf_load_floats(g, s->input, 1, g->result, &track.key_count);
	hob_gltf_accessor output = hob_gltf_accessor_open(g, s->output, 0);
	hob_gltf_claim(g, &output);
	uint32_t width = path == HOB_PATH_WEIGHTS ? 1 : components;
	if (output.width != width || output.matrix)
		hob_leave(CORRUPT, "output has %u components, its path needs %u; accessor %u", output.width, width,
				  output.id);
	if (track.key_count > HOB_LIMIT_KEYS)
		hob_leave(LIMIT, "%u keys, the limit is %llu", track.key_count, HOB_LIMIT_KEYS);
	bool cubic = s->interpolation == HOB_CUBICSPLINE;
	if (cubic && track.key_count < 2)
		hob_leave(CORRUPT, "CUBICSPLINE needs two keys, accessor %u has one", s->input);
	size_t per_key = (size_t)components * (cubic ? 3 : 1), values = track.key_count * per_key;
	if ((size_t)output.count * output.width < values)
		hob_leave(CORRUPT, "%u keys need %zu values, the output has %zu; accessor %u", track.key_count,
				  values, (size_t)output.count * output.width, s->output);
	hob_gltf_selection selection = {.count = (uint32_t)(values / output.width)};
	track.values = HOB_NEW(g->result, float, values);
	hob_gltf_read_floats(g, &output, &selection, track.values, output.width);
	clean_times(g, clip, s->input, per_key, &track);
	clean_values(g, clip, path, &track);
	return track;
}

/* ---- channels */

typedef struct target {
	hob_gltf_pointed at; /* a node, a mesh (all its nodes), or a property */
	hob_path path;		 /* HOB_PATH_TRANSLATION for plain numbers */
	uint32_t components;
} target_t;

/* The weights of a mesh as target. Returns why they cannot be, or NULL. */
static const char *weights_target(const hob_gltf *g, uint32_t mesh, const char *without, target_t *out)
{
	out->path = HOB_PATH_WEIGHTS;
	out->components = mesh == HOB_NONE ? 0 : g->mesh_targets[mesh];
	if (out->components == 0)
		return without;
	bool fits = out->at.weight == HOB_NONE || out->at.weight < out->components;
	return fits ? NULL : "its mesh has fewer morph targets";
}

static void node_target(hob_gltf *g, target_t *out)
{
	static const uint32_t widths[] = {3, 4, 3};
	out->path = out->at.path;
	if (out->path != HOB_PATH_WEIGHTS) {
		out->components = widths[out->path];
		return;
	}
	uint32_t mesh = hob_gltf_id(g->nodes.items[out->at.index], "mesh", g->meshes.count);
	const char *why = weights_target(g, mesh, "it animates weights of a node without morph targets", out);
	if (why)
		hob_leave(CORRUPT, "%s", why);
}

static void pointer_target(hob_gltf *g, const cJSON *json, target_t *out)
{
	hob_str pointer = hob_gltf_string(hob_gltf_extension(json, "KHR_animation_pointer"), "pointer");
	const char *why = gltf_point(g, pointer, &out->at);
	if (!why && out->at.kind == HOB_GLTF_AT_NODE)
		node_target(g, out);
	else if (!why && out->at.kind == HOB_GLTF_AT_MESH)
		why = weights_target(g, out->at.index, "it animates weights of a mesh without morph targets", out);
	else if (!why)
		out->components = hob_property_of(out->at.property)->components;
	if (why)
		hob_leave(CORRUPT, "%s; '%.*s'", why, HOB_FMT(pointer));
}

static target_t read_target(hob_gltf *g, const cJSON *channel)
{
	static const hob_str paths[] = {{"translation", 11}, {"rotation", 8}, {"scale", 5}, {"weights", 7}};
	target_t target = {0};
	const cJSON *json = hob_gltf_object(channel, "target");
	hob_str path = hob_gltf_string(json, "path");
	uint32_t node = hob_gltf_id(json, "node", g->nodes.count);
	if (hob_str_equal(path, HOB_STR("pointer"))) {
		pointer_target(g, json, &target);
		return target;
	}
	size_t i = 0;
	while (i < HOB_COUNT_OF(paths) && !hob_str_equal(path, paths[i]))
		i++;
	if (i == HOB_COUNT_OF(paths))
		hob_leave(CORRUPT, "its path is unknown");
	if (node == HOB_NONE)
		hob_leave(CORRUPT, "it names no node");
	target.at =
		(hob_gltf_pointed){.kind = HOB_GLTF_AT_NODE, .index = node, .path = (hob_path)i, .weight = HOB_NONE};
	node_target(g, &target);
	return target;
}

typedef struct clip_reader {
	hob_gltf *g;
	hob_clip *clip;
	hob_gltf_list channels, sources; /* JSON of the channels and of the samplers */
	sampler_t *samplers;			 /* [sources.count] */
	uint32_t *targeted;				 /* [nodes.count * 4] 1 + last clip that used this node and path */
	uint32_t id;
	uint32_t channel_room;
	hob_gltf_weight *weights; /* [weight_count] channels of single weights */
	uint32_t weight_count;
} clip_reader_t;

/* The track of a sampler, shared by channels that read it with the same width and interpretation. */
static uint32_t track_of(const clip_reader_t *r, sampler_t *s, const target_t *target)
{
	hob_clip *clip = r->clip;
	bool rotation = target->path == HOB_PATH_ROTATION;
	if (s->track != HOB_NONE && clip->tracks[s->track].components == target->components &&
		s->rotation == rotation)
		return s->track;
	clip->tracks[clip->track_count] = read_track(r->g, clip->name, s, target->path, target->components);
	s->rotation = rotation;
	s->track = clip->track_count++;
	return s->track;
}

static void add_channel(clip_reader_t *r, uint32_t node, hob_path path, uint32_t track)
{
	uint32_t *used = &r->targeted[(size_t)node * 4 + path];
	if (*used == r->id + 1)
		hob_leave(CORRUPT, "nodes[%u] and this path already have a channel", node);
	*used = r->id + 1;
	hob_clip *clip = r->clip;
	if (clip->channel_count == r->channel_room) {
		hob_channel *more = HOB_NEW(r->g->result, hob_channel, (size_t)r->channel_room * 2 + 8);
		if (clip->channel_count > 0)
			memcpy(more, clip->channels, clip->channel_count * sizeof *more);
		clip->channels = more;
		r->channel_room = r->channel_room * 2 + 8;
	}
	clip->channels[clip->channel_count++] = (hob_channel){r->g->node_ids[node], path, track};
}

/* A channel of a mesh drives every node that uses the mesh without weights of its own. */
static void add_mesh_channels(clip_reader_t *r, uint32_t mesh, uint32_t track)
{
	for (uint32_t node = 0; node < r->g->nodes.count; node++) {
		const cJSON *json = r->g->nodes.items[node];
		uint32_t own = hob_gltf_id(json, "mesh", r->g->meshes.count);
		if (own == mesh && !hob_json_get(json, "weights"))
			add_channel(r, node, HOB_PATH_WEIGHTS, track);
	}
}

/* Reads the target's values from the sampler: a weight of its own, with HOB_NONE, or a track of the clip. */
static uint32_t read_values(clip_reader_t *r, uint32_t sampler, const target_t *target)
{
	HOB_PLACE("sampler #", sampler, {0});
	sampler_t *s = &r->samplers[sampler];
	if (!s->read)
		read_sampler(r->g, r->sources.items[sampler], s);
	if (target->at.kind == HOB_GLTF_AT_PROPERTY || target->at.weight == HOB_NONE)
		return track_of(r, s, target);
	hob_gltf_weight *one = &r->weights[r->weight_count++];
	*one = (hob_gltf_weight){.at = target->at, .components = target->components};
	one->track = read_track(r->g, r->clip->name, s, HOB_PATH_WEIGHTS, 1);
	return HOB_NONE;
}

static void add_channels(clip_reader_t *r, const hob_gltf_pointed *at, hob_path path, uint32_t track)
{
	if (at->kind == HOB_GLTF_AT_NODE)
		add_channel(r, at->index, path, track);
	else
		add_mesh_channels(r, at->index, track);
}

static void read_channel(hob_gltf *g, uint32_t id, void *to)
{
	clip_reader_t *r = to;
	target_t target = read_target(g, r->channels.items[id]);
	uint32_t sampler = hob_gltf_need_id(r->channels.items[id], "sampler", r->sources.count);
	uint32_t track = read_values(r, sampler, &target);
	if (track == HOB_NONE)
		return;
	if (target.at.kind != HOB_GLTF_AT_PROPERTY) {
		add_channels(r, &target.at, target.path, track);
		return;
	}
	bool of_node = target.at.property == HOB_PROPERTY_NODE_VISIBLE;
	uint32_t of = of_node ? g->node_ids[target.at.index] : target.at.index;
	r->clip->properties[r->clip->property_count++] =
		(hob_property_channel){target.at.property, of, target.at.slot, track};
}

/* Groups the weights of each node or mesh, in the order of its first channel. */
static void gather(clip_reader_t *r, uint32_t first, uint32_t *end)
{
	*end = first + 1;
	for (uint32_t i = first + 1; i < r->weight_count; i++) {
		hob_gltf_weight found = r->weights[i];
		if (found.at.kind != r->weights[first].at.kind || found.at.index != r->weights[first].at.index)
			continue;
		r->weights[i] = r->weights[*end];
		r->weights[(*end)++] = found;
	}
}

static void add_single_weights(clip_reader_t *r)
{
	for (uint32_t first = 0, end = 0; first < r->weight_count; first = end) {
		const hob_gltf_weight *of = &r->weights[first];
		uint32_t track = r->clip->track_count;
		const char *why;
		gather(r, first, &end);
		gltf_join_weights(r->g, of, end - first, &r->clip->tracks[track], &why);
		if (why) {
			hob_gltf_note(r->g, "channel-dropped",
						  "clip '%.*s': %u channels of single weights were dropped: %s",
						  HOB_FMT(r->clip->name), end - first, why);
			continue;
		}
		r->clip->track_count++;
		add_channels(r, &of->at, HOB_PATH_WEIGHTS, track);
	}
}

static hob_clip read_clip(hob_gltf *g, uint32_t id, uint32_t *targeted)
{
	HOB_GLTF_PLACE("animations[#] '@'", id, g->animations);
	const cJSON *json = g->animations.items[id];
	hob_clip clip = {.name = hob_gltf_name(g, json)};
	hob_gltf_extras(g, json, &clip.extras);
	clip_reader_t r = {.g = g, .clip = &clip, .targeted = targeted, .id = id};
	r.channels = hob_gltf_list_of(g->scratch, json, "channels", HOB_LIMIT_NODES);
	r.sources = hob_gltf_list_of(g->scratch, json, "samplers", HOB_LIMIT_NODES);
	r.channel_room = r.channels.count;
	r.samplers = HOB_NEW(g->scratch, sampler_t, r.sources.count);
	r.weights = HOB_NEW(g->scratch, hob_gltf_weight, r.channels.count);
	clip.channels = HOB_NEW(g->result, hob_channel, r.channels.count);
	clip.properties = HOB_NEW(g->result, hob_property_channel, r.channels.count);
	clip.tracks = HOB_NEW(g->result, hob_track, r.channels.count);
	for (uint32_t i = 0; i < r.channels.count; i++) {
		HOB_PLACE("channel #", i, {0});
		hob_error why = {0};
		if (hob_gltf_try(g, read_channel, i, &r, &why))
			continue;
		hob_gltf_drop(&why, false);
		hob_gltf_note(g, "channel-dropped", "clip '%.*s' channel %u was dropped: %s", HOB_FMT(clip.name), i,
					  why.context);
	}
	add_single_weights(&r);
	return clip;
}

/* ---- names: unique, because clips are looked up by name */

static void make_names_unique(hob_gltf *g)
{
	hob_model *model = &g->model;
	uint32_t *next = HOB_NEW(g->scratch, uint32_t, model->clip_count), unnamed = 0; /* suffixes to try */
	hob_name_map clips;
	hob_name_map_init(&clips, g->scratch);
	for (uint32_t i = 0; i < model->clip_count; i++) {
		hob_str *name = &model->clips[i].name, base = name->len > 0 ? *name : HOB_STR("clip");
		uint32_t other = hob_name_map_get(&clips, *name);
		uint32_t *suffix = name->len == 0 ? &unnamed : other != HOB_NONE ? &next[other] : NULL;
		while (name->len == 0 || hob_name_map_get(&clips, *name) != HOB_NONE)
			*name = hob_arena_printf(g->result, "%.*s_%u", HOB_FMT(base), (*suffix)++);
		hob_name_map_add(&clips, *name, i);
		next[i] = 2;
	}
}

void hob_gltf_import_clips(hob_gltf *g)
{
	hob_model *model = &g->model;
	if (g->animations.count == 0)
		return;
	uint32_t *targeted = HOB_NEW(g->scratch, uint32_t, (size_t)g->nodes.count * 4);
	model->clips = HOB_NEW(g->result, hob_clip, g->animations.count);
	for (uint32_t i = 0; i < g->animations.count; i++) {
		hob_clip clip = read_clip(g, i, targeted);
		if (clip.channel_count + clip.property_count > 0)
			model->clips[model->clip_count++] = clip;
		else
			hob_gltf_note(g, "clip-empty", "animations[%u] '%.*s' moves nothing and was left out", i,
						  HOB_FMT(clip.name));
	}
	make_names_unique(g);
}

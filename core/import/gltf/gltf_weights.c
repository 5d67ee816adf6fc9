#include "gltf_private.h"

/* Weights at rest. */
static bool rest_weights(const hob_gltf *g, const hob_gltf_weight *of, float *out, hob_error *err)
{
	uint32_t mesh = of->at.index;
	for (uint32_t i = 0; i < of->components; i++)
		out[i] = 0;
	if (of->at.kind == HOB_GLTF_AT_NODE) {
		const hob_node *node = &g->model.nodes[g->node_ids[of->at.index]];
		if (node->weight_count == of->components) {
			memcpy(out, g->model.weights + node->weight_first, of->components * sizeof *out);
			return true;
		}
		if (!hob_gltf_id(g->nodes.items[of->at.index], "mesh", g->meshes.count, &mesh, err))
			return false;
	}
	return mesh == HOB_NONE ||
		   hob_gltf_floats(g->meshes.items[mesh], "weights", of->components, out, NULL, err);
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

bool hob_gltf_join_weights(hob_gltf *g, const hob_gltf_weight *of, uint32_t count, hob_track *out,
						   const char **why, hob_error *err)
{
	uint32_t components = of[0].components;
	uint64_t keys = 0;
	for (uint32_t i = 0; i < count; i++) {
		keys += of[i].track.key_count;
		for (uint32_t j = 0; j < i; j++)
			if (of[j].at.weight == of[i].at.weight)
				return hob_fail(err, CORRUPT, "weight %u has two channels", of[i].at.weight);
	}
	*why = why_not(of, count);
	if (*why)
		return true;
	if (keys > HOB_LIMIT_KEYS)
		return hob_fail(err, LIMIT, "%llu keys of single weights, the limit is %llu",
						(unsigned long long)keys, HOB_LIMIT_KEYS);
	bool cubic = of[0].track.interpolation == HOB_CUBICSPLINE;
	float *rest = HOB_NEW(g->scratch, float, components);
	uint32_t *at = HOB_NEW(g->scratch, uint32_t, count);
	hob_track track = {.interpolation = of[0].track.interpolation, .components = components};
	track.times = HOB_NEW(g->result, float, (size_t)keys);
	if (!rest || !at || !track.times)
		return hob_fail_memory(err, g->result, "animation keys");
	if (!rest_weights(g, &of[0], rest, err))
		return false;
	track.key_count = merge_times(of, count, at, track.times);
	size_t rows = (size_t)track.key_count * (cubic ? 3 : 1);
	track.values = hob_arena_array(g->result, rows * components, sizeof(float), _Alignof(float));
	if (!track.values)
		return hob_fail_memory(err, g->result, "animation keys");
	for (size_t row = 0; row < rows; row++)
		for (uint32_t k = 0; k < components; k++)
			track.values[row * components + k] = cubic && row % 3 != 1 ? 0 : rest[k];
	memset(at, 0, count * sizeof *at);
	for (size_t row = 0; row < rows; row++)
		for (uint32_t i = 0; i < count; i++)
			track.values[row * components + of[i].at.weight] =
				cubic ? of[i].track.values[row] : sample(&of[i].track, &at[i], track.times[row]);
	*out = track;
	return true;
}
